package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/gpurec/gpurec/record"
)

// The test binary is the program itself when this is set.
const mainEnv = "GPUREC_TEST_MAIN"

func TestMain(m *testing.M) {
	// A recording's helpers are this binary too, started without the variable's
	// help: their hidden argument tells.
	if os.Getenv(mainEnv) != "" {
		record.RunHelper()
		code := run(untilSignal(), newApp(), os.Args)
		if p := os.Getenv(peakEnv); p != "" {
			writePeak(p)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

type outcome struct {
	stdout, stderr string
	code           int
}

func gpurec(t *testing.T, args ...string) outcome { return gpurecIn(t, nil, args...) }

func gpurecIn(t *testing.T, stdin []byte, args ...string) outcome {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), mainEnv+"=1")
	var o, e bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &o, &e
	err := c.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return outcome{o.String(), e.String(), c.ProcessState.ExitCode()}
}

func must(t *testing.T, args ...string) string {
	t.Helper()
	r := gpurec(t, args...)
	if r.code != 0 {
		t.Fatalf("gpurec %s: status %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// shared finds a file of the folder of foreign traces beside the checkout.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	p := filepath.Join(append([]string{"..", "..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("%s is not here: foreign traces are not part of the project", filepath.Join(elem...))
	}
	return p
}

// three lines, one job.
const smallTrace = `# tracer: nop
           app-10    (    9) [000] .....     1.000100: drm_sched_job: entity=ff11000004066800, id=1, fence=ff11000004886340, ring=gfx, job count:0, hw job count:0
   kworker/0:1-11    (   11) [001] .....     1.000200: drm_run_job: entity=ff11000004066800, id=1, fence=ff11000004886340, ring=gfx, job count:0, hw job count:1
        <idle>-0     (-------) [000] d.h1.     1.000700: drm_sched_process_job: fence=ff11000004886340 signaled
`

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUsageErrors(t *testing.T) {
	trace := writeFile(t, "trace.txt", smallTrace)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"nonsense"},
		{"export"},
		{"export", trace},
		{"export", trace, "-o", "x.unknown"},
		{"export", trace, "-o", "x.pftrace", "--format", "none"},
		{"export", trace, "--no-such-flag", "-o", "x.pftrace"},
		{"import", trace},
		{"convert", trace},
		{"info"},
		{"record"},
		{"record", "--max-size", "much", "--", "true"},
		{"record", "--ring", "100G", "--", "true"},
		{"report", trace, "--max-memory", "3"},
		{"doctor", "who"},
		{"info", trace, "--clock", "bot"},
		{"info", trace, "--from", "none"},
		{"export", trace, "-o", "run.parquet"},
		{"export", trace, "-o", "-", "--format", "parquet"},
		{"export", trace, "-o", pipe, "--format", "perfetto"},
		{"convert", trace, pipe, "--format", "parquet"},
		{"import", trace, "-o", pipe},
	} {
		r := gpurec(t, args...)
		if r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "gpurec: ") {
			t.Errorf("%v: status %d, %q", args, r.code, r.stderr)
		}
	}
	// A device or pipe is not replaced by a file.
	if st, err := os.Lstat(pipe); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("pipe: %v, %v", st, err)
	}
}

