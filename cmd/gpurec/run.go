package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/urfave/cli/v2"
)

// correlateInto reads the input in order, joins it and gives rows and summary
// to the sink. A failure leaves nothing of the sink's output behind.
func correlateInto(c *cli.Context, in *input, sink export.Sink) (*correlate.Summary, error) {
	mem, err := sortMemory(c)
	if err != nil {
		return nil, err
	}
	sorted := gpulog.Sort(in, gpulog.SortOptions{MaxMemory: mem})
	defer sorted.Close()
	if err := sink.Begin(in.Meta()); err != nil {
		return nil, export.Undone(err, sink.Abort())
	}
	p := progressOf(c)
	defer p.pause()
	var src correlate.MetaSource = &watched{sorted, p.then("joining")}
	if s, ok := sink.(interface{ Starts(event.Time) }); ok {
		src = &tellsStart{src, s.Starts}
	}
	sum, err := correlate.Run(src, correlate.Options{}, func(r *correlate.Rows) error {
		if err := interrupted(c.Context); err != nil {
			return err
		}
		return sink.Write(r)
	})
	if err == nil {
		err = sink.End(sum)
	}
	if err != nil {
		return nil, export.Undone(cmp.Or(interrupted(c.Context), err), sink.Abort())
	}
	return sum, nil
}

// watched counts events for progress.
type watched struct {
	correlate.MetaSource
	later *later
}

func (w *watched) Next(b *event.Batch) error {
	err := w.MetaSource.Next(b)
	if err != nil {
		w.later.ended.Store(true)
		return err
	}
	w.later.done.Add(uint64(len(b.Events)))
	return nil
}

// openSink picks and opens the output format.
func openSink(c *cli.Context, in, out string, also func(*export.Options)) (export.Sink, error) {
	mem, err := sortMemory(c)
	if err != nil {
		return nil, err
	}
	isDir := strings.HasSuffix(out, "/")
	if st, err := os.Stat(out); err == nil && st.IsDir() {
		isDir = true
	}
	if !isDir && c.String("format") == "" && strings.HasSuffix(out, ".parquet") {
		return nil, usageError("%s: Parquet is written as a directory of tables; name it with a slash: %s/", out, out)
	}
	f, err := exporterFor(c.String("format"), out, isDir)
	if err != nil {
		return nil, err
	}
	if out == "-" && f.Name == "parquet" {
		return nil, usageError("Parquet is a directory of files and cannot go to standard output: name one, as in -o run.parquet/")
	}
	if err := replaceable(in, out); err != nil {
		return nil, err
	}
	o := outputOptions(c, mem)
	also(&o)
	return f.New(filepath.Clean(out), o)
}

func outputOptions(c *cli.Context, mem int64) export.Options {
	return export.Options{MaxMemory: mem, Tool: tool(), Interrupted: func() error { return interrupted(c.Context) }}
}

// replaceable refuses an output that is the input, or a device, pipe or
// socket: a finished file takes the place of what has its name, and the only
// copy of a trace, or root's /dev/null, would be gone.
func replaceable(in, out string) error {
	if out == "-" {
		return nil
	}
	st, err := os.Stat(out)
	if err != nil || st.IsDir() {
		return nil // what cannot be made says so by itself
	}
	if ist, err := os.Stat(in); err == nil && in != "-" && os.SameFile(ist, st) {
		return usageError("%s: is the input, which would be lost; name another output", out)
	}
	if !st.Mode().IsRegular() {
		return usageError("%s: is a device, pipe or socket; write to it through standard output: -o - >%s", out, out)
	}
	if record.Recording(out) {
		return usageError("%s: a gpurec record is writing it, and what it records would be lost; name another output, or end that recording first", out)
	}
	return nil
}
