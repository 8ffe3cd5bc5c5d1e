package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/export/explain"
)

// TestExplainCapture: job 54 of the 6.12 capture, as its lines of the kernel's
// text tell it: sys_ioctl 3.264758, fences 7:18 and 8:18 made at 769 and 770,
// queued 774, run 3.265527, mockgpu's fence 1:37 made 3.265531, 7:18 signalled
// 3.265537, the job before it done 3.269144, 1:37 signalled 3.270490, done
// 3.270494, 8:18 signalled 3.270495, waited for in an ioctl at 4.026708.
func TestExplainCapture(t *testing.T) {
	trace := shared(t, "captures", "6.12.117+deb12-amd64", "trace.txt")
	var c explain.Chain
	if err := json.Unmarshal([]byte(must(t, "correlate", trace, "--json", "--explain", "jobs:54")), &c); err != nil {
		t.Fatal(err)
	}
	if c.ZeroNS == nil || *c.ZeroNS != 3264758000 {
		t.Fatalf("zero %v", c.ZeroNS)
	}
	moments := map[string]int64{}
	for _, r := range c.Rows {
		table, _, _ := strings.Cut(r.Row, ":")
		if table == "fences" {
			table = r.Columns["role"].(string)
		}
		for _, m := range r.Moments {
			moments[table+" "+m.Column] = m.AtNS / 1000
		}
	}
	for k, want := range map[string]int64{
		"jobs queued_ns": 16, "jobs run_ns": 769, "jobs device_start_ns": 4386, "jobs done_ns": 5736, "jobs finished_ns": 5737,
		"scheduled init_ns": 11, "scheduled signal_ns": 779, "finished init_ns": 12, "finished signal_ns": 5737,
		"hardware init_ns": 773, "hardware signal_ns": 5732,
		"fence_waits start_ns": 761950, "fence_waits end_ns": 761951, "fence_waits signal_ns": 5737,
	} {
		if got, ok := moments[k]; !ok || got != want {
			t.Errorf("%s = %d (%v), want %d", k, got, ok, want)
		}
	}
	rules := map[string]string{}
	for _, l := range c.Links {
		rules[l.Rule] = l.Confidence + " " + l.Key
	}
	for rule, want := range map[string]string{
		"ioctl-job": "nested tid 145", "job-run": "exact 8:18", "job-done": "exact 8:18", "job-fence": "adjacent 8:18",
		"job-scheduled-fence": "adjacent 7:18", "job-hw-fence": "adjacent 1:37", "fence-wait": "exact 8:18", "ioctl-wait": "nested tid 145",
	} {
		if rules[rule] != want {
			t.Errorf("link %s: %q, want %q", rule, rules[rule], want)
		}
	}
	if len(c.Links) != 8 || len(c.Rows) != 7 {
		t.Errorf("%d links, %d rows, want 8 and 7", len(c.Links), len(c.Rows))
	}
	for _, m := range c.Missing {
		if m.Link != "api_call" || m.Reason != "not_recorded" {
			t.Errorf("missing %+v", m)
		}
	}
}

func TestExplainUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(file, []byte(smallTrace), 0o644); err != nil {
		t.Fatal(err)
	}
	out := must(t, "correlate", "--explain", "jobs:1", file)
	if !strings.HasPrefix(out, "jobs:1: 1 rows; times in µs since 1000100000 ns") || !strings.Contains(out, "+100.000  run\n") {
		t.Errorf("printed\n%s", out)
	}
	if r := gpurecIn(t, []byte(smallTrace), "correlate", "--explain", "jobs:1", "-"); r.code != 0 || r.stdout != out {
		t.Errorf("a pipe gives status %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := gpurec(t, "correlate", "--explain", "jobs:2", file); r.code != 1 || !strings.Contains(r.stderr, "no row jobs:2") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("no such row: status %d, %s", r.code, r.stderr)
	}
	if r := gpurec(t, "correlate", "--explain", "nothing", file); r.code != 2 {
		t.Errorf("no name of a row: status %d, %s", r.code, r.stderr)
	}
}

