package perfetto_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/perfetto"
	"github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/ftracetext"
)

// rootDir is the folder of go.mod.
func rootDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// capture is a folder of real captures beside the checkout, or the test is skipped.
func capture(t testing.TB, kernel string) string {
	t.Helper()
	p := filepath.Join(filepath.Dir(rootDir(t)), "shared", "captures", kernel)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("no captures beside the checkout (../shared/captures/%s)", kernel)
	}
	return p
}

// convert imports, correlates and exports a text capture.
func convert(t testing.TB, in, out string) *perfetto.Writer {
	t.Helper()
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := ftracetext.Format().Open(importer.Input{Name: in, R: f}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	w, err := perfetto.New(out, export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Begin(src.Meta()); err != nil {
		t.Fatal(err)
	}
	sum, err := correlate.Run(src, correlate.Options{}, w.Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.End(sum); err != nil {
		t.Fatal(err)
	}
	return w
}

func drawn(t *testing.T, kernel string) (rep *check.Report, file, dir string) {
	dir = capture(t, kernel)
	file = filepath.Join(t.TempDir(), "x.pftrace")
	convert(t, filepath.Join(dir, "trace.txt"), file)
	rep, err := check.File(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	return rep, file, dir
}

func counts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s %s: %d, want %d", what, k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s %s: %d, want none", what, k, v)
		}
	}
}

// near allows a microsecond for each of n times of the text.
func near(got, want int64, n int) bool {
	return got-want <= int64(n)*1000 && want-got <= int64(n)*1000
}

// The counts and sums are those of a join of the capture's raw pages that was
// made apart from this project; the text has microseconds.
func TestCapture612(t *testing.T) {
	rep, file, dir := drawn(t, "6.12.117+deb12-amd64")
	counts(t, "category", rep.Categories, map[string]int{
		"job.queued": 300, "job.running": 300, "job.stage.queue": 376, "job.stage.dependency": 76, "job.stage.hw_queue": 241,
		"ioctl": 602, "fence_wait": 300, "fence_wake": 80, "reset": 1, "anomaly": 1, "gpu_idle": 12 + 17 + 29 + 40 + 1,
	})
	counts(t, "flow", rep.FlowPairs, map[string]int{
		"ioctl > job.queued": 300, "job.queued > job.running": 300, "job.running > fence_wake": 80, "job.running > fence_wait": 220,
	})
	const gfx, compute = "GPU 0 (mockgpu) > ring gfx", "GPU 0 (mockgpu) > ring compute"
	for ring, want := range map[string]int64{gfx: 772_389_009, compute: 270_164_398} {
		if !near(rep.Busy[ring], want, 10) {
			t.Errorf("%s is busy %d ns, want %d", ring, rep.Busy[ring], want)
		}
	}
	if rep.MaxBacklog[gfx] != 6 || rep.MaxBacklog[compute] != 5 {
		t.Errorf("backlog %v", rep.MaxBacklog)
	}
	for ring, causes := range map[string]map[string]check.Idle{
		gfx:     {"nothing submitted": {Count: 12, NS: 37_105_000}, "scheduling latency": {Count: 17, NS: 12_397_000}},
		compute: {"dependency": {Count: 29, NS: 539_040_000}, "scheduling latency": {Count: 40, NS: 13_319_000}, "nothing submitted": {Count: 1, NS: 117_000}},
	} {
		for cause, want := range causes {
			if got := rep.Idle[ring][cause]; got.Count != want.Count || !near(got.NS, want.NS, 10) {
				t.Errorf("%s, %s: %v, want %v", ring, cause, got, want)
			}
		}
	}
	clients(t, rep, dir)
	decode(t, rep, file)
}

func TestCapture61(t *testing.T) {
	rep, file, dir := drawn(t, "6.1.0-57-amd64")
	c := rep.Categories
	if c["job.queued"] != 300 || c["job.running"] != 300 || c["ioctl"] != 602 || c["fence_wait"] != 300 || c["reset"] != 1 {
		t.Errorf("categories %v", c)
	}
	// Every wait has one arrow, to itself or to its wake.
	if f := rep.FlowPairs; f["ioctl > job.queued"] != 300 || f["job.queued > job.running"] != 300 ||
		f["job.running > fence_wake"] != c["fence_wake"] || f["job.running > fence_wait"] != 300-c["fence_wake"] {
		t.Errorf("flows %v", f)
	}
	clients(t, rep, dir)
	decode(t, rep, file)
}

