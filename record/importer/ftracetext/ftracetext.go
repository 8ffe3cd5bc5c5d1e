// Package ftracetext imports ftrace text: the kernel's trace and trace_pipe,
// trace-cmd report, and Android systrace files (bare or in HTML).
//
// A line is read from its left:
//
//	TASK-PID (TGID) [CPU] FLAGS TIME: EVENT: TEXT
//
// TGID, CPU and FLAGS may be missing; the latency format has CPU and FLAGS in
// one word. A file may also hold nothing but "EVENT: TEXT". What follows the time
// is the business of package ftrace. Lines without such a head are known header
// lines, the further lines of the event before, or counted.
package ftracetext

import (
	"errors"
	"io"
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:  "ftrace-text",
		Title: "ftrace text (trace, trace_pipe, trace-cmd report, systrace)",
		Sniff: sniff,
		Open:  open,
	}
}

// What can be wrong with a file.
var (
	// AnomalyUnreadLine counts lines that are no part of a trace.
	AnomalyUnreadLine = event.AnomalySpec{
		Name: "ftrace_text_unread_line", Severity: event.SeverityWarning,
		Doc:    "a line is neither an event nor a header and was left out",
		Remedy: "look at the line given; if it is an event, report it",
	}
	// AnomalyTornLine counts lines that were events once.
	AnomalyTornLine = event.AnomalySpec{
		Name: "ftrace_text_torn_line", Severity: event.SeverityError,
		Doc:    "a line has the CPU column of an event, and what stands around it cannot be read: it was left out",
		Remedy: "look at the line given: if it is damaged, fetch the file again; if it is a whole event, report it",
	}
	// AnomalyLongLine counts lines that are longer than a reader can hold.
	AnomalyLongLine = event.AnomalySpec{
		Name: "ftrace_text_long_line", Severity: event.SeverityError,
		Doc:    "a line is longer than 64 KiB: only its beginning was read",
		Remedy: "check that the file is a trace; the kernel never writes such lines",
	}
	// AnomalyNoTime counts events without a time.
	AnomalyNoTime = event.AnomalySpec{
		Name: "ftrace_text_no_time", Severity: event.SeverityWarning,
		Doc:    "events without a time: their order is kept, their times are unknown",
		Remedy: "export the trace with times (the kernel's trace file has them)",
	}
	// AnomalyRawClock counts times that are plain numbers.
	AnomalyRawClock = event.AnomalySpec{
		Name: "ftrace_text_raw_clock", Severity: event.SeverityWarning,
		Doc:    "times are whole numbers (trace_clock counter or x86-tsc): kept as they are, they are not nanoseconds",
		Remedy: "record with trace_clock set to boot or mono",
	}
	// AnomalyLatencyFormat counts events of the latency format.
	AnomalyLatencyFormat = event.AnomalySpec{
		Name: "ftrace_text_latency_format", Severity: event.SeverityWarning,
		Doc:    "times are whole microseconds since the trace began and names of tasks are cut to 8 bytes (trace option latency-format)",
		Remedy: "turn the trace option latency-format off, or record raw pages",
	}
	// AnomalyTimeRange counts times that do not fit.
	AnomalyTimeRange = event.AnomalySpec{
		Name: "ftrace_text_time_range", Severity: event.SeverityWarning,
		Doc:    "a time is too large for 64-bit nanoseconds and is unknown",
		Remedy: "check the trace clock",
	}
	// AnomalyTimeBack counts events that are older than the one before them on the same CPU.
	AnomalyTimeBack = event.AnomalySpec{
		Name: "ftrace_text_time_goes_back", Severity: event.SeverityInfo,
		Doc:    "an event is older than the one before it on the same CPU: several traces in one file, or a clock that is not monotonic",
		Remedy: "import the traces one by one if they are several",
	}
	// AnomalyOtherData counts lines of an HTML file that belong to another trace inside it.
	AnomalyOtherData = event.AnomalySpec{
		Name: "ftrace_text_other_data", Severity: event.SeverityInfo,
		Doc:    "the HTML file holds further data (JSON) beside the ftrace text: not read",
		Remedy: "convert that part separately if you need it",
	}
	// AnomalyTruncatedText counts texts of many lines that grew too long.
	AnomalyTruncatedText = event.AnomalySpec{
		Name: "ftrace_text_truncated", Severity: event.SeverityWarning,
		Doc:    "an event's text over several lines is longer than 64 KiB: its rest was left out",
		Remedy: "check that the lines belong to the event",
	}
	// AnomalyLineTooBig counts lines that the kernel itself cut.
	AnomalyLineTooBig = event.AnomalySpec{
		Name: "ftrace_text_line_too_big", Severity: event.SeverityLoss,
		Doc:    "the kernel could not print an event (LINE TOO BIG)",
		Remedy: "record raw pages",
	}
)

const maxText = 64 << 10 // bytes of an event's text over several lines

// reader is an importer.Reader.
type reader struct {
	lines   lineReader
	mapper  *ftrace.TextMapper
	count   event.Counters
	meta    event.Meta
	env     envelope
	loss    losses
	last    []byte // text of the event before, for the lines that continue it
	lastAt  int    // its place in the batch, -1 if it is not there
	lastH   ftrace.Head
	grown   bool // last has grown since its event was made
	heads   bool // an event with a head has been seen
	tally   tally
	eof     bool
	failure error

	instances    []string // names of buffer instances seen
	lastInstance string
}

