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
	d := ev.Str(event.FieldDevice)
	if d != "" {
		if j := x.byID[ringID{ring, id, d}]; j != nil {
			return j
		}
	}
	j := x.byID[ringID{ring, id, ""}]
	if j == nil || d != "" && j.dev != nil && j.dev.row.Device != "" && j.dev.row.Device != d {
		return nil
	}
	if b := j.beside; d == "" && b.waits() && !b.j.done && !b.j.closing {
		x.e.count(&anomalyJobIDAmbiguous)
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
	k := ringID{r.Ring, r.SchedJobID.V, ""}
	counted := false
	if o := x.byID[k]; o != j {
		if o != nil && o.open() {
			if a, b := o.namedDevice(), j.namedDevice(); a != "" && b != "" && a != b {
				j.beside = endingJob{o, o.row.ID} // only an event without a device may mean either
			} else if !j.numbered {
				x.e.count(&anomalyJobIDAmbiguous)
				counted = true
			}
		}
		x.byID[k] = j
	}
	if k.device = j.namedDevice(); k.device != "" {
		if o := x.byID[k]; o != nil && o != j && o.open() && !j.numbered && !counted {
			x.e.count(&anomalyJobIDAmbiguous)
		}
		x.byID[k] = j
	}
	j.numbered = true
}

// open reports whether the job's end was not seen.
func (j *job) open() bool { return !j.done && !j.closing && !j.given }

// namedDevice is the device that the job's own events name, "" for none.
func (j *job) namedDevice() string {
	if j.dev == nil || j.row.DeviceRule != ruleSource {
		return ""
	}
	return j.dev.row.Device
}

// forget takes a job out of the indexes, where it still stands in them.
func (x *jobTracker) forget(j *job) {
	if j.hasPtr && x.byPtr[j.ptr] == j {
		delete(x.byPtr, j.ptr)
	}
	if j.drv != nil && x.byDriver[j.key] == j {
		delete(x.byDriver, j.key)
	}
	if !j.row.SchedJobID.OK {
		return
	}
	for _, d := range []string{"", j.namedDevice()} {
		if k := (ringID{j.row.Ring, j.row.SchedJobID.V, d}); x.byID[k] == j {
			delete(x.byID, k)
		}
	}
}
