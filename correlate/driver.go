package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Drivers tell of their jobs by events of their own. Where gpu_scheduler's
// events are recorded too, the two are witnesses of one job; the rest of a
// driver's jobs stand on its own events. docs/correlation.md, "Drivers".

// driver returns the driver whose own event this is, nil for the scheduler's
// and for amdgpu's and lima's, which name the scheduler's fence and number.
func (x *jobTracker) driver(ev *event.Event) *driverState {
	o := ev.Str(event.FieldOrigin)
	if o == "" || strings.HasPrefix(o, driverSched) || o == "amdgpu" {
		return nil
	}
	for i := range x.drivers {
		if x.drivers[i].origin == o {
			return &x.drivers[i]
		}
	}
	return nil
}

// driverEvent takes a job event of a driver. It reports false for one that is
// told in the scheduler's terms.
func (x *jobTracker) driverEvent(ev *event.Event, t *thread, c *cpuState, d *driverState) bool {
	if d.key == keyOrder {
		x.e.fence.apart(c)
		x.ordered(ev, t, d)
		return true
	}
	k, ok := d.keyOf(ev)
	if !ok && !(d.switches && ev.Kind == event.KindJobDone) {
		if _, ok := ev.Fence(); ok || ev.Kind == event.KindJobDep {
			return false
		}
		x.e.fence.apart(c)
		x.e.count(&anomalyJobWithoutKey)
		x.e.misc.other(ev, t)
		return true
	}
	x.e.fence.apart(c)
	j := x.ofDriver(ev, d, k)
	switch ev.Kind {
	case event.KindJobQueue:
		x.driverQueue(ev, t, d, k, j)
	case event.KindJobRun:
		x.driverRun(ev, t, d, k, j)
	case event.KindJobDone:
		x.driverDone(ev, t, d, k, j)
	default:
		return false
	}
	return true
}

func (d *driverState) keyOf(ev *event.Event) (driverKey, bool) {
	k := driverKey{d: d, dev: ev.Str(event.FieldDevice)}
	var ok bool
	switch d.key {
	case keyFence:
		_, ok = ev.Fence()
	case keyPointer:
		k.dev = "" // an address is one of the whole machine
		k.num, ok = pointer(ev)
	default:
		if k.line = ev.Str(event.FieldTimeline); k.line == "" {
			k.line = ev.Str(event.FieldRing)
		}
		k.num, ok = ev.Uint(event.FieldSchedJobID)
	}
	return k, ok
}

func (x *jobTracker) ofDriver(ev *event.Event, d *driverState, k driverKey) *job {
	if d.key == keyFence {
		return x.byFence(ev)
	}
	return x.byDriver[k]
}

// addDriver begins a job of a driver.
func (x *jobTracker) addDriver(ev *event.Event, d *driverState) *job {
	j := x.add(ev)
	j.w = &d.testimony
	return j
}

// absorbDriver takes what a driver's event tells. Numbers and addresses are of
// another sort than the scheduler's and stay apart from them.
func (x *jobTracker) absorbDriver(j *job, ev *event.Event, d *driverState, k driverKey) {
	if j.drv == nil {
		j.drv, j.key = d, k
		if d.key != keyFence {
			x.byDriver[k] = j
		}
		j.keyHashed = ev.Flags&event.FlagHashed != 0
	}
	e := *ev
	e.Clear(event.FieldSchedJobID)
	e.Clear(event.FieldFencePtr)
	dev := x.e.ids.device(ev.Str(event.FieldDevice), d.driver)
	x.absorb(j, &e, true)
	if j.dev == nil && dev == nil {
		if dev = x.e.ids.driverDevice(d.driver); dev != nil {
			j.dev, j.row.DeviceRule = dev, ruleDeviceByOrigin
		}
	}
	if d.key == keyPointer {
		if fk, ok := x.ptrFence[k.num]; ok {
			if f := x.e.fence.get(fk, true); f != nil {
				x.namedHW(j, f)
			}
		}
	}
	x.queueRing(j, ev)
	x.place(j)
	x.onEngine(j, ev, d)
}

