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
	doneByDriver bool      // its done, before the scheduler did
	retired      bool      // the driver let go of it
	fenceless    bool      // it has no fence
	numbered     bool      // it stood under its number on the ring
	beside       endingJob // the job of another device that had the number before
	failedBy     *thread   // that failed its hardware fence in a reset
	failedFirst  bool      // before those of all others
	fateReset    ID        // the reset that did it
	onEngine     bool      // its number on the engine is noted
}

// endingJob refers to a job that ended; id tells whether it still is that one.
type endingJob struct {
	j  *job
	id ID
}

// waits reports whether the job's row is not given yet.
func (w endingJob) waits() bool { return w.j != nil && w.j.row.ID == w.id && !w.j.given }

// ringID is a job's number on a ring: of a device, and of whichever device has
// the ring, "", for events that name none.
type ringID struct {
	ring   string
	id     uint64
	device string
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

func before(a OptTime, b event.Time) bool { return a.OK && b.Known() && a.V < b }

func (x *jobTracker) sameNumber(j *job, ev *event.Event) bool {
	id, ok := ev.Uint(event.FieldSchedJobID)
	return !ok || !j.row.SchedJobID.OK || j.row.SchedJobID.V == id
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
