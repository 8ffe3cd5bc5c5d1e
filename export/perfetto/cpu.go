package perfetto

import (
	"encoding/binary"
	"strings"

	"github.com/gpurec/gpurec/export/picture"
)

// pid32 is a tid as sched events hold it: 0 is the idle thread.
func pid32(v int64) uint64 { return uint64(min(max(v, 0), 1<<31-1)) }

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
}

const bundleEvents = 512

// Switch implements [picture.Pen].
func (w *pen) Switch(s *picture.Switch) {
	w.cpus.on(s.CPU)
	w.cpus.sched(s)
}

// Waking implements [picture.Pen].
func (w *pen) Waking(k *picture.Waking) {
	w.cpus.on(k.CPU)
	w.cpus.waking(k)
}

// SchedDone implements [picture.Pen].
func (w *pen) SchedDone() { w.cpus.flush() }

// on ends the bundle of another CPU.
func (b *bundles) on(cpu int64) {
	if cpu != b.cpu {
		b.flush()
		b.cpu = cpu
	}
}

func (b *bundles) sched(x *picture.Switch) {
	s := appendString(b.sub[:0], 1, comm(x.PrevComm))
	s = appendUint(s, 2, pid32(x.Prev))
	s = appendInt(s, 3, x.PrevPrio)
	s = appendInt(s, 4, taskState(x.PrevState))
	s = appendString(s, 5, comm(x.NextComm))
	s = appendUint(s, 6, pid32(x.Next))
	s = appendInt(s, 7, x.NextPrio)
	b.sub = s
	b.event(x.Time, x.Prev, 4)
}

func (b *bundles) waking(x *picture.Waking) {
	s := appendString(b.sub[:0], 1, comm(x.Comm))
	s = appendUint(s, 2, pid32(x.TID))
	s = appendInt(s, 3, x.Prio)
	s = appendInt(s, 4, 1)
	s = appendInt(s, 5, x.CPU)
	b.sub = s
	b.event(x.Time, max(x.Waker, 0), 20)
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
