package check

import (
	"fmt"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// chain holds a log with calls of the API to what the program told: every
// launch has its call, in it one ioctl, of that one job, with its fences; every
// wait for a job is one for that job. All links are exact or nested.
func (r *results) chain(p *product) []string {
	ch := newChain(p)
	c := comparison{}
	jobs := map[int][]*Job{} // by thread
	byKey := map[Key]*Job{}
	for _, j := range r.truth.Jobs {
		jobs[j.TID] = append(jobs[j.TID], j)
		byKey[j.Key] = j
	}
	for _, call := range r.calls {
		switch {
		case call.Name == "call" && call.API == "cuLaunchKernel":
			for _, j := range jobs[call.TID] {
				if call.Enter <= j.Queue && j.Queue <= call.Exit {
					ch.launch(&c, call, j)
				}
			}
		case call.Name == "wait":
			ch.wait(&c, call, byKey[call.Key])
		}
	}
	return c.problems
}

type chained struct {
	p     *product
	calls map[int64][]*correlate.APICall // by thread
	ioctl map[correlate.ID]*correlate.Ioctl
	jobs  map[Key]*correlate.Job
	waits map[int64][]*correlate.FenceWait // by thread
	links map[string]string                // rule and ids: confidence
}

func newChain(p *product) *chained {
	ch := &chained{p: p, calls: map[int64][]*correlate.APICall{}, ioctl: map[correlate.ID]*correlate.Ioctl{},
		jobs: map[Key]*correlate.Job{}, waits: map[int64][]*correlate.FenceWait{}, links: map[string]string{}}
	for i := range p.rows.APICalls {
		a := &p.rows.APICalls[i]
		ch.calls[a.TID.V] = append(ch.calls[a.TID.V], a)
	}
	for i := range p.rows.Ioctls {
		ch.ioctl[p.rows.Ioctls[i].ID] = &p.rows.Ioctls[i]
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
	job := ch.jobs[j.Key]
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

// wait holds a wait by the driver's ioctl to the job that it is for. None is
// there if the fence had signalled before the driver looked.
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
	job := ch.jobs[j.Key]
	if row == nil {
		if j.Finished > call.Exit {
			c.problem(j, "%s: the wait for it has no row", ch.p.what)
		}
		return
	}
	if job == nil || row.JobID != job.ID {
		c.problem(j, "%s: the wait for it is one for job %d", ch.p.what, row.JobID)
		return
	}
	ch.linked(c, j, correlate.RuleFenceWait, job.ID, row.ID, correlate.Exact)
	ch.linked(c, j, correlate.RuleIoctlWait, row.IoctlID, row.ID, correlate.Nested)
	if row.SignalNS.OK && int64(row.SignalNS.V) < j.Finished {
		c.problem(j, "%s: its finished fence signalled at %d, not %d", ch.p.what, row.SignalNS.V, j.Finished)
	}
}
