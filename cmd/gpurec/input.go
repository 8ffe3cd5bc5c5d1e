package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/urfave/cli/v2"
)

var (
	inputEnds = &event.AnomalySpec{
		Name: "input_ends_early", Severity: event.SeverityError,
		Doc:    "The input could not be read to its end.",
		Remedy: "what was whole is here; fetch or record the file again for the rest",
	}
)

// reader is what logs and importers have in common.
type reader interface {
	event.Source
	Meta() *event.Meta
	Counters() *event.Counters
}

// input is an open log or foreign trace. It ends early, with a counter, where
// its reader fails after events were read: what is whole goes through.
type input struct {
	reader
	ctx     context.Context
	name    string
	format  string // "gpurec" or the importer's name
	close   []func() error
	extra   event.Counters
	events  uint64
	failure error       // why it ended early
	log     *gpulog.Log // if it is a log in a plain file
	parts   []*input    // that it is made of, if they are several
}

// inputFlags are common to all commands that read traces.
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "read the input as `FORMAT` instead of recognising it: gpurec, " + importerNames()},
		&cli.StringFlag{Name: "member", Usage: "read the file `NAME` of a zip or tar archive"},
		&cli.StringFlag{Name: "clock", Usage: "name of the input's `CLOCK` where the input does not say (boottime, monotonic, realtime, …)"},
		&cli.StringSliceFlag{Name: "offset", Usage: "of several inputs: add NS to the times of one, `INPUT=±NS`, instead of finding out; INPUT is its file name or its number from 1"},
		&cli.StringFlag{Name: "max-memory", Value: "256M", Usage: "`SIZE` of the memory for putting events and rows in order; beyond it files are used"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing but errors"},
	}
}

func openInput(c *cli.Context, path string) (*input, error) {
	if path == "" {
		return nil, usageError("the name of the input is empty")
	}
	type opened struct {
		in  *input
		err error
	}
	o, err := awaited(c.Context, func() opened {
		s, err := importer.OpenMember(path, c.String("member"))
		if err != nil {
			return opened{nil, err}
		}
		in := &input{ctx: c.Context, name: path, close: []func() error{s.Close}}
		if err := in.open(c, s); err != nil {
			in.Close()
			return opened{nil, err}
		}
		return opened{in, nil}
	})
	return o.in, cmp.Or(err, o.err)
}

func (in *input) open(c *cli.Context, s *importer.Stream) error {
	from := c.String("from")
	if from == "gpurec" || from == "" && gpulog.Sniff(s.Head) {
		in.format = "gpurec"
		return in.openLog(s)
	}
	if from != "" && !slices.ContainsFunc(importers(), func(f importer.Format) bool { return f.Name == from }) {
		return usageError("--from %q is not known; known are gpurec, %s", from, importerNames())
	}
	f, err := importer.Detect(s, importers(), from)
	if err != nil {
		return err
	}
	clock, err := clockFlag(c)
	if err != nil {
		return err
	}
	r, err := s.OpenReader(f, importer.Options{Clock: clock})
	if err != nil {
		return err
	}
	in.reader, in.format = r, f.Name
	in.close = append(in.close, r.Close)
	return nil
}

// openLog reads a plain file by its index, which bounds the times still to
// come; anything else as a stream.
func (in *input) openLog(s *importer.Stream) error {
	o := gpulog.ReaderOptions{Name: s.Name}
	if s.At == nil {
		r, err := gpulog.NewReader(s.R, o)
		if err != nil {
			return err
		}
		in.reader = r
		return nil
	}
	l, err := gpulog.Open(in.name, o)
	if err != nil {
		return err
	}
	in.log = l
	in.close = append(in.close, l.Close)
	r, err := l.Reader()
	if err != nil {
		return err
	}
	in.reader = r
	return nil
}

// Bound returns a time that no event still to come lies before, or NoTime.
func (in *input) Bound() event.Time {
	if b, ok := in.reader.(gpulog.Bounded); ok {
		return b.Bound()
	}
	return event.NoTime
}

// Next is the reader's Next, with a failure in the middle turned into an end.
// After a signal b is lost to the reader, which is still at work.
func (in *input) Next(b *event.Batch) error {
	err, stop := awaited(in.ctx, func() error { return in.reader.Next(b) })
	if stop != nil {
		in.close = nil // its reader is still at work in what would be closed
		return stop
	}
	switch {
	case err == nil:
		in.events += uint64(len(b.Events))
	case !errors.Is(err, io.EOF) && in.events > 0:
		in.failure = err
		in.extra.AddAt(inputEnds, 1, err.Error())
		b.Reset()
		return io.EOF
	}
	return err
}

// Meta describes the input, its anomalies included.
func (in *input) Meta() *event.Meta {
	m := *in.reader.Meta()
	m.Anomalies = append([]event.Anomaly(nil), m.Anomalies...)
	m.Anomalies = append(m.Anomalies, in.reader.Counters().List()...)
	m.Anomalies = append(m.Anomalies, in.extra.List()...)
	return &m
}

func (in *input) Close() error {
	var first error
	for i := len(in.close) - 1; i >= 0; i-- {
		if err := in.close[i](); first == nil {
			first = err
		}
	}
	in.close = nil
	return first
}

// result turns what was unreadable into exit status 3, with one line for the
// first cause. What an earlier import could not read is no fault of its log.
func (in *input) result() error {
	for _, p := range in.parts {
		if err := p.result(); err != nil {
			return err
		}
	}
	if in.failure != nil {
		err := in.failure
		if ie := (*importer.Error)(nil); !errors.As(err, &ie) || ie.Remedy == "" {
			err = fmt.Errorf("%w; all before it is in the output", err)
		}
		return &exitError{exitPartial, err}
	}
	for _, a := range in.reader.Counters().List() {
		if a.Severity == event.SeverityError && a.Count > 0 {
			where := ""
			if a.Sample != "" {
				where = ", first at " + a.Sample
			}
			return &exitError{exitPartial, fmt.Errorf("%s: part could not be read: %s ×%d%s; %s", in.name, a.Name, a.Count, where, a.Remedy)}
		}
	}
	return nil
}

// note prints a line for people, unless --quiet.
func note(c *cli.Context, format string, args ...any) {
	if !c.Bool("quiet") {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// sortMemory is what one of the two sorts, of events and of rows, may hold of
// --max-memory: the garbage collector lets the heap grow to twice what is live.
func sortMemory(c *cli.Context) (int64, error) {
	n, err := parseBytes(c.String("max-memory"))
	if err != nil || n < 1<<20 {
		return 0, usageError("--max-memory %q is no size of at least 1M; write it as 256M or 2G", c.String("max-memory"))
	}
	return n / 4, nil
}
