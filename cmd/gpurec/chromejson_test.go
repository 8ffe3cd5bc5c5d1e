package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsoncheck "github.com/gpurec/gpurec/export/chromejson/check"
	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
)

// pictured are inputs of all kinds: rings, jobs and waits, device work with
// its launches, recorded calls.
func pictured(t *testing.T) map[string]string {
	in := map[string]string{
		"6.12": shared(t, "captures", "6.12.117+deb12-amd64", "trace.txt"),
		"6.1":  shared(t, "captures", "6.1.0-57-amd64", "trace.txt"),
		"nsys": shared(t, "traces", "045-nsysai-healthy-1pct.sqlite"),
		"demo": filepath.Join("..", "..", "testdata", "demo", "demo.gpurec"),
	}
	if !testing.Short() {
		in["kineto"] = shared(t, "traces", "022-hta-simple-add-et-kineto.json.gz")
		in["kineto large"] = shared(t, "traces", "016-hta-mtia-inference.json.gz")
	}
	return in
}

// Both trace formats show one picture: the strict readers of the two, which
// have nothing in common, find the same in them. What Chrome JSON shows comes
// back when it is imported.
func TestChromeJSONIsThePerfettoPicture(t *testing.T) {
	for name, in := range pictured(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pf, js := filepath.Join(dir, "x.pftrace"), filepath.Join(dir, "x.json.gz")
			must(t, "convert", "-q", in, pf)
			must(t, "convert", "-q", in, js)
			a, err := pfcheck.File(pf)
			if err != nil {
				t.Fatal(err)
			}
			b, err := jsoncheck.File(js)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			samePicture(t, a, b)
			comesBack(t, js, b)
		})
	}
}

// sliceSum sums slices by what they are and what they are called.
type sliceSum struct {
	n       int
	ns, sum int64 // length; starts from the first slice on, to see them shifted
}

func samePicture(t *testing.T, a *pfcheck.Report, b *jsoncheck.Report) {
	t.Helper()
	const own = "chrome_json_" // counters of this format
	x, y := map[string]sliceSum{}, map[string]sliceSum{}
	add := func(m map[string]sliceSum, cat, name string, start, end int64) {
		k := cat + "/" + name
		s := m[k]
		m[k] = sliceSum{s.n + 1, s.ns + end - start, s.sum + start}
	}
	zero := a.Slices[0].Start
	for _, s := range a.Slices {
		zero = min(zero, s.Start)
	}
	for _, s := range a.Slices {
		add(x, s.Category, s.Name, s.Start-zero, s.End-zero)
	}
	first, n := int64(-1), 0
	for _, s := range b.Slices {
		if s.Category != "sched" && (first < 0 || s.Start < first) {
			first = s.Start
		}
	}
	for _, s := range b.Slices {
		if s.Category != "sched" {
			n++
			add(y, s.Category, s.Name, s.Start-first, s.End-first)
		}
	}
	for k := range mergeKeys(x, y) {
		if x[k] != y[k] {
			t.Errorf("%s: %v in Perfetto, %v in JSON", k, x[k], y[k])
		}
	}
	instants := b.Instants
	list, _ := b.Other["anomalies"].([]any)
	for _, l := range list {
		if name, _ := l.(map[string]any)["name"].(string); strings.HasPrefix(name, own) {
			instants--
		}
	}
	if len(a.Slices) != n || len(a.Instants) != instants || a.Samples != b.Samples || a.Flows != len(b.Flows) {
		t.Errorf("slices %d, %d; instants %d, %d; values %d, %d; flows %d, %d", len(a.Slices), n, len(a.Instants), instants, a.Samples, b.Samples, a.Flows, len(b.Flows))
	}
	if !maps.Equal(a.FlowPairs, b.FlowPairs) {
		t.Errorf("flows %v, and %v in JSON", a.FlowPairs, b.FlowPairs)
	}
	sameArguments(t, a, b)
}

func mergeKeys(x, y map[string]sliceSum) map[string]sliceSum {
	m := maps.Clone(x)
	maps.Copy(m, y)
	return m
}

// sameArguments compares arguments as multisets, links among them.
func sameArguments(t *testing.T, a *pfcheck.Report, b *jsoncheck.Report) {
	t.Helper()
	n := map[string]int{}
	for _, s := range a.Slices {
		for k, v := range s.Args {
			n[fmt.Sprintf("%s %s=%v", s.Category, k, v)]++
		}
	}
	for _, s := range b.Slices {
		if s.Category != "sched" {
			flattened("", s.Args, func(k string, v any) { n[fmt.Sprintf("%s %s=%v", s.Category, k, v)]-- })
		}
	}
	wrong := 0
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if n[k] != 0 && wrong < 10 {
			wrong++
			t.Errorf("argument %s: %+d in Perfetto", k, n[k])
		}
	}
}

