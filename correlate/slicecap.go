package correlate

import "slices"

// How ranges and their tracks are let go of, to stay within the caps.

// add lists a new track, and lets go of others where there are too many.
func (x *sliceTracker) add(s *sliceStack) {
	s.used = x.e.tick
	x.order = append(x.order, s)
	if len(x.order) > x.e.caps.Tracks {
		x.letGo()
	}
}

// trim lets go of what is beyond the caps.
func (x *sliceTracker) trim() {
	for len(x.order) > x.e.caps.Tracks {
		x.letGo()
	}
	x.makeRoom()
}

// makeRoom gives the ranges of the tracks that were used the longest ago, where
// more wait than may. The track in use keeps to the bounds of a track.
func (x *sliceTracker) makeRoom() {
	c := &x.e.caps
	for range 8 {
		if x.open <= c.Slices && x.held <= c.Slices && x.text <= c.Text {
			return
		}
		mark := usedUpTo(x.order, func(s *sliceStack) (uint64, bool) { return s.used, len(s.open)+s.held > 0 && s.used < x.e.tick })
		for _, s := range x.order {
			if s.used <= mark {
				x.empty(s)
			}
		}
	}
	for len(x.ids) > 0 && x.text > c.Text {
		x.evictAsync()
	}
}

// letGo forgets the tracks that were used the longest ago.
func (x *sliceTracker) letGo() {
	mark := usedUpTo(x.order, func(s *sliceStack) (uint64, bool) { return s.used, s.used < x.e.tick })
	x.order = slices.DeleteFunc(x.order, func(s *sliceStack) bool {
		if s.used > mark || s.used == x.e.tick {
			return false
		}
		x.empty(s)
		if s.t != nil {
			s.t.slice = nil
		} else {
			delete(x.tracks, s.key)
		}
		return true
	})
}

// empty gives all ranges of a track, before they are whole or have a parent.
func (x *sliceTracker) empty(s *sliceStack) {
	if len(s.roots) > 0 {
		x.e.count(&anomalyNestingCut)
	}
	for _, n := range s.roots {
		x.giveTree(n, n.row.ParentID, n.base)
		x.e.flushFull()
	}
	x.held -= s.held
	s.roots, s.twin, s.held = nil, nil, 0
	for _, r := range s.open {
		x.evict(r)
		x.e.flushFull()
	}
	x.open -= len(s.open)
	s.open = nil
}

// evict gives a range without its end.
func (x *sliceTracker) evict(r *Slice) {
	x.e.count(&anomalyEvicted)
	x.e.unm.now("slices", r.ID, missExit, Evicted)
	x.give(r)
	x.slices.put(r)
}

// evictAsync gives the range with an id that began first, without its end.
func (x *sliceTracker) evictAsync() {
	k := x.ids[0]
	x.ids = x.ids[1:]
	if r := x.async[k]; r != nil {
		delete(x.async, k)
		x.evict(r)
	}
}

// textSize is how many bytes of text a range holds.
func (r *Slice) textSize() int { return len(r.Name) + len(r.Args) }
