package bpf

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// stub builds the test library and program once. Tests are skipped, with the
// reason, where they cannot run.
type stubFiles struct{ lib, prog string }

var buildStub = sync.OnceValues(func() (stubFiles, error) {
	dir, err := os.MkdirTemp("", "gpurec-bpf-test")
	if err != nil {
		return stubFiles{}, err
	}
	f := stubFiles{filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "prog")}
	for _, args := range [][]string{
		{"-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-w", "-fPIC", "-shared", "-fcf-protection=full", "-o", f.lib, "testdata/stub.c"},
		{"-O2", "-w", "-o", f.prog, "testdata/prog.c", "-ldl", "-lpthread"},
	} {
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return f, fmt.Errorf("gcc: %v: %s", err, out)
		}
	}
	return f, nil
})

func stub(t testing.TB) stubFiles {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("recording by BPF needs root")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("the test library needs gcc: ", err)
	}
	for _, c := range Detect() {
		if !c.OK && (c.Name == "bpf maps" || c.Name == "uprobe" || c.Name == "tp_btf") {
			t.Skipf("%s: %s", c.Name, c.Reason)
		}
	}
	f, err := buildStub()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMain(m *testing.M) {
	code := m.Run()
	if f, err := buildStub(); err == nil && os.Geteuid() == 0 {
		os.RemoveAll(filepath.Dir(f.lib))
	}
	os.Exit(code)
}

// proc is a run of the test program.
type proc struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	pid   int
	lines []string
}

