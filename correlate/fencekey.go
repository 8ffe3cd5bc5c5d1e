package correlate

import (
	"math"

	"github.com/gpurec/gpurec/record/event"
)

// How fences are found. Those whose keys have equal low halves stand in one
// chain of the index: an event that shows only low halves means one of them. A
// key of 64 bits means one fence, whatever low halves tell.

// maxTwins bounds the fences with equal low halves; the oldest leaves.
const maxTwins = 16

func lowKey(k event.FenceKey) uint64 {
	return k.Context<<32 | k.Seqno&math.MaxUint32
}

// fits reports whether x can be the fence that an event shows as k.
func (x *fence) fits(k event.FenceKey, full bool) bool {
	switch {
	case lowKey(x.key) != lowKey(k):
		return false
	case x.full && full:
		return x.key == k
	case x.full && k.Context > math.MaxUint32: // only the number is cut
		return x.key.Context == k.Context
	}
	return true
}

// learn takes the high halves of x's key from k, which it fits.
func (x *fence) learn(k event.FenceKey, full bool) {
	if full && !x.full {
		x.key, x.full = k, true
	}
}

// find returns the fence of a key, nil if there is none or no telling which. A
// full key is that of the fence with low halves only that it fits, if no other
// fits too.
func (f *fenceTracker) find(k event.FenceKey, full bool) *fence {
	var only *fence
	n := 0
	for x := f.index[lowKey(k)]; x != nil; x = x.next {
		if full && x.full && x.key == k {
			return x
		}
		if x.fits(k, full) {
			only = x
			n++
		}
	}
	if n != 1 {
		return nil
	}
	only.learn(k, full)
	return only
}

// ambiguous reports whether several fences fit the low halves k.
func (f *fenceTracker) ambiguous(k event.FenceKey) bool {
	n := 0
	for x := f.index[lowKey(k)]; x != nil; x = x.next {
		if x.fits(k, false) {
			n++
		}
	}
	return n > 1
}

// get is find, and makes the fence if there is none; nil if there is no
// telling which one low halves mean, which is counted.
func (f *fenceTracker) get(k event.FenceKey, full bool) *fence {
	x := f.find(k, full)
	switch {
	case x != nil:
	case !full && f.ambiguous(k):
		f.e.count(&anomalyFenceAmbiguous)
	default:
		x = f.add(k, full)
	}
	return x
}

func (f *fenceTracker) add(k event.FenceKey, full bool) *fence {
	for f.count >= f.e.caps.Fences {
		f.evict(f.oldest)
	}
	low := lowKey(k)
	last, n := f.index[low], 1
	for ; last != nil && last.next != nil; last = last.next {
		n++
	}
	if n >= maxTwins {
		f.evict(last)
	}
	x := f.pool.get()
	x.key, x.full, x.role = k, full, roleOther
	x.next = f.index[low]
	f.index[low] = x
	x.older = f.newest
	if f.newest != nil {
		f.newest.newer = x
	} else {
		f.oldest = x
	}
	f.newest = x
	f.count++
	return x
}

// target returns the fence that a fence's event is of: nil for a new one, or
// with vague if several fit and nothing tells which.
func (f *fenceTracker) target(ev *event.Event, k event.FenceKey, full bool, c *cpuState) (x *fence, vague bool) {
	if ev.Kind == event.KindFenceInit {
		return f.initTarget(ev, k, full), false
	}
	if x = f.find(k, full); x != nil || full || !f.ambiguous(k) {
		return x, false
	}
	signal := ev.Kind == event.KindFenceSignal
	if signal && c != nil && c.done != nil {
		if x := c.done.fin; x != nil && !x.dead && !x.signal.OK && x.fits(k, false) {
			return x, false // in one call stack with the done of its job
		}
	}
	// A fence signals once, and is destroyed after that.
	over := ev.Kind == event.KindFenceDestroy
	for y := f.index[lowKey(k)]; y != nil; y = y.next {
		if y.fits(k, false) && y.signal.OK == over {
			if x != nil {
				return nil, true
			}
			x = y
		}
	}
	return x, x == nil
}

// initTarget returns the fence that is made now, if something told of it
// before, and ends the one whose key begins a new life. The scheduler's fences
// have numbers that do not come again: one with equal low halves is another.
// So is one that was known by all 64 bits before.
func (f *fenceTracker) initTarget(ev *event.Event, k event.FenceKey, full bool) *fence {
	sched := ev.Str(event.FieldDriver) == driverSched
	for x := f.index[lowKey(k)]; x != nil; x = x.next {
		if !x.fits(k, full) || x.full && !full {
			continue
		}
		if !x.init.OK && !before(x.signal, ev.Time) {
			x.learn(k, full)
			return x
		}
		if full || !sched || !x.init.OK {
			f.remove(x)
			return nil
		}
	}
	return nil
}
