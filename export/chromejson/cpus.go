package chromejson

import (
	"fmt"

	"github.com/gpurec/gpurec/export/picture"
)

// cpus writes what each CPU runs, as slices of a thread for each CPU.
type cpus struct {
	proc *proc
	row  *row
	cpu  int64
	on   bool // held runs
	held picture.Switch
	wake picture.Waking           // of held; Time is noTime if it was not seen
	woke map[int64]picture.Waking // threads woken on this CPU that do not run yet

	last   int64   // what came last
	odd    leaving // before what comes next
	before leaving // before held
}

// leaving is a thread that left a CPU and of which there is no slice: the first
// one, or one whose coming was lost.
type leaving struct {
	picture.Switch
	on bool
}

// unknownThread is what a CPU ran before its first switch.
const unknownThread = -1

// Switch implements [picture.Pen].
func (p *pen) Switch(s *picture.Switch) {
	c := &p.cpus
	if c.row == nil || s.CPU != c.cpu {
		p.lastRuns()
		p.newCPU(s.CPU)
	} else if c.on {
		p.ran(s.Time, s.PrevState)
	}
	if s.Prev != c.last && (s.Prev != 0 || s.Next == 0) { // no slice tells of it
		c.odd = leaving{*s, true}
	}
	c.last = s.Next
	c.held, c.on = *s, s.Next != 0
	if c.on {
		c.before, c.odd.on = c.odd, false
	}
	c.wake.Time = noTime
	if w, ok := c.woke[s.Next]; ok {
		c.wake = w
		delete(c.woke, s.Next)
	}
}

// stillRuns stands in place of the state of a thread that has not left its CPU.
const stillRuns = "\x00"

func (p *pen) newCPU(cpu int64) {
	c := &p.cpus
	if c.proc == nil {
		c.proc = p.rows.proc(p.rows.makeID(), "CPUs", "", sortCPUs, kindArg("cpus"))
	}
	p.sleepers()
	c.cpu, c.last, c.odd.on, c.before.on = cpu, unknownThread, false, false
	c.row = p.rows.thread(c.proc, p.rows.makeID(), fmt.Sprintf("CPU %d", cpu), int(cpu), fmt.Sprintf(`,"cpu":%d`, cpu))
}

// ran writes the slice of the thread that left its CPU.
func (p *pen) ran(end int64, state string) {
	c := &p.cpus
	c.on = false
	p.begin(c.row, c.held.Time, max(end, c.held.Time))
	name := c.held.NextComm
	if name == "" {
		name = fmt.Sprintf("thread %d", c.held.Next)
	}
	p.Name(name)
	p.CategoryText("sched")
	p.out = append(p.out, `,"args":{"tid":`...)
	p.out = appendInt(p.out, c.held.Next)
	p.out = append(p.out, `,"prio":`...)
	p.out = appendInt(p.out, c.held.NextPrio)
	if state == stillRuns {
		p.out = append(p.out, `,"end":"after_stop"`...)
	} else if state != "" {
		p.out = append(p.out, `,"end_state":`...)
		p.out = appendString(p.out, state)
	}
	if w := &c.wake; w.Time != noTime {
		p.out = append(p.out, `,"wakeup_delay_ns":`...)
		p.out = appendInt(p.out, c.held.Time-w.Time)
		if w.Waker > 0 {
			p.out = append(p.out, `,"waker_tid":`...)
			p.out = appendInt(p.out, w.Waker)
		}
	}
	p.leaving()
	p.args = true
	p.Done()
}

// leaving tells of the thread that ran before the one in work, if no slice does.
func (p *pen) leaving() {
	b := &p.cpus.before
	if !b.on {
		return
	}
	p.out = append(p.out, `,"prev_tid":`...)
	p.out = appendInt(p.out, b.Prev)
	p.out = append(p.out, `,"prev_prio":`...)
	p.out = appendInt(p.out, b.PrevPrio)
	for _, x := range [...]struct{ key, v string }{{`,"prev_comm":`, b.PrevComm}, {`,"prev_state":`, b.PrevState}} {
		if x.v != "" {
			p.out = appendString(append(p.out, x.key...), x.v)
		}
	}
	if idle := p.cpus.held.Time - b.Time; idle > 0 {
		p.out = append(p.out, `,"idle_ns":`...)
		p.out = appendInt(p.out, idle)
	}
}

// SchedDone implements [picture.Pen]: what runs on the CPU runs to the end.
func (p *pen) SchedDone() {
	p.lastRuns()
	p.sleepers()
}

func (p *pen) lastRuns() {
	if p.cpus.on {
		p.ran(p.scene.End, stillRuns)
	}
}

// sleepers counts those that were woken and never ran on the CPU.
func (p *pen) sleepers() {
	if n := len(p.cpus.woke); n > 0 {
		p.scene.Counters.Add(&AnomalyWakings, uint64(n))
		clear(p.cpus.woke)
	}
}

// Waking implements [picture.Pen]: the slice of the thread that was woken tells
// of it. The thread runs on the same CPU, later.
func (p *pen) Waking(w *picture.Waking) {
	c := &p.cpus
	if c.row == nil || w.CPU != c.cpu {
		p.lastRuns()
		p.newCPU(w.CPU)
	}
	if c.woke == nil {
		c.woke = map[int64]picture.Waking{}
	}
	if _, ok := c.woke[w.TID]; ok {
		p.scene.Counters.Add(&AnomalyWakings, 1)
	}
	c.woke[w.TID] = *w
}
