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

// comesBack imports the file: each slice, value and end of an arrow is an event.
func comesBack(t *testing.T, file string, rep *jsoncheck.Report) {
	t.Helper()
	i := infoOf(t, file)
	// Categories of calls that PyTorch's traces have too come back as calls.
	if got, want := i.Events["slice"]+i.Events["api"]+i.Events["gpu_activity"], uint64(len(rep.Slices)); got != want {
		t.Errorf("%d slices come back of %d: %v", got, want, i.Events)
	}
	if got, want := i.Events["counter"], uint64(rep.Samples); got != want {
		t.Errorf("%d values come back of %d", got, want)
	}
	if got, want := i.Events["flow"], uint64(2*len(rep.Flows)); got != want {
		t.Errorf("%d ends of arrows come back of %d", got, want)
	}
	if got, want := i.Events["mark"], uint64(rep.Instants); got != want {
		t.Errorf("%d instants come back of %d", got, want)
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
