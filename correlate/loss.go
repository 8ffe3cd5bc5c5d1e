package correlate

import "github.com/gpurec/gpurec/record/event"

// maxLosses bounds the intervals that are remembered; older ones are joined.
const maxLosses = 1 << 12

type lossSpan struct {
	id         ID
	start, end event.Time
}

// lossTracker gives rows of losses and remembers when events were lost.
type lossTracker struct {
	e     *engine
	spans []lossSpan
}

func (l *lossTracker) event(ev *event.Event) {
	l.e.seq.loss++
	row := Loss{
		ID:      l.e.seq.loss,
		Stream:  ev.Str(event.FieldTrack),
		CPU:     optTask(ev.CPU),
		StartNS: event.OptTime(ev.TimeOf(event.FieldStart)),
		EndNS:   event.OptTime(ev.Time),
		Count:   optUint(ev, event.FieldCount),
		Remedy:  ev.Str(event.FieldName),
	}
	l.e.rows.Losses = append(l.e.rows.Losses, row)
	l.e.n++
	if len(l.spans) == maxLosses {
		l.join()
	}
	l.spans = append(l.spans, lossSpan{l.e.seq.loss, ev.TimeOf(event.FieldStart), ev.Time})
	l.e.fence.lost(ev.CPU)
}

// join makes one span of the older half.
func (l *lossTracker) join() {
	h := maxLosses / 2
	s := l.spans[0]
	for _, o := range l.spans[1:h] {
		if s.start.Known() && (!o.start.Known() || o.start < s.start) {
			s.start = o.start
		}
		s.end = max(s.end, o.end)
	}
	l.spans = append(append(l.spans[:0], s), l.spans[h:]...)
	l.e.count(&anomalyLossesJoined)
}

// within returns the first loss that can hold an event between from and to, 0
// if none does. The events at a loss's start and end were seen: what it holds
// lies between them. A bound that is NoTime is open. A loss without a start began at an unknown
// time: only its end is known to lie in the gap.
func (l *lossTracker) within(from, to event.Time) ID {
	for i := range l.spans {
		s := &l.spans[i]
		if to.Known() {
			start := s.start
			if !start.Known() {
				start = s.end
			}
			if start.Known() && start >= to {
				continue
			}
		}
		if from.Known() && s.end.Known() && s.end <= from {
			continue
		}
		return s.id
	}
	return 0
}
