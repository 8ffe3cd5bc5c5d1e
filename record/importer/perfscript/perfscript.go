// Package perfscript imports the text of perf script, and of simpleperf's
// report-sample in the same form.
//
//	COMM PID/TID [CPU] SECONDS: PERIOD EVENT: REST
//		ADDRESS SYMBOL+OFFSET (OBJECT)
//		…
//
// COMM, PID, TID, CPU and PERIOD may be missing (perf script -F); a number alone
// is the thread's, as perf prints by default. Lines of tracepoints become the
// events that package ftrace makes of them; if frames follow, a sample holds
// them. All other events are samples with their call chain.
package perfscript

import (
	"errors"
	"io"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:  "perf-script",
		Title: "perf script text",
		Sniff: sniff,
		Open:  open,
	}
}

// What can be wrong with a file.
var (
	// AnomalyUnreadLine counts lines that are no part of such a text.
	AnomalyUnreadLine = event.AnomalySpec{
		Name: "perf_script_unread_line", Severity: event.SeverityWarning,
		Doc:    "a line is neither an event nor a frame and was left out",
		Remedy: "look at the line given; if it is an event, report it",
	}
	// AnomalyTornLine counts lines that were events once.
	AnomalyTornLine = event.AnomalySpec{
		Name: "perf_script_torn_line", Severity: event.SeverityError,
		Doc:    "a line has the CPU column of an event, and what stands around it cannot be read: it was left out",
		Remedy: "look at the line given: if it is damaged, fetch the file again; if it is a whole event, report it",
	}
	// AnomalyLongLine counts lines that are longer than a reader can hold.
	AnomalyLongLine = event.AnomalySpec{
		Name: "perf_script_long_line", Severity: event.SeverityError,
		Doc:    "a line is longer than 64 KiB: only its beginning was read",
		Remedy: "leave out fields that grow without bound (perf script -F without brstack)",
	}
	// AnomalyLongStack counts call chains that are longer than a reader can hold.
	AnomalyLongStack = event.AnomalySpec{
		Name: "perf_script_long_stack", Severity: event.SeverityWarning,
		Doc:    "a call chain is longer than 64 KiB of text: its outermost frames were left out",
		Remedy: "limit it: perf script --max-stack",
	}
	// AnomalyNoTime counts events without a time.
	AnomalyNoTime = event.AnomalySpec{
		Name: "perf_script_no_time", Severity: event.SeverityWarning,
		Doc:    "events without a time: their order is kept, their times are unknown",
		Remedy: "print the time: perf script -F +time",
	}
	// AnomalyTimeRange counts times that do not fit.
	AnomalyTimeRange = event.AnomalySpec{
		Name: "perf_script_time_range", Severity: event.SeverityWarning,
		Doc:    "a time is too large for 64-bit nanoseconds and is unknown",
		Remedy: "check the file",
	}
	// AnomalyLost counts events that perf says were lost.
	AnomalyLost = event.AnomalySpec{
		Name: "perf_script_lost_events", Severity: event.SeverityLoss,
		Doc:    "perf's ring buffer overflowed: events are missing from the trace",
		Remedy: "record with a larger buffer (perf record -m) or a lower rate (-F)",
	}
	// AnomalyTraceError counts gaps in a hardware trace.
	AnomalyTraceError = event.AnomalySpec{
		Name: "perf_script_trace_error", Severity: event.SeverityLoss,
		Doc:    "the decoder of a hardware trace (Intel PT and the like) reports an error: branches are missing there",
		Remedy: "record with a larger AUX buffer (perf record -m,64M) or less detail",
	}
)

// maxStack bounds the text of a call chain.
const maxStack = 64 << 10

// stream is the name of the source in losses.
const stream = "perf"

// reader is an importer.Reader.
type reader struct {
	lines   lineReader
	mapper  *ftrace.TextMapper
	count   event.Counters
	meta    event.Meta
	pending bool // a sample waits for its frames
	only    bool // it exists only if frames come: of a tracepoint
	sample  event.Event
	stack   []byte
	cut     bool // stack is full
	last    event.Time
	tally   tally
	eof     bool
	failure error
}

