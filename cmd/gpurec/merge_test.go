package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

// writeLogFile makes a log of events, as a recording would.
func writeLogFile(t *testing.T, name string, meta *event.Meta, events []event.Event) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	f, err := os.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := gpulog.NewWriter(f, meta, gpulog.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(meta); err != nil {
		t.Fatal(err)
	}
	return p
}

// readLogFile returns the events of a log in order of time.
func readLogFile(t *testing.T, path string) (event.Meta, []event.Event) {
	t.Helper()
	l, err := gpulog.Open(path, gpulog.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	s := gpulog.Sort(r, gpulog.SortOptions{})
	defer s.Close()
	var all []event.Event
	var b event.Batch
	for {
		err := s.Next(&b)
		if err == io.EOF {
			return *s.Meta(), all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Events...)
	}
}

// launchedTwice is a program seen by probes, at the times of BOOTTIME, and by
// Kineto, whose base is right and whose clock is 20 µs off. The n-th launch
// begins at start(n) and takes 6 µs; its kernel runs 30 µs later for 10 µs.
func launchedTwice(t *testing.T, n int) (log, kineto string) {
	const unix = 1_700_000_000_000_000_000 // at BOOTTIME 0
	start := func(i int) int64 { return 5e9 + int64(i)*50_000 + int64(i*i%17)*1_300 }
	meta := &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime,
		Snapshots: []event.ClockSnapshot{{Boottime: 4e9, Realtime: 4e9 + unix}}}
	var evs []event.Event
	var js strings.Builder
	fmt.Fprintf(&js, `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "baseTimeNanoseconds": %d, "traceEvents": [`, int64(unix))
	for i := range n {
		s := start(i)
		e := event.New(event.KindAPI, event.Time(s+6_000))
		e.PID, e.TID, e.Source = 42, 43, "uprobe:cudaLaunchKernel"
		e.SetTime(event.FieldStart, event.Time(s))
		e.SetUint(event.FieldAPI, uint64(event.APICUDARuntime))
		e.SetStr(event.FieldName, "cudaLaunchKernel")
		evs = append(evs, e)
		k := s + 20_000
		if i > 0 {
			js.WriteString(",")
		}
		us := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
		fmt.Fprintf(&js, "\n"+`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "tid": 43, "ts": %s, "dur": 5.000, "args": {"correlation": %d}},`, us(k), i+1)
		fmt.Fprintf(&js, `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %s, "dur": 10.000, "args": {"device": 0, "stream": 7, "correlation": %d}}`, us(k+30_000), i+1)
	}
	js.WriteString("]}\n")
	return writeLogFile(t, "run.gpurec", meta, evs), writeFile(t, "trace.json", js.String())
}

func TestMergeProbesWithKineto(t *testing.T) {
	log, kineto := launchedTwice(t, 200)
	out := filepath.Join(t.TempDir(), "all.gpurec")
	r := gpurec(t, "import", kineto, log, "-o", out)
	if r.code != 0 || !strings.Contains(r.stderr, "trace.json: kineto to boottime by base then calls: ") ||
		!strings.Contains(r.stderr, "200 of 200 calls agree") {
		t.Fatalf("status %d: %s", r.code, r.stderr)
	}
	meta, events := readLogFile(t, out)
	if meta.Clock != event.ClockBoottime || meta.Format != "merged" || len(meta.Inputs) != 2 {
		t.Errorf("meta %+v", meta)
	}
	calls, kernels := 0, 0
	for i := range events {
		e := &events[i]
		n := int64(0)
		switch e.Kind {
		case event.KindAPI:
			n = int64(calls / 2)
			calls++
		case event.KindGPUActivity:
			n = int64(kernels)
			kernels++
		default:
			continue
		}
		want := 5e9 + n*50_000 + (n*n%17)*1_300
		if e.Kind == event.KindGPUActivity {
			want += 30_000
		}
		if got := int64(e.TimeOf(event.FieldStart)); got != want {
			t.Fatalf("%v %d begins at %d, want %d", e.Kind, n, got, want)
		}
	}
	if calls != 400 || kernels != 200 {
		t.Fatalf("%d calls, %d kernels", calls, kernels)
	}
	// The report counts each launch once; every kernel has its call.
	var rep struct {
		API []struct {
			Name  string
			Calls int
		} `json:"api_calls"`
		Unmatched []struct{ Link, Reason string }
	}
	if err := json.Unmarshal([]byte(must(t, "report", "--json", out)), &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.API) != 1 || rep.API[0].Calls != 200 {
		t.Errorf("report %+v", rep.API)
	}
	for _, u := range rep.Unmatched {
		if u.Link == "activity" || u.Link == "api_call" {
			t.Errorf("unmatched %+v", u)
		}
	}
	if s := must(t, "correlate", out); !strings.Contains(s, "same-call") {
		t.Errorf("no links:\n%s", s)
	}
}

