package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"

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
	what, origin string        // where it comes from, and the generation of its events
	excused      map[*Job]bool // see missed
	log, bpf     bool          // a log of gpurec; one recorded by BPF
	events       []event.Event // of jobs and fences, as correlation got them
	rows         correlate.Rows
	sum          *correlate.Summary
	links        map[correlate.ID]map[string]string // by job: rule and confidence, as effect of an ioctl or cause of the rest
	missing      map[correlate.ID]map[string]string // by job: what it lacks, and the reason
	lacks        map[string]string                  // by lackKey, of all tables but jobs: the reason
	woken        map[correlate.ID][]correlate.ID    // by ioctl that waits: the jobs
	devices      map[correlate.ID]string
}

func correlated(what, origin string, src correlate.MetaSource) (*product, error) {
	p := &product{what: what, origin: origin, links: map[correlate.ID]map[string]string{},
		missing: map[correlate.ID]map[string]string{}, lacks: map[string]string{},
		woken: map[correlate.ID][]correlate.ID{}, devices: map[correlate.ID]string{}}
	sum, err := correlate.Run(&tee{src, p}, correlate.Options{}, func(r *correlate.Rows) error {
		p.rows.APICalls = append(p.rows.APICalls, r.APICalls...)
		p.rows.Ioctls = append(p.rows.Ioctls, r.Ioctls...)
		p.rows.Jobs = append(p.rows.Jobs, r.Jobs...)
		p.rows.JobDeps = append(p.rows.JobDeps, r.JobDeps...)
		p.rows.Fences = append(p.rows.Fences, r.Fences...)
		p.rows.FenceWaits = append(p.rows.FenceWaits, r.FenceWaits...)
		p.rows.Links = append(p.rows.Links, r.Links...)
		p.rows.Losses = append(p.rows.Losses, r.Losses...)
		p.rows.IRQs = append(p.rows.IRQs, r.IRQs...)
		for i := range r.Devices {
			p.devices[r.Devices[i].ID] = r.Devices[i].Device
		}
		for _, u := range r.Unmatched {
			if u.SrcTable == "jobs" {
				set(p.missing, u.SrcID, u.Link, u.Reason)
			} else {
				p.lacks[lackKey(u.SrcTable, u.SrcID, u.Link)] = u.Reason
			}
		}
		for _, l := range r.Links {
			if l.Rule == correlate.RuleJobWake {
				p.woken[l.DstID] = append(p.woken[l.DstID], l.SrcID)
			}
			if l.SrcTable == "jobs" {
				set(p.links, l.SrcID, l.Rule, l.Confidence)
			} else if l.DstTable == "jobs" {
				set(p.links, l.DstID, l.Rule, l.Confidence)
			}
		}
		return nil
	})
	p.sum = sum
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return p, nil
}

func lackKey(table string, id correlate.ID, link string) string {
	return fmt.Sprintf("%s %d %s", table, id, link)
}

// tee keeps the events of jobs and fences on their way to correlation.
type tee struct {
	correlate.MetaSource
	p *product
}

func (t *tee) Next(b *event.Batch) error {
	err := t.MetaSource.Next(b)
	for i := range b.Events {
		if counted(b.Events[i].Kind) {
			t.p.events = append(t.p.events, b.Events[i])
		}
	}
	return err
}

// doubtful reports whether the product says that a job's done, which it knows
// by an address alone, may be of another job.
func (p *product) doubtful(row *correlate.Job) bool {
	return p.links[row.ID][correlate.RuleJobDone] == string(correlate.Inferred)
}

func set(m map[correlate.ID]map[string]string, id correlate.ID, key, value string) {
	if m[id] == nil {
		m[id] = map[string]string{}
	}
	m[id][key] = value
}

// generation compares what the product makes of one generation of the trace's
// events with the truth.
func (r *results) generation(what, origin string) []string {
	p, err := correlated(what, origin, r.trace.generation(origin))
	if err != nil {
		return []string{err.Error()}
	}
	problems := r.product(p)
	if r.trace.Lost == 0 && len(p.rows.IRQs) > 0 {
		problems = append(problems, r.irqs(p)...)
	}
	if r.trace.Lost == 0 {
		problems = append(problems, r.chain(p)...)
	}
	return problems
}

// product compares the product's jobs with the truth.
func (r *results) product(p *product) []string {
	what := p.what
	c := comparison{excused: p.excused}
	byFence := map[legacyKey][]*correlate.Job{}
	rows := map[*Job]*correlate.Job{}
	for i := range p.rows.Jobs {
		j := &p.rows.Jobs[i]
		k := legacyKey{int32(j.TID.V), j.Ring, Key{j.FenceContext.V, j.FenceSeqno.V}.low()}
		byFence[k] = append(byFence[k], j)
	}
	entered := map[Key]int64{}
	for _, call := range r.calls {
		if call.Name != "wait" {
			entered[call.Key] = call.Enter
		}
	}
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
		rows[j] = row
		c.row(j, row, p)
		if r.whole(j) {
			c.complete(j, row, what)
			c.linked(j, p.links[row.ID], what)
			if entered[j.Key] >= int64(r.trace.Whole) {
				c.inIoctl(j, p.links[row.ID], what)
			}
		}
	}
	if len(rows) != len(p.rows.Jobs) && r.trace.Lost == 0 {
		c.problems = append(c.problems, fmt.Sprintf("%s: %d rows, of which the truth has %d", what, len(p.rows.Jobs), len(rows)))
	}
	if r.trace.Lost == 0 {
		c.deviceStarts(r.truth.Jobs, rows, p)
		c.deps(r.truth.Jobs, rows, p)
		c.again(r.truth.Resets, rows, p)
		c.processes(r.truth.Jobs, rows, p)
		c.problems = append(c.problems, r.witness(p)...)
		c.problems = append(c.problems, r.ioctls(p)...)
		if p.misses() == 0 {
			c.problems = append(c.problems, confidences(p)...)
		}
	}
	return c.problems
}

