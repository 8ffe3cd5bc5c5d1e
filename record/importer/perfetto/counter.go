package perfetto

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// counterEvent gives the value of a counter's track.
func (r *reader) counterEvent(h *head, e *trackEvent) {
	if !e.hasTrack || !e.hasValue {
		r.whole(event.KindOther, h, e, "counter without a value or track")
		return
	}
	t := r.track(h.seq, e.track)
	if t.derived {
		r.note(&AnomalyDerived, 1)
		return
	}
	r.count1(h, t, e.value, e.isFloat)
}

// count1 adds the event of a counter.
func (r *reader) count1(h *head, t *track, v float64, float bool) {
	if t.delta {
		// A sequence that clears its state begins again from 0 (CounterDescriptor.is_incremental).
		if t.sumSeq == h.seq && t.sumGen != h.seq.cleared {
			t.sum = 0
		}
		t.sumSeq, t.sumGen = h.seq, h.seq.cleared
		t.sum += v
		v = t.sum
	}
	if !float || t.scale != 1 {
		v *= float64(t.scale)
	}
	ev := r.add(event.KindCounter, h.time)
	ev.PID, ev.TID = t.pid, t.tid
	ev.Source = "perfetto:track_event"
	name := t.name
	if name == "" {
		name = t.label
	}
	ev.SetStr(event.FieldName, own.CounterName(name))
	ev.SetStr(event.FieldUnit, t.unit)
	ev.SetStr(event.FieldDevice, t.device)
	ev.SetFloat(event.FieldValue, v)
}

// extra gives the counters that an event brings along.
func (r *reader) extra(h *head, raw []byte) {
	var ids, floatIDs []uint64
	i, j := 0, 0
	m := message{b: raw}
	var f field
	for m.next(&f) {
		switch f.num {
		case teExtraTracks:
			ids = appendIDs(ids, &f)
		case teDoubleTracks:
			floatIDs = appendIDs(floatIDs, &f)
		}
	}
	if ids == nil {
		ids = h.seq.extra
	}
	if floatIDs == nil {
		floatIDs = h.seq.extraFloat
	}
	if len(ids) == 0 && len(floatIDs) == 0 {
		return
	}
	for m = (message{b: raw}); m.next(&f); {
		switch f.num {
		case teExtraValues:
			f.packed(func(v uint64) {
				if i < len(ids) {
					r.count1(h, r.counterOf(h.seq, ids[i]), float64(int64(v)), false)
				}
				i++
			})
		case teDoubleValues:
			f.eachID(func(v uint64) {
				if j < len(floatIDs) {
					x := field{v: v}
					r.count1(h, r.counterOf(h.seq, floatIDs[j]), x.float(), true)
				}
				j++
			})
		}
	}
}

// counterOf is the track of a counter; it leaves the cache of the sequence alone.
func (r *reader) counterOf(s *sequence, uuid uint64) *track {
	t := r.tracks[uuid]
	if t == nil {
		return r.track(s, uuid)
	}
	r.settle(t)
	return t
}
