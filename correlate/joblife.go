package correlate

import "github.com/gpurec/gpurec/record/event"

// What the scheduler's events do to a job.

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
