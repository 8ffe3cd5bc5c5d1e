package chromejson

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// batchEvents is how many events make a batch: so many stay in a core's cache
// until the log has them.
const batchEvents = 512

// maxHeld bounds the events of a batch that waits for the process of device work.
const maxHeld = 1 << 14

// maxHeldText bounds the arguments of a batch, in bytes.
const maxHeldText = 8 << 20

// maxStuck bounds the values in a row that take all of the window and do not end.
const maxStuck = 32

// place says where in the file the reader is.
type place uint8

const (
	placeStart  place = iota
	placeObject       // among the members of the outermost object
	placeList         // in an array of events, or another list
	placeText         // in the text of systemTraceEvents
	placeAfter        // behind the end of the trace
	placeEnd          // nothing more will come
)

// list says what the members of a list are.
type list uint8

const (
	listEvents  list = iota
	listSamples      // "samples": an array
	listFrames       // "stackFrames": an object
)

// reader is an importer.Reader.
type reader struct {
	win    window
	lex    lexer
	rec    record
	m      mapper
	count  event.Counters
	meta   event.Meta
	name   string
	told   event.Clock
	place  place
	list   list
	bare   bool // the file is an array
	lost   bool // reading goes on after damage: not everything that looks like an event is one
	at     int64
	stuck  int // values in a row that did not end
	events uint64
	fail   error
	top    facts
	system systemTrace
}

func newReader(in io.Reader, name string) *reader {
	r := &reader{name: name}
	r.win.init(in)
	r.lex.steps = new(steps)
	r.m.init(&r.lex, &r.count, func() string { return "byte " + strconv.FormatInt(r.at, 10) })
	r.meta = event.Meta{Format: "chrome-json", Clock: event.ClockUnknown}
	r.system.init(r)
	return r
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	if cap(b.Events) < batchEvents {
		b.Events = make([]event.Event, 0, batchEvents+batchEvents/8) // once, and not by steps
	}
	b.Reset()
	r.m.held = 0
	r.m.arena.rewind()
	for r.place != placeEnd {
		if n := len(b.Events); n >= batchEvents && (!r.m.devices.waiting() || n >= maxHeld) || r.m.held > maxHeldText {
			break
		}
		r.step(b)
	}
	r.m.devices.settle(b)
	r.events += uint64(len(b.Events))
	if len(b.Events) > 0 {
		return nil
	}
	if r.fail != nil {
		return r.fail
	}
	return io.EOF
}

// step reads on by one token or value at least.
func (r *reader) step(b *event.Batch) {
	w := &r.win
	if w.end-w.pos < padding && w.err == nil {
		w.more()
	}
	r.lex.b, r.lex.end = w.bytes(), w.end
	if r.place == placeText {
		r.system.read(b)
		return
	}
	w.pos = r.lex.blank(w.pos)
	if w.pos >= w.end {
		if !w.more() {
			r.finish(b)
		}
		return
	}
	r.at = w.offset(w.pos)
	switch r.place {
	case placeStart:
		r.begin()
	case placeObject:
		r.member(b)
	case placeList:
		r.element(b)
	case placeAfter:
		r.after(b)
	}
}

// begin takes the first token of the file.
func (r *reader) begin() {
	w := &r.win
	if w.end-w.pos >= 3 && string(w.buf[w.pos:w.pos+3]) == "\ufeff" {
		w.pos += 3
		return
	}
	switch w.buf[w.pos] {
	case '[':
		r.place, r.list, r.bare = placeList, listEvents, true
	case '{':
		r.place = placeObject
	default:
		r.stop(errors.New("is no trace-event JSON"), "it must begin with [ or {")
		return
	}
	w.pos++
}

// element takes the next token or member of a list.
func (r *reader) element(b *event.Batch) {
	w := &r.win
	switch c := w.buf[w.pos]; {
	case c == ',':
		w.pos++
	case c == ']' && r.list != listFrames, c == '}' && r.list == listFrames:
		w.pos++
		r.place = placeObject
		if r.bare {
			r.place = placeAfter
		}
		w.shrink()
	case c == '{' && r.list != listFrames:
		r.object(b)
	case c == '"' && r.list == listFrames:
		r.frame(b)
	default:
		r.skipOdd(b)
	}
}

// object takes an object of a list.
func (r *reader) object(b *event.Batch) {
	r.lex.unclean = false
	n := r.lex.record(r.win.pos, &r.rec)
	if n < 0 {
		r.cannot(b, n)
		return
	}
	switch {
	case r.list == listSamples:
		r.rec.ph = 'P'
		r.rec.hasName = r.rec.hasName && r.rec.name.set()
		r.m.more = r.m.more[:0]
		r.sample(b)
	case !r.rec.hasPh:
		if !r.lost {
			r.note(&AnomalyNotEvent)
		}
	default:
		r.lost, r.stuck = false, 0
		r.m.event(b, &r.rec)
	}
	r.win.pos = n
}

