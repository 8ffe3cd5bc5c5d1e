package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Waits that name no fence but a job, as its driver names it: kgsl's context
// and timestamp, i915's ring and number before 4.17, radeon's and vc4's.

// ofWait returns the driver whose wait an event tells, nil if it is of none.
func (x *jobTracker) ofWait(ev *event.Event) *driverState {
	o := ev.Str(event.FieldDriver)
	for i := range x.drivers {
		if d := &x.drivers[i]; d.origin == o && d.key == keyNumber {
			return d
		}
	}
	return nil
}

// driverWait begins a thread's wait for a driver's job. It reports false for an
// event of another sort.
func (f *fenceTracker) driverWait(ev *event.Event, t *thread) bool {
	d := f.e.job.ofWait(ev)
	if d == nil || t.idle {
		return false
	}
	k, ok := d.keyOf(ev)
	if !ok {
		return false
	}
	f.apart(f.cpu(ev.CPU))
	if w := t.wait; w != nil && !w.native && !w.twice {
		w.twice = true // a driver tells of its part of a wait for a fence
		return true
	}
	if t.wait != nil {
		f.e.count(&anomalyWaitReplaced)
		f.endWait(t.wait, OptTime{}, endLost)
	}
	if f.nOpen >= f.e.caps.Waits {
		f.e.count(&anomalyEvicted)
		return false
	}
	w := f.newDriverWait(ev, t)
	w.row.StartNS = event.OptTime(ev.Time)
	if j := f.e.job.byDriver[k]; j != nil && !j.given {
		w.job = endingJob{j, j.row.ID}
	}
	t.wait = w
	f.nOpen++
	return true
}

func (f *fenceTracker) newDriverWait(ev *event.Event, t *thread) *wait {
	f.e.seq.wait++
	w := f.waits.get()
	w.t, w.source, w.native = t, waitSource(ev.Source), true
	w.row = FenceWait{ID: f.e.seq.wait, ProcessID: t.processID(), PID: t.pid, TID: t.tid,
		Driver: strings.TrimSuffix(ev.Str(event.FieldDriver), "_gem"), Timeline: ev.Str(event.FieldTimeline)}
	if t.ioctl != nil {
		w.row.IoctlID = t.ioctl.row.ID
		t.ioctl.waits++
	}
	return w
}

// driverWaitEnd ends a wait for a driver's job: the one that the thread began.
func (f *fenceTracker) driverWaitEnd(ev *event.Event, t *thread) bool {
	if f.e.job.ofWait(ev) == nil || t.idle {
		return false
	}
	f.apart(f.cpu(ev.CPU))
	w := t.wait
	if w != nil && !w.native && w.twice {
		return true
	}
	if w == nil || !w.native {
		f.e.count(&anomalyWaitEndAlone)
		w = f.newDriverWait(ev, t)
		f.e.unm.add(note{table: "fence_waits", id: w.row.ID, link: missEnter, reason: NotRecorded, from: event.NoTime, to: ev.Time})
	}
	w.err, _ = ev.Int(event.FieldError)
	f.endWait(w, event.OptTime(ev.Time), endReturned)
	return true
}

// errTimedOut are -ETIME and -ETIMEDOUT.
func errTimedOut(err int64) bool { return err == -62 || err == -110 }

// toldNative takes what is known of the job waited for at the wait's end: its
// done stands for the signal of a fence.
func (f *fenceTracker) toldNative(w *wait) {
	r := &w.row
	if w.job.waits() {
		j := w.job.j
		r.JobID = j.row.ID
		if done := j.row.DoneNS; done.OK && (!r.EndNS.OK || done.V <= r.EndNS.V) {
			r.SignalNS = done
			if r.StartNS.OK && r.EndNS.OK && r.StartNS.V < done.V && done.V < r.EndNS.V {
				r.WakeNS = sub(r.EndNS, done)
			}
		}
	}
	switch {
	case errTimedOut(w.err):
		r.TimedOut = event.Some(true)
	case r.EndKind == endReturned && r.JobID != 0 && (r.SignalNS.OK || w.job.j.w.sawDone):
		r.TimedOut = event.Some(!r.SignalNS.OK)
	}
}
