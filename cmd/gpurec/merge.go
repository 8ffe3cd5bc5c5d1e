package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpurec/gpurec/export/report"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/merge"
	"github.com/urfave/cli/v2"
)

// openInputs opens one input, or several as one: their clocks aligned, their
// events in one order. How each was aligned is said.
func openInputs(c *cli.Context, paths []string) (*input, error) {
	return openAsOne(c, paths, importer.Options{}, func(line string) { note(c, "%s", line) })
}

// openAsOne is openInputs. The options are those of one input.
func openAsOne(c *cli.Context, paths []string, o importer.Options, say func(string)) (*input, error) {
	if err := limitMemory(c); err != nil {
		return nil, err
	}
	offsets, err := parseOffsets(c.StringSlice("offset"), paths)
	if err != nil {
		return nil, err
	}
	if len(paths) == 1 {
		if len(offsets) > 0 {
			return nil, usageError("--offset aligns one of several inputs; there is only %s", paths[0])
		}
		return openInput(c, paths[0], o)
	}
	mem, err := sortMemory(c)
	if err != nil {
		return nil, err
	}
	all := &input{ctx: c.Context, name: strings.Join(paths, ", "), format: "merged"}
	list, err := openParts(c, all, paths)
	if err == nil {
		var m *merge.Merged
		if m, err = merge.Open(list, merge.Options{MaxMemory: mem, Offsets: offsets}); err == nil {
			all.reader = m
			all.close = append(all.close, m.Close)
			for _, a := range m.Alignments() {
				say(a.Input + ": " + a.String())
			}
			for _, line := range farApart(m.Alignments()) {
				say(line)
			}
			return all, nil
		}
	}
	all.Close()
	return nil, cmp.Or(interrupted(c.Context), err)
}

// farApart asks about inputs whose times lie apart from those of all others on
// one clock, by more than a second and more than the inputs themselves take.
func farApart(list []merge.Alignment) []string {
	var out []string
	for i := range list {
		a := &list[i]
		if !a.Aligned || !a.Begin.Known() {
			continue
		}
		before, after, others, longest := int64(math.MaxInt64), int64(math.MaxInt64), 0, max(int64(time.Second), int64(a.End-a.Begin))
		for j := range list {
			b := &list[j]
			if i == j || !b.Aligned || b.Domain != a.Domain || !b.Begin.Known() {
				continue
			}
			others++
			before, after = min(before, int64(b.Begin-a.End)), min(after, int64(a.Begin-b.End))
			longest = max(longest, int64(b.End-b.Begin))
		}
		switch {
		case others == 0:
		case before > longest:
			out = append(out, fmt.Sprintf("%s: its times end %s before those of the others begin: is it of the same run?", a.Input, report.Duration(before)))
		case after > longest && others > 1: // of two the first was told
			out = append(out, fmt.Sprintf("%s: its times begin %s after those of the others end: is it of the same run?", a.Input, report.Duration(after)))
		}
	}
	return out
}

// twice says which input is given a second time.
func twice(paths []string) error {
	var stats []os.FileInfo
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil || p == "-" {
			st = nil // what cannot be opened says so by itself
		}
		for j, o := range stats {
			if st != nil && o != nil && os.SameFile(st, o) {
				return usageError("%s is the same file as %s: its events would count twice; name it once", p, paths[j])
			}
		}
		stats = append(stats, st)
	}
	return nil
}

// openParts opens the inputs that all is made of.
func openParts(c *cli.Context, all *input, paths []string) ([]merge.Input, error) {
	if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
		return nil, usageError("standard input can be one of the inputs only once")
	}
	if err := twice(paths); err != nil {
		return nil, err
	}
	bases := map[string]bool{}
	var list []merge.Input
	for i, p := range paths {
		in, err := openInput(c, p, importer.Options{})
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, in)
		all.close = append(all.close, in.Close)
		name := filepath.Base(p)
		if p == "-" {
			name = "standard input"
		}
		if bases[name] {
			name = fmt.Sprintf("%s#%d", name, i+1)
		}
		bases[name] = true
		list = append(list, merge.Input{Name: name, Source: in, Again: in.again()})
	}
	return list, nil
}

// again returns how a log in a file is read a second time; nil for what must
// be spooled.
func (in *input) again() func() (merge.Source, io.Closer, error) {
	if in.log == nil {
		return nil
	}
	return func() (merge.Source, io.Closer, error) {
		r, err := in.log.Reader()
		return r, r, err
	}
}

// maxOffsetNS keeps shifted times within what int64 nanoseconds hold.
const maxOffsetNS = int64(100 * 365 * 24 * time.Hour)

// parseOffsets reads --offset INPUT=±NS; NS may also be a duration with a unit.
func parseOffsets(list, paths []string) (map[int]int64, error) {
	m := map[int]int64{}
	for _, s := range list {
		i := strings.LastIndexByte(s, '=')
		if i < 0 {
			return nil, usageError("--offset %q is not INPUT=±NS, as in: --offset trace.txt=-1500000", s)
		}
		ns, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil {
			d, derr := time.ParseDuration(s[i+1:])
			if derr != nil {
				return nil, usageError("--offset %q: %q is no number of nanoseconds and no duration such as -1.5ms", s, s[i+1:])
			}
			ns = d.Nanoseconds()
		}
		if ns > maxOffsetNS || ns < -maxOffsetNS {
			return nil, usageError("--offset %q: that is more than a hundred years", s)
		}
		at, err := whichInput(s[:i], paths)
		if err != nil {
			return nil, err
		}
		if _, twice := m[at]; twice {
			return nil, usageError("--offset names %s twice", paths[at])
		}
		m[at] = ns
	}
	return m, nil
}

// whichInput finds an input by its path, its file name, or its number.
func whichInput(name string, paths []string) (int, error) {
	found := -1
	for i, p := range paths {
		if p == name {
			return i, nil
		}
		if filepath.Base(p) == name {
			if found >= 0 {
				return 0, usageError("--offset: several inputs are called %s; give its path or its number", name)
			}
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(paths) {
		return n - 1, nil
	}
	return 0, usageError("--offset: no input is called %s", name)
}
