package correlate

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// Bounds of the API tracker.
const (
	maxCallDepth = 1 << 10 // open calls of a thread
)

// callSpec is what the name of a function tells.
type callSpec struct {
	base  string
	class gpu.Class
	known bool // in the table of functions
	waits bool // for the device or another process, by its nature
	api   string
}

// launches reports whether the call puts work on a device.
func (s *callSpec) launches() bool {
	switch s.class {
	case gpu.ClassLaunch, gpu.ClassGraphLaunch, gpu.ClassMemcpy, gpu.ClassMemset, gpu.ClassCollective, gpu.ClassSubmit:
		return true
	}
	return false
}

// call is an API call that has not returned.
type call struct {
	row      APICall
	spec     *callSpec
	proc     *process
	ioctls   int
	jobs     int
	launches int // calls in it
	innerNS  int64
	entry    *correlation
	sameID   bool    // the same call as one with this correlation id
	twins    []*call // second rows of the same call, to be given with it
	inTree   bool    // waits for a parent
	ended    bool    // its return was told before that of a call in it
	children []*call // in it, of those that came whole

	t            *thread // while it is open
	older, newer *call   // open ones
}

type functionKey struct {
	proc *process
	fn   uint64
}

type apiTracker struct {
	e       *engine
	pool    pool[call]
	specs   aging[specKey, *callSpec]
	kernels aging[functionKey, string]

	oldest, newest *call // open
	nOpen          int
	held           int // that came whole and may get a parent

	whole   []wholeCall // of the present instant
	exiting []*thread   // with calls whose returns were told before those of calls in them
}

type specKey struct {
	api  uint64
	name string
}

func (x *apiTracker) init(e *engine) {
	x.e = e
}

func (x *apiTracker) spec(ev *event.Event) *callSpec {
	name := ev.Str(event.FieldName)
	a, _ := ev.Uint(event.FieldAPI)
	k := specKey{a, name}
	s, ok := x.specs.get(x.e.caps.Names, k)
	if !ok {
		s = &callSpec{base: gpu.BaseName(name)}
		if f, ok := gpu.Lookup(name); ok {
			s.class, s.known, s.waits = f.Class, true, f.Blocks && !f.Async
			if event.API(a) == event.APIUnknown {
				a = uint64(f.API)
			}
		}
		if event.API(a) != event.APIUnknown {
			s.api = event.API(a).String()
		}
		x.specs.put(x.e.caps.Names, k, s)
	}
	return s
}

// open begins a call at its first event.
func (x *apiTracker) open(ev *event.Event, t *thread) *call {
	x.e.seq.call++
	c := x.pool.get()
	c.spec = x.spec(ev)
	c.proc = t.proc
	r := &c.row
	r.ID, r.ProcessID, r.PID, r.TID = x.e.seq.call, t.processID(), t.pid, t.tid
	r.API, r.Name, r.BaseName = c.spec.api, ev.Str(event.FieldName), c.spec.base
	if c.spec.known {
		r.Class, r.Blocking = c.spec.class.String(), event.Some(c.spec.waits)
	}
	r.Source = ev.Source
	r.KernelName = ev.Str(event.FieldKernelName)
	r.Library = ev.Str(event.FieldLibrary)
	r.Args = ev.Str(event.FieldArgs)
	r.Function = optUint(ev, event.FieldFunction)
	r.GridX, r.GridY, r.GridZ = optUint(ev, event.FieldGridX), optUint(ev, event.FieldGridY), optUint(ev, event.FieldGridZ)
	r.BlockX, r.BlockY, r.BlockZ = optUint(ev, event.FieldBlockX), optUint(ev, event.FieldBlockY), optUint(ev, event.FieldBlockZ)
	r.SharedMem = optUint(ev, event.FieldSharedMemBytes)
	r.Stream = optUint(ev, event.FieldStream)
	r.Bytes = optUint(ev, event.FieldBytes)
	r.Direction = directionName(ev)
	r.Address = optUint(ev, event.FieldAddress)
	r.CorrelationID = optInt(ev, event.FieldCorrelationID)
	if r.KernelName == "" && r.Function.OK && c.spec.class == gpu.ClassLaunch {
		r.KernelName, _ = x.kernels.get(x.e.caps.Names, functionKey{t.proc, r.Function.V})
	}
	return c
}

