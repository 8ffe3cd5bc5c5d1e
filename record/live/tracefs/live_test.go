package tracefs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// needTracefs skips a test where tracefs cannot be used, saying why.
func needTracefs(tb testing.TB) *FS {
	tb.Helper()
	fs, err := Open()
	if err != nil {
		tb.Skipf("needs tracefs: %v", err)
	}
	tb.Cleanup(func() { fs.Close() })
	return fs
}

// machine remembers the state of the top instance and which instances there are.
func machine(t *testing.T, fs *FS) func() {
	t.Helper()
	state := func() string {
		var b strings.Builder
		for _, f := range []string{"tracing_on", "trace_clock", "buffer_size_kb", "current_tracer", "set_event", "set_event_pid"} {
			s, err := fs.read(f)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(f + "=" + s)
		}
		return b.String()
	}
	before := state()
	return func() {
		t.Helper()
		if after := state(); after != before {
			t.Errorf("the top instance changed:\n%s\nwas\n%s", after, before)
		}
		me, err := self()
		if err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(fs.path("instances", me.instance(1)+"*"))
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// thread runs f on a thread of its own and gives its number to start before.
func thread(start func(tid int), f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		start(unix.Gettid())
		f()
	}()
	<-done
}

// counts of a drained source.
type tally struct {
	mine  uint64 // getppid calls of the thread
	lost  uint64
	gaps  int // losses
	other map[string]int
	order bool // times ascend on each CPU
	all   []event.Event
}

func drain(t *testing.T, s *Source, tid int) tally {
	t.Helper()
	v := tally{other: map[string]int{}, order: true}
	last := map[int32]event.Time{}
	var b event.Batch
	for {
		err := s.Read(&b, time.Millisecond)
		v.add(b.Events, tid, last)
		if errors.Is(err, io.EOF) {
			return v
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (v *tally) add(events []event.Event, tid int, last map[int32]event.Time) {
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == event.KindLoss:
			n, _ := e.Uint(event.FieldCount)
			v.lost += n
			v.gaps++
			if e.TimeOf(event.FieldStart) > e.Time {
				v.order = false
			}
			continue
		case e.Source == "syscalls:sys_enter_getppid" && int(e.TID) == tid:
			v.mine++
		default:
			v.other[e.Source]++
		}
		if e.Time < last[e.CPU] {
			v.order = false
		}
		last[e.CPU] = e.Time
		if len(v.all) < 1000 {
			v.all = append(v.all, *e)
		}
	}
}

// The number of calls is known, only this thread's count, and the buffer is
// large enough: each is an event.
func TestExactWithoutLoss(t *testing.T) {
	fs := needTracefs(t)
	defer machine(t, fs)()
	s := New(Options{Events: []string{"syscalls:sys_enter_getppid"}})
	before := boottime()
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 30_000
	tid := 0
	thread(func(id int) { tid = id }, func() {
		for range calls {
			unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
	})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	after := boottime()
	v := drain(t, s, tid)
	if v.mine != calls || v.lost != 0 || !v.order {
		t.Errorf("%d of %d calls, %d lost, in order %v", v.mine, calls, v.lost, v.order)
	}
	for i := range v.all {
		e := &v.all[i]
		if e.Time < before || e.Time > after {
			t.Fatalf("event at %d, outside of [%d, %d] of CLOCK_BOOTTIME", e.Time, before, after)
		}
		if int(e.TID) == tid && e.PID != int32(os.Getpid()) && e.PID != event.NoID {
			t.Fatalf("event of process %d, not %d", e.PID, os.Getpid())
		}
	}
	p := s.Probes()
	if len(p) != 1 || p[0].State != "attached" || p[0].Hits < calls || p[0].Lost != 0 {
		t.Errorf("probes %+v", p)
	}
}

// A buffer that is far too small, and a reader that sleeps: produced = written
// + lost, exactly, because only this thread's events come in.
func TestExactWithLoss(t *testing.T) {
	fs := needTracefs(t)
	defer machine(t, fs)()
	for _, sub := range []int{4, 64} {
		var s *Source
		tid, produced := 0, uint64(0)
		attached := make(chan struct{})
		v := tally{order: true, other: map[string]int{}}
		thread(func(id int) {
			tid = id
			s = New(Options{Events: []string{"syscalls:sys_enter_getppid"}, PIDs: []int{id}, BufferKB: 256, SubBufferKB: sub})
			if err := s.Attach(); err != nil {
				t.Error(err)
			}
			close(attached)
		}, func() {
			if t.Failed() {
				return
			}
			last := map[int32]event.Time{}
			var b event.Batch
			for range 5 { // overflow, read a little, overflow again
				for range 20_000 {
					unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
				}
				produced += 20_000
				for range 30 {
					if err := s.Read(&b, 0); err != nil {
						t.Error(err)
					}
					v.add(b.Events, tid, last)
				}
			}
		})
		<-attached
		if s == nil || t.Failed() {
			s.Close()
			return
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		rest := drain(t, s, tid)
		written, lost := v.mine+rest.mine, v.lost+rest.lost
		t.Logf("sub-buffers of %d KiB: %d produced, %d written, %d lost in %d gaps", sub, produced, written, lost, v.gaps+rest.gaps)
		if written+lost != produced {
			t.Errorf("sub-buffers of %d KiB: %d written + %d lost, but %d produced", sub, written, lost, produced)
		}
		if lost == 0 || written == 0 {
			t.Errorf("sub-buffers of %d KiB: %d written, %d lost: the test is about both", sub, written, lost)
		}
		if !v.order || !rest.order {
			t.Error("times do not ascend on a CPU")
		}
		if p := s.Probes(); p[0].Lost != lost || p[0].Hits != written {
			t.Errorf("probe %+v, counted %d written, %d lost", p[0], written, lost)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSchedSwitchAgainstStats(t *testing.T) {
	fs := needTracefs(t)
	defer machine(t, fs)()
	s := New(Options{Events: []string{"sched:sched_switch"}})
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var v tally
	v.other = map[string]int{}
	last := map[int32]event.Time{}
	var b event.Batch
	for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); {
		exec.Command("/bin/true").Run()
		if err := s.Read(&b, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		v.add(b.Events, 0, last)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	rest := drain(t, s, 0)
	got := uint64(v.other["sched:sched_switch"] + rest.other["sched:sched_switch"])
	var want uint64
	for i := range s.rings {
		st, err := s.stats(i)
		if err != nil {
			t.Fatal(err)
		}
		if st.entries != 0 {
			t.Errorf("%d entries left on CPU %d", st.entries, s.rings[i].cpu)
		}
		want += st.read
	}
	if got != want || got == 0 {
		t.Errorf("%d events, but the kernel says that %d were read", got, want)
	}
	for i := range v.all {
		if e := &v.all[i]; e.Kind != event.KindSchedSwitch || e.Str(event.FieldNextComm) == "" && e.Str(event.FieldPrevComm) == "" {
			t.Fatalf("event %+v", e)
		}
	}
}

func TestMissingEvents(t *testing.T) {
	fs := needTracefs(t)
	defer machine(t, fs)()
	var ne *NoEventError
	s := New(Options{Events: []string{"sched:no_such_event"}})
	if err := s.Attach(); !errors.As(err, &ne) || ne.Pattern != "sched:no_such_event" {
		t.Errorf("attach: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = New(Options{Events: []string{"sched:sched_switch"}, Optional: []string{"no_such_system:*"}})
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	if p := s.Probes(); len(p) != 2 || p[1].State != "missing" || p[1].Reason == "" {
		t.Errorf("probes %+v", p)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Only instances of dead owners go.
func TestClean(t *testing.T) {
	fs := needTracefs(t)
	dead := exec.Command("/bin/true")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := startTicks(dead.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stale := owner{dead.Process.Pid, start}.instance(1)
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	mine, other := me.instance(7), "gpurec-test-of-somebody-else"
	reused := owner{me.pid, me.start + 1}.instance(1) // a dead owner whose pid is mine now
	for _, n := range []string{stale, mine, other, reused} {
		if err := os.Mkdir(fs.path("instances", n), 0o750); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(fs.path("instances", n))
	}
	dead.Wait()
	removed, err := Clean(0)
	if err != nil {
		t.Fatal(err)
	}
	// Another recorder on this machine may have been first: what is there counts.
	for n, want := range map[string]bool{stale: false, reused: false, mine: true, other: true} {
		if _, err := os.Stat(fs.path("instances", n)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v; removed were %v", n, err == nil, want, removed)
		}
	}
}

func TestDetachedMount(t *testing.T) {
	needTracefs(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	mounted, err := live.MountTracefs()
	if err != nil {
		t.Skipf("mount out of sight: %v", err)
	}
	fs, err := newFS(mounted)
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	if !fs.Detached() {
		t.Error("a detached mount does not know that it is one")
	}
	if now, _ := os.ReadFile("/proc/self/mountinfo"); string(now) != string(mounts) {
		t.Error("the mount is visible")
	}
	if s, err := fs.read("trace_clock"); err != nil || !strings.Contains(s, "boot") {
		t.Errorf("trace_clock %q, %v", s, err)
	}
	name, err := fs.makeInstance()
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.removeInstance(name, 0); err != nil {
		t.Error(err)
	}
}
