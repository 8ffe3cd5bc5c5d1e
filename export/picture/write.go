package picture

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// Write implements [export.Sink]: rows go to the sorters, and into the model
// what other rows will need of them.
func (pic *Picture) Write(r *correlate.Rows) error {
	m := pic.m
	if pic.o.Window != nil { // its edges may count from the start, which the first rows tell
		m.clip.from, m.clip.to = pic.o.Window.Bounds()
	}
	m.countFar(r)
	for i := range r.APICalls {
		if err := pic.addAPI(&r.APICalls[i]); err != nil {
			return err
		}
	}
	for i := range r.Ioctls {
		if err := pic.addIoctl(&r.Ioctls[i]); err != nil {
			return err
		}
	}
	for i := range r.Jobs {
		if err := pic.addJob(&r.Jobs[i]); err != nil {
			return err
		}
	}
	for i := range r.FenceWaits {
		if err := pic.addWait(&r.FenceWaits[i]); err != nil {
			return err
		}
	}
	for i := range r.GPUActivities {
		if err := pic.addActivity(&r.GPUActivities[i]); err != nil {
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
		if err := pic.addSched(&r.Sched[i]); err != nil {
			return err
		}
	}
	if err := pic.writeRest(r); err != nil {
		return err
	}
	if err := m.pages.err; err != nil {
		return err
	}
	return pic.rows.fit()
}

// writeRest takes the tables of which there are few rows.
func (pic *Picture) writeRest(r *correlate.Rows) error {
	if err := pic.writeGPU(r); err != nil {
		return err
	}
	if err := pic.writeHost(r); err != nil {
		return err
	}
	pic.addIdentity(r)
	return nil
}

// writeGPU takes gaps, resets and losses.
func (pic *Picture) writeGPU(r *correlate.Rows) error {
	m := pic.m
	for i := range r.IdleGaps {
		x := &r.IdleGaps[i]
		from, to, ok := m.clip.gap(x)
		m.seeIf(ok, from, to)
		if ok && x.Ring != "" {
			m.ring(x.DeviceID, x.Ring)
		} else if ok {
			m.device(x.DeviceID)
		}
		if err := push(pic, pic.rows.gaps, x, ok); err != nil {
			return err
		}
	}
	for i := range r.Losses {
		x := &r.Losses[i]
		from, to, ok := m.clip.loss(x)
		m.seeIf(ok, from, to)
		if err := push(pic, pic.rows.losses, x, ok); err != nil {
			return err
		}
	}
	for i := range r.Resets {
		x := &r.Resets[i]
		m.device(x.DeviceID)
		if err := push(pic, pic.rows.resets, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	return nil
}

// writeHost takes what the source itself drew, sampled or said.
func (pic *Picture) writeHost(r *correlate.Rows) error {
	m := pic.m
	for i := range r.Slices {
		x := &r.Slices[i]
		s, e, ok := m.clip.slice(x)
		m.seeIf(ok, s, e)
		if !ok {
			m.counters.Add(&AnomalyNoTime, 1)
			continue
		}
		var t *Thread
		var p *Process
		if x.Track == "" {
			t = m.thread(x.ProcessID, x.PID, x.TID)
			t.touch(s)
		} else {
			p = m.process(x.ProcessID, x.PID)
			p.touch(s)
		}
		row := pic.slimSlice(x, s, e, t, p)
		if err := pic.rows.slices.Push(&row); err != nil {
			return err
		}
	}
	for i := range r.Counters {
		x := &r.Counters[i]
		if x.DeviceID != 0 {
			m.device(x.DeviceID)
		}
		if err := push(pic, pic.rows.counters, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.Marks {
		x := &r.Marks[i]
		m.thread(x.ProcessID, x.PID, x.TID).touch(timeOf(x.TSNS))
		if err := push(pic, pic.rows.marks, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.Others {
		x := &r.Others[i]
		m.thread(x.ProcessID, x.PID, x.TID)
		if err := push(pic, pic.rows.others, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	if err := pic.writePoints(r); err != nil {
		return err
	}
	for i := range r.LogLines {
		x := &r.LogLines[i]
		if err := push(pic, pic.rows.logs, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	return nil
}

// writePoints takes what threads did or were seen at.
func (pic *Picture) writePoints(r *correlate.Rows) error {
	m := pic.m
	for i := range r.Samples {
		x := &r.Samples[i]
		m.thread(x.ProcessID, x.PID, x.TID).touch(timeOf(x.TSNS))
		if err := push(pic, pic.rows.samples, x, m.instant(x.TSNS)); err != nil {
			return err
		}
	}
	for i := range r.MemMaps {
		x := &r.MemMaps[i]
		m.thread(x.ProcessID, x.PID, x.TID).touch(timeOf(x.TSNS))
		if err := push(pic, pic.rows.maps, x, m.instant(x.TSNS)); err != nil {
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
func push[T any](pic *Picture, to *export.Sorter[T], row *T, ok bool) error {
	if !ok {
		return pic.noTime()
	}
	return to.Push(row)
}

// noTime counts a row that cannot be placed.
func (pic *Picture) noTime() error {
	pic.m.counters.Add(&AnomalyNoTime, 1)
	return nil
}

func (pic *Picture) addAPI(r *correlate.APICall) error {
	if r.SameAsID != 0 {
		pic.m.addTwin(tabAPI, r.SameAsID, r.ID)
		return nil
	}
	s, e, ok := pic.m.clip.api(r)
	if !ok {
		return pic.noTime()
	}
	pic.m.see(s, e)
	*pic.m.apis.put(r.ID) = spanOf(s, e)
	t := pic.m.thread(r.ProcessID, r.PID, r.TID)
	t.touch(s)
	row := pic.slimAPI(r, s, e, t)
	return pic.rows.apis.Push(&row)
}

func (pic *Picture) addIoctl(r *correlate.Ioctl) error {
	s, e, ok := pic.m.clip.ioctl(r)
	if !ok {
		return pic.noTime()
	}
	pic.m.see(s, e)
	*pic.m.ioctls.put(r.ID) = spanOf(s, e)
	t := pic.m.thread(r.ProcessID, r.PID, r.TID)
	t.touch(s)
	row := pic.slimIoctl(r, s, e, t)
	return pic.rows.ioctls.Push(&row)
}

func (pic *Picture) addWait(r *correlate.FenceWait) error {
	s, e, ok := pic.m.clip.wait(r)
	if !ok {
		return pic.noTime()
	}
	pic.m.see(s, e)
	t := pic.m.thread(r.ProcessID, r.PID, r.TID)
	t.touch(s)
	row := pic.slimWait(r, s, e, t)
	i := waitInfo{start: s, ok: true}
	if at := row.wokenAt(); at != never {
		i.woken = at - s
	}
	*pic.m.waits.put(r.ID) = i
	return pic.rows.waits.Push(&row)
}

func (pic *Picture) addActivity(r *correlate.GPUActivity) error {
	if r.SameAsID != 0 {
		pic.m.addTwin(tabActivity, r.SameAsID, r.ID)
		return nil
	}
	s, e, ok := pic.m.clip.activity(r)
	if !ok {
		return pic.noTime()
	}
	pic.m.see(s, e)
	*pic.m.activities.put(r.ID) = spanOf(s, e)
	pic.m.device(r.DeviceID)
	p := pic.m.process(r.ProcessID, r.PID)
	p.touch(s)
	row := pic.slimActivity(r, s, e, p)
	return pic.rows.activities.Push(&row)
}

func (pic *Picture) addJob(r *correlate.Job) error {
	m := pic.m
	at, ok := m.clip.job(r)
	switch {
	case ok && r.ID > 0:
	case timeOf(r.DoneNS) != never || timeOf(r.FinishedNS) != never: // its end alone
		m.counters.Add(&AnomalyJobNotDrawn, 1)
		return nil
	default:
		return pic.noTime()
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
	m.clip.jobTimes(j)
	m.see(at, max(at, j.done, j.finished))
	ring := m.ring(r.DeviceID, r.Ring)
	j.ring, ring.jobs = ring.n, true
	if ring.first == never || at < ring.first {
		ring.first = at
	}
	if j.start != never && j.done != never {
		ring.lastRun = max(ring.lastRun, j.start)
	}
	if j.queued != never {
		if t := m.thread(r.ProcessID, r.PID, r.TID); t != nil {
			j.thread = t.n
			t.touch(at)
		}
	}
	if err := pic.rows.settle.Push(&settling{j.start, j.done, r.ID}); err != nil {
		return err
	}
	row := pic.slimJob(r, at)
	return pic.rows.jobs.Push(&row)
}

func (m *model) addDep(r *correlate.JobDep) {
	if r.JobID <= 0 || r.OnJobID <= 0 {
		return // nothing tells when the fence signalled: no stage of its own
	}
	j := m.jobs.put(r.JobID)
	next := j.deps
	j.deps = m.deps.n + 1
	m.deps.add(dep{r.OnJobID, timeOf(r.TSNS), r.OnFenceContext.V, r.OnFenceSeqno.V, next, r.OnFenceContext.OK && r.OnFenceSeqno.OK})
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
func (pic *Picture) addIdentity(r *correlate.Rows) {
	m := pic.m
	for i := range r.Processes {
		x := &r.Processes[i]
		p := m.process(x.ID, x.PID)
		if p == nil {
			continue // neither id nor pid: nothing can refer to it
		}
		p.named = true
		if x.PID.OK {
			p.PID = x.PID.V
		}
		p.Name, p.Cmdline, p.Started, p.end, p.PPID = x.Name, x.Cmdline, x.StartNS, timeOf(x.EndNS), x.PPID.V
		p.Inferred = x.PIDInferred
		p.place = place{x.Host, x.Rank, x.Unaligned}
	}
	for i := range r.Threads {
		x := &r.Threads[i]
		if t := m.thread(x.ProcessID, x.PID, x.TID); t != nil {
			t.Name = x.Name
		}
	}
	for i := range r.Devices {
		if d := m.device(r.Devices[i].ID); d.Row.ID != furtherDevices {
			d.Row, d.Known = r.Devices[i], true
		}
	}
	pic.anomalies = append(pic.anomalies, r.Anomalies...)
	m.counters.Add(&AnomalyNotDrawn, uint64(len(r.IRQs)+len(r.Flows)))
}
