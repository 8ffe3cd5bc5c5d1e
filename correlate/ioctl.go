package correlate

import "github.com/gpurec/gpurec/record/event"

// How an ioctl's driver is known, in ioctls.driver_rule.
const (
	ruleDriverByJobs = "inferred from the fences of its jobs"
	ruleDriverByFD   = "inferred from the fences of jobs on its descriptor"
)

// Bounds of the ioctl tracker.
const (
	maxSources = 4
	maxLate    = 16 // ioctls of a thread that wait for a call around them
	magicDRM   = 'd'

	magicKFD    = 'K'
	magicNVIDIA = 'F'
)

// ioctl is an ioctl from its first event to its row.
type ioctl struct {
	row     Ioctl
	fd      *fdState
	t       *thread
	jobs    int
	waits   int                // for fences, in it
	wokenBy ID                 // job whose fence last woke its thread
	queued  [4]endingJob       // the first of them
	sources [maxSources]string // of entries
	nsrc    int
	exits   [maxSources]string
	nexit   int
	noCmd   bool

	released bool // no call can adopt it any more
}

// fdState is what is known of a descriptor of a process: the driver that its
// jobs' hardware fences named, and the ioctls that wait for it.
type fdState struct {
	driver string
	dev    *device
	held   []*ioctl
}

type fdKey struct {
	proc *process
	fd   int64
}

type ioctlTracker struct {
	e      *engine
	pool   pool[ioctl]
	fds    aging[fdKey, *fdState]
	order  []heldIoctl // in the order in which they began to wait for their driver
	head   int
	late   int // that wait for the call around them
	joined map[[2]string]string
}

// heldIoctl refers to a held ioctl; id tells whether it still is that one.
type heldIoctl struct {
	i  *ioctl
	id ID
}

func (x *ioctlTracker) init(e *engine) {
	x.e = e
	x.joined = map[[2]string]string{}
}

func (x *ioctlTracker) enter(ev *event.Event, t *thread) {
	if t.closing != nil {
		x.leave(t)
	}
	if i := t.ioctl; i != nil {
		if x.sameIoctl(i, ev) {
			x.witness(i, ev)
			return
		}
		x.e.count(&anomalyIoctlExitLost)
		x.closeOpen(t, endLost)
	}
	i := x.open(ev, t)
	i.row.StartNS = event.OptTime(ev.Time)
	i.sources[0], i.nsrc = ev.Source, 1
	if !t.idle {
		t.ioctl = i
	}
	x.e.fence.dropPairs(t)
	if n := len(t.calls); n > 0 {
		x.inCall(i, t.calls[n-1], t)
	}
	if t.idle {
		i.row.EndKind = endLost
		x.done(i)
	}
}

// inCall puts an ioctl into the innermost open call of its thread.
func (x *ioctlTracker) inCall(i *ioctl, c *call, t *thread) {
	i.row.APICallID = c.row.ID
	c.ioctls++
	if c.spec.launches() && t.proc != nil {
		t.proc.launchIoctls = true
	}
	x.e.link(RuleAPIIoctl, "api_calls", c.row.ID, "ioctls", i.row.ID, Nested, t.keyText())
}

// sameIoctl reports whether an entry is the second witness of the open ioctl:
// the same request on the same thread from another tracepoint.
func (x *ioctlTracker) sameIoctl(i *ioctl, ev *event.Event) bool {
	for _, s := range i.sources[:i.nsrc] {
		if s == ev.Source {
			return false
		}
	}
	if cmd, ok := ev.Uint(event.FieldCmd); ok && !i.noCmd && cmd != i.row.Cmd {
		return false
	}
	fd := optInt(ev, event.FieldFD)
	return i.nexit == 0 && i.nsrc < maxSources && (!fd.OK || !i.row.FD.OK || fd.V == i.row.FD.V)
}

// witness takes the entry that a second tracepoint saw. The start stays that
// of the earlier one.
func (x *ioctlTracker) witness(i *ioctl, ev *event.Event) {
	i.sources[i.nsrc] = ev.Source
	i.nsrc++
	x.absorb(i, ev)
}

func (x *ioctlTracker) open(ev *event.Event, t *thread) *ioctl {
	x.e.seq.ioctl++
	i := x.pool.get()
	i.t = t
	i.noCmd = true
	r := &i.row
	r.ID, r.ProcessID, r.PID, r.TID = x.e.seq.ioctl, t.processID(), t.pid, t.tid
	x.absorb(i, ev)
	return i
}

// absorb takes what an event tells about the request.
func (x *ioctlTracker) absorb(i *ioctl, ev *event.Event) {
	r := &i.row
	if v, ok := ev.Uint(event.FieldCmd); ok && i.noCmd {
		r.Cmd, i.noCmd = v, false
	}
	if fd := optInt(ev, event.FieldFD); fd.OK && !r.FD.OK {
		r.FD = fd
	}
	if d := ev.Str(event.FieldDriver); d != "" && r.Driver == "" {
		r.Driver, r.DriverRule = d, ruleSource
	}
	if d := ev.Str(event.FieldDevice); d != "" && r.DeviceID == 0 {
		r.DeviceID = x.e.ids.deviceID(d, r.Driver)
	}
	setStr(&r.Name, ev.Str(event.FieldName))
	if v, ok := ev.Uint(event.FieldRole); ok && r.Role == "" {
		r.Role = event.Role(v).String()
	}
	if i.fd == nil && r.FD.OK && i.t.proc != nil {
		i.fd = x.fdOf(fdKey{i.t.proc, r.FD.V})
	}
}

