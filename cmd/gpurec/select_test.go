package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/export/chromejson/check"
	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
)

const demoLog = "../../testdata/demo/demo.gpurec"

// What is left out is said on standard error and in the trace, and the rest is sound.
func TestExportSelection(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.pftrace")
	must(t, "export", demoLog, "-o", whole)
	all, err := pfcheck.File(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args    []string
		anomaly string
		gone    []string // categories
		kept    []string // categories with as many slices as in the whole trace
	}{
		"kinds":   {[]string{"--exclude", "ioctls,arrows"}, "left_out_kind", []string{"ioctl"}, []string{"job.running", "job.queued", "gpu_idle"}},
		"include": {[]string{"--include", "jobs"}, "left_out_kind", []string{"ioctl", "gpu_idle"}, []string{"job.running", "job.queued"}},
		"window":  {[]string{"--from-time", "100ms", "--to-time", "200ms"}, "left_out_time", nil, nil},
		"process": {[]string{"--process", "gpurec"}, "left_out_process", []string{"job.running"}, []string{"gpu_idle"}},
		"size":    {[]string{"--max-output", "52K"}, "left_out_size", nil, []string{"job.running", "job.queued", "gpu_idle"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.pftrace")
			r := gpurec(t, append([]string{"export", demoLog, "-o", out}, c.args...)...)
			if r.code != 0 || !strings.Contains(r.stderr, "left out: ") {
				t.Fatalf("status %d: %s", r.code, r.stderr)
			}
			rep, err := pfcheck.File(out)
			if err != nil || rep.Err() != nil {
				t.Fatal(err, rep.Err())
			}
			told := false
			for _, x := range rep.Instants {
				told = told || x.Name == c.anomaly && x.Str("sample") != ""
			}
			if !told || len(rep.Slices) >= len(all.Slices) {
				t.Errorf("%d slices of %d, told: %v", len(rep.Slices), len(all.Slices), told)
			}
			for _, g := range c.gone {
				if rep.Categories[g] != 0 || all.Categories[g] == 0 {
					t.Errorf("%d %s of %d", rep.Categories[g], g, all.Categories[g])
				}
			}
			for _, k := range c.kept {
				if rep.Categories[k] != all.Categories[k] || all.Categories[k] == 0 {
					t.Errorf("%d %s of %d", rep.Categories[k], k, all.Categories[k])
				}
			}
			// The JSON shows the same.
			if name == "size" {
				return // but takes more bytes
			}
			json := filepath.Join(t.TempDir(), "x.json")
			must(t, append([]string{"export", demoLog, "-o", json}, c.args...)...)
			jrep, err := check.File(json)
			if err != nil || jrep.Err() != nil {
				t.Fatal(err, jrep.Err())
			}
		})
	}
}

func TestMaxOutput(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		out string
		max int64
	}{{"a.pftrace", 52 << 10}, {"a.pftrace", 40 << 10}, {"a.pftrace.gz", 9 << 10}, {"a.json", 120 << 10}, {"a/", 124 << 10}} {
		out := filepath.Join(dir, c.out)
		if strings.HasSuffix(c.out, "/") {
			out += "/"
		}
		r := gpurec(t, "export", demoLog, "-o", out, "--max-output", formatInt(c.max))
		var size int64
		err := filepath.Walk(out, func(_ string, st os.FileInfo, err error) error {
			if err == nil && !st.IsDir() {
				size += st.Size()
			}
			return err
		})
		if r.code != 0 || err != nil || size > c.max || size == 0 || !strings.Contains(r.stderr, "size: ") {
			t.Errorf("%s within %d: status %d, %d bytes, %v\n%s", c.out, c.max, r.code, size, err, r.stderr)
		}
	}
	r := gpurec(t, "export", demoLog, "-o", filepath.Join(dir, "b.pftrace"), "--max-output", "1K")
	if r.code != 1 || !strings.Contains(r.stderr, "--max-output allows 1.0 KiB") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*b.pftrace*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func formatInt(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// Standard input is copied where it must be read twice, and nothing stays.
func TestSelectionOfStandardInput(t *testing.T) {
	b, err := os.ReadFile(demoLog)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(t.TempDir(), "x.pftrace")
	if r := gpurecIn(t, b, "export", "-", "-o", out, "--process", "tr*"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestSelectionUsage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.pftrace")
	for _, args := range [][]string{
		{"--from-time", "soon"}, {"--from-time", "2s", "--to-time", "1s"}, {"--process", "nobody"}, {"--include", "nothing"},
		{"--exclude", "processes"}, {"--max-output", "much"}, {"--max-output", "0"},
	} {
		if r := gpurec(t, append([]string{"export", demoLog, "-o", out}, args...)...); r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: status %d: %s", args, r.code, r.stderr)
		}
	}
	if r := gpurec(t, "export", demoLog, "-o", "-", "--format", "perfetto", "--max-output", "1M"); r.code != exitUsage {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
}

// Render stages of real traces: one for each activity, each launched by a call
// that is drawn; packets deflated.
func TestRenderStagesOfRealTraces(t *testing.T) {
	for _, name := range []string{"018-hta-triton-example.json.gz", "041-nsysai-h100-2gpu-1s.sqlite"} {
		in := shared(t, "traces", name)
		out := filepath.Join(t.TempDir(), "x.pftrace")
		must(t, "convert", in, out, "--render-stages", "--compress-packets")
		rep, err := pfcheck.File(out)
		if err != nil || rep.Err() != nil {
			t.Fatal(name, err, rep.Err())
		}
		activities := 0
		for c, n := range rep.Categories {
			if strings.HasPrefix(c, "gpu_activity.") {
				activities += n
			}
		}
		if len(rep.Stages) != activities || activities == 0 || rep.Compressed == 0 {
			t.Errorf("%s: %d render stages of %d activities, %d compressed packets", name, len(rep.Stages), activities, rep.Compressed)
		}
		// Read back, each is one activity, as without them.
		var a, b struct {
			Activities map[string]uint64 `json:"gpu_activities"`
		}
		for file, v := range map[string]any{in: &a, out: &b} {
			if err := json.Unmarshal([]byte(must(t, "info", "--json", file)), v); err != nil {
				t.Fatal(err)
			}
		}
		if !maps.Equal(a.Activities, b.Activities) || len(a.Activities) == 0 {
			t.Errorf("%s: activities %v, read back %v", name, a.Activities, b.Activities)
		}
		t.Logf("%s: %d render stages, %d compressed packets", name, len(rep.Stages), rep.Compressed)
	}
}
