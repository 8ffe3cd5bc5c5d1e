package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// NotKnown is something that the log cannot tell, why, and how to get it.
type NotKnown struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

func (b *Builder) notKnown() {
	r := &b.rep
	say := func(yes bool, what, why, remedy string) {
		if yes {
			r.NotKnown = append(r.NotKnown, NotKnown{what, why, remedy})
		}
	}
	launches := b.unmatchedCount("api_calls", "activity")
	say(launches > 0 && r.Rows["jobs"] == 0 && r.Rows["gpu_activities"] > 0, fmt.Sprintf("when the GPU ran the work of %s", count(launches, "API call")),
		"the log has device records, but none of these", "let the profiler run, and flush, until the work has ended")
	say(launches > 0 && r.Rows["jobs"] == 0 && r.Rows["gpu_activities"] == 0, fmt.Sprintf("when the GPU ran the work of %s", count(launches, "API call")),
		b.whyNoRecords(), "record the same run with torch.profiler or nsys too, then: gpurec import "+r.input()+" TRACE -o both.gpurec")
	say(r.Rows["ioctls"] > 0 && r.Rows["api_calls"] == 0, "which API calls led to the ioctls and jobs", "the log holds no API calls", "gpurec record -- CMD watches them")
	say(r.Rows["jobs"] > 0 && r.Rows["gpu_activities"] == 0 && !b.kernelNames(), "which GPU functions (kernels) ran", "neither a device record nor an API call names them",
		"record the API calls (gpurec record -- CMD), or add a torch.profiler or nsys trace")
	n := b.unmatchedCount("jobs", "device")
	say(n > 0, fmt.Sprintf("the GPU of %s", count(n, "job")), "the kernel's events before 6.17 do not name it", "gpurec record reads it by BPF; with one GPU nothing is lost")
	n = b.unmatchedCount("jobs", "queue", "not_recorded", "before_start")
	say(n > 0, fmt.Sprintf("when %s %s queued, and by whom", count(n, "job"), map[bool]string{true: "was", false: "were"}[n == 1]), "the queueing was before the recording, or its event is not recorded", "start recording before the program")
	say(r.Rows["jobs"] > 0 && !b.seen.done, "how long jobs ran", "the log holds no events of their end", "record the events drm_sched_process_job or drm_sched_job_done, or dma_fence")
	say(b.seen.jobs && !b.seen.threads && b.submitterUnknown(), "what the submitting threads did while nothing was submitted", "the log holds no thread switches",
		"record the switches too: gpurec record -e sched:sched_switch -- CMD")
	n = b.unmatchedCount("gpu_activities", "api_call", "before_start")
	say(n > 0, fmt.Sprintf("which call launched %s of GPU work", count(n, "piece")), "it was launched before the recording began", "start the profiler before the work")
	n = b.unmatchedCount("gpu_activities", "api_call", "not_recorded", "evicted", "ambiguous")
	say(n > 0, fmt.Sprintf("which call launched %s of GPU work", count(n, "piece")), "its source gives no correlation id that a call of its process has", "record the API calls too (for PyTorch: activities CPU and CUDA)")
	say(r.Rows["jobs"]+r.Rows["gpu_activities"]+r.Rows["api_calls"]+r.Rows["ioctls"]+r.Rows["fences"] == 0 && r.StartNS != nil, "what a GPU did", b.whyNoGPU(),
		"gpurec record -- CMD records it; by hand, trace the events of gpu_scheduler and dma_fence, or use a profiler (torch.profiler, nsys)")
	say(r.Clock == "" || r.Clock == "unknown", "to which clock the times belong", "the source does not say", "name it with --clock when it is to be merged with others; alone, all durations hold")
	say(slices.ContainsFunc(r.Anomalies, noEnd), "what happened in the last moments", "the log has no end: the recorder was killed or the disk was full", "")
	say(r.Capped > 0, fmt.Sprintf("the names of %s", count(r.Capped, "row")), "there were more names, threads or processes than a report keeps lines for; those are summed up under an empty name",
		"the views of the Parquet export tell all apart")
	say(b.approximate(), "some percentiles exactly", "there were too many values to keep each: they are up to 0.1 % too high", "the views of the Parquet export give them exactly")
}

// whyNoRecords says why nothing shows when launches ran.
func (b *Builder) whyNoRecords() string {
	var fams []string
	for f := range b.seen.apiFamilies {
		fams = append(fams, f)
	}
	slices.Sort(fams)
	if b.unmatchedCount("api_calls", "ioctl", "not_possible") > 0 {
		return strings.Join(fams, ", ") + " hands work to the GPU from user space: the kernel sees neither a submission nor a job"
	}
	return "no device record or job of them is in the log"
}

// input names the file in a command.
func (r *Report) input() string { return cmp.Or(clean(r.Input), "run.gpurec") }

func (b *Builder) kernelNames() bool {
	return slices.ContainsFunc(b.rep.Kernels, func(k Kernel) bool { return k.MeasuredBy == byJobs })
}

// submitterUnknown reports whether for half of the time in which nothing was
// submitted it is not known what the submitter did.
func (b *Builder) submitterUnknown() bool {
	var all, unknown int64
	for i := range b.rep.Rings {
		for _, c := range b.rep.Rings[i].IdleByCause {
			for _, w := range c.SubmitterWas {
				all += w.SumNS
				if w.What == "" || w.What == correlate.WasUserOrAsleep {
					unknown += w.SumNS
				}
			}
		}
	}
	return 2*unknown >= all && unknown >= idleLeast
}

// whyNoGPU says what a log without anything of a GPU holds instead.
func (b *Builder) whyNoGPU() string {
	var has []string
	for _, t := range happened {
		if b.rep.Rows[t] > 0 {
			has = append(has, words(t))
		}
	}
	if len(has) == 0 {
		return "the log holds no events"
	}
	return "the log holds " + strings.Join(has, ", ") + " only: no GPU jobs, device records, API calls or ioctls"
}

func (b *Builder) approximate() bool {
	return slices.ContainsFunc(b.dists.list, func(d *dist) bool { return d.buckets != nil })
}

// noEnd reports that the log's end, which completes the losses, was not read.
func noEnd(a Anomaly) bool { return a.Name == "log_unfinished" || a.Name == "log_cut" }
