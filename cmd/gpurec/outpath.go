package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// noPartition is how Hive, and all that read its layout, write a value that is
// not known: it reads as NULL.
const noPartition = "__HIVE_DEFAULT_PARTITION__"

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}/]*\}`) })

// outputPath fills in what stands in braces in the name of an output, so that
// many runs lie side by side: {host} and {boot} as the log says, {run} is the
// name of the input without its ending. It makes the directories that the path
// then needs. A path without braces is returned as it is.
func outputPath(to, in string, meta *event.Meta) (string, error) {
	if !placeholder().MatchString(to) {
		return to, nil
	}
	var bad string
	out := placeholder().ReplaceAllStringFunc(to, func(p string) string {
		switch p {
		case "{host}":
			return partition(meta.Host.Name)
		case "{boot}":
			return partition(meta.Host.BootID)
		case "{run}":
			return partition(runName(in))
		}
		bad = p
		return p
	})
	if bad != "" {
		return "", usageError("%s: %s stands for nothing; known are {host}, {run} and {boot}", to, bad)
	}
	if err := os.MkdirAll(filepath.Dir(strings.TrimSuffix(out, "/")), 0o777); err != nil {
		return "", fmt.Errorf("make the directories of %s: %w", out, err)
	}
	return out, nil
}

// runName is the name of an input without directories and endings.
func runName(in string) string {
	base := filepath.Base(in)
	if in == "-" {
		return ""
	}
	for _, s := range []string{".gz", ".zst"} {
		base = strings.TrimSuffix(base, s)
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// partition writes a value as part of a path, with other bytes than plain ones
// as %XX, as Hive does.
func partition(v string) string {
	if v == "" {
		return noPartition
	}
	var b strings.Builder
	for i := range len(v) {
		c := v[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-+@,", c) >= 0 || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
