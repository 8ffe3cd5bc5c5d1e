package main

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export/explain"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/urfave/cli/v2"
)

// explainRow prints the chain of one row. The input is read several times, see
// [explain.Finder]; a pipe is spooled first.
func explainRow(c *cli.Context, paths []string, row string) error {
	ref, err := explain.ParseRef(row)
	if err != nil {
		return usageError("--explain %v", err)
	}
	paths = slices.Clone(paths)
	for i := range paths {
		path, remove, err := spooled(paths[i])
		if err != nil {
			return err
		}
		defer remove()
		paths[i] = path
	}
	say := func(line string) { note(c, "%s", line) }
	f := explain.New(ref)
	var partial error
	for f.Next() {
		if partial, err = explainPass(c, paths, say, f); err != nil {
			return err
		}
		say = func(string) {} // once is enough
	}
	chain, err := f.Result()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = writeJSON(os.Stdout, chain)
	} else {
		err = chain.WriteText(os.Stdout)
	}
	return cmp.Or(err, partial)
}

// explainPass reads the input once; partial tells what of it was unreadable.
func explainPass(c *cli.Context, paths []string, say func(string), f *explain.Finder) (partial, err error) {
	in, err := openAsOne(c, paths, importer.Options{}, say)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if _, err := correlateInto(c, in, chainSink{f}); err != nil {
		return nil, err
	}
	return in.result(), nil
}

// chainSink gives rows to a finder.
type chainSink struct{ f *explain.Finder }

func (s chainSink) Begin(*event.Meta) error      { return nil }
func (s chainSink) End(*correlate.Summary) error { return nil }
func (s chainSink) Abort() error                 { return nil }
func (s chainSink) Write(r *correlate.Rows) error {
	s.f.Write(r)
	return nil
}

// spooled returns a path that can be read more than once, and what removes it
// if it had to be made.
func spooled(path string) (string, func(), error) {
	none := func() {}
	st, err := os.Stat(path)
	if path != "-" && (err != nil || st.Mode().IsRegular() || st.IsDir()) {
		return path, none, nil // what cannot be opened says so by itself
	}
	from := os.Stdin
	if path != "-" {
		if from, err = os.Open(path); err != nil {
			return "", none, err
		}
		defer from.Close()
	}
	tmp, err := os.CreateTemp("", "gpurec-explain-*")
	if err != nil {
		return "", none, err
	}
	remove := func() { os.Remove(tmp.Name()) }
	_, err = io.Copy(tmp, from)
	if err = cmp.Or(err, tmp.Close()); err != nil {
		remove()
		return "", none, err
	}
	return tmp.Name(), remove, nil
}
