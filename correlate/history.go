package correlate

import (
	"github.com/gpurec/gpurec/record/event"
)

// history remembers what a thread did last, to say what it did while a ring
// stood idle.
type history struct {
	spans []span // a ring of historyLen; most threads need few or none
	n     int
	since OptTime // what was before is forgotten
}

const historyLen = 32

// WasUserOrAsleep is the submitter_was of a thread that was in nothing that is
// known, in a log without thread switches: it may have slept.
const WasUserOrAsleep = "in user code or asleep"

type was uint8

const (
	wasWaiting was = iota // innermost first: a span hides those after it
	wasIoctl
	wasCall
	wasOff
)

// span is one thing that a thread did, or several of one kind and name between
// start and end that took busy together.
type span struct {
	kind       was
	start, end event.Time
	busy       int64 // 0: all of it
	key        event.FenceKey
	name       string
	driver     *fdState
	cmd        uint32
}

func (s *span) took() int64 {
	if s.busy > 0 {
		return s.busy
	}
	return int64(s.end - s.start)
}

// within is how much of the span lies in [from, to): of several, their share.
func (s *span) within(from, to event.Time) int64 {
	a, b := max(s.start, from), min(s.end, to)
	switch {
	case a >= b:
		return 0
	case s.busy == 0:
		return int64(b - a)
	case a == s.start && b == s.end:
		return s.busy
	}
	return int64(float64(s.busy) * float64(b-a) / float64(s.end-s.start))
}

// fold adds an older span of the same kind and name, if the thread did little
// else between them, so that their share of any part of it is nearly right.
func (s *span) fold(o *span) bool {
	if s.kind != o.kind || s.name != o.name || s.cmd != o.cmd || s.driver != o.driver || s.kind == wasWaiting && s.key.Context != o.key.Context {
		return false
	}
	start, end, busy := min(s.start, o.start), max(s.end, o.end), s.took()+o.took()
	if extent := int64(end - start); busy > extent || busy < extent/2 {
		return false
	}
	if s.kind == wasWaiting && o.took() > s.took() {
		s.key = o.key
	}
	s.start, s.end, s.busy = start, end, busy
	return true
}

// did notes what a thread did.
func (x *idTracker) did(t *thread, s span) {
	x.remember(t)
	t.history.add(s)
}

func (h *history) add(s span) {
	if len(h.spans) < historyLen {
		h.spans = append(h.spans, s)
	} else {
		h.makeRoom()
		h.spans[h.n%historyLen] = s
	}
	h.n++
}

// makeRoom lets the oldest span go: into the next one like it, or forgotten.
func (h *history) makeRoom() {
	old := &h.spans[h.n%historyLen]
	for i := 1; i < historyLen; i++ {
		if h.spans[(h.n+i)%historyLen].fold(old) {
			return
		}
	}
	if !h.since.OK || h.since.V < old.end {
		h.since = event.OptTime(old.end) // else the time of it would pass for user code
	}
}

// was tells what the thread did for the longest part of [from, to).
func (t *thread) was(e *engine, from, to event.Time) string {
	if to <= from || before(event.OptTime(from), timeOr(t.history.since)) {
		return ""
	}
	var sum [wasOff + 1]int64
	var longest [wasOff + 1]span
	take := func(s span) {
		in := s.within(from, to)
		if in == 0 {
			return
		}
		sum[s.kind] += in
		if l := &longest[s.kind]; l.took() < in {
			*l = s
			l.busy = in
		}
	}
	for _, s := range t.history.spans {
		take(s)
	}
	if i := t.ioctl; i != nil && i.row.StartNS.OK {
		take(span{kind: wasIoctl, start: i.row.StartNS.V, end: to, name: i.row.Name, cmd: uint32(i.row.Cmd), driver: i.fd})
	}
	if len(t.calls) > 0 && t.calls[0].row.StartNS.OK {
		take(span{kind: wasCall, start: t.calls[0].row.StartNS.V, end: to, name: t.calls[0].row.Name})
	}
	// Waits lie in ioctls, ioctls in calls: what is left of each is its own.
	wait, ioctl := sum[wasWaiting], max(sum[wasIoctl]-sum[wasWaiting], 0)
	call := max(sum[wasCall]-max(sum[wasIoctl], sum[wasWaiting]), 0)
	off := max(sum[wasOff]-wait-ioctl, 0)
	user := max(int64(to-from)-wait-ioctl-call-off, 0)
	best := max(wait, ioctl, call, off, user)
	switch best {
	case wait:
		return "waiting for fence " + e.fenceText(longest[wasWaiting].key)
	case ioctl:
		return "in ioctl " + longest[wasIoctl].ioctlName()
	case call:
		return "in " + longest[wasCall].name
	case off:
		return "off CPU"
	}
	if e.events[event.KindSchedSwitch] == 0 { // no thread was ever seen to leave its CPU
		return WasUserOrAsleep
	}
	return "in user code"
}

func (s *span) ioctlName() string {
	if s.driver != nil && s.driver.driver != "" {
		return ioctlName(s.driver.driver, s.cmd)
	}
	return s.name
}
