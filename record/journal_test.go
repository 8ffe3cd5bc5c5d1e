package record

import (
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// keeps is a logWriter that keeps the names of threads.
type keeps struct{ comms []string }

func (k *keeps) Write(events []event.Event) error {
	for i := range events {
		k.comms = append(k.comms, events[i].Comm)
	}
	return nil
}
func (k *keeps) WriteMeta(*event.Meta) error { return nil }
func (k *keeps) Flush() error                { return nil }
func (k *keeps) Close(*event.Meta) error     { return nil }

// The execve of the command ends the threads of the helper that it was: those
// bear a name that says so, and nobody else's do.
func TestStarterThreadsAreMarked(t *testing.T) {
	task := func(op event.TaskOp, pid, tid int32) event.Event {
		e := event.New(event.KindTask, 1)
		e.PID, e.TID, e.Comm = pid, tid, "exe"
		e.SetUint(event.FieldTaskOp, uint64(op))
		return e
	}
	w := &keeps{}
	j := newJournal(w, &output{})
	j.starter = 7
	j.write("s", []event.Event{task(event.TaskExit, 7, 8), task(event.TaskExit, 9, 10), task(event.TaskExit, 7, 7), task(event.TaskFork, 7, 8)})
	j.write("s", []event.Event{task(event.TaskExit, 7, 11), task(event.TaskExec, 7, 7), task(event.TaskExit, 7, 12)})
	j.write("s", []event.Event{task(event.TaskExit, 7, 13)})
	want := []string{starterThread, "exe", "exe", "exe", starterThread, "exe", "exe", "exe"}
	for i := range want {
		if w.comms[i] != want[i] {
			t.Errorf("event %d is of %q, want %q", i, w.comms[i], want[i])
		}
	}
}