func (x *ioctlTracker) exit(ev *event.Event, t *thread) {
	i := t.ioctl
	if i == nil {
		if c := t.closing; c != nil && x.secondExit(c, ev) {
			return
		}
		x.exitAlone(ev, t)
		return
	}
	x.result(i, ev)
	i.exits[0], i.nexit = ev.Source, 1
	i.row.EndKind = endReturned
	t.ioctl = nil
	x.e.fence.dropPairs(t)
	if i.nsrc > 1 {
		t.closing = i
		return
	}
	x.done(i)
}

// secondExit takes the return that a second tracepoint saw: the end stays that
// of the earlier one.
func (x *ioctlTracker) secondExit(i *ioctl, ev *event.Event) bool {
	for _, s := range i.exits[:i.nexit] {
		if s == ev.Source {
			return false
		}
	}
	i.exits[i.nexit] = ev.Source
	i.nexit++
	x.absorbResult(i, ev)
	if i.nexit >= i.nsrc {
		x.leave(i.t)
	}
	return true
}

// leave ends the wait for the second return of an ioctl.
func (x *ioctlTracker) leave(t *thread) {
	i := t.closing
	t.closing = nil
	x.done(i)
}

func (x *ioctlTracker) result(i *ioctl, ev *event.Event) {
	i.row.EndNS = event.OptTime(ev.Time)
	x.absorbResult(i, ev)
}

func (x *ioctlTracker) absorbResult(i *ioctl, ev *event.Event) {
	r := &i.row
	if v := optInt(ev, event.FieldResult); v.OK && !r.Result.OK {
		r.Result = v
		if v.V < 0 && v.V >= -4095 {
			r.Errno = event.Some(-v.V)
		}
	}
	if s := optUint(ev, event.FieldStatus); s.OK {
		r.Status = s
	}
	x.absorb(i, ev)
}

func (x *ioctlTracker) exitAlone(ev *event.Event, t *thread) {
	x.e.count(&anomalyIoctlEnterMissing)
	i := x.open(ev, t)
	x.result(i, ev)
	i.row.EndKind = endReturned
	i.sources[0], i.nsrc = ev.Source, 1
	i.exits[0], i.nexit = ev.Source, 1
	x.e.unm.add(note{table: "ioctls", id: i.row.ID, link: missEnter, reason: NotRecorded, from: event.NoTime, to: ev.Time})
	if t.closing != nil {
		x.leave(t)
	}
	if t.ioctl == nil && !t.idle {
		t.closing = i // another tracepoint may have seen it return too
		i.nsrc = maxSources
		return
	}
	x.done(i)
}

// complete takes an ioctl that comes whole, at its end.
func (x *ioctlTracker) complete(ev *event.Event, t *thread) {
	i := x.open(ev, t)
	i.row.StartNS = event.OptTime(ev.TimeOf(event.FieldStart))
	i.sources[0], i.nsrc = ev.Source, 1
	x.result(i, ev)
	i.row.EndKind = endReturned
	for n := len(t.calls) - 1; n >= 0; n-- {
		c := t.calls[n]
		if !i.row.StartNS.OK || !c.row.StartNS.OK || c.row.StartNS.V <= i.row.StartNS.V {
			x.inCall(i, c, t)
			break
		}
	}
	x.done(i)
}

// closeOpen ends a thread's open ioctl without its return.
func (x *ioctlTracker) closeOpen(t *thread, kind string) {
	i := t.ioctl
	t.ioctl = nil
	i.row.EndKind = kind
	switch kind {
	case endOpen:
		x.e.unm.now("ioctls", i.row.ID, missExit, t.proc.stillOpen(i.row.StartNS))
	case endKilled:
		x.e.unm.now("ioctls", i.row.ID, missExit, Killed)
	case endEvicted:
		x.e.count(&anomalyEvicted)
		i.row.EndKind = endLost
		x.e.unm.now("ioctls", i.row.ID, missExit, Evicted)
	default:
		x.e.unm.add(note{table: "ioctls", id: i.row.ID, link: missExit, reason: NotRecorded, from: timeOr(i.row.StartNS), to: x.e.now})
	}
	x.done(i)
}

func (x *ioctlTracker) threadEnds(t *thread, kind string) {
	if t.closing != nil {
		x.leave(t)
	}
	if t.ioctl != nil {
		x.closeOpen(t, kind)
	}
	x.releaseLate(t)
}

func (x *ioctlTracker) finish() {
	for t := range x.e.ids.each {
		if t.closing != nil {
			x.leave(t)
		}
		if t.ioctl != nil {
			x.closeOpen(t, endOpen)
		}
		x.releaseLate(t)
		x.e.flushFull()
	}
	for _, h := range x.order[x.head:] {
		if h.i.row.ID == h.id {
			x.give(h.i)
		}
		x.e.flushFull()
	}
	x.order = nil
}
