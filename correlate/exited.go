package correlate

import "github.com/gpurec/gpurec/record/event"

// A task that exits goes on for a while: the kernel tells its exit
// (sched_process_exit, do_exit in kernel/exit.c) before it closes the files and
// drops the fences, and the last switch away from it comes at the very end.
// All that is of the same thread, so its id keeps its meaning until it is
// proven to mean another, or for exitGrace.

// exitGrace is how long after an exit an id still means the thread that
// exited, if nothing tells otherwise. Closing the files may wait for the
// device; ids are given in turn (alloc_pid), so that none comes again soon.
const exitGrace event.Time = 10e9

// exitedThread is a thread that exited and may still show events.
type exitedThread struct {
	t  *thread
	at event.Time
}

// exit notes the end of a thread, and with its leader that of a process. What
// it had open ends here; its id stays known.
func (x *idTracker) exit(ev *event.Event, t *thread) {
	if t.idle {
		return
	}
	p := t.proc
	if p != nil && t.tid == p.row.PID {
		setInt(&p.row.ExitCode, optInt(ev, event.FieldExitCode))
	} else {
		p = nil
	}
	if t.exited {
		return // a second witness
	}
	at := event.OptTime(ev.Time)
	t.exited, t.row.EndNS = true, at
	if p != nil {
		p.row.EndNS = at
	}
	if !at.OK {
		x.close(t, endKilled)
		return
	}
	t.exitComm = ev.Comm
	x.endOpen(t, endKilled)
	t.history = history{since: event.OptTime(x.e.now)}
	x.exited = append(x.exited, exitedThread{t, at.V})
	for len(x.exited) > x.e.caps.Active {
		x.buryFirst()
	}
}

// bury closes the threads whose exit is longer ago than exitGrace.
func (x *idTracker) bury() {
	for len(x.exited) > 0 && x.e.now-x.exited[0].at > exitGrace {
		x.buryFirst()
	}
}

func (x *idTracker) buryFirst() {
	t := x.exited[0].t
	x.exited[0] = exitedThread{}
	x.exited = x.exited[1:]
	if !t.ended {
		x.close(t, endKilled)
	}
}

// succeeded reports whether an event with the id of a thread that exited shows
// another one: the name of a task does not change after its exit.
func (t *thread) succeeded(ev *event.Event) bool {
	return known(ev.Comm) && known(t.exitComm) && ev.Comm != t.exitComm
}

// alive takes what no task does after its exit: a fork or an exec is of another
// one, be it the thread that takes its leader's id when it changes the program.
func (x *idTracker) alive(tid int32) {
	if t := x.threads[tid]; t != nil && t.exited {
		x.close(t, endKilled)
	}
}

// known reports whether a name is that of a task, not ftrace's mark of one that it forgot.
func known(comm string) bool { return comm != "" && comm != "<...>" }

// left takes the last switch away from a thread: one that is a zombie or dead
// does not come again, so its id means another from now on.
func (x *idTracker) left(ev *event.Event, t *thread) {
	if !t.exited || t.ended || optInt(ev, event.FieldPrevTID) != t.tid {
		return
	}
	if s := ev.Str(event.FieldPrevState); s != "" && (s[0] == 'Z' || s[0] == 'X') {
		x.close(t, endKilled)
	}
}

// lately reports whether a process that ended did so no longer than exitGrace
// before at: what names no thread of it may still be of it.
func (p *process) lately(at event.Time) bool {
	return p.row.EndNS.OK && at.Known() && at-p.row.EndNS.V <= exitGrace
}

// outlived reports whether a process that exited cannot have begun at start.
func (p *process) outlived(start event.Time) bool {
	return p.row.EndNS.OK && start.Known() && start > p.row.EndNS.V
}
