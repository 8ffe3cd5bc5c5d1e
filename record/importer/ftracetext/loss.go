package ftracetext

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

// maxCPU bounds the table of CPUs (NR_CPUS is at most 8192).
const maxCPU = 8192

// stream is the name of the source in losses.
const stream = "ftrace"

// losses keeps what the trace says about missing events until the event after
// the gap is known, and the last time of each CPU.
type losses struct {
	count   *event.Counters
	last    []event.Time // by CPU
	pending []pending
}

type pending struct {
	cpu      int32 // event.NoID: of all CPUs, before the first event
	count    uint64
	counted  bool
	instance string
}

// maxPending bounds marks that stand without an event between them.
const maxPending = 4096

// line reads "CPU:1 [LOST 12 EVENTS]" and "CPU:1 [12 EVENTS DROPPED]", the
// number possibly missing, an instance's name possibly before it.
func (l *losses) line(t []byte, place func() string) bool {
	i := bytes.Index(t, []byte("CPU:"))
	if i < 0 || t[len(t)-1] != ']' {
		return false
	}
	var p pending
	if i > 0 {
		name, ok := bytes.CutSuffix(trimRight(t[:i]), []byte(":"))
		if !ok || len(name) > 64 {
			return false
		}
		p.instance = string(name)
	}
	num, rest, ok := bytes.Cut(t[i+4:], []byte(" ["))
	cpu, ok2 := id(num)
	if !ok || !ok2 || cpu >= maxCPU {
		return false
	}
	p.cpu = cpu
	lost := false
	for word := range bytes.FieldsSeq(rest[:len(rest)-1]) {
		switch string(word) {
		case "LOST", "DROPPED":
			lost = true
		case "EVENTS":
		default:
			n, ok := number(word)
			if !ok {
				return false
			}
			p.count, p.counted = n, true
		}
	}
	if !lost {
		return false
	}
	l.push(p, place())
	return true
}

func number(s []byte) (v uint64, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || v > 1<<58 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(s) > 0
}

// overwritten says that n events were overwritten before the first one.
func (l *losses) overwritten(n uint64, place string) {
	l.push(pending{cpu: event.NoID, count: n, counted: true}, place)
}

func (l *losses) push(p pending, place string) {
	if p.counted {
		l.count.AddAt(&ftrace.AnomalyLost, p.count, place)
	} else {
		l.count.AddAt(&ftrace.AnomalyLostUncounted, 1, place)
	}
	if len(l.pending) < maxPending {
		l.pending = append(l.pending, p)
	}
}

// before adds the losses that end at the event of h, notes its time, and
// reports whether it is older than the one before on its CPU.
func (l *losses) before(b *event.Batch, h *ftrace.Head) (back bool) {
	if len(l.pending) > 0 {
		keep := l.pending[:0]
		for _, p := range l.pending {
			if p.cpu == event.NoID || p.cpu == h.CPU {
				l.add(b, p, h.Time)
			} else {
				keep = append(keep, p)
			}
		}
		l.pending = keep
	}
	if h.CPU < 0 || h.CPU >= maxCPU || !h.Time.Known() {
		return false
	}
	for int(h.CPU) >= len(l.last) {
		l.last = append(l.last, event.NoTime)
	}
	back = h.Time < l.last[h.CPU]
	l.last[h.CPU] = h.Time
	return back
}

// add writes a loss that ends at t.
func (l *losses) add(b *event.Batch, p pending, t event.Time) {
	e := b.Add(event.KindLoss, t)
	e.CPU, e.Source = p.cpu, stream
	track := stream
	if p.instance != "" {
		track += ":" + p.instance
	}
	e.SetStr(event.FieldTrack, track)
	if p.counted {
		e.SetUint(event.FieldCount, p.count)
	}
	if p.cpu >= 0 && int(p.cpu) < len(l.last) {
		e.SetTime(event.FieldStart, l.last[p.cpu])
	}
	e.SetStr(event.FieldName, ftrace.AnomalyLost.Remedy)
}

// flush writes the losses that no event followed: they end when the trace does.
func (l *losses) flush(b *event.Batch) {
	end := event.NoTime
	for _, t := range l.last {
		end = max(end, t)
	}
	for _, p := range l.pending {
		l.add(b, p, end)
	}
	l.pending = nil
}
