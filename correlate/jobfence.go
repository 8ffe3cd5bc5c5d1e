package correlate

import "github.com/gpurec/gpurec/record/event"

// How a job is joined to its fences.

// takePair takes the fences that the queueing thread has just made for the job.
func (x *jobTracker) takePair(j *job, t *thread) {
	if t.pairedAfter != x.e.seq.loss {
		x.e.fence.dropPairs(t) // of a job whose queueing may be lost
	}
	at, n := -1, 0
	for i := range t.pairs {
		p := &t.pairs[i]
		if p.finished.job != nil || p.finished.dead || j.row.Ring != "" && p.finished.timeline != "" && p.finished.timeline != j.row.Ring {
			continue
		}
		if at < 0 {
			at = i
		}
		n++
	}
	if n == 0 {
		return
	}
	if n > 1 && !x.gang(t) {
		x.e.count(&anomalyFencePairAmbiguous)
		return
	}
	x.takePairAt(j, t, at, Adjacent)
}

func (x *jobTracker) takePairAt(j *job, t *thread, at int, c Confidence) {
	p := t.pairs[at]
	x.e.fence.ref(p.scheduled)
	x.e.fence.ref(p.finished)
	x.e.fence.dropPair(t, at)
	x.setScheduled(j, p.scheduled)
	x.setFinished(j, p.finished, c)
	x.e.fence.unref(p.scheduled)
	x.e.fence.unref(p.finished)
}

// takeNamedPair takes, of the fences that the queueing thread has just made,
// those that the queue event names: another thread's may have equal low halves.
func (x *jobTracker) takeNamedPair(j *job, ev *event.Event, t *thread) {
	k, ok := ev.Fence()
	if !ok || j.fin != nil {
		return
	}
	full := ev.Flags&event.FlagLow32 == 0
	for i := range t.pairs {
		p := &t.pairs[i]
		if p.finished.dead || p.finished.job != nil || !p.finished.fits(k, full) {
			continue
		}
		p.finished.learn(k, full)
		p.scheduled.learn(event.FenceKey{Context: k.Context - 1, Seqno: k.Seqno}, full)
		x.takePairAt(j, t, i, Exact)
		return
	}
}

// gang reports whether the pairs of a thread are those of one submission of
// several jobs: each on a context of its own, so that order decides.
func (x *jobTracker) gang(t *thread) bool {
	for i := range t.pairs {
		for k := range i {
			if t.pairs[i].finished.key.Context == t.pairs[k].finished.key.Context {
				return false
			}
		}
	}
	return t.ioctl != nil
}

// setFinished joins a job to its finished fence.
func (x *jobTracker) setFinished(j *job, f *fence, c Confidence) {
	if j.fin == f {
		if c == Exact {
			j.finConf = Exact
		}
		return
	}
	if j.fin != nil || f.job != nil && f.job != j || f.jobID != 0 && f.jobID != j.row.ID {
		x.e.count(&anomalyFenceMismatch)
		return
	}
	r := &j.row
	j.fin, j.finConf = x.e.fence.ref(f), c
	f.job, f.jobID, f.role = j, r.ID, roleFinished
	f.jobDone = r.DoneNS
	if f.signal.OK {
		r.FinishedNS = f.signal
	}
	if r.Ring == "" && f.timeline != "" {
		r.Ring, r.RingRule = f.timeline, ruleRingByTimeline
		x.number(j)
	}
	if j.sched == nil && !f.dead && (j.drv == nil || !j.drv.ownFence) {
		// The scheduled fence has the context before, and the same number.
		k := event.FenceKey{Context: f.key.Context - 1, Seqno: f.key.Seqno}
		if s := x.e.fence.find(k, f.full); s != nil && s.job == nil && s.jobID == 0 && (s.driver == driverSched || s.driver == "") {
			x.setScheduled(j, s)
		}
	}
}

func (x *jobTracker) setScheduled(j *job, f *fence) {
	if j.sched != nil || f.dead || f.job != nil && f.job != j {
		return
	}
	j.sched = x.e.fence.ref(f)
	f.job, f.jobID, f.role = j, j.row.ID, roleScheduled
}

