package picture

import (
	"cmp"

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

func (pic *Picture) addSched(r *correlate.Sched) error {
	start, end := timeOf(r.StartNS), timeOf(r.EndNS)
	if start == never && end == never || r.CPU < 0 || r.CPU > maxCPU {
		pic.m.counters.Add(&AnomalyNoTime, 1)
		return nil
	}
	e := cpuEvent{CPU: r.CPU, TID: r.TID.V, Prio: prioOf(r.Prio), Comm: r.Comm}
	c := &pic.m.clip
	if start != never && start < c.from { // who ran before it is outside
		start = c.from
		r = &correlate.Sched{PrevComm: "swapper", EndState: r.EndState, WakeupNS: r.WakeupNS, WakerTID: r.WakerTID}
	}
	if end > c.to { // it leaves outside
		end = never
	}
	if start != never {
		e.Time, e.Op = start, opCome
		e.PrevTID, e.PrevPrio, e.PrevComm, e.PrevState = r.PrevTID.V, prioOf(r.PrevPrio), r.PrevComm, r.PrevState
		if err := pic.rows.cpus.Push(&e); err != nil {
			return err
		}
	}
	if end != never {
		e.Time, e.Op, e.PrevTID, e.PrevComm, e.PrevState = end, opLeave, 0, "", r.EndState
		if err := pic.rows.cpus.Push(&e); err != nil {
			return err
		}
	}
	if wake := timeOf(r.WakeupNS); wake != never && wake >= c.from && wake <= c.to {
		e.Time, e.Op, e.PrevTID = wake, opWake, -1
		if r.WakerTID.OK {
			e.PrevTID = r.WakerTID.V
		}
		return pic.rows.cpus.Push(&e)
	}
	return nil
}

// prioOf is the priority, or that of an ordinary thread where none is known.
func prioOf(p correlate.OptInt) int64 {
	if p.OK {
		return p.V
	}
	return 120
}

// switches makes of the events of rows what a pen is given.
type switches struct {
	pen  Pen
	sw   Switch // given to the pen
	wake Waking
	cpu  int64
	left bool // held left, and no thread came after it
	held cpuEvent
}

// drawCPUs draws all switches and wakings.
func (d *drawer) drawCPUs() error {
	s := &switches{pen: d.pen, cpu: -1}
	err := d.rows.cpus.Each(func(e *cpuEvent) error {
		s.add(e)
		return d.pen.Err()
	})
	s.idle()
	d.pen.SchedDone()
	return err
}

func (s *switches) add(e *cpuEvent) {
	if e.CPU != s.cpu {
		s.idle()
		s.cpu = e.CPU
	}
	switch e.Op {
	case opCome:
		if s.left && s.held.Time != e.Time {
			s.idle()
		}
		s.left = false
		s.sw = Switch{CPU: e.CPU, Time: e.Time, Prev: e.PrevTID, PrevComm: e.PrevComm, PrevPrio: e.PrevPrio, PrevState: e.PrevState,
			Next: e.TID, NextComm: e.Comm, NextPrio: e.Prio}
		s.pen.Switch(&s.sw)
	case opLeave:
		s.idle()
		s.held, s.left = *e, true
	case opWake:
		if s.left && s.held.Time != e.Time {
			s.idle()
		}
		s.wake = Waking{CPU: e.CPU, Time: e.Time, TID: e.TID, Prio: e.Prio, Comm: e.Comm, Waker: e.PrevTID}
		s.pen.Waking(&s.wake)
	}
}

// idle draws that a CPU went idle: its thread left, and none came then.
func (s *switches) idle() {
	if !s.left {
		return
	}
	s.left = false
	if e := &s.held; e.TID != 0 {
		s.sw = Switch{CPU: e.CPU, Time: e.Time, Prev: e.TID, PrevComm: e.Comm, PrevPrio: e.Prio, PrevState: e.PrevState,
			NextComm: "swapper", NextPrio: 120}
		s.pen.Switch(&s.sw)
	}
}
