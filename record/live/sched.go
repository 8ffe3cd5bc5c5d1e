package live

// The GPU scheduler's tracepoints (system gpu_scheduler) come in two
// generations that tell of the same jobs. A kernel has the older up to 6.16 and
// the newer from 6.17 on; should one show both, the newer is recorded: it names
// fences by all 64 bits, devices and clients.

// SchedSystem is the system of the scheduler's tracepoints.
const SchedSystem = "gpu_scheduler"

// OlderSched returns the names of the older generation.
func OlderSched() []string {
	return []string{"drm_sched_job", "drm_run_job", "drm_sched_process_job", "drm_sched_job_wait_dep"}
}

// NewerSched returns the names of the newer generation.
func NewerSched() []string {
	return []string{"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done",
		"drm_sched_job_add_dep", "drm_sched_job_unschedulable"}
}

// OlderSchedLeftOut says why the older generation is not recorded.
const OlderSchedLeftOut = "left out: drm_sched_job_queue, _run and _done, the newer generation, tell of the same jobs"
