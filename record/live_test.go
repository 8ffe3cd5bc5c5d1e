package record

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live/tracefs"
)

// callerEnv makes the test binary a command that calls getppid so many times.
const callerEnv = "GPUREC_TEST_CALLS"

func callerMain(n string) int {
	calls, err := strconv.Atoi(n)
	if err != nil {
		return 98
	}
	for range calls {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return 0
}

const tracing = "/sys/kernel/tracing"

// machineState is what a recording must leave as it was.
func machineState(t *testing.T) string {
	t.Helper()
	if _, err := tracefs.Available("sched:sched_switch"); err != nil {
		t.Skipf("needs ftrace: %v", err)
	}
	var b strings.Builder
	for _, f := range []string{"tracing_on", "trace_clock", "buffer_size_kb", "set_event", "current_tracer", "uprobe_events"} {
		s, err := os.ReadFile(filepath.Join(tracing, f))
		if err != nil {
			t.Skipf("tracefs is not mounted at %s: the state of the machine cannot be compared", tracing)
		}
		b.WriteString(f + "=" + string(s))
	}
	return b.String()
}

// instancesOf lists the trace instances of a recorder.
func instancesOf(pid int) []string {
	l, _ := filepath.Glob(filepath.Join(tracing, "instances", "gpurec-"+strconv.Itoa(pid)+"-*"))
	return l
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 600 {
		if len(instancesOf(pid)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("left behind: %v", instancesOf(pid))
}

// Every getppid of the command is in the log, once; what the log holds is what
// the probes say; nothing is lost.
func TestFtraceSession(t *testing.T) {
	before := machineState(t)
	t.Setenv(callerEnv, "5000")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := startRecorder(t, recorderSpec{Command: []string{exe}, Probes: []string{}, Events: []string{"sched:sched_switch", "syscalls:sys_enter_getppid"}})
	if got := r.wait(); got != 0 {
		t.Fatalf("status %d: %s", got, r.stderr.String())
	}
	l := readLog(t, r.log)
	var pid int32
	bySource := map[string]uint64{}
	mine := 0
	for i := range l.events {
		e := &l.events[i]
		if e.Kind == event.KindProcess && e.Str(event.FieldCmdline) == exe {
			pid = e.PID
		}
		bySource[e.Source]++
	}
	for i := range l.events {
		if e := &l.events[i]; e.Source == "syscalls:sys_enter_getppid" && (e.PID == pid || e.TID == pid) {
			mine++
		}
	}
	if mine != 5000 || l.count(event.KindLoss) != 0 {
		t.Errorf("%d of 5000 calls of process %d, %d losses", mine, pid, l.count(event.KindLoss))
	}
	for _, p := range l.meta.Probes {
		if bySource[p.Name] != p.Hits || p.Hits == 0 {
			t.Errorf("%s: %d events in the log, %d hits", p.Name, bySource[p.Name], p.Hits)
		}
	}
	if len(l.meta.Probes) != 2 || l.meta.Cost.CPUTimeNS == 0 || len(l.meta.Snapshots) < 2 {
		t.Errorf("probes %+v, cost %+v, %d snapshots", l.meta.Probes, l.meta.Cost, len(l.meta.Snapshots))
	}
	if after := machineState(t); after != before || len(instancesOf(r.cmd.Process.Pid)) > 0 {
		t.Errorf("the machine is not as it was:\n%s\nwas\n%s\ninstances %v", after, before, instancesOf(r.cmd.Process.Pid))
	}
}

// Limited to the target, ftrace gives the command's events and those of its
// children, and no others.
func TestEventsOfTarget(t *testing.T) {
	machineState(t)
	t.Setenv(callerEnv, "300")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := startRecorder(t, recorderSpec{
		Command: sh(exe + " & " + exe + "; wait; sleep 0.1"), Probes: []string{}, EventsOfTarget: true,
		Events: []string{"syscalls:sys_enter_getppid", "sched:sched_process_fork", "sched:sched_process_exec"},
	})
	if got := r.wait(); got != 0 {
		t.Fatalf("status %d: %s", got, r.stderr.String())
	}
	l := readLog(t, r.log)
	tree := map[int32]bool{}
	for i := range l.events {
		e := &l.events[i]
		if e.Kind == event.KindProcess && strings.Contains(e.Str(event.FieldCmdline), "wait; sleep") {
			tree[e.PID] = true
		}
	}
	if len(tree) != 1 {
		t.Fatalf("%d commands", len(tree))
	}
	calls := 0
	slices.SortStableFunc(l.events, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) }) // each CPU arrives by itself
	for i := range l.events {
		e := &l.events[i]
		switch {
		case isFork(e):
			if !tree[e.TID] {
				t.Errorf("a fork of %d, which is not in the tree", e.TID)
			}
			tid, _ := e.Int(event.FieldTargetTID)
			tree[int32(tid)] = true
		case e.Source == "syscalls:sys_enter_getppid":
			calls++
			if !tree[e.TID] {
				t.Errorf("a call of %d, which is not in the tree", e.TID)
			}
		}
	}
	if calls < 600 {
		t.Errorf("%d calls, want the 600 of the two children at least", calls)
	}
}

func isFork(e *event.Event) bool {
	op, _ := e.Uint(event.FieldTaskOp)
	return e.Kind == event.KindTask && event.TaskOp(op) == event.TaskFork
}

// However a recording ends, the machine is as before, the command is not
// stopped, and the log reads.
func TestEndings(t *testing.T) {
	slow(t)
	before := machineState(t)
	for _, c := range []struct {
		name string
		end  func(r *recorder, pid int)
		want int
		cut  bool // the recorder had no chance to end its log
		runs bool // the command runs on
	}{
		{"SIGINT to the group", func(r *recorder, pid int) { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT) }, 130, false, false},
		{"SIGTERM to the recorder", func(r *recorder, pid int) { r.cmd.Process.Signal(syscall.SIGTERM) }, 143, false, false},
		{"kill -9 of the recorder", func(r *recorder, pid int) { r.cmd.Process.Kill() }, 137, true, true},
		{"kill -9 of the command", func(r *recorder, pid int) { syscall.Kill(pid, syscall.SIGKILL) }, 137, false, false},
		{"kill -9 of both", func(r *recorder, pid int) { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }, 137, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			// Through dash, that passes SIGINT's default on to sleep.
			r := startRecorder(t, recorderSpec{Command: sh(`echo $$ > ` + file + `; exec sleep 100`), Events: []string{"sched:sched_switch"}})
			pid, _ := strconv.Atoi(waitFile(t, file))
			defer syscall.Kill(pid, syscall.SIGKILL)
			time.Sleep(1200 * time.Millisecond) // so that something is flushed
			if len(instancesOf(r.cmd.Process.Pid)) == 0 {
				t.Error("there is no instance while it records")
			}
			c.end(r, pid)
			if got := r.wait(); got != c.want {
				t.Errorf("status %d, want %d; it said:\n%s", got, c.want, r.stderr.String())
			}
			st, err := processState(pid)
			if runs := err == nil && st != 'Z'; runs != c.runs || st == 'T' {
				t.Errorf("the command is in state %c, %v", st, err)
			}
			if c.name == "kill -9 of both" { // the guardian died too
				if _, err := Clean(); err != nil {
					t.Error(err)
				}
			}
			waitGone(t, r.cmd.Process.Pid)
			if after := machineState(t); after != before {
				t.Errorf("the machine is not as it was:\n%s\nwas\n%s", after, before)
			}
			l := readLog(t, r.log)
			if l.cut != c.cut || l.count(event.KindSchedSwitch) == 0 {
				t.Errorf("cut %v, %d switches", l.cut, l.count(event.KindSchedSwitch))
			}
		})
	}
}

