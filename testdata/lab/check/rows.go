package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/gpurec/gpurec/correlate"
)

// deps compares the product's table of dependencies with the truth: every row
// is a dependency of its job, and, where the newer tracepoints tell all of them,
// every dependency has a row. The job depended on is the one whose fence it is.
func (c *comparison) deps(jobs []*Job, rows map[*Job]*correlate.Job, p *product) {
	ofRow, byKey, lows := map[correlate.ID]*Job{}, map[Key]*Job{}, map[Key]int{}
	for j, row := range rows {
		ofRow[row.ID] = j
	}
	for _, j := range jobs {
		byKey[j.Key] = j
		lows[j.Key.low()]++
	}
	told := map[*Job]map[Key]bool{}
	signals := newJobIndex(&Truth{Jobs: jobs}).sights(p.events)
	for i := range p.rows.JobDeps {
		d := &p.rows.JobDeps[i]
		j := ofRow[d.JobID]
		if j == nil {
			continue // of a row that is no job's, which is told already
		}
		on, ok := dependency(j, Key{d.OnFenceContext.V, d.OnFenceSeqno.V})
		if !ok {
			c.problem(j, "%s: depends on %d:%d, the truth has %v", p.what, d.OnFenceContext.V, d.OnFenceSeqno.V, j.Deps)
			continue
		}
		if told[j] == nil {
			told[j] = map[Key]bool{}
		}
		told[j][on] = true
		k := byKey[on]
		if k != nil && d.Waited.OK && signals.seen(k)[edgeFinished] != 0 && d.Waited.V != (signals.seen(k)[edgeFinished] > int64(d.TSNS.V)) {
			c.problem(j, "%s: waited for %v: %v; it was looked at at %d, and signalled at %d", p.what, on, d.Waited.V, d.TSNS.V, signals.seen(k)[edgeFinished])
		}
		switch row := rows[k]; {
		case k == nil && d.OnJobID != 0:
			c.problem(j, "%s: depends on job %d by the fence %v, which is of none", p.what, d.OnJobID, on)
		case row == nil || d.OnJobID == row.ID:
		case d.OnJobID == 0 && lows[on.low()] > 1:
			// its low halves, which is all that some events show, are those of several
		default:
			c.problem(j, "%s: depends on job %d by the fence %v, not on %d", p.what, d.OnJobID, on, row.ID)
		}
	}
	if p.origin != originNewer {
		return
	}
	for j := range rows {
		for _, on := range j.Deps {
			if !told[j][on] {
				c.problem(j, "%s: no row says that it depends on %v", p.what, on)
			}
		}
	}
}

// dependency is the dependency of a job that a fence means: the fence itself, or
// the finished fence of the job whose scheduled fence it is.
func dependency(j *Job, k Key) (Key, bool) {
	for _, d := range j.Deps {
		if d == k || d == (Key{k.Context + 1, k.Seqno}) || d.low() == k {
			return d, true
		}
	}
	return Key{}, false
}

// again compares who was handed to the hardware a second time, and what a reset
// did to whom, where the product tells it.
func (c *comparison) again(resets []Reset, rows map[*Job]*correlate.Job, p *product) {
	guilty := map[Key]bool{}
	for _, r := range resets {
		guilty[r.Guilty] = true
	}
	for j, row := range rows {
		fate := ""
		switch {
		case guilty[j.Key]:
			fate = "guilty"
		case len(j.HW) > 1:
			fate = "rerun"
		case len(j.HW) > 0 && j.HW[len(j.HW)-1].Error == cancelled:
			fate = "cancelled"
		}
		if row.Fate != "" && row.Fate != fate {
			c.problem(j, "%s: the reset made it %q, not %q", p.what, row.Fate, fate)
		}
		if want := int64(max(min(j.Runs, 1), len(j.HW))); row.Runs != want {
			c.problem(j, "%s: runs is %d, not %d", p.what, row.Runs, want)
		}
		if linked := p.links[row.ID][correlate.RuleResetJob] != ""; linked != (len(j.HW) > 1) {
			c.problem(j, "%s: a reset made it run again: %v, the truth has %v", p.what, linked, j.HW)
		}
	}
}

// processes holds the process of each job: one for each client, as every program
// here opens a node once, and none for two, though their pids be equal.
func (c *comparison) processes(jobs []*Job, rows map[*Job]*correlate.Job, p *product) {
	ofClient, clientOf := map[uint64]correlate.ID{}, map[correlate.ID]uint64{}
	for _, j := range jobs {
		row := rows[j]
		if row == nil || j.Kernel || !row.QueuedNS.OK {
			continue
		}
		if !row.PID.OK && p.log && !p.bpf {
			continue // ftrace shows threads alone; this one ended before the recorder could ask whose it is
		}
		id := row.ProcessID
		if had, ok := ofClient[j.Client]; id == 0 || ok && had != id {
			c.problem(j, "%s: queued by process %d, and others of client %d by %d", p.what, id, j.Client, had)
		}
		if had, ok := clientOf[id]; ok && had != j.Client {
			c.problem(j, "%s: clients %d and %d are one process, %d", p.what, had, j.Client, id)
		}
		ofClient[j.Client], clientOf[id] = id, j.Client
	}
}

// irqs compares the interrupts of the mock devices: as many as were handled,
// and every hardware fence that none but an interrupt signals was in one.
func (r *results) irqs(p *product) []string {
	c := comparison{}
	var spans []correlate.IRQ
	for _, q := range p.rows.IRQs {
		if q.Name == "mockgpu" {
			spans = append(spans, q)
		}
		if q.Name == "mockgpu" && (!q.StartNS.OK || !q.EndNS.OK) {
			c.problems = append(c.problems, fmt.Sprintf("%s: an interrupt at %d without a begin or an end", p.what, q.StartNS.V))
		}
	}
	if len(spans) != r.truth.Interrupts {
		c.problems = append(c.problems, fmt.Sprintf("%s: %d interrupts, the module had %d", p.what, len(spans), r.truth.Interrupts))
	}
	slices.SortFunc(spans, func(a, b correlate.IRQ) int { return cmp.Compare(a.StartNS.V, b.StartNS.V) })
	for _, j := range r.truth.Jobs {
		for _, hw := range j.HW {
			n := sort.Search(len(spans), func(i int) bool { return int64(spans[i].StartNS.V) > hw.Signal })
			inside := false
			for _, q := range spans[max(0, n-8):n] { // CPUs and devices overlap
				inside = inside || hw.Signal <= int64(q.EndNS.V)
			}
			if hw.Signal != 0 && hw.Error != cancelled && !inside {
				c.problem(j, "%s: its hardware fence signalled in no interrupt", p.what)
			}
		}
	}
	return c.problems
}
