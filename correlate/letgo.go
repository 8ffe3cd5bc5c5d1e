package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// Letting go of threads and processes: their rows wait for the end, as many as
// may, but what was known of them is gone.

// add lists a new thread, or what stands for one, and lets go of others where
// there are too many.
func (x *idTracker) add(t *thread) {
	if len(x.allThreads) > 2*x.live+minCap {
		x.forgetEnded()
	}
	t.used = x.e.tick
	x.allThreads = append(x.allThreads, t)
	x.live++
	if x.live > x.e.caps.Threads {
		x.letGoThreads()
	}
}

// trim lets go of what is beyond the caps.
func (x *idTracker) trim() {
	for x.live > x.e.caps.Threads {
		x.letGoThreads()
	}
	for len(x.active) > 2*x.e.caps.Active {
		x.calm()
	}
	x.sweepAt = 0
	for len(x.allProcs) > max(x.e.caps.Processes, x.sweepAt) {
		x.letGoProcesses()
	}
	for len(x.devices) > x.e.caps.Devices {
		x.letGoDevices()
	}
	x.giveEnded()
}

// giveEnded gives the rows of threads and processes of which too many wait.
func (x *idTracker) giveEnded() {
	giveEnded(x.e, &x.endedThreads, &x.e.rows.Threads, x.e.caps.Ended)
	giveEnded(x.e, &x.endedProcs, &x.e.rows.Processes, x.e.caps.Ended)
}

// letGoThreads lets go of the threads that did nothing for the longest.
func (x *idTracker) letGoThreads() {
	mark := usedUpTo(x.allThreads, func(t *thread) (uint64, bool) { return t.used, !t.ended })
	for _, t := range x.allThreads {
		if t.ended || t.used > mark {
			continue // over, or younger
		}
		kind := endKilled
		if !t.exited {
			x.e.count(&anomalyThreadLetGo)
			kind = endEvicted
		}
		x.close(t, kind)
		x.e.flushFull()
	}
	x.forgetEnded()
}

// forgetEnded drops the threads that are over from the list.
func (x *idTracker) forgetEnded() {
	keep := x.allThreads[:0]
	for _, t := range x.allThreads {
		if !t.ended {
			keep = append(keep, t)
		}
	}
	clear(x.allThreads[len(keep):])
	x.allThreads = keep
}

// close ends what a thread that is over had open, and its row.
func (x *idTracker) close(t *thread, kind string) {
	t.ended = true
	x.endOpen(t, kind)
	if t.exited && t.proc != nil && t.tid == t.proc.row.PID {
		t.proc.ended = true
	}
	if x.last == t {
		x.last, x.lastTID = nil, event.NoID
	}
	if x.threads[t.key] == t {
		delete(x.threads, t.key)
	}
	t.history = history{}
	x.live--
	if !t.idle {
		x.endedThreads = append(x.endedThreads, t.threadRow())
		x.giveEnded()
	}
	x.join(t, nil)
}

// endOpen ends what a thread had open.
func (x *idTracker) endOpen(t *thread, kind string) {
	x.e.api.threadEnds(t, kind)
	x.e.ioctl.threadEnds(t, kind)
	x.e.fence.threadEnds(t, kind)
}

// threadRow is the row of a thread as far as it is known.
func (t *thread) threadRow() Thread {
	r := t.row
	r.ProcessID, r.PID = t.processID(), t.pid
	return r
}

// join puts a thread into a process, nil for none: a process without threads
// may be let go. The thread still names the last one that it was in.
func (x *idTracker) join(t *thread, p *process) {
	if t.in != nil {
		t.in.threads--
		t.in.used = x.e.tick
	}
	t.in = p
	if p != nil {
		t.proc = p
		p.threads++
		p.used = x.e.tick
	}
}

// addProcess lists a new process.
func (x *idTracker) addProcess(p *process) *process {
	p.used = x.e.tick
	// Ids of one that was let go may have been lower: nothing is proven by them.
	p.mixedCorrelations = x.procsLetGo
	x.allProcs = append(x.allProcs, p)
	if len(x.allProcs) > max(x.e.caps.Processes, x.sweepAt) {
		x.letGoProcesses()
	}
	return p
}

// letGoProcesses gives the rows of the processes without threads that were
// named last the longest ago. Those with threads stay: they are no more than
// threads are.
func (x *idTracker) letGoProcesses() {
	mark := usedUpTo(x.allProcs, func(p *process) (uint64, bool) { return p.used, p.threads == 0 && p.used < x.e.tick })
	keep := x.allProcs[:0]
	for _, p := range x.allProcs {
		if p.threads > 0 || p.used > mark || p.used == x.e.tick {
			keep = append(keep, p)
			continue
		}
		if !p.ended {
			x.e.count(&anomalyProcessLetGo)
			x.procsLetGo = true
		}
		if p.row.PID.OK && x.procs[int32(p.row.PID.V)] == p {
			delete(x.procs, int32(p.row.PID.V))
		}
		x.endedProcs = append(x.endedProcs, p.row)
	}
	clear(x.allProcs[len(keep):])
	x.allProcs = keep
	x.sweepAt = len(keep) + max(x.e.caps.Processes/8, minCap)
	x.giveEnded()
}

// remember wakes a thread's memory: from now on it holds what it did last. Of too many
// the ones that did nothing for the longest forget it.
func (x *idTracker) remember(t *thread) {
	if t.active {
		return
	}
	t.active = true
	x.active = append(x.active, t)
	if len(x.active) > 2*x.e.caps.Active {
		x.calm()
	}
}

// calm makes the threads that did nothing for the longest forget what they did
// last: whole calls and ioctls that waited for one around them stand alone.
func (x *idTracker) calm() {
	mark := usedUpTo(x.active, func(t *thread) (uint64, bool) { return t.used, !t.ended && t.used < x.e.tick })
	var calmed []*thread
	x.active = slices.DeleteFunc(x.active, func(t *thread) bool {
		if !t.ended && t.used > mark {
			return false
		}
		calmed = append(calmed, t)
		return true
	})
	for _, t := range calmed {
		if !t.ended {
			t.done.cut(x.e, t)
			x.e.api.settleRecents(t)
			x.e.ioctl.releaseLate(t)
			x.e.fence.dropPairs(t)
			x.e.flushFull()
		}
		t.history, t.active = history{since: event.OptTime(x.e.now)}, false
	}
}

// each gives the threads that have not ended, and then what stands for threads.
func (x *idTracker) each(yield func(*thread) bool) {
	for _, idle := range []bool{false, true} {
		for _, t := range x.allThreads {
			if !t.ended && t.idle == idle && !yield(t) {
				return
			}
		}
	}
	for _, t := range x.loose {
		if !yield(t) {
			return
		}
	}
}

// finish gives the rows of threads and processes, in the order of their ids.
func (x *idTracker) finish() {
	for _, p := range x.allProcs {
		x.endedProcs = append(x.endedProcs, p.row)
	}
	giveByID(x.e, x.endedProcs, &x.e.rows.Processes, func(p *Process) ID { return p.ID })
	for _, t := range x.allThreads {
		if !t.idle && !t.ended {
			x.endedThreads = append(x.endedThreads, t.threadRow())
		}
	}
	giveByID(x.e, x.endedThreads, &x.e.rows.Threads, func(t *Thread) ID { return t.ID })
}
