package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/export/perfetto/check"
)

// Sizes in pixels.
const (
	width      = 1200
	labels     = 210 // of the column of names
	rowHeight  = 17
	headHeight = 18
	plotHeight = 26
	top        = 24
)

// row is a track as the UI shows it, with what of it lies in the part.
type row struct {
	label  string
	indent int
	head   bool // a group's bar
	slices []*check.Slice
	depth  []int // of each slice
	deep   int
	count  *check.Track
	y      int
	height int
}

type place struct{ x0, x1, y float64 }

type picture struct {
	first, from, to int64
	job             string // whose chain of arrows is drawn
	list            []*row
	height          int
	places          map[*check.Slice]place // of slices that are drawn
}

func (p *picture) visible(s *check.Slice) bool { return s.Start < p.to && s.End > p.from }

// rows lays the tracks out: groups by name, processes by rank, what is in them
// by rank, lanes of one name as one row.
func (p *picture) rows(rep *check.Report) {
	var roots []*check.Track
	children := map[*check.Track][]*check.Track{}
	for _, t := range rep.Tracks {
		if t.Parent == nil {
			roots = append(roots, t)
		} else {
			children[t.Parent] = append(children[t.Parent], t)
		}
	}
	slices.SortStableFunc(roots, func(a, b *check.Track) int {
		return cmp.Or(boolCompare(a.IsProcess, b.IsProcess), cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Name, b.Name))
	})
	for _, t := range roots {
		p.add(&row{label: label(t), head: true})
		p.below(t, children, 0)
	}
	p.height = top
	for _, r := range p.list {
		r.y = p.height
		switch {
		case r.head:
			r.height = headHeight
		case r.count != nil:
			r.height = plotHeight
		default:
			r.height = rowHeight*max(r.deep, 1) + 4
		}
		p.height += r.height
	}
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func label(t *check.Track) string {
	switch {
	case t.IsThread:
		return fmt.Sprintf("%s %d", t.Called, t.TID)
	case t.IsProcess:
		return fmt.Sprintf("%s %d", t.Called, t.PID)
	}
	return t.Name
}

func (p *picture) below(t *check.Track, children map[*check.Track][]*check.Track, indent int) {
	list := children[t]
	slices.SortStableFunc(list, func(a, b *check.Track) int {
		// Counters of a process stand after its threads, by name.
		return cmp.Or(boolCompare(!a.IsThread, !b.IsThread), cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Name, b.Name))
	})
	lanes := map[string]*row{}
	for _, c := range list {
		if c.IsCounter {
			p.add(&row{label: c.Name, indent: indent, count: c})
		} else if r := lanes[c.Name]; r != nil && !c.IsThread {
			p.pack(r, c)
			continue
		} else {
			r := &row{label: label(c), indent: indent}
			lanes[c.Name] = r
			p.pack(r, c)
			if len(c.Slices) > 0 || len(children[c]) > 0 {
				p.add(r)
			}
		}
		p.below(c, children, indent+1)
	}
}

func (p *picture) add(r *row) { p.list = append(p.list, r) }

// pack puts a track's slices into a row, each with what lies in it at the
// least depth that is free.
func (p *picture) pack(r *row, t *check.Track) {
	for _, s := range t.Slices {
		if s.Parent != nil || !p.visible(s) {
			continue
		}
		deep := depthOf(s)
		at := 0
		for free := false; !free; {
			free = true
			for i, o := range r.slices {
				if o.Start < s.End && s.Start < o.End && r.depth[i] >= at && r.depth[i] < at+deep {
					at, free = r.depth[i]+1, false
				}
			}
		}
		r.put(p, s, at)
	}
}

func (r *row) put(p *picture, s *check.Slice, depth int) {
	r.slices, r.depth = append(r.slices, s), append(r.depth, depth)
	r.deep = max(r.deep, depth+1)
	for _, c := range s.Children {
		if p.visible(c) {
			r.put(p, c, depth+1)
		}
	}
}

func depthOf(s *check.Slice) int {
	n := 0
	for _, c := range s.Children {
		n = max(n, depthOf(c))
	}
	return n + 1
}