func TestConvertSeveral(t *testing.T) {
	log, kineto := launchedTwice(t, 50)
	dir := t.TempDir()
	must(t, "import", log, kineto, "-o", filepath.Join(dir, "all.gpurec"))
	must(t, "export", filepath.Join(dir, "all.gpurec"), "-o", filepath.Join(dir, "a.json"))
	must(t, "convert", log, kineto, filepath.Join(dir, "b.json"))
	a, err1 := os.ReadFile(filepath.Join(dir, "a.json"))
	b, err2 := os.ReadFile(filepath.Join(dir, "b.json"))
	if err1 != nil || err2 != nil || len(a) == 0 {
		t.Fatal(err1, err2)
	}
	// What wrote the log is known only where there is one.
	var m struct {
		OtherData map[string]any
	}
	if err := json.Unmarshal(a, &m); err != nil {
		t.Fatal(err)
	}
	by := fmt.Sprintf(`"recorded_by":%q,`, m.OtherData["recorded_by"])
	if strings.Replace(string(a), by, "", 1) != string(b) {
		t.Error("convert of two inputs and export of their merged log differ")
	}
}

func TestMergeUsage(t *testing.T) {
	log, kineto := launchedTwice(t, 10)
	for _, args := range [][]string{
		{"import", log, "-o", "x.gpurec", "--offset", "run.gpurec=5"},
		{"import", log, kineto, "-o", "x.gpurec", "--offset", "other=5"},
		{"import", log, kineto, "-o", "x.gpurec", "--offset", "trace.json=soon"},
		{"import", log, kineto, "-o", "x.gpurec", "--offset", "5"},
		{"import", log, kineto, "-o", "x.gpurec", "--offset", "2=5", "--offset", "trace.json=6"},
		{"import", log, kineto, "-o", kineto},
		{"import", "-", "-", "-o", "x.gpurec"},
	} {
		if r := gpurec(t, args...); r.code != 2 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("gpurec %v: status %d: %s", args, r.code, r.stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "x.gpurec")
	r := gpurec(t, "import", log, kineto, "-o", out, "--offset", "2=-1.5ms")
	if r.code != 0 || !strings.Contains(r.stderr, "trace.json: kineto to boottime by stated: -1500000 ns") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
}

// A damaged input costs what is damaged, and no other input anything.
func TestMergeDamaged(t *testing.T) {
	log, kineto := launchedTwice(t, 60)
	b, err := os.ReadFile(kineto)
	if err != nil {
		t.Fatal(err)
	}
	cut := writeFile(t, "cut.json", string(b[:len(b)/2]))
	out := filepath.Join(t.TempDir(), "all.gpurec")
	r := gpurec(t, "import", log, cut, "-o", out)
	if r.code != 3 || !strings.Contains(r.stderr, "cut.json") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	meta, events := readLogFile(t, out)
	probes, told := 0, 0
	for i := range events {
		if e := &events[i]; e.Kind == event.KindAPI && e.Source == "uprobe:cudaLaunchKernel" {
			probes++
		} else if e.Kind == event.KindAPI {
			told++
		}
	}
	if probes != 60 || told < 28 || told > 31 { // half of the file
		t.Errorf("%d probes, %d of Kineto", probes, told)
	}
	found := false
	for _, a := range meta.Anomalies {
		found = found || a.Severity == event.SeverityError && strings.HasPrefix(a.Sample, "cut.json")
	}
	if !found {
		t.Errorf("anomalies %+v", meta.Anomalies)
	}
	// A log with a damaged block.
	lb, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), lb...)
	for i := len(bad) / 2; i < len(bad)/2+20; i++ {
		bad[i] ^= 0x55
	}
	broken := writeFile(t, "broken.gpurec", string(bad))
	if r := gpurec(t, "import", broken, kineto, "-o", out); r.code != 3 || !strings.Contains(r.stderr, "broken.gpurec") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	if _, events = readLogFile(t, out); len(events) < 120 {
		t.Errorf("%d events", len(events))
	}
}

