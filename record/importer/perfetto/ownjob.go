package perfetto

import (
	"github.com/gpurec/gpurec/record/event"
)

// woken begins when the fence of a wait signalled.
func (r *reader) woken(h *head, e *trackEvent) {
	r.push(e, openSlice{what: sliceNothing})
	var sig event.Event
	sig.Reset(event.KindFenceSignal, event.NoTime)
	e.own.setFence(&sig, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	k, ok := sig.Fence()
	if !ok {
		r.note(&AnomalyDerived, 1)
		return
	}
	if _, told := r.signalled[k]; told || len(r.signalled) >= maxFlows {
		return // several waited for it
	}
	r.signalled[k] = struct{}{}
	ev := r.add(event.KindFenceSignal, h.time)
	ev.Source = "perfetto:track_event"
	e.own.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
}

// job sets what all events of a job have in common.
func (r *reader) job(ev *event.Event, e *trackEvent) {
	o := &e.own
	ev.Source = "perfetto:track_event"
	ev.SetStr(event.FieldDevice, o.str(ownDevice))
	ev.SetStr(event.FieldRing, o.str(ownRing))
	o.setUint(ev, event.FieldSchedJobID, ownSchedJob)
	o.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	if ev.Kind != event.KindJobDep {
		o.setFence(ev, event.FieldHWFenceContext, event.FieldHWFenceSeqno, ownHWFence)
	}
	if ev.Kind != event.KindJobQueue {
		return // run and done happen in whatever thread
	}
	if v, ok := o.num(ownPID); ok {
		ev.PID = int32(v)
	}
	if v, ok := o.num(ownTID); ok {
		ev.TID = int32(v)
	}
	if o.inferred {
		ev.Flags |= event.FlagPIDInferred
	}
}

// jobQueued is a job in its ring's queue. That it ran stands in job.running,
// unless there is none.
func (r *reader) jobQueued(h *head, e *trackEvent) {
	r.job(r.add(event.KindJobQueue, h.time), e)
	if e.own.str(ownEnd) != "" {
		if d, ok := e.own.num(ownQueueDelay); ok && h.time.Known() {
			r.job(r.add(event.KindJobRun, h.time+event.Time(d)), e)
		}
	}
	k := openSlice{what: sliceQueued}
	k.ev.Reset(event.KindJobDep, event.NoTime)
	r.job(&k.ev, e)
	r.push(e, k)
}

// jobRunning begins at the start on the device: run and queue lie before it by
// what its arguments say.
func (r *reader) jobRunning(h *head, e *trackEvent) {
	o := &e.own
	run := h.time
	if d, ok := o.num(ownHWQueue); ok && run.Known() {
		run -= event.Time(d)
	}
	if _, hidden := o.num(ownHidden); hidden && run.Known() {
		if d, ok := o.num(ownQueueDelay); ok {
			r.job(r.add(event.KindJobQueue, run-event.Time(d)), e)
		}
	}
	r.job(r.add(event.KindJobRun, run), e)
	k := openSlice{what: sliceRunning}
	k.ev.Reset(event.KindJobDone, event.NoTime)
	r.job(&k.ev, e)
	if v, ok := o.num(ownError); ok {
		k.ev.SetUint(event.FieldError, v)
	}
	if o.str(ownEnd) != "" {
		k.what = sliceNothing
	}
	r.push(e, k)
}

// jobDependency is the part of a job's time in the queue in which it waited
// for another job: the job is that of the slice around it.
func (r *reader) jobDependency(h *head, e *trackEvent) {
	for i := len(e.on.open) - 1; i >= 0; i-- {
		if k := &e.on.open[i]; k.what == sliceQueued {
			ev := r.add(event.KindJobDep, h.time)
			at := ev.Time
			*ev = k.ev
			ev.Time = at
			e.own.setFence(ev, event.FieldOnFenceContext, event.FieldOnFenceSeqno, ownOnFence)
			break
		}
	}
	r.push(e, openSlice{what: sliceNothing})
}

// loss is an interval in which events are missing.
func (r *reader) loss(h *head, e *trackEvent) {
	o := &e.own
	k := openSlice{what: sliceWhole, start: h.time}
	k.ev.Reset(event.KindLoss, event.NoTime)
	k.ev.SetStr(event.FieldTrack, o.str(ownStream))
	k.ev.SetStr(event.FieldName, o.str(ownRemedy))
	o.setUint(&k.ev, event.FieldCount, ownCount)
	if v, ok := o.num(ownCPU); ok {
		k.ev.CPU = int32(v)
	}
	r.push(e, k)
}