// tally counts lines by what they are.
type tally struct {
	events, bare, headers, losses, comments, blanks, more, unread, markup int64
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{lastAt: -1}
	r.lines.init(in.R, in.Name)
	r.mapper = ftrace.NewTextMapper(&r.count, r.lines.place)
	r.meta = event.Meta{Format: "ftrace-text", Clock: o.Clock}
	if r.meta.Clock == "" {
		r.meta.Clock = event.ClockUnknown
	}
	r.loss.count = &r.count
	return r, nil
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	b.Reset()
	r.lastAt = -1
	for !r.eof {
		line, err := r.lines.peek()
		if err != nil {
			r.finish(b, err)
			break
		}
		if len(b.Events) >= event.DefaultBatch && r.beginsEvent(line) {
			r.settle(b)
			return nil
		}
		r.lines.take()
		r.line(b, line)
	}
	if len(b.Events) > 0 {
		return nil
	}
	if r.failure != nil {
		return r.failure
	}
	return io.EOF
}

// finish ends reading, for good or not.
func (r *reader) finish(b *event.Batch, err error) {
	r.eof = true
	r.settle(b)
	r.loss.flush(b)
	if errors.Is(err, io.EOF) {
		return
	}
	r.failure = &importer.Error{Name: r.lines.name, Line: r.lines.number, Offset: -1, Err: err,
		Remedy: "what was read up to here is kept"}
}

// beginsEvent reports whether line can't be the continuation of the event before.
func (r *reader) beginsEvent(line []byte) bool {
	var h head
	return parseHead(line, &h)
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
	line, ok := r.envelope(b, line)
	if !ok {
		return
	}
	if r.lines.cut {
		r.note(&AnomalyLongLine)
	}
	var h head
	if parseHead(line, &h) {
		r.settle(b)
		r.heads = true
		r.event(b, &h)
		return
	}
	switch r.classify(line) {
	case lineBlank:
		r.tally.blanks++
	case lineComment:
		r.tally.comments++
		r.comment(line)
	case lineHeader:
		r.tally.headers++
		r.close(b)
	case lineBare:
		r.tally.bare++
		r.bare(b, line)
	case lineMore:
		if r.continuable(b) {
			r.tally.more++
			r.more(line)
			return
		}
		fallthrough
	default:
		r.tally.unread++
		if hasCPU(line) {
			r.note(&AnomalyTornLine)
			return
		}
		r.note(&AnomalyUnreadLine)
	}
}

// continuable reports whether the event before can have a text of many lines.
func (r *reader) continuable(b *event.Batch) bool {
	switch b.Events[r.lastAt].Kind {
	case event.KindOther, event.KindMark, event.KindSliceBegin:
		return true
	}
	return false
}

// event adds the event of a line with a head.
func (r *reader) event(b *event.Batch, h *head) {
	r.tally.events++
	eh := ftrace.Head{Time: h.time, CPU: h.cpu, PID: h.pid, TID: h.tid}
	if c := h.comm; len(c) > 0 && !unknownTask(c) {
		eh.Comm = r.mapper.Strings.Get(c)
	}
	switch h.clock {
	case clockRaw:
		r.note(&AnomalyRawClock)
	case clockMicros:
		r.note(&AnomalyLatencyFormat)
	case clockRange:
		r.note(&AnomalyTimeRange)
	}
	r.instance(h.instance)
	if h.time.Known() {
		r.span(h.time)
	}
	if r.loss.before(b, &eh) {
		r.note(&AnomalyTimeBack)
	}
	r.add(b, &eh, h.text)
}

// span widens the time range of the input.
func (r *reader) span(t event.Time) {
	if m := &r.meta; !m.Start.OK || t < m.Start.V {
		m.Start = event.Some(t)
	}
	if m := &r.meta; !m.End.OK || t > m.End.V {
		m.End = event.Some(t)
	}
}

// instance notes the names of buffer instances.
func (r *reader) instance(name []byte) {
	if len(name) == 0 || len(r.instances) >= 64 || string(name) == r.lastInstance {
		return
	}
	r.lastInstance = r.mapper.Strings.Get(name)
	if !slices.Contains(r.instances, r.lastInstance) {
		r.instances = append(r.instances, r.lastInstance)
		r.fact("instance", name)
	}
}

// unknownTask: the kernel prints <...> for a task whose name it forgot,
// Android's atrace <PID>.
func unknownTask(c []byte) bool {
	return c[0] == '<' && (len(c) > 1 && c[1] >= '0' && c[1] <= '9' || string(c) == "<...>")
}

// bare adds the event of a line that holds nothing but its name and text.
func (r *reader) bare(b *event.Batch, line []byte) {
	r.note(&AnomalyNoTime)
	r.add(b, &ftrace.Head{Time: event.NoTime, CPU: event.NoID, PID: event.NoID, TID: event.NoID}, trimLeft(line))
}

func (r *reader) add(b *event.Batch, h *ftrace.Head, text []byte) {
	r.lastAt = len(b.Events)
	r.lastH = *h
	r.last = append(r.last[:0], text...)
	r.mapper.Map(b, h, text)
}

// more adds a line to the text of the event before.
func (r *reader) more(line []byte) {
	if len(r.last)+len(line) >= maxText {
		r.note(&AnomalyTruncatedText)
		return
	}
	r.last = append(append(r.last, '\n'), line...)
	r.grown = true
}

// settle reads the event before again if its text has grown.
func (r *reader) settle(b *event.Batch) {
	if !r.grown || r.lastAt < 0 {
		return
	}
	r.grown = false
	b.Events = b.Events[:r.lastAt]
	r.mapper.Map(b, &r.lastH, r.last)
}

// close ends the event before: no further line belongs to it.
func (r *reader) close(b *event.Batch) {
	r.settle(b)
	r.lastAt = -1
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close does nothing: the input belongs to the caller.
func (r *reader) Close() error { return nil }
