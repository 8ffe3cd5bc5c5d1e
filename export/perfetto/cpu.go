package perfetto

import (
	"cmp"
	"encoding/binary"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// A row of sched becomes up to three events, from which the switches of each
// CPU are built again: a thread came, it left (to nobody, unless another came
// at that instant), and it was woken.
type cpuEvent struct {
	CPU       int64
	Time      int64
	Op        uint8
	TID       int64 // the thread of the row
	Prio      int64
	Comm      string
	PrevTID   int64 // opCome: the thread before; opWake: the waker, -1 if unknown
	PrevPrio  int64
	PrevComm  string
	PrevState string // opCome: of the thread before; opLeave: of the thread itself
}

const (
	opLeave uint8 = iota
	opWake
	opCome
)

// maxCPU bounds CPU numbers: Perfetto ignores bundles of CPUs beyond it.
const maxCPU = 1023

func compareCPU(a, b *cpuEvent) int {
	if a.CPU != b.CPU {
		return cmp.Compare(a.CPU, b.CPU)
	}
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return cmp.Compare(a.Op, b.Op)
}

func (w *Writer) addSched(r *correlate.Sched) error {
	start, end := timeOf(r.StartNS), timeOf(r.EndNS)
	if start == never && end == never || r.CPU < 0 || r.CPU > maxCPU {
		w.m.counters.Add(&AnomalyNoTime, 1)
		return nil
	}
	e := cpuEvent{CPU: r.CPU, TID: r.TID.V, Prio: prioOf(r.Prio), Comm: r.Comm}
	if start != never {
		e.Time, e.Op = start, opCome
		e.PrevTID, e.PrevPrio, e.PrevComm, e.PrevState = r.PrevTID.V, prioOf(r.PrevPrio), r.PrevComm, r.PrevState
		if err := w.rows.cpus.Push(&e); err != nil {
			return err
		}
	}
	if end != never {
		e.Time, e.Op, e.PrevTID, e.PrevComm, e.PrevState = end, opLeave, 0, "", r.EndState
		if err := w.rows.cpus.Push(&e); err != nil {
			return err
		}
	}
	if wake := timeOf(r.WakeupNS); wake != never {
		e.Time, e.Op, e.PrevTID = wake, opWake, -1
		if r.WakerTID.OK {
			e.PrevTID = r.WakerTID.V
		}
		return w.rows.cpus.Push(&e)
	}
	return nil
}

// pid32 is a tid as sched events hold it: 0 is the idle thread.
func pid32(v int64) uint64 { return uint64(min(max(v, 0), 1<<31-1)) }

// prioOf is the priority, or that of an ordinary thread where none is known.
func prioOf(p correlate.OptInt) int64 {
	if p.OK {
		return p.V
	}
	return 120
}

// taskState returns the state's letters as the bits of sched_switch (TASK_REPORT
// in the kernel's sched.h, since 4.14).
func taskState(s string) int64 {
	var v int64
	for _, c := range s {
		switch c {
		case 'S':
			v |= 1
		case 'D':
			v |= 2
		case 'T':
			v |= 4
		case 't':
			v |= 8
		case 'X':
			v |= 16
		case 'Z':
			v |= 32
		case 'P':
			v |= 64
		case 'I':
			v |= 128
		case '+':
			v |= 256
		}
	}
	return v
}

// bundles writes ftrace bundles on sequence 4.
type bundles struct {
	out   *packets
	begun bool
	cpu   int64
	n     int
	body  []byte
	ev    []byte
	sub   []byte
	last  *cpuEvent // the thread that left last, if none came after it
	held  cpuEvent
}

const bundleEvents = 512

// drawCPUs writes all switches and wakings.
func (d *drawer) drawCPUs() error {
	b := &bundles{out: d.out, cpu: -1}
	err := d.rows.cpus.Each(func(e *cpuEvent) error {
		b.add(e)
		return d.out.err
	})
	b.idle()
	b.flush()
	return err
}

func (b *bundles) add(e *cpuEvent) {
	if e.CPU != b.cpu {
		b.idle()
		b.flush()
		b.cpu = e.CPU
	}
	switch e.Op {
	case opCome:
		if b.last != nil && b.held.Time != e.Time {
			b.idle()
		}
		b.last = nil
		b.sched(e.Time, e.PrevTID, e.PrevComm, e.PrevPrio, e.PrevState, e.TID, e.Comm, e.Prio)
	case opLeave:
		b.idle()
		b.held = *e
		b.last = &b.held
	case opWake:
		if b.last != nil && b.held.Time != e.Time {
			b.idle()
		}
		b.waking(e)
	}
}

// idle writes that a CPU went idle: its thread left, and none came then.
func (b *bundles) idle() {
	if e := b.last; e != nil {
		b.last = nil
		if e.TID != 0 {
			b.sched(e.Time, e.TID, e.Comm, e.Prio, e.PrevState, 0, "swapper", 120)
		}
	}
}

func (b *bundles) sched(t, prev int64, prevComm string, prevPrio int64, state string, next int64, nextComm string, nextPrio int64) {
	s := appendString(b.sub[:0], 1, comm(prevComm))
	s = appendUint(s, 2, pid32(prev))
	s = appendInt(s, 3, prevPrio)
	s = appendInt(s, 4, taskState(state))
	s = appendString(s, 5, comm(nextComm))
	s = appendUint(s, 6, pid32(next))
	s = appendInt(s, 7, nextPrio)
	b.sub = s
	b.event(t, prev, 4)
}

func (b *bundles) waking(e *cpuEvent) {
	s := appendString(b.sub[:0], 1, comm(e.Comm))
	s = appendUint(s, 2, pid32(e.TID))
	s = appendInt(s, 3, e.Prio)
	s = appendInt(s, 4, 1)
	s = appendInt(s, 5, e.CPU)
	b.sub = s
	b.event(e.Time, max(e.PrevTID, 0), 20)
}

// comm is a thread's name; "swapper/0" is the idle thread of CPU 0.
func comm(s string) string {
	if strings.HasPrefix(s, "swapper/") {
		return "swapper"
	}
	return valid(s)
}

func (b *bundles) event(t, pid int64, field byte) {
	if b.n == 0 {
		b.body = appendInt(b.body[:0], 1, b.cpu)
	}
	ev := appendUint(b.ev[:0], 1, b.out.ts(t))
	ev = appendUint(ev, 2, pid32(pid))
	ev = binary.AppendUvarint(ev, uint64(field)<<3|2)
	ev = binary.AppendUvarint(ev, uint64(len(b.sub)))
	ev = append(ev, b.sub...)
	b.ev = ev
	b.body = appendBytes(b.body, 2, ev)
	if b.n++; b.n >= bundleEvents {
		b.flush()
	}
}

func (b *bundles) flush() {
	if b.n == 0 {
		return
	}
	flags := byte(flagNeeds)
	if !b.begun {
		flags, b.begun = flagCleared, true
	}
	// Without a time: the events have their own.
	b.out.buf = append(b.out.buf[:0], fieldSequence<<3, seqFtrace, fieldFlags<<3, flags)
	b.out.buf = appendBytes(b.out.buf, fieldFtrace, b.body)
	b.out.send()
	b.n = 0
}