func (x *apiTracker) enter(ev *event.Event, t *thread) {
	c := x.open(ev, t)
	c.row.StartNS = event.OptTime(ev.Time)
	o := x.meet(c, t)
	x.e.act.call(c)
	if o == nil || !x.beside(c, o, false) {
		x.under(c, t)
	}
	if ev.Bool(event.FieldEntryOnly) {
		c.row.EndKind = endNotProbed
		x.give(c, t)
		return
	}
	if t.idle { // without a thread no return can be paired
		c.row.EndKind = endLost
		x.e.unm.now("api_calls", c.row.ID, missExit, NotRecorded)
		x.give(c, t)
		return
	}
	if len(t.calls) == maxCallDepth {
		x.evict(t)
	}
	t.calls = append(t.calls, c)
	c.t, c.older = t, x.newest
	if x.newest != nil {
		x.newest.newer = c
	} else {
		x.oldest = c
	}
	x.newest = c
	x.nOpen++
	x.trim()
}

// under puts a call into the innermost open one that began no later.
func (x *apiTracker) under(c *call, t *thread) {
	n := len(t.calls)
	for n > 0 && c.row.StartNS.OK && t.calls[n-1].row.StartNS.OK && t.calls[n-1].row.StartNS.V > c.row.StartNS.V {
		n-- // a whole call that lies across it
	}
	if n == 0 {
		return
	}
	p := t.calls[n-1]
	c.row.ParentID, c.row.Depth = p.row.ID, p.row.Depth+1
	if c.spec.launches() {
		p.launches++
	}
}

// exit ends the innermost open call of that name; what is open in it did not
// show its return.
func (x *apiTracker) exit(ev *event.Event, t *thread) {
	i := x.match(ev, t)
	if i < 0 {
		x.exitAlone(ev, t)
		return
	}
	c := t.calls[i]
	if len(t.calls) > i+1 && ev.Time.Known() { // do those in it return at this very instant?
		x.returned(c, ev, t)
		c.ended = true
		x.exiting = append(x.exiting, t)
		return
	}
	for len(t.calls) > i+1 {
		x.e.count(&anomalyCallExitLost)
		x.closeTop(t, endLost, ev.Time)
	}
	t.calls = t.calls[:i]
	x.closed(c)
	x.returned(c, ev, t)
	x.give(c, t)
	for x.giveEnded(t) {
	}
}

func (x *apiTracker) returned(c *call, ev *event.Event, t *thread) {
	r := &c.row
	r.EndNS = event.OptTime(ev.Time)
	r.EndKind = endReturned
	r.Result = optInt(ev, event.FieldResult)
	if a := optUint(ev, event.FieldAddress); a.OK {
		r.Address = a
	}
	if f := optUint(ev, event.FieldFunction); f.OK {
		r.Function = f
	}
	setStr(&r.KernelName, ev.Str(event.FieldKernelName))
	if id := optInt(ev, event.FieldCorrelationID); id.OK && !r.CorrelationID.OK {
		r.CorrelationID = id
		x.e.act.call(c)
	}
	if c.spec.class == gpu.ClassGetFunction && r.Function.OK && r.KernelName != "" {
		x.kernels.put(x.e.caps.Names, functionKey{t.proc, r.Function.V}, r.KernelName)
	}
}

func (x *apiTracker) match(ev *event.Event, t *thread) int {
	name := ev.Str(event.FieldName)
	for i := len(t.calls) - 1; i >= 0; i-- {
		if n := t.calls[i].row.Name; (n == name || name == "") && !t.calls[i].ended {
			return i
		}
	}
	base := gpu.BaseName(name)
	for i := len(t.calls) - 1; i >= 0; i-- {
		if t.calls[i].row.BaseName == base && !t.calls[i].ended {
			return i
		}
	}
	return -1
}

