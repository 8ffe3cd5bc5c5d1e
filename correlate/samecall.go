package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// One call may be told twice in a merged log: by a probe of the recording and
// by the profiler of the program. The row that comes second is the same call:
// it stands beside the first, under its parent, names it in same_as_id and is
// left out of sums.

const (
	recentCalls = 16   // of a thread, that may still meet their twin
	startsApart = 10e3 // ns: how far apart the two starts may be where an end is not known
)

// recentCall is a call that may still meet its twin.
type recentCall struct {
	id            ID
	spec          *callSpec
	witness       string
	start, end    event.Time // NoTime if unknown
	correlation   OptInt
	parent        ID
	depth         int64
	c             *call // until its row is given
	taken         bool  // it has a twin
	owes          bool  // the note that it led to no activity
	twinHasLaunch bool  // its twin has a correlation id
}

// recents are the last calls of a thread.
type recents struct {
	list [recentCalls]recentCall
	n    int
}

// witness is who tells of an event: "uprobe" of "uprobe:cuLaunchKernel".
func witness(source string) string {
	w, _, _ := strings.Cut(source, ":")
	return w
}

// meet looks for the twin of a call whose start, and end if it has one, are
// known, and remembers the call if there is none yet.
func (x *apiTracker) meet(c *call, t *thread) *recentCall {
	r := &c.row
	if t.idle || !r.StartNS.OK || r.Source == "" {
		return nil
	}
	x.e.ids.remember(t)
	if t.recent == nil {
		t.recent = &recents{}
	}
	n := recentCall{id: r.ID, spec: c.spec, witness: witness(r.Source), start: r.StartNS.V, end: timeOr(r.EndNS), correlation: r.CorrelationID, c: c}
	if o := t.recent.twin(&n); o != nil {
		o.taken = true
		conf := Inferred
		if o.correlation.OK && o.correlation == r.CorrelationID {
			conf = Exact
			c.sameID = true // what misses an activity is the first
		}
		r.SameAsID = o.id
		x.e.link(RuleSameCall, "api_calls", o.id, "api_calls", r.ID, conf, c.spec.base)
		return o
	}
	slot := &t.recent.list[t.recent.n%recentCalls]
	t.recent.n++
	x.settleRecent(slot)
	*slot = n
	return nil
}

// twin returns the call nearest to n that another witness told of, that has no
// twin and that n can be.
func (h *recents) twin(n *recentCall) (best *recentCall) {
	least := event.Time(0)
	for i := range h.list {
		o := &h.list[i]
		if o.id == 0 || o.taken || o.witness == n.witness || o.spec.base != n.spec.base || !o.sameTime(n) {
			continue
		}
		if d := max(o.start-n.start, n.start-o.start); best == nil || d < least {
			best, least = o, d
		}
	}
	return best
}

// sameTime reports whether two calls can be one by their times: they share at
// least half of the shorter one; where an end is not known, they begin
// together.
func (o *recentCall) sameTime(n *recentCall) bool {
	if !o.end.Known() || !n.end.Known() {
		return max(o.start-n.start, n.start-o.start) <= startsApart
	}
	shared := min(o.end, n.end) - max(o.start, n.start)
	return shared >= 0 && 2*shared >= min(o.end-o.start, n.end-n.start)
}

// beside puts a call that is its twin's second row under the twin's parent. It
// reports false if that is not known yet: the row of a whole call then goes
// with the twin's.
func (x *apiTracker) beside(c *call, o *recentCall, whole bool) bool {
	r := &c.row
	if c.entry != nil {
		o.owes, o.twinHasLaunch = false, true
	}
	switch {
	case o.c == nil:
		r.ParentID, r.Depth = o.parent, o.depth
	case o.c.inTree:
		if whole {
			o.c.twins = append(o.c.twins, c)
		}
		return false
	default:
		r.ParentID, r.Depth = o.c.row.ParentID, o.c.row.Depth
	}
	return true
}

// given notes that the row of a call was given.
func (h *recents) given(c *call) *recentCall {
	if h == nil {
		return nil
	}
	for i := range h.list {
		if o := &h.list[i]; o.c == c && o.id == c.row.ID {
			o.c, o.parent, o.depth, o.end = nil, c.row.ParentID, c.row.Depth, timeOr(c.row.EndNS)
			return o
		}
	}
	return nil
}

// settleRecent says what a call misses that can no longer meet its twin.
func (x *apiTracker) settleRecent(o *recentCall) {
	if o.owes {
		x.e.unm.now("api_calls", o.id, missActivity, NotRecorded)
	}
	*o = recentCall{}
}

func (x *apiTracker) settleRecents(t *thread) {
	if t.recent == nil {
		return
	}
	for i := range t.recent.list {
		x.settleRecent(&t.recent.list[(t.recent.n+i)%recentCalls])
	}
	t.recent = nil
}