// driverQueue takes the event that a driver queued a job.
func (x *jobTracker) driverQueue(ev *event.Event, t *thread, d *driverState, k driverKey, j *job) {
	if j != nil && (j.bridgeQueue || j.done) && d.key != keyFence {
		x.numberReused(j) // the same name again is another job
		j = nil
	}
	if j == nil {
		j = x.addDriver(ev, d)
	}
	first := !j.queued && !j.bridgeQueue
	x.absorbDriver(j, ev, d, k)
	if !first {
		return // i915 tells it twice: queue and add
	}
	j.bridgeQueue = true
	j.row.QueuedNS = moment(ev)
	x.owner(j, t)
	x.origin(j, t)
	if j.fd != nil {
		x.e.ioctl.resolve(j.fd, d.driver, j.dev)
	}
	if d.emits {
		x.emittedFence(j, ev, t, d)
		j.fenceless = d.direct && !ev.Has(event.FieldFenceSeqno) && j.fin == nil // virtio: a command that asks for none
	}
	if j.fin != nil {
		x.noteFirst(j.fin.key, ev.Time)
	}
	x.e.ring.queue(j)
	t.native = endingJob{}
	if d.sched && !t.idle {
		t.native = endingJob{j, j.row.ID}
	}
	if d.direct {
		j.bridgeRun, j.drvRun = true, true
		j.row.Runs++
		x.runAt(j, j.row.QueuedNS)
	}
}

// moment is when an event happened: some are written later.
func moment(ev *event.Event) OptTime {
	if s := ev.TimeOf(event.FieldStart); s.Known() {
		return event.OptTime(s)
	}
	return event.OptTime(ev.Time)
}

func (x *jobTracker) runAt(j *job, at OptTime) {
	j.row.RunNS = at
	x.e.ring.run(j)
}

// emittedFence joins a job to its fence: the one that the thread made, or was
// given its number, last before it queued the job. virtio_gpu_fence_emit gives
// the fence the number that the command carries; i915 and radeon make it with
// the number that they tell. Where the event may name the context too, that must
// be the fence's.
func (x *jobTracker) emittedFence(j *job, ev *event.Event, t *thread, d *driverState) {
	n, ok := ev.Uint(event.FieldFenceSeqno)
	if !ok {
		if n, ok = ev.Uint(event.FieldSchedJobID); !ok {
			return
		}
	}
	if !t.emitted.ok || uint32(n) != uint32(t.emitted.key.Seqno) {
		return
	}
	if c, ok := ev.Uint(event.FieldFenceContext); ok && uint32(c) != uint32(t.emitted.key.Context) {
		return
	}
	if f := x.e.fence.get(t.emitted.key, t.emitted.full); f != nil && (f.driver == d.driver || f.driver == "") {
		x.setFinished(j, f, Adjacent)
		x.place(j)
	}
	t.emitted.ok = false
}

// driverRun takes the event that a driver handed a job to the hardware. The
// driver is called by the scheduler: right after the scheduler's own run event
// on a thread it is of that job.
func (x *jobTracker) driverRun(ev *event.Event, t *thread, d *driverState, k driverKey, j *job) {
	d.sawRun = true
	if j != nil && j.done && !d.preempts && !d.direct && before(j.row.DoneNS, ev.Time) {
		x.numberReused(j)
		j = nil
	}
	called := t.called
	t.called = endingJob{}
	if j == nil && d.sched && called.waits() && called.j.drv == nil && sameRing(called.j, ev) {
		j = called.j
		d.merged = true
	}
	if j == nil {
		j = x.addDriver(ev, d)
	}
	x.absorbDriver(j, ev, d, k)
	at := moment(ev)
	if d.switches {
		x.switchTo(j, at)
	}
	switch {
	case j.drvRun && d.preempts:
		j.row.Runs++ // on the hardware again: no reset
	case j.drvRun:
		x.rerun(j, at, nil)
	case j.ran:
		j.drvRun = true // the scheduler's event tells the time
	default:
		j.drvRun, j.bridgeRun = true, true
		j.row.Runs++
		x.runAt(j, at)
	}
}

// sameRing reports whether an event can be of a job, as far as they tell.
func sameRing(j *job, ev *event.Event) bool {
	if s := ev.Str(event.FieldRing); s != "" && j.row.Ring != "" && s != j.row.Ring {
		return false
	}
	d := ev.Str(event.FieldDevice)
	return d == "" || j.dev == nil || j.dev.row.Device == "" || j.dev.row.Device == d || strings.HasPrefix(d, "card")
}

// switchTo ends what ran on the ring of j, nil for none: the hardware went to j.
func (x *jobTracker) switchTo(j *job, at OptTime) {
	if j.ring == nil {
		return
	}
	prev := j.ring.current
	j.ring.current = endingJob{j, j.row.ID}
	if prev.j != j {
		x.switchFrom(prev, at)
	}
}