// The text of a capture has no clock's name; its raw pages are in MONOTONIC.
// The calls of both tell that the two clocks are one, but for the text's
// rounding to microseconds.
func TestMergeTwoFormsOfACapture(t *testing.T) {
	for _, kernel := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		raw := shared(t, "captures", kernel, "raw")
		text := shared(t, "captures", kernel, "trace.txt")
		out := filepath.Join(t.TempDir(), "all.gpurec")
		r := gpurec(t, "import", raw, text, "-o", out)
		if r.code != 0 || !strings.Contains(r.stderr, "trace.txt: unknown to monotonic by calls: ") {
			t.Fatalf("%s: status %d: %s", kernel, r.code, r.stderr)
		}
		var ns int
		_, rest, _ := strings.Cut(r.stderr, "by calls: ")
		if _, err := fmt.Sscanf(rest, "%d ns", &ns); err != nil || ns < -600 || ns > 600 {
			t.Errorf("%s: %d ns: %v", kernel, ns, err)
		}
		// Every event is in both: in the merged log it is once, and joined as in
		// the pages alone, whichever input comes first.
		want := joinedRows(t, raw)
		if got := joinedRows(t, out); got != want {
			t.Errorf("%s: merged %s, the pages alone %s", kernel, got, want)
		}
		must(t, "import", text, raw, "-o", out)
		if got := joinedRows(t, out); got != want {
			t.Errorf("%s: merged the other way %s, the pages alone %s", kernel, got, want)
		}
		// The same with the text a second away.
		if r = gpurec(t, "import", raw, text, "-o", out, "--offset", "trace.txt=1s"); !strings.Contains(r.stderr, "by stated: +1000000000 ns") {
			t.Errorf("%s: %s", kernel, r.stderr)
		}
		moved := filepath.Join(t.TempDir(), "moved.gpurec")
		other := writeFile(t, "other.txt", smallTrace)
		if r = gpurec(t, "import", other, text, "-o", moved, "--offset", "1=0", "--offset", "2=7777777777"); r.code != 0 {
			t.Fatalf("%s: %s", kernel, r.stderr)
		}
		if r = gpurec(t, "import", raw, moved, "-o", out); !strings.Contains(r.stderr, "moved.gpurec: unknown to monotonic by calls: -7777777") {
			t.Errorf("%s: %s", kernel, r.stderr)
		}
	}
}

// joinedRows returns what correlation makes of an input, as text.
func joinedRows(t *testing.T, path string) string {
	t.Helper()
	var r joinsResult
	if err := json.Unmarshal([]byte(must(t, "correlate", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	delete(r.Rows, "anomalies")
	delete(r.Rows, "metadata")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Programs as they are: the calls of real profiles as probes would have seen
// them, on a clock that nothing relates to the profile's (12.345 s and 20 ppm
// off), a microsecond or two early, one in fifty lost. Where the calls do not
// tell, the profile may stay unaligned; it must never be aligned wrongly.
func TestMergeRealPrograms(t *testing.T) {
	const drift = 20e-6
	aligned, tried := 0, 0
	for _, name := range []string{"001-hta-ns-resolution.pt.trace.json.gz", "005-hta-trace-diff-test.json.gz", "024-tracelens-h100-qwen15.json.gz",
		"026-tracelens-mi300-bert-small.json.gz", "028-tracelens-b200-eager.json.gz", "030-tracelens-torch-compile-triton.json.gz",
		"032-tracelens-sglang-decode.json.gz", "034-tracelens-vllm-piecewise-graph.json.gz", "038-param-resnet-kineto.json.gz"} {
		profile := shared(t, "traces", name)
		dir := t.TempDir()
		own := filepath.Join(dir, "own.gpurec")
		must(t, "import", "-q", profile, "-o", own)
		_, events := readLogFile(t, own)
		var probes []event.Event
		var zero event.Time
		to := func(at event.Time) event.Time {
			return 12_345_000_000 + (at - zero) + event.Time(float64(at-zero)*drift)
		}
		calls := 0
		for i := range events {
			e := events[i]
			s := e.TimeOf(event.FieldStart)
			if e.Kind != event.KindAPI || e.TID <= 0 || !s.Known() {
				continue
			}
			if zero == 0 {
				zero = s
			}
			if calls++; calls%50 == 0 {
				continue
			}
			p := event.New(event.KindAPI, to(e.Time)+500)
			p.PID, p.TID, p.Source = e.PID, e.TID, "uprobe:"+e.Str(event.FieldName)
			p.SetTime(event.FieldStart, to(s)-event.Time(1000+int64(calls*7919%1000)))
			p.SetStr(event.FieldName, e.Str(event.FieldName))
			probes = append(probes, p)
		}
		if len(probes) < 100 {
			t.Logf("%s: %d calls only", name, len(probes))
			continue
		}
		tried++
		log := writeLogFile(t, "run.gpurec", &event.Meta{Clock: event.ClockBoottime}, probes)
		out := filepath.Join(dir, "all.gpurec")
		r := gpurec(t, "import", log, profile, "-o", out)
		if r.code != 0 {
			t.Fatalf("%s: %s", name, r.stderr)
		}
		if strings.Contains(r.stderr, "unaligned") {
			t.Logf("%s: unaligned, %d calls", name, len(probes))
			continue
		}
		aligned++
		_, merged := readLogFile(t, out)
		var want, got []event.Time
		for i := range events {
			if events[i].Kind == event.KindGPUActivity {
				want = append(want, to(events[i].Time))
			}
		}
		for i := range merged {
			if merged[i].Kind == event.KindGPUActivity {
				got = append(got, merged[i].Time)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d activities, want %d", name, len(got), len(want))
		}
		worst := event.Time(0)
		for i := range want {
			worst = max(worst, want[i]-got[i], got[i]-want[i])
		}
		t.Logf("%s: %d calls, worst %d ns: %s", name, len(probes), worst, strings.Split(r.stderr, "\n")[1])
		if worst > 10_000 {
			t.Errorf("%s: %d ns off", name, worst)
		}
	}
	if aligned*2 < tried {
		t.Errorf("%d of %d aligned", aligned, tried)
	}
}
