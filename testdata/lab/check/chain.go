package check

import (
	"fmt"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// chain holds a log to what the programs told: every launch has its call, in it
// one ioctl, of that one job, with its fences; every wait for a job is one for
// that job. All links are exact or nested, but for jobs that wake a thread out of
// one of DRM's waits, which order on a CPU tells. ftrace shows no calls.
func (r *results) chain(p *product) []string {
	ch := newChain(p)
	c := comparison{excused: p.excused}
	for _, j := range r.truth.Jobs {
		ch.lows[j.Key.low()]++
	}
	jobs := map[int][]*Job{} // by thread
	byKey := map[Key]*Job{}
	for _, j := range r.truth.Jobs {
		jobs[j.TID] = append(jobs[j.TID], j)
		byKey[j.Key] = j
	}
	out := r.outs(byKey)
	var launched []*Job
	for _, call := range r.calls {
		switch {
		case call.Name == "call" && call.API == "cuLaunchKernel" && p.bpf:
			for _, j := range jobs[call.TID] {
				if call.Enter <= j.Queue && j.Queue <= call.Exit {
					ch.launch(&c, call, j)
					launched = append(launched, j)
				}
			}
		case call.Name == "wait" && call.Kind == "driver":
			ch.wait(&c, call, byKey[call.Key])
		case call.Name == "wait":
			ch.syncWait(&c, call, out(call))
		}
	}
	waited := int64(0)
	for _, j := range launched {
		if ch.waited[j] {
			waited++
		}
	}
	if p.bpf {
		r.count("launches_waited", waited)
	}
	for name, n := range ch.counts {
		if p.log {
			r.count(name, n)
		}
	}
	return c.problems
}

// outs finds the job whose fence a syncobj, or a point of it, held when a wait
// for it began.
func (r *results) outs(byKey map[Key]*Job) func(wait Call) *Job {
	type place struct {
		pid           int
		handle, point uint64
	}
	put := map[place][]Call{}
	for _, c := range r.calls {
		if c.Name == "submit" && c.Handle != 0 {
			at := place{c.PID, c.Handle, c.Point}
			put[at] = append(put[at], c)
		}
	}
	return func(wait Call) (j *Job) {
		last := int64(0)
		for _, c := range put[place{wait.PID, wait.Handle, wait.Point}] {
			if c.Exit <= wait.Enter && c.Exit > last {
				j, last = byKey[c.Key], c.Exit
			}
		}
		return j
	}
}

type chained struct {
	p     *product
	calls map[int64][]*correlate.APICall // by thread
	ioctl map[correlate.ID]*correlate.Ioctl
	jobs  map[Key]*correlate.Job
	waits map[int64][]*correlate.FenceWait // by thread
	links map[string]string                // rule and ids: confidence

	ioctls map[int64][]*correlate.Ioctl // by thread
	waited map[*Job]bool                // has a wait that is linked to it
	counts map[string]int64
	lows   map[Key]int // jobs of the truth with these low halves
}

func newChain(p *product) *chained {
	ch := &chained{p: p, calls: map[int64][]*correlate.APICall{}, ioctl: map[correlate.ID]*correlate.Ioctl{},
		jobs: map[Key]*correlate.Job{}, waits: map[int64][]*correlate.FenceWait{}, links: map[string]string{},
		ioctls: map[int64][]*correlate.Ioctl{}, waited: map[*Job]bool{},
		lows: map[Key]int{}, counts: map[string]int64{"driver_waits": 0, "syncobj_waits": 0, "wakes": 0}}
	for i := range p.rows.APICalls {
		a := &p.rows.APICalls[i]
		ch.calls[a.TID.V] = append(ch.calls[a.TID.V], a)
	}
	for i := range p.rows.Ioctls {
		o := &p.rows.Ioctls[i]
		ch.ioctl[o.ID] = o
		ch.ioctls[o.TID.V] = append(ch.ioctls[o.TID.V], o)
	}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		ch.jobs[Key{j.FenceContext.V, j.FenceSeqno.V}] = j
	}
	for i := range p.rows.FenceWaits {
		w := &p.rows.FenceWaits[i]
		ch.waits[w.TID.V] = append(ch.waits[w.TID.V], w)
	}
	for _, l := range p.rows.Links {
		ch.links[linkKey(l.Rule, l.SrcID, l.DstID)] = l.Confidence
	}
	return ch
}

func linkKey(rule string, src, dst correlate.ID) string {
	return fmt.Sprintf("%s %d %d", rule, src, dst)
}

// linked holds that a link is there, with one of these confidences.
func (ch *chained) linked(c *comparison, j *Job, rule string, src, dst correlate.ID, want ...correlate.Confidence) {
	got := ch.links[linkKey(rule, src, dst)]
	if !slices.Contains(want, correlate.Confidence(got)) {
		c.problem(j, "%s: link %s is %q, not one of %v", ch.p.what, rule, got, want)
	}
}

