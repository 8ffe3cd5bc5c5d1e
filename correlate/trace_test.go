package correlate

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTraces imports small traces from the field and expects of them what the
// case of the same story expects of its own events.
func TestTraces(t *testing.T) {
	for trace, name := range map[string]string{
		"162-catapult-dma_fence_0.ftrace.txt":           "seqno-zero-at-init",
		"164-gpuvis87-two-gpus.ftrace.txt":              "gpuvis-87-two-gpus",
		"168-intel-xe-resubmit-same-fence.txt":          "",
		"166-dri-devel-atomic-commit-vblank.ftrace.txt": "",
		"189-rendered-drm_sched.ftrace.txt":             "legacy-scheduler",
		"190-rendered-drm_sched_617.ftrace.txt":         "newer-scheduler",
		"191-rendered-drm_dma_fence.ftrace.txt":         "fences-only",
	} {
		t.Run(trace, func(t *testing.T) {
			r, sum := collect(t, textEvents(t, shared(t, "traces/"+trace)), Options{})
			checkRules(t, r)
			if name == "" {
				return
			}
			c := readCase(t, filepath.Join(repoRoot(t), "testdata", "correlate", name+".txt"))
			checkCase(t, c, r, sum)
		})
	}
}

// TestTraceWithoutTimes: one xe fence is run twice; nothing has a time.
func TestTraceWithoutTimes(t *testing.T) {
	r, _ := collect(t, textEvents(t, shared(t, "traces/168-intel-xe-resubmit-same-fence.txt")), Options{})
	if len(r.Jobs) != 1 || r.Jobs[0].Runs != 2 || r.Jobs[0].RunNS.OK || r.Jobs[0].Owner != "unknown" {
		t.Errorf("jobs %+v, want one that ran twice at no known time", r.Jobs)
	}
	if n := len(r.Others) + len(r.Marks); n != 7 {
		t.Errorf("%d other events, want 7 of xe_exec_queue_*", n)
	}
}

// TestTraceOfFencesAndMarks: syncs and vblanks are no jobs.
func TestTraceOfFencesAndMarks(t *testing.T) {
	r, _ := collect(t, textEvents(t, shared(t, "traces/166-dri-devel-atomic-commit-vblank.ftrace.txt")), Options{})
	if len(r.Jobs) != 0 || len(r.Rings) != 0 || len(r.Links) != 0 {
		t.Errorf("jobs %d, rings %d, links %d, want none", len(r.Jobs), len(r.Rings), len(r.Links))
	}
	if n := len(r.Others) + len(r.Marks) + len(r.Fences); n != 6 {
		t.Errorf("%d rows of 6 events", n)
	}
}

// TestSampleLine: the run event of an old guide, through the importer.
func TestSampleLine(t *testing.T) {
	const line = "chrome-1234 [002] d..1. 123456.789012: drm_run_job: sched_job=00000000a1b2c3d4, timeline=amd-scheduler, context=1, seqno=42, ring_name=gfx\n"
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	r, sum := collect(t, textEvents(t, path), Options{})
	c := readCase(t, filepath.Join(repoRoot(t), "testdata", "correlate", "sample-run-only.txt"))
	checkCase(t, c, r, sum)
}
