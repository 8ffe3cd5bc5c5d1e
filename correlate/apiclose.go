package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// How calls end without their return.

// trim closes the oldest open calls beyond the cap.
func (x *apiTracker) trim() {
	for x.nOpen > x.e.caps.Calls {
		x.evict(x.oldest.t)
	}
}

// evict closes the outermost call of a thread.
func (x *apiTracker) evict(t *thread) {
	x.settleExits(t)
	if len(t.calls) == 0 {
		return
	}
	x.e.count(&anomalyEvicted)
	o := t.calls[0]
	t.calls = slices.Delete(t.calls, 0, 1)
	x.closed(o)
	o.row.EndKind = endLost
	x.e.unm.now("api_calls", o.row.ID, missExit, Evicted)
	x.give(o, t)
}

// closed takes a call off the list of open ones.
func (x *apiTracker) closed(c *call) {
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		x.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		x.newest = c.older
	}
	c.older, c.newer, c.t = nil, nil, nil
	x.nOpen--
}

// closeTop ends the innermost open call without its return.
func (x *apiTracker) closeTop(t *thread, kind string, at event.Time) {
	n := len(t.calls) - 1
	c := t.calls[n]
	t.calls = t.calls[:n]
	x.closed(c)
	c.row.EndKind = kind
	switch kind {
	case endEvicted:
		x.e.count(&anomalyEvicted)
		c.row.EndKind = endLost
		x.e.unm.now("api_calls", c.row.ID, missExit, Evicted)
	case endOpen:
		x.e.unm.now("api_calls", c.row.ID, missExit, c.proc.stillOpen(c.row.StartNS))
	case endKilled:
		x.e.unm.now("api_calls", c.row.ID, missExit, Killed)
	default:
		x.e.unm.add(note{table: "api_calls", id: c.row.ID, link: missExit, reason: NotRecorded, from: timeOr(c.row.StartNS), to: at})
	}
	x.give(c, t)
}

func (x *apiTracker) threadEnds(t *thread, kind string) {
	x.placeWhole()
	x.settleExits(t)
	for len(t.calls) > 0 {
		x.closeTop(t, kind, x.e.now)
	}
	if kind == endEvicted {
		t.done.cut(x.e, t)
	}
	t.done.flush(x, t)
	x.settleRecents(t)
}

func (x *apiTracker) finish() {
	x.instantOver()
	for t := range x.e.ids.each {
		t.done.flush(x, t)
		for len(t.calls) > 0 {
			x.closeTop(t, endOpen, x.e.now)
		}
		x.settleRecents(t)
		x.e.flushFull()
	}
}
