package export

import (
	"cmp"

	"github.com/gpurec/gpurec/correlate"
)

// lateRows hold the rows that speak of other rows, which may come after them.
type lateRows struct {
	seq       int64
	fences    *Sorter[late[correlate.Fence]]
	links     *Sorter[late[correlate.Link]]
	unmatched *Sorter[late[correlate.Unmatched]]
	deps      *Sorter[late[correlate.JobDep]]
	jobEvents *Sorter[late[correlate.JobEvent]]
}

type late[T any] struct {
	Seq int64
	Row T
}

func lateSorter[T any](budget int64, dir string) *Sorter[late[T]] {
	return NewSorter(func(a, b *late[T]) int { return cmp.Compare(a.Seq, b.Seq) }, budget, dir)
}

func newLateRows(budget int64, dir string) *lateRows {
	budget = max(budget/5, 0)
	return &lateRows{
		fences: lateSorter[correlate.Fence](budget, dir), links: lateSorter[correlate.Link](budget, dir),
		unmatched: lateSorter[correlate.Unmatched](budget, dir), deps: lateSorter[correlate.JobDep](budget, dir),
		jobEvents: lateSorter[correlate.JobEvent](budget, dir),
	}
}

func hold[T any](l *lateRows, s *Sorter[late[T]], rows []T) error {
	for i := range rows {
		l.seq++
		if err := s.Push(&late[T]{l.seq, rows[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lateRows) add(r *correlate.Rows) error {
	return cmp.Or(hold(l, l.fences, r.Fences), hold(l, l.links, r.Links), hold(l, l.unmatched, r.Unmatched), hold(l, l.deps, r.JobDeps), hold(l, l.jobEvents, r.JobEvents))
}

func (l *lateRows) close() error {
	return cmp.Or(l.fences.Close(), l.links.Close(), l.unmatched.Close(), l.deps.Close(), l.jobEvents.Close())
}

const lateBatch = 4096

// giveOut passes what is held of one table, as take says of each row.
func giveOut[T any](f *Filter, table string, s *Sorter[late[T]], put func(*correlate.Rows, []T), take func(*choice, *T) reason) error {
	c := f.plan[table]
	var batch []T
	write := func() error {
		rows := &correlate.Rows{}
		put(rows, batch)
		batch = batch[:0]
		return f.next.Write(rows)
	}
	err := s.Each(func(x *late[T]) error {
		row := x.Row
		if r := take(c, &row); r != kept {
			c.left[r]++
			return nil
		}
		c.passed[0]++
		if batch = append(batch, row); len(batch) < lateBatch {
			return nil
		}
		return write()
	})
	if err == nil && len(batch) > 0 {
		err = write()
	}
	return err
}

// each passes everything: fences first, since links speak of them.
func (l *lateRows) each(f *Filter) error {
	err := giveOut(f, "fences", l.fences, func(r *correlate.Rows, b []correlate.Fence) { r.Fences = b }, func(c *choice, v *correlate.Fence) reason {
		x := facts{start: noTime, end: noTime, category: v.Role}
		spanned(&x, v.InitNS, v.SignalNS, "open")
		r := f.verdict(c, &x)
		if r == kept && f.isGone("jobs", v.JobID) {
			r = noPartner
		}
		if r != kept {
			f.leave("fences", v.ID)
		}
		return r
	})
	if err != nil {
		return err
	}
	err = giveOut(f, "links", l.links, func(r *correlate.Rows, b []correlate.Link) { r.Links = b }, func(c *choice, v *correlate.Link) reason {
		return f.follows(c, f.isGone(v.SrcTable, v.SrcID) || f.isGone(v.DstTable, v.DstID))
	})
	if err != nil {
		return err
	}
	err = giveOut(f, "unmatched", l.unmatched, func(r *correlate.Rows, b []correlate.Unmatched) { r.Unmatched = b }, func(c *choice, v *correlate.Unmatched) reason {
		if f.isGone("losses", v.LossID) {
			v.LossID = 0
		}
		return f.follows(c, f.isGone(v.SrcTable, v.SrcID))
	})
	if err != nil {
		return err
	}
	err = giveOut(f, "job_events", l.jobEvents, func(r *correlate.Rows, b []correlate.JobEvent) { r.JobEvents = b }, func(c *choice, v *correlate.JobEvent) reason {
		return f.follows(c, f.isGone("jobs", v.JobID))
	})
	if err != nil {
		return err
	}
	return giveOut(f, "job_deps", l.deps, func(r *correlate.Rows, b []correlate.JobDep) { r.JobDeps = b }, func(c *choice, v *correlate.JobDep) reason {
		return f.follows(c, f.isGone("jobs", v.JobID) || f.isGone("jobs", v.OnJobID))
	})
}

// follows is the verdict on a row that speaks of others.
func (f *Filter) follows(c *choice, gone bool) reason {
	switch {
	case gone:
		return noPartner
	case !c.takes(""):
		return otherKind
	case c.small:
		return sizeLimit
	}
	return kept
}

func (f *Filter) isGone(table string, id correlate.ID) bool {
	s := f.gone[table]
	return id != 0 && s != nil && s.has(id)
}

// idSet is a set of row ids, which are mostly dense: a bit each, by pages.
type idSet struct {
	pages map[uint64]*[64]uint64
}

func (s *idSet) add(id correlate.ID) {
	if s.pages == nil {
		s.pages = map[uint64]*[64]uint64{}
	}
	n := uint64(id)
	p := s.pages[n>>12]
	if p == nil {
		p = new([64]uint64)
		s.pages[n>>12] = p
	}
	p[n>>6&63] |= 1 << (n & 63)
}

func (s *idSet) has(id correlate.ID) bool {
	n := uint64(id)
	p := s.pages[n>>12]
	return p != nil && p[n>>6&63]>>(n&63)&1 != 0
}
