package check

import (
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// late is how much later than its moment an event may be written: the guest's
// CPU may turn to another thing between.
const late = int64(20e6)

// lossy compares a log of buffers that were too small with the truth and with
// the whole trace: what was produced was written or is counted as lost; jobs
// away from losses are whole; what others lack is said to be lost.
func (r *results) lossy(p *product) []string {
	c := &comparison{}
	lost := r.account(p, c)
	of := r.whose(p, c)
	rows := map[*Job]*correlate.Job{}
	for row, j := range of {
		rows[j] = row
		c.row(j, row, p)
	}
	hurt := int64(0)
	for _, j := range r.truth.Jobs {
		row := rows[j]
		near := p.lossWithin(j.Submit, j.Finished+late)
		if row == nil {
			if !near {
				c.problem(j, "%s: no such row, and no loss", p.what)
			}
			hurt++
			continue
		}
		if !p.doubtful(row) {
			c.order(j, row, p.what)
		}
		lacks := false
		for _, link := range []string{"queue", "run", "done", "finished", "fence", "hw_fence"} {
			switch reason := p.missing[row.ID][link]; {
			case reason == "":
			case reason != string(correlate.Lost):
				c.problem(j, "%s: lacks its %s as %q, not as lost", p.what, link, reason)
			case !near:
				c.problem(j, "%s: lacks its %s as lost, and there is no loss", p.what, link)
			default:
				lacks = true
			}
		}
		if lacks {
			hurt++
		}
	}
	r.count("log_lost", int64(lost))
	r.count("lost_jobs", hurt)
	return c.problems
}

// lossWithin reports whether a loss overlaps the time from a to b.
func (p *product) lossWithin(a, b int64) bool {
	for i := range p.rows.Losses {
		l := &p.rows.Losses[i]
		if (!l.StartNS.OK || int64(l.StartNS.V) <= b) && (!l.EndNS.OK || int64(l.EndNS.V) >= a) {
			return true
		}
	}
	return false
}

// account holds that produced = written + lost, and returns lost. What was
// produced the guest's own trace tells, which lost nothing.
func (r *results) account(p *product, c *comparison) (lost uint64) {
	produced, written, missed := uint64(0), uint64(0), uint64(0)
	for i := range r.trace.Events {
		if counted(r.trace.Events[i].Kind) {
			produced++
		}
	}
	for k, n := range p.sum.Events {
		if counted(event.Kind(k)) {
			written += n
		}
	}
	for i := range p.rows.Losses {
		if !p.rows.Losses[i].Count.OK {
			c.problems = append(c.problems, fmt.Sprintf("%s: loss %d has no count", p.what, p.rows.Losses[i].ID))
		}
		lost += p.rows.Losses[i].Count.V
	}
	for _, probe := range p.sum.Meta.Probes {
		if strings.HasPrefix(probe.Name, "gpu_scheduler:") || strings.HasPrefix(probe.Name, "dma_fence:") {
			missed += probe.Misses // a program that interrupted itself
		}
	}
	if produced != written+lost+missed {
		c.problems = append(c.problems, fmt.Sprintf("%s: %d events produced, %d written, %d lost, %d missed", p.what, produced, written, lost, missed))
	}
	return lost
}

// counted are the kinds of the scheduler's and dma_fence's tracepoints.
func counted(k event.Kind) bool {
	switch k {
	case event.KindJobQueue, event.KindJobRun, event.KindJobDone, event.KindJobDep, event.KindFenceInit, event.KindFenceEmit,
		event.KindFenceEnable, event.KindFenceSignal, event.KindFenceWaitStart, event.KindFenceWaitEnd, event.KindFenceDestroy:
		return true
	}
	return false
}
