package correlate

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// What happens to tasks: fork, exec, exit, rename.

// task applies a fork, exec, exit or rename.
func (x *idTracker) task(ev *event.Event) {
	op, _ := ev.Uint(event.FieldTaskOp)
	switch event.TaskOp(op) {
	case event.TaskFork:
		x.alive(ev.TID)
		x.thread(ev)
		x.fork(ev)
	case event.TaskExec:
		x.alive(ev.TID)
		t := x.thread(ev)
		if n := ev.Str(event.FieldFilename); n != "" && t.proc != nil {
			t.proc.row.Name = n[strings.LastIndexByte(n, '/')+1:]
			t.proc.named = true
		}
		if c := ev.Str(event.FieldTargetComm); c != "" {
			x.rename(t, c)
		}
	case event.TaskExit:
		t := x.thread(ev)
		x.exit(ev, t)
	case event.TaskRename:
		if c := ev.Str(event.FieldTargetComm); c != "" {
			x.rename(x.target(ev), c)
		}
	default:
		x.e.misc.other(ev, x.thread(ev))
	}
}

// target returns the task that an event of another task names, else its own.
func (x *idTracker) target(ev *event.Event) *thread {
	tid, ok := ev.Int(event.FieldTargetTID)
	if !ok || tid <= 0 || int32(tid) == ev.TID {
		return x.thread(ev)
	}
	o := event.New(event.KindThread, ev.Time)
	o.TID = int32(tid)
	if pid, ok := ev.Int(event.FieldTargetPID); ok {
		o.PID = int32(pid)
	}
	return x.thread(&o)
}

func (x *idTracker) fork(ev *event.Event) {
	v, ok := ev.Int(event.FieldTargetTID)
	if !ok || v <= 0 {
		return
	}
	tid, at := int32(v), event.OptTime(ev.Time)
	if old := x.threads[tid]; old != nil && !old.ended {
		x.close(old, endKilled)
	}
	t := x.newThread(tid, ev.Time)
	t.row.StartNS = at
	t.row.Name = ev.Str(event.FieldTargetComm)
	pid, ok := ev.Int(event.FieldTargetPID)
	if !ok || pid <= 0 {
		return
	}
	t.pidSeen, t.pid = int32(pid), optTask(int32(pid))
	if int32(pid) != tid {
		x.join(t, x.process(int32(pid), tid, ev.Time))
		return
	}
	if old := x.procs[tid]; old != nil {
		old.ended = true
	}
	x.join(t, x.newProcess(tid))
	t.proc.row.StartNS = at
	t.proc.row.PPID = optTask(ev.PID)
	t.proc.row.Name = t.row.Name
}
