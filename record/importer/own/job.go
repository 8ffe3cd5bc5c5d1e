package own

import (
	"github.com/gpurec/gpurec/record/event"
)

// job is what names a job.
type job struct {
	device, ring   string
	sched          uint64
	context, seqno uint64
	hasSched       bool
	hasFence       bool
	low32          bool // of the fence only the low halves are known
}

func (j *job) set(ev *event.Event) {
	ev.SetStr(event.FieldDevice, j.device)
	ev.SetStr(event.FieldRing, j.ring)
	if j.hasSched {
		ev.SetUint(event.FieldSchedJobID, j.sched)
	}
	if j.hasFence {
		ev.SetUint(event.FieldFenceContext, j.context)
		ev.SetUint(event.FieldFenceSeqno, j.seqno)
	}
	if j.low32 {
		ev.Flags |= event.FlagLow32
	}
}

func jobOf(a *Args) (j job) {
	j.device, j.ring = a.str(argDevice), a.str(argRing)
	j.sched, j.hasSched = a.num(argSchedJob)
	j.context, j.seqno, j.hasFence = a.fence(argFence)
	j.low32 = a.is(argLow32)
	return j
}

// job appends an event of a job. Only its queueing is of a thread: run and
// done happen in whatever thread.
func (m *Mapper) job(k event.Kind, at event.Time, a *Args) {
	m.fillJob(m.Add(k, at), a)
}

func (m *Mapper) fillJob(ev *event.Event, a *Args) {
	ev.Source = m.Source
	j := jobOf(a)
	j.set(ev)
	a.setFence(ev, event.FieldHWFenceContext, event.FieldHWFenceSeqno, argHWFence)
	if ev.Kind != event.KindJobQueue {
		return
	}
	if v, ok := a.num(argPID); ok {
		ev.PID = int32(v)
	}
	if v, ok := a.num(argTID); ok {
		ev.TID = int32(v)
	}
	if a.inferred {
		ev.Flags |= event.FlagPIDInferred
	}
}

// jobQueued is a job in its ring's queue. That it ran stands in job.running,
// unless there is none.
func (m *Mapper) jobQueued(d *Drawn, o *Open) {
	a := d.Args
	m.job(event.KindJobQueue, d.Time, a)
	if a.str(argEnd) != "" {
		if v, ok := a.num(argQueueDelay); ok && d.Time.Known() {
			m.job(event.KindJobRun, d.Time+event.Time(v), a)
		}
		m.doneAt(a)
	}
	m.jobs.put(a)
}

// doneAt gives the end of a job that is not drawn since its ring ran another. An
// end that names neither fence nor ring would be taken for another job's.
func (m *Mapper) doneAt(a *Args) {
	if v, ok := a.num(argDone); ok && (a.str(argRing) != "" || a.is(argFence)) {
		ev := m.Add(event.KindJobDone, event.Time(v))
		m.fillJob(ev, a)
		a.setUint(ev, event.FieldError, argError)
	}
	if v, ok := a.num(argFinished); ok {
		j := jobOf(a)
		m.signal(&j, event.Time(v))
	}
}

// jobRunning begins at the start on the device: run and queue lie before it by
// what its arguments say.
func (m *Mapper) jobRunning(d *Drawn, o *Open) {
	a := d.Args
	run := d.Time
	if v, ok := a.num(argHWQueue); ok && run.Known() {
		run -= event.Time(v)
	}
	if a.is(argHidden) && run.Known() {
		if v, ok := a.num(argQueued); ok {
			m.job(event.KindJobQueue, event.Time(v), a)
		} else if v, ok := a.num(argQueueDelay); ok {
			m.job(event.KindJobQueue, run-event.Time(v), a)
		}
	}
	m.job(event.KindJobRun, run, a)
	m.jobs.put(a)
	if a.str(argEnd) != "" {
		m.doneAt(a)
		return
	}
	o.what = kindPaired
	o.ev.Reset(event.KindJobDone, event.NoTime)
	m.fillJob(&o.ev, a)
	a.setUint(&o.ev, event.FieldError, argError)
	if v, ok := a.num(argFinished); ok {
		o.finished = event.Time(v)
	}
}

// jobDependency is the part of a job's time in the queue in which it waited
// for another job.
func (m *Mapper) jobDependency(a *Args, at event.Time) {
	row, ok := a.num(argJob)
	j, found := m.jobs.get(row)
	if !ok || !found {
		m.Derived()
		return
	}
	ev := m.Add(event.KindJobDep, at)
	ev.Source = m.Source
	j.set(ev)
	a.setFence(ev, event.FieldOnFenceContext, event.FieldOnFenceSeqno, argOnFence)
	ev.SetBool(event.FieldUnsignalled, true)
}

// jobs remembers the last jobs that were drawn, by their rows.
type jobs struct {
	byRow map[uint64]job
	order []uint64 // a ring, once it is full
	next  int
}

func (l *jobs) get(row uint64) (job, bool) {
	j, ok := l.byRow[row]
	return j, ok
}

func (l *jobs) put(a *Args) {
	row, ok := a.num(argJob)
	if !ok {
		return
	}
	if l.byRow == nil {
		l.byRow = map[uint64]job{}
	}
	if _, ok := l.byRow[row]; !ok {
		if len(l.order) < maxJobs {
			l.order = append(l.order, row)
		} else {
			delete(l.byRow, l.order[l.next])
			l.order[l.next] = row
			l.next = (l.next + 1) % maxJobs
		}
	}
	l.byRow[row] = jobOf(a)
}
