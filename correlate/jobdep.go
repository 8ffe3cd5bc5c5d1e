package correlate

import "github.com/gpurec/gpurec/record/event"

// maxDeps bounds the dependencies of a job.
const maxDeps = 64

// dep is a dependency of a job.
type dep struct {
	fence       *fence
	key         event.FenceKey
	at          OptTime
	unsignalled bool
	conf        Confidence // that the dependency is of this job
}

// dep takes a dependency.
func (x *jobTracker) dep(ev *event.Event, t *thread) {
	j, conf := x.depTarget(ev), Exact
	if j == nil && nameless(ev) {
		if c := t.called; !c.waits() || !sameRing(c.j, ev) {
			x.e.misc.other(ev, t)
			return
		}
		j, conf = t.called.j, Adjacent
	}
	if j == nil && x.vague(ev, t) {
		return
	}
	if j == nil {
		x.e.count(&anomalyDepUnknownJob)
		j = x.add(ev)
		x.absorb(j, ev, false)
		x.place(j)
	} else if j.fin == nil {
		x.absorb(j, ev, false)
	}
	k, ok := ev.OnFence()
	if !ok {
		return
	}
	full := ev.Flags&event.FlagLow32 == 0
	f := x.onFence(ev, k, full)
	unsig := ev.Bool(event.FieldUnsignalled)
	for i := range j.deps {
		d := &j.deps[i]
		if f == nil || d.fence == nil {
			if d.fence == f && d.key == k {
				return
			}
			continue
		}
		if d.fence == f || f.jobID != 0 && d.fence.jobID == f.jobID {
			d.unsignalled = d.unsignalled || unsig
			return
		}
	}
	if len(j.deps) < maxDeps {
		j.deps = append(j.deps, dep{x.e.fence.ref(f), k, event.OptTime(ev.Time), unsig, conf})
		x.deps++
	}
}

// nameless reports whether an event names no job of its own: amdgpu's pipe sync
// since 6.17, which its thread tells inside of the hand-over.
func nameless(ev *event.Event) bool {
	_, hasFence := ev.Fence()
	_, hasPtr := pointer(ev)
	return !hasFence && !hasPtr && !ev.Has(event.FieldSchedJobID)
}

// onFence returns the fence that an event names as a dependency, nil if there
// is no telling which one low halves mean. An address tells, if a job has it.
func (x *jobTracker) onFence(ev *event.Event, k event.FenceKey, full bool) *fence {
	var at *job
	if p, ok := ev.Uint(event.FieldOnFencePtr); ok {
		if o := x.byPtr[p]; o != nil && !o.given {
			at = o
		}
	}
	if at != nil && at.fin != nil && !at.fin.dead && at.fin.fits(k, full) {
		at.fin.learn(k, full)
		return at.fin
	}
	f := x.e.fence.get(k, full)
	if at != nil && at.fin == nil && f != nil {
		x.setFinished(at, f, Exact)
	}
	return f
}

// depTarget is lookup for dependencies. An event without a ring was emitted by
// the ring's own kernel thread, which bears its name (up to 6.7).
func (x *jobTracker) depTarget(ev *event.Event) *job {
	if j := x.lookup(ev); j != nil {
		return j
	}
	return x.byNumber(ev, ev.Comm)
}

func (x *jobTracker) depRows(j *job) {
	e := x.e
	missing, ofNone, reason := false, false, NotRecorded
	for i := range j.deps {
		d := &j.deps[i]
		row := JobDep{JobID: j.row.ID, OnFenceContext: event.Some(d.key.Context),
			OnFenceSeqno: event.Some(d.key.Seqno), TSNS: d.at}
		if d.fence == nil {
			reason = Ambiguous
		} else {
			row.OnJobID = d.fence.jobID
		}
		if d.unsignalled {
			row.Waited = event.Some(true)
		} else if d.key == stub {
			row.Waited = event.Some(false)
		} else if d.fence != nil && d.fence.signal.OK && d.at.OK {
			row.Waited = event.Some(d.fence.signal.V > d.at.V)
		}
		e.rows.JobDeps = append(e.rows.JobDeps, row)
		e.n++
		switch {
		case row.OnJobID != 0:
			e.link(RuleJobDep, "jobs", row.OnJobID, "jobs", row.JobID, d.conf, e.fenceText(d.key))
		case ofNoJob(d.key, d.fence):
			ofNone = true
		default:
			missing = true
		}
	}
	switch {
	case missing:
		x.note(j, missDependency, reason, event.NoTime, timeOr(j.row.QueuedNS))
	case ofNone:
		x.note(j, missDependency, NotPossible, event.NoTime, event.NoTime)
	}
}