func (ch *chained) launch(c *comparison, call Call, j *Job) {
	var row *correlate.APICall
	for _, a := range ch.calls[int64(call.TID)] {
		if a.Name == call.API && int64(a.StartNS.V) >= call.Enter && int64(a.EndNS.V) <= call.Exit {
			row = a
		}
	}
	job := ch.job(j)
	if row == nil || job == nil {
		c.problem(j, "%s: its launch has no row, or it has none (%v, %v)", ch.p.what, row != nil, job != nil)
		return
	}
	ioctl := ch.ioctl[job.IoctlID]
	if ioctl == nil || ioctl.APICallID != row.ID || job.APICallID != row.ID {
		c.problem(j, "%s: its ioctl %d and call %d are not those of the launch %d", ch.p.what, job.IoctlID, job.APICallID, row.ID)
		return
	}
	if ioctl.Role != "submit" || ioctl.Driver != "mockgpu" || ioctl.TID.V != int64(call.TID) {
		c.problem(j, "%s: queued in an ioctl of %s, role %s, thread %d", ch.p.what, ioctl.Driver, ioctl.Role, ioctl.TID.V)
	}
	ch.linked(c, j, correlate.RuleAPIIoctl, row.ID, ioctl.ID, correlate.Nested)
	ch.linked(c, j, correlate.RuleIoctlJob, ioctl.ID, job.ID, correlate.Nested)
	for _, rule := range []string{correlate.RuleJobRun, correlate.RuleJobDone, correlate.RuleJobFence, correlate.RuleJobHWFence} {
		if got := ch.p.links[job.ID][rule]; got != string(correlate.Exact) {
			c.problem(j, "%s: link %s is %q, not exact", ch.p.what, rule, got)
		}
	}
	if low := (Key{job.HWFenceContext.V, job.HWFenceSeqno.V}); len(j.HW) == 0 || low != j.HW[len(j.HW)-1].Key {
		c.problem(j, "%s: hardware fence %v, the truth has %v", ch.p.what, low, j.HW)
	}
}

// wait holds a wait by the driver's ioctl to the job that it is for.
func (ch *chained) wait(c *comparison, call Call, j *Job) {
	if j == nil {
		return // the comparison of clients says so
	}
	var row *correlate.FenceWait
	for _, w := range ch.waits[int64(call.TID)] {
		if int64(w.StartNS.V) >= call.Enter && int64(w.EndNS.V) <= call.Exit {
			row = w
		}
	}
	job := ch.job(j)
	switch {
	case row == nil:
		c.problem(j, "%s: the wait for it has no row", ch.p.what)
		return
	case row.JobID == 0 && !ch.p.bpf && ch.lows[j.Key.low()] > 1:
		return // the event shows low halves only, which several jobs have
	case job == nil || row.JobID != job.ID:
		c.problem(j, "%s: the wait for it is one for job %d", ch.p.what, row.JobID)
		return
	}
	ch.linked(c, j, correlate.RuleFenceWait, job.ID, row.ID, correlate.Exact)
	ch.linked(c, j, correlate.RuleIoctlWait, row.IoctlID, row.ID, correlate.Nested)
	ch.inCall(c, call, j, ch.ioctl[row.IoctlID])
	if row.SignalNS.OK && int64(row.SignalNS.V) < j.Finished {
		c.problem(j, "%s: its finished fence signalled at %d, not %d", ch.p.what, row.SignalNS.V, j.Finished)
	}
	ch.waited[j] = true
	ch.counts["driver_waits"]++
}

// syncWait holds a wait by DRM's ioctls, which shows no wait of dma_fence, to the
// job that it is for. If a fence is said to have woken the thread, it is that
// job's; else nothing better is known. A point of a timeline signals from an
// interrupt of its own, which no event joins to the job.
func (ch *chained) syncWait(c *comparison, call Call, j *Job) {
	if j == nil {
		c.problems = append(c.problems, fmt.Sprintf("%s: thread %d waits for a syncobj that no job signals", ch.p.what, call.TID))
		return
	}
	var row *correlate.Ioctl
	for _, o := range ch.ioctls[int64(call.TID)] {
		if int64(o.StartNS.V) >= call.Enter && o.EndNS.OK && int64(o.EndNS.V) <= call.Exit {
			row = o
		}
	}
	if row == nil || row.Role != "wait" {
		c.problem(j, "%s: the wait for it has no ioctl of the role wait (%v)", ch.p.what, row != nil)
		return
	}
	ch.inCall(c, call, j, row)
	ch.counts["syncobj_waits"]++
	job, woken, reason := ch.job(j), ch.p.woken[row.ID], ch.p.lacks[lackKey("ioctls", row.ID, "job")]
	if len(woken) == 0 {
		if reason != string(correlate.NotRecorded) {
			c.problem(j, "%s: the wait for it has no job as %q, not as not_recorded", ch.p.what, reason)
		}
		return
	}
	if len(woken) != 1 || job == nil || woken[0] != job.ID || reason != "" {
		c.problem(j, "%s: the wait for it is woken by %v (lacks it as %q)", ch.p.what, woken, reason)
		return
	}
	ch.linked(c, j, correlate.RuleJobWake, job.ID, row.ID, correlate.Adjacent)
	ch.waited[j] = true
	ch.counts["wakes"]++
}

// inCall holds that an ioctl lies in the call of the API around it, if the
// program told of one, and that the log shows calls.
func (ch *chained) inCall(c *comparison, call Call, j *Job, ioctl *correlate.Ioctl) {
	if ioctl == nil {
		c.problem(j, "%s: its wait lies in no ioctl", ch.p.what)
		return
	}
	for _, a := range ch.calls[int64(call.TID)] {
		if a.StartNS.OK && a.EndNS.OK && int64(a.StartNS.V) <= call.Enter && call.Exit <= int64(a.EndNS.V) {
			ch.linked(c, j, correlate.RuleAPIIoctl, a.ID, ioctl.ID, correlate.Nested)
		}
	}
}

// job is the row of a job, by its whole key or, where logs have no more, its low halves.
func (ch *chained) job(j *Job) *correlate.Job {
	if row := ch.jobs[j.Key]; row != nil {
		return row
	}
	return ch.jobs[j.Key.low()]
}
