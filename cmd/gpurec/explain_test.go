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
