package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// The ends of calls, ioctls and waits.
const (
	endReturned  = "returned"
	endNotProbed = "not_probed"
	endOpen      = "open"
	endLost      = "lost"
	endKilled    = "killed"
	endEvicted   = "evicted" // the row says lost, and unmatched why
)

// wait is a thread's blocking wait for a fence.
type wait struct {
	row    FenceWait
	key    event.FenceKey
	fence  *fence
	t      *thread
	low    bool
	source string // of its begin, without begin
	twice  bool   // a second source told of it
	vague  bool   // only low halves are known, and several fences have them

	native bool      // for a job of a driver's, which its number names
	job    endingJob // that job
	err    int64     // that the driver returned
}

// waitSource is what the events of a wait's two ends have in common: the system
// of their tracepoint.
func waitSource(s string) string {
	system, _, _ := strings.Cut(s, ":")
	return system
}

func (f *fenceTracker) waitStart(ev *event.Event, t *thread) {
	k, ok := ev.Fence()
	if !ok && f.driverWait(ev, t) {
		return
	}
	if !ok || t.idle {
		f.e.misc.other(ev, t)
		return
	}
	f.apart(f.cpu(ev.CPU))
	if w := t.wait; w != nil && !w.native && w.key.Low32() == k.Low32() && w.source != waitSource(ev.Source) && !w.twice {
		w.twice = true // a driver tells of its part of the wait
		return
	}
	if t.wait != nil {
		f.e.count(&anomalyWaitReplaced)
		f.endWait(t.wait, OptTime{}, endLost)
	}
	if f.nOpen >= f.e.caps.Waits {
		f.e.misc.other(ev, t)
		f.e.count(&anomalyEvicted)
		return
	}
	w := f.newWait(ev, t, k)
	w.row.StartNS = event.OptTime(ev.Time)
	t.wait = w
	f.nOpen++
}

func (f *fenceTracker) newWait(ev *event.Event, t *thread, k event.FenceKey) *wait {
	f.e.seq.wait++
	w := f.waits.get()
	w.key, w.t, w.source = k, t, waitSource(ev.Source)
	w.low = ev.Flags&event.FlagLow32 != 0
	w.fence = f.ref(f.find(k, !w.low))
	if w.low && f.ambiguous(k) {
		f.e.count(&anomalyFenceAmbiguous)
		w.vague = true
	}
	w.row = FenceWait{
		ID: f.e.seq.wait, ProcessID: t.processID(), PID: t.pid, TID: t.tid,
		Context: event.Some(k.Context), Seqno: event.Some(k.Seqno),
		Driver: ev.Str(event.FieldDriver), Timeline: ev.Str(event.FieldTimeline), Low32: w.low,
	}
	if t.ioctl != nil {
		w.row.IoctlID = t.ioctl.row.ID
		t.ioctl.waits++
	}
	return w
}

func (f *fenceTracker) waitEnd(ev *event.Event, t *thread) {
	k, ok := ev.Fence()
	if !ok && f.driverWaitEnd(ev, t) {
		return
	}
	if !ok || t.idle {
		f.e.misc.other(ev, t)
		return
	}
	f.apart(f.cpu(ev.CPU))
	w := t.wait
	if w != nil && w.twice && w.key.Low32() == k.Low32() && w.source != waitSource(ev.Source) {
		return
	}
	if w != nil && (w.native || w.key != k) {
		f.e.count(&anomalyWaitReplaced)
		f.endWait(w, OptTime{}, endLost)
		w = nil
	}
	if w == nil {
		f.e.count(&anomalyWaitEndAlone)
		w = f.newWait(ev, t, k)
		f.e.unm.add(note{table: "fence_waits", id: w.row.ID, link: missEnter, reason: NotRecorded, from: event.NoTime, to: ev.Time})
	}
	f.endWait(w, event.OptTime(ev.Time), endReturned)
}

// endWait ends a wait. Its row waits until the instant of its end is over: the
// signal may stand after it in the log with the same time.
func (f *fenceTracker) endWait(w *wait, at OptTime, kind string) {
	if w.t.wait == w {
		w.t.wait = nil
		f.nOpen--
	}
	r := &w.row
	r.EndNS, r.EndKind = at, kind
	r.WaitNS = sub(r.EndNS, r.StartNS)
	if r.StartNS.OK && r.EndNS.OK {
		f.e.ids.did(w.t, span{kind: wasWaiting, start: r.StartNS.V, end: r.EndNS.V, key: w.key})
	}
	f.ended = append(f.ended, w)
	if !at.OK {
		f.giveWaits()
	}
}