func (x *apiTracker) exitAlone(ev *event.Event, t *thread) {
	x.e.count(&anomalyCallEnterMissing)
	c := x.open(ev, t)
	x.under(c, t)
	x.returned(c, ev, t)
	x.e.unm.add(note{table: "api_calls", id: c.row.ID, link: missEnter, reason: NotRecorded, from: event.NoTime, to: ev.Time})
	x.give(c, t)
}

// complete takes a call that comes whole, at its end. The call around it, if
// that comes whole too, comes later.
func (x *apiTracker) complete(ev *event.Event, t *thread) {
	c := x.open(ev, t)
	c.row.StartNS = event.OptTime(ev.TimeOf(event.FieldStart))
	x.returned(c, ev, t)
	o := x.meet(c, t)
	x.e.act.call(c)
	if o != nil {
		if x.beside(c, o, true) {
			x.give(c, t)
		}
		return
	}
	if len(t.calls) > 0 || !c.row.StartNS.OK || !c.row.EndNS.OK {
		x.under(c, t)
		x.give(c, t)
		return
	}
	c.inTree = true
	if x.whole = append(x.whole, wholeCall{c, t}); len(x.whole) >= maxInstant {
		x.placeWhole()
	}
}

// give gives a call's row and says what it misses.
func (x *apiTracker) give(c *call, t *thread) {
	e, r := x.e, &c.row
	r.DurNS = sub(r.EndNS, r.StartNS)
	if r.DurNS.OK {
		r.SelfNS = event.Some(r.DurNS.V - c.innerNS)
		// The call around is the innermost still open; whole calls tell theirs (callTree).
		if n := len(t.calls); n > 0 && r.SameAsID == 0 && t.calls[n-1].row.ID == r.ParentID {
			t.calls[n-1].innerNS += r.DurNS.V
		}
	}
	o := t.recent.given(c)
	if c.spec.launches() && r.SameAsID == 0 {
		x.noteLaunch(c, o)
	}
	if r.SameAsID == 0 && r.ParentID == 0 && r.StartNS.OK && r.EndNS.OK {
		x.e.ids.did(t, span{kind: wasCall, start: r.StartNS.V, end: r.EndNS.V, name: r.Name})
	}
	e.rows.APICalls = append(e.rows.APICalls, *r)
	e.n++
	if o := c.entry; o != nil && o.apiID == r.ID {
		o.call, o.root = nil, r.ParentID == 0
	}
	x.pool.put(c)
}

// noteLaunch says why a call that puts work on a device led to none that was seen.
func (x *apiTracker) noteLaunch(c *call, recent *recentCall) {
	r := &c.row
	if c.ioctls == 0 && c.jobs == 0 && c.launches == 0 {
		if doorbell(r.API) && !c.proc.submits() {
			x.e.unm.now("api_calls", r.ID, missIoctl, NotPossible)
		} else {
			x.e.unm.add(note{table: "api_calls", id: r.ID, link: missIoctl, reason: NotRecorded,
				from: timeOr(r.StartNS), to: timeOr(r.EndNS)})
		}
	}
	if c.entry == nil && r.ParentID == 0 {
		switch {
		case recent == nil:
			x.e.unm.now("api_calls", r.ID, missActivity, NotRecorded)
		case !recent.twinHasLaunch:
			recent.owes = true // until it has met no twin
		}
	}
}

// doorbell reports whether the API's drivers submit work without an ioctl.
func doorbell(api string) bool {
	switch api {
	case "cuda_driver", "cuda_runtime", "hip", "hsa", "nccl":
		return true
	}
	return false
}

// submits reports whether launches of the process were seen to make ioctls.
func (p *process) submits() bool { return p != nil && p.launchIoctls }
