package record

import (
	"slices"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// probed is a source that only has probes.
type probed struct {
	live.Source
	probes []event.Probe
}

func (p probed) Probes() []event.Probe { return p.probes }

// What BPF records of one generation of the scheduler's events, ftrace does
// not record of the other.
func TestCoveredGenerations(t *testing.T) {
	for attached, want := range map[string][]string{
		"gpu_scheduler:drm_sched_job_run": {"gpu_scheduler:drm_sched_job_run", "gpu_scheduler:drm_sched_job",
			"gpu_scheduler:drm_run_job", "gpu_scheduler:drm_sched_process_job", "gpu_scheduler:drm_sched_job_wait_dep"},
		"gpu_scheduler:drm_run_job": {"gpu_scheduler:drm_run_job", "gpu_scheduler:drm_sched_job_queue", "gpu_scheduler:drm_sched_job_run",
			"gpu_scheduler:drm_sched_job_done", "gpu_scheduler:drm_sched_job_add_dep", "gpu_scheduler:drm_sched_job_unschedulable"},
		"dma_fence:dma_fence_init": {"dma_fence:dma_fence_init"},
	} {
		s := &session{streams: []*stream{{src: probed{probes: []event.Probe{
			{Name: attached, State: "attached"}, {Name: "gpu_scheduler:drm_sched_process_job", State: "missing"}}}}}}
		got := s.covered()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("with %s covered: %v, want %v", attached, got, want)
		}
	}
}
