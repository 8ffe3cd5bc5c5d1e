package record

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
)

// A process that has ended is not told of: its exit event came before.
func TestEndedProcessesAreNotIdentified(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	before := clock.Boottime()
	evs := processEvents(pid)
	if len(evs) != 2 || evs[0].Kind != event.KindProcess || evs[1].Kind != event.KindThread || evs[0].Time < before || evs[0].PID != int32(pid) {
		t.Fatalf("%d events of a process that runs: %+v", len(evs), evs)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // until it is a zombie: nobody has waited for it
		st, err := readStat(pid)
		if err != nil {
			t.Fatal(err)
		}
		if st.state == 'Z' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if evs := processEvents(pid); len(evs) != 0 {
		t.Errorf("events of a zombie: %+v", evs)
	}
	var end *exec.ExitError
	if err := c.Wait(); !errors.As(err, &end) || end.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended otherwise than killed: %v", err)
	}
	if evs := processEvents(pid); len(evs) != 0 {
		t.Errorf("events of a process that is gone: %+v", evs)
	}
	if st, err := readStat(os.Getpid()); err != nil || st.exiting {
		t.Errorf("this process: %+v, %v", st, err)
	}
}

func TestParseStatFlags(t *testing.T) {
	st, err := parseStat("77 (x) R 1 77 77 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 1 0\n")
	if err != nil || !st.exiting {
		t.Errorf("PF_EXITING: %+v, %v", st, err)
	}
}

func TestParseNamespacePID(t *testing.T) {
	for text, want := range map[string]int{
		"Name:\tx\nNStgid:\t51234\t27\nNSpid:\t51301\t44\t31\n": 31, // a namespace in a namespace
		"Name:\tx\nNSpid:\t51301\n":                             0,  // this one
		"Name:\tx\n":                                            0,  // before Linux 4.1
		"NSpid:\t51301\tx\n":                                    0,
	} {
		if got, ok := parseNamespacePID(text); got != want || ok != (want != 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

// A process in a pid namespace of its own says what it is called there.
func TestNamespacePID(t *testing.T) {
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := c.Start(); err != nil {
		t.Skipf("needs to make a pid namespace: %v", err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed
	}()
	evs := processEvents(c.Process.Pid)
	if len(evs) < 2 {
		t.Fatalf("%d events", len(evs))
	}
	for i := range evs {
		if n, ok := evs[i].Int(event.FieldNSPID); !ok || n != 1 {
			t.Errorf("%v: called %d in its namespace, %v", evs[i].Kind, n, ok)
		}
	}
	for _, e := range processEvents(os.Getpid()) {
		if e.Has(event.FieldNSPID) {
			t.Errorf("this process, of the same namespace, has another number: %v", e)
		}
	}
}
