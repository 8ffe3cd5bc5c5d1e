package correlate

import "github.com/gpurec/gpurec/record/event"

// The drivers that fences of no job name: a stub has signalled when it is made;
// chains (points of a timeline) and arrays stand for other fences, which no
// event names (dma_fence_chain.c, dma_fence_array.c).
const (
	driverStub  = "stub"
	driverChain = "dma_fence_chain"
	driverArray = "dma_fence_array"
)

// stub is the key of all stubs (dma_fence_get_stub, dma_fence_allocate_private_stub).
// Contexts of other fences count from 1.
var stub = event.FenceKey{}

// ofNoJob reports whether a fence that an event names by a key is none that a
// job could have. x may be nil.
func ofNoJob(k event.FenceKey, x *fence) bool {
	if k == stub || x == nil {
		return k == stub
	}
	return x.driver == driverStub || x.driver == driverChain || x.driver == driverArray
}

// driverSched is the driver that the GPU scheduler's own fences name.
const driverSched = "drm_sched"

// maxCPUs bounds the CPUs that are told apart: kernels are built for 8,192 at most.
const maxCPUs = 1 << 13

// The roles of a fence.
const (
	roleOther     = "other"
	roleScheduled = "scheduled"
	roleHardware  = "hardware"
	roleFinished  = "finished"
)

// fence is a dma_fence, or a finished fence that only jobs named (id 0).
//
// Life: it enters the index at its first event or when a job names it; it
// leaves, and its row is given, when it is destroyed, when its key begins a
// new life, or when the cap forces the oldest out.
type fence struct {
	id           ID
	key          event.FenceKey
	full         bool // all 64 bits are known
	dead         bool // out of the index
	driver       string
	timeline     string
	init         OptTime
	signal       OptTime
	role         string
	jobID        ID
	job          *job    // while its row is not given
	jobDone      OptTime // when the job that it finishes was done
	by           *thread // that made it
	next         *fence  // same low halves
	older, newer *fence
	refs         int
}

// cpuState is what happened last on a CPU, for adjacency in one call stack.
type cpuState struct {
	signal    *fence  // last event was the signal of a hardware fence
	signalled OptTime // when a fence last signalled on it
	done      *job    // last event was the end of a job
	wakes     waker   // since the signal of a job's fence there were wake-ups only
}

type fenceTracker struct {
	e      *engine
	pool   pool[fence]
	waits  pool[wait]
	index  map[uint64]*fence
	oldest *fence
	newest *fence
	count  int
	cpus   []cpuState

	sawHardware bool // a fence that is not the scheduler's
	sawSignal   bool
	nOpen       int     // waits
	ended       []*wait // that ended at the present instant
}

func (f *fenceTracker) init(e *engine) {
	f.e = e
	f.index = map[uint64]*fence{}
}

// cpu returns the state of a CPU, nil if the event names none.
func (f *fenceTracker) cpu(n int32) *cpuState {
	if n < 0 || n >= maxCPUs {
		return nil
	}
	for int(n) >= len(f.cpus) {
		f.cpus = append(f.cpus, cpuState{})
	}
	return &f.cpus[n]
}

// lost forgets adjacency where events are missing; every CPU's if none is named.
func (f *fenceTracker) lost(cpu int32) {
	if c := f.cpu(cpu); c != nil {
		f.apart(c)
		return
	}
	for i := range f.cpus {
		f.apart(&f.cpus[i])
	}
}

// apart ends adjacency on a CPU.
func (f *fenceTracker) apart(c *cpuState) {
	if c == nil {
		return
	}
	if c.signal != nil {
		f.unref(c.signal)
		c.signal = nil
	}
	c.done = nil
}

// trim takes out the oldest fences beyond the cap.
func (f *fenceTracker) trim() {
	for f.count > f.e.caps.Fences {
		f.evict(f.oldest)
		f.e.flushFull()
	}
}

// evict takes a fence out; it is an anomaly only if it had not signalled.
func (f *fenceTracker) evict(x *fence) {
	if !x.signal.OK && x.id != 0 {
		f.e.count(&anomalyEvicted)
	}
	f.remove(x)
}

// remove takes a fence out of the index and gives its row.
func (f *fenceTracker) remove(x *fence) {
	low := lowKey(x.key)
	if head := f.index[low]; head == x {
		if x.next == nil {
			delete(f.index, low)
		} else {
			f.index[low] = x.next
		}
	} else {
		for p := head; p != nil; p = p.next {
			if p.next == x {
				p.next = x.next
				break
			}
		}
	}
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		f.oldest = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		f.newest = x.older
	}
	x.next, x.older, x.newer = nil, nil, nil
	f.count--
	f.give(x)
	x.dead = true
	if x.refs == 0 {
		f.pool.put(x)
	}
}

func (f *fenceTracker) ref(x *fence) *fence {
	if x != nil {
		x.refs++
	}
	return x
}

func (f *fenceTracker) unref(x *fence) {
	if x == nil {
		return
	}
	x.refs--
	if x.refs == 0 && x.dead {
		f.pool.put(x)
	}
}

// give gives the row of a fence that an event showed.
func (f *fenceTracker) give(x *fence) {
	if x.id == 0 {
		return
	}
	f.e.rows.Fences = append(f.e.rows.Fences, Fence{
		ID: x.id, Driver: x.driver, Timeline: x.timeline, Context: x.key.Context, Seqno: x.key.Seqno,
		InitNS: x.init, SignalNS: x.signal, JobID: x.jobID, Role: x.role, Low32: !x.full,
	})
	f.e.n++
}

