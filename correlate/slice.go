package correlate

import "github.com/gpurec/gpurec/record/event"

// Bounds of the slice tracker.
const (
	maxSliceDepth = 1 << 12 // begun and not ended, a track
	maxSliceRoots = 1 << 12 // whole and waiting for a parent, a track
	maxSliceHeld  = 1 << 15 // and with all that lies in them
	maxTracks     = 1 << 16
	maxAsync      = 1 << 16 // begun with an id and not ended
)

// sliceStack is a track: what has begun on it, and what came whole and may
// still get a parent.
type sliceStack struct {
	open  []*Slice
	roots []*sliceNode
	twin  *sliceNode // innermost of those with the two ends of the last root; nil: none
	held  int
}

type sliceNode struct {
	row      Slice
	children []*sliceNode
	size     int   // slices in it, itself included
	base     int64 // depth of the open slice that it lies in, + 1
}

type asyncKey struct {
	id       uint64
	category string
	track    string
}

type sliceTracker struct {
	e      *engine
	tracks map[trackKey]*sliceStack
	order  []*sliceStack
	async  map[asyncKey]*Slice
	ids    []asyncKey
}

type trackKey struct {
	t    *thread
	name string
}

func (x *sliceTracker) init(e *engine) {
	x.e = e
	x.tracks = map[trackKey]*sliceStack{}
	x.async = map[asyncKey]*Slice{}
}

// track returns the stack of a thread, or of the track that the event names.
func (x *sliceTracker) track(ev *event.Event, t *thread) *sliceStack {
	name := ev.Str(event.FieldTrack)
	if name == "" && !t.idle {
		if t.slice == nil {
			t.slice = &sliceStack{}
			x.order = append(x.order, t.slice)
		}
		return t.slice
	}
	k := trackKey{t, name}
	if name != "" && t.proc == nil {
		k.t = nil
	}
	s := x.tracks[k]
	if s == nil {
		s = &sliceStack{}
		if len(x.tracks) < maxTracks {
			x.tracks[k] = s
		}
		x.order = append(x.order, s)
	}
	return s
}

func (x *sliceTracker) event(ev *event.Event, t *thread) {
	if id, ok := ev.Uint(event.FieldSliceID); ok && ev.Kind != event.KindSlice {
		x.asyncEvent(ev, t, asyncKey{id, ev.Str(event.FieldCategory), ev.Str(event.FieldTrack)})
		return
	}
	s := x.track(ev, t)
	switch ev.Kind {
	case event.KindSliceBegin:
		x.begin(ev, t, s)
	case event.KindSliceEnd:
		x.end(ev, s)
	default:
		x.whole(ev, t, s)
	}
}

func (x *sliceTracker) row(ev *event.Event, t *thread) Slice {
	x.e.seq.slice++
	return Slice{ID: x.e.seq.slice, ProcessID: t.processID(), PID: t.pid, TID: t.tid, Track: ev.Str(event.FieldTrack),
		Category: ev.Str(event.FieldCategory), Name: ev.Str(event.FieldName), Args: ev.Str(event.FieldArgs)}
}

func (x *sliceTracker) begin(ev *event.Event, t *thread, s *sliceStack) {
	r := x.row(ev, t)
	r.StartNS = event.OptTime(ev.Time)
	if n := len(s.open); n > 0 {
		r.ParentID, r.Depth = s.open[n-1].ID, int64(n)
	}
	if len(s.open) == maxSliceDepth {
		x.e.count(&anomalyEvicted)
		x.e.unm.now("slices", s.open[0].ID, missExit, Evicted)
		x.give(s.open[0])
		s.open = append(s.open[:0], s.open[1:]...)
	}
	s.open = append(s.open, &r)
}

// end closes the innermost slice. A name that differs is counted: the order
// on the track is what the source means.
func (x *sliceTracker) end(ev *event.Event, s *sliceStack) {
	n := len(s.open)
	if n == 0 {
		x.e.count(&anomalySliceEndAlone)
		return
	}
	r := s.open[n-1]
	if name := ev.Str(event.FieldName); name != "" && name != r.Name {
		x.e.count(&anomalySliceEndName)
	}
	s.open = s.open[:n-1]
	r.EndNS = event.OptTime(ev.Time)
	setStr(&r.Args, ev.Str(event.FieldArgs))
	x.give(r)
}

