package correlate

import "github.com/gpurec/gpurec/record/event"

// job is a scheduler job from its first event to its row.
//
// Life: by the generation of its pointer (older kernels: the address of the
// finished fence, reused at once), or by context:seqno (6.17 and later). What
// joins the two is in jobkey.go.
type job struct {
	row    Job
	ring   *ring
	dev    *device
	ptr    uint64
	hasPtr bool
	t      *thread // that queued it
	runner *thread // that ran it, while its hardware fence may come

	ranAfter ID // losses told when it ran

	fd    *fdState
	io    heldIoctl  // that queued it, if a call may still adopt it
	since event.Time // when that began

	fin, sched, hw  *fence
	finConf, hwConf Confidence
	doneConf        Confidence
	hwSignal        OptTime
	doneCPU         int32 // of the scheduler's done event; -1: not known

	queued, ran, done  bool // their events were seen
	bridgeQueue        bool // only the second witness told so far
	bridgeRun          bool
	bridgeRuns         int64
	closing, given     bool
	out                bool // given, and nothing of its row is needed any more
	reused, evicted    bool
	doneNamed          bool // the done event has the fence's context:seqno
	accounted          bool
	prevDone           OptTime
	callStart          OptTime // of the call that api_call_id names
	deps               []dep
	submitterWas       string
	refs               int // gaps that still look at it
	qprev, qnext       *job
	inQueue, inBacklog bool
	older, newer       *job

	text         int        // bytes of its texts
	w            *testimony // who tells of its run and done
	drv          *driverState
	key          driverKey // of drv
	keyHashed    bool
	drvRun       bool // the driver told its run
	drvDone      bool
	doneByDriver bool    // its done, before the scheduler did
	retired      bool    // the driver let go of it
	fenceless    bool    // it has no fence
	numbered     bool    // it stood under its number on the ring
	failedBy     *thread // that failed its hardware fence in a reset
	failedFirst  bool    // before those of all others
	fateReset    ID      // the reset that did it
	onEngine     bool    // its number on the engine is noted
}

// endingJob refers to a job that ended; id tells whether it still is that one.
type endingJob struct {
	j  *job
	id ID
}

// waits reports whether the job's row is not given yet.
func (w endingJob) waits() bool { return w.j != nil && w.j.row.ID == w.id && !w.j.given }

type ringID struct {
	ring string
	id   uint64
}

type firstSeq struct {
	seqno uint64
	at    event.Time
}

type jobTracker struct {
	e          *engine
	pool       pool[job]
	deps       int // of jobs that are held
	text       int // bytes of the texts of jobs that are held
	oldest     *job
	newest     *job
	count      int
	byPtr      map[uint64]*job
	byID       map[ringID]*job
	firstSeqno map[uint64]firstSeq // first queued number of a finished context
	ctxDevice  map[uint64]*device  // of a finished context
	doubtful   []endingJob         // whose end a loss would put in doubt, until losses are known
	ending     []endingJob         // ended, in order; given when nothing can change them
	head       int
	sched      testimony // the scheduler's events
	over       bool      // the log has ended

	drivers  []driverState
	byDriver map[driverKey]*job
	ptrFence map[uint64]event.FenceKey // hardware fences by address
	queues   map[driverLine]string     // names of rings that drivers number
}

// Bounds of the job tracker.
const (
	maxEnding     = 256         // ended jobs that wait for their finished fence
	maxDoubtful   = 1024        // jobs whose end a loss would put in doubt
	maxAwaiting   = 4096        // ended jobs that wait for the call around their ioctl
	firstKernelID = 1<<64 - 256 // client ids from here on are the driver's own
)

func (x *jobTracker) init(e *engine) {
	x.e = e
	x.byPtr = map[uint64]*job{}
	x.byID = map[ringID]*job{}
	x.firstSeqno = map[uint64]firstSeq{}
	x.ctxDevice = map[uint64]*device{}
	x.initDrivers()
}

func (x *jobTracker) event(ev *event.Event, t *thread) {
	x.makeRoom()
	c := x.e.fence.cpu(ev.CPU)
	if d := x.driver(ev); d != nil && x.driverEvent(ev, t, c, d) {
		x.drain()
		return
	}
	switch ev.Kind {
	case event.KindJobQueue:
		x.e.fence.apart(c)
		x.queue(ev, t)
	case event.KindJobDep:
		x.e.fence.apart(c)
		x.dep(ev, t)
	case event.KindJobRun:
		x.e.fence.apart(c)
		x.run(ev, t)
	case event.KindJobDone:
		x.doneEvent(ev, t, c)
	}
	x.drain()
}

