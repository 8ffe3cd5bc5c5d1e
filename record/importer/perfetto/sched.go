package perfetto

import (
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// schedSwitch reads {prev_comm 1, prev_pid 2, prev_prio 3, prev_state 4, next_comm 5, next_pid 6, next_prio 7}.
func schedSwitch(r *reader, e *event.Event, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetStr(event.FieldPrevComm, r.str(f.b))
			e.Comm = e.Str(event.FieldPrevComm)
		case 2:
			e.SetInt(event.FieldPrevTID, int64(int32(f.v)))
			e.TID = int32(f.v)
		case 3:
			e.SetInt(event.FieldPrevPrio, int64(int32(f.v)))
		case 4:
			e.SetStr(event.FieldPrevState, taskState(int64(f.v)))
		case 5:
			e.SetStr(event.FieldNextComm, r.str(f.b))
		case 6:
			e.SetInt(event.FieldNextTID, int64(int32(f.v)))
		case 7:
			e.SetInt(event.FieldNextPrio, int64(int32(f.v)))
		}
	}
}

// schedWake reads {comm 1, pid 2, prio 3, success 4, target_cpu 5}.
func schedWake(r *reader, e *event.Event, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetStr(event.FieldTargetComm, r.str(f.b))
		case 2:
			e.SetInt(event.FieldTargetTID, int64(int32(f.v)))
		case 3:
			e.SetInt(event.FieldPrio, int64(int32(f.v)))
		case 5:
			e.SetInt(event.FieldTargetCPU, int64(int32(f.v)))
		}
	}
}

// The bits of a task's state as sched_switch prints them (TASK_REPORT and
// above it "preempted", include/trace/events/sched.h since 4.14; a trace of an
// older kernel would need its format).
var stateLetters = "SDTtXZPI"

var taskStates = sync.OnceValue(func() []string {
	t := make([]string, 1<<9)
	for v := range t {
		s := ""
		for i := range len(stateLetters) {
			if v&(1<<i) != 0 {
				if s != "" {
					s += "|"
				}
				s += stateLetters[i : i+1]
			}
		}
		if s == "" {
			s = "R"
		}
		if v&(1<<8) != 0 {
			s += "+"
		}
		t[v] = s
	}
	return t
})

func taskState(v int64) string {
	if all := taskStates(); v >= 0 && v < int64(len(all)) {
		return all[v]
	}
	return "?"
}

// compactSched reads the switches and wakings of a CPU as columns: times are
// deltas, names are of a table of the bundle.
func (r *reader) compactSched(h *head, b *bundle, p []byte) {
	var comms []string
	var col [13][]byte
	var copied [13]bool
	var f field
	m := message{b: p}
	for m.next(&f) {
		switch {
		case f.num == 5:
			if len(comms) < maxInterned {
				comms = append(comms, r.str(f.b))
			}
		case f.num >= 1 && f.num <= 12 && f.wire == wireBytes:
			if col[f.num] == nil {
				col[f.num] = f.b
				continue
			}
			if !copied[f.num] { // packed fields may come in parts
				copied[f.num] = true
				col[f.num] = append([]byte(nil), col[f.num]...)
			}
			col[f.num] = append(col[f.num], f.b...)
		default:
			r.noteAt(&AnomalyFieldNotKept, 1, "compact sched field %d", f.num)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	comm := func(i uint64) string {
		if i < uint64(len(comms)) {
			return comms[i]
		}
		r.note(&AnomalyInterned, 1)
		return ""
	}
	r.compactSwitches(h, b, col[1], col[2], col[3], col[4], col[6], comm)
	r.compactWakings(h, b, col[7], col[8], col[9], col[10], col[11], comm)
}

// column takes values off a packed field.
type column struct {
	b   []byte
	bad bool
}

func (c *column) next() uint64 {
	v, n := uvarint(c.b)
	if n <= 0 {
		c.bad = true
		c.b = nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// leftOver counts columns that hold more than the one of the times, if all of
// that was read.
func (r *reader) leftOver(times *column, others ...*column) {
	if times.bad || len(times.b) > 0 {
		return
	}
	for _, c := range others {
		if c.bad {
			return // counted
		}
	}
	for _, c := range others {
		if len(c.b) > 0 {
			r.note(&AnomalyBadPacket, 1)
			return
		}
	}
}

// compactSwitches: the thread that leaves is the one that came before it, so
// of the first switch of a bundle it is not known.
func (r *reader) compactSwitches(h *head, b *bundle, times, states, pids, prios, comms []byte, comm func(uint64) string) {
	ts, st, pid, prio, name := column{b: times}, column{b: states}, column{b: pids}, column{b: prios}, column{b: comms}
	var t uint64
	prevTID, prevPrio, prevComm := event.NoID, int64(0), ""
	defer r.leftOver(&ts, &st, &pid, &prio, &name)
	for len(ts.b) > 0 && !r.stopped {
		t += ts.next()
		state, tid, pr, ni := st.next(), int32(pid.next()), int64(int32(prio.next())), name.next()
		if ts.bad || st.bad || pid.bad || prio.bad || name.bad {
			r.note(&AnomalyBadPacket, 1)
			return
		}
		e := r.add(event.KindSchedSwitch, r.ftraceTime(h, b, t))
		e.CPU, e.Source = b.cpu, "sched:sched_switch"
		if prevTID != event.NoID {
			e.TID, e.Comm = prevTID, prevComm
			e.SetInt(event.FieldPrevTID, int64(prevTID))
			e.SetInt(event.FieldPrevPrio, prevPrio)
			e.SetStr(event.FieldPrevComm, prevComm)
		}
		e.SetStr(event.FieldPrevState, taskState(int64(state)))
		prevTID, prevPrio, prevComm = tid, pr, comm(ni)
		e.SetInt(event.FieldNextTID, int64(tid))
		e.SetInt(event.FieldNextPrio, pr)
		e.SetStr(event.FieldNextComm, prevComm)
	}
}

func (r *reader) compactWakings(h *head, b *bundle, times, pids, cpus, prios, comms []byte, comm func(uint64) string) {
	ts, pid, cpu, prio, name := column{b: times}, column{b: pids}, column{b: cpus}, column{b: prios}, column{b: comms}
	var t uint64
	defer r.leftOver(&ts, &pid, &cpu, &prio, &name)
	for len(ts.b) > 0 && !r.stopped {
		t += ts.next()
		tid, target, pr, ni := int64(int32(pid.next())), int64(int32(cpu.next())), int64(int32(prio.next())), name.next()
		if ts.bad || pid.bad || cpu.bad || prio.bad || name.bad {
			r.note(&AnomalyBadPacket, 1)
			return
		}
		e := r.add(event.KindSchedWaking, r.ftraceTime(h, b, t))
		e.CPU, e.Source = b.cpu, "sched:sched_waking"
		e.SetInt(event.FieldTargetTID, tid)
		e.SetInt(event.FieldTargetCPU, target)
		e.SetInt(event.FieldPrio, pr)
		e.SetStr(event.FieldTargetComm, comm(ni))
	}
}