// skipOdd passes over a member of a list that is no object.
func (r *reader) skipOdd(b *event.Batch) {
	n := r.lex.value(r.win.pos)
	if n < 0 {
		r.cannot(b, n)
		return
	}
	r.note(&AnomalyNotEvent)
	r.win.pos = n
}

func (r *reader) note(a *event.AnomalySpec) { r.m.note(a) }

// cannot handles a value that does not end in the window, or is none.
func (r *reader) cannot(b *event.Batch, why int) {
	w := &r.win
	if why == needMore {
		if w.more() {
			return
		}
		// To find that a value does not end takes a look at all of the window.
		r.stuck++
		if w.err == nil {
			r.note(&AnomalyTooLong)
			if r.stuck > maxStuck {
				r.resync(b, w.end)
				return
			}
			r.resync(b, w.pos+1)
			return
		}
		if w.err == io.EOF {
			// Damage may have opened a text that takes the rest of the file: look for events in it.
			if r.stuck > maxStuck || !r.tailHasEvents() {
				r.cut(b)
				return
			}
			r.note(&AnomalyBadJSON)
			r.resync(b, w.pos+1)
			return
		}
		r.finish(b)
		return
	}
	if !r.lost || r.count.Get(&AnomalyBadJSON) == 0 {
		r.at = w.offset(r.lex.bad)
		r.note(&AnomalyBadJSON)
	}
	r.resync(b, max(r.lex.bad, w.pos+1))
}

// cut says that the input ends within a value.
func (r *reader) cut(b *event.Batch) {
	r.win.pos = r.win.end
	r.stop(errors.New("ends in the middle of a value"), "what is whole before it is kept; fetch or record the file again for the rest")
	r.close(b)
}

// finish takes the end of the input.
func (r *reader) finish(b *event.Batch) {
	switch err := r.win.err; {
	case err != io.EOF:
		r.at = r.win.offset(r.win.end)
		r.stop(err, "what was read up to here is kept")
	case r.place == placeStart:
		r.stop(errors.New("holds nothing but blanks"), "there is nothing to read")
	case r.place == placeObject, r.place == placeList && !r.bare:
		r.at = r.win.offset(r.win.end)
		r.stop(errors.New("ends before its last bracket"), "what is whole before it is kept; fetch or record the file again for the rest")
	case r.place == placeList:
		r.note(&AnomalyOpenList)
	}
	r.close(b)
}

func (r *reader) after(b *event.Batch) {
	w := &r.win
	if c := w.buf[w.pos]; c == ';' || c == ',' { // a script's, or a list that was cut out of one
		w.pos++
		return
	}
	r.note(&AnomalyAfterEnd)
	r.close(b)
}

// stop notes why reading ends early.
func (r *reader) stop(err error, remedy string) {
	r.place = placeEnd
	if r.fail == nil {
		r.fail = &importer.Error{Name: r.name, Offset: r.at, Err: err, Remedy: remedy}
	}
}

// close ends the trace: what is known of it as a whole comes last.
func (r *reader) close(b *event.Batch) {
	r.place = placeEnd
	r.m.own.close(b)
	r.m.devices.settle(b)
	r.m.devices.describe(b)
	if r.system.lines > 0 && r.events+uint64(len(b.Events)) > r.system.events {
		r.note(&AnomalySystemClock)
	}
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta {
	m := &r.meta
	m.Start, m.End = event.OptTime(r.m.start), event.OptTime(r.m.end)
	m.Facts = r.top.list
	m.Host.Name = r.m.devices.host
	if r.m.kineto {
		m.Format = "kineto"
	}
	m.Anomalies = r.m.own.own.Anomalies
	switch {
	case r.m.own.on && (r.told == "" || r.m.own.clock != event.ClockUnknown):
		m.Clock = r.m.own.clock
	case r.top.base:
		m.Clock = ClockKineto
	case r.top.clock != "":
		m.Clock = r.top.clock
	case r.m.kineto && r.m.start >= unixTimes:
		m.Clock = event.ClockRealtime
	case r.told != "":
		m.Clock = r.told
	}
	return m
}

// unixTimes: times of Kineto's later than this (2001) are absolute: the
// profiler wrote Unix time before it had a base, and uptimes are shorter.
const unixTimes event.Time = 1e18

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close does nothing: the input belongs to the caller.
func (r *reader) Close() error { return nil }

// String describes the reader's place, for tests that fail.
func (r *reader) String() string { return fmt.Sprintf("place %d at byte %d", r.place, r.at) }