func flattened(prefix string, m map[string]any, f func(string, any)) {
	for k, v := range m {
		if d, ok := v.(map[string]any); ok {
			flattened(prefix+k+".", d, f)
		} else {
			f(prefix+k, v)
		}
	}
}

// comesBack imports the file: what the strict reader finds in it are the events
// from which it was drawn, and what follows from others is counted.
func comesBack(t *testing.T, file string, rep *jsoncheck.Report) {
	t.Helper()
	i := infoOf(t, file)
	want, derived := map[string]uint64{}, uint64(2*len(rep.Flows))
	for _, s := range rep.Slices {
		_, call := s.Args["api_call_id"]
		_, hidden := s.Args["queued_hidden"]
		_, delay := s.Args["queue_delay_ns"]
		switch cat := s.Category; {
		case cat == "ioctl":
			want["ioctl"]++
		case cat == "fence_wait":
			want["fence_wait_start"]++
		case cat == "job.queued":
			want["job_queue"]++
			if s.Args["end"] != nil && delay {
				want["job_run"]++
			}
		case cat == "job.running":
			want["job_run"]++
			if hidden {
				want["job_queue"]++
			}
			if s.Args["end"] == nil {
				want["job_done"]++
			}
		case cat == "job.stage.dependency":
			want["job_dep"]++
		case cat == "job.stage.queue", cat == "job.stage.hw_queue", cat == "gpu_idle":
			derived++
		case cat == "loss":
			want["loss"]++
		case s.Args["gpu_activity_id"] != nil:
			want["gpu_activity"]++
		case s.Args["slice_id"] != nil:
			want["slice"]++
		case call:
			want["api"]++
		}
	}
	for path, n := range rep.Counters {
		_, name, _ := strings.Cut(path, " > ")
		if name == "utilisation" || strings.HasSuffix(name, "backlog") || strings.HasSuffix(name, " jobs in flight") || strings.HasSuffix(name, "queued, not drawn") {
			derived += uint64(n)
		} else {
			want["counter"] += uint64(n)
		}
	}
	got := i.Events
	got["api"] += got["api_enter"]
	got["ioctl"] += got["ioctl_enter"]
	got["slice"] += got["slice_begin"]
	for _, kind := range []string{"api", "ioctl", "fence_wait_start", "job_queue", "job_run", "job_done", "job_dep", "loss", "gpu_activity", "slice", "counter"} {
		if got[kind] != want[kind] {
			t.Errorf("%d events %s come back, drawn are %d", got[kind], kind, want[kind])
		}
	}
	counted := uint64(0)
	for _, a := range i.Anomalies {
		if a.Name == "chrome_json_derived_not_read" {
			counted = a.Count
		}
	}
	if counted < derived { // more: wakes, and what the trace said of its clock
		t.Errorf("%d of %d that follow from others are counted", counted, derived)
	}
}

// Whatever can be imported gives sound JSON that shows what Perfetto is shown.
func TestChromeJSONOfAllTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("all traces: not with -short")
	}
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(shared(t, "traces"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, in := range files {
		pf, js := filepath.Join(dir, "x.pftrace"), filepath.Join(dir, "x.json")
		if r := gpurec(t, "convert", "-q", in, js); r.code != 0 && r.code != 3 {
			continue // no trace, or none that is known
		}
		if r := gpurec(t, "convert", "-q", in, pf); r.code != 0 && r.code != 3 {
			t.Errorf("%s: JSON, but no Perfetto: %s", filepath.Base(in), r.stderr)
			continue
		}
		n++
		b, err := jsoncheck.File(js)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(in), err)
			continue
		}
		if err := b.Err(); err != nil {
			t.Errorf("%s: %v", filepath.Base(in), err)
		}
		a, err := pfcheck.File(pf)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(in), err)
			continue
		}
		slices := 0
		for _, s := range b.Slices {
			if s.Category != "sched" {
				slices++
			}
		}
		if len(a.Slices) != slices || a.Samples != b.Samples || a.Flows != len(b.Flows) {
			t.Errorf("%s: slices %d, %d; values %d, %d; flows %d, %d", filepath.Base(in), len(a.Slices), slices, a.Samples, b.Samples, a.Flows, len(b.Flows))
		}
		if !maps.Equal(a.FlowPairs, b.FlowPairs) {
			t.Logf("%s: flows %v, and %v in JSON", filepath.Base(in), a.FlowPairs, b.FlowPairs)
		}
	}
	if n < 20 {
		t.Errorf("only %d traces were read", n)
	}
}