func (x *sliceTracker) asyncEvent(ev *event.Event, t *thread, k asyncKey) {
	if ev.Kind == event.KindSliceBegin {
		if o := x.async[k]; o != nil || len(x.async) >= maxAsync {
			x.e.count(&anomalyOverlap)
			if o == nil {
				r := x.row(ev, t)
				r.StartNS = event.OptTime(ev.Time)
				x.e.unm.now("slices", r.ID, missExit, Evicted)
				x.give(&r)
				return
			}
			x.e.unm.add(note{table: "slices", id: o.ID, link: missExit, reason: NotRecorded, from: timeOr(o.StartNS), to: ev.Time})
			x.give(o)
		}
		r := x.row(ev, t)
		r.StartNS = event.OptTime(ev.Time)
		x.async[k] = &r
		x.ids = append(x.ids, k)
		return
	}
	r := x.async[k]
	if r == nil {
		x.e.count(&anomalySliceEndAlone)
		return
	}
	delete(x.async, k)
	if len(x.ids) > 4*maxAsync {
		x.compact()
	}
	r.EndNS = event.OptTime(ev.Time)
	x.give(r)
}

// compact drops the keys of slices that have ended.
func (x *sliceTracker) compact() {
	live := x.ids[:0]
	seen := make(map[asyncKey]bool, len(x.async))
	for _, k := range x.ids {
		if x.async[k] != nil && !seen[k] {
			seen[k] = true
			live = append(live, k)
		}
	}
	x.ids = live
}

// whole takes a slice that comes at its end. Those that lie in it came before.
func (x *sliceTracker) whole(ev *event.Event, t *thread, s *sliceStack) {
	n := &sliceNode{row: x.row(ev, t)}
	r := &n.row
	r.StartNS, r.EndNS = event.OptTime(ev.TimeOf(event.FieldStart)), event.OptTime(ev.Time)
	if k := len(s.open); k > 0 {
		r.ParentID, n.base = s.open[k-1].ID, int64(k)
	}
	if !r.StartNS.OK || !r.EndNS.OK {
		x.giveTree(n, r.ParentID, n.base)
		return
	}
	if s.inTwin(n) {
		x.bound(s)
		return
	}
	i := len(s.roots)
	for i > 0 && s.roots[i-1].row.StartNS.V >= r.StartNS.V {
		i--
	}
	if i > 0 && s.roots[i-1].row.EndNS.V > r.StartNS.V {
		x.e.count(&anomalyOverlap)
	}
	n.children = append(n.children, s.roots[i:]...)
	n.size = 1
	for _, k := range n.children {
		n.size += k.size
	}
	s.roots, s.twin = append(s.roots[:i], n), nil
	x.bound(s)
}

// inTwin puts a slice into the one before it if that has the same two ends: of
// such the source's order says which is the outer one.
func (s *sliceStack) inTwin(n *sliceNode) bool {
	if len(s.roots) == 0 {
		return false
	}
	root := s.roots[len(s.roots)-1]
	if root.row.StartNS != n.row.StartNS || root.row.EndNS != n.row.EndNS {
		return false
	}
	inner := s.twin
	if inner == nil {
		inner = root
	}
	n.children, inner.children = inner.children, []*sliceNode{n}
	root.size++ // of a root alone it is asked
	s.twin = n
	return true
}

// bound counts a slice that was taken, and gives the oldest where too many wait.
func (x *sliceTracker) bound(s *sliceStack) {
	s.held++
	if len(s.roots) > maxSliceRoots || s.held > maxSliceHeld {
		x.e.count(&anomalyNestingCut)
		x.giveTree(s.roots[0], s.roots[0].row.ParentID, s.roots[0].base)
		s.held -= s.roots[0].size
		s.roots = append(s.roots[:0], s.roots[1:]...)
		if len(s.roots) == 0 {
			s.twin = nil
		}
	}
}

func (x *sliceTracker) giveTree(n *sliceNode, parent ID, depth int64) {
	n.row.ParentID, n.row.Depth = parent, depth
	for _, k := range n.children {
		x.giveTree(k, n.row.ID, depth+1)
	}
	x.give(&n.row)
}

func (x *sliceTracker) give(r *Slice) {
	r.DurNS = sub(r.EndNS, r.StartNS)
	x.e.rows.Slices = append(x.e.rows.Slices, *r)
	x.e.n++
}

func (x *sliceTracker) finish() {
	for _, s := range x.order {
		for _, n := range s.roots {
			x.giveTree(n, n.row.ParentID, n.base)
			x.e.flushFull()
		}
		for i := len(s.open) - 1; i >= 0; i-- {
			x.e.unm.now("slices", s.open[i].ID, missExit, Open)
			x.give(s.open[i])
		}
	}
	x.compact()
	for _, k := range x.ids {
		r := x.async[k]
		x.e.unm.now("slices", r.ID, missExit, Open)
		x.give(r)
	}
}