// startProg starts the program, which waits. mode "preload" loads the library first.
func startProg(t testing.TB, mode, lib string, words ...string) *proc {
	t.Helper()
	f := stub(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p := &proc{t: t, cmd: exec.CommandContext(ctx, f.prog, append([]string{mode, lib}, words...)...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.out = bufio.NewScanner(out)
	p.pid = int(p.value("ready"))
	return p
}

// value waits for a line of output that begins with a word, and returns the number after it.
func (p *proc) value(word string) uint64 {
	p.t.Helper()
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
		if v, ok := strings.CutPrefix(p.out.Text(), word+" "); ok {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatalf("the program did not say %q", word)
	return 0
}

func (p *proc) goOn() {
	if _, err := p.in.Write([]byte{'\n'}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proc) wait() {
	p.t.Helper()
	for p.out.Scan() {
		p.lines = append(p.lines, p.out.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

// recording reads a source in the background.
type recording struct {
	s      *Source
	events []event.Event
	done   chan error
}

func record(t testing.TB, o Options) *recording {
	t.Helper()
	stub(t)
	r := &recording{s: New(o), done: make(chan error, 1)}
	if err := r.s.Attach(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.s.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		var b event.Batch
		for {
			err := r.s.Read(&b, 100*time.Millisecond)
			r.events = append(r.events, b.Events...)
			if err != nil {
				r.done <- err
				return
			}
		}
	}()
	return r
}

// stop ends the recording and returns all that it gave.
func (r *recording) stop(t testing.TB) []event.Event {
	t.Helper()
	if err := r.s.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-r.done; !errors.Is(err, io.EOF) {
		t.Errorf("Read ended with %v", err)
	}
	for _, a := range r.s.Anomalies() {
		t.Errorf("anomaly %s: %d, %s", a.Name, a.Count, a.Sample)
	}
	return r.events
}

type callKey struct {
	pid  int32
	name string
}

// calls counts complete calls and entries by process and name.
func calls(events []event.Event) map[callKey]int {
	m := map[callKey]int{}
	for i := range events {
		if e := &events[i]; e.Kind == event.KindAPI || e.Kind == event.KindAPIEnter {
			m[callKey{e.PID, e.Str(event.FieldName)}]++
		}
	}
	return m
}

// modes runs a test with every form of uprobes that this kernel has.
func modes(t *testing.T, f func(t *testing.T, best uprobeMode)) {
	stub(t)
	for _, m := range []uprobeMode{uprobeSession, uprobeMulti, uprobePerf} {
		t.Run(m.String(), func(t *testing.T) {
			if m == uprobePerf && testing.Short() {
				t.Skip("removing each probe takes 0.1 s")
			}
			f(t, m)
		})
	}
}

func TestCountsAreExact(t *testing.T) {
	f := stub(t)
	modes(t, func(t *testing.T, best uprobeMode) {
		noise := startProg(t, "preload", f.lib, "launch", "3000")
		p := startProg(t, "preload", f.lib, "launch", "1000", "thread", "500", "fork", "700", "exec", "300", "launch", "10")
		r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, bestMode: best})
		if r.s.mode != best {
			t.Skipf("this kernel has only %v", r.s.mode)
		}
		p.goOn()
		noise.goOn()
		p.wait()
		noise.wait()
		if left := r.s.Processes(); len(left) != 0 {
			t.Errorf("still in scope after the end: %v", left)
		}
		events := r.stop(t)
		var children []int32
		for _, l := range p.lines {
			if v, ok := strings.CutPrefix(l, "child "); ok {
				n, _ := strconv.Atoi(v)
				children = append(children, int32(n))
			}
		}
		if len(children) != 2 {
			t.Fatalf("children %v", children)
		}
		got := calls(events)
		want := map[callKey]int{
			{int32(p.pid), "cuLaunchKernel"}:     1000 + 2*500 + 10,
			{children[0], "cuLaunchKernel"}:      700,
			{children[1], "cuLaunchKernel"}:      300,
			{int32(noise.pid), "cuLaunchKernel"}: 0,
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%v: %d calls, want %d", k, got[k], n)
			}
			delete(got, k)
		}
		for k, n := range got {
			t.Errorf("%v: %d calls, want none", k, n)
		}
		checkTasks(t, events, int32(p.pid), children)
		checkHits(t, r.s, "cuLaunchKernel", 1000+2*500+10+700+300)
		checkHits(t, r.s, "cuLaunchKernel_ptsz", 0)
	})
}

func checkHits(t *testing.T, s *Source, name string, want uint64) {
	t.Helper()
	for _, p := range s.Probes() {
		if p.Name == name {
			if p.Hits != want || p.State != stateAttached {
				t.Errorf("probe %s: %+v, want %d hits", name, p, want)
			}
			return
		}
	}
	t.Errorf("no probe %s", name)
}

// checkTasks checks that forks of processes and threads, the exec and the
// exits were told.
func checkTasks(t *testing.T, events []event.Event, pid int32, children []int32) {
	t.Helper()
	forks, exits := map[int64]bool{}, map[int32]int64{}
	threads, execs := 0, 0
	for i := range events {
		e := &events[i]
		if e.Kind != event.KindTask {
			continue
		}
		op, _ := e.Uint(event.FieldTaskOp)
		switch event.TaskOp(op) {
		case event.TaskFork:
			tp, _ := e.Int(event.FieldTargetPID)
			if tp == int64(pid) {
				threads++
			} else {
				forks[tp] = true
			}
		case event.TaskExec:
			execs++
			if e.PID != children[1] || !strings.HasSuffix(e.Str(event.FieldFilename), "/prog") {
				t.Errorf("exec of %d: %s", e.PID, e.Str(event.FieldFilename))
			}
		case event.TaskExit:
			if e.PID == e.TID {
				exits[e.PID], _ = e.Int(event.FieldExitCode)
			}
		}
	}
	if threads != 2 || execs != 1 || len(forks) != 2 || !forks[int64(children[0])] || !forks[int64(children[1])] {
		t.Errorf("%d threads, %d execs, forks %v; want 2, 1 and %v", threads, execs, forks, children)
	}
	if exits[children[0]] != 3 || exits[pid] != 0 {
		t.Errorf("exit codes %v", exits)
	}
}

func TestArguments(t *testing.T) {
	f := stub(t)
	modes(t, func(t *testing.T, best uprobeMode) {
		p := startProg(t, "preload", f.lib, "args", "1")
		r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, bestMode: best})
		if r.s.mode != best {
			t.Skipf("this kernel has only %v", r.s.mode)
		}
		p.goOn()
		ptr := p.value("ptr")
		fn := p.value("fn")
		p.wait()
		events := r.stop(t)
		one := func(k event.Kind, name string) *event.Event {
			t.Helper()
			var found *event.Event
			for i := range events {
				if e := &events[i]; e.Kind == k && e.Str(event.FieldName) == name {
					if found != nil {
						t.Errorf("two events %v %s", k, name)
					}
					found = e
				}
			}
			if found == nil {
				t.Fatalf("no event %v %s", k, name)
			}
			return found
		}
		want := func(e *event.Event, fields map[event.Field]uint64) {
			t.Helper()
			for fl, v := range fields {
				if got, ok := e.Uint(fl); !ok || got != v {
					t.Errorf("%s: %v is %d (known: %v), want %d", e.Str(event.FieldName), fl, got, ok, v)
				}
			}
		}
		l := one(event.KindAPI, "cuLaunchKernel")
		want(l, map[event.Field]uint64{
			event.FieldGridX: 77, event.FieldGridY: 2, event.FieldGridZ: 3,
			event.FieldBlockX: 32, event.FieldBlockY: 4, event.FieldBlockZ: 1,
			event.FieldSharedMemBytes: 48, event.FieldStream: 0x77, event.FieldFunction: fn,
			event.FieldResult: 700, event.FieldAPI: uint64(event.APICUDADriver),
		})
		if l.Str(event.FieldKernelName) != "_Z6kernelPf" {
			t.Errorf("kernel name %q", l.Str(event.FieldKernelName))
		}
		if start := l.TimeOf(event.FieldStart); !start.Known() || start >= l.Time || l.Time-start > event.Time(time.Second) {
			t.Errorf("from %d to %d", start, l.Time)
		}
		want(one(event.KindAPI, "cuLaunchKernelEx"), map[event.Field]uint64{
			event.FieldGridX: 10, event.FieldGridY: 11, event.FieldGridZ: 12,
			event.FieldBlockX: 13, event.FieldBlockY: 14, event.FieldBlockZ: 15,
			event.FieldSharedMemBytes: 16, event.FieldStream: 0x99, event.FieldFunction: fn, event.FieldResult: 0,
		})
		want(one(event.KindAPIEnter, "cuMemAlloc_v2"), map[event.Field]uint64{event.FieldBytes: 4096})
		want(one(event.KindAPIExit, "cuMemAlloc_v2"), map[event.Field]uint64{event.FieldAddress: ptr, event.FieldResult: 0})
		want(one(event.KindAPIEnter, "cuMemcpyHtoD_v2"), map[event.Field]uint64{event.FieldBytes: 4096, event.FieldDirection: uint64(event.DirHtoD)})
		outer, inner := one(event.KindAPIExit, "cuMemcpyHtoD_v2"), one(event.KindAPI, "cuMemcpyHtoDAsync_v2")
		if inner.Time > outer.Time || inner.TimeOf(event.FieldStart) < one(event.KindAPIEnter, "cuMemcpyHtoD_v2").Time {
			t.Error("the inner call is not inside the outer")
		}
		want(one(event.KindAPI, "cuMemsetD32Async"), map[event.Field]uint64{event.FieldBytes: 400, event.FieldStream: 0x55})
		want(one(event.KindAPIEnter, "cuMemFree_v2"), map[event.Field]uint64{event.FieldAddress: ptr})
		// one address, two names: one probe
		sync := one(event.KindAPIEnter, "cuStreamSynchronize")
		want(sync, map[event.Field]uint64{event.FieldStream: 0x42})
		if sync.Comm != "prog" || sync.TID != int32(p.pid) || sync.PID != int32(p.pid) || sync.Source != "uprobe:cuStreamSynchronize" {
			t.Errorf("comm %q, pid %d, tid %d, source %q", sync.Comm, sync.PID, sync.TID, sync.Source)
		}
		get := one(event.KindAPIExit, "cuModuleGetFunction")
		want(get, map[event.Field]uint64{event.FieldFunction: fn})
		if get.Str(event.FieldKernelName) != "_Z6kernelPf" {
			t.Errorf("name given by cuModuleGetFunction: %q", get.Str(event.FieldKernelName))
		}
	})
}

func TestHangingCallsAreInTheLog(t *testing.T) {
	f := stub(t)
	for _, tc := range []struct{ word, name string }{{"hang", "cuStreamSynchronize"}, {"hangasync", "cuEventRecord"}} {
		for _, end := range []string{"stop", "kill", "age"} {
			t.Run(tc.word+"/"+end, func(t *testing.T) {
				if end == "age" && testing.Short() {
					t.Skip("waits for a second")
				}
				p := startProg(t, "preload", f.lib, "launch", "5", tc.word, "1")
				r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}})
				p.goOn()
				waitFor(t, func() bool { return hitsOf(r.s, tc.name) == 1 })
				switch end {
				case "kill":
					_ = p.cmd.Process.Kill()
					_ = p.cmd.Wait()
				case "age":
					time.Sleep(2500 * time.Millisecond) // twice openPace: told once all the same
				}
				n := 0
				for _, e := range r.stop(t) {
					if e.Str(event.FieldName) == tc.name {
						n++
						if e.Kind != event.KindAPIEnter {
							t.Errorf("%v of a call that never returned", e.Kind)
						}
					}
				}
				if n != 1 {
					t.Errorf("%d events of the hanging call, want its entry", n)
				}
			})
		}
	}
}

