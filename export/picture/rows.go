package picture

import (
	"cmp"
	"math"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// forever is the end of what was not seen to end. It sorts behind all others.
const forever = math.MaxInt64

// rowSorters hold the rows that become slices, counters or instants, by time.
type rowSorters struct {
	budget     int64
	all        []spillable
	apis       *export.Sorter[apiRow]
	ioctls     *export.Sorter[ioctlRow]
	waits      *export.Sorter[waitRow]
	jobs       *export.Sorter[jobRow]
	activities *export.Sorter[activityRow]
	slices     *export.Sorter[sliceRow]
	gaps       *export.Sorter[correlate.IdleGap]
	counters   *export.Sorter[correlate.Counter]
	losses     *export.Sorter[correlate.Loss]
	resets     *export.Sorter[correlate.Reset]
	marks      *export.Sorter[correlate.Mark]
	others     *export.Sorter[correlate.Other]
	samples    *export.Sorter[correlate.Sample]
	maps       *export.Sorter[correlate.MemMap]
	logs       *export.Sorter[correlate.LogLine]
	cpus       *export.Sorter[cpuEvent]
	settle     *export.Sorter[settling]
}

type spillable interface {
	Bytes() int64
	Spill() error
	Close() error
}

// byTime compares by (start, -end, depth, id): parents before children.
func byTime[T any](span func(*T) (start, end, depth, id int64)) func(a, b *T) int {
	return func(a, b *T) int {
		as, ae, ad, ai := span(a)
		bs, be, bd, bi := span(b)
		if as != bs {
			return cmp.Compare(as, bs)
		}
		if ae != be {
			return cmp.Compare(be, ae)
		}
		if ad != bd {
			return cmp.Compare(ad, bd)
		}
		return cmp.Compare(ai, bi)
	}
}

// rowSpan is where a row with a start, an end and a kind of end is drawn. The
// end is forever for what is open at the end of the trace. ok is false if the
// row has no time at all.
func rowSpan(start, end correlate.OptTime, kind string) (s, e int64, ok bool) {
	s, e = timeOf(start), timeOf(end)
	switch {
	case s == never && e == never:
		return 0, 0, false
	case s == never: // only the end was seen
		return e, e, true
	case e != never:
		return s, max(s, e), true
	case kind == "open" || kind == "killed" || kind == "":
		return s, forever, true
	default: // not_probed, lost: nobody knows
		return s, s, true
	}
}

func newRowSorters(budget int64, dir string, c *clip) *rowSorters {
	s := &rowSorters{budget: budget}
	s.apis = sorterBy(s, dir, func(a, b *apiRow) int { return a.compare(&b.when) })
	s.ioctls = sorterBy(s, dir, func(a, b *ioctlRow) int { return a.compare(&b.when) })
	s.waits = sorterBy(s, dir, func(a, b *waitRow) int { return a.compare(&b.when) })
	s.jobs = sorterBy(s, dir, func(a, b *jobRow) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	s.activities = sorterBy(s, dir, func(a, b *activityRow) int { return a.compare(&b.when) })
	s.slices = sorterBy(s, dir, func(a, b *sliceRow) int { return a.compare(&b.when) })
	s.gaps = sorterOf(s, dir, func(r *correlate.IdleGap) (int64, int64, int64, int64) {
		b, e, _ := c.gap(r)
		return b, e, int64(r.DeviceID), int64(r.JobID)
	})
	s.losses = sorterOf(s, dir, func(r *correlate.Loss) (int64, int64, int64, int64) {
		b, e, _ := c.loss(r)
		return b, e, 0, int64(r.ID)
	})
	s.counters = sorterOf(s, dir, func(r *correlate.Counter) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, 0
	})
	s.resets = sorterOf(s, dir, func(r *correlate.Reset) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, int64(r.ID)
	})
	s.marks = sorterOf(s, dir, func(r *correlate.Mark) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, int64(r.ID)
	})
	s.others = sorterOf(s, dir, func(r *correlate.Other) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, int64(r.ID)
	})
	s.samples = sorterOf(s, dir, func(r *correlate.Sample) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, 0
	})
	s.maps = sorterOf(s, dir, func(r *correlate.MemMap) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, int64(r.ID)
	})
	s.logs = sorterOf(s, dir, func(r *correlate.LogLine) (int64, int64, int64, int64) {
		return timeOf(r.TSNS), 0, 0, 0
	})
	s.cpus = sorterBy(s, dir, compareCPU)
	s.settle = sorterBy(s, dir, compareSettling)
	return s
}

func sorterOf[T any](s *rowSorters, dir string, span func(*T) (start, end, depth, id int64)) *export.Sorter[T] {
	return sorterBy(s, dir, byTime(span))
}

func sorterBy[T any](s *rowSorters, dir string, compare func(a, b *T) int) *export.Sorter[T] {
	t := export.NewSorter(compare, s.budget, dir)
	s.all = append(s.all, t)
	return t
}

// fit spills the sorters when all together are beyond the budget: all of any
// size at once, so that it is long until the next time.
func (s *rowSorters) fit() error {
	var sum int64
	for _, t := range s.all {
		sum += t.Bytes()
	}
	if sum <= s.budget {
		return nil
	}
	for _, t := range s.all {
		if t.Bytes() > s.budget/int64(2*len(s.all)) {
			if err := t.Spill(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *rowSorters) close() error {
	var first error
	for _, t := range s.all {
		if err := t.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
