package correlate

import (
	"sort"

	"github.com/gpurec/gpurec/record/event"
)

// maxLosses bounds the intervals that are remembered; older ones are joined.
const maxLosses = 1 << 12

type lossSpan struct {
	id         ID
	start, end event.Time
}

// lossTracker gives rows of losses and remembers when events were lost.
type lossTracker struct {
	e     *engine
	spans []lossSpan // in the order of their ends
	start event.Time // least of their starts
	mixed bool       // they are in no such order
}

// from is when the events of a loss may begin: it is known to have ended, at
// least.
func (s *lossSpan) from() event.Time {
	if s.start.Known() {
		return s.start
	}
	return s.end
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
	s := lossSpan{l.e.seq.loss, ev.TimeOf(event.FieldStart), ev.Time}
	if len(l.spans) == 0 || s.from() < l.start {
		l.start = s.from()
	}
	if n := len(l.spans); !s.end.Known() || n > 0 && l.spans[n-1].end > s.end {
		l.mixed = true
	}
	l.spans = append(l.spans, s)
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
	if len(l.spans) == 0 || to.Known() && l.start.Known() && l.start >= to {
		return 0
	}
	first := 0
	if from.Known() && !l.mixed {
		first = sort.Search(len(l.spans), func(i int) bool { return l.spans[i].end > from })
	}
	for i := range l.spans[first:] {
		s := &l.spans[first+i]
		if start := s.from(); to.Known() && start.Known() && start >= to {
			continue
		}
		if from.Known() && s.end.Known() && s.end <= from {
			continue
		}
		return s.id
	}
	return 0
}