// queue takes the event of a job that entered its ring's software queue.
func (x *jobTracker) queue(ev *event.Event, t *thread) {
	bridge := ev.Bool(event.FieldBridge)
	j := x.queueTarget(ev, bridge)
	if n := x.takeNative(ev, t); j == nil && !bridge {
		j = n
	}
	if j == nil {
		j = x.add(ev)
	}
	x.namedRing(j, ev, bridge)
	x.takeNamedPair(j, ev, t)
	x.absorb(j, ev, bridge)
	first := !j.queued && !j.bridgeQueue
	if bridge {
		j.bridgeQueue = true
	} else {
		j.queued = true
	}
	if first || !bridge {
		j.row.QueuedNS = event.OptTime(ev.Time)
	}
	if first {
		x.owner(j, t)
		x.origin(j, t)
	}
	if j.fin == nil {
		x.takePair(j, t)
	}
	x.place(j)
	if j.fin != nil {
		x.noteFirst(j.fin.key, ev.Time)
	}
	if first {
		x.e.ring.queue(j)
	}
}

// queueTarget returns the job that a queue event belongs to, nil for a new one.
func (x *jobTracker) queueTarget(ev *event.Event, bridge bool) *job {
	j := x.lookup(ev)
	if j == nil {
		return nil
	}
	known := j.queued || j.bridgeQueue
	switch {
	case bridge && !j.bridgeQueue, !bridge && j.bridgeQueue && !j.queued:
		return j // the other witness
	case !known && x.sameNumber(j, ev) && !before(j.row.RunNS, ev.Time) && !before(j.row.DoneNS, ev.Time):
		return j // events of one instant changed places
	case !j.hasPtr && !j.done:
		return j // context:seqno cannot mean another job
	}
	x.closeReused(j)
	return nil
}

func before(a OptTime, b event.Time) bool { return a.OK && b.Known() && a.V < b }

func (x *jobTracker) sameNumber(j *job, ev *event.Event) bool {
	id, ok := ev.Uint(event.FieldSchedJobID)
	return !ok || !j.row.SchedJobID.OK || j.row.SchedJobID.V == id
}

// owner fills whose job it is: the thread that queued it.
func (x *jobTracker) owner(j *job, t *thread) {
	r := &j.row
	r.Owner = "unknown"
	switch {
	case r.ClientID.OK && r.ClientID.V >= firstKernelID, t.kernel():
		r.Owner = "kernel"
	case !t.idle && t.proc != nil:
		r.Owner = "user"
	}
	if t == x.e.ids.none {
		return
	}
	r.ProcessID, r.PID, r.TID = t.processID(), t.pid, t.tid
	r.Comm = t.row.Name
	j.t = t
}

// origin joins the job to the ioctl and the call that its thread is in.
func (x *jobTracker) origin(j *job, t *thread) {
	e, r := x.e, &j.row
	if i := t.ioctl; i != nil {
		r.IoctlID, r.APICallID = i.row.ID, i.row.APICallID
		if i.jobs < len(i.queued) {
			i.queued[i.jobs] = endingJob{j, r.ID}
			j.io = heldIoctl{i, i.row.ID}
		}
		i.jobs++
		j.fd, j.since = i.fd, timeOr(i.row.StartNS)
		e.link(RuleIoctlJob, "ioctls", i.row.ID, "jobs", r.ID, Nested, t.keyText())
	}
	if len(t.calls) == 0 {
		return
	}
	c := t.calls[len(t.calls)-1]
	if r.IoctlID == 0 {
		r.APICallID = c.row.ID
		e.link(RuleAPIJob, "api_calls", c.row.ID, "jobs", r.ID, Nested, t.keyText())
	}
	for _, o := range t.calls {
		if o.row.ID == r.APICallID {
			j.callStart = o.row.StartNS
		}
	}
	for i := len(t.calls) - 1; i >= 0 && r.KernelName == ""; i-- {
		r.KernelName = t.calls[i].row.KernelName
	}
	c.jobs++
}

// noteFirst remembers the first number queued on a context.
func (x *jobTracker) noteFirst(k event.FenceKey, at event.Time) {
	if _, ok := x.firstSeqno[k.Context]; !ok && len(x.firstSeqno) < x.e.caps.Contexts {
		x.firstSeqno[k.Context] = firstSeq{k.Seqno, at}
	}
}

// run takes the event of a job that is handed to the hardware.
func (x *jobTracker) run(ev *event.Event, t *thread) {
	x.sched.sawRun = true
	bridge := ev.Bool(event.FieldBridge)
	j := x.lookup(ev)
	if j != nil && j.hasPtr && !x.sameRun(j, ev) {
		x.closeReused(j)
		j = nil
	}
	if j == nil {
		if x.vague(ev, t) {
			return
		}
		j = x.add(ev)
	}
	x.absorb(j, ev, bridge)
	x.place(j)
	if bridge {
		x.bridgeRan(j, ev)
		return
	}
	if !t.idle {
		t.running, t.called = nil, endingJob{j, j.row.ID}
		if j.hw == nil {
			t.running, j.runner, j.ranAfter = j, t, x.e.seq.loss
		}
	}
	if j.ran {
		x.rerun(j, event.OptTime(ev.Time), nil)
		return
	}
	j.ran = true
	if !j.bridgeRun {
		j.row.Runs++
	}
	x.setRun(j, ev.Time)
}

func (x *jobTracker) setRun(j *job, at event.Time) {
	j.row.RunNS = event.OptTime(at)
	x.e.ring.run(j)
}

