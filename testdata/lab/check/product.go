package check

import (
	"fmt"
	"io"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// memory is a source of events in memory, in order.
type memory struct {
	events []event.Event
	meta   event.Meta
}

func (m *memory) Meta() *event.Meta { return &m.meta }

func (m *memory) Next(b *event.Batch) error {
	b.Reset()
	if len(m.events) == 0 {
		return io.EOF
	}
	n := min(len(m.events), event.DefaultBatch)
	b.Events = append(b.Events, m.events[:n]...)
	m.events = m.events[n:]
	return nil
}

// generation is the trace as if only one generation of the scheduler's
// tracepoints had been recorded, as a session of gpurec does.
func (t *Trace) generation(origin string) *memory {
	m := &memory{meta: event.Meta{Format: "lab", Clock: event.ClockBoottime}}
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Kind {
		case event.KindJobQueue, event.KindJobRun, event.KindJobDone, event.KindJobDep:
			if e.Str(event.FieldOrigin) != origin {
				continue
			}
		}
		m.events = append(m.events, *e)
	}
	return m
}

// product is what the product's correlation makes of a trace.
type product struct {
	jobs  []correlate.Job
	links map[correlate.ID]map[string]string // by job: rule and confidence, as effect of an ioctl or cause of the rest
}

func correlated(src correlate.MetaSource) (*product, error) {
	p := &product{links: map[correlate.ID]map[string]string{}}
	_, err := correlate.Run(src, correlate.Options{}, func(r *correlate.Rows) error {
		p.jobs = append(p.jobs, r.Jobs...)
		for i := range r.Links {
			l := &r.Links[i]
			if l.SrcTable == "jobs" {
				p.link(l.SrcID, l)
			} else if l.DstTable == "jobs" {
				p.link(l.DstID, l)
			}
		}
		return nil
	})
	return p, err
}

func (p *product) link(id correlate.ID, l *correlate.Link) {
	if p.links[id] == nil {
		p.links[id] = map[string]string{}
	}
	p.links[id][l.Rule] = l.Confidence
}

// product compares the product's jobs with the truth. what says where they come from.
func (r *results) product(what, origin string, src correlate.MetaSource) []string {
	p, err := correlated(src)
	if err != nil {
		return []string{what + ": " + err.Error()}
	}
	c := comparison{}
	byFence := map[legacyKey][]*correlate.Job{}
	for i := range p.jobs {
		j := &p.jobs[i]
		k := legacyKey{int32(j.TID.V), j.Ring, Key{j.FenceContext.V, j.FenceSeqno.V}.low()}
		byFence[k] = append(byFence[k], j)
	}
	found := 0
	for _, j := range r.truth.Jobs {
		var row *correlate.Job
		for _, x := range byFence[legacyKey{int32(j.TID), j.Ring, j.Key.low()}] {
			if x.Low32 || x.FenceContext.V == j.Key.Context {
				row = x
			}
		}
		if row == nil {
			if r.whole(j) {
				c.problem(j, "%s: no such row", what)
			}
			continue
		}
		found++
		c.row(j, row, what, origin)
		if r.whole(j) {
			c.complete(j, row, what)
			c.linked(j, p.links[row.ID], what)
		}
	}
	if found != len(p.jobs) && r.trace.Lost == 0 {
		c.problems = append(c.problems, fmt.Sprintf("%s: %d rows, of which the truth has %d", what, len(p.jobs), found))
	}
	return c.problems
}

// row compares what one row of the product's table jobs says with the truth.
func (c *comparison) row(j *Job, row *correlate.Job, what, origin string) {
	wrong := func(column string, got, want any) {
		if got != want {
			c.problem(j, "%s: %s is %v, not %v", what, column, got, want)
		}
	}
	wrong("tid", row.TID.V, int64(j.TID))
	if row.PID.OK {
		wrong("pid", row.PID.V, int64(j.PID))
	}
	if row.FencePtr.OK {
		wrong("fence_ptr", row.FencePtr.V, j.Fence)
	}
	if row.HWFenceContext.OK && len(j.HW) > 0 {
		last := j.HW[len(j.HW)-1].Key
		wrong("hardware fence", Key{row.HWFenceContext.V, row.HWFenceSeqno.V}.low(), last.low())
	}
	if origin == originNewer {
		owner := "user"
		if j.Kernel {
			owner = "kernel"
		}
		wrong("owner", row.Owner, owner)
	}
}

// complete holds that a row lacks nothing that happened, and has nothing that did not.
func (c *comparison) complete(j *Job, row *correlate.Job, what string) {
	wrong := func(column string, got, want any) {
		if got != want {
			c.problem(j, "%s: %s is %v, not %v", what, column, got, want)
		}
	}
	wrong("hardware fence known", row.HWFenceContext.OK, len(j.HW) > 0)
	end := "done"
	if j.Runs == 0 {
		end = "killed"
	}
	wrong("end_kind", row.EndKind, end)
	wrong("run_ns known", row.RunNS.OK, j.Runs > 0)
	wrong("done_ns known", row.DoneNS.OK, j.Runs > 0)
	if row.DoneNS.OK && int64(row.DoneNS.V) > j.Finished {
		c.problem(j, "%s: done after its finished fence", what)
	}
	if row.DeviceTimeNS.OK && row.DeviceTimeNS.V < 0 {
		c.problem(j, "%s: device_time_ns is %d", what, row.DeviceTimeNS.V)
	}
}

// linked holds that a job has what it must have: the ioctl that queued it, its
// run and its end, where they happened.
func (c *comparison) linked(j *Job, links map[string]string, what string) {
	need := []string{correlate.RuleIoctlJob}
	if j.Runs > 0 {
		need = append(need, correlate.RuleJobRun, correlate.RuleJobDone)
	}
	if len(j.HW) > 0 {
		need = append(need, correlate.RuleJobHWFence)
	}
	for _, rule := range need {
		if links[rule] == "" {
			c.problem(j, "%s: no link %s", what, rule)
		}
	}
}