func hitsOf(s *Source, name string) (n uint64) {
	for _, p := range s.Probes() {
		if p.Name == name {
			n += p.Hits
		}
	}
	return n
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("waited in vain")
}

func TestLateDlopen(t *testing.T) {
	f := stub(t)
	for i := range 3 {
		p := startProg(t, "wait", f.lib, "launch", "2000")
		r := record(t, Options{PIDs: []int{p.pid}, NoSystemLibraries: true})
		p.goOn()
		p.wait()
		got := calls(r.stop(t))[callKey{int32(p.pid), "cuLaunchKernel"}]
		if got != 2000 {
			t.Errorf("run %d: %d calls, want 2000; probes: %+v", i, got, r.s.Probes())
		}
	}
}

func TestLibraryOfRunningProcess(t *testing.T) {
	f := stub(t)
	// A copy that is deleted once it is mapped: only /proc/PID/map_files leads to it.
	data, err := os.ReadFile(f.lib)
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(t.TempDir(), "libcuda.so.535.1")
	if err := os.WriteFile(lib, data, 0o755); err != nil {
		t.Fatal(err)
	}
	p := startProg(t, "preload", lib, "launch", "100")
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	r := record(t, Options{PIDs: []int{p.pid}, NoSystemLibraries: true})
	p.goOn()
	p.wait()
	if got := calls(r.stop(t))[callKey{int32(p.pid), "cuLaunchKernel"}]; got != 100 {
		t.Errorf("%d calls, want 100; probes: %+v", got, r.s.Probes())
	}
}

