package bpf

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/gpurec/gpurec/record/event"
)

// TestHelperRecorder is no test: it is the recorder that TestKilledRecorder kills.
func TestHelperRecorder(t *testing.T) {
	lib := os.Getenv("GPUREC_TEST_RECORDER")
	if lib == "" {
		t.Skip("only runs as a helper of TestKilledRecorder")
	}
	s := New(Options{PIDs: []int{os.Getppid()}, Libraries: []string{lib}, NoSystemLibraries: true})
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.programs {
		if p.prog == nil {
			continue // not in this kernel
		}
		info, err := p.prog.Info()
		if err != nil {
			t.Fatal(err)
		}
		id, _ := info.ID()
		fmt.Println("program", id)
	}
	fmt.Println("attached")
	time.Sleep(time.Minute)
}

// However a recorder ends, the kernel removes its programs.
func TestKilledRecorder(t *testing.T) {
	f := stub(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHelperRecorder$")
	cmd.Env = append(os.Environ(), "GPUREC_TEST_RECORDER="+f.lib)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []ebpf.ProgramID
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != "attached"; {
		if v, ok := strings.CutPrefix(sc.Text(), "program "); ok {
			n, err := strconv.ParseUint(v, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ebpf.ProgramID(n))
		}
	}
	alive := func() (n int) {
		for _, id := range ids {
			if p, err := ebpf.NewProgramFromID(id); err == nil {
				p.Close()
				n++
			}
		}
		return n
	}
	if len(ids) < 5 || alive() != len(ids) {
		t.Fatalf("%d programs, %d of them in the kernel", len(ids), alive())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, func() bool { return alive() == 0 })
}

func TestEveryProcess(t *testing.T) {
	f := stub(t)
	a := startProg(t, "preload", f.lib, "launch", "100")
	b := startProg(t, "preload", f.lib, "launch", "200")
	r := record(t, Options{All: true, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}})
	a.goOn()
	b.goOn()
	a.wait()
	b.wait()
	got := calls(r.stop(t))
	if n, m := got[callKey{int32(a.pid), "cuLaunchKernel"}], got[callKey{int32(b.pid), "cuLaunchKernel"}]; n != 100 || m != 200 {
		t.Errorf("%d and %d calls, want 100 and 200", n, m)
	}
}

func TestEntryOnly(t *testing.T) {
	f := stub(t)
	p := startProg(t, "preload", f.lib, "args", "1")
	r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}, EntryOnly: true})
	p.goOn()
	p.wait()
	got := map[string]int{}
	for _, e := range r.stop(t) {
		got[fmt.Sprint(e.Kind, " ", e.Str(event.FieldName), " ", e.Bool(event.FieldEntryOnly))]++
	}
	for _, want := range []string{"api_enter cuLaunchKernel true", "api_enter cuMemcpyHtoDAsync_v2 true",
		"api_enter cuMemcpyHtoD_v2 false", "api_exit cuMemcpyHtoD_v2 false", "api_exit cuMemAlloc_v2 false"} {
		if got[want] != 1 {
			t.Errorf("%q: %d, want 1", want, got[want])
		}
	}
	for k := range got {
		if strings.HasPrefix(k, "api cuLaunch") || strings.HasPrefix(k, "api_exit cuLaunch") {
			t.Errorf("%q of an entry-only probe", k)
		}
	}
}

// A process that maps a new library is stopped, told of, and continued.
func TestStopIsTold(t *testing.T) {
	f := stub(t)
	p := startProg(t, "wait", f.lib, "launch", "10")
	told := make(chan string, 10)
	r := record(t, Options{PIDs: []int{p.pid}, NoSystemLibraries: true, Groups: []string{GroupAPI},
		OnStop: func(pid int, stopped bool) { told <- fmt.Sprint(pid, stopped) }})
	p.goOn()
	p.wait()
	r.stop(t)
	if a, b := <-told, <-told; a != fmt.Sprint(p.pid, true) || b != fmt.Sprint(p.pid, false) {
		t.Errorf("told %s, %s", a, b)
	}
}

func TestRequiredGroup(t *testing.T) {
	stub(t)
	for _, c := range Detect() {
		if c.Name == "tp_btf gpu_scheduler" && c.OK {
			t.Skip("this kernel has a GPU scheduler")
		}
	}
	s := New(Options{All: true, Groups: []string{GroupSched, GroupTask}, Require: []string{GroupSched}})
	err := s.Attach()
	if err == nil || !strings.Contains(err.Error(), "sched") {
		t.Errorf("a group that this kernel does not have: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestRunTimes(t *testing.T) {
	f := stub(t)
	p := startProg(t, "preload", f.lib, "launch", "1000")
	r := record(t, Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, Groups: []string{GroupAPI}, RunTime: true})
	p.goOn()
	p.wait()
	r.stop(t)
	for _, pr := range r.s.Probes() {
		if strings.HasPrefix(pr.Name, "uprobes:") && pr.Hits > 0 {
			if per := pr.RunTimeNS / pr.Hits; per < 10 || per > 1e6 {
				t.Errorf("%+v: %d ns a call", pr, per)
			}
			return
		}
	}
	t.Errorf("no uprobe program with hits: %+v", r.s.Probes())
}
