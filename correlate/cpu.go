package correlate

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// maxIRQs bounds the interrupt handlers that have begun on a CPU.
const maxIRQs = 1 << 6

// wake is who woke a thread, and when.
type wake struct {
	tid OptInt
	at  OptTime
}

type cpuRun struct {
	row  Sched
	open bool
	irqs []IRQ
}

// cpuTracker gives a row of sched a switch: the thread that came, until the
// next switch of that CPU.
type cpuTracker struct {
	e     *engine
	cpus  []*cpuRun
	wakes aging[int32, wake]
	off   aging[int32, event.Time] // when a thread last left a CPU

	irqDriver map[string]string // by the handler's name
}

func (x *cpuTracker) init(e *engine) {
	x.e = e
	x.irqDriver = map[string]string{}
}

func (x *cpuTracker) cpu(n int32) *cpuRun {
	if n < 0 || n >= maxCPUs {
		return nil
	}
	for int(n) >= len(x.cpus) {
		x.cpus = append(x.cpus, &cpuRun{})
	}
	return x.cpus[n]
}

func (x *cpuTracker) event(ev *event.Event, t *thread) {
	c := x.cpu(ev.CPU)
	if c == nil {
		x.e.misc.other(ev, t)
		return
	}
	switch ev.Kind {
	case event.KindSchedSwitch:
		x.e.fence.apart(x.e.fence.cpu(ev.CPU))
		x.switched(ev, c, t)
		x.e.ids.left(ev, t)
	case event.KindSchedWaking, event.KindSchedWakeup:
		x.e.fence.wake(ev)
		x.woken(ev)
	case event.KindIRQEntry:
		c.irqs = append(c.irqs, x.irq(ev))
		if len(c.irqs) > maxIRQs {
			x.e.count(&anomalyEvicted)
			x.giveIRQ(c.irqs[0])
			c.irqs = append(c.irqs[:0], c.irqs[1:]...)
		}
	case event.KindIRQExit:
		x.irqExit(ev, c)
	}
}

// woken remembers who wakes a thread; the first of waking and wakeup tells
// who, the later one when it could run. The kernel also "wakes" threads that
// are on a CPU: such wake-ups lead to no switch and leave no row.
func (x *cpuTracker) woken(ev *event.Event) {
	v, ok := ev.Int(event.FieldTargetTID)
	if !ok {
		return
	}
	tid := int32(v)
	w, seen := x.wakes.get(x.e.caps.Wakes, tid)
	if ev.Kind == event.KindSchedWaking || !seen {
		w.tid = optTask(ev.TID)
	}
	w.at = event.OptTime(ev.Time)
	x.wakes.put(x.e.caps.Wakes, tid, w)
}

func (x *cpuTracker) switched(ev *event.Event, c *cpuRun, t *thread) {
	prev, _ := ev.Int(event.FieldPrevTID)
	next, _ := ev.Int(event.FieldNextTID)
	if c.open {
		if c.row.TID.V != prev {
			x.e.count(&anomalySwitchMismatch)
		} else {
			c.row.EndState = ev.Str(event.FieldPrevState)
		}
		c.row.EndNS = event.OptTime(ev.Time)
		x.give(c)
	}
	c.open = true
	c.row = Sched{
		CPU: int64(ev.CPU), StartNS: event.OptTime(ev.Time), TID: optInt(ev, event.FieldNextTID),
		Comm: ev.Str(event.FieldNextComm), Prio: optInt(ev, event.FieldNextPrio),
		PrevTID: optInt(ev, event.FieldPrevTID), PrevComm: ev.Str(event.FieldPrevComm),
		PrevPrio: optInt(ev, event.FieldPrevPrio), PrevState: ev.Str(event.FieldPrevState),
	}
	if next > 0 {
		x.came(int32(next), c, ev)
	}
	if prev > 0 && ev.Time.Known() {
		x.off.put(x.e.caps.Wakes, int32(prev), ev.Time)
	}
}

// came takes a thread that came onto a CPU.
func (x *cpuTracker) came(tid int32, c *cpuRun, ev *event.Event) {
	if w, ok := x.wakes.get(x.e.caps.Wakes, tid); ok {
		c.row.WakerTID, c.row.WakeupNS = w.tid, w.at
		x.wakes.del(tid)
	}
	t := x.e.ids.threads[tid]
	if off, ok := x.off.get(x.e.caps.Wakes, tid); ok {
		x.off.del(tid)
		if t != nil && !t.ended && ev.Time.Known() {
			x.e.ids.did(t, span{kind: wasOff, start: off, end: ev.Time})
		}
	}
	if t != nil && !t.ended {
		c.row.ProcessID = t.processID()
	}
}

func (x *cpuTracker) give(c *cpuRun) {
	x.e.rows.Sched = append(x.e.rows.Sched, c.row)
	x.e.n++
}

// irq begins a row of an interrupt. Handlers of GPUs are known by their names.
func (x *cpuTracker) irq(ev *event.Event) IRQ {
	r := IRQ{CPU: int64(ev.CPU), IRQ: optInt(ev, event.FieldIRQ), Name: ev.Str(event.FieldName), StartNS: event.OptTime(ev.Time),
		Driver: ev.Str(event.FieldDriver), Args: ev.Str(event.FieldArgs), Source: ev.Source}
	if r.Driver == "" && r.Name != "" {
		d, ok := x.irqDriver[r.Name]
		if !ok && len(x.irqDriver) < maxIRQNames {
			d = gpu.DriverOfInterrupt(r.Name)
			x.irqDriver[r.Name] = d
		}
		r.Driver = d
	}
	if d := x.e.ids.device(ev.Str(event.FieldDevice), r.Driver); d != nil {
		r.DeviceID = d.row.ID
	}
	return r
}

// maxIRQNames bounds the names of handlers that are remembered.
const maxIRQNames = 1 << 12

// wholeIRQ takes an interrupt that its driver tells once, in its handler or at
// the handler's end.
func (x *cpuTracker) wholeIRQ(ev *event.Event) {
	r := x.irq(ev)
	r.StartNS, r.EndNS = event.OptTime(ev.TimeOf(event.FieldStart)), event.OptTime(ev.Time)
	x.giveIRQ(r)
}

func (x *cpuTracker) irqExit(ev *event.Event, c *cpuRun) {
	if ev.Has(event.FieldStart) {
		x.wholeIRQ(ev)
		return
	}
	n := len(c.irqs)
	if n == 0 {
		x.e.count(&anomalyIRQExitAlone)
		return
	}
	r := c.irqs[n-1]
	c.irqs = c.irqs[:n-1]
	r.EndNS = event.OptTime(ev.Time)
	x.giveIRQ(r)
}

func (x *cpuTracker) giveIRQ(r IRQ) {
	if r.DeviceID == 0 && r.Driver != "" {
		if d := x.e.ids.onlyDevice(r.Driver); d != nil {
			r.DeviceID = d.row.ID
		}
	}
	x.e.rows.IRQs = append(x.e.rows.IRQs, r)
	x.e.n++
}

func (x *cpuTracker) finish() {
	for _, c := range x.cpus {
		if c.open {
			x.give(c)
		}
		for _, r := range c.irqs {
			x.giveIRQ(r)
		}
	}
}
