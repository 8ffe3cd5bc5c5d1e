package check

import (
	"fmt"
	"math"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// whose finds the job of the truth that each row is of, also of rows whose
// queueing was not seen: by the fence, if all of its key is known, else by the
// address that was the job's at that time.
func (r *results) whose(p *product, c *comparison) map[*correlate.Job]*Job {
	byKey := map[Key]*Job{}
	byFence := map[uint64][]*Job{}
	for _, j := range r.truth.Jobs {
		byKey[j.Key] = j
		byFence[j.Fence] = append(byFence[j.Fence], j)
	}
	low := func(row *correlate.Job) Key { return Key{row.FenceContext.V, row.FenceSeqno.V}.low() }
	of := map[*correlate.Job]*Job{}
	rows := map[*Job]*correlate.Job{}
	for i := range p.rows.Jobs {
		row := &p.rows.Jobs[i]
		j := byKey[Key{row.FenceContext.V, row.FenceSeqno.V}]
		if !row.FenceContext.OK || row.Low32 {
			at := int64(anyTime(row))
			j = nil
			for _, x := range byFence[row.FencePtr.V] {
				if x.Submit <= at && (at <= x.Finished || x.Finished == 0) && (!row.FenceContext.OK || low(row) == x.Key.low()) {
					j = x
				}
			}
		}
		switch {
		case j == nil:
			c.problems = append(c.problems, fmt.Sprintf("%s: row %d is of no job of the truth", p.what, row.ID))
		case rows[j] != nil:
			c.problem(j, "%s: rows %d and %d are both of it", p.what, rows[j].ID, row.ID)
		default:
			of[row], rows[j] = j, row
		}
	}
	return of
}

func anyTime(row *correlate.Job) event.Time {
	for _, t := range []correlate.OptTime{row.QueuedNS, row.RunNS, row.DoneNS, row.FinishedNS} {
		if t.OK {
			return t.V
		}
	}
	return event.NoTime
}

// moments of rows.
func queued(row *correlate.Job) correlate.OptTime   { return row.QueuedNS }
func ran(row *correlate.Job) correlate.OptTime      { return row.RunNS }
func finished(row *correlate.Job) correlate.OptTime { return row.FinishedNS }

// extent is the first and the last of a moment of all rows.
func (p *product) extent(of func(*correlate.Job) correlate.OptTime) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for i := range p.rows.Jobs {
		if t := of(&p.rows.Jobs[i]); t.OK {
			first, last = min(first, int64(t.V)), max(last, int64(t.V))
		}
	}
	return first, last
}

// firstIoctl is when the first ioctl that was seen to begin began.
func (p *product) firstIoctl() int64 {
	first := int64(math.MaxInt64)
	for i := range p.rows.Ioctls {
		if t := p.rows.Ioctls[i].StartNS; t.OK {
			first = min(first, int64(t.V))
		}
	}
	return first
}

// part compares a log that begins and ends within a run with the truth: what
// lies in it is whole; what began before or ended after says so.
func (r *results) part(p *product) []string {
	c := &comparison{}
	of := r.whose(p, c)
	rows := map[*Job]*correlate.Job{}
	for row, j := range of {
		rows[j] = row
		c.row(j, row, p)
	}
	start, _ := p.extent(queued)
	firstQueue := start
	start = max(start, p.firstIoctl())
	_, lastRun := p.extent(ran)
	_, lastFinished := p.extent(finished)
	before, after, inside := int64(0), int64(0), 0
	for _, j := range r.truth.Jobs {
		row := rows[j]
		// Queueings and ioctls are the last to be probed, finished fences the first to be no more.
		if j.Submit >= start && j.Finished <= lastFinished && j.Finished != 0 {
			inside++
			if row == nil {
				c.problem(j, "%s: no such row", p.what)
				continue
			}
			c.complete(j, row, p.what)
			c.linked(j, p.links[row.ID], p.what)
			c.inIoctl(j, p.links[row.ID], p.what)
		}
		if row == nil {
			continue
		}
		missing := p.missing[row.ID]
		if !row.QueuedNS.OK {
			if missing["queue"] == string(correlate.BeforeStart) && j.Queue < firstQueue {
				before++
			} else {
				c.problem(j, "%s: its queueing lacks as %q, the first one recorded is %d ns later", p.what, missing["queue"], firstQueue-j.Queue)
			}
		}
		if !row.RunNS.OK && row.QueuedNS.OK && (j.Run <= lastRun && j.Runs > 0 || missing["run"] != string(correlate.AfterStop)) {
			c.problem(j, "%s: its run lacks as %q, the last one recorded is %d ns later", p.what, missing["run"], lastRun-j.Run)
		}
		if !row.DoneNS.OK && row.QueuedNS.OK {
			if missing["done"] == string(correlate.AfterStop) {
				after++
			} else {
				c.problem(j, "%s: its end lacks as %q", p.what, missing["done"])
			}
		}
	}
	if inside == 0 {
		c.problems = append(c.problems, p.what+": no job lies in it from submission to end")
	}
	r.count("before_start", before)
	r.count("after_stop", after)
	return c.problems
}
