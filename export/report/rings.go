package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

type ringKey struct {
	device correlate.ID
	ring   string
}

// ringAcc gathers a ring.
type ringAcc struct {
	Ring
	device                         correlate.ID
	submit, queue, hw, dev, signal *dist
	depend                         *dist
	backlog                        backlog
	idle                           map[string]*idleAcc
	neverRan, unfinished           jobRef // the first of them
	failed, rerun, slowest         jobRef
	killed                         bool // one of neverRan was
	processes                      map[correlate.ID]bool
}

// jobRef points to a job.
type jobRef struct {
	id         correlate.ID
	sched      correlate.OptUint
	process    correlate.ID
	start, end correlate.OptTime
	error      int64
}

// gapRef points to an idle gap.
type gapRef struct {
	start, end         int64
	job, call, process correlate.ID // that ended it
}

type idleAcc struct {
	IdleCause
	was map[string]*SubmitterWas
}

type submitKey struct {
	by      string // byJobs, byCalls
	device  correlate.ID
	ring    string
	process correlate.ID
}

func (b *Builder) ring(device correlate.ID, ring string) *ringAcc {
	return getOf(maxRings, &b.rep.Capped, b.rings, ringKey{device, ring}, ringKey{}, func(k ringKey) *ringAcc {
		a := &ringAcc{device: k.device, idle: map[string]*idleAcc{}, processes: map[correlate.ID]bool{}}
		a.Ring.Ring = k.ring
		for _, d := range []**dist{&a.submit, &a.queue, &a.depend, &a.hw, &a.dev, &a.signal} {
			*d = b.dists.get()
		}
		return a
	})
}

func (b *Builder) addJob(j *correlate.Job) {
	b.see(j.QueuedNS)
	b.see(j.RunNS)
	b.see(j.DoneNS)
	b.see(j.FinishedNS)
	b.seen.jobs = true
	b.seen.run = b.seen.run || j.RunNS.OK
	b.seen.done = b.seen.done || j.DoneNS.OK
	a := b.ring(j.DeviceID, j.Ring)
	if len(a.processes) < maxKeys && j.ProcessID != 0 {
		a.processes[j.ProcessID] = true
	}
	a.submit.addOpt(j.SubmitNS, row{j.ID, j.QueuedNS, j.QueuedNS})
	a.queue.addOpt(j.QueueDelayNS, row{j.ID, j.QueuedNS, j.RunNS})
	a.depend.addOpt(j.DepWaitNS, row{j.ID, j.QueuedNS, j.RunNS})
	a.hw.addOpt(j.HWQueueNS, row{j.ID, j.RunNS, j.DeviceStartNS})
	a.dev.addOpt(j.DeviceTimeNS, row{j.ID, j.DeviceStartNS, j.DoneNS})
	if j.FinishedNS.OK && j.DoneNS.OK {
		a.signal.addRow(int64(j.FinishedNS.V-j.DoneNS.V), row{j.ID, j.DoneNS, j.FinishedNS})
	}
	b.jobEnd(a, j)
	b.backlogged(a, j)
	if j.QueuedNS.OK {
		b.submitted(submitKey{byJobs, j.DeviceID, j.Ring, j.ProcessID}, int64(j.QueuedNS.V))
	}
	b.jobWork(j)
}

// jobEnd counts how a job ended.
func (b *Builder) jobEnd(a *ringAcc, j *correlate.Job) {
	ref := jobRef{id: j.ID, sched: j.SchedJobID, process: j.ProcessID, start: j.QueuedNS, end: j.DoneNS, error: j.Error.V}
	first := func(n *int64, to *jobRef) {
		if *n++; to.id == 0 || ref.id < to.id {
			*to = ref
		}
	}
	if j.QueuedNS.OK && !j.RunNS.OK && (j.EndKind == "killed" || j.EndKind == "open") {
		first(&a.NeverRan, &a.neverRan)
		a.killed = a.killed || j.EndKind == "killed"
	}
	if j.RunNS.OK && !j.DoneNS.OK && j.EndKind == "open" {
		ref.start = j.RunNS
		first(&a.Unfinished, &a.unfinished)
	}
	if j.Error.OK && j.Error.V != 0 {
		first(&a.Failed, &a.failed)
	}
	if j.Runs > 1 {
		first(&a.Rerun, &a.rerun)
	}
	switch j.Fate {
	case "guilty":
		a.Guilty++
	case "cancelled":
		a.Cancelled++
	}
	if j.QueueDelayNS.OK && j.QueueDelayNS.V == a.queue.max && a.queue.maxRow.id == j.ID {
		ref.start, ref.end = j.QueuedNS, j.RunNS
		a.slowest = ref
	}
}

// submitted takes the time at which a process queued a job.
func (b *Builder) submitted(k submitKey, at int64) {
	x := getOf(maxSubmits, &b.rep.Capped, b.submits, k, submitKey{}, func(submitKey) *intervals {
		x := &intervals{}
		b.dists.list = append(b.dists.list, &x.dist)
		x.dist.all = &b.dists
		b.submitList = append(b.submitList, x)
		return x
	})
	before := len(x.times)
	b.times += x.add(at) - before
	if b.times <= maxAllTimes {
		return
	}
	for _, o := range b.submitList {
		if len(o.times) > len(x.times) {
			x = o
		}
	}
	before = len(x.times)
	x.flush(before / 2)
	b.times += len(x.times) - before
}