// clients compares job.running with what the two clients printed of each job.
func clients(t *testing.T, rep *check.Report, dir string) {
	type job struct{ pid, ring, fence string }
	ran := map[job]int{}
	for _, s := range rep.Slices {
		if s.Category == "job.running" {
			pid, _ := s.Int("pid")
			ran[job{fmt.Sprint(pid), s.Str("ring"), s.Str("fence")}]++
		}
	}
	n := 0
	for _, name := range []string{"A.tracefs", "B.tracefs"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			v := map[string]string{}
			for _, m := range regexp.MustCompile(`(\w+)=(-?\d+)`).FindAllStringSubmatch(sc.Text(), -1) {
				v[m[1]] = m[2]
			}
			if v["ctx"] == "" || v["fseq"] == "" {
				continue
			}
			n++
			ring := map[string]string{"0": "gfx", "1": "compute"}[v["ring"]]
			if k := (job{v["pid"], ring, v["ctx"] + ":" + v["fseq"]}); ran[k] != 1 {
				t.Errorf("job %v of %s runs %d times", k, name, ran[k])
			}
		}
	}
	if n != 300 {
		t.Errorf("the clients tell of %d jobs, not 300", n)
	}
}

// decode counts what another decoder finds, by the committed .proto file.
func decode(t *testing.T, rep *check.Report, file string) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Log("protoc is not installed: counts are not compared with its")
		return
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(protoc, "-I", filepath.Join(rootDir(t), "protos", "perfetto"), "--decode", "gpurec.perfetto.Trace", "perfetto.proto")
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for what, n := range map[string]int{
		"type: TYPE_SLICE_BEGIN\n": len(rep.Slices), "type: TYPE_SLICE_END\n": len(rep.Slices), "type: TYPE_COUNTER\n": rep.Samples,
		"type: TYPE_INSTANT\n": len(rep.Instants), "\n  track_descriptor {": len(rep.Tracks) + 1, "flow_ids: ": 2 * rep.Flows,
		"sched_switch {": rep.Switches, "\n  clock_snapshot {": 2, // the machine's, and that of the sequence of events
	} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("protoc finds %d × %q, the checker %d", got, strings.TrimSpace(what), n)
		}
	}
	if m := regexp.MustCompile(`(?m)^\s+\d+: `).FindString(text); m != "" {
		t.Errorf("protoc finds an unknown field: %q", m)
	}
}

// Windows of a real capture hold what overlaps them, counted apart from the
// rows themselves, and the checker finds nothing.
func TestCaptureWindows(t *testing.T) {
	in := filepath.Join(capture(t, "6.12.117+deb12-amd64"), "trace.txt")
	var all correlate.Rows
	sum := correlated(t, in, func(r *correlate.Rows) error {
		all.Ioctls = append(all.Ioctls, r.Ioctls...)
		all.FenceWaits = append(all.FenceWaits, r.FenceWaits...)
		return nil
	})
	for _, part := range []float64{0, 0.2, 0.5, 0.9} {
		from := int64(sum.Start) + int64(part*float64(sum.End-sum.Start))
		to := from + int64(sum.End-sum.Start)/10
		w := &export.Window{From: export.Edge{Set: true, Relative: true, NS: from - int64(sum.Start)}, To: export.Edge{Set: true, NS: to}}
		out := filepath.Join(t.TempDir(), "x.pftrace")
		sink, err := perfetto.New(out, export.Options{Window: w})
		if err != nil {
			t.Fatal(err)
		}
		f := export.NewFilter(sink, export.FilterOptions{Window: w})
		f.Starts(sum.Start)
		if err := f.Begin(&sum.Meta); err != nil {
			t.Fatal(err)
		}
		if err := f.End(correlated(t, in, f.Write)); err != nil {
			t.Fatal(err)
		}
		rep, err := check.File(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Err(); err != nil {
			t.Error(err)
		}
		overlaps := func(start, end correlate.OptTime) int {
			if int64(start.V) < to && (int64(end.V) > from || int64(start.V) == from || !end.OK) {
				return 1
			}
			return 0
		}
		ioctls, waits := 0, 0
		for i := range all.Ioctls {
			ioctls += overlaps(all.Ioctls[i].StartNS, all.Ioctls[i].EndNS)
		}
		for i := range all.FenceWaits {
			waits += overlaps(all.FenceWaits[i].StartNS, all.FenceWaits[i].EndNS)
		}
		if rep.Categories["ioctl"] != ioctls || rep.Categories["fence_wait"] != waits {
			t.Errorf("from %.1f: %d ioctls and %d waits, not %d and %d", part, rep.Categories["ioctl"], rep.Categories["fence_wait"], ioctls, waits)
		}
	}
}

func correlated(t *testing.T, in string, emit func(*correlate.Rows) error) *correlate.Summary {
	t.Helper()
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := ftracetext.Format().Open(importer.Input{Name: in, R: f}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	sum, err := correlate.Run(src, correlate.Options{}, emit)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
