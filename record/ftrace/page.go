package ftrace

import (
	"github.com/gpurec/gpurec/record/event"
)

// Bits of the commit word of a page that was read from the kernel
// (kernel/trace/ring_buffer.c): events are missing before the page, and their
// number stands after the data.
const (
	missedEvents = 1 << 31
	missedStored = 1 << 30
	commitMask   = 1<<27 - 1
)

// topBits are those of a time that an absolute time stamp of 59 bits leaves out.
const topBits = 0xf8 << 56

// maxCPU bounds the table of CPUs (NR_CPUS is at most 8192).
const maxCPU = 8192

// Stream is the name of ftrace's ring buffers in losses.
const Stream = "ftrace"

// Page appends the events of one page of a CPU's ring buffer to b, as read
// from per_cpu/cpuN/trace_pipe_raw or stored in trace.dat: a sub-buffer of any
// size, header included. Events lost before the page come first, as one of
// KindLoss whose interval begins with the last event seen on that CPU. What is
// damaged is counted; the events before the damage stand.
//
//	page   = time stamp, commit word, records
//	record = 5 bits of type, 27 of time since the record before, then
//	         data (length from the type, or in the next word if it is 0),
//	         padding, a longer time, or an absolute time
func (d *Decoder) Page(cpu int32, page []byte, b *event.Batch) {
	d.page++
	l := &d.layout
	if len(page) < l.DataOffset {
		d.note(&AnomalyBadPage)
		return
	}
	t := d.layout.Order.Uint64(page[l.TimeOffset:])
	commit := d.long(page[l.CommitOffset:])
	size := int(commit & commitMask)
	data := page[l.DataOffset:]
	if commit&missedEvents != 0 {
		d.missed(cpu, t, commit, data, size, b)
	}
	whole := size <= len(data)
	var w walker
	w.reset(l, d.big, t, data[:min(size, len(data))])
	last := d.lastTime(cpu)
	for w.next() {
		*last = event.Time(w.t)
		d.Record(cpu, *last, w.rec, b)
	}
	if w.bad || !whole {
		d.note(&AnomalyBadPage)
	}
}

func (d *Decoder) long(b []byte) uint64 {
	if d.layout.LongSize == 4 {
		return uint64(d.layout.Order.Uint32(b))
	}
	return d.layout.Order.Uint64(b)
}

// missed tells of the events lost before a page.
func (d *Decoder) missed(cpu int32, t uint64, commit uint64, data []byte, size int, b *event.Batch) {
	n, _ := d.missedCount(commit, data, size)
	d.loss(b, cpu, event.Time(t), *d.lastTime(cpu), Stream, n)
}

// missedCount reads how many events are missing before a page, 0 if the page
// does not say, and whether any are.
func (d *Decoder) missedCount(commit uint64, data []byte, size int) (n uint64, missed bool) {
	if commit&missedEvents == 0 {
		return 0, false
	}
	if commit&missedStored != 0 && size+d.layout.LongSize <= len(data) {
		n = d.long(data[size:])
	}
	return n, true
}

// loss adds that n events of a stream are missing between start and t; n is 0
// where nobody knows the number.
func (d *Decoder) loss(b *event.Batch, cpu int32, t, start event.Time, stream string, n uint64) {
	e := b.Add(event.KindLoss, t)
	e.CPU, e.Source = cpu, Stream
	e.SetStr(event.FieldTrack, stream)
	e.SetTime(event.FieldStart, start)
	e.SetStr(event.FieldName, AnomalyLost.Remedy)
	if n == 0 {
		d.note(&AnomalyLostUncounted)
		return
	}
	e.SetUint(event.FieldCount, n)
	d.count.AddAt(&AnomalyLost, n, d.sample(&AnomalyLost))
}

// lastTime is the place of the last time of a CPU.
func (d *Decoder) lastTime(cpu int32) *event.Time {
	if cpu < 0 || cpu >= maxCPU {
		cpu = 0
	}
	for int(cpu) >= len(d.last) {
		d.last = append(d.last, event.NoTime)
	}
	return &d.last[cpu]
}
