package correlate

import "github.com/gpurec/gpurec/record/event"

// What a job misses, and what is known about why.

// notes says what the job misses, and what is known about why.
func (x *jobTracker) notes(j *job) {
	r := &j.row
	x.noteQueue(j)
	x.noteRun(j)
	x.noteDone(j)
	if j.fenceless || j.drv != nil && j.drv.noFence {
		for _, link := range []string{missFence, missFinished, missHWFence} {
			if link == missHWFence && j.drv.ownFence {
				continue // never expected
			}
			x.note(j, link, NotPossible, event.NoTime, event.NoTime)
		}
		x.noteDevice(j)
		return
	}
	if j.fin == nil { // the scheduler makes it in the ioctl, before the queueing
		x.note(j, missFence, NotRecorded, j.since, firstTime(r.QueuedNS, r.RunNS, r.DoneNS))
	}
	if !r.FinishedNS.OK {
		from := firstTime(r.DoneNS, r.RunNS, r.QueuedNS)
		if j.doneConf == Inferred && j.doneByAddress() { // it may be another job's: its own is in the loss, and the signal after it
			from = firstTime(r.RunNS, r.QueuedNS)
		}
		x.note(j, missFinished, x.tail(j, x.unsignalled(j)), from, event.NoTime)
	}
	if j.hw == nil && (j.ran || j.bridgeRun) && (j.drv == nil || !j.drv.ownFence) {
		x.note(j, missHWFence, NotRecorded, timeOr(r.RunNS), timeOr(r.DoneNS))
	}
	x.noteDevice(j)
}

// unsignalled is the reason why the finished fence of a job that is done was not
// seen to signal. It signals next in the call stack of the done; if the log
// holds signals, and none on that CPU since, it ended before.
func (x *jobTracker) unsignalled(j *job) Reason {
	c := x.e.fence.cpu(j.doneCPU)
	if !x.over || c == nil || !j.row.DoneNS.OK || j.fin == nil || j.fin.dead || !x.e.fence.sawSignal {
		return NotRecorded
	}
	if c.signalled.OK && c.signalled.V >= j.row.DoneNS.V {
		return NotRecorded
	}
	return AfterStop
}

func (x *jobTracker) noteDevice(j *job) {
	if j.dev == nil {
		x.note(j, missDevice, NotRecorded, event.NoTime, event.NoTime)
	}
}

func (x *jobTracker) noteQueue(j *job) {
	r := &j.row
	if j.queued || j.bridgeQueue {
		if r.IoctlID != 0 {
			return
		}
		if r.Owner == "kernel" {
			x.e.unm.now("jobs", r.ID, missIoctl, KernelInternal)
		} else {
			x.note(j, missIoctl, NotRecorded, timeOr(r.QueuedNS), timeOr(r.QueuedNS))
		}
		return
	}
	if j.drv != nil && j.drv.noQueue {
		x.e.unm.now("jobs", r.ID, missQueue, NotPossible)
		return
	}
	n := note{table: "jobs", id: r.ID, link: missQueue, reason: NotRecorded, from: event.NoTime, to: timeOr(r.RunNS)}
	if !n.to.Known() {
		n.to = timeOr(r.DoneNS)
	}
	switch {
	case j.evicted:
		n.reason = Evicted
	case r.SchedJobID.OK && j.ring != nil:
		n.proof, n.ring, n.val = proofRing, j.ring, r.SchedJobID.V
	case j.fin != nil:
		n.proof, n.ctx, n.val = proofFence, j.fin.key.Context, j.fin.key.Seqno
	}
	x.e.unm.add(n)
}

func (x *jobTracker) noteRun(j *job) {
	r := &j.row
	if j.ran || j.bridgeRun {
		return
	}
	to := timeOr(r.DoneNS)
	if !to.Known() {
		to = timeOr(r.FinishedNS)
	}
	x.note(j, missRun, x.tail(j, NotRecorded), timeOr(r.QueuedNS), to)
}

func (x *jobTracker) noteDone(j *job) {
	if j.done {
		return
	}
	r := &j.row
	from := timeOr(r.RunNS)
	if !from.Known() {
		from = timeOr(r.QueuedNS)
	}
	x.note(j, missDone, x.tail(j, NotRecorded), from, timeOr(r.FinishedNS))
}

// tail is the reason why the rest of a job's life is not there.
func (x *jobTracker) tail(j *job, other Reason) Reason {
	switch {
	case j.evicted:
		return Evicted
	case j.row.EndKind == jobKilled:
		return Killed
	case j.row.EndKind == jobOpen:
		return AfterStop
	}
	return other
}

func (x *jobTracker) note(j *job, link string, reason Reason, from, to event.Time) {
	n := note{table: "jobs", id: j.row.ID, link: link, reason: reason, from: from, to: to}
	if reason != NotRecorded && reason != AfterStop || !from.Known() && !to.Known() {
		n.proof = proofNever
	}
	x.e.unm.add(n)
}
