package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/correlate"
	jsoncheck "github.com/gpurec/gpurec/export/chromejson/check"
	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/record/event"
)

// exported writes a log in both trace formats and as tables, and checks the traces.
func exported(t *testing.T, log string) (pf *pfcheck.Report, js *jsoncheck.Report, tables string) {
	t.Helper()
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "x.pftrace"), filepath.Join(dir, "x.json"), filepath.Join(dir, "tables")+"/"
	for _, out := range []string{a, b, c} {
		must(t, "export", "-q", log, "-o", out)
	}
	pf, err := pfcheck.File(a)
	if err == nil {
		err = pf.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	js, err = jsoncheck.File(b)
	if err == nil {
		err = js.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return pf, js, c
}

// A log in which nothing happened is a trace of nothing, and tables without rows.
func TestExportOfNothing(t *testing.T) {
	log := writeLogFile(t, "empty.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, nil)
	pf, js, dir := exported(t, log)
	if len(pf.Slices)+len(pf.Instants)+pf.Samples+pf.Flows != 0 || len(js.Slices)+js.Instants+js.Samples != 0 {
		t.Errorf("drawn: %v %v", pf.Categories, js.Categories)
	}
	got := tallyParquet(t, dir)
	for _, tb := range correlate.Tables {
		for _, c := range tb.Columns() {
			if n := got[tb.Name+"."+c.Name]; n == nil || n.rows != 0 && tb.Name != "metadata" {
				t.Errorf("%s.%s: %v", tb.Name, c.Name, n)
			}
		}
	}
}

// Values that some reader would spoil: 64 bits without a sign, no UTF-8, names
// of 100 kB, no length, no end, times before the first event's.
func TestExportOfOddValues(t *testing.T) {
	const start, huge, bad = 5_000_000_000, uint64(math.MaxUint64 - 1), "k\xff\xfe\x00\"\\\u2028<é"
	long := strings.Repeat("long name ", 10_000)
	call := func(at, from event.Time, name string) event.Event {
		e := event.New(event.KindAPI, at)
		e.PID, e.TID, e.Comm = 42, 43, "p\x80"
		e.SetTime(event.FieldStart, from)
		e.SetUint(event.FieldAPI, uint64(event.APICUDADriver))
		e.SetStr(event.FieldName, name)
		return e
	}
	evs := []event.Event{
		call(start+10, start, bad), call(start+20, start+20, long), call(start+30, 1_000, "early"),
		call(start+40, start+35, "known 0"), call(start+50, start+45, "unknown"),
	}
	evs[0].SetUint(event.FieldStream, huge)
	evs[0].SetUint(event.FieldBytes, 1<<63)
	evs[3].SetUint(event.FieldBytes, 0)
	open := event.New(event.KindAPIEnter, start+60)
	open.PID, open.TID = 42, 43
	open.SetUint(event.FieldAPI, uint64(event.APICUDADriver))
	open.SetStr(event.FieldName, "hangs")
	last := event.New(event.KindMark, start+100)
	last.PID, last.TID = 42, 43
	last.SetStr(event.FieldName, "last")
	log := writeLogFile(t, "no\xffutf8.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, append(evs, open, last))
	pf, js, dir := exported(t, log)

	type want struct {
		start, end int64
		args       map[string]any
	}
	for name, w := range map[string]want{
		strings.NewReplacer("\xff", "\uFFFD", "\xfe", "\uFFFD").Replace(bad): {start, start + 10, map[string]any{"stream": huge, "bytes": uint64(1 << 63)}},
		long:      {start + 20, start + 20, map[string]any{}},
		"early":   {1_000, start + 30, map[string]any{}},
		"known 0": {start + 35, start + 40, map[string]any{"bytes": int64(0)}},
		"unknown": {start + 45, start + 50, map[string]any{"bytes": nil}},
		"hangs":   {start + 60, start + 100, map[string]any{"end": "after_stop"}},
	} {
		found := 0
		for _, s := range pf.Slices {
			if s.Name != name {
				continue
			}
			found++
			if s.Start != w.start || s.End != w.end {
				t.Errorf("%.20q is drawn %d-%d", name, s.Start, s.End)
			}
			for k, v := range w.args {
				if s.Args[k] != v {
					t.Errorf("%.20q: %s is %v (%T), not %v", name, k, s.Args[k], s.Args[k], v)
				}
			}
		}
		for _, s := range js.Slices {
			if s.Name != name {
				continue
			}
			found++
			if s.Start != w.start-1_000 || s.End != w.end-1_000 {
				t.Errorf("%.20q in JSON is drawn %d-%d", name, s.Start, s.End)
			}
			for k, v := range w.args {
				got := s.Args[k]
				if n, ok := got.(json.Number); ok {
					got = n.String()
				}
				if v != nil {
					v = fmt.Sprint(v)
				}
				if got != v {
					t.Errorf("%.20q in JSON: %s is %v, not %v", name, k, got, v)
				}
			}
		}
		if found != 2 {
			t.Errorf("%.20q is drawn %d times in two formats", name, found)
		}
	}
	got := tallyParquet(t, dir)
	wantBytes := uint64(1 << 63) // and 0
	if c := got["api_calls.bytes"]; c.rows != 6 || c.nulls != 4 || c.sum != wantBytes {
		t.Errorf("api_calls.bytes: %+v", *c)
	}
	if c := got["api_calls.stream"]; c.nulls != 5 || c.sum != huge {
		t.Errorf("api_calls.stream: %+v", *c)
	}
	if c := got["api_calls.end_ns"]; c.nulls != 1 {
		t.Errorf("api_calls.end_ns: %+v", *c)
	}
}

// A hundred thousand threads, and as many activities at once on one stream:
// tracks stand under their process, and neither time nor memory explodes.
func TestExportOfManyTracks(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand tracks: not with -short")
	}
	const n = 100_000
	var evs []event.Event
	for i := range n {
		e := event.New(event.KindSlice, event.Time(1_000_000+i*10+5))
		e.PID, e.TID = 42, int32(100+i)
		e.SetTime(event.FieldStart, event.Time(1_000_000+i*10))
		e.SetStr(event.FieldName, "work")
		evs = append(evs, e)
		a := event.New(event.KindGPUActivity, event.Time(9_000_000+i))
		a.PID = 42
		a.SetTime(event.FieldStart, event.Time(1_000_000+i))
		a.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
		a.SetStr(event.FieldName, "kernel")
		a.SetStr(event.FieldDevice, "0")
		a.SetUint(event.FieldStream, 7)
		evs = append(evs, a)
	}
	pf, js, _ := exported(t, writeLogFile(t, "many.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, evs))
	threads, lanes, top := 0, 0, map[string]int{}
	for _, tr := range pf.Tracks {
		switch {
		case tr.IsThread && tr.Parent != nil && tr.Parent.IsProcess:
			threads++
		case tr.Name == "stream 7" && tr.Parent != nil:
			lanes++
		case tr.Parent == nil:
			top[tr.Path()]++
		}
	}
	if threads != n || lanes != n || len(top) > 3 { // the process, the GPU, and what gpurec says of it
		t.Errorf("%d threads, %d lanes, at the top %v", threads, lanes, top)
	}
	if len(js.Slices) != len(pf.Slices) || len(pf.Slices) < 2*n {
		t.Errorf("%d and %d slices", len(pf.Slices), len(js.Slices))
	}
}

// A disk that fills up: an error in one line, and nothing under the name.
func TestExportToAFullDisk(t *testing.T) {
	log := busyLog(t, 60_000)
	full := func(t *testing.T, r outcome) {
		t.Helper()
		if r.code != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "no space left on device") {
			t.Errorf("status %d: %q", r.code, r.stderr)
		}
	}
	for _, format := range []string{"perfetto", "chrome-json"} { // standard output takes no more
		c := exec.Command(os.Args[0], "export", "-q", log, "-o", "-", "--format", format)
		c.Env = append(os.Environ(), mainEnv+"=1")
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var e bytes.Buffer
		c.Stdout, c.Stderr = f, &e
		if err := c.Run(); !errors.As(err, new(*exec.ExitError)) {
			t.Fatalf("export to a full standard output: %v, want an exit status", err)
		}
		full(t, outcome{"", e.String(), c.ProcessState.ExitCode()})
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root: tried with /dev/full only")
	}
	dir := t.TempDir()
	if err := unix.Mount("gpurec-test", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mount a small tmpfs: %v: tried with /dev/full only", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	for _, out := range []string{"x.pftrace", "x.pftrace.gz", "x.json", "x.json.gz", "tables/"} {
		for _, args := range [][]string{{}, {"--max-memory", "16M"}} {
			full(t, gpurec(t, append([]string{"export", "-q", log, "-o", filepath.Join(dir, out) + strings.Repeat("/", strings.Count(out, "/"))}, args...)...))
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("%s: left %v, %v", out, left, err)
			}
		}
	}
	// What was there before is there still.
	old := filepath.Join(dir, "old.pftrace")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	full(t, gpurec(t, "export", "-q", log, "-o", old))
	if b, err := os.ReadFile(old); err != nil || string(b) != "old" {
		t.Errorf("the earlier file holds %d bytes, %v", len(b), err)
	}
}

// busyLog has n calls of no kin, so that nothing compresses well.
func busyLog(t *testing.T, n int) string {
	t.Helper()
	var evs []event.Event
	x := uint64(1)
	for i := range n {
		x = x*6364136223846793005 + 1442695040888963407
		e := event.New(event.KindAPI, event.Time(uint64(1_000_000+i*1000)+x>>56))
		e.PID, e.TID = 42, 43
		e.SetTime(event.FieldStart, event.Time(1_000_000+i*1000))
		e.SetUint(event.FieldAPI, uint64(event.APICUDADriver))
		e.SetStr(event.FieldName, fmt.Sprintf("call%x", x))
		e.SetUint(event.FieldStream, x)
		evs = append(evs, e)
	}
	return writeLogFile(t, "busy.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, evs)
}

// Where an output may stand, for each format.
func TestExportPlaces(t *testing.T) {
	const log = demoLog
	// Standard output is what a file would hold.
	for format, name := range map[string]string{"perfetto": "x.pftrace", "chrome-json": "x.json"} {
		file := filepath.Join(t.TempDir(), name)
		must(t, "export", "-q", log, "-o", file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := gpurec(t, "export", "-q", log, "-o", "-", "--format", format)
		if r.code != 0 || r.stderr != "" || r.stdout != string(b) {
			t.Errorf("%s: status %d, %d bytes on standard output, %d in the file: %s", format, r.code, len(r.stdout), len(b), r.stderr)
		}
	}
	for _, out := range []string{"x.pftrace", "x.json", "tables/"} {
		dir := t.TempDir()
		path := filepath.Join(dir, out) + strings.Repeat("/", strings.Count(out, "/"))
		// An earlier output is replaced.
		must(t, "export", "-q", log, "-o", path, "--exclude", "sched")
		must(t, "export", "-q", log, "-o", path)
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: %v, %v", out, left, err)
		}
		if os.Geteuid() != 0 {
			t.Log("links of others and file systems that are read-only need root: not tried")
			continue
		}
		// Through another's link nothing is written.
		target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link"+filepath.Ext(out))
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(link, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		to := link + strings.Repeat("/", strings.Count(out, "/"))
		if r := gpurec(t, "export", "-q", log, "-o", to); r.code != exitFailed || strings.Count(r.stderr, "\n") != 1 || exists(target) {
			t.Errorf("%s: through the link of user 12345: status %d: %s", out, r.code, r.stderr)
		}
		// Nor where nothing can be written.
		ro := t.TempDir()
		if err := unix.Mount("gpurec-test", ro, "tmpfs", unix.MS_RDONLY, "size=64k"); err != nil {
			t.Logf("mount a tmpfs that is read-only: %v: not tried", err)
			continue
		}
		t.Cleanup(func() { _ = unix.Unmount(ro, unix.MNT_DETACH) })
		path = filepath.Join(ro, out) + strings.Repeat("/", strings.Count(out, "/"))
		if r := gpurec(t, "export", "-q", log, "-o", path); r.code != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, ro) {
			t.Errorf("%s: where nothing can be written: status %d: %s", out, r.code, r.stderr)
		}
	}
}
