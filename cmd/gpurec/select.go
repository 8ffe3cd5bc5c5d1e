package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/report"
	"github.com/gpurec/gpurec/record/event"
	"github.com/urfave/cli/v2"
)

// selection is what of a trace is exported: the flags of export.
type selection struct {
	filter    export.FilterOptions
	processes []string
	max       int64
	spool     string // a copy of standard input, which is read more than once
	named     string // what the input is called if it was spooled
}

func selectionOf(c *cli.Context, to string) (*selection, error) {
	s := &selection{processes: c.StringSlice("process")}
	w := &export.Window{}
	for name, edge := range map[string]*export.Edge{"from-time": &w.From, "to-time": &w.To} {
		v := c.String(name)
		if v == "" {
			continue
		}
		e, err := export.ParseEdge(v)
		if err != nil {
			return nil, usageError("--%s %v", name, err)
		}
		*edge = e
		s.filter.Window = w
	}
	if w.From.Set && w.To.Set && w.From.Relative == w.To.Relative && w.From.NS >= w.To.NS {
		return nil, usageError("--from-time %s is not before --to-time %s", c.String("from-time"), c.String("to-time"))
	}
	for name, list := range map[string]*[]export.Kind{"include": &s.filter.Include, "exclude": &s.filter.Exclude} {
		for _, v := range c.StringSlice(name) {
			k, err := export.ParseKind(v)
			if err != nil {
				return nil, usageError("--%s %v", name, err)
			}
			*list = append(*list, k)
		}
	}
	if v := c.String("max-output"); v != "" {
		n, err := parseBytes(v)
		if err != nil || n == 0 {
			return nil, usageError("--max-output %q is no size; write it as 50M", v)
		}
		if to == "-" {
			return nil, usageError("--max-output needs a file: what is on standard output cannot be taken back")
		}
		s.max = n
	}
	s.filter.Said = said(c)
	return s, nil
}

// said repeats the flags of the selection.
func said(c *cli.Context) string {
	var parts []string
	for _, f := range []string{"from-time", "to-time", "max-output"} {
		if v := c.String(f); v != "" {
			parts = append(parts, "--"+f+" "+v)
		}
	}
	for _, f := range []string{"process", "include", "exclude"} {
		for _, v := range c.StringSlice(f) {
			parts = append(parts, "--"+f+" "+v)
		}
	}
	return strings.Join(parts, " ")
}

// close removes what was spooled.
func (s *selection) close() {
	if s.spool != "" {
		os.Remove(s.spool)
	}
}

// prepare finds out, in a reading of its own, which processes are meant. It
// returns the inputs, standard input as a file if it is read more than once.
func (s *selection) prepare(c *cli.Context, from []string) ([]string, error) {
	if len(s.processes) == 0 && s.max == 0 {
		return from, nil
	}
	if i := slices.Index(from, "-"); i >= 0 {
		path, err := spoolStdin(c.Context)
		if err != nil {
			return nil, err
		}
		s.spool, s.named = path, "-"
		from = slices.Clone(from)
		from[i] = path
	}
	if len(s.processes) == 0 {
		return from, nil
	}
	in, err := openInputs(c, from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	census := &processCensus{}
	if _, err := correlateInto(c, in, census); err != nil {
		return nil, err
	}
	set, missing := export.MatchProcesses(census.rows, s.processes)
	if len(missing) > 0 {
		return nil, usageError("--process %s: no such process in the trace; it has %s", missing[0], census)
	}
	s.filter.Processes = set
	return from, nil
}

func spoolStdin(ctx context.Context) (string, error) {
	f, err := os.CreateTemp("", "gpurec-input-*")
	if err != nil {
		return "", err
	}
	err, stop := awaited(ctx, func() error {
		_, err := io.Copy(f, os.Stdin)
		return err
	})
	if err == nil {
		err = stop
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("copy standard input to %s: %w", f.Name(), err)
	}
	return f.Name(), nil
}

// processCensus is a sink that lists the processes.
type processCensus struct {
	rows []correlate.Process
}

func (p *processCensus) Begin(*event.Meta) error      { return nil }
func (p *processCensus) End(*correlate.Summary) error { return nil }
func (p *processCensus) Abort() error                 { return nil }
func (p *processCensus) Write(r *correlate.Rows) error {
	p.rows = append(p.rows, r.Processes...)
	return nil
}

// String lists some of them.
func (p *processCensus) String() string {
	const most = 12
	var parts []string
	for i := range p.rows {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(p.rows)-most))
			break
		}
		r := &p.rows[i]
		s := r.Name
		if r.PID.OK {
			s = strings.TrimSpace(fmt.Sprintf("%s %d", s, r.PID.V))
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// open opens the output, behind a filter if anything is left out or might be.
func (s *selection) open(c *cli.Context, in, to string) (export.Sink, *export.Filter, error) {
	mem, err := sortMemory(c)
	if err != nil {
		return nil, nil, err
	}
	sink, err := openSink(c, in, to, func(o *export.Options) {
		o.Window, o.MaxOutput = s.filter.Window, s.max
		o.RenderStages, o.CompressPackets = c.Bool("render-stages"), c.Bool("compress-packets")
	})
	if err != nil || s.filter.Said == "" {
		return sink, nil, err
	}
	o := s.filter
	o.MaxMemory = mem
	f := export.NewFilter(sink, o)
	return f, f, nil
}

// beside says so if the window lies before or behind the whole trace.
func (s *selection) beside(sum *correlate.Summary) string {
	w := s.filter.Window
	if w == nil || !sum.Start.Known() {
		return ""
	}
	from, to := w.Bounds()
	switch {
	case w.From.Set && from > int64(sum.End):
		return fmt.Sprintf("--from-time lies %s behind the end of the trace, which is %s long: all that ended is left out",
			report.Duration(from-int64(sum.End)), report.Duration(int64(sum.End-sum.Start)))
	case w.To.Set && to <= int64(sum.Start):
		return fmt.Sprintf("--to-time lies %s before the begin of the trace: all that has a begin is left out", report.Duration(int64(sum.Start)-to))
	}
	return ""
}

// lower leaves more detail out if err says that the output is too large.
func (s *selection) lower(c *cli.Context, f *export.Filter, err error) (again bool, _ error) {
	var large *export.TooLargeError
	if !errors.As(err, &large) || f == nil {
		return false, err
	}
	detail, ok := f.NextDetail(large.Size, large.Limit)
	if !ok {
		return false, err
	}
	s.filter.Detail = detail
	note(c, "%s would take %s: leaving out more", large.Name, event.SizeText(large.Size))
	return true, nil
}

// tellsStart tells a sink the time of the first event, before its first rows.
type tellsStart struct {
	correlate.MetaSource
	tell func(event.Time)
}

func (t *tellsStart) Next(b *event.Batch) error {
	err := t.MetaSource.Next(b)
	for i := range b.Events {
		if t.tell == nil {
			break
		}
		if at := b.Events[i].Time; at.Known() {
			t.tell(at)
			t.tell = nil
		}
	}
	return err
}
