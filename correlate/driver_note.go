package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// What drivers tell of jobs beside their queueing, run and end: rows of
// job_events, and what follows from them for the job.

// driverLine is a numbered thing of a driver: an engine, a queue, a slot.
type driverLine struct {
	dev, line string
}

// driverLineState is what is known of one.
type driverLineState struct {
	flight []endingJob // on it, in order; not all need be open
	num    []uint32    // the number of each on the engine, for completed
}

// Bounds of what is known of the lines of drivers.
const (
	maxLines  = 1 << 12
	maxFlight = 1 << 10
)

func (d *driverState) lineOf(dev, line string) *driverLineState {
	k := driverLine{dev, line}
	l := d.line[k]
	if l == nil && len(d.line) < maxLines {
		if d.line == nil {
			d.line = map[driverLine]*driverLineState{}
		}
		l = &driverLineState{}
		d.line[k] = l
	}
	return l
}

// jobNote takes what a driver says of a job.
func (x *jobTracker) jobNote(ev *event.Event, t *thread) {
	x.e.fence.apart(x.e.fence.cpu(ev.CPU))
	what := ev.Str(event.FieldName)
	d := x.driver(ev)
	if d != nil && what == event.NoteCompleted {
		if !x.completed(ev) {
			x.e.misc.other(ev, t)
		}
		return
	}
	x.nameQueue(ev)
	j := x.ofNote(ev, d)
	if j == nil || j.given {
		x.e.misc.other(ev, t)
		return
	}
	if d != nil && (d.key == keyFence || d.key == keyNumber) {
		x.onEngine(j, ev, d)
	}
	r := &j.row
	row := JobEvent{JobID: r.ID, TSNS: event.OptTime(ev.Time), What: what, TID: t.tid, Args: ev.Str(event.FieldArgs), Source: ev.Source}
	if v, ok := ev.Int(event.FieldError); ok && v != 0 {
		row.Error = event.Some(v)
		r.Error = row.Error
	}
	x.e.rows.JobEvents = append(x.e.rows.JobEvents, row)
	x.e.n++
	switch what {
	case event.NoteReady:
		if !r.ReadyNS.OK {
			r.ReadyNS = row.TSNS
		}
	case event.NoteRetired:
		x.retire(j)
	case event.NoteTimedOut, event.NoteFault:
		j.setFate(fateGuilty, ruleSource)
	case event.NoteError:
		j.setFate(fateCancelled, ruleSource)
	case event.NoteRecovery:
		switch {
		case strings.Contains(row.Args, "replay"):
			j.setFate(fateRerun, ruleSource)
		case strings.Contains(row.Args, "skip"), strings.Contains(row.Args, "disable"):
			j.setFate(fateCancelled, ruleSource)
		}
	}
	x.drain()
}

// ofNote returns the job that a driver's note is of, nil if it is not open.
func (x *jobTracker) ofNote(ev *event.Event, d *driverState) *job {
	if d == nil {
		return x.lookup(ev)
	}
	if k, ok := d.keyOf(ev); ok && d.key != keyOrder {
		return x.ofDriver(ev, d, k)
	}
	return nil
}

// retire takes that a driver let go of a job: it ended some time before.
func (x *jobTracker) retire(j *job) {
	j.retired = true
	x.end(j)
}

// onEngine notes the number of an i915 request on its engine, which the
// interrupt names: up to 4.8 it is the request's own, later it is given as the
// request reaches the engine.
func (x *jobTracker) onEngine(j *job, ev *event.Event, d *driverState) {
	if j.onEngine || j.done || j.row.Ring == "" || d.driver != "i915" {
		return
	}
	n, ok := ev.Uint(event.FieldHWFenceSeqno)
	if !ok {
		if ev.Has(event.FieldFenceContext) {
			return
		}
		if n, ok = ev.Uint(event.FieldSchedJobID); !ok {
			return
		}
	}
	l := d.lineOf(ev.Str(event.FieldDevice), j.row.Ring)
	if l == nil {
		return
	}
	j.onEngine = true
	if len(l.flight) == maxFlight {
		l.flight = append(l.flight[:0], l.flight[1:]...)
		l.num = append(l.num[:0], l.num[1:]...)
	}
	l.flight = append(l.flight, endingJob{j, j.row.ID})
	l.num = append(l.num, uint32(n))
}

