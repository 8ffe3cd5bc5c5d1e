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
}

// dep takes a dependency.
func (x *jobTracker) dep(ev *event.Event) {
	j := x.depTarget(ev)
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
	f := x.e.fence.get(k, full)
	if p, ok := ev.Uint(event.FieldOnFencePtr); ok {
		if o := x.byPtr[p]; o != nil && o.fin == nil && !o.given {
			x.setFinished(o, f, Exact)
		}
	}
	unsig := ev.Bool(event.FieldUnsignalled)
	for i := range j.deps {
		d := &j.deps[i]
		if d.fence == f || f.jobID != 0 && d.fence.jobID == f.jobID {
			d.unsignalled = d.unsignalled || unsig
			return
		}
	}
	if len(j.deps) < maxDeps {
		j.deps = append(j.deps, dep{x.e.fence.ref(f), k, event.OptTime(ev.Time), unsig})
	}
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
	missing := false
	for i := range j.deps {
		d := &j.deps[i]
		row := JobDep{JobID: j.row.ID, OnJobID: d.fence.jobID, OnFenceContext: event.Some(d.key.Context),
			OnFenceSeqno: event.Some(d.key.Seqno), TSNS: d.at}
		if d.unsignalled {
			row.Waited = event.Some(true)
		} else if s := d.fence.signal; s.OK && d.at.OK {
			row.Waited = event.Some(s.V > d.at.V)
		}
		e.rows.JobDeps = append(e.rows.JobDeps, row)
		e.n++
		if row.OnJobID != 0 {
			e.link(RuleJobDep, "jobs", row.OnJobID, "jobs", row.JobID, Exact, e.fenceText(d.key))
		} else {
			missing = true
		}
	}
	if missing {
		e.unm.add(note{table: "jobs", id: j.row.ID, link: missDependency, reason: NotRecorded, from: event.NoTime, to: timeOr(j.row.QueuedNS)})
	}
}
