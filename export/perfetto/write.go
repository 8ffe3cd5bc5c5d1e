package perfetto

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// Write implements [export.Sink]: rows go to the sorters, and into the model
// what other rows will need of them.
func (w *Writer) Write(r *correlate.Rows) error {
	m := w.m
	for i := range r.APICalls {
		if err := w.addAPI(&r.APICalls[i]); err != nil {
			return err
		}
	}
	for i := range r.Ioctls {
		if err := w.addIoctl(&r.Ioctls[i]); err != nil {
			return err
		}
	}
	for i := range r.Jobs {
		if err := w.addJob(&r.Jobs[i]); err != nil {
			return err
		}
	}
	for i := range r.FenceWaits {
		if err := w.addWait(&r.FenceWaits[i]); err != nil {
			return err
		}
	}
	for i := range r.GPUActivities {
		if err := w.addActivity(&r.GPUActivities[i]); err != nil {
			return err
		}
	}
	for i := range r.JobDeps {
		m.addDep(&r.JobDeps[i])
	}
	for i := range r.Links {
		m.addLink(&r.Links[i])
	}
	for i := range r.Unmatched {
		m.addReason(&r.Unmatched[i])
	}
	for i := range r.Sched {
		if err := w.addSched(&r.Sched[i]); err != nil {
			return err
		}
	}
	if err := w.writeRest(r); err != nil {
		return err
	}
	return w.rows.fit()
}

// writeRest takes the tables of which there are few rows.
func (w *Writer) writeRest(r *correlate.Rows) error {
	if err := w.writeGPU(r); err != nil {
		return err
	}
	if err := w.writeHost(r); err != nil {
		return err
	}
	w.addIdentity(r)
	return nil
}