// row compares what one row of the product's table jobs says with the truth.
func (c *comparison) row(j *Job, row *correlate.Job, p *product) {
	wrong := func(column string, got, want any) {
		if got != want {
			c.problem(j, "%s: %s is %v, not %v", p.what, column, got, want)
		}
	}
	if row.TID.OK || row.QueuedNS.OK {
		wrong("tid", row.TID.V, int64(j.TID))
	}
	if row.Ring != "" {
		wrong("ring", row.Ring, j.Ring)
	}
	if d := p.devices[row.DeviceID]; d != "" {
		wrong("device", d, j.Device)
	}
	if row.PID.OK {
		wrong("pid", row.PID.V, int64(j.PID))
	}
	if row.FencePtr.OK {
		wrong("fence_ptr", row.FencePtr.V, j.Fence)
	}
	if row.JobPtr.OK {
		wrong("job_ptr", row.JobPtr.V, j.Ptr)
	}
	if row.EntityPtr.OK {
		wrong("entity_ptr", row.EntityPtr.V, j.Entity)
	}
	if row.SchedJobID.OK {
		wrong("sched_job_id", row.SchedJobID.V, j.SchedID)
	}
	if row.ClientID.OK {
		wrong("client_id", row.ClientID.V, j.Client)
	}
	if row.HWFenceContext.OK && len(j.HW) > 0 && !p.doubtful(row) {
		last := j.HW[len(j.HW)-1].Key
		wrong("hardware fence", Key{row.HWFenceContext.V, row.HWFenceSeqno.V}.low(), last.low())
	}
	wrong("owner", row.Owner, owner(j, row))
}

// owner is what a row must say: the owner by the truth where the row has the
// client; else the thread's, as nothing shows that a job which a program's ioctl
// queues is the kernel's own; unknown where the queueing was not seen.
func owner(j *Job, row *correlate.Job) string {
	switch {
	case !row.QueuedNS.OK:
		return "unknown"
	case j.Kernel && row.ClientID.OK:
		return "kernel"
	}
	return "user"
}

// witness holds every row to its events: all its moments are those of events of
// the one job that it is of.
func (r *results) witness(p *product) (problems []string) {
	s := newJobIndex(r.truth).sights(p.events)
	for i := range p.rows.Jobs {
		row := &p.rows.Jobs[i]
		if j := s.owner(row, false); j == nil || row.FenceContext.OK && j.Key.low() != (Key{row.FenceContext.V, row.FenceSeqno.V}).low() {
			problems = append(problems, fmt.Sprintf("%s: row %d is made of events that are not all of one job", p.what, row.ID))
		}
	}
	return problems
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
	c.order(j, row, what)
}

// order holds the times of a row against those of the truth.
func (c *comparison) order(j *Job, row *correlate.Job, what string) {
	if row.DoneNS.OK && int64(row.DoneNS.V) > j.Finished {
		c.problem(j, "%s: done after its finished fence", what)
	}
	if n := len(j.HW); n > 0 && row.DoneNS.OK && int64(row.DoneNS.V) < j.HW[n-1].Signal {
		c.problem(j, "%s: done before its hardware fence", what)
	}
	if row.RunNS.OK && int64(row.RunNS.V) > j.Run {
		c.problem(j, "%s: run after the driver's run_job", what)
	}
	if row.QueuedNS.OK && int64(row.QueuedNS.V) < j.Submit {
		c.problem(j, "%s: queued before its submission", what)
	}
	if row.DeviceTimeNS.OK && row.DeviceTimeNS.V < 0 {
		c.problem(j, "%s: device_time_ns is %d", what, row.DeviceTimeNS.V)
	}
}

// deviceStarts calculates anew when each job began on the device: at its run,
// or when the job before it on the ring was done. A ring is the truth's, of its
// device; only where no event names the device is it the product's, as equal names
// can't be told apart then.
func (c *comparison) deviceStarts(jobs []*Job, rows map[*Job]*correlate.Job, p *product) {
	byRing := map[ringName][]*Job{}
	for _, j := range jobs {
		row := rows[j]
		if row == nil || !row.DoneNS.OK {
			continue // complete tells what lacks
		}
		if row.Ring == "" {
			continue // it names none: of a newer event of its end alone
		}
		at := ringName{j.Device, j.Ring}
		if p.devices[row.DeviceID] == "" {
			at.device = fmt.Sprint("unnamed ", row.DeviceID)
		}
		byRing[at] = append(byRing[at], j)
	}
	for _, list := range byRing {
		slices.SortFunc(list, func(a, b *Job) int { return cmp.Compare(rows[a].DoneNS.V, rows[b].DoneNS.V) })
		before := event.NoTime
		for _, j := range list {
			row := rows[j]
			if want := max(row.RunNS.V, before); row.RunNS.OK && row.DeviceStartNS.V != want {
				c.problem(j, "%s: device_start_ns is %d, not %d", p.what, row.DeviceStartNS.V, want)
			}
			before = row.DoneNS.V
		}
	}
}

// inIoctl holds that a job has the ioctl that queued it.
func (c *comparison) inIoctl(j *Job, links map[string]string, what string) {
	if links[correlate.RuleIoctlJob] == "" {
		c.problem(j, "%s: no link %s", what, correlate.RuleIoctlJob)
	}
}

// linked holds that a job has its run and its end, where they happened.
func (c *comparison) linked(j *Job, links map[string]string, what string) {
	var need []string
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
