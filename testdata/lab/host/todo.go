package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// Task is one run in a guest: a scenario in one mode.
type Task struct {
	Scenario *scenario.Scenario
	Mode     scenario.Mode
}

// Name is that of the directory of results.
func (t Task) Name() string { return t.Scenario.Name + "-" + string(t.Mode) }

var (
	legacyEvents = []string{"drm_sched_job", "drm_run_job", "drm_sched_process_job", "drm_sched_job_wait_dep"}
	newerEvents  = []string{"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done", "drm_sched_job_add_dep", "drm_sched_job_unschedulable"}
	fenceEvents  = []string{"dma_fence_init", "dma_fence_emit", "dma_fence_enable_signal", "dma_fence_signaled", "dma_fence_wait_start", "dma_fence_wait_end", "dma_fence_destroy"}
	ioctlEvents  = []string{"syscalls/sys_enter_ioctl", "syscalls/sys_exit_ioctl"}
	otherEvents  = []string{"irq/irq_handler_entry", "irq/irq_handler_exit", "sched/sched_switch", "sched/sched_process_exit"}
)

func (t Task) events() []string {
	var all []string
	add := func(system string, names []string) {
		for _, n := range names {
			all = append(all, system+"/"+n)
		}
	}
	if t.Mode != scenario.Newer {
		add("gpu_scheduler", legacyEvents)
	}
	if t.Mode != scenario.Legacy {
		add("gpu_scheduler", newerEvents)
	}
	add("dma_fence", fenceEvents)
	all = append(all, ioctlEvents...)
	if t.Scenario.Log != scenario.Whole {
		return all // recorders themselves make many of the others
	}
	return append(all, otherEvents...)
}

// writeTasks writes what the guest's script scenario reads, a file a task.
func writeTasks(dir string, tasks []Task) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, t := range tasks {
		module := ModuleNewer
		if t.Mode == scenario.Legacy {
			module = ModuleLegacy
		}
		var b strings.Builder
		set := func(name, value string) {
			fmt.Fprintf(&b, "%s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
		}
		set("NAME", t.Name())
		set("MODULE", strings.Join(append([]string{"/modules/" + module}, t.Scenario.Module...), " "))
		set("EVENTS", strings.Join(t.events(), " "))
		set("BUFFER", fmt.Sprint(t.Scenario.Buffer))
		set("RUNS", fmt.Sprint(len(t.Scenario.Run)))
		for j, line := range t.Scenario.Run {
			set(fmt.Sprintf("RUN_%d", j+1), line)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d", i)), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