// event takes init, emit, enable, signal and destroy.
func (f *fenceTracker) event(ev *event.Event, t *thread) {
	k, ok := ev.Fence()
	if !ok {
		f.e.misc.other(ev, t)
		return
	}
	c := f.cpu(ev.CPU)
	full := ev.Flags&event.FlagLow32 == 0
	x, vague := f.target(ev, k, full, c)
	if vague {
		f.e.count(&anomalyFenceAmbiguous)
		f.e.misc.other(ev, t)
		f.apart(c)
		return
	}
	if x == nil {
		x = f.add(k, full)
	}
	switch ev.Kind {
	case event.KindFenceInit:
		f.see(x, ev)
		f.setInit(x, ev, t)
		f.e.job.fenceAddress(ev, x)
		f.apart(c)
	case event.KindFenceSignal:
		f.see(x, ev)
		f.e.job.fenceAddress(ev, x)
		f.signalled(x, ev, t, c)
	case event.KindFenceDestroy:
		f.see(x, ev)
		f.apart(c)
		f.destroyed(x)
	default:
		f.see(x, ev)
		f.apart(c)
		if ev.Kind == event.KindFenceEmit {
			t.emitted = emitted{k, full, true}
			f.e.job.fenceAddress(ev, x)
		}
	}
}

// waker is a job whose fence signalled, and that fence.
type waker struct {
	job ID // 0: none
	key event.FenceKey
}

// tick ends what only the events right before this one on its CPU tell.
func (f *fenceTracker) tick(ev *event.Event) {
	if ev.CPU >= 0 && int(ev.CPU) < len(f.cpus) && ev.Kind != event.KindSchedWaking && ev.Kind != event.KindSchedWakeup {
		f.cpus[ev.CPU].wakes.job = 0
	}
}

// wake joins a job to the ioctl out of which the signal of its fence wakes a
// thread. One that blocks in dma_fence_wait has a wait of its own.
func (f *fenceTracker) wake(ev *event.Event) {
	if ev.CPU < 0 || int(ev.CPU) >= len(f.cpus) {
		return
	}
	w := &f.cpus[ev.CPU].wakes
	tid, ok := ev.Int(event.FieldTargetTID)
	if w.job == 0 || !ok {
		return
	}
	t := f.e.ids.threads[int32(tid)]
	if t == nil || t.ended || t.ioctl == nil || t.wait != nil || t.ioctl.wokenBy == w.job {
		return
	}
	t.ioctl.wokenBy = w.job
	f.e.link(RuleJobWake, "jobs", w.job, "ioctls", t.ioctl.row.ID, Adjacent, f.e.fenceText(w.key))
}

// emitted is the fence that a driver last emitted on a thread.
type emitted struct {
	key      event.FenceKey
	full, ok bool
}

// see counts a fence as seen and takes the names that the event gives. The
// first names stand: after the signal newer kernels print placeholders.
func (f *fenceTracker) see(x *fence, ev *event.Event) {
	if x.id == 0 {
		f.e.seq.fence++
		x.id = f.e.seq.fence
	}
	if ev.Kind == event.KindFenceDestroy {
		return
	}
	if x.driver == "" {
		x.driver = ev.Str(event.FieldDriver)
	}
	if x.timeline == "" {
		x.timeline = ev.Str(event.FieldTimeline)
	}
	if x.driver != driverSched {
		f.sawHardware = true
	}
}

func (f *fenceTracker) setInit(x *fence, ev *event.Event, t *thread) {
	x.init = event.OptTime(ev.Time)
	if x.driver != driverSched {
		t.emitted, x.by = emitted{x.key, x.full, true}, t
	}
	if x.driver != driverSched && t.running != nil {
		f.e.job.hwInit(t, x)
		return
	}
	if !t.idle && (x.driver == driverSched || x.driver == "") {
		f.pair(x, t)
	}
}

func (f *fenceTracker) signalled(x *fence, ev *event.Event, t *thread, c *cpuState) {
	f.sawSignal = true
	if c != nil {
		c.signalled = event.OptTime(ev.Time)
	}
	if !x.signal.OK {
		x.signal = event.OptTime(ev.Time)
	}
	if c != nil && c.done != nil {
		f.e.job.signalAfterDone(c.done, x)
	}
	f.apart(c)
	if c != nil && x.driver != driverSched && x.role != roleFinished && x.role != roleScheduled {
		c.signal = f.ref(x)
	}
	if c != nil && x.jobID != 0 {
		c.wakes = waker{x.jobID, x.key}
	}
	if x.job != nil {
		f.e.job.fenceSignalled(x.job, x, t)
	}
}

// destroyed ends a fence's life.
func (f *fenceTracker) destroyed(x *fence) {
	if x.job != nil {
		f.e.job.fenceDestroyed(x.job, x)
	}
	f.remove(x)
}

func (f *fenceTracker) finish() {
	for x := f.oldest; x != nil; x = x.newer {
		f.give(x)
		if f.e.n >= f.e.o.BatchRows {
			f.e.flush()
		}
	}
}

// unblocked returns when something that waits for the fence can go on: when
// the job that it finishes was done, else when it signalled.
func (x *fence) unblocked() OptTime {
	if x.role == roleFinished && x.jobDone.OK {
		return x.jobDone
	}
	return x.signal
}