func TestIoctls(t *testing.T) {
	f := stub(t)
	for name, o := range map[string]Options{
		"tracepoint": {}, "tracepoint of a mount of our own": {mountTracefs: true}, "tp_btf": {noTracepoints: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProg(t, "wait", f.lib, "ioctl", "200")
			noise := startProg(t, "wait", f.lib, "ioctl", "200")
			o.PIDs, o.Groups = []int{p.pid}, []string{GroupIoctl}
			r := record(t, o)
			p.goOn()
			noise.goOn()
			fd := p.value("fd")
			p.wait()
			noise.wait()
			var open *event.Event
			enters, exits := 0, 0
			events := r.stop(t)
			for i := range events {
				e := &events[i]
				switch e.Kind {
				case event.KindIoctlEnter:
					if cmd, _ := e.Uint(event.FieldCmd); cmd != 0xc0186444 || e.PID != int32(p.pid) {
						t.Fatalf("ioctl %#x of %d", cmd, e.PID)
					}
					if arg, _ := e.Uint(event.FieldArg); arg != uint64(0x1000+enters) {
						t.Fatalf("argument %#x of ioctl %d", arg, enters)
					}
					if v, _ := e.Uint(event.FieldFD); v != fd {
						t.Fatalf("fd %d, want %d", v, fd)
					}
					open = e
					enters++
				case event.KindIoctlExit:
					if open == nil || e.Time < open.Time || e.TID != open.TID {
						t.Fatal("an exit without its entry")
					}
					if res, _ := e.Int(event.FieldResult); res != -int64(unix.ENOTTY) {
						t.Fatalf("result %d, want -ENOTTY", res)
					}
					open = nil
					exits++
				default:
					t.Fatalf("event %v: only ioctls were asked for", e.Kind)
				}
			}
			if enters != 200 || exits != 200 {
				t.Errorf("%d entries, %d exits; want 200", enters, exits)
			}
		})
	}
}

