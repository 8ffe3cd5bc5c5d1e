package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpurec/gpurec/record/merge"
	"github.com/urfave/cli/v2"
)

// openInputs opens one input, or several as one: their clocks aligned, their
// events in one order. How each was aligned is said.
func openInputs(c *cli.Context, paths []string) (*input, error) {
	return openAsOne(c, paths, func(line string) { note(c, "%s", line) })
}

func openAsOne(c *cli.Context, paths []string, say func(string)) (*input, error) {
	offsets, err := parseOffsets(c.StringSlice("offset"), paths)
	if err != nil {
		return nil, err
	}
	if len(paths) == 1 {
		if len(offsets) > 0 {
			return nil, usageError("--offset aligns one of several inputs; there is only %s", paths[0])
		}
		return openInput(c, paths[0])
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
			return all, nil
		}
	}
	all.Close()
	return nil, cmp.Or(interrupted(c.Context), err)
}

// openParts opens the inputs that all is made of.
func openParts(c *cli.Context, all *input, paths []string) ([]merge.Input, error) {
	if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
		return nil, usageError("standard input can be one of the inputs only once")
	}
	bases := map[string]bool{}
	var list []merge.Input
	for i, p := range paths {
		in, err := openInput(c, p)
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
