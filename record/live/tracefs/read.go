package tracefs

import (
	"errors"
	"io"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

// ringState is what is known of a CPU's ring beside its pages.
type ringState struct {
	seen    bool       // it had an event
	last    event.Time // of the last one
	told    uint64     // lost events that losses have named
	ahead   bool       // some of them may stand before a page that is yet to come
	drained bool       // after Stop: nothing is left
}

// Read gives the events of one page at a time: of full pages and, every
// 400 ms and after Stop, of pages that are not full.
func (s *Source) Read(b *event.Batch, wait time.Duration) error {
	b.Reset()
	switch {
	case s.dec == nil || s.closed:
		return io.EOF
	case s.decodeNext(b):
		return nil
	case s.stopped.Load():
		return s.drain(b)
	}
	n, err := unix.Poll(s.polls, int(wait/time.Millisecond))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if n <= 0 && time.Since(s.tailed) < tailEvery {
		return nil
	}
	for range s.rings {
		i := s.turn()
		if got, err := s.fetch(i); got || err != nil {
			s.decodeNext(b)
			return err
		}
	}
	if n > 0 {
		return nil
	}
	s.tailed = time.Now()
	return s.readTails(b)
}

// fetch takes full pages of a ring, as many as fit into the buffer.
func (s *Source) fetch(i int) (bool, error) {
	n, err := s.rings[i].full(s.buf)
	s.pending, s.pendingOf = s.buf[:n], i
	return n > 0, err
}

// decodeNext decodes the next page that was fetched, if there is one.
func (s *Source) decodeNext(b *event.Batch) bool {
	size := s.rings[s.pendingOf].page
	if len(s.pending) < size {
		return false
	}
	s.decode(s.pendingOf, s.pending[:size], b)
	s.pending = s.pending[size:]
	return true
}

// readTails takes one page, full or not, of each ring.
func (s *Source) readTails(b *event.Batch) error {
	for i, r := range s.rings {
		ok, err := r.tail(s.buf)
		if err != nil {
			return err
		}
		if ok {
			s.decode(i, s.buf[:r.page], b)
		}
	}
	return nil
}

// turn returns the rings round and round.
func (s *Source) turn() int {
	i := s.next % len(s.rings)
	s.next = i + 1
	return i
}

// drain empties the rings after Stop.
func (s *Source) drain(b *event.Batch) error {
	for i, r := range s.rings {
		st := &s.states[i]
		if st.drained {
			continue // done before
		}
		if got, err := s.fetch(i); got || err != nil {
			s.decodeNext(b)
			return err
		}
		ok, err := r.tail(s.buf)
		if err != nil {
			return err
		}
		if ok {
			s.decode(i, s.buf[:r.page], b)
			return nil
		}
		st.drained = true
		s.settle(i, b)
	}
	if len(b.Events) > 0 {
		return nil
	}
	return io.EOF
}

// decode appends the events of one page of a ring.
func (s *Source) decode(i int, page []byte, b *event.Batch) {
	from := len(b.Events)
	s.dec.Page(int32(s.rings[i].cpu), page, b)
	s.account(i, &s.states[i], b, from)
}

// account names threads, counts hits and completes losses in the events from
// index from on, which are of one page.
func (s *Source) account(i int, st *ringState, b *event.Batch, from int) {
	now := time.Now()
	keep := from
	for j := from; j < len(b.Events); j++ {
		e := &b.Events[j]
		if e.Kind == event.KindLoss && e.Source == ftrace.Stream {
			if !s.loss(i, st, e) {
				continue // every event that it tells of has been told
			}
		} else {
			s.hit(e.Source)
			s.names.complete(e, now)
			st.seen, st.last = true, e.Time
		}
		if keep != j {
			b.Events[keep] = *e
		}
		keep++
	}
	b.Events = b.Events[:keep]
}

func (s *Source) hit(source string) {
	if source != s.lastName || s.lastHits == nil {
		n := s.hits[source]
		if n == nil {
			n = new(uint64)
			s.hits[source] = n
		}
		s.lastName, s.lastHits = source, n
	}
	*s.lastHits++
}

// loss completes the loss that stands before a page. The kernel writes the
// number of lost events behind the page's data if there is room; else only
// that there are some. Then the ring's statistics tell, which are ahead of the
// page: the interval reaches to now, and from then on no loss may name more
// than the statistics leave. It reports false if nothing new is told.
func (s *Source) loss(i int, st *ringState, e *event.Event) bool {
	if !e.Has(event.FieldStart) {
		e.SetTime(event.FieldStart, s.started)
	}
	n, counted := e.Uint(event.FieldCount)
	if !counted || st.ahead {
		stats, err := s.stats(i)
		if err != nil {
			return true // the count stays as it is, or unknown
		}
		left := stats.lost() - min(st.told, stats.lost())
		if counted {
			n = min(n, left)
		} else {
			n, st.ahead = left, true
			e.Time = boottime()
		}
	}
	if n == 0 {
		return false
	}
	st.told += n
	s.lost += n
	e.SetUint(event.FieldCount, n)
	return true
}

// settle tells of what was lost at the end of a ring, after its last page: so
// that produced = read + lost, exactly.
func (s *Source) settle(i int, b *event.Batch) {
	st := &s.states[i]
	stats, err := s.stats(i)
	if err != nil || stats.lost() <= st.told {
		return
	}
	n := stats.lost() - st.told
	st.told += n
	s.lost += n
	e := b.Add(event.KindLoss, boottime())
	e.CPU, e.Source = int32(s.rings[i].cpu), ftrace.Stream
	e.SetStr(event.FieldTrack, ftrace.Stream)
	start := s.started
	if st.seen {
		start = st.last
	}
	e.SetTime(event.FieldStart, start)
	e.SetUint(event.FieldCount, n)
	e.SetStr(event.FieldName, ftrace.AnomalyLost.Remedy)
}

func (s *Source) stats(i int) (cpuStats, error) {
	text, err := s.fs.read(s.in("per_cpu", "cpu"+strconv.Itoa(s.rings[i].cpu), "stats")...)
	return parseStats(text), err
}
