package perfetto

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gpurec/gpurec/export/picture"
	"github.com/gpurec/gpurec/record/event"
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

// Start implements [picture.Pen]: it writes what stands before all events.
func (w *pen) Start(s *picture.Scene) {
	w.scene = s
	w.tracks.start = s.Start
	if s.Start < 0 {
		w.out.base = -s.Start
	}
	snaps := w.snapshots()
	w.snapshot(&snaps[0])
	w.tracks.root()
	w.systemInfo()
	w.gpuInfo()
	w.processTree()
	for i := range snaps[1:] {
		w.snapshot(&snaps[i+1])
	}
	if w.out.next != nil {
		w.out.flush()
		w.out.z = w.out.next
	}
}

// snapshots relates the trace's axis to the clocks of the machine. The axis is
// what Perfetto takes for BOOTTIME; a log with another clock is drawn on it as
// it is, so the snapshot says that this clock and the axis are one.
func (w *pen) snapshots() []event.ClockSnapshot {
	var list []event.ClockSnapshot
	axis := w.scene.Meta.Clock
	for _, s := range w.scene.Meta.Snapshots {
		if t := reading(&s, axis); t != 0 {
			s.Boottime = t
			if axis != event.ClockBoottime {
				s = onAxis(axis, t, s)
			}
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t := event.Time(max(w.scene.Start, 1))
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

func (w *pen) snapshot(s *event.ClockSnapshot) {
	var b []byte
	add := func(id uint64, t event.Time) {
		if t > 0 {
			c := appendUint(nil, 1, id)
			if id == clockBoottime {
				c = appendUint(c, 2, w.out.ts(int64(t)))
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
	p := w.out
	p.buf = append(p.buf[:0], fieldSequence<<3, seqClock)
	p.buf = appendBytes(p.buf, fieldClockSnapshot, b)
	p.send()
}

// systemInfo says Linux: only then the UI gathers kernel threads.
func (w *pen) systemInfo() {
	h := &w.scene.Meta.Host
	u := appendString(nil, 1, "Linux")
	if h.Kernel != "" {
		u = appendString(u, 3, valid(h.Kernel))
	}
	if h.Machine != "" {
		u = appendString(u, 4, valid(h.Machine))
	}
	w.clockSequence(fieldSystemInfo, appendBytes(nil, 1, u))
}

func (w *pen) clockSequence(field uint64, body []byte) {
	w.out.head(seqClock, 0, w.scene.Start)
	w.out.buf = appendBytes(w.out.buf, protowire.Number(field), body)
	w.out.send()
}

func (w *pen) gpuInfo() {
	var gpus []*picture.Device
	for _, v := range w.scene.Devices {
		if !v.Known || v.Row.Index < 0 || v.Row.Index >= maxGPUs {
			continue
		}
		for int64(len(gpus)) <= v.Row.Index {
			gpus = append(gpus, nil)
		}
		gpus[v.Row.Index] = v
	}
	if len(gpus) == 0 {
		return
	}
	var b []byte
	for _, v := range gpus {
		var g []byte
		if v != nil {
			g = appendString(g, 1, valid(cmp.Or(v.Row.Name, v.Row.Driver, v.Row.Device)))
			if v.Row.Device != "" {
				g = appendString(g, 7, valid(v.Row.Device))
			}
		}
		b = appendBytes(b, 1, g)
	}
	w.clockSequence(fieldGPUInfo, b)
}

// processTree names kernel threads, children of kthreadd, and threads of
// processes that have no track of their own.
func (w *pen) processTree() {
	var procs, threads []byte
	kernel := false
	list := slices.Clone(w.scene.Processes)
	slices.SortFunc(list, func(a, b *picture.Process) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.ID, b.ID)) })
	last := int64(-1)
	for _, p := range list {
		switch {
		case p.PID <= 0 || p.PID == last:
		case p.KernelThread():
			last, kernel = p.PID, true
			if p.PID != 2 {
				procs = appendBytes(procs, 1, treeProcess(p.PID, 2, p.Name))
			}
		case !p.Inferred && len(p.Threads) > 1:
			last = p.PID
			threads = append(threads, treeThreads(p)...)
		}
	}
	if kernel {
		b := appendBytes(nil, 1, treeProcess(2, 0, "kthreadd"))
		procs = append(b, procs...)
	}
	if body := append(procs, threads...); len(body) > 0 {
		w.clockSequence(fieldProcessTree, body)
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

func treeThreads(p *picture.Process) []byte {
	ids := make([]int64, 0, len(p.Threads))
	for id := range p.Threads {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b []byte
	for _, id := range ids {
		if id <= 0 || p.Threads[id].Drawn() {
			continue
		}
		t := appendUint(nil, 1, pid32(id))
		if n := p.Threads[id].Name; n != "" {
			t = appendString(t, 2, valid(n))
		}
		b = appendBytes(b, 2, appendUint(t, 3, pid32(p.PID)))
	}
	return b
}
