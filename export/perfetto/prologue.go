package perfetto

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"google.golang.org/protobuf/encoding/protowire"
)

// Clocks of ClockSnapshot.
const (
	clockRealtime     = 1
	clockMonotonic    = 3
	clockMonotonicRaw = 5
	clockBoottime     = 6
)

// maxGPUs bounds the list of GPUs, in which the index is the GPU's number.
const maxGPUs = 1024

// prologue writes what stands before all events.
func (d *drawer) prologue() {
	snaps := d.snapshots()
	d.snapshot(&snaps[0])
	d.gpurec = &track{name: "gpurec", ordered: true, description: d.describeRun()}
	d.tr.root()
	d.systemInfo()
	d.gpuInfo()
	d.processTree()
	for i := range snaps[1:] {
		d.snapshot(&snaps[i+1])
	}
}

func (d *drawer) describeRun() string {
	s := "What gpurec itself has to say about the trace."
	if d.o.tool != "" {
		s = d.o.tool
	}
	if c := d.clockText(); c != "" {
		s += "; " + c
	}
	return s
}

// clockText says that the times are not BOOTTIME, or "".
func (d *drawer) clockText() string {
	c := d.sum.Meta.Clock
	if c == event.ClockBoottime {
		return ""
	}
	if c == "" {
		c = event.ClockUnknown
	}
	return "clock=" + string(c) + ", unaligned"
}

// snapshots relates the trace's axis to the clocks of the machine. The axis is
// what Perfetto takes for BOOTTIME; a log with another clock is drawn on it as
// it is, so the snapshot says that this clock and the axis are one.
func (d *drawer) snapshots() []event.ClockSnapshot {
	var list []event.ClockSnapshot
	axis := d.sum.Meta.Clock
	for _, s := range d.sum.Meta.Snapshots {
		if t := reading(&s, axis); t != 0 {
			s.Boottime = t
			if axis != event.ClockBoottime {
				s = onAxis(axis, t, s)
			}
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t := event.Time(max(d.start, 1))
		list = append(list, onAxis(axis, t, event.ClockSnapshot{}))
	}
	return list
}

// reading is what a snapshot says of the log's clock; 0 if it was not read.
func reading(s *event.ClockSnapshot, c event.Clock) event.Time {
	switch c {
	case event.ClockBoottime:
		return s.Boottime
	case event.ClockMonotonic:
		return s.Monotonic
	case event.ClockMonotonicRaw:
		return s.MonotonicRaw
	case event.ClockRealtime:
		return s.Realtime
	}
	return 0
}

func onAxis(c event.Clock, t event.Time, s event.ClockSnapshot) event.ClockSnapshot {
	s.Boottime = t
	switch c {
	case event.ClockMonotonic:
		s.Monotonic = t
	case event.ClockMonotonicRaw:
		s.MonotonicRaw = t
	case event.ClockRealtime:
		s.Realtime = t
	}
	return s
}

func (d *drawer) snapshot(s *event.ClockSnapshot) {
	var b []byte
	add := func(id uint64, t event.Time) {
		if t > 0 {
			c := appendUint(nil, 1, id)
			if id == clockBoottime {
				c = appendUint(c, 2, d.out.ts(int64(t)))
			} else {
				c = appendUint(c, 2, uint64(t))
			}
			b = appendBytes(b, 1, c)
		}
	}
	add(clockBoottime, s.Boottime)
	add(clockMonotonic, s.Monotonic)
	add(clockRealtime, s.Realtime)
	add(clockMonotonicRaw, s.MonotonicRaw)
	b = appendUint(b, 2, clockBoottime)
	// A snapshot has no time of its own: its clocks are its time.
	p := d.out
	p.buf = append(p.buf[:0], fieldSequence<<3, seqClock)
	p.buf = appendBytes(p.buf, fieldClockSnapshot, b)
	p.send()
}

// systemInfo says Linux: only then the UI gathers kernel threads.
func (d *drawer) systemInfo() {
	h := &d.sum.Meta.Host
	u := appendString(nil, 1, "Linux")
	if h.Kernel != "" {
		u = appendString(u, 3, valid(h.Kernel))
	}
	if h.Machine != "" {
		u = appendString(u, 4, valid(h.Machine))
	}
	d.clockSequence(fieldSystemInfo, appendBytes(nil, 1, u))
}

func (d *drawer) clockSequence(field uint64, body []byte) {
	d.out.head(seqClock, 0, d.start)
	d.out.buf = appendBytes(d.out.buf, protowire.Number(field), body)
	d.out.send()
}

func (d *drawer) gpuInfo() {
	var gpus []*device
	for _, v := range d.devices {
		if !v.known || v.row.Index < 0 || v.row.Index >= maxGPUs {
			continue
		}
		for int64(len(gpus)) <= v.row.Index {
			gpus = append(gpus, nil)
		}
		gpus[v.row.Index] = v
	}
	if len(gpus) == 0 {
		return
	}
	var b []byte
	for _, v := range gpus {
		var g []byte
		if v != nil {
			g = appendString(g, 1, valid(firstOf(v.row.Name, v.row.Driver, v.row.Device)))
			if v.row.Device != "" {
				g = appendString(g, 7, valid(v.row.Device))
			}
		}
		b = appendBytes(b, 1, g)
	}
	d.clockSequence(fieldGPUInfo, b)
}

// processTree names kernel threads, children of kthreadd, and threads of
// processes that have no track of their own.
func (d *drawer) processTree() {
	var procs, threads []byte
	kernel := false
	list := slices.Clone(d.procs)
	slices.SortFunc(list, func(a, b *proc) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.id, b.id)) })
	last := int64(-1)
	for _, p := range list {
		switch {
		case p.pid <= 0 || p.pid == last:
		case p.ppid == 2 || p.pid == 2 || kernelThread(p.name):
			last, kernel = p.pid, true
			if p.pid != 2 {
				procs = appendBytes(procs, 1, treeProcess(p.pid, 2, p.name))
			}
		case !p.inferred && len(p.threads) > 1:
			last = p.pid
			threads = append(threads, treeThreads(p)...)
		}
	}
	if kernel {
		b := appendBytes(nil, 1, treeProcess(2, 0, "kthreadd"))
		procs = append(b, procs...)
	}
	if body := append(procs, threads...); len(body) > 0 {
		d.clockSequence(fieldProcessTree, body)
	}
}

func treeProcess(pid, ppid int64, name string) []byte {
	b := appendUint(nil, 1, pid32(pid))
	b = appendUint(b, 2, pid32(ppid))
	if name != "" {
		b = appendString(b, 3, valid(name))
	}
	return b
}

func treeThreads(p *proc) []byte {
	ids := make([]int64, 0, len(p.threads))
	for id := range p.threads {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b []byte
	for _, id := range ids {
		if id <= 0 || p.threads[id].first != never {
			continue
		}
		t := appendUint(nil, 1, pid32(id))
		if n := p.threads[id].name; n != "" {
			t = appendString(t, 2, valid(n))
		}
		b = appendBytes(b, 2, appendUint(t, 3, pid32(p.pid)))
	}
	return b
}