func (x *jobTracker) bridgeRan(j *job, ev *event.Event) {
	j.bridgeRuns++
	if j.bridgeRuns > 1 && j.bridgeRuns > j.row.Runs {
		x.rerun(j, event.OptTime(ev.Time), nil)
		return
	}
	if !j.ran && !j.bridgeRun {
		j.bridgeRun = true
		j.row.Runs++
		x.setRun(j, ev.Time)
	}
}

// sameRun reports whether a run event can be of the job that holds its pointer now.
func (x *jobTracker) sameRun(j *job, ev *event.Event) bool {
	if !x.sameNumber(j, ev) {
		return false
	}
	return !j.done || !before(j.row.DoneNS, ev.Time)
}

// rerun counts a second hand-over to the hardware, which only a reset explains.
func (x *jobTracker) rerun(j *job, at OptTime, hw *fence) {
	j.row.Runs++
	x.e.misc.inferredReset(j, at, hw)
}

// doneEvent takes the event that the hardware finished a job.
func (x *jobTracker) doneEvent(ev *event.Event, t *thread, c *cpuState) {
	x.sched.sawDone, x.sched.noDone = true, false
	j := x.lookup(ev)
	_, named := ev.Fence()
	if j != nil && (j.done && !j.doneByDriver || !named && c != nil && j.endOfAnother(c.signal)) {
		x.closeReused(j)
		j = nil
	}
	if j == nil && x.vague(ev, t) {
		x.e.fence.apart(c)
		return
	}
	if j == nil {
		j = x.add(ev)
	}
	x.absorb(j, ev, false)
	x.place(j)
	var hw *fence
	if c != nil && c.signal != nil {
		hw = x.e.fence.ref(c.signal)
	}
	x.e.fence.apart(c)
	if hw != nil {
		x.hwAtDone(j, hw)
		x.e.fence.unref(hw)
	}
	x.endedByReset(j, t)
	if j.doneByDriver {
		j.doneByDriver = false // both told: the first one's time stands
	} else {
		x.setDone(j, event.OptTime(ev.Time), Exact)
	}
	j.doneNamed = named
	j.doneCPU = ev.CPU
	if c != nil {
		c.done = j
	}
	if t.running == j {
		t.running = nil
	}
}

// endOfAnother reports whether a done that named the job's address alone is of
// another job that took it: the hardware fence that signalled right before is
// not the job's, whose own has not signalled.
func (j *job) endOfAnother(hw *fence) bool {
	return hw != nil && j.hw != nil && j.hw != hw && !j.hw.signal.OK && j.hw.key.Context == hw.key.Context
}

func (x *jobTracker) setDone(j *job, at OptTime, c Confidence) {
	j.done = true
	j.row.DoneNS = at
	j.doneConf = c
	if j.fin != nil {
		j.fin.jobDone = at
	}
	x.e.ring.done(j)
	x.end(j)
}

// end puts a job at the end of those that ended.
func (x *jobTracker) end(j *job) {
	if j.closing || j.given {
		return
	}
	j.closing = true
	x.e.ring.over(j)
	x.ending = append(x.ending, endingJob{j, j.row.ID})
}

// closeReused ends a job whose pointer begins a new life.
func (x *jobTracker) closeReused(j *job) {
	if !j.done && !j.row.FinishedNS.OK {
		x.e.count(&anomalyPointerReused)
		j.reused = true
	}
	x.forget(j)
	x.end(j)
}

// add begins a job.
func (x *jobTracker) add(ev *event.Event) *job {
	for x.count >= x.e.caps.Jobs {
		x.evict()
	}
	x.e.seq.job++
	j := x.pool.get()
	j.row.ID = x.e.seq.job
	j.w, j.since, j.doneCPU = &x.sched, event.NoTime, -1
	j.row.Owner = "unknown"
	j.older = x.newest
	if x.newest != nil {
		x.newest.newer = j
	} else {
		x.oldest = j
	}
	x.newest = j
	x.count++
	return j
}

// evict gives the oldest job, as it is.
func (x *jobTracker) evict() {
	x.e.count(&anomalyEvicted)
	o := x.oldest
	o.evicted = true
	x.give(o)
}

// makeRoom keeps to the caps of what jobs hold, and of jobs that are given and
// kept for idle gaps.
func (x *jobTracker) makeRoom() {
	c := &x.e.caps
	if x.pool.live-x.count > c.KeptJobs {
		x.e.ring.letGo()
	}
	if (x.deps > c.Deps || x.text > c.Text) && x.oldest != nil {
		if x.pool.live-x.count > c.KeptJobs/4 {
			x.e.ring.letGo()
		}
		x.evict()
	}
}

// trim gives the oldest jobs beyond the cap.
func (x *jobTracker) trim() {
	for x.count > x.e.caps.Jobs {
		x.evict()
		x.e.flushFull()
	}
	x.makeRoom()
}

// unlink takes a job off the list of those not given.
func (x *jobTracker) unlink(j *job) {
	if j.older != nil {
		j.older.newer = j.newer
	} else {
		x.oldest = j.newer
	}
	if j.newer != nil {
		j.newer.older = j.older
	} else {
		x.newest = j.older
	}
	j.older, j.newer = nil, nil
	x.count--
}