// completed takes an interrupt of an engine of i915 that shows the number that
// it has completed: the requests up to that are done. It reports false if that
// tells of no job. Where the events of out are recorded they tell better.
func (x *jobTracker) completed(ev *event.Event) bool {
	n, ok := ev.Uint(event.FieldHWFenceSeqno)
	if !ok {
		n, ok = ev.Uint(event.FieldSchedJobID)
	}
	if !ok {
		return false
	}
	dev, ring := ev.Str(event.FieldDevice), ev.Str(event.FieldRing)
	any := false
	for i := range x.drivers {
		d := &x.drivers[i]
		l := d.line[driverLine{dev, ring}]
		if d.driver != "i915" || l == nil {
			continue
		}
		kept := 0
		for k, w := range l.flight {
			switch {
			case !w.waits() || w.j.done:
			case int32(uint32(n)-l.num[k]) >= 0:
				if d.sawDone {
					continue
				}
				x.setDone(w.j, event.OptTime(ev.Time), Inferred)
				any = true
			default:
				l.flight[kept], l.num[kept] = w, l.num[k]
				kept++
			}
		}
		l.flight, l.num = l.flight[:kept], l.num[:kept]
	}
	x.drain()
	return any
}

// ordered takes an event of a driver that names no job: its ring takes jobs and
// ends them in that order, at most so many at once. The context must be equal.
func (x *jobTracker) ordered(ev *event.Event, t *thread, d *driverState) {
	l := d.lineOf(ev.Str(event.FieldDevice), ev.Str(event.FieldRing))
	if l == nil || ev.Kind != event.KindJobRun && ev.Kind != event.KindJobDone {
		x.e.misc.other(ev, t)
		return
	}
	k := driverKey{d: d, dev: ev.Str(event.FieldDevice), line: ev.Str(event.FieldTimeline)}
	if ev.Kind == event.KindJobRun {
		d.sawRun = true
		for len(l.flight) >= d.slots { // more than the ring holds: an end was lost
			x.endLost(l.shift())
		}
		j := x.addDriver(ev, d)
		x.absorbDriver(j, ev, d, k)
		x.ofContext(j, k.line)
		j.drvRun, j.bridgeRun = true, true
		j.row.Runs++
		x.runAt(j, moment(ev))
		l.flight = append(l.flight, endingJob{j, j.row.ID})
		return
	}
	d.sawDone, d.noDone = true, false
	for len(l.flight) > 0 && l.flight[0].waits() && l.flight[0].j.key.line != k.line {
		x.endLost(l.shift())
	}
	var j *job
	if w := l.shift(); w.waits() {
		j = w.j
	} else {
		j = x.addDriver(ev, d)
		x.ofContext(j, k.line)
	}
	x.absorbDriver(j, ev, d, k)
	j.drvDone = true
	x.setDone(j, moment(ev), Inferred)
}

func (l *driverLineState) shift() endingJob {
	if len(l.flight) == 0 {
		return endingJob{}
	}
	w := l.flight[0]
	l.flight = append(l.flight[:0], l.flight[1:]...)
	return w
}

// endLost ends a job whose end was not seen.
func (x *jobTracker) endLost(w endingJob) {
	if w.waits() && !w.j.done {
		x.e.count(&anomalyNumberReused)
		w.j.reused = true
		x.end(w.j)
	}
}

// ofContext gives a job the process that its driver's context names, as "PID_N".
func (x *jobTracker) ofContext(j *job, context string) {
	pid, _, ok := strings.Cut(context, "_")
	n := int64(0)
	for _, c := range pid {
		if c < '0' || c > '9' || n > 1<<22 {
			return
		}
		n = n*10 + int64(c-'0')
	}
	if !ok || n == 0 {
		return
	}
	ev := event.New(event.KindOther, x.e.now)
	ev.PID = int32(n)
	t := x.e.ids.thread(&ev)
	j.row.ProcessID, j.row.PID, j.row.Owner = t.processID(), t.pid, "user"
}

// nameQueue learns what ring a driver's queue is, from the queue's own events.
// A number that two open queues bear (of two GTs) names none.
func (x *jobTracker) nameQueue(ev *event.Event) {
	ring, line := ev.Str(event.FieldRing), ev.Str(event.FieldTimeline)
	if ring == "" || line == "" || !strings.HasPrefix(ev.Str(event.FieldName), "xe_exec_queue_") {
		return
	}
	k := driverLine{ev.Str(event.FieldDevice), line}
	old, known := x.queues[k]
	switch {
	case ev.Str(event.FieldName) == "xe_exec_queue_destroy":
		delete(x.queues, k)
	case known && old != ring:
		x.queues[k] = ""
	case !known && len(x.queues) < maxLines:
		x.queues[k] = ring
	}
}

// queueRing gives a job of xe, whose events name its queue by number alone, a
// ring: the name that the scheduler gives it, if the queue's events told its
// class, else its number. The scheduler's own event tells better.
func (x *jobTracker) queueRing(j *job, ev *event.Event) {
	line := ev.Str(event.FieldTimeline)
	if j.row.Ring != "" || line == "" || j.drv == nil || j.drv.key != keyPointer {
		return
	}
	j.row.Ring, j.row.RingRule = line, ruleRingByQueue
	if s := x.queues[driverLine{ev.Str(event.FieldDevice), line}]; s != "" {
		j.row.Ring = s
	}
}
