package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// Rows of other tables than jobs, counts, and what is said of them: each check
// turns red when one row is wrong.
func TestBrokenRows(t *testing.T) {
	const capture = "6.12-recorded-legacy"
	for _, c := range []struct {
		name    string
		breakIt func(*results, *product)
		check   func(*results, *product) []string
		want    string
	}{
		{"an interrupt is not there", func(r *results, p *product) {
			i := slices.IndexFunc(p.rows.IRQs, func(q correlate.IRQ) bool { return q.Name == "mockgpu" })
			p.rows.IRQs = slices.Delete(p.rows.IRQs, i, i+1)
		}, (*results).irqs, "interrupts, the module had"},
		{"an interrupt without an end", func(r *results, p *product) {
			for i := range p.rows.IRQs {
				p.rows.IRQs[i].EndNS = correlate.OptTime{}
			}
		}, (*results).irqs, "without a begin or an end"},
		{"an ioctl that failed", func(r *results, p *product) {
			for i := range p.rows.Ioctls {
				p.rows.Ioctls[i].Result.V = -12
			}
		}, (*results).ioctls, "result -12"},
		{"an ioctl that is not there", func(r *results, p *product) {
			p.rows.Ioctls = p.rows.Ioctls[len(p.rows.Ioctls)/2:]
		}, (*results).ioctls, "no ioctl of thread"},
		{"a dependency on another fence", func(r *results, p *product) {
			p.rows.JobDeps[0].OnFenceSeqno.V += 7
		}, (*results).product, "depends on"},
		{"a dependency on another job", func(r *results, p *product) {
			for i := range p.rows.JobDeps {
				p.rows.JobDeps[i].OnJobID = p.rows.JobDeps[i].JobID
			}
		}, (*results).product, "depends on job"},
		{"a job that waited did not", func(r *results, p *product) {
			for i := range p.rows.JobDeps {
				p.rows.JobDeps[i].Waited.V = !p.rows.JobDeps[i].Waited.V
			}
		}, (*results).product, "it was looked at at"},
		{"a job runs twice", func(r *results, p *product) {
			p.rows.Jobs[0].Runs++
		}, (*results).product, "runs is 2, not 1"},
		{"a job of another owner", func(r *results, p *product) {
			p.rows.Jobs[0].Owner = "unknown"
		}, (*results).product, "owner is unknown"},
		{"a number of another job", func(r *results, p *product) {
			p.rows.Jobs[0].SchedJobID.V++
		}, (*results).product, "sched_job_id is"},
		{"a link too sure of itself", func(r *results, p *product) {
			for i := range p.rows.Links {
				if l := &p.rows.Links[i]; l.Rule == correlate.RuleJobScheduled {
					l.Confidence = string(correlate.Exact)
				}
			}
		}, (*results).product, "link job-scheduled-fence is exact, not one of [adjacent]"},
		{"an event was missed, and the log does not say so", func(r *results, p *product) {
			p.events = p.events[1:]
		}, missedProblems, "-1 more events are said to be missed than are missing"},
		{"a log says that an event was missed that is there", func(r *results, p *product) {
			for i := range p.sum.Meta.Probes {
				if p.sum.Meta.Probes[i].Name == "dma_fence:dma_fence_signaled" {
					p.sum.Meta.Probes[i].Misses++
				}
			}
		}, missedProblems, "1 more events are said to be missed than are missing"},
		{"the guest's trace has an event less than happened", func(r *results, p *product) {
			for i := range r.trace.Events {
				if r.trace.Events[i].Kind == event.KindJobDone {
					r.trace.Events = append(r.trace.Events[:i:i], r.trace.Events[i+1:]...)
					return
				}
			}
		}, func(r *results, p *product) []string { return r.produced(scenario.Legacy) }, "drm_sched done: 259 events, the truth has 260"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := unpacked(t, capture)
			what := "bpf.gpurec"
			p, err := readLog(filepath.Join(r.dir, what), what, originLegacy)
			if strings.Contains(c.name, "interrupt") { // which the guest's own trace has
				p, err = correlated("pages", originLegacy, r.trace.generation(originLegacy))
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := c.check(r, p); len(got) != 0 {
				t.Fatalf("before it is broken: %q", got[0])
			}
			c.breakIt(r, p)
			if all := strings.Join(c.check(r, p), "\n"); !strings.Contains(all, c.want) {
				t.Errorf("nothing says %q:\n%.1000s", c.want, all)
			}
		})
	}
}

func missedProblems(r *results, p *product) []string {
	_, problems := r.missed(p)
	return problems
}
