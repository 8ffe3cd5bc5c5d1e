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

type was uint8

const (
	wasWaiting was = iota // innermost first: a span hides those after it
	wasIoctl
	wasCall
	wasOff
)

type span struct {
	kind       was
	start, end event.Time
	key        event.FenceKey
	name       string
	driver     *fdState
	cmd        uint32
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
		h.spans[h.n%historyLen] = s
	}
	h.n++
}

// was tells what the thread did for the longest part of [from, to).
func (t *thread) was(e *engine, from, to event.Time) string {
	if to <= from || before(event.OptTime(from), timeOr(t.history.since)) {
		return ""
	}
	var sum [wasOff + 1]int64
	var longest [wasOff + 1]span
	take := func(s span) {
		a, b := max(s.start, from), min(s.end, to)
		if a >= b {
			return
		}
		sum[s.kind] += int64(b - a)
		if l := &longest[s.kind]; l.end-l.start < b-a {
			*l = s
			l.start, l.end = a, b
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
	return "in user code"
}

func (s *span) ioctlName() string {
	if s.driver != nil && s.driver.driver != "" {
		return ioctlName(s.driver.driver, s.cmd)
	}
	return s.name
}