// tally counts lines by what they are.
type tally struct {
	heads, frames, comments, blanks, other int64
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{last: event.NoTime}
	r.lines.init(in.R)
	r.lines.name = in.Name
	r.mapper = ftrace.NewTextMapper(&r.count, r.lines.place)
	r.meta = event.Meta{Format: "perf-script", Clock: o.Clock}
	if r.meta.Clock == "" {
		r.meta.Clock = event.ClockUnknown
	}
	return r, nil
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	b.Reset()
	for !r.eof && len(b.Events) < event.DefaultBatch {
		line, err := r.lines.next()
		if err != nil {
			r.eof = true
			r.flush(b)
			if !errors.Is(err, io.EOF) {
				r.failure = &importer.Error{Name: r.lines.name, Line: r.lines.number, Offset: -1, Err: err,
					Remedy: "what was read up to here is kept"}
			}
			break
		}
		if r.lines.cut {
			r.note(&AnomalyLongLine)
		}
		r.line(b, line)
	}
	switch {
	case len(b.Events) > 0:
		return nil
	case r.failure != nil:
		return r.failure
	}
	return io.EOF
}

func (r *reader) note(a *event.AnomalySpec) {
	if r.count.Get(a) > 0 {
		r.count.Add(a, 1)
		return
	}
	r.count.AddAt(a, 1, r.lines.place())
}

// line handles one line of the input.
func (r *reader) line(b *event.Batch, line []byte) {
	switch {
	case len(trim(line)) == 0:
		r.tally.blanks++
		r.flush(b)
		return
	case line[0] == '#':
		r.tally.comments++
		r.comment(line)
		return
	case r.pending && surelyFrame(line):
		r.frame(line)
		return
	}
	var h head
	switch {
	case parseHead(line, &h):
		r.flush(b)
		r.tally.heads++
		r.event(b, &h)
	case r.traceError(b, line):
		r.tally.other++
	case r.pending && blank(line[0]):
		r.frame(line)
	default:
		r.tally.other++
		if hasCPU(line) {
			r.note(&AnomalyTornLine)
			return
		}
		r.note(&AnomalyUnreadLine)
	}
}

// event takes the event of a head.
func (r *reader) event(b *event.Batch, h *head) {
	switch {
	case h.range_:
		r.note(&AnomalyTimeRange)
	case !h.time.Known():
		r.note(&AnomalyNoTime)
	case !h.record || h.time != 0:
		r.span(h.time)
	}
	comm := r.mapper.Strings.Get(h.comm)
	switch {
	case h.record:
		r.record(b, h, comm)
		return
	case h.tracepoint:
		r.mapper.Map(b, &ftrace.Head{Time: h.time, CPU: h.cpu, PID: h.pid, TID: h.tid, Comm: comm}, h.text)
	}
	s := &r.sample
	s.Reset(event.KindSample, h.time)
	s.CPU, s.PID, s.TID, s.Comm = h.cpu, h.pid, h.tid, comm
	name := r.mapper.Strings.Get(h.event)
	s.Source = r.mapper.Strings.Get(append([]byte("perf:"), h.event...))
	s.SetStr(event.FieldName, name)
	if h.hasPeriod {
		s.SetUint(event.FieldPeriod, h.period)
	}
	r.pending, r.only, r.cut = true, h.tracepoint, false
	r.stack = r.stack[:0]
	if !h.tracepoint {
		r.push(trim(h.rest))
	}
}

// frame adds a line to the call chain of the sample before.
func (r *reader) frame(line []byte) {
	r.tally.frames++
	r.only = false
	r.push(trim(line))
}

func (r *reader) push(frame []byte) {
	switch {
	case len(frame) == 0:
	case len(r.stack)+len(frame) >= maxStack:
		if !r.cut {
			r.note(&AnomalyLongStack)
		}
		r.cut = true
	default:
		if len(r.stack) > 0 {
			r.stack = append(r.stack, '\n')
		}
		r.stack = append(r.stack, frame...)
	}
}

// flush gives the sample that waited for its frames.
func (r *reader) flush(b *event.Batch) {
	if r.pending && !r.only {
		r.sample.SetStr(event.FieldStack, r.mapper.Strings.Get(r.stack))
		b.Events = append(b.Events, r.sample)
	}
	r.pending = false
}

// span widens the time range of the input.
func (r *reader) span(t event.Time) {
	m := &r.meta
	if !m.Start.OK || t < m.Start.V {
		m.Start = event.Some(t)
	}
	if !m.End.OK || t > m.End.V {
		m.End = event.Some(t)
	}
	r.last = t
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close does nothing: the input belongs to the caller.
func (r *reader) Close() error { return nil }