func (b *Builder) addRing(s *correlate.Ring) {
	a := b.ring(s.DeviceID, s.Ring)
	a.Jobs += s.Jobs
	a.Done += s.Done
	a.MaxBacklog = max(a.MaxBacklog, s.MaxBacklog)
	a.BusyNS += s.BusyNS.V
	a.IdleNS += s.IdleNS.V
}

// fenceNumbers are the context:seqno in what a submitter waited for.
var fenceNumbers = pattern(` \d+:\d+`)

func (b *Builder) addGap(g *correlate.IdleGap) {
	a := b.ring(g.DeviceID, g.Ring)
	if g.SubmitterID != 0 && len(a.processes) < maxKeys {
		a.processes[g.SubmitterID] = true
	}
	c := a.idle[g.Cause]
	if c == nil {
		c = &idleAcc{IdleCause: IdleCause{Cause: g.Cause}, was: map[string]*SubmitterWas{}}
		a.idle[g.Cause] = c
	}
	ns := int64(g.EndNS.V - g.StartNS.V)
	c.Count++
	c.SumNS += ns
	if ns > c.MaxNS || c.Count == 1 {
		c.MaxNS = ns
		c.longest = gapRef{int64(g.StartNS.V), int64(g.EndNS.V), g.JobID, g.APICallID, g.SubmitterID}
	}
	if g.Cause != "nothing_submitted" {
		return
	}
	what := fenceNumbers().ReplaceAllString(g.SubmitterWas, "")
	w := get(&b.rep.Capped, c.was, what, "", func(what string) *SubmitterWas { return &SubmitterWas{What: what} })
	w.Count++
	w.SumNS += ns
}

func (b *Builder) endRings() {
	for _, a := range b.rings {
		x := a.Ring
		x.acc = a
		x.DeviceID, x.GPU = idPtr(a.device), b.gpu(a.device)
		x.BusyRatio = ratio(a.BusyNS, a.BusyNS+a.IdleNS)
		x.SubmitLatency, x.QueueDelay, x.HWQueue = a.submit.stats(), a.queue.stats(), a.hw.stats()
		x.DepWait, x.DeviceTime, x.SignalLatency = a.depend.stats(), a.dev.stats(), a.signal.stats()
		a.backlog.flush(len(a.backlog.steps))
		x.MaxQueued, x.MaxInFlight = int64(a.backlog.mostQueued), int64(a.backlog.mostInRun)
		x.BacklogTime, x.BacklogApprox = a.backlog.times(), a.backlog.late
		x.IdleByCause = []IdleCause{}
		for _, c := range a.idle {
			for _, w := range c.was {
				c.SubmitterWas = append(c.SubmitterWas, *w)
			}
			slices.SortFunc(c.SubmitterWas, func(p, q SubmitterWas) int {
				return cmp.Or(cmp.Compare(q.SumNS, p.SumNS), cmp.Compare(p.What, q.What))
			})
			x.IdleByCause = append(x.IdleByCause, c.IdleCause)
		}
		slices.SortFunc(x.IdleByCause, func(p, q IdleCause) int {
			return cmp.Or(cmp.Compare(q.SumNS, p.SumNS), cmp.Compare(p.Cause, q.Cause))
		})
		b.rep.Rings = append(b.rep.Rings, x)
	}
	slices.SortFunc(b.rep.Rings, func(x, y Ring) int {
		return cmp.Or(b.compareGPU(x.acc.device, y.acc.device), cmp.Compare(x.Ring, y.Ring))
	})
}

// compareGPU orders devices by their index; what is not known comes last.
func (b *Builder) compareGPU(x, y correlate.ID) int {
	index := func(id correlate.ID) int64 {
		if d := b.devices[id]; d != nil {
			return d.Index
		}
		return 1 << 62
	}
	return cmp.Or(cmp.Compare(index(x), index(y)), cmp.Compare(x, y))
}

func (b *Builder) endSubmissions() {
	for k, x := range b.submits {
		if k.by == byCalls && b.seen.jobs {
			continue // the jobs tell it
		}
		x.flush(len(x.times))
		s := Submission{MeasuredBy: k.by, DeviceID: idPtr(k.device), GPU: b.gpu(k.device), Ring: k.ring, processID: int64(k.process), Regularity: x.regularity()}
		s.ProcessID, s.PID, s.Process = b.process(k.process)
		if s.inBursts() && !s.Intervals.Approximate {
			r := x.bursts(s.list).regularity()
			s.Bursts = &r
		}
		b.rep.Submissions = append(b.rep.Submissions, s)
	}
	slices.SortFunc(b.rep.Submissions, func(x, y Submission) int {
		return cmp.Or(cmp.Compare(y.Intervals.Count, x.Intervals.Count), cmp.Compare(x.GPU, y.GPU),
			cmp.Compare(x.Ring, y.Ring), cmp.Compare(x.processID, y.processID))
	})
}

// gpu names a device: its index, and what is known of it. "" is unknown.
func (b *Builder) gpu(id correlate.ID) string {
	d := b.devices[id]
	if d == nil {
		return ""
	}
	s := strconv.FormatInt(d.Index, 10)
	if n := cmp.Or(d.Name, d.Identity(), d.Driver); n != "" {
		s += " (" + n + ")"
	}
	return s
}

// process returns what names a process.
func (b *Builder) process(id correlate.ID) (processID, pid *int64, name string) {
	p := b.processes[id]
	if p == nil {
		return idPtr(id), nil, ""
	}
	return idPtr(id), ptr(p.PID), p.Name
}
