package correlate

import "github.com/gpurec/gpurec/record/event"

// Bounds of the slice tracker.
const (
	maxSliceDepth = 1 << 12 // begun and not ended, a track
	maxSliceRoots = 1 << 12 // whole and waiting for a parent, a track
	maxSliceHeld  = 1 << 15 // and with all that lies in them
)

// sliceStack is a track: what has begun on it, and what came whole and may
// still get a parent.
type sliceStack struct {
	open  []*Slice
	roots []*sliceNode
	twin  *sliceNode // innermost of those with the two ends of the last root; nil: none
	held  int

	t    *thread  // whose stack it is; nil: it has a name
	key  trackKey // in the index, if it has a name
	used uint64   // tick of its last event
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
	order  []*sliceStack // in the order in which they began
	async  map[asyncKey]*Slice
	ids    []asyncKey // in the order in which they began, some that ended among them
	slices pool[Slice]
	nodes  pool[sliceNode]
	open   int // begun on a track and not ended
	held   int // whole and waiting for a parent
	text   int // bytes of the texts of both, and of those with an id
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
			t.slice = &sliceStack{t: t}
			x.add(t.slice)
		}
		t.slice.used = x.e.tick
		return t.slice
	}
	k := trackKey{t, name}
	if name != "" && t.proc == nil {
		k.t = nil
	}
	s := x.tracks[k]
	if s == nil {
		s = &sliceStack{key: k}
		x.tracks[k] = s
		x.add(s)
	}
	s.used = x.e.tick
	return s
}

// start begins a row of a range.
func (x *sliceTracker) start(ev *event.Event, t *thread) *Slice {
	r := x.slices.get()
	*r = x.row(ev, t)
	r.StartNS = event.OptTime(ev.Time)
	x.text += r.textSize()
	return r
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
	r := x.start(ev, t)
	if n := len(s.open); n > 0 {
		r.ParentID, r.Depth = s.open[n-1].ID, int64(n)
	}
	if len(s.open) >= min(maxSliceDepth, x.e.caps.Slices/4) {
		x.evict(s.open[0])
		s.open = append(s.open[:0], s.open[1:]...)
		x.open--
	}
	s.open = append(s.open, r)
	x.open++
	x.makeRoom()
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
	x.open--
	x.ended(r, ev)
}

// ended gives a range with its end.
func (x *sliceTracker) ended(r *Slice, ev *event.Event) {
	r.EndNS = event.OptTime(ev.Time)
	x.text -= len(r.Args)
	setStr(&r.Args, ev.Str(event.FieldArgs))
	x.text += len(r.Args)
	x.give(r)
	x.slices.put(r)
}

func (x *sliceTracker) asyncEvent(ev *event.Event, t *thread, k asyncKey) {
	if ev.Kind == event.KindSliceBegin {
		if o := x.async[k]; o != nil {
			x.e.count(&anomalyOverlap)
			x.e.unm.add(note{table: "slices", id: o.ID, link: missExit, reason: NotRecorded, from: timeOr(o.StartNS), to: ev.Time})
			x.give(o)
			x.slices.put(o)
		}
		x.async[k] = x.start(ev, t)
		x.ids = append(x.ids, k)
		for len(x.async) > x.e.caps.Slices {
			x.evictAsync()
		}
		if len(x.ids) > 2*len(x.async)+minCap {
			x.compact()
		}
		x.makeRoom()
		return
	}
	r := x.async[k]
	if r == nil {
		x.e.count(&anomalySliceEndAlone)
		return
	}
	delete(x.async, k)
	r.EndNS = event.OptTime(ev.Time)
	x.give(r)
	x.slices.put(r)
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
	n := x.nodes.get()
	n.row = x.row(ev, t)
	r := &n.row
	x.text += r.textSize()
	r.StartNS, r.EndNS = event.OptTime(ev.TimeOf(event.FieldStart)), event.OptTime(ev.Time)
	if k := len(s.open); k > 0 {
		r.ParentID, n.base = s.open[k-1].ID, int64(k)
	}
	if !r.StartNS.OK || !r.EndNS.OK {
		x.giveTree(n, r.ParentID, n.base)
		return
	}
	if s.inTwin(n) || s.inLast(n) {
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

// inLast puts a slice into the last root if the two end together and that began
// before: sources that write the outer one first, in order of begins, give both
// at one time. It goes as deep as what ends with it does, and takes what began
// after it.
func (s *sliceStack) inLast(n *sliceNode) bool {
	if len(s.roots) == 0 {
		return false
	}
	root := s.roots[len(s.roots)-1]
	if root.row.EndNS != n.row.EndNS || root.row.StartNS.V >= n.row.StartNS.V {
		return false
	}
	p := root
	for len(p.children) > 0 {
		k := p.children[len(p.children)-1]
		if k.row.EndNS != n.row.EndNS || k.row.StartNS.V > n.row.StartNS.V {
			break
		}
		p = k
	}
	i := len(p.children)
	for i > 0 && (p.row.StartNS == n.row.StartNS || p.children[i-1].row.StartNS.V >= n.row.StartNS.V) {
		i--
	}
	n.children = append(n.children, p.children[i:]...)
	p.children = append(p.children[:i], n)
	root.size++ // of a root alone it is asked
	s.twin = nil
	return true
}

// bound counts a slice that was taken, and gives the oldest where too many wait.
func (x *sliceTracker) bound(s *sliceStack) {
	s.held++
	x.held++
	if len(s.roots) > maxSliceRoots || s.held > min(maxSliceHeld, x.e.caps.Slices/2) || x.text > x.e.caps.Text {
		x.e.count(&anomalyNestingCut)
		size := s.roots[0].size
		x.giveTree(s.roots[0], s.roots[0].row.ParentID, s.roots[0].base)
		s.held -= size
		x.held -= size
		s.roots = append(s.roots[:0], s.roots[1:]...)
		if len(s.roots) == 0 {
			s.twin = nil
		}
	}
	x.makeRoom()
}

func (x *sliceTracker) giveTree(n *sliceNode, parent ID, depth int64) {
	n.row.ParentID, n.row.Depth = parent, depth
	for _, k := range n.children {
		x.giveTree(k, n.row.ID, depth+1)
	}
	x.give(&n.row)
	x.nodes.put(n)
}

func (x *sliceTracker) give(r *Slice) {
	x.text -= r.textSize()
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