// writeGPU takes gaps, resets and losses.
func (w *Writer) writeGPU(r *correlate.Rows) error {
	m := w.m
	for i := range r.IdleGaps {
		x := &r.IdleGaps[i]
		from, to, ok := gapSpan(x)
		m.seeIf(ok, from, to)
		if ok && x.Ring != "" {
			m.ring(x.DeviceID, x.Ring)
		} else if ok {
			m.device(x.DeviceID)
		}
		if err := push(w, w.rows.gaps, x, ok); err != nil {
			return err
		}
	}
	for i := range r.Losses {
		x := &r.Losses[i]
		from, to, ok := lossSpan(x)
		m.seeIf(ok, from, to)
		if err := push(w, w.rows.losses, x, ok); err != nil {
			return err
		}
	}
	for i := range r.Resets {
		x := &r.Resets[i]
		m.device(x.DeviceID)
		if err := push(w, w.rows.resets, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	return nil
}

// writeHost takes what the source itself drew, sampled or said.
func (w *Writer) writeHost(r *correlate.Rows) error {
	m := w.m
	for i := range r.Slices {
		x := &r.Slices[i]
		s, e, ok := sliceSpan(x)
		m.seeIf(ok, s, e)
		if ok && x.Track == "" {
			m.thread(x.ProcessID, x.PID, x.TID).touch(s)
		} else if ok {
			m.proc(x.ProcessID, x.PID).touch(s)
		}
		if err := push(w, w.rows.slices, x, ok); err != nil {
			return err
		}
	}
	for i := range r.Counters {
		x := &r.Counters[i]
		if x.DeviceID != 0 {
			m.device(x.DeviceID)
		}
		if err := push(w, w.rows.counters, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.Marks {
		x := &r.Marks[i]
		m.thread(x.ProcessID, x.PID, x.TID).touch(timeOf(x.TSNS))
		if err := push(w, w.rows.marks, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.Others {
		x := &r.Others[i]
		m.thread(x.ProcessID, x.PID, x.TID)
		if err := push(w, w.rows.others, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.LogLines {
		x := &r.LogLines[i]
		if err := push(w, w.rows.logs, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) seeIf(ok bool, start, end int64) {
	if ok {
		m.see(start, end)
	}
}

// instant reports whether a time is known, and widens the range by it.
func (m *model) instant(at correlate.OptTime) bool {
	t := timeOf(at)
	m.seeIf(t != never, t, t)
	return t != never
}

// push gives a row to its sorter, or counts that it has no time.
func push[T any](w *Writer, to *export.Sorter[T], row *T, ok bool) error {
	if !ok {
		w.m.counters.Add(&AnomalyNoTime, 1)
		return nil
	}
	return to.Push(row)
}

func (w *Writer) addAPI(r *correlate.APICall) error {
	s, e, ok := apiSpan(r)
	w.m.seeIf(ok, s, e)
	if ok {
		*w.m.apis.put(r.ID) = span{s, e, true}
		w.m.thread(r.ProcessID, r.PID, r.TID).touch(s)
	}
	return push(w, w.rows.apis, r, ok)
}

func (w *Writer) addIoctl(r *correlate.Ioctl) error {
	s, e, ok := ioctlSpan(r)
	w.m.seeIf(ok, s, e)
	if ok {
		*w.m.ioctls.put(r.ID) = span{s, e, true}
		w.m.thread(r.ProcessID, r.PID, r.TID).touch(s)
	}
	return push(w, w.rows.ioctls, r, ok)
}

func (w *Writer) addWait(r *correlate.FenceWait) error {
	s, e, ok := waitSpan(r)
	w.m.seeIf(ok, s, e)
	if ok {
		i := waitInfo{start: s, woken: never, ok: true}
		if sig := timeOf(r.SignalNS); sig != never && s < sig && sig < e && e != forever {
			i.woken = sig
		}
		*w.m.waits.put(r.ID) = i
		w.m.thread(r.ProcessID, r.PID, r.TID).touch(s)
	}
	return push(w, w.rows.waits, r, ok)
}

func (w *Writer) addActivity(r *correlate.GPUActivity) error {
	s, e, ok := activitySpan(r)
	w.m.seeIf(ok, s, e)
	if ok {
		*w.m.activities.put(r.ID) = span{s, e, true}
		w.m.device(r.DeviceID)
		w.m.proc(r.ProcessID, r.PID).touch(s)
	}
	return push(w, w.rows.activities, r, ok)
}

func (w *Writer) addJob(r *correlate.Job) error {
	m := w.m
	at, ok := jobSpan(r)
	if !ok || r.ID <= 0 {
		return push(w, w.rows.jobs, r, false)
	}
	j := m.jobs.put(r.ID)
	if j.flags&jobPut != 0 {
		return nil // a row is given once; a second one would be drawn twice
	}
	*j = jobInfo{
		queued: timeOf(r.QueuedNS), run: timeOf(r.RunNS), start: timeOf(r.DeviceStartNS),
		done: timeOf(r.DoneNS), finished: timeOf(r.FinishedNS), end: never, flags: jobPut, deps: j.deps,
	}
	if j.start == never {
		j.start = j.run
	}
	if r.SchedJobID.OK {
		j.sched, j.flags = r.SchedJobID.V, j.flags|jobSched
	}
	if r.Owner == "kernel" {
		j.flags |= jobKernel
	}
	switch r.EndKind {
	case "lost", "before_start", "evicted":
		if j.done == never {
			j.flags |= jobLost
		}
	case "killed":
	default:
		if j.done == never {
			j.flags |= jobOpen
		}
	}
	m.see(at, max(at, j.done, j.finished))
	j.ring = m.ring(r.DeviceID, r.Ring)
	j.ring.jobs = true
	if j.ring.first == never || at < j.ring.first {
		j.ring.first = at
	}
	if j.queued != never {
		j.thread = m.thread(r.ProcessID, r.PID, r.TID)
		j.thread.touch(at)
	}
	m.jobIDs = append(m.jobIDs, r.ID)
	return w.rows.jobs.Push(r)
}

func (m *model) addDep(r *correlate.JobDep) {
	if r.JobID <= 0 || r.OnJobID <= 0 {
		return // nothing tells when the fence signalled: no stage of its own
	}
	j := m.jobs.put(r.JobID)
	m.deps = append(m.deps, dep{r.OnJobID, timeOf(r.TSNS), r.OnFenceContext, r.OnFenceSeqno, j.deps})
	j.deps = uint32(len(m.deps))
}

// addReason keeps why a row lacks a partner that its slice would point to.
func (m *model) addReason(r *correlate.Unmatched) {
	t := codeOf(r.SrcTable)
	if t == tabOther || r.SrcID <= 0 {
		return
	}
	if p := m.reasons[t].put(r.SrcID); *p == 0 {
		*p = m.word(r.Reason)
	}
}

// addIdentity takes names: rows that come at the end.
func (w *Writer) addIdentity(r *correlate.Rows) {
	m := w.m
	for i := range r.Processes {
		x := &r.Processes[i]
		p := m.proc(x.ID, x.PID)
		if p == nil {
			continue // neither id nor pid: nothing can refer to it
		}
		p.named = true
		if x.PID.OK {
			p.pid = x.PID.V
		}
		p.name, p.cmdline, p.start, p.end, p.ppid = x.Name, x.Cmdline, x.StartNS, timeOf(x.EndNS), x.PPID.V
		p.inferred = x.PIDInferred
	}
	for i := range r.Threads {
		x := &r.Threads[i]
		if t := m.thread(x.ProcessID, x.PID, x.TID); t != nil {
			t.name = x.Name
		}
	}
	for i := range r.Devices {
		d := m.device(r.Devices[i].ID)
		d.row, d.known = r.Devices[i], true
	}
	w.anomalies = append(w.anomalies, r.Anomalies...)
	m.counters.Add(&AnomalyNotDrawn, uint64(len(r.IRQs)+len(r.MemMaps)+len(r.Samples)+len(r.Flows)))
}
