package correlate

import "github.com/gpurec/gpurec/record/event"

// How a job is found, and how its pointer, its context:seqno and its number
// on the ring are joined.

// lookup returns the job that an event names: by context:seqno, else by
// pointer, else by its number on the ring.
func (x *jobTracker) lookup(ev *event.Event) *job {
	if j := x.byFence(ev); j != nil {
		return j
	}
	if p, ok := pointer(ev); ok {
		if j := x.byPtr[p]; j != nil {
			if k, ok := ev.Fence(); ok && j.fin != nil && !j.fin.fits(k, ev.Flags&event.FlagLow32 == 0) {
				x.closeReused(j) // the address has come to another fence
				return nil
			}
			return j
		}
		if !ev.Bool(event.FieldBridge) && ev.Kind == event.KindJobQueue {
			// amdgpu_cs_ioctl came just before and has no pointer.
			if j := x.byNumber(ev, ""); j != nil && j.bridgeQueue && !j.queued && !j.hasPtr {
				return j
			}
			return nil
		}
	}
	if _, ok := ev.Fence(); ok && !ev.Bool(event.FieldBridge) {
		return nil // a key of its own that no job has
	}
	j := x.byNumber(ev, "")
	if j != nil && ev.Kind == event.KindJobQueue && (j.done || j.queued && !ev.Bool(event.FieldBridge)) {
		return nil
	}
	return j
}

// byFence finds the job whose finished fence an event names. Of several that
// fit low halves it is the one of the event's number, if the event has one.
func (x *jobTracker) byFence(ev *event.Event) *job {
	k, ok := ev.Fence()
	if !ok {
		return nil
	}
	full := ev.Flags&event.FlagLow32 == 0
	if f := x.e.fence.find(k, full); f != nil || full {
		if f != nil && f.job != nil && f.role == roleFinished {
			return f.job
		}
		return nil
	}
	var found *job
	for f := x.e.fence.index[lowKey(k)]; f != nil; f = f.next {
		if f.job == nil || f.role != roleFinished || !f.fits(k, false) || !x.sameNumber(f.job, ev) {
			continue
		}
		if found != nil {
			return nil
		}
		found = f.job
	}
	return found
}

// vague reports whether an event that begins no job names its job by low
// halves alone, which several fit. It is left out then.
func (x *jobTracker) vague(ev *event.Event, t *thread) bool {
	k, ok := ev.Fence()
	if !ok || ev.Flags&event.FlagLow32 == 0 || !x.e.fence.ambiguous(k) {
		return false
	}
	if _, ok := pointer(ev); ok {
		return false
	}
	if _, ok := ev.Uint(event.FieldSchedJobID); ok {
		return false
	}
	x.e.count(&anomalyFenceAmbiguous)
	x.e.misc.other(ev, t)
	return true
}

// named returns the fence that an event of job j names, nil if there is no
// telling which one low halves mean.
func (x *jobTracker) named(j *job, k event.FenceKey, full bool) *fence {
	if f := j.fin; f != nil && !f.dead && f.fits(k, full) {
		f.learn(k, full)
		return f
	}
	return x.e.fence.get(k, full)
}

// byNumber finds an open job by (ring, number); ring may stand for an empty one.
func (x *jobTracker) byNumber(ev *event.Event, ring string) *job {
	id, ok := ev.Uint(event.FieldSchedJobID)
	if !ok {
		return nil
	}
	if s := ev.Str(event.FieldRing); s != "" {
		ring = s
	}
	j := x.byID[ringID{ring, id}]
	if j == nil {
		return nil
	}
	if d := ev.Str(event.FieldDevice); d != "" && j.dev != nil && j.dev.row.Device != "" && j.dev.row.Device != d {
		return nil
	}
	return j
}

func pointer(ev *event.Event) (uint64, bool) {
	if p, ok := ev.Uint(event.FieldFencePtr); ok && p != 0 {
		return p, true
	}
	p, ok := ev.Uint(event.FieldJobPtr)
	return p, ok && p != 0
}