func (x *jobTracker) switchFrom(prev endingJob, at OptTime) {
	switch {
	case !prev.waits():
	case prev.j.done:
		prev.j.row.DoneNS = at // it had been on the hardware again
	default:
		x.setDone(prev.j, at, Inferred)
	}
}

// driverDone takes the event that a driver saw a job end.
func (x *jobTracker) driverDone(ev *event.Event, t *thread, d *driverState, k driverKey, j *job) {
	d.sawDone, d.noDone = true, false
	if d.switches {
		x.emptied(ev, d)
		return
	}
	if j == nil && x.gone(ev, d) {
		x.e.misc.other(ev, t)
		return
	}
	if j != nil && j.drvDone {
		x.numberReused(j)
		j = nil
	}
	if j == nil {
		j = x.addDriver(ev, d)
	}
	x.absorbDriver(j, ev, d, k)
	j.drvDone = true
	if !j.done { // else the scheduler's event told it
		j.doneByDriver = true
		x.setDone(j, moment(ev), Exact)
	}
}

// emptied takes the event that a ring has no job any more.
func (x *jobTracker) emptied(ev *event.Event, d *driverState) {
	dev := x.e.ids.device(ev.Str(event.FieldDevice), d.driver)
	if dev == nil {
		dev = x.e.ids.driverDevice(d.driver)
	}
	if r := x.e.ring.byKey[ringKey{dev, ev.Str(event.FieldRing)}]; r != nil {
		prev := r.current
		r.current = endingJob{}
		x.switchFrom(prev, moment(ev))
	}
}

// gone reports whether the job of a done event was given already: its fence
// tells, or it was one that the scheduler's events had ended.
func (x *jobTracker) gone(ev *event.Event, d *driverState) bool {
	if d.key != keyFence {
		return d.merged
	}
	key, _ := ev.Fence()
	f := x.e.fence.find(key, ev.Flags&event.FlagLow32 == 0)
	return f != nil && f.jobID != 0
}

// numberReused ends a job whose name begins a new life.
func (x *jobTracker) numberReused(j *job) {
	if !j.done && !j.row.FinishedNS.OK {
		x.e.count(&anomalyNumberReused)
		j.reused = true
	}
	x.forget(j)
	x.end(j)
}

// takeNative returns the job that the driver told of on this thread right
// before the scheduler's queue event, nil if there is none.
func (x *jobTracker) takeNative(ev *event.Event, t *thread) *job {
	n := t.native
	t.native = endingJob{}
	if !n.waits() || n.j.queued || n.j.done || !x.mergeable(n.j, ev) {
		return nil
	}
	n.j.drv.merged = true
	n.j.w = &x.sched
	return n.j
}

// mergeable reports whether a scheduler's event can be of a driver's job.
func (x *jobTracker) mergeable(j *job, ev *event.Event) bool {
	if j.drv.key == keyPointer { // it names no ring
		d := ev.Str(event.FieldDevice)
		return d == "" || j.dev == nil || j.dev.row.Device == "" || j.dev.row.Device == d
	}
	s := ev.Str(event.FieldRing)
	return s == "" || s == j.row.Ring
}

// fenceAddress learns the key of a fence that an event tells by address too.
func (x *jobTracker) fenceAddress(ev *event.Event, f *fence) {
	p, ok := ev.Uint(event.FieldFencePtr)
	if !ok || !f.full {
		return
	}
	for i := range x.drivers {
		d := &x.drivers[i]
		if d.key != keyPointer || d.driver != f.driver {
			continue
		}
		if ev.Kind == event.KindFenceSignal {
			delete(x.ptrFence, p)
		} else if len(x.ptrFence) < maxPtrFences {
			x.ptrFence[p] = f.key
		}
		if j := x.byDriver[driverKey{d: d, num: p}]; j != nil && !j.given && j.hw == nil {
			x.namedHW(j, f)
		}
	}
}

// settleDriver fills in what only the driver's name tells.
func (x *jobTracker) settleDriver(j *job) {
	r := &j.row
	switch {
	case j.drv == nil:
	case j.drv.key == keyNumber && !r.SchedJobID.OK:
		r.SchedJobID = event.Some(j.key.num)
	case j.drv.key == keyPointer && !j.keyHashed && !r.FencePtr.OK && !j.hasPtr:
		r.FencePtr = event.Some(j.key.num)
	}
}