// giveWaits gives the waits that have ended.
func (f *fenceTracker) giveWaits() {
	for i, w := range f.ended {
		f.giveWait(w)
		f.ended[i] = nil
	}
	f.ended = f.ended[:0]
}

func (f *fenceTracker) giveWait(w *wait) {
	e, r := f.e, &w.row
	if w.native {
		f.toldNative(w)
	}
	if w.fence == nil && !w.vague && !w.native {
		w.fence = f.ref(f.find(w.key, !w.low))
	}
	if x := w.fence; x != nil {
		f.told(w, x)
	}
	switch {
	case r.JobID != 0 && w.native:
		e.link(RuleFenceWait, "jobs", r.JobID, "fence_waits", r.ID, Exact, w.job.j.key.text(e))
	case r.JobID != 0:
		e.link(RuleFenceWait, "jobs", r.JobID, "fence_waits", r.ID, Exact, e.fenceText(w.key))
	case w.native:
		e.unm.add(note{table: "fence_waits", id: r.ID, link: missJob, reason: NotRecorded, from: event.NoTime, to: timeOr(r.StartNS)})
	case w.vague:
		e.unm.now("fence_waits", r.ID, missJob, Ambiguous)
	case ofNoJob(w.key, w.fence):
		e.unm.now("fence_waits", r.ID, missJob, NotPossible)
	default:
		e.unm.add(note{table: "fence_waits", id: r.ID, link: missJob, reason: NotRecorded,
			from: event.NoTime, to: timeOr(r.StartNS), proof: proofFence, ctx: w.key.Context, val: w.key.Seqno})
	}
	if r.IoctlID != 0 {
		e.link(RuleIoctlWait, "ioctls", r.IoctlID, "fence_waits", r.ID, Nested, w.t.keyText())
	} else {
		e.unm.add(note{table: "fence_waits", id: r.ID, link: missIoctl, reason: NotRecorded,
			from: timeOr(r.StartNS), to: timeOr(r.StartNS)})
	}
	f.endNote(w)
	e.rows.FenceWaits = append(e.rows.FenceWaits, *r)
	e.n++
	f.unref(w.fence)
	f.waits.put(w)
}

// told takes what is known of the fence waited for at the instant of the
// wait's end: a later signal is none of its, it ended by its timeout.
func (f *fenceTracker) told(w *wait, x *fence) {
	r := &w.row
	r.JobID = x.jobID
	s := x.signal
	r.SignalNS = s
	if s.OK && r.StartNS.OK && r.EndNS.OK && r.StartNS.V < s.V && s.V < r.EndNS.V {
		r.WakeNS = sub(r.EndNS, s)
	}
	if r.EndKind == endReturned && (s.OK || f.sawSignal) {
		r.TimedOut = event.Some(!s.OK)
	}
	if r.Driver == "" {
		r.Driver = x.driver
	}
}

// endNote says why a wait has no end.
func (f *fenceTracker) endNote(w *wait) {
	e, r := f.e, &w.row
	switch r.EndKind {
	case endOpen:
		e.unm.now("fence_waits", r.ID, missExit, Open)
	case endKilled:
		e.unm.now("fence_waits", r.ID, missExit, Killed)
	case endEvicted:
		e.count(&anomalyEvicted)
		r.EndKind = endLost
		e.unm.now("fence_waits", r.ID, missExit, Evicted)
	case endLost:
		e.unm.add(note{table: "fence_waits", id: r.ID, link: missExit, reason: NotRecorded, from: timeOr(r.StartNS), to: e.now})
	}
}

func (f *fenceTracker) threadEnds(t *thread, kind string) {
	if t.wait != nil {
		f.endWait(t.wait, OptTime{}, kind)
	}
	f.dropPairs(t)
	if t.running != nil {
		t.running = nil
	}
}

// finishWaits closes what still waits at the end, in the order of ids.
func (f *fenceTracker) finishWaits() {
	for t := range f.e.ids.each {
		if t.wait != nil {
			f.endWait(t.wait, OptTime{}, endOpen)
		}
	}
	f.giveWaits()
}

func timeOr(t OptTime) event.Time {
	if t.OK {
		return t.V
	}
	return event.NoTime
}
