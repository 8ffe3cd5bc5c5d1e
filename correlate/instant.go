package correlate

import (
	"cmp"
	"slices"
)

// Calls of a thread that end at one instant may be told in any order: a clock
// is coarse, an importer sorts by time alone. What depends on which lies in
// which waits until the instant is over.

// maxInstant bounds the whole calls of one instant that wait.
const maxInstant = 1 << 12

// wholeCall is a call that came whole at the present instant.
type wholeCall struct {
	c *call
	t *thread
}

// instantOver takes what ended at the instant that is over.
func (x *apiTracker) instantOver() {
	x.placeWhole()
	for _, t := range x.exiting {
		x.settleExits(t)
	}
	clear(x.exiting)
	x.exiting = x.exiting[:0]
}

// placeWhole puts the whole calls of the instant into their threads' trees, the
// innermost first: the one that began last. Of those that began together too the
// first told is.
func (x *apiTracker) placeWhole() {
	if len(x.whole) > 1 {
		slices.SortStableFunc(x.whole, func(a, b wholeCall) int { return cmp.Compare(b.c.row.StartNS.V, a.c.row.StartNS.V) })
	}
	for _, w := range x.whole {
		c, t := w.c, w.t
		x.e.ioctl.adopt(c, t)
		if g := t.done.gone; g.OK && c.row.StartNS.V <= g.V { // that one lay in it
			x.e.count(&anomalyNestingCut)
		}
		t.done.add(x, c, t)
	}
	clear(x.whole)
	x.whole = x.whole[:0]
}

// settleExits gives the calls of a thread whose returns were told before those
// of the calls in them. Of the latter those that did not follow are lost.
func (x *apiTracker) settleExits(t *thread) {
	i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ended })
	if i < 0 {
		return
	}
	at := t.calls[i].row.EndNS.V
	for len(t.calls) > i {
		if !x.giveEnded(t) {
			x.e.count(&anomalyCallExitLost)
			x.closeTop(t, endLost, at)
		}
	}
}

// giveEnded gives the innermost open call if its return was told already.
func (x *apiTracker) giveEnded(t *thread) bool {
	n := len(t.calls) - 1
	if n < 0 || !t.calls[n].ended {
		return false
	}
	c := t.calls[n]
	t.calls = t.calls[:n]
	x.closed(c)
	x.give(c, t)
	return true
}
