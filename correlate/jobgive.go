package correlate

import (
	"github.com/gpurec/gpurec/record/event"
)

// The ends of jobs.
const (
	jobDone   = "done"
	jobOpen   = "open"
	jobKilled = "killed"
	jobLost   = "lost"
)

// drain gives the jobs that ended and that nothing can change any more: their
// finished fence signalled, and the instant of their last event is over, so
// that an event of that same instant can still be theirs.
func (x *jobTracker) drain() {
	for x.head < len(x.ending) {
		j := x.ending[x.head].j
		if x.ending[x.head].waits() {
			if !j.done && !j.w.sawDone && !j.w.noDone && j.endsByFence() && j.row.FinishedNS.OK {
				// No done event so far: is this one lost, or are there none?
				if len(x.ending)-x.head <= maxEnding {
					return
				}
				j.w.noDone = true
			}
			if j.w.noDone {
				x.inferDone(j)
			}
			over := j.row.FinishedNS.OK && x.e.now > j.row.FinishedNS.V && (!j.row.DoneNS.OK || x.e.now > j.row.DoneNS.V)
			if j.drv != nil && j.drv.late && j.drv.sawDone && !j.drvDone {
				over = false // the driver's word on its end is still to come
			}
			if !over && len(x.ending)-x.head <= maxEnding {
				return
			}
			if j.awaitsCall() && len(x.ending)-x.head <= maxAwaiting {
				return
			}
			if x.looksKilled(j) || j.doneByAddress() && x.e.fence.sawSignal {
				x.doubt(j)
			} else {
				x.give(j)
			}
		}
		x.ending[x.head] = endingJob{}
		x.head++
		if x.head == maxEnding {
			x.ending = append(x.ending[:0], x.ending[x.head:]...)
			x.head = 0
		}
	}
}

// looksKilled reports whether a job's fence signalled without its run: it was
// killed, or its run and end are in a loss that is told later.
func (x *jobTracker) looksKilled(j *job) bool {
	return j.row.FinishedNS.OK && !j.done && !j.ran && !j.bridgeRun && j.w.sawRun && (j.queued || j.bridgeQueue)
}

// doubt holds a job, whose end a loss would put in doubt, until all losses are
// known, or too many wait.
func (x *jobTracker) doubt(j *job) {
	if len(x.doubtful) == maxDoubtful {
		if x.doubtful[0].waits() {
			x.give(x.doubtful[0].j)
		}
		x.doubtful = append(x.doubtful[:0], x.doubtful[1:]...)
	}
	x.doubtful = append(x.doubtful, endingJob{j, j.row.ID})
}

// awaitsCall reports whether the ioctl that queued the job may still turn out
// to lie in a call: one that comes whole comes at its end, and a job may be
// done before that.
func (j *job) awaitsCall() bool {
	i := j.io.i
	return i != nil && i.row.ID == j.io.id && !i.released && j.row.APICallID == 0
}

// inferDone takes the signal of a job's fence for its end where done events
// are not recorded: of its hardware fence, else of its finished fence.
func (x *jobTracker) inferDone(j *job) {
	if j.done || !j.row.FinishedNS.OK || !j.endsByFence() {
		return
	}
	at := j.row.FinishedNS
	if j.hwSignal.OK {
		at = j.hwSignal
	}
	x.setDone(j, at, Inferred)
}

// endsByFence reports whether the signal of a job's fence can be its end: if it
// ran, or if the fence is the hardware's.
func (j *job) endsByFence() bool {
	return j.ran || j.bridgeRun || j.drv != nil && j.drv.ownFence && !j.drv.sawRun
}

func (x *jobTracker) finish() {
	x.over = true
	x.sched.noDone = !x.sched.sawDone
	for i := range x.drivers {
		x.drivers[i].noDone = !x.drivers[i].sawDone
	}
	for _, w := range x.ending[x.head:] {
		if j := w.j; w.waits() {
			if j.w.noDone {
				x.inferDone(j)
			}
			x.give(j)
		}
		x.e.flushFull()
	}
	for x.oldest != nil {
		x.give(x.oldest)
		x.e.flushFull()
	}
	x.ending = nil
}

// flushFull gives rows out where one step may make very many.
func (e *engine) flushFull() {
	if e.n >= e.o.BatchRows {
		e.flush()
	}
}

// give gives a job's row, its links and its notes.
func (x *jobTracker) give(j *job) {
	e, r := x.e, &j.row
	j.given = true
	x.forget(j)
	x.unlink(j)
	x.settleDevice(j)
	x.settleDriver(j)
	r.EndKind = x.endKind(j)
	x.settleFate(j)
	if j.fin != nil {
		r.FenceContext, r.FenceSeqno = event.Some(j.fin.key.Context), event.Some(j.fin.key.Seqno)
		r.Low32 = !j.fin.full
	}
	if j.hw != nil {
		r.HWFenceContext, r.HWFenceSeqno = event.Some(j.hw.key.Context), event.Some(j.hw.key.Seqno)
	}
	if j.row.DoneNS.OK && j.row.RunNS.OK && r.RunNS.V <= r.DoneNS.V {
		r.DeviceStartNS = r.RunNS
		if j.prevDone.OK && j.prevDone.V > r.RunNS.V {
			r.DeviceStartNS = j.prevDone
		}
	}
	r.QueueDelayNS = sub(r.RunNS, r.QueuedNS)
	r.HWQueueNS = sub(r.DeviceStartNS, r.RunNS)
	r.SubmitNS = sub(r.QueuedNS, j.callStart)
	r.DeviceTimeNS = sub(r.DoneNS, r.DeviceStartNS)
	r.DepWaitNS = j.depWait()
	x.links(j)
	x.depRows(j)
	x.notes(j)
	e.rows.Jobs = append(e.rows.Jobs, *r)
	e.n++
	x.letGo(j)
}

