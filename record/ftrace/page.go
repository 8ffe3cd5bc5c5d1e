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
	if !d.records(cpu, t, data[:min(size, len(data))], b, d.lastTime(cpu)) || !whole {
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
	e := b.Add(event.KindLoss, event.Time(t))
	e.CPU, e.Source = cpu, Stream
	e.SetStr(event.FieldTrack, Stream)
	e.SetTime(event.FieldStart, *d.lastTime(cpu))
	e.SetStr(event.FieldName, AnomalyLost.Remedy)
	n := uint64(0)
	if commit&missedStored != 0 && size+d.layout.LongSize <= len(data) {
		n = d.long(data[size:])
	}
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

// records reads the records of a page; it reports whether it came to the end.
func (d *Decoder) records(cpu int32, t uint64, data []byte, b *event.Batch, last *event.Time) bool {
	l := &d.layout
	for off := 0; off+4 <= len(data); {
		typ, delta := d.header(data[off:])
		body := off + 4
		switch {
		case typ == l.Padding:
			if delta == 0 { // nothing after it in this page
				return true
			}
			// A discarded event: like the kernel's reader, leave its time out.
			n, ok := d.word(data, body)
			if !ok || n < 4 || n > uint64(len(data)-body) {
				return false
			}
			off = body + align4(n)
		case typ == l.TimeExtend || typ == l.TimeStamp:
			n, ok := d.word(data, body)
			if !ok {
				return false
			}
			long := n<<l.TimeDeltaBits | delta
			if typ == l.TimeExtend {
				t += long
			} else {
				t = absolute(long, t)
			}
			off = body + 4
		default:
			t += delta
			size := uint64(typ) * 4
			if typ == 0 {
				n, ok := d.word(data, body)
				if !ok || n < 4 {
					return false
				}
				body, size = body+4, n-4
			}
			if typ > l.MaxTypeLen || size > uint64(len(data)-body) {
				return false
			}
			*last = event.Time(t)
			d.Record(cpu, event.Time(t), data[body:body+int(size)], b)
			off = body + align4(size)
		}
	}
	return true
}

// absolute completes a time stamp of 59 bits by the top bits of the time
// before it, as rb_fix_abs_ts does.
func absolute(stamp, before uint64) uint64 {
	if before&topBits != 0 {
		stamp |= before & topBits
		if stamp < before {
			stamp += 1 << 59
		}
	}
	return stamp
}

// header splits the first word of a record: bit fields lie at the low end on
// little-endian machines, at the high end on others.
func (d *Decoder) header(b []byte) (typ int, delta uint64) {
	w := d.layout.Order.Uint32(b)
	if d.big {
		return int(w >> d.layout.TimeDeltaBits), uint64(w & (1<<d.layout.TimeDeltaBits - 1))
	}
	return int(w & (1<<d.layout.TypeLenBits - 1)), uint64(w >> d.layout.TypeLenBits)
}

func (d *Decoder) word(data []byte, off int) (uint64, bool) {
	if off+4 > len(data) {
		return 0, false
	}
	return uint64(d.layout.Order.Uint32(data[off:])), true
}

func align4(n uint64) int { return int((n + 3) &^ 3) }
