package merge

import (
	"math"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// Two files of one profiler may tell of the same moments of one process: a
// trace saved twice, windows that overlap. What both hold goes out once.
//
//  1. Inputs of one format and domain that name a process both, at the same
//     time, are compared.
//  2. Two events are one if what the profiler says of them is the same, its
//     correlation id above all, and so are their ends and their lengths.

// sameMoment is how far apart two files may put one moment, in ns: what measured
// it is the same, but one may tell microseconds.
const sameMoment = 1e3

// copyKey is what two events that are one have in common.
type copyKey struct {
	kind                event.Kind
	pid, tid            int32
	source, name, track string
	id                  int64 // correlation id, number of an arrow
	value, domain       uint64
}

// told is an event that went out.
type told struct {
	at, start event.Time
	by        []*scanned
}

// copies gives out once what several files of one profiler hold.
type copies struct {
	seen map[copyKey][]*told
	adds int
}

// comparesCopies finds the inputs that other inputs may be copies of.
func (m *Merged) comparesCopies() {
	for i, s := range m.inputs {
		for _, o := range m.inputs[:i] {
			if s.copyOf(o) {
				s.copies, o.copies = append(s.copies, o), append(o.copies, s)
			}
		}
	}
}

// copyOf reports whether two inputs may tell of the same moments of a process.
func (s *scanned) copyOf(o *scanned) bool {
	if s.meta.Format == "" || s.meta.Format != o.meta.Format || s.domain != o.domain || !s.way.ok || !o.way.ok || !s.least.Known() || !o.least.Known() ||
		s.way.convert(s.most)+sameMoment < o.way.convert(o.least) || o.way.convert(o.most)+sameMoment < s.way.convert(s.least) {
		return false
	}
	for pid := range s.pids {
		if o.pids[pid] {
			return true
		}
	}
	return false
}

// copyKeyOf returns the key of an event; ok is false for one that is not
// compared: what a probe tells has no number of its own.
func copyKeyOf(e *event.Event) (k copyKey, ok bool) {
	k = copyKey{kind: e.Kind, pid: e.PID, tid: e.TID, source: e.Source, name: e.Str(event.FieldName)}
	k.domain, _ = e.Uint(event.FieldDomain)
	switch e.Kind {
	case event.KindAPI, event.KindGPUActivity:
		k.id, ok = e.Int(event.FieldCorrelationID)
		return k, ok && k.id > 0
	case event.KindSlice, event.KindSliceBegin, event.KindSliceEnd, event.KindMark:
	case event.KindOther:
		k.track = e.Str(event.FieldArgs)
		return k, true
	case event.KindFlow:
		v, _ := e.Uint(event.FieldFlowID)
		k.id = int64(v)
	case event.KindCounter:
		v, _ := e.Float(event.FieldValue)
		k.value = math.Float64bits(v)
	default:
		return k, false
	}
	k.track = e.Str(event.FieldTrack)
	return k, true
}

// take looks at an event of s and reports whether it goes out.
func (w *copies) take(m *Merged, s *scanned, e *event.Event) bool {
	if len(s.copies) == 0 || !e.Time.Known() {
		return true
	}
	k, ok := copyKeyOf(e)
	if !ok {
		return true
	}
	start := e.TimeOf(event.FieldStart)
	list := slices.DeleteFunc(w.seen[k], func(o *told) bool { return o.at < e.Time-sameMoment })
	for _, o := range list {
		if slices.Contains(o.by, s) || !slices.Contains(s.copies, o.by[0]) || momentsApart(o.at, e.Time) || momentsApart(o.start, start) {
			continue
		}
		o.by = append(o.by, s)
		w.seen[k] = list
		m.count.AddAt(anomalyToldTwice, 1, s.name)
		return false
	}
	if w.seen == nil {
		w.seen = map[copyKey][]*told{}
	}
	w.seen[k] = append(list, &told{e.Time, start, []*scanned{s}})
	if w.adds++; w.adds%sweepEach == 0 {
		for k, list := range w.seen {
			if len(list) == 0 || list[len(list)-1].at < e.Time-sameMoment {
				delete(w.seen, k)
			}
		}
	}
	return true
}

// momentsApart reports whether two times are not of one moment.
func momentsApart(a, b event.Time) bool {
	if !a.Known() || !b.Known() {
		return a != b
	}
	return a-b > sameMoment || b-a > sameMoment
}

var anomalyToldTwice = &event.AnomalySpec{Name: "told_twice", Severity: event.SeverityInfo,
	Doc:    "Two files of one profiler hold the same event of a process: it is in the result once.",
	Remedy: "none"}
