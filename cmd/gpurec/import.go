package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/urfave/cli/v2"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "turn foreign traces into a log; several, and logs, become one, clocks aligned",
		ArgsUsage: "FILE… -o run.gpurec",
		Flags: append(inputFlags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the log to `FILE`; - is standard output"}),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) == 0 || c.String("output") == "" {
				return usageError("import takes inputs and -o, as in: gpurec import trace.txt kineto.json -o run.gpurec")
			}
			for _, a := range args {
				if err := replaceable(a, c.String("output")); err != nil {
					return err
				}
			}
			in, err := openAsOne(c, args, importer.Options{Passing: true}, func(line string) { note(c, "%s", line) })
			if err != nil {
				return err
			}
			defer in.Close()
			n, bytes, err := writeLog(c, in, c.String("output"))
			if err != nil {
				return err
			}
			next := ""
			if out := c.String("output"); out != "-" {
				next = "; next: gpurec report " + out
			}
			note(c, "%s: %d events, %s%s", c.String("output"), n, event.SizeText(bytes), next)
			return in.result()
		},
	}
}

// writeLog copies the input into a log, which appears under its name when whole.
func writeLog(c *cli.Context, in *input, out string) (events, bytes uint64, err error) {
	p := progressOf(c)
	p.off(out, os.Stdout)
	defer p.pause()
	f, err := export.Create(out, outputOptions(c, 0))
	if err != nil {
		return 0, 0, err
	}
	if events, bytes, err = copyLog(c, in, f); err != nil {
		return 0, 0, export.Undone(cmp.Or(interrupted(c.Context), err), f.Abort())
	}
	return events, bytes, f.Commit()
}

// The garbage collector's aim while a log is written: little is live then, and
// half as many collections cost less than what they give back. Until a short
// trace is through, which then has none, it is larger.
const (
	importGC   = 200
	firstGC    = 400
	firstCount = 1 << 18 // events
)

func copyLog(c *cli.Context, in *input, w io.Writer) (uint64, uint64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(firstGC))
	l := progressOf(c).then("merging")
	meta := *in.reader.Meta()
	stampImport(&meta, in)
	lw, err := gpulog.NewWriter(w, &meta, gpulog.WriterOptions{})
	if err != nil {
		return 0, 0, err
	}
	var b event.Batch
	for {
		err := in.Next(&b)
		if errors.Is(err, io.EOF) {
			l.ended.Store(true)
			break
		}
		if err != nil {
			return 0, 0, err
		}
		n := uint64(len(b.Events))
		if done := l.done.Add(n); done >= firstCount && done-n < firstCount {
			debug.SetGCPercent(importGC)
		}
		if err := lw.Write(b.Events); err != nil {
			return 0, 0, err
		}
	}
	final := *in.Meta()
	stampImport(&final, in)
	if err := lw.Close(&final); err != nil {
		return 0, 0, err
	}
	st := lw.Stats()
	return st.Events, st.Bytes, nil
}

// stampImport says what wrote the log and from what.
func stampImport(m *event.Meta, in *input) {
	m.Tool, m.ToolVersion = "gpurec", toolVersion()
	if in.format != "gpurec" && in.parts == nil {
		m.Format = in.format
		m.Inputs = []string{filepath.Base(in.name)}
	}
}
