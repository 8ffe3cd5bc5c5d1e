package chromejson

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// ownCPU makes the switches of a CPU again of the slices of what it ran.
type ownCPU struct {
	cpu  int32
	on   bool // held ran, and it is not told that it left
	held ran
	idle string // what the idle thread of the CPU is called
}

// ran is a thread on a CPU, up to end.
type ran struct {
	end   event.Time
	tid   int64
	prio  int64
	comm  string
	state string
	stays bool // it had not left when the trace ended
}

const maxOwnCPUs = 1 << 12

func (o *ownTrace) cpu(number string) *ownCPU {
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n >= maxOwnCPUs {
		return nil
	}
	for _, c := range o.cpus {
		if c.cpu == int32(n) {
			return c
		}
	}
	c := &ownCPU{cpu: int32(n), idle: "swapper/" + number}
	o.cpus = append(o.cpus, c)
	return c
}

// ranArgs are the arguments of what a CPU ran.
type ranArgs struct {
	tid, prio, prevTID, prevPrio, delay, waker, idle int64
	hasTID, hasPrev, hasDelay, hasWaker              bool
	state, end, prevComm, prevState                  string
}

// ranArgs reads them. ok is false if there are others.
func (o *ownTrace) ranArgs(r *record) (a ranArgs, ok bool) {
	m := o.m
	for i := range r.members {
		x := &r.members[i]
		v := m.lex.b[x.val.from:x.val.to]
		text := v[0] == '"'
		if text {
			v = v[1 : len(v)-1]
		}
		n, isNumber := parseNumber(v)
		word := func(to *string) { *to = m.text(span{x.val.from + 1, x.val.to - 1}, textEscaped) }
		switch key := string(m.lex.b[x.key.from:x.key.to]); {
		case text && key == "end_state":
			word(&a.state)
		case text && key == "end":
			word(&a.end)
		case text && key == "prev_comm":
			word(&a.prevComm)
		case text && key == "prev_state":
			word(&a.prevState)
		case !isNumber:
			return a, false
		case key == "tid":
			a.tid, a.hasTID = int64(n.v), true
		case key == "prio":
			a.prio = int64(n.v)
		case key == "prev_tid":
			a.prevTID, a.hasPrev = int64(n.v), true
		case key == "prev_prio":
			a.prevPrio = int64(n.v)
		case key == "wakeup_delay_ns":
			a.delay, a.hasDelay = int64(n.v), true
		case key == "waker_tid":
			a.waker, a.hasWaker = int64(n.v), true
		case key == "idle_ns":
			a.idle = int64(n.v)
		default:
			return a, false
		}
	}
	return a, a.hasTID && a.tid > 0
}

// ran maps what a CPU ran: the switch to it, and before it those that its
// predecessor leaves to.
func (o *ownTrace) ran(c *ownCPU, r *record, start, end event.Time) bool {
	m := o.m
	a, ok := o.ranArgs(r)
	if !ok || m.category(r).name != "sched" {
		return false
	}
	comm := m.text(r.name, r.nameFl)
	if comm == "thread "+strconv.FormatInt(a.tid, 10) {
		comm = ""
	}
	m.span(start)
	m.span(end)
	idle := ran{prio: idlePrio, comm: c.idle, state: "R"}
	prev := idle
	if c.on && c.held.end < start {
		c.leave(o)
	}
	switch {
	case a.hasPrev:
		prev = ran{tid: a.prevTID, prio: a.prevPrio, comm: a.prevComm, state: a.prevState}
		if a.idle > 0 {
			o.switched(c, start-event.Time(a.idle), &prev, &idle)
			prev = idle
		}
	case c.on:
		prev = c.held
	}
	c.on = true
	c.held = ran{end: end, tid: a.tid, prio: a.prio, comm: comm, state: a.state, stays: a.end != ""}
	if a.hasDelay {
		e := o.own.Add(event.KindSchedWaking, start-event.Time(a.delay))
		e.CPU, e.Source = c.cpu, o.own.Source
		if a.hasWaker {
			e.TID = int32(a.waker)
		}
		e.SetInt(event.FieldTargetTID, a.tid)
		e.SetStr(event.FieldTargetComm, comm)
		e.SetInt(event.FieldPrio, a.prio)
		e.SetInt(event.FieldTargetCPU, int64(c.cpu))
	}
	o.switched(c, start, &prev, &c.held)
	return true
}

// idlePrio is the priority of the idle thread (MAX_PRIO - 20).
const idlePrio = 120

// leave tells that what ran last left, to nobody.
func (c *ownCPU) leave(o *ownTrace) {
	if c.on && !c.held.stays {
		o.switched(c, c.held.end, &c.held, &ran{prio: idlePrio, comm: c.idle})
	}
	c.on = false
}

func (o *ownTrace) switched(c *ownCPU, at event.Time, prev, next *ran) {
	e := o.own.Add(event.KindSchedSwitch, at)
	e.CPU, e.TID, e.Comm, e.Source = c.cpu, int32(prev.tid), prev.comm, o.own.Source
	e.SetInt(event.FieldPrevTID, prev.tid)
	e.SetStr(event.FieldPrevComm, prev.comm)
	e.SetInt(event.FieldPrevPrio, prev.prio)
	e.SetStr(event.FieldPrevState, prev.state)
	e.SetInt(event.FieldNextTID, next.tid)
	e.SetStr(event.FieldNextComm, next.comm)
	e.SetInt(event.FieldNextPrio, next.prio)
}
