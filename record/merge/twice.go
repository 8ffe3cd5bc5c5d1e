package merge

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// Two recorders on one machine see the same tracepoint: trace-cmd beside
// gpurec record, or two forms of one capture. Each event that both have is one
// event, and goes out once, as the better witness has it.
//
//  1. An event of a tracepoint that another input of its domain holds too is
//     looked for among the last of that tracepoint, CPU and thread.
//  2. If it is there, from another input, at the same time and with the same
//     numbers, the two are one.
//  3. If it is not, the best witness's goes out at once; another's is held
//     until the best can no longer bring it.

// sameEvent is how far apart two recorders may see one event, in ns: they read
// the clock one after the other, and text is cut to microseconds.
const sameEvent = 5e3

var anomalySeenTwice = &event.AnomalySpec{Name: "seen_twice", Severity: event.SeverityInfo,
	Doc:    "Two inputs hold the same event of a tracepoint: it is in the result once, as the better witness has it.",
	Remedy: "none"}

// isTracepoint reports whether events of a kind come from the kernel's
// tracepoints, whose names say what they are whoever records them.
func isTracepoint(k event.Kind) bool {
	switch k {
	case event.KindIoctlEnter, event.KindIoctlExit, event.KindJobQueue, event.KindJobDep, event.KindJobRun, event.KindJobDone,
		event.KindFenceInit, event.KindFenceEmit, event.KindFenceEnable, event.KindFenceSignal, event.KindFenceWaitStart,
		event.KindFenceWaitEnd, event.KindFenceDestroy, event.KindSchedSwitch, event.KindSchedWaking, event.KindSchedWakeup,
		event.KindIRQEntry, event.KindIRQExit, event.KindPageFault, event.KindMemMap, event.KindMemUnmap, event.KindTask:
		return true
	}
	return false
}

// tracepoint is one tracepoint's events in an input.
type tracepoint struct {
	least, most event.Time
	shared      bool // another input of the domain holds it at the same time
	best        bool // and this one is the best witness
}

// noteTracepoint notes that and when an input holds a tracepoint's events.
func (s *scanned) noteTracepoint(e *event.Event) {
	if !isTracepoint(e.Kind) || !e.Time.Known() || e.CPU < 0 {
		return
	}
	p := s.points[e.Source]
	if p == nil {
		if len(s.points) >= maxSeries {
			return
		}
		p = &tracepoint{least: e.Time, most: e.Time}
		s.points[e.Source] = p
	}
	p.least, p.most = min(p.least, e.Time), max(p.most, e.Time)
	s.fine = s.fine || e.Time%1000 != 0
	s.hashed = s.hashed || e.Flags&event.FlagHashed != 0
	s.low32 = s.low32 || e.Flags&event.FlagLow32 != 0
}

// better reports whether s tells more of a tracepoint's events than o: real
// addresses, nanoseconds, whole fences.
func (s *scanned) better(o *scanned) bool {
	switch {
	case s.hashed != o.hashed:
		return o.hashed
	case s.fine != o.fine:
		return s.fine
	case s.low32 != o.low32:
		return o.low32
	}
	return false
}

// witnesses finds the tracepoints that several inputs hold.
func (m *Merged) witnesses() {
	for i, s := range m.inputs {
		for name, p := range s.points {
			p.best = true
			for k, o := range m.inputs {
				q := o.points[name]
				if k == i || q == nil || o.domain != s.domain || !s.way.ok || !o.way.ok ||
					s.way.convert(p.most)+sameEvent < o.way.convert(q.least) || o.way.convert(q.most)+sameEvent < s.way.convert(p.least) {
					continue
				}
				p.shared = true
				if o.better(s) || k < i && !s.better(o) {
					p.best = false
				}
			}
			m.once = m.once || p.shared
		}
	}
}

// witnessKey is where an event is looked for.
type witnessKey struct {
	source   string
	cpu, tid int32
	domain   uint64
}

// numbers tell events of one tracepoint, CPU and thread apart; of some,
// recorders print only the low half.
var numbers = [...]event.Field{event.FieldFenceContext, event.FieldFenceSeqno, event.FieldSchedJobID, event.FieldCmd,
	event.FieldNextTID, event.FieldTargetTID}

// sighting is an event that another input may hold too.
type sighting struct {
	at   event.Time
	nums [len(numbers)]uint32
	has  [len(numbers)]bool
	by   []*scanned
	held *event.Event // not given out; nil: it was
}

func (w *sighting) same(o *sighting) bool {
	if d := w.at - o.at; d > sameEvent || d < -sameEvent {
		return false
	}
	for i := range w.nums {
		if w.has[i] && o.has[i] && w.nums[i] != o.nums[i] {
			return false
		}
	}
	return true
}

// twice gives out once what several inputs hold.
type twice struct {
	seen  map[witnessKey][]*sighting
	queue []*sighting // held, in order of time
	adds  int
}

// sweepEach is after how many sightings old ones are dropped.
const sweepEach = 1 << 16

// take looks at an event of s and reports whether it goes out now.
func (w *twice) take(m *Merged, s *scanned, e *event.Event) bool {
	if !isTracepoint(e.Kind) || !e.Time.Known() {
		return true
	}
	p := s.points[e.Source]
	if p == nil || !p.shared {
		return true
	}
	d, _ := e.Uint(event.FieldDomain)
	k := witnessKey{e.Source, e.CPU, e.TID, d}
	n := &sighting{at: e.Time, by: []*scanned{s}}
	for i, f := range numbers {
		if v, ok := e.Uint(f); ok {
			n.nums[i], n.has[i] = uint32(v), true
		}
	}
	list := slices.DeleteFunc(w.seen[k], func(o *sighting) bool { return o.at < e.Time-sameEvent })
	for _, o := range list {
		if slices.Contains(o.by, s) || !o.same(n) {
			continue
		}
		o.by = append(o.by, s)
		m.count.AddAt(anomalySeenTwice, 1, s.name)
		w.seen[k] = list
		if p.best && o.held != nil {
			o.held = nil // this one stands for it
			return true
		}
		return false
	}
	if !p.best {
		c := *e
		n.held = &c
		w.queue = append(w.queue, n)
	}
	if w.seen == nil {
		w.seen = map[witnessKey][]*sighting{}
	}
	w.seen[k] = append(list, n)
	if w.adds++; w.adds%sweepEach == 0 {
		w.sweep(e.Time)
	}
	return p.best
}

// sweep drops what nothing can match any more.
func (w *twice) sweep(now event.Time) {
	for k, list := range w.seen {
		if len(list) == 0 || list[len(list)-1].at < now-sameEvent {
			delete(w.seen, k)
		}
	}
}

// release gives out what was held in vain: nothing before place comes any more.
func (w *twice) release(b *event.Batch, place event.Time) {
	n := 0
	for n < len(w.queue) && w.queue[n].at < place-sameEvent {
		if e := w.queue[n].held; e != nil {
			b.Events = append(b.Events, *e)
		}
		w.queue[n] = nil
		n++
	}
	w.queue = w.queue[n:]
}