func TestNextRunCleans(t *testing.T) {
	machineState(t)
	file := filepath.Join(t.TempDir(), "pid")
	r := startRecorder(t, recorderSpec{Command: sh(`echo $$ > ` + file + `; exec sleep 100`), Probes: []string{}, Events: []string{"sched:sched_switch"}})
	waitFile(t, file)
	syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	r.wait()
	if len(instancesOf(r.cmd.Process.Pid)) == 0 {
		t.Skip("another recorder on this machine has cleaned up first")
	}
	next := startRecorder(t, recorderSpec{Command: sh("exit 0"), Probes: []string{}, Events: []string{"sched:sched_switch"}})
	if got := next.wait(); got != 0 {
		t.Errorf("status %d: %s", got, next.stderr.String())
	}
	if left := instancesOf(r.cmd.Process.Pid); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

func TestUnknownEventIsAnError(t *testing.T) {
	machineState(t)
	r := startRecorder(t, recorderSpec{Command: sh("exit 0"), Probes: []string{}, Events: []string{"sched:no_such_event"}})
	if got := r.wait(); got != 125 {
		t.Errorf("status %d, want 125", got)
	}
	if _, err := os.Stat(r.log); err == nil {
		t.Error("there is a log of nothing")
	}
	if !strings.Contains(r.stderr.String(), "no_such_event") || strings.Count(strings.TrimSpace(r.stderr.String()), "\n") > 0 {
		t.Errorf("it said %q, want one line", r.stderr.String())
	}
}

// In a pid namespace the numbers of processes mean others to the kernel: a
// recording of nothing, or of a stranger, must not pass for one of the target.
func TestOtherPIDNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a pid namespace")
	}
	for _, spec := range []recorderSpec{{Command: []string{"/bin/true"}}, {Command: []string{"/bin/true"}, Probes: []string{"api"}}} {
		r := prepareRecorder(t, spec)
		r.cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
		if err := r.cmd.Start(); err != nil {
			t.Skipf("needs pid namespaces: %v", err)
		}
		got := r.wait()
		if asked := len(spec.Probes) > 0; asked && got != 125 || !strings.Contains(r.stderr.String(), "pid namespace") {
			t.Errorf("%v: status %d, it said %s", spec.Probes, got, r.stderr.String())
		}
	}
}
