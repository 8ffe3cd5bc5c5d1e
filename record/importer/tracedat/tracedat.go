// Package tracedat imports trace.dat, the binary file of trace-cmd, in its
// versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).
//
// The file holds the formats of events, texts of tracefs, options, and for each
// tracing instance and CPU an ordered run of ring buffer pages, in version 7
// possibly compressed in chunks. The runs are merged by time while they are
// read. A pipe is copied to a temporary file as far as it is needed.
//
// Times: the options OFFSET, TSC2NSEC and TIME_SHIFT correct the file's times
// and are applied, as trace-cmd report does. The option DATE relates the trace
// clock to real time: times stay as they are, and the relation becomes a clock
// snapshot where the clock is one of those, and the fact realtime_offset_ns
// (real time = time + offset) in any case.
package tracedat

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:  "trace-dat",
		Title: "trace-cmd trace.dat, versions 6 and 7",
		Sniff: sniff,
		Open:  open,
	}
}

var magic = []byte("\x17\x08\x44tracing")

func sniff(head []byte) bool { return bytes.HasPrefix(head, magic) }

// What can be wrong with a file.
var (
	// AnomalyUnknownOption counts options that nobody here knows.
	AnomalyUnknownOption = event.AnomalySpec{
		Name: "trace_dat_unknown_option", Severity: event.SeverityInfo,
		Doc:    "the file has an option that is not known: skipped",
		Remedy: "none needed: options describe the recording, events do not depend on them",
	}
	// AnomalyBadOption counts options that cannot be read.
	AnomalyBadOption = event.AnomalySpec{
		Name: "trace_dat_bad_option", Severity: event.SeverityError,
		Doc:    "an option is shorter than its contents say: what it tells is unknown",
		Remedy: "the file is damaged: fetch or record it again",
	}
	// AnomalyBadSection counts parts of a file that cannot be read.
	AnomalyBadSection = event.AnomalySpec{
		Name: "trace_dat_bad_section", Severity: event.SeverityError,
		Doc:    "a part of the file (names, formats, symbols) is missing or damaged: what it tells is unknown",
		Remedy: "the file is damaged: fetch or record it again",
	}
	// AnomalyBadChunk counts compressed pieces of pages that cannot be read.
	AnomalyBadChunk = event.AnomalySpec{
		Name: "trace_dat_bad_chunk", Severity: event.SeverityError,
		Doc:    "a compressed piece of a CPU's pages is damaged: its events are missing",
		Remedy: "the file is damaged: fetch or record it again",
	}
	// AnomalyCPUUnknown counts runs of pages whose CPU is not known.
	AnomalyCPUUnknown = event.AnomalySpec{
		Name: "trace_dat_cpu_unknown", Severity: event.SeverityWarning,
		Doc:    "the file was cut before its table of CPUs: pages were found without it, their CPUs are unknown",
		Remedy: "fetch or record the file again",
	}
	// AnomalyTimesCorrected tells that the file's options correct its times.
	AnomalyTimesCorrected = event.AnomalySpec{
		Name: "trace_dat_times_corrected", Severity: event.SeverityInfo,
		Doc:    "the file's options (offset, tsc2nsec, time shift) correct its times: applied, as trace-cmd report does",
		Remedy: "none needed",
	}
	// AnomalyLatencyText counts buffers that hold text instead of pages.
	AnomalyLatencyText = event.AnomalySpec{
		Name: "trace_dat_latency_text", Severity: event.SeverityError,
		Doc:    "an instance holds the text of a latency tracer, not ring buffer pages",
		Remedy: "turn it into text (trace-cmd report FILE > out.txt) and import that",
	}
)

