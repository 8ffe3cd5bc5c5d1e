package gpulog

import (
	"io"
	"math"
	"time"

	"github.com/gpurec/gpurec/record/event"
)

// endOfTime is after every event.
const endOfTime = event.Time(math.MaxInt64)

// Source is what can be sorted: a [Reader], or an importer's.
type Source interface {
	event.Source
	Meta() *event.Meta
}

// Bounded is a Source that knows how early the events still to come may be,
// as a log with an index does. NoTime means that it does not know.
type Bounded interface {
	Bound() event.Time
}

// SortOptions tune sorting. The zero value is the default.
type SortOptions struct {
	// MaxMemory is how many bytes of events are held (0: 256 MiB) before they
	// are spilled to temporary files, which take about 5 bytes an event.
	MaxMemory int64
	// TempDir is where ("": os.TempDir()). The files have no name there and
	// vanish with the process.
	TempDir string
	// Window, if it is not 0, promises that no event comes after one that is
	// later by more than this, so that events can be given before all are
	// read. Those that break the promise are counted, and out of order.
	Window time.Duration
}

// Sorter gives the events of a source in order of time; equal times keep the
// order of the source, and an event without a time stays behind the event
// that it followed there. It is a Source itself.
//
//  1. Events are read and held, each with its place: its time, or for those
//     without one the place of the event before.
//  2. What the source can no longer undercut (see [Bounded]) is sorted and
//     given out. A source that is in order passes through.
//  3. When memory is full, what is held becomes a sorted run in a temporary
//     file. Runs and memory are merged as they are given out; since runs are
//     stretches of the source, the earlier run wins between equal places.
type Sorter struct {
	src      Source
	bounded  Bounded
	o        SortOptions
	counters event.Counters

	held  held
	runs  []*run
	heads mergeHeap  // runs and memory, while events are given out
	limit event.Time // places up to here may be given out
	last  event.Time // place of the last event given
	prev  event.Time // place of the last event read
	seen  event.Time // greatest place read
	eof   bool
	err   error
}

// Sort puts src into order of time. It reads nothing yet. Close must be
// called; it does not close src.
func Sort(src Source, o SortOptions) *Sorter {
	if o.MaxMemory <= 0 {
		o.MaxMemory = 256 << 20
	}
	s := &Sorter{src: src, o: o, limit: event.NoTime, last: event.NoTime, prev: event.NoTime, seen: event.NoTime}
	s.held.clear()
	s.bounded, _ = src.(Bounded)
	return s
}

// Meta is the source's.
func (s *Sorter) Meta() *event.Meta { return s.src.Meta() }

// Counters holds what was wrong with the source, if it counts, and with its order.
func (s *Sorter) Counters() *event.Counters {
	c := new(event.Counters)
	if src, ok := s.src.(interface{ Counters() *event.Counters }); ok {
		c.Merge(src.Counters())
	}
	c.Merge(&s.counters)
	return c
}

// Close releases memory and temporary files.
func (s *Sorter) Close() error {
	var err error
	for _, r := range s.runs {
		if e := r.close(); err == nil {
			err = e
		}
	}
	s.runs, s.heads, s.held = nil, nil, held{}
	if s.err == nil {
		s.err = errClosed
	}
	return err
}

// Next gives the next events in order of time, or io.EOF.
func (s *Sorter) Next(b *event.Batch) error {
	for s.err == nil {
		if len(s.heads) > 0 {
			b.Reset()
			if s.err = s.merge(b); s.err == nil && len(b.Events) > 0 {
				return nil
			}
			continue
		}
		if s.eof {
			s.err = io.EOF
			break
		}
		var through bool
		if through, s.err = s.fill(b); through {
			return nil
		}
	}
	b.Reset()
	return s.err
}

// fill reads until events may be given out. If nothing is held, and what was
// read is in order and final, it is left in b and passes through.
func (s *Sorter) fill(b *event.Batch) (through bool, err error) {
	for {
		err := s.src.Next(b)
		if err == io.EOF {
			s.eof = true
			s.held.end()
			s.limit = endOfTime
			return false, s.giveOut()
		}
		if err != nil {
			return false, err
		}
		before := s.prev
		ordered := s.place(b.Events)
		s.limit = max(s.limit, s.bound())
		if ordered && s.held.len() == 0 && len(s.runs) == 0 && before >= s.last && s.prev <= s.limit {
			s.last = s.prev
			return true, nil
		}
		s.held.take(b, before)
		if s.held.bytes > s.o.MaxMemory {
			if err := s.spill(); err != nil {
				return false, err
			}
		}
		if s.worthwhile() {
			return false, s.giveOut()
		}
	}
}

// place finds the places of events that were just read, and reports whether
// none is before the one before it.
func (s *Sorter) place(evs []event.Event) (ordered bool) {
	p := s.prev
	ordered = true
	for i := range evs {
		if t := evs[i].Time; t.Known() {
			ordered = ordered && t >= p
			p = t
			s.seen = max(s.seen, t)
		}
	}
	s.prev = p
	return ordered
}

// bound returns the place before which no event can come any more; NoTime if
// that is not known.
func (s *Sorter) bound() event.Time {
	bound := event.NoTime
	if s.bounded != nil {
		bound = s.bounded.Bound()
	}
	if w := event.Time(s.o.Window); w > 0 && s.seen > event.NoTime+w {
		bound = max(bound, s.seen-w)
	}
	// The next event may have no time: its place is then that of the last one.
	return min(bound, s.prev)
}

// worthwhile reports whether enough can be given out to pay for sorting.
func (s *Sorter) worthwhile() bool {
	if !s.limit.Known() || s.held.fresh < max(event.DefaultBatch, s.held.len()/2) {
		return false
	}
	least := s.held.least
	for _, r := range s.runs {
		if !r.done {
			least = min(least, r.least())
		}
	}
	return least <= s.limit
}

// giveOut begins to give out what is not beyond limit.
func (s *Sorter) giveOut() error {
	s.held.sort()
	s.heads = s.heads[:0]
	runs := s.runs[:0]
	for _, r := range s.runs {
		if err := r.open(); err != nil {
			return err
		}
		if r.done {
			if err := r.close(); err != nil {
				return err
			}
			continue
		}
		runs = append(runs, r)
	}
	s.runs = runs
	for i, r := range s.runs {
		s.heads.add(mergeHead{r.least(), i}, s.limit)
	}
	if s.held.len() > 0 {
		s.heads.add(mergeHead{s.held.least, fromMemory}, s.limit)
	}
	return nil
}

// merge gives out the next events; b stays empty when no more may be.
func (s *Sorter) merge(b *event.Batch) error {
	for len(s.heads) > 0 && len(b.Events) < event.DefaultBatch {
		h := &s.heads[0]
		if h.place < s.last {
			s.counters.AddAt(AnomalyLate, 1, "")
		}
		s.last = h.place
		if h.from == fromMemory {
			s.held.pop(b)
			s.heads.advance(s.held.least, s.held.len() > 0, s.limit)
			continue
		}
		r := s.runs[h.from]
		if err := r.pop(b); err != nil {
			return err
		}
		s.heads.advance(r.least(), !r.done, s.limit)
	}
	return nil
}