func TestLossIsExact(t *testing.T) {
	f := stub(t)
	p := startProg(t, "preload", f.lib, "thread", "20000")
	s := New(Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, RingBytes: 1 << 16, Groups: []string{GroupAPI}})
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var before event.Time
	p.goOn()
	p.wait() // nobody reads: the ring overflows
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	after := bootTime()
	var got, lost uint64
	var b event.Batch
	for {
		err := s.Read(&b, 0)
		for i := range b.Events {
			e := &b.Events[i]
			switch e.Kind {
			case event.KindAPI:
				got++
			case event.KindLoss:
				n, _ := e.Uint(event.FieldCount)
				lost += n
				if start := e.TimeOf(event.FieldStart); !start.Known() || start > e.Time || e.Time > after || start < before {
					t.Errorf("loss from %d to %d", start, e.Time)
				}
				if e.CPU < 0 || e.Str(event.FieldTrack) != "bpf/api" {
					t.Errorf("loss on CPU %d, track %q", e.CPU, e.Str(event.FieldTrack))
				}
			default:
				t.Errorf("event %v", e.Kind)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if lost == 0 || got == 0 || got+lost != 40000 {
		t.Errorf("%d written + %d lost is not 40000", got, lost)
	}
	var told uint64
	for _, pr := range s.Probes() {
		if strings.HasPrefix(pr.Name, "uprobes:") {
			told += pr.Lost
		}
	}
	if hits := hitsOf(s, "cuLaunchKernel"); hits != 40000 || told != lost {
		t.Errorf("%d hits and %d lost by Probes, want 40000 and %d", hits, told, lost)
	}
}

// Tail calls return together; calls that are left by longjmp never do.
func TestOddReturns(t *testing.T) {
	f := stub(t)
	modes(t, func(t *testing.T, best uprobeMode) {
		p := startProg(t, "preload", f.lib, "tail", "20", "jump", "20", "launch", "5")
		r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}, bestMode: best})
		if r.s.mode != best {
			t.Skipf("this kernel has only %v", r.s.mode)
		}
		p.goOn()
		p.wait()
		type key struct {
			k    event.Kind
			name string
		}
		got := map[key]int{}
		for _, e := range r.stop(t) {
			got[key{e.Kind, e.Str(event.FieldName)}]++
		}
		want := map[key]int{
			{event.KindAPI, "cuStreamQuery"}:         20,
			{event.KindAPI, "cuEventRecord"}:         40,
			{event.KindAPIEnter, "cuLaunchHostFunc"}: 20,
			{event.KindAPI, "cuLaunchKernel"}:        5,
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%v %s: %d, want %d", k.k, k.name, got[k], n)
			}
			delete(got, k)
		}
		for k, n := range got {
			t.Errorf("%v %s: %d, want none", k.k, k.name, n)
		}
	})
}

func TestCloseWhileReading(t *testing.T) {
	f := stub(t)
	for range 3 {
		p := startProg(t, "preload", f.lib, "thread", "3000")
		s := New(Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}})
		if err := s.Attach(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			var b event.Batch
			for {
				if err := s.Read(&b, time.Millisecond); err != nil {
					done <- err
					return
				}
			}
		}()
		p.goOn()
		waitFor(t, func() bool { return hitsOf(s, "cuLaunchKernel") > 0 })
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != io.EOF {
			t.Errorf("Read: %v", err)
		}
		p.wait()
	}
}

func TestNothingIsLeft(t *testing.T) {
	f := stub(t)
	p := startProg(t, "preload", f.lib, "launch", "10")
	r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}})
	r.stop(t)
	probes := r.s.Probes()
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.s.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if got := r.s.Probes(); len(got) != len(probes) {
		t.Errorf("%d probes after Close, %d before", len(got), len(probes))
	}
	var b event.Batch
	if err := r.s.Read(&b, 0); !errors.Is(err, io.EOF) {
		t.Errorf("Read after Close: %v", err)
	}
	p.goOn()
	p.wait()
}

// Others who watch the same tracepoint through perf still see every event.
func TestOthersKeepTheirEvents(t *testing.T) {
	f := stub(t)
	p := startProg(t, "wait", f.lib, "ioctl", "200")
	r := record(t, Options{PIDs: []int{p.pid}, Groups: []string{GroupIoctl}})
	fs, err := live.OpenTracefs()
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	id, err := tracepointID(fs, "syscalls", "sys_enter_ioctl")
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}
	fd, err := unix.PerfEventOpen(&attr, p.pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	p.goOn()
	p.wait()
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		t.Fatal(err)
	}
	enters := 0
	for _, e := range r.stop(t) {
		if e.Kind == event.KindIoctlEnter {
			enters++
		}
	}
	if n := binary.NativeEndian.Uint64(count[:]); enters != 200 || n < 200 {
		t.Errorf("we saw %d ioctls, perf %d, of 200", enters, n)
	}
}
