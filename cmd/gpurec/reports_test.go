package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/record/importer/chromejson"
)

// TestReportsHaveCases: each case that testdata/reports.md names is there.
func TestReportsHaveCases(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "testdata", "reports.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, "|")
		if len(f) != 5 || strings.HasPrefix(f[1], " report") || strings.HasPrefix(f[1], "---") {
			continue
		}
		for c := range strings.SplitSeq(strings.TrimSpace(f[3]), ", ") {
			if c == "–" {
				continue
			}
			n++
			dir, name, isTest := strings.Cut(c, " ")
			if !isTest {
				if _, err := os.Stat(filepath.Join(root, "testdata", c)); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(f[1]), err)
				}
				continue
			}
			if !hasTest(t, filepath.Join(root, dir), name) {
				t.Errorf("%s: no %s in %s", strings.TrimSpace(f[1]), name, dir)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d cases were found in the table", n)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	decl := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if decl.Match(b) {
			return true
		}
	}
	return false
}

// A driver that gives each fence a context of its own makes no track of each.
func TestFencesOfManyContexts(t *testing.T) {
	var b strings.Builder
	b.WriteString("# tracer: nop\n#\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "a-1 [000] ..... 1.%06d: dma_fence_init: driver=D timeline=timeline%d context=%d seqno=1\n", i*10, i, 1000+i)
		fmt.Fprintf(&b, "a-1 [000] ..... 1.%06d: dma_fence_signaled: driver=D timeline=timeline%d context=%d seqno=1\n", i*10+5, i, 1000+i)
	}
	out := filepath.Join(t.TempDir(), "x.pftrace")
	in := writeFile(t, "trace.txt", b.String())
	must(t, "convert", "-q", in, out)
	r, err := pfcheck.File(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tracks) > 50 {
		t.Errorf("%d tracks of 3000 fences", len(r.Tracks))
	}
	if i := infoOf(t, in); i.Rows["fences"] != 3000 {
		t.Errorf("%d fences", i.Rows["fences"])
	}
}

// An arrow that begins where one slice ends and the next begins keeps its time;
// no slice is guessed for it.
func TestArrowAtABoundary(t *testing.T) {
	j := join(t, writeFile(t, "trace.json", `[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"A"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":10,"name":"B"},`+
		`{"ph":"s","pid":1,"tid":1,"ts":10,"id":7,"name":"n","cat":"c"},{"ph":"f","pid":1,"tid":1,"ts":15,"id":7,"name":"n","cat":"c","bp":"e"}]`), chromejson.Format())
	if got := ranges(j); got != "A 0+10000 in -; B 10000+10000 in -" {
		t.Errorf("slices %s", got)
	}
	if len(j.rows.Links) != 0 || j.summary.Rows["flows"] != 2 {
		t.Errorf("%d links, %d flows", len(j.rows.Links), j.summary.Rows["flows"])
	}
}

// What a trace may lack: sets, copies, waits, arrows, a rank, the device.
func TestAbsentKinds(t *testing.T) {
	in := writeFile(t, "trace.json", `{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","pid":9,"tid":9,"ts":1,"dur":5,"name":"aten::add"},`+
		`{"ph":"X","cat":"cuda_runtime","pid":9,"tid":9,"ts":2,"dur":2,"name":"cudaLaunchKernel","args":{"correlation":4}},`+
		`{"ph":"X","cat":"kernel","pid":0,"tid":7,"ts":10,"dur":5,"name":"k","args":{"stream":7,"correlation":4}}]}`)
	for _, args := range [][]string{{"info"}, {"info", "--json"}, {"report"}, {"report", "--json"}, {"correlate"}} {
		must(t, append(args, in)...)
	}
	for _, out := range []string{"x.pftrace", "x.json", "x/"} {
		must(t, "convert", "-q", in, filepath.Join(t.TempDir(), out)+strings.Repeat("/", strings.Count(out, "/")))
	}
	j := join(t, in, chromejson.Kineto())
	if len(j.rows.GPUActivities) != 1 || j.rows.GPUActivities[0].APICallID == 0 {
		t.Errorf("activities %+v", j.rows.GPUActivities)
	}
}

// Ranges nest by their times, whatever the order in the file.
func TestEventsOutOfOrder(t *testing.T) {
	for text, want := range map[string]string{
		`[{"ph":"X","pid":1,"tid":1,"ts":5,"dur":5,"name":"in"},{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"out"}]`:                           "in 5000+5000 in out; out 0+10000 in -",
		`[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"out"},{"ph":"X","pid":1,"tid":1,"ts":5,"dur":5,"name":"in"}]`:                           "in 5000+5000 in out; out 0+10000 in -",
		`[{"ph":"E","pid":1,"tid":1,"ts":10},{"ph":"B","pid":1,"tid":1,"ts":0,"name":"out"},{"ph":"X","pid":1,"tid":1,"ts":5,"dur":4,"name":"in"}]`: "in 5000+4000 in out; out 0+10000 in -",
	} {
		if got := ranges(join(t, writeFile(t, "trace.json", text), chromejson.Format())); got != want {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

// An empty result is no silent success.
func TestNothingToConvert(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.json")
	r := gpurec(t, "convert", writeFile(t, "trace.txt", "# tracer: nop\n#\n"), out)
	if r.code != 0 || !strings.Contains(r.stderr, "0 events, no rows") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	if r := gpurec(t, "convert", writeFile(t, "trace.json", "[]"), out); r.code != 1 || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
}