func TestHelpFits(t *testing.T) {
	verbs := [][]string{{"--help"}}
	for _, c := range newApp().Commands {
		verbs = append(verbs, []string{c.Name, "--help"})
	}
	for _, args := range verbs {
		for line := range strings.Lines(must(t, args...)) {
			if n := utf8.RuneCountInString(line) - 1; n > 120 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
	}
	for _, want := range []string{"-e, --event SYSTEM:EVENT …", "-o, --output FILE ", "(default: run.gpurec)"} {
		if help := must(t, "record", "--help"); !strings.Contains(help, want) {
			t.Errorf("record --help lacks %q:\n%s", want, help)
		}
	}
}

// Help is help wherever it stands, and --clock takes ftrace's names too.
func TestHelpAndClockNames(t *testing.T) {
	trace := writeFile(t, "trace.txt", smallTrace)
	for _, args := range [][]string{{"report", trace, "--help"}, {"export", trace, "-h"}} {
		if r := gpurec(t, args...); r.code != 0 || !strings.Contains(r.stdout, "--max-memory") || r.stderr != "" {
			t.Errorf("%v: status %d, %q", args, r.code, r.stderr)
		}
	}
	for name, want := range map[string]string{"mono": "monotonic", "boot": "boottime", "realtime": "realtime"} {
		if out := must(t, "info", "--json", "--clock", name, trace); !strings.Contains(out, `"clock": "`+want+`"`) {
			t.Errorf("--clock %s: %s", name, out)
		}
	}
}

func TestBadInputs(t *testing.T) {
	dir := t.TempDir()
	bin := writeFile(t, "noise", string([]byte{0, 1, 2, 3, 0xff, 0xfe, 0, 0}))
	empty := writeFile(t, "empty", "")
	for _, in := range []string{filepath.Join(dir, "none"), dir, bin, empty, "/dev/null"} {
		out := filepath.Join(dir, "out.pftrace")
		r := gpurec(t, "convert", in, out)
		if r.code != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, in) {
			t.Errorf("%s: status %d, %q", in, r.code, r.stderr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", in, left, err)
		}
	}
}

type infoJSON struct {
	Clock     string
	StartNS   *int64 `json:"start_ns"`
	EndNS     *int64 `json:"end_ns"`
	Events    map[string]uint64
	Rows      map[string]uint64
	Anomalies []struct {
		Name, Severity string
		Count          uint64
	}
}

func infoOf(t *testing.T, file string) infoJSON {
	t.Helper()
	var i infoJSON
	out := must(t, "info", "--json", file)
	if err := json.Unmarshal([]byte(out), &i); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return i
}

// The small trace through every verb, as a file, as a log, and through pipes.
func TestSmallTraceEndToEnd(t *testing.T) {
	dir := t.TempDir()
	trace := writeFile(t, "trace.txt", smallTrace)
	log := filepath.Join(dir, "run.gpurec")
	must(t, "import", trace, "-o", log)
	for _, f := range []string{trace, log} {
		i := infoOf(t, f)
		if i.Events["job_queue"] != 1 || i.Events["job_run"] != 1 || i.Events["job_done"] != 1 || i.Rows["jobs"] != 1 {
			t.Errorf("%s: %+v", f, i)
		}
		if i.StartNS == nil || *i.StartNS != 1_000_100_000 || *i.EndNS != 1_000_700_000 || i.Clock != "unknown" {
			t.Errorf("%s: times %+v", f, i)
		}
	}
	var rep struct {
		Rings []struct {
			Ring       string
			Jobs       int
			QueueDelay struct {
				MaxNS int64 `json:"max_ns"`
			} `json:"queue_delay"`
			DeviceTime struct {
				MaxNS int64 `json:"max_ns"`
			} `json:"device_time"`
		}
	}
	if err := json.Unmarshal([]byte(must(t, "report", log, "--json")), &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Rings) != 1 || rep.Rings[0].Ring != "gfx" || rep.Rings[0].QueueDelay.MaxNS != 100_000 || rep.Rings[0].DeviceTime.MaxNS != 500_000 {
		t.Errorf("report %+v", rep)
	}
	for _, out := range []string{"a.pftrace", "a.pftrace.gz", "a.parquet/"} {
		must(t, "export", log, "-o", filepath.Join(dir, out)+strings.Repeat("/", strings.Count(out, "/")))
		if _, err := os.Stat(filepath.Join(dir, out)); err != nil {
			t.Error(err)
		}
	}
	piped := gpurecIn(t, []byte(smallTrace), "import", "-", "-o", "-")
	if piped.code != 0 {
		t.Fatal(piped.stderr)
	}
	back := gpurecIn(t, []byte(piped.stdout), "info", "-", "--json")
	if back.code != 0 || !strings.Contains(back.stdout, `"jobs": 1`) {
		t.Errorf("through pipes: status %d %s %s", back.code, back.stdout, back.stderr)
	}
}

// The same log gives the same bytes.
func TestExportsAreDeterministic(t *testing.T) {
	trace := shared(t, "captures", "6.12.117+deb12-amd64", "trace.txt")
	dir := t.TempDir()
	read := func(name string) []byte {
		must(t, "convert", trace, filepath.Join(dir, name))
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if a, b := read("a.pftrace"), read("b.pftrace"); !bytes.Equal(a, b) {
		t.Errorf("two exports of one trace differ: %d and %d bytes", len(a), len(b))
	}
}

// A log cut in the middle gives what is whole, says so, and ends with status 3.
func TestCutLogIsPartial(t *testing.T) {
	const lines = 60_000
	var text strings.Builder
	text.WriteString("# tracer: nop\n")
	for i := range lines {
		fmt.Fprintf(&text, "  app-10    (    9) [000] ..... %5d.%06d: sched_waking: comm=w%d pid=%d prio=120 target_cpu=000\n", i/1000, i%1000, i*7919%10007, i*104729%99991)
	}
	log := filepath.Join(t.TempDir(), "run.gpurec")
	must(t, "import", writeFile(t, "trace.txt", text.String()), "-o", log)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.gpurec")
	if err := os.WriteFile(cut, b[:len(b)*3/4], 0o644); err != nil {
		t.Fatal(err)
	}
	r := gpurec(t, "info", "--json", cut)
	var i infoJSON
	if err := json.Unmarshal([]byte(r.stdout), &i); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	n := i.Events["sched_waking"]
	if r.code != exitPartial || n == 0 || n >= lines || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("status %d, %d of %d events\n%s", r.code, n, lines, r.stderr)
	}
	if whole := infoOf(t, log); whole.Events["sched_waking"] != lines {
		t.Errorf("the whole log has %d of %d events", whole.Events["sched_waking"], lines)
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{"4096": 4096, "64k": 64 << 10, "256M": 256 << 20, "2GiB": 2 << 30, "1T": 1 << 40} {
		if got, err := parseBytes(s); err != nil || got != want {
			t.Errorf("parseBytes(%q) = %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "M", "-1", "1.5G", "9999999999T", "x"} {
		if got, err := parseBytes(s); err == nil {
			t.Errorf("parseBytes(%q) = %d", s, got)
		}
	}
}

// An archive of several files is not a file that ends early.
func TestArchiveOfSeveral(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"one.txt", "two.txt"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(smallTrace))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, smallTrace); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := writeFile(t, "two.tar", b.String())
	r := gpurec(t, "info", archive)
	if want := "gpurec: " + archive + ": holds several files: one.txt was read, two.txt and what follows was not; name one with --member\n"; r.code != exitPartial || r.stderr != want {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	if !strings.Contains(r.stdout, "archive_members_not_read  1  name one with --member") || strings.Contains(r.stdout, "input_ends_early") {
		t.Errorf("%s", r.stdout)
	}
	if r := gpurec(t, "info", "--member", "two.txt", archive); r.code != 0 || r.stderr != "" {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
}

// The help lists what can be read, and every verb.
func TestHelpLists(t *testing.T) {
	help := must(t, "--help")
	if strings.Contains(help, "perfetto-text") || !strings.Contains(help, "\n   version ") {
		t.Errorf("%s", help)
	}
	if r := gpurec(t, "info", writeFile(t, "x", "nothing")); strings.Contains(r.stderr, "perfetto-text") || !strings.Contains(r.stderr, "kineto") {
		t.Errorf("%s", r.stderr)
	}
}

// A line that was an event and is none any more is a part that could not be read.
func TestTornLine(t *testing.T) {
	r := gpurec(t, "info", writeFile(t, "torn.txt", smallTrace+"     app-10    [000] .....     1.0\n"))
	if r.code != exitPartial || !strings.Contains(r.stderr, "ftrace_text_torn_line") || !strings.Contains(r.stdout, "ftrace_text_torn_line") {
		t.Errorf("status %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
	r = gpurec(t, "info", writeFile(t, "foreign.txt", smallTrace+"root@host:~# exit\n"))
	if r.code != 0 || !strings.Contains(r.stdout, "ftrace_text_unread_line") {
		t.Errorf("status %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
}
