package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

// workload builds testdata/workloads, or skips where it cannot be recorded.
func workload(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: nothing can be recorded")
	}
	for _, tool := range []string{"python3", "cc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: the workload cannot be built and run", tool)
		}
	}
	dir, err := filepath.Abs("../../testdata/workloads")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-s", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("build the workload: %v\n%s", err, out)
	}
	if !strings.Contains(gpurec(t, "doctor").stdout, "ok  uprobe") {
		t.Skip("this kernel has no uprobes for BPF: API calls cannot be recorded")
	}
	return dir
}

// truthLine is a line of what the workload says of itself; see truth.py.
type truthLine struct {
	Kind, Name, Kernel string
	PID, Calls         int64
	Grid, Block        []int64
	Stream             *uint64
	Bytes              *int64
	Cmd                json.RawMessage
}

func readTruth(t *testing.T, path string) []truthLine {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []truthLine
	for line := range strings.Lines(string(b)) {
		var l truthLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, l)
	}
	return all
}

// logRows correlates a log and gathers the rows that the tests compare.
func logRows(t *testing.T, path string) (*correlate.Summary, *correlate.Rows) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gpulog.NewReader(bufio.NewReader(f), gpulog.ReaderOptions{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	s := gpulog.Sort(r, gpulog.SortOptions{})
	defer s.Close()
	var all correlate.Rows
	sum, err := correlate.Run(s, correlate.Options{}, func(rows *correlate.Rows) error {
		all.APICalls = append(all.APICalls, rows.APICalls...)
		all.Ioctls = append(all.Ioctls, rows.Ioctls...)
		all.Losses = append(all.Losses, rows.Losses...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, &all
}

// diff reports where two counts differ.
func diff(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	keys := map[string]bool{}
	for k := range got {
		keys[k] = true
	}
	for k := range want {
		keys[k] = true
	}
	bad := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if got[k] != want[k] {
			if bad++; bad <= 10 {
				t.Errorf("%s %s: recorded %d, truth %d", what, k, got[k], want[k])
			}
		}
	}
	if bad == 0 {
		t.Logf("%s: %d keys agree", what, len(keys))
	}
}

// Every call of the workload is recorded, by name and process, over threads,
// fork, subprocess and dlopen; another process that uses the same library
// leaves no row.
func TestRecordWorkload(t *testing.T) {
	dir := workload(t)
	tmp := t.TempDir()
	noise := exec.Command("python3", filepath.Join(dir, "train.py"), "--noise")
	if err := noise.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		noise.Process.Signal(syscall.SIGTERM)
		noise.Wait()
	}()
	log, truth := filepath.Join(tmp, "run.gpurec"), filepath.Join(tmp, "truth")
	args := []string{"record", "-o", log, "--", "python3", filepath.Join(dir, "train.py"), "--truth", truth, "--exit-code", "7"}
	if testing.Short() {
		args = append(args, "--quick")
	}
	if r := gpurec(t, args...); r.code != 7 {
		t.Fatalf("status %d, want the command's 7\n%s", r.code, r.stderr)
	}
	sum, rows := logRows(t, log)
	if len(rows.Losses) > 0 {
		t.Fatalf("events were lost: %+v", rows.Losses)
	}
	lines := readTruth(t, truth)
	compareCalls(t, rows, lines)
	compareIoctls(t, rows, lines)
	for i := range rows.APICalls {
		if rows.APICalls[i].PID.V == int64(noise.Process.Pid) {
			t.Fatal("a call of another process was recorded")
		}
	}
	if s := sum.Meta.ExitStatus; !s.OK || s.V != 7 {
		t.Errorf("the log says exit status %+v", s)
	}
}

func compareCalls(t *testing.T, rows *correlate.Rows, lines []truthLine) {
	calls, wantCalls := map[string]int64{}, map[string]int64{}
	launches, wantLaunches := map[string]int64{}, map[string]int64{}
	sizes, wantSizes := map[string]int64{}, map[string]int64{}
	isLaunch, isMemory := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		switch l.Kind {
		case "calls":
			wantCalls[fmt.Sprintf("%d %s", l.PID, l.Name)] += l.Calls
		case "launch":
			isLaunch[l.Name] = true
			wantLaunches[fmt.Sprintf("%d %s %s %v %v %d", l.PID, l.Name, l.Kernel, l.Grid, l.Block, *l.Stream)] += l.Calls
		case "memory":
			isMemory[l.Name] = true
			if l.Bytes != nil {
				wantSizes[fmt.Sprintf("%d %s %d", l.PID, l.Name, *l.Bytes)] += l.Calls
			}
		}
	}
	for i := range rows.APICalls {
		c := &rows.APICalls[i]
		n := c.Name
		calls[fmt.Sprintf("%d %s", c.PID.V, n)]++
		if isLaunch[n] && c.GridX.OK {
			launches[fmt.Sprintf("%d %s %s [%d %d %d] [%d %d %d] %d", c.PID.V, n, c.KernelName,
				c.GridX.V, c.GridY.V, c.GridZ.V, c.BlockX.V, c.BlockY.V, c.BlockZ.V, c.Stream.V)]++
		}
		if isMemory[n] && c.Bytes.OK {
			sizes[fmt.Sprintf("%d %s %d", c.PID.V, n, c.Bytes.V)]++
		}
	}
	diff(t, "calls", calls, wantCalls)
	diff(t, "launches", launches, wantLaunches)
	diff(t, "sizes", sizes, wantSizes)
}

func compareIoctls(t *testing.T, rows *correlate.Rows, lines []truthLine) {
	got, want := map[string]int64{}, map[string]int64{}
	for _, l := range lines {
		if l.Kind == "ioctl" {
			want[fmt.Sprintf("%d %s", l.PID, strings.Trim(string(l.Cmd), `"`))] += l.Calls
		}
	}
	if len(want) == 0 {
		t.Fatal("the truth has no ioctls")
	}
	hex := strings.HasPrefix(strings.SplitN(slices.Sorted(maps.Keys(want))[0], " ", 2)[1], "0x")
	for i := range rows.Ioctls {
		c := &rows.Ioctls[i]
		if hex {
			got[fmt.Sprintf("%d 0x%08x", c.PID.V, c.Cmd)]++
		} else {
			got[fmt.Sprintf("%d %d", c.PID.V, c.Cmd)]++
		}
	}
	diff(t, "ioctls", got, want)
}

// machine is what a recording must leave as it was: the state of the top trace
// instance, and no instance of its own. Others may record meanwhile.
type machine struct {
	instances string
	tracingOn string
}

func machineNow(t *testing.T, recorder int) machine {
	t.Helper()
	const root = "/sys/kernel/tracing"
	on, err := os.ReadFile(root + "/tracing_on")
	if err != nil {
		return machine{}
	}
	own, err := filepath.Glob(fmt.Sprintf("%s/instances/gpurec-%d-*", root, recorder))
	if err != nil {
		t.Fatal(err)
	}
	return machine{strings.Join(own, " "), string(on)}
}

// recording is a running `gpurec record` of a workload that hangs.
type recording struct {
	*exec.Cmd
	command int // pid
}

// started runs a recording of a hanging workload and returns when the call
// that hangs is in the log.
func started(t *testing.T, dir, log string) *recording {
	t.Helper()
	pidFile := filepath.Join(t.TempDir(), "pid")
	c := exec.Command(os.Args[0], "record", "-q", "-o", log, "-e", "sched:sched_process_exit", "--", "sh", "-c",
		"echo $$ > "+pidFile+"; exec python3 "+filepath.Join(dir, "train.py")+" --quick --hang")
	c.Env = append(os.Environ(), mainEnv+"=1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The hang is reached when its entry record can be read from the log,
	// which is flushed at least once a second.
	for range 300 {
		time.Sleep(100 * time.Millisecond)
		b, err := os.ReadFile(pidFile)
		if err != nil || !hangs(log) {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		return &recording{c, pid}
	}
	c.Process.Kill()
	t.Fatal("the workload never reached its hanging call")
	return nil
}

// hangs reports whether the log holds an entry whose exit is not there.
func hangs(log string) bool {
	f, err := os.Open(log)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := gpulog.NewReader(f, gpulog.ReaderOptions{Name: log})
	if err != nil {
		return false
	}
	open := map[int32]int{}
	var b event.Batch
	for {
		if err := r.Next(&b); err != nil {
			break
		}
		for i := range b.Events {
			e := &b.Events[i]
			if !strings.HasSuffix(e.Str(event.FieldName), "Synchronize") {
				continue
			}
			switch e.Kind {
			case event.KindAPIEnter:
				open[e.TID]++
			case event.KindAPIExit:
				open[e.TID]--
			}
		}
	}
	for _, n := range open {
		if n > 0 {
			return true
		}
	}
	return false
}

// However a recording ends, the machine is as before and the log reads.
func TestRecordEnds(t *testing.T) {
	dir := workload(t)
	if testing.Short() {
		t.Skip("takes some seconds: not with -short")
	}
	before := machineNow(t, 0)
	for _, c := range []struct {
		name   string
		end    func(r *recording) error
		status int // of gpurec; -1 if it was killed
		clean  bool
	}{
		{"SIGINT", func(r *recording) error { return r.Process.Signal(syscall.SIGINT) }, 130, true},
		{"SIGTERM", func(r *recording) error { return r.Process.Signal(syscall.SIGTERM) }, 143, true},
		{"kill -9 of gpurec", func(r *recording) error { return r.Process.Kill() }, -1, false},
		{"kill -9 of the command", func(r *recording) error { return syscall.Kill(r.command, syscall.SIGKILL) }, 137, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "run.gpurec")
			rec := started(t, dir, log)
			defer syscall.Kill(rec.command, syscall.SIGKILL) // it hangs: nothing else ends it
			if err := c.end(rec); err != nil {
				t.Fatal(err)
			}
			err := rec.Wait()
			var ee *exec.ExitError
			if err != nil && !errors.As(err, &ee) {
				t.Fatal(err)
			}
			if code := rec.ProcessState.ExitCode(); code != c.status {
				t.Errorf("status %d, want %d", code, c.status)
			}
			_, rows := logRows(t, log)
			if len(rows.APICalls) < 100 {
				t.Errorf("only %d calls in the log", len(rows.APICalls))
			}
			if !c.clean {
				must(t, "doctor", "--clean")
			}
			if now := machineNow(t, rec.Process.Pid); now != before {
				t.Errorf("the machine was %+v, is %+v", before, now)
			}
		})
	}
}

// The command's own output passes through, and a log can be a pipe.
func TestRecordToPipe(t *testing.T) {
	workload(t)
	c := exec.Command(os.Args[0], "record", "-q", "-o", "-", "--", "echo", "hello")
	c.Env = append(os.Environ(), mainEnv+"=1")
	var errOut strings.Builder
	c.Stderr = &errOut
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := gpulog.NewReader(out, gpulog.ReaderOptions{Name: "pipe"})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	n := 0
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += len(b.Events)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if n == 0 || !strings.Contains(errOut.String(), "hello") {
		t.Errorf("%d events, standard error %q", n, errOut.String())
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{{"2", 2 * time.Second}, {"0.5", time.Second / 2}, {"30s", 30 * time.Second}, {"1m30s", 90 * time.Second}, {"250ms", 250 * time.Millisecond}} {
		if d, err := parseDuration(c.text); err != nil || d != c.want {
			t.Errorf("%s: %v, %v; want %v", c.text, d, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "NaN", "Inf", "1e99", "5 parsecs"} {
		if d, err := parseDuration(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, d)
		}
	}
}

// A wrong flag gives one line and status 2, not the whole help.
func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"record", "-p", "abc"}, {"record", "--bogus", "--", "true"}, {"record", "--duration", "soon", "--", "true"},
		{"record", "--duration", "0", "--", "true"}, {"record", "-a", "-p", "1"}, {"record"}, {"info", "--bogus"}, {"--bogus"},
	} {
		r := gpurec(t, args...)
		if r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
}