// setHW joins a job to its hardware fence, whose driver tells the device
// where no event does, and the driver of the ioctl.
func (x *jobTracker) setHW(j *job, f *fence, c Confidence) {
	if j.hw == f || f.job != nil && f.job != j {
		return
	}
	if j.hw != nil {
		j.hw.job = nil
		x.e.fence.unref(j.hw)
	}
	j.hw, j.hwConf = x.e.fence.ref(f), c
	f.job, f.jobID, f.role = j, j.row.ID, roleHardware
	x.hwDriver(j, f)
}

// namedHW takes the hardware fence that an event names. Another one than before
// means that the job was handed to the hardware again.
func (x *jobTracker) namedHW(j *job, f *fence) {
	if j.hw == nil || j.hw == f {
		x.setHW(j, f, Exact)
		if j.hw == f {
			j.hwConf = Exact
		}
		return
	}
	x.hwAtDone(j, f)
}

// hwDriver learns from the driver of the hardware fence.
func (x *jobTracker) hwDriver(j *job, f *fence) {
	if f.driver == "" || f.driver == driverSched {
		return
	}
	if j.dev == nil {
		if d := x.e.ids.driverDevice(f.driver); d != nil {
			j.dev, j.row.DeviceRule = d, ruleDeviceByDriver
			x.place(j)
		}
	} else if j.dev.row.Driver == "" {
		x.e.ids.setDriver(j.dev, f.driver)
	} else if j.row.DeviceRule == ruleDeviceByContext && x.e.ids.driverDevice(f.driver) == j.dev {
		j.row.DeviceRule = ruleDeviceByDriver // its own fence says so too
	}
	if j.fd != nil {
		x.e.ioctl.resolve(j.fd, f.driver, j.dev)
	}
}

// hwInit takes the fence that a driver made right after a run on one thread.
func (x *jobTracker) hwInit(t *thread, f *fence) {
	j := t.running
	t.running = nil
	if !j.given && j.ranAfter == x.e.seq.loss { // else another's run may be lost in between
		x.setHW(j, f, Adjacent)
	}
}

// hwAtDone takes the hardware fence that signalled just before a job's done,
// in one call stack. If it is not the one made at the run, the job was handed
// to the hardware again in between.
func (x *jobTracker) hwAtDone(j *job, f *fence) {
	if f.job != nil && f.job != j || f.jobID != 0 && f.jobID != j.row.ID || f == j.hw {
		return
	}
	if j.hw == nil {
		x.setHW(j, f, Adjacent)
		return
	}
	if f.key.Context == j.hw.key.Context && f.init.OK && !before(f.init, timeOr(j.hw.init)) {
		x.rerun(j, f.init, f)
		x.setHW(j, f, Adjacent)
	}
}

// signalAfterDone takes the fence that signalled right after a job's done on
// that CPU: its finished fence.
func (x *jobTracker) signalAfterDone(j *job, f *fence) {
	if j.given || j.fin != nil || f.job != nil || f.jobID != 0 || f.driver != driverSched && f.driver != "" {
		return
	}
	if j.row.Ring != "" && f.timeline != "" && f.timeline != j.row.Ring {
		return
	}
	x.setFinished(j, f, Adjacent)
	x.place(j)
}

// fenceSignalled tells a job that one of its fences signalled.
func (x *jobTracker) fenceSignalled(j *job, f *fence, t *thread) {
	switch f {
	case j.fin:
		if j.row.FinishedNS.OK {
			return
		}
		j.row.FinishedNS = f.signal
		if j.w.noDone {
			x.inferDone(j)
		}
		x.end(j)
		x.drain()
	case j.hw:
		j.hwSignal = f.signal
		x.hwFailed(j, t)
		if j.drv != nil && j.drv.hwDone && !j.queued && !j.ran && !j.done {
			x.setDone(j, f.signal, Inferred)
		}
	case j.sched:
		if t.running == j {
			t.running = nil
		}
	}
}

// fenceDestroyed tells a job that one of its fences is gone.
func (x *jobTracker) fenceDestroyed(j *job, f *fence) {
	if f == j.fin {
		x.end(j)
	}
}
