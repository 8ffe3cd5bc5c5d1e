package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

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
	membersLeft = &event.AnomalySpec{
		Name: "archive_members_not_read", Severity: event.SeverityError,
		Doc:    "The archive holds several files: the first was read, and none behind it.",
		Remedy: "name one with --member, or unpack the archive and give its files",
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
	next    event.Batch // what the reader fills
	ask     chan struct{}
	answer  chan error
	name    string
	format  string // "gpurec" or the importer's name
	close   []func() error
	extra   event.Counters
	stream  *importer.Stream // nil if it is several
	told    *progress        // has it as a source
	events  atomic.Uint64
	ended   atomic.Bool
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
		&cli.StringFlag{Name: "max-memory", Value: "256M", Usage: "`SIZE` of memory to stay within, at least 128M: events and rows to be put in order that would not fit go to temporary files"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing but errors"},
	}
}

func openInput(c *cli.Context, path string, opt importer.Options) (*input, error) {
	if path == "" {
		return nil, usageError("the name of the input is empty")
	}
	if err := knownFlags(c); err != nil {
		return nil, err
	}
	type opened struct {
		in  *input
		err error
	}
	p := progressOf(c)
	p.off(path, os.Stdin)
	defer tellWaiting(c, p, path)()
	o, err := awaited(c.Context, func() opened {
		s, err := importer.OpenMember(path, c.String("member"))
		if err != nil {
			return opened{nil, err}
		}
		in := &input{ctx: c.Context, name: path, stream: s, told: p, close: []func() error{s.Close}}
		p.add(s.Name, in)
		if err := in.open(c, s, opt); err != nil {
			in.Close()
			return opened{nil, err}
		}
		return opened{in, nil}
	})
	return o.in, cmp.Or(err, o.err)
}

// knownFlags refuses flags whose values no input has a use for.
func knownFlags(c *cli.Context) error {
	from := c.String("from")
	if from != "" && from != "gpurec" && !slices.ContainsFunc(importers(), func(f importer.Format) bool { return f.Name == from }) {
		return usageError("--from %q is not known; known are gpurec, %s", from, importerNames())
	}
	_, err := clockFlag(c)
	return err
}

func (in *input) open(c *cli.Context, s *importer.Stream, opt importer.Options) error {
	from := c.String("from")
	if from == "gpurec" || from == "" && gpulog.Sniff(s.Head) {
		in.format = "gpurec"
		if err := in.openLog(s); err != nil {
			return err
		}
		if k := c.String("clock"); k != "" {
			note(c, "%s: a log says itself what its clock is (%s): --clock %s is not used", shownName(in.name), in.reader.Meta().Clock, k)
		}
		return nil
	}
	f, err := importer.Detect(s, importers(), from)
	if err != nil {
		return err
	}
	if opt.Clock, err = clockFlag(c); err != nil {
		return err
	}
	r, err := s.OpenReader(f, opt)
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
	o := gpulog.ReaderOptions{Name: s.Name, At: s.Counted}
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
func (in *input) Next(b *event.Batch) error {
	in.next = *b
	err, stop := in.await()
	if stop != nil {
		// Its reader is still at work, in b's memory and in what would be closed.
		*b, in.close = event.Batch{}, nil
		return stop
	}
	*b = in.next
	switch {
	case err == nil:
		in.events.Add(uint64(len(b.Events)))
	case !errors.Is(err, io.EOF) && in.events.Load() > 0:
		in.ended.Store(true)
		in.fail(err)
		b.Reset()
		return io.EOF
	default:
		in.ended.Store(true)
	}
	return err
}

// await is [awaited] of the reader's Next. One goroutine calls it every time:
// its stack has grown.
func (in *input) await() (err, stop error) {
	if stop := interrupted(in.ctx); stop != nil {
		return nil, stop
	}
	if in.ask == nil {
		in.ask, in.answer = make(chan struct{}), make(chan error, 1)
		go func() {
			for range in.ask {
				in.answer <- in.reader.Next(&in.next)
			}
		}()
	}
	in.ask <- struct{}{}
	select {
	case err := <-in.answer:
		return err, nil
	case <-in.ctx.Done():
		return nil, interrupted(in.ctx)
	}
}

// fail notes why the input ended early.
func (in *input) fail(err error) {
	in.failure = err
	spec := inputEnds
	if errors.Is(err, importer.ErrSeveral) {
		spec = membersLeft
		for ie := (*importer.Error)(nil); errors.As(err, &ie); err = ie.Err {
			in.failure = ie // the innermost: where in the first member it was found is of no use
		}
	}
	in.extra.AddAt(spec, 1, in.failure.Error())
}

// Progress and Seen are what progress asks; see [source].
func (in *input) Progress() (read, size int64) { return in.stream.Progress() }

// Seen returns how many events were read, and whether there are no more.
func (in *input) Seen() (events uint64, ended bool) { return in.events.Load(), in.ended.Load() }

// Meta describes the input, its anomalies included.
func (in *input) Meta() *event.Meta {
	m := *in.reader.Meta()
	m.Anomalies = append([]event.Anomaly(nil), m.Anomalies...)
	m.Anomalies = append(m.Anomalies, in.reader.Counters().List()...)
	m.Anomalies = append(m.Anomalies, in.extra.List()...)
	return &m
}

func (in *input) Close() error {
	if in.ask != nil {
		close(in.ask)
		in.ask = nil
	}
	var first error
	for i := len(in.close) - 1; i >= 0; i-- {
		if err := in.close[i](); first == nil {
			first = err
		}
	}
	in.close = nil
	if in.told != nil {
		in.told.remove(in)
	}
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
			return &exitError{exitPartial, fmt.Errorf("%s: part could not be read: %s ×%d%s; %s", shownName(in.name), a.Name, a.Count, where, a.Remedy)}
		}
	}
	return nil
}

// tellWaiting says so if a pipe gives nothing for a while. The function that
// it returns ends that.
func tellWaiting(c *cli.Context, p *progress, path string) func() {
	st, err := os.Stdin.Stat()
	if path != "-" {
		st, err = os.Stat(path)
	}
	if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return func() {}
	}
	stop := p.after(progressAfter, func() {
		note(c, "%s: waiting for what is written to this pipe", shownName(path))
	})
	return func() { stop() }
}

// shownName is what messages call an input.
func shownName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// note prints a line for people, unless --quiet.
func note(c *cli.Context, format string, args ...any) {
	if !c.Bool("quiet") {
		line := oneLine(fmt.Sprintf(format, args...))
		progressIn(c.App).without(func() { fmt.Fprintln(os.Stderr, line) })
	}
}