// reader is an importer.Reader.
type reader struct {
	f     file
	merge *ftrace.Merger
	count event.Counters
	meta  event.Meta
	feeds []feed
	spool *spool // of a pipe
	cut   error  // why the file's table was not read whole
	eof   bool
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{}
	r.f.name, r.f.count = in.Name, &r.count
	r.f.at, r.f.size = in.At, in.Size
	if in.At == nil {
		var err error
		if r.spool, err = newSpool(in.R); err != nil {
			return nil, &importer.Error{Name: in.Name, Offset: -1, Err: err, Remedy: "set TMPDIR to a folder with room"}
		}
		r.f.at, r.f.size = r.spool, unknownSize
	}
	if err := r.open(o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *reader) open(o importer.Options) error {
	f := &r.f
	if err := f.begin(); err != nil {
		return err
	}
	var err error
	if f.version == 6 {
		err = f.read6()
	} else {
		err = f.read7()
	}
	if err != nil && len(f.buffers) == 0 {
		return err
	}
	r.cut = err
	layout, err := ftrace.ParseLayout(f.headerPage, f.headerEvent, f.order)
	if err != nil {
		return f.errorAt(-1, err, "the file is damaged: fetch or record it again")
	}
	r.describe(o)
	d, err := ftrace.NewDecoder(layout, nil, ftrace.DecoderOptions{
		Counters: &r.count, IoctlNR: ftrace.IoctlNR(r.meta.Host.Machine),
	})
	if err != nil {
		return f.errorAt(-1, err, "the file is damaged: fetch or record it again")
	}
	r.names(d)
	return r.lanes(d, &layout)
}

// names gives the decoder formats, tasks and symbols.
func (r *reader) names(d *ftrace.Decoder) {
	f := &r.f
	for _, t := range f.formats {
		if err := d.AddText(t.system, t.text); err != nil {
			r.count.AddAt(&ftrace.AnomalyBadFormat, 1, t.system+": "+err.Error())
		}
	}
	d.SavedTGIDs(f.tgids)
	d.SavedCmdlines(f.cmdlines)
	d.PrintkFormats(f.printk)
	d.Kallsyms(f.kallsyms)
}

// lanes makes a lane of each CPU of each buffer: the top one first.
func (r *reader) lanes(d *ftrace.Decoder, layout *ftrace.Layout) error {
	n := 0
	for i := range r.f.buffers {
		n += len(r.f.buffers[i].cpus)
	}
	if n > maxLanes {
		return r.f.errorAt(-1, fmt.Errorf("has %d CPU buffers, more than %d", n, maxLanes), "split it: trace-cmd split")
	}
	largest := 0
	for i := range r.f.buffers {
		largest = max(largest, r.f.pageOf(&r.f.buffers[i], layout))
	}
	if largest*n > 2*feedMemory {
		return r.f.errorAt(-1, fmt.Errorf("has pages of %d bytes on %d CPUs: too much to hold one of each", largest, n), "split it: trace-cmd split")
	}
	shared := new(scratch)
	var lanes []ftrace.Lane
	for i := range r.f.buffers {
		b := &r.f.buffers[i]
		name := ftrace.Stream
		if b.name != "" {
			name += ":" + b.name
		}
		page := r.f.pageOf(b, layout)
		for _, c := range b.cpus {
			fd := r.f.feed(b, c, page, n, shared)
			r.feeds = append(r.feeds, fd)
			lanes = append(lanes, ftrace.Lane{CPU: c.id, Name: name, Next: fd.next, Time: r.f.times.of(c.id)})
		}
	}
	r.merge = ftrace.NewMerger(d, lanes)
	return nil
}

// pageOf tells the size of a buffer's pages: a buffer of version 7 says it,
// else header_page, which knows sub-buffers larger than the machine's pages.
func (f *file) pageOf(b *buffer, l *ftrace.Layout) int {
	if n := b.page; n > l.DataOffset && n <= maxPage {
		return n
	}
	if n := l.SubBufferSize(); n > f.pageSize && n <= maxPage {
		return n
	}
	return f.pageSize
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	err := r.merge.Next(b)
	if err == nil || !errors.Is(err, io.EOF) {
		return err
	}
	if !r.eof {
		r.eof = true
		r.finish()
	}
	if r.cut != nil {
		return r.cut
	}
	if l := r.merge.Failures(); len(l) > 0 {
		return l[0]
	}
	return io.EOF
}

func (r *reader) finish() {
	start, end := r.merge.Span()
	r.meta.Start, r.meta.End = event.OptTime(start), event.OptTime(end)
	r.snapshot(start)
	i := 0
	for k := range r.f.buffers {
		b := &r.f.buffers[k]
		for _, c := range b.cpus {
			if s, ok := r.f.stats[statKey{b.name, c.id}]; ok {
				r.merge.CheckStats(i, s)
			}
			i++
		}
	}
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close releases what the reader holds beside the input.
func (r *reader) Close() error {
	r.f.close()
	if r.spool != nil {
		return r.spool.close()
	}
	return nil
}
