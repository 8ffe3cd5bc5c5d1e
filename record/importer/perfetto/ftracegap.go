package perfetto

import "github.com/gpurec/gpurec/record/event"

// gap is where ftrace events are missing: between the end of the bundle before
// and the first event of this one, on the bundle's clock.
type gap struct {
	start, end       uint64
	hasStart, hasEnd bool
}

// since takes the time of what was read last before the bundle; the newer
// field says it better.
func (g *gap) since(f *field) {
	if f.v != 0 && (!g.hasStart || f.num == fbPreviousEnd) {
		g.start, g.hasStart = f.v, true
	}
}

// until takes the first time of an event or of compact columns: those of a
// bundle ascend, so only the first of each kind is looked at.
func (g *gap) until(f *field) {
	if g.hasEnd && f.num == fbEvent {
		return
	}
	var x field
	for m := (message{b: f.b}); m.next(&x); {
		t := x.v
		switch {
		case f.num == fbEvent && x.num == 1 && x.wire == wireVarint:
		case f.num == fbCompact && (x.num == 1 || x.num == 7) && x.wire == wireBytes && len(x.b) > 0:
			t, _ = uvarint(x.b)
		default:
			continue
		}
		if !g.hasEnd || t < g.end {
			g.end, g.hasEnd = t, true
		}
	}
}

// ftraceLoss tells that events of a CPU are missing before a bundle.
func (r *reader) ftraceLoss(h *head, b *bundle, g *gap) {
	r.count.AddAt(&AnomalyDropped, 1, r.place())
	at := h.time
	if g.hasEnd {
		at = r.ftraceTime(h, b, g.end)
	}
	e := r.lossOf(b, at)
	if g.hasStart {
		if t := r.ftraceTime(h, b, g.start); !at.Known() || t <= at {
			e.SetTime(event.FieldStart, t)
		}
	}
	e.SetStr(event.FieldName, AnomalyDropped.Remedy)
}

// ftraceError tells that Perfetto could not read a piece of a CPU's ring
// buffer: {timestamp 1, status 2} (FtraceParseStatus).
func (r *reader) ftraceError(h *head, b *bundle, p []byte) {
	at, status := h.time, uint64(0)
	var f field
	m := message{b: p}
	for m.next(&f) {
		switch f.num {
		case 1:
			at = r.ftraceTime(h, b, f.v)
		case 2:
			status = f.v
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	r.noteAt(&AnomalyFtraceError, 1, "status %d, CPU %d", status, b.cpu)
	r.lossOf(b, at).SetStr(event.FieldName, AnomalyFtraceError.Remedy)
}

// lossOf adds a loss of ftrace events of a bundle's CPU.
func (r *reader) lossOf(b *bundle, at event.Time) *event.Event {
	e := r.add(event.KindLoss, at)
	e.CPU, e.Source = b.cpu, "perfetto"
	e.SetStr(event.FieldTrack, "ftrace")
	return e
}
