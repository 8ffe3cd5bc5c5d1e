package check

import (
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// occurrence is an event by what it is, and not by its time: its fence, or of a
// dependency the fence depended on.
type occurrence struct {
	kind event.Kind
	key  Key // low halves
}

// occurs tells what an event is; jobs name the events that name their job by an
// address.
func (x *jobIndex) occurs(e *event.Event) (occurrence, bool) {
	if j, at := x.find(e); j != nil && at != edgeFinished {
		return occurrence{e.Kind, j.Key.low()}, true
	}
	k, ok := e.Fence()
	if e.Kind == event.KindJobDep { // not all name their job by a fence
		k, ok = e.OnFence()
	}
	return occurrence{e.Kind, Key{k.Context, k.Seqno}.low()}, ok
}

// missed finds the jobs of which a log that lost nothing lacks an event because a
// BPF program does not run inside itself: an interrupt that comes while it runs
// may raise the same tracepoint. The kernel counts that, and so must the log: as
// many events are missing as are said to be missed, of each tracepoint.
func (r *results) missed(p *product) (map[*Job]bool, []string) {
	x, w := newJobIndex(r.truth), r.window()
	left := map[occurrence]int{}
	count := func(events []event.Event, n int) {
		for i := range events {
			e := &events[i]
			if o, ok := x.occurs(e); ok && counted(e.Kind) && int64(e.Time) >= w.begun && int64(e.Time) <= w.ended {
				left[o] += n
			}
		}
	}
	count(r.trace.generation(p.origin).events, 1)
	count(p.events, -1)
	said := map[event.Kind]int{}
	for _, probe := range p.sum.Meta.Probes {
		if probe.Misses > 0 {
			said[kindOf[probe.Name]] += int(probe.Misses)
		}
	}
	hurt := map[Key]bool{}
	for o, n := range left {
		if n != 0 {
			said[o.kind] -= n
			hurt[o.key] = true
		}
	}
	var problems []string
	for k, n := range said {
		if n != 0 && counted(k) {
			problems = append(problems, fmt.Sprintf("%s: %v: %d more events are said to be missed than are missing", p.what, k, n))
		}
	}
	jobs := map[*Job]bool{}
	for _, j := range r.truth.Jobs {
		scheduled := Key{j.Key.Context - 1, j.Key.Seqno}
		if hurt[j.Key.low()] || hurt[scheduled.low()] {
			jobs[j] = true
		}
		for _, hw := range j.HW {
			if hurt[hw.low()] {
				jobs[j] = true
			}
		}
	}
	return jobs, problems
}

// kindOf are the kinds of tracepoints that BPF programs may miss.
var kindOf = map[string]event.Kind{
	"gpu_scheduler:drm_sched_job":               event.KindJobQueue,
	"gpu_scheduler:drm_sched_job_queue":         event.KindJobQueue,
	"gpu_scheduler:drm_run_job":                 event.KindJobRun,
	"gpu_scheduler:drm_sched_job_run":           event.KindJobRun,
	"gpu_scheduler:drm_sched_process_job":       event.KindJobDone,
	"gpu_scheduler:drm_sched_job_done":          event.KindJobDone,
	"gpu_scheduler:drm_sched_job_wait_dep":      event.KindJobDep,
	"gpu_scheduler:drm_sched_job_add_dep":       event.KindJobDep,
	"gpu_scheduler:drm_sched_job_unschedulable": event.KindJobDep,
	"dma_fence:dma_fence_init":                  event.KindFenceInit,
	"dma_fence:dma_fence_emit":                  event.KindFenceEmit,
	"dma_fence:dma_fence_enable_signal":         event.KindFenceEnable,
	"dma_fence:dma_fence_signaled":              event.KindFenceSignal,
	"dma_fence:dma_fence_wait_start":            event.KindFenceWaitStart,
	"dma_fence:dma_fence_wait_end":              event.KindFenceWaitEnd,
	"dma_fence:dma_fence_destroy":               event.KindFenceDestroy,
}

// mentions reports whether a fact (see sameLogs) is of one of these jobs or their fences.
func mentions(fact string, jobs map[*Job]bool) bool {
	for j := range jobs {
		keys := []Key{j.Key.low(), Key{j.Key.Context - 1, j.Key.Seqno}.low()}
		for _, hw := range j.HW {
			keys = append(keys, hw.low())
		}
		for _, k := range keys {
			if i := strings.Index(fact, " "+k.String()); i >= 0 {
				if rest := fact[i+1+len(k.String()):]; rest == "" || rest[0] < '0' || rest[0] > '9' {
					return true
				}
			}
		}
	}
	return false
}
