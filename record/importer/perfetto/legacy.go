package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// legacy is what a track event says in the terms of Chrome's JSON.
type legacy struct {
	phase      byte
	duration   int64 // µs
	id         uint64
	hasID      bool
	idScope    string
	bind       uint64
	hasBind    bool
	direction  uint64
	instant    uint64
	pid, tid   int32
	hasPID     bool
	hasTID     bool
	processIDs bool // the id is of its process alone
}

// legacy reads a LegacyEvent.
func (r *reader) legacy(s *sequence, e *trackEvent, b []byte) {
	e.hasLegacy = true
	l := &e.legacy
	var f field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			if e.name == "" {
				e.name = r.lookup(&s.names, f.v)
			}
		case 2:
			l.phase = byte(f.v)
		case 3:
			l.duration = int64(f.v)
		case 6, 11:
			l.id, l.hasID = f.v, true
		case 10:
			l.id, l.hasID, l.processIDs = f.v, true, true
		case 7:
			l.idScope = r.str(f.b)
		case 8:
			l.bind, l.hasBind = f.v, true
		case 13:
			l.direction = f.v
		case 14:
			l.instant = f.v
		case 18:
			l.pid, l.hasPID = int32(f.v), true
		case 19:
			l.tid, l.hasTID = int32(f.v), true
		case 4, 9, 12, 15: // thread time, and how to draw it
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	switch l.phase {
	case 's', 't', 'f': // arrows themselves
	default:
		if l.hasBind && l.direction != 0 { // FLOW_IN 1, FLOW_OUT 2, both 3
			r.flow(e, l.bind, l.direction == 1)
		}
	}
}

// scope is the scope of an instant as events have it.
func (l *legacy) scope() string {
	switch l.instant {
	case 1:
		return "g"
	case 2:
		return "p"
	case 3:
		return "t"
	}
	return ""
}

// emitLegacy gives an event by its phase.
func (r *reader) emitLegacy(h *head, e *trackEvent) {
	l := &e.legacy
	switch l.phase {
	case 'B':
		r.begin(h, e)
	case 'E':
		r.end(h, e)
	case 'I', 'i', 'R':
		r.mark(h, e)
	case 'X':
		r.complete(h, e)
	case 'b', 'S':
		r.async(event.KindSliceBegin, h, e)
	case 'e', 'F':
		r.async(event.KindSliceEnd, h, e)
	case 'n', 'T', 'p':
		if l.hasID {
			r.obj.Uint("id", l.id)
			e.hasArgs = true
		}
		r.mark(h, e)
	case 's', 't', 'f':
		ev := r.event(event.KindFlow, h, e)
		ev.SetStr(event.FieldName, e.name)
		ev.SetStr(event.FieldCategory, e.category)
		ev.SetUint(event.FieldFlowID, l.id)
		ev.SetUint(event.FieldStep, map[byte]uint64{'s': 0, 't': 1, 'f': 2}[l.phase])
	default:
		if l.hasID {
			r.obj.Uint("id", l.id)
		}
		what := "phase " + strconv.Itoa(int(l.phase))
		if l.phase > ' ' && l.phase < 0x7f {
			what = "phase " + string(rune(l.phase))
		}
		r.whole(event.KindOther, h, e, what)
	}
}

// complete is a range with its length.
func (r *reader) complete(h *head, e *trackEvent) {
	start := h.time
	at := *h
	if start.Known() {
		at.time = start + event.Time(e.legacy.duration*1000)
	}
	if api, ok := own.API(e.category); ok {
		ev := r.event(event.KindAPI, &at, e)
		ev.SetUint(event.FieldAPI, uint64(api))
		ev.SetStr(event.FieldName, e.name)
		ev.SetTime(event.FieldStart, start)
		return
	}
	ev := r.event(event.KindSlice, &at, e)
	r.describe(ev, e)
	ev.SetTime(event.FieldStart, start)
}

// async is one end of a range that is paired by its id. An id is of its
// category, of its scope if it has one, and of its process if it is local.
func (r *reader) async(k event.Kind, h *head, e *trackEvent) {
	l := &e.legacy
	if !l.hasID { // nothing to pair by: the track must do
		if k == event.KindSliceBegin {
			r.begin(h, e)
		} else {
			r.end(h, e)
		}
		return
	}
	ev := r.event(k, h, e)
	ev.SetStr(event.FieldName, e.name)
	ev.SetStr(event.FieldCategory, e.category)
	ev.SetUint(event.FieldSliceID, l.id)
	label := l.idScope
	if l.processIDs {
		label = strings.TrimSpace(label + " pid " + strconv.Itoa(int(e.pid)))
	}
	if l.phase == 'b' || l.phase == 'e' {
		// Those of one id nest: each level is a range of its own.
		label = r.nested(k, label, e)
	} else if label == "" {
		label = "async"
	}
	ev.SetStr(event.FieldTrack, label)
	if e.hasArgs {
		ev.SetStr(event.FieldArgs, r.obj.String())
	}
}

type asyncKey struct {
	id       uint64
	category string
	label    string
}

const maxAsync = 1 << 18

// nested gives the track of a range among those of its id that are open.
func (r *reader) nested(k event.Kind, label string, e *trackEvent) string {
	if r.asyncs == nil {
		r.asyncs = map[asyncKey]int{}
	}
	key := asyncKey{e.legacy.id, e.category, label}
	n := r.asyncs[key]
	if k == event.KindSliceBegin {
		if len(r.asyncs) >= maxAsync && n == 0 {
			r.note(&AnomalyTooMuchState, 1)
		} else {
			r.asyncs[key] = n + 1
		}
	} else if n > 0 {
		n--
		if n == 0 {
			delete(r.asyncs, key)
		} else {
			r.asyncs[key] = n
		}
	}
	if label == "" {
		label = "async"
	}
	if n > 0 {
		label += " level " + strconv.Itoa(n+1)
	}
	return label
}
