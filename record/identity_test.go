package record

import (
	"os"
	"os/exec"
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
	_ = c.Wait() // killed
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