// absorb takes into a job what any of its events tells about its identity.
func (x *jobTracker) absorb(j *job, ev *event.Event, bridge bool) {
	r := &j.row
	if o := ev.Str(event.FieldOrigin); o != "" && (r.Origin == "" || !bridge && j.bridgeOnly()) {
		r.Origin = o
	}
	if v, ok := ev.Uint(event.FieldSchedJobID); ok && !r.SchedJobID.OK {
		r.SchedJobID = event.Some(v)
	}
	x.absorbPointers(j, ev)
	if v, ok := ev.Uint(event.FieldClientID); ok && !r.ClientID.OK {
		r.ClientID = event.Some(v)
	}
	if v, ok := ev.Int(event.FieldError); ok && v != 0 {
		r.Error = event.Some(v)
	}
	x.namedRing(j, ev, bridge)
	if d := x.e.ids.device(ev.Str(event.FieldDevice), ""); d != nil && (j.dev == nil || r.DeviceRule != ruleSource) {
		j.dev, r.DeviceRule = d, ruleSource
	}
	full := ev.Flags&event.FlagLow32 == 0
	if k, ok := ev.Fence(); ok {
		if f := x.named(j, k, full); f != nil {
			x.setFinished(j, f, Exact)
		}
	}
	if k, ok := ev.HWFence(); ok {
		if f := x.e.fence.get(k, full); f != nil {
			x.namedHW(j, f)
		}
	}
	x.counts(j, ev)
	x.number(j)
}

// namedRing takes the ring that an event names, before its fence tells one.
func (x *jobTracker) namedRing(j *job, ev *event.Event, bridge bool) {
	r := &j.row
	if s := ev.Str(event.FieldRing); s != "" && (r.Ring == "" || j.drv != nil && !bridge && s != r.Ring) {
		r.Ring, r.RingRule = s, ruleSource
		if ev.Flags&event.FlagRingInferred != 0 {
			r.RingRule = ruleRingByTimeline
		}
	}
}

// counts takes what an event tells about the queues and the time on the device.
func (x *jobTracker) counts(j *job, ev *event.Event) {
	r := &j.row
	if v, ok := ev.Uint(event.FieldJobCount); ok && ev.Kind == event.KindJobQueue {
		r.JobCount = event.Some(v)
	}
	if v, ok := ev.Int(event.FieldHWJobCount); ok && ev.Kind == event.KindJobRun {
		r.HWJobCount = event.Some(v)
	}
	if v, ok := ev.Uint(event.FieldElapsed); ok {
		r.ElapsedNS = event.Some(int64(v))
	}
	if s := ev.Str(event.FieldArgs); s != "" && s != r.Args {
		r.Args = mergeArgs(r.Args, s)
		x.text += len(r.Args) - j.text
		j.text = len(r.Args)
	}
}

// bridgeOnly reports whether only second witnesses told of the job so far.
func (j *job) bridgeOnly() bool { return !j.queued && !j.ran && !j.done }

func (x *jobTracker) absorbPointers(j *job, ev *event.Event) {
	p, ok := pointer(ev)
	if ok && !j.hasPtr && ev.Kind != event.KindJobDep {
		j.ptr, j.hasPtr = p, true
		x.byPtr[p] = j
	}
	if ev.Flags&event.FlagHashed != 0 {
		return
	}
	r := &j.row
	if v, ok := ev.Uint(event.FieldFencePtr); ok && !r.FencePtr.OK {
		r.FencePtr = event.Some(v)
	}
	if v, ok := ev.Uint(event.FieldJobPtr); ok && !r.JobPtr.OK {
		r.JobPtr = event.Some(v)
	}
	if v, ok := ev.Uint(event.FieldEntityPtr); ok && !r.EntityPtr.OK {
		r.EntityPtr = event.Some(v)
	}
}

// number enters the job under its number on the ring.
func (x *jobTracker) number(j *job) {
	r := &j.row
	if !r.SchedJobID.OK || r.Ring == "" {
		return
	}
	k := ringID{r.Ring, r.SchedJobID.V}
	o := x.byID[k]
	if o == j {
		return
	}
	if o != nil && !o.done && !o.closing && !o.given && !j.numbered {
		x.e.count(&anomalyJobIDAmbiguous)
	}
	j.numbered = true
	x.byID[k] = j
}

// forget takes a job out of the indexes, where it still stands in them.
func (x *jobTracker) forget(j *job) {
	if j.hasPtr && x.byPtr[j.ptr] == j {
		delete(x.byPtr, j.ptr)
	}
	if j.drv != nil && x.byDriver[j.key] == j {
		delete(x.byDriver, j.key)
	}
	k := ringID{j.row.Ring, j.row.SchedJobID.V}
	if j.row.SchedJobID.OK && x.byID[k] == j {
		delete(x.byID, k)
	}
}

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