// settleDevice looks for the device of a job that no event told.
func (x *jobTracker) settleDevice(j *job) {
	r := &j.row
	if j.dev == nil && j.fin != nil {
		if d := x.ctxDevice[j.fin.key.Context]; d != nil {
			j.dev, r.DeviceRule = d, ruleDeviceByContext
		}
	}
	if j.dev == nil && j.ring != nil && j.ring.dev != nil && j.ring.alias {
		j.dev, r.DeviceRule = j.ring.dev, ruleDeviceByRing
	}
	if j.dev != nil {
		r.DeviceID = j.dev.row.ID
		x.place(j)
	}
}

// letGo ends what refers to the job; a gap may still look at it.
func (x *jobTracker) letGo(j *job) {
	j.out = true // before that a gap that settles may not take it back
	x.e.ring.leave(j)
	for _, f := range []*fence{j.fin, j.hw, j.sched} {
		if f != nil && f.job == j {
			f.job = nil
		}
	}
	x.recycle(j)
}

// recycle takes a job back once its row is given and no gap needs it.
func (x *jobTracker) recycle(j *job) {
	if !j.out || j.refs > 0 || j.inQueue {
		return
	}
	x.e.fence.unref(j.fin)
	x.e.fence.unref(j.hw)
	x.e.fence.unref(j.sched)
	for i := range j.deps {
		x.e.fence.unref(j.deps[i].fence)
	}
	x.forgetThread(j)
	x.deps -= len(j.deps)
	x.text -= j.text
	if x.over { // rows pile up now: nothing else is to stay
		x.pool.live--
		*j = job{}
		return
	}
	clear(j.deps)
	deps := j.deps[:0]
	x.pool.put(j)
	if cap(deps) <= 4 {
		j.deps = deps
	}
}

// forgetThread drops the marks that adjacency may still hold.
func (x *jobTracker) forgetThread(j *job) {
	if c := x.e.fence.cpu(j.doneCPU); c != nil && c.done == j {
		c.done = nil
	}
	if j.runner != nil && j.runner.running == j {
		j.runner.running = nil
	}
}

func (x *jobTracker) endKind(j *job) string {
	switch {
	case j.row.DoneNS.OK || j.done:
		return jobDone
	case x.looksKilled(j) && x.e.loss.within(timeOr(j.row.QueuedNS), j.row.FinishedNS.V) == 0:
		return jobKilled
	case j.row.FinishedNS.OK || j.reused || j.evicted || j.retired || j.fin != nil && j.fin.dead:
		return jobLost
	}
	return jobOpen
}

func (x *jobTracker) links(j *job) {
	e, r := x.e, &j.row
	key := ""
	if j.fin != nil {
		key = e.fenceText(j.fin.key)
	} else if j.drv != nil {
		key = e.driverName(j)
	} else if j.hasPtr {
		key = e.hexText("fence ", j.ptr)
	} else if r.SchedJobID.OK {
		key = e.intText(r.Ring+" #", int64(r.SchedJobID.V))
	}
	if r.QueuedNS.OK && r.RunNS.OK && (j.drv == nil || !j.drv.direct) {
		e.link(RuleJobRun, "jobs", r.ID, "jobs", r.ID, Exact, key)
	}
	if j.doneByAddress() && e.loss.within(firstTime(r.RunNS, r.QueuedNS), r.DoneNS.V) != 0 {
		j.doneConf = Inferred
	}
	if (r.RunNS.OK || r.QueuedNS.OK) && j.done {
		c := j.doneConf
		if r.Fate == fateDoubtful {
			c = Inferred
		}
		e.link(RuleJobDone, "jobs", r.ID, "jobs", r.ID, c, key)
	}
	if j.fin != nil {
		e.link(RuleJobFence, "jobs", r.ID, "fences", j.fin.id, j.finConf, key)
	}
	if j.sched != nil && j.sched.id != 0 {
		e.link(RuleJobScheduled, "jobs", r.ID, "fences", j.sched.id, Adjacent, e.fenceText(j.sched.key))
	}
	if j.hw != nil && j.hw.id != 0 {
		e.link(RuleJobHWFence, "jobs", r.ID, "fences", j.hw.id, j.hwConf, e.fenceText(j.hw.key))
	}
}

// doneByAddress reports whether all that joins a job's done to it is an address
// that another job may have taken. A finished fence that was seen to signal
// says that it is the job's own.
func (j *job) doneByAddress() bool {
	r := &j.row
	return j.hasPtr && !j.doneNamed && r.DoneNS.OK && !r.FinishedNS.OK && firstTime(r.RunNS, r.QueuedNS).Known()
}

// firstTime is the first of some times that is known.
func firstTime(times ...OptTime) event.Time {
	for _, t := range times {
		if t.OK {
			return t.V
		}
	}
	return event.NoTime
}

// place puts a job on its ring as soon as the ring, and later the device, is known.
func (x *jobTracker) place(j *job) {
	if j.dev == nil && j.fin != nil {
		if d := x.ctxDevice[j.fin.key.Context]; d != nil {
			j.dev, j.row.DeviceRule = d, ruleDeviceByContext
		}
	}
	if j.dev != nil && j.fin != nil && j.row.DeviceRule != ruleDeviceByContext && len(x.ctxDevice) < x.e.caps.Contexts {
		x.ctxDevice[j.fin.key.Context] = j.dev
	}
	x.e.ring.place(j)
}
