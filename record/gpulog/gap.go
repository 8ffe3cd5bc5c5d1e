package gpulog

import (
	"fmt"

	"github.com/gpurec/gpurec/record/event"
)

// gap is what is known of events that are missing.
type gap struct {
	lost     uint64
	min, max event.Time // of the damaged block, if its header is sound
	events   uint32     // in it
	last     event.Time // greatest time before
}

func noGap() gap { return gap{min: event.NoTime, max: event.NoTime, last: event.NoTime} }

// unreadable counts the rest of a block that is not as the format says.
func (r *Reader) unreadable(err error, events uint64) {
	r.counters.AddAt(AnomalyBlockUnreadable, 1, fmt.Sprintf("%s: byte %d: %v", r.name, r.at, err))
	r.counters.AddAt(AnomalyEventsLost, events, r.where(r.at))
	r.gap.lost += events
}

func (r *Reader) where(off int64) string { return fmt.Sprintf("%s: byte %d", r.name, off) }

// closeGap makes the event of what the gap tells, now that the next events, of
// which the first is at next, are known.
func (r *Reader) closeGap(next event.Time) {
	g := r.gap
	r.gap = noGap()
	r.gap.last = g.last
	if g.lost == 0 {
		return
	}
	start, end := g.min, g.max
	if !end.Known() {
		start, end = g.last, next
		if !end.Known() || start.Known() && start > end {
			start, end = end, max(start, end)
		}
	}
	if end.Known() {
		r.gap.last = max(r.gap.last, end)
	}
	e := event.New(event.KindLoss, end)
	e.SetStr(event.FieldTrack, "log")
	e.SetTime(event.FieldStart, start)
	e.SetUint(event.FieldCount, g.lost)
	e.SetStr(event.FieldName, AnomalyEventsLost.Remedy)
	r.losses = append(r.losses, e)
}

// damaged counts what is missing before f.
func (r *Reader) damaged(f *frame) {
	if d := f.before; d != nil || f.missed > 0 {
		at := f.offset
		if d != nil {
			at = d.offset
			r.noteHead(d.head)
		}
		r.counters.AddAt(AnomalyBlockDamaged, max(1, uint64(f.missed)), r.where(at))
	}
	lost := max(f.ordinal, r.ordinal) - r.ordinal
	if r.chosen {
		lost = 0
		if f.before != nil {
			lost = f.before.events
		}
	}
	if lost > 0 {
		r.counters.AddAt(AnomalyEventsLost, lost, r.where(f.offset))
		r.gap.lost += lost
		if lost != uint64(r.gap.events) { // more than the block whose header is sound
			r.gap.min, r.gap.max = event.NoTime, event.NoTime
		}
	}
	r.gap.events = 0
	r.ordinal = f.ordinal + uint64(f.header.events)
}

func (r *Reader) noteHead(h *header) {
	if h != nil && h.typ == BlockEvents {
		r.gap.min, r.gap.max, r.gap.events = h.min, h.max, h.events
	}
}