// driverTrace holds a job of each of several drivers, as their tracepoints print it.
const driverTrace = `# tracer: nop
app-9 [000] ..... 1.000001: i915_gem_request_add: dev=0, ring=2, seqno=41
app-9 [000] ..... 1.000003: i915_gem_request_wait_begin: dev=0, ring=2, seqno=41, blocking=1
k-7 [001] ..... 1.000102: i915_gem_request_notify: dev=0, ring=2, seqno=41
app-9 [000] ..... 1.000110: i915_gem_request_wait_end: dev=0, ring=2, seqno=41
a-9 [000] ..... 3.000000: xe_exec_queue_create: dev=0000:00:02.0, 0:0x1, gt=0, width=1, guc_id=2, guc_state=0x0, flags=0x0
a-9 [000] ..... 3.000001: xe_sched_job_exec: dev=0000:00:02.0, fence=0xffff888276cc8540, seqno=5, guc_id=2, error=0
k-7 [000] ..... 3.000002: xe_sched_job_run: dev=0000:00:02.0, fence=0xffff888276cc8540, seqno=5, guc_id=2, error=0
k-7 [000] ..... 3.100001: xe_sched_job_timedout: dev=0000:00:02.0, fence=0xffff888276cc8540, seqno=5, guc_id=2, error=0
k-7 [000] ..... 3.100003: xe_exec_queue_reset: dev=0000:00:02.0, 0:0x1, gt=0, width=1, guc_id=2, guc_state=0x0, flags=0x0
k-7 [000] d.h1. 3.200003: xe_hw_fence_signal: dev=0000:00:02.0, ctx=0x0000000000000010, fence=0xffff888276cc8540, seqno=5
k-9 [000] ..... 6.000000: adreno_cmdbatch_queued: ctx=4 ctx_prio=8 ts=77 queued=1 flags=none
k-7 [000] ..... 6.000001: adreno_cmdbatch_fault: ctx=4 ts=77 type=hard
k-7 [000] ..... 7.000001: mali_JM_SUBMIT: kctx=1234_5 jobslot=1 info=0xff
k-7 [000] d.h1. 7.000002: mali_JM_JOB_DONE: kctx=1234_5 jobslot=1 info=0x1
`

// TestExplainDrivers: the chain of a job of each driver says what its events
// allow, and by what rule.
func TestExplainDrivers(t *testing.T) {
	file := writeFile(t, "drivers.txt", driverTrace)
	for row, want := range map[string][]string{
		"jobs:1": {"ring2, owner user, app, tid 9, origin i915_gem", "+101.000  done\n", "itself by job-done (inferred, key ring2 #41, section 5)",
			"    ring2, tid 9, i915, wait 107.000 µs, wake 8.000 µs, end returned\n", "from jobs:1 by fence-wait (exact, key ring2 #41, section 10)"},
		"jobs:2": {"rcs2, owner user, a, tid 9, origin xe, hardware fence 16:5", "fate guilty", "ring rule inferred from the driver's number of the queue",
			"from resets:1 by reset-fate (inferred, key guilty, section 14)", "the driver told at +100000.000: timed out (xe:xe_sched_job_timedout)"},
		"jobs:3": {"origin kgsl, sched job id 77, fate guilty", `the driver told at +1.000: fault {"type":"hard"} (kgsl:adreno_cmdbatch_fault)`, "no finished fence: not_possible, this driver has none\n"},
		"jobs:4": {"job_slot_1, owner user, pid 1234, origin mali_kbase", "itself by job-done (inferred, key order in 1234_5, section 5)",
			"no queueing: not_possible, this driver tells no queueing\n"},
		"resets:1": {"rcs2, log xe_exec_queue_reset", "resets:1  ← asked for"},
	} {
		out := must(t, "correlate", "--explain", row, file)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: no %q in\n%s", row, w, out)
			}
		}
	}
}

// TestCorrelateStages: text and JSON give, for each stage, its rows, what they
// were joined by and how surely, and what they miss and why.
func TestCorrelateStages(t *testing.T) {
	file := writeFile(t, "drivers.txt", driverTrace)
	var r joinsResult
	if err := json.Unmarshal([]byte(must(t, "correlate", "--json", file)), &r); err != nil {
		t.Fatal(err)
	}
	var jobs *joinStage
	for i := range r.Stages {
		if r.Stages[i].Table == "jobs" {
			jobs = &r.Stages[i]
		}
	}
	if jobs == nil || jobs.Rows != 4 {
		t.Fatalf("stages %+v", r.Stages)
	}
	matched, missing := map[string]uint64{}, map[string]uint64{}
	for _, l := range jobs.Matched {
		matched[l.Rule+" "+l.Confidence] += l.Count
	}
	for _, u := range jobs.Unmatched {
		missing[u.Link+" "+u.Reason] += u.Count
	}
	// Queued and run: xe's. Ended: i915's, xe's and kbase's, all without a word of its own.
	for k, n := range map[string]uint64{"job-run exact": 1, "job-done inferred": 3, "reset-fate inferred": 1} {
		if matched[k] != n {
			t.Errorf("%s: %d, want %d", k, matched[k], n)
		}
	}
	for k, n := range map[string]uint64{"queue not_possible": 1, "fence not_possible": 2, "fence not_recorded": 2, "done after_stop": 1} {
		if missing[k] != n {
			t.Errorf("without %s: %d, want %d", k, missing[k], n)
		}
	}
	text := strings.Join(strings.Fields(must(t, "correlate", file)), " ")
	for _, w := range []string{"jobs 4 rows joined by job-run 1 exact among themselves, section 4", "without queue 1 not_possible this driver tells no queueing", "in no chain job_events 2 rows"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %s", w, text)
		}
	}
}
