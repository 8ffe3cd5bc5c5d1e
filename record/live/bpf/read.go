package bpf

import (
	"errors"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
)

const (
	// readPace is how often an unhurried reader looks into the ring. The
	// programs do not wake it: a wakeup costs more than a record.
	readPace = 5 * time.Millisecond
	// lossPace is how often losses are looked for: the width of their intervals.
	lossPace = 50 * time.Millisecond
	// openPace is how often calls are looked for that have been open for so
	// long: a call that hangs is in the log even if the recorder is killed.
	openPace = time.Second
)

// readState belongs to the reading goroutine, but for hits.
type readState struct {
	last      time.Time // of the last look into the ring
	full      bool      // the last look filled the batch
	lossAt    time.Time
	lossFrom  event.Time
	lost      [objects.NumGroups][]uint64 // by CPU, told so far
	noRoom    uint64
	openAt    time.Time
	finished  bool
	hits      []uint64                  // kept when the maps are closed
	lostTotal [objects.NumGroups]uint64 // kept when the maps are closed
}

// Read gives what was recorded. It looks into the ring every 5 ms, so that a
// batch is worth its call.
func (s *Source) Read(b *event.Batch, wait time.Duration) error {
	b.Reset()
	r := &s.read
	deadline := time.Now().Add(wait)
	for {
		stopping := s.stopping.Load()
		if !stopping && !r.full {
			if d := min(time.Until(r.last.Add(readPace)), time.Until(deadline)); d > 0 {
				time.Sleep(d)
			}
		}
		now := time.Now()
		r.last = now
		end := s.look(b, now, stopping)
		if len(b.Events) > 0 || end == nil && !now.Before(deadline) {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

// look takes from the ring and the maps what is there. It returns io.EOF when
// nothing more will come.
func (s *Source) look(b *event.Batch, now time.Time, stopping bool) error {
	s.readMu.Lock() // Close unmaps the ring
	defer s.readMu.Unlock()
	if s.ring == nil || s.ring.data == nil {
		return io.EOF
	}
	s.drain(b)
	if !stopping {
		s.periodic(b, now)
		return nil
	}
	if !s.ring.empty() {
		return nil
	}
	if !s.read.finished {
		s.read.finished = true
		s.openCalls(b, 0)
		s.lossEvents(b)
	}
	return io.EOF
}

// drain converts records until the batch or the ring is done.
func (s *Source) drain(b *event.Batch) {
	s.read.full = false
	for range event.DefaultBatch {
		rec := s.ring.next()
		if rec == nil {
			s.ring.release()
			return
		}
		s.conv.convert(rec, b)
	}
	s.ring.release()
	s.read.full = true
}

// periodic adds losses and long-open calls when their time has come.
func (s *Source) periodic(b *event.Batch, now time.Time) {
	r := &s.read
	if r.lossAt.IsZero() {
		r.lossAt, r.openAt, r.lossFrom = now, now, bootTime()
	}
	if now.Sub(r.lossAt) >= lossPace {
		r.lossAt = now
		s.lossEvents(b)
	}
	if now.Sub(r.openAt) >= openPace {
		r.openAt = now
		s.openCalls(b, openPace)
	}
}

// lossEvents adds an event for every group and CPU that dropped records since
// the last time: all of them lie between that time and the last drop.
func (s *Source) lossEvents(b *event.Batch) {
	m := s.mapNamed(objects.GpurecMapLosses)
	if m == nil {
		return
	}
	r, now := &s.read, bootTime()
	for g := range objects.NumGroups {
		var cpus []objects.Loss
		if m.Lookup(uint32(g), &cpus) != nil {
			continue // the map is being closed
		}
		if r.lost[g] == nil {
			r.lost[g] = make([]uint64, len(cpus))
		}
		for cpu := range cpus {
			n := cpus[cpu].Lost - r.lost[g][cpu]
			if n == 0 {
				continue // nothing new
			}
			start := r.lossFrom
			if r.lost[g][cpu] == 0 {
				start = max(start, event.Time(cpus[cpu].FirstTS))
			}
			r.lost[g][cpu] = cpus[cpu].Lost
			if g == objects.GroupTask && !s.conv.tasks {
				continue // nobody asked for them
			}
			e := b.Add(event.KindLoss, event.Time(cpus[cpu].LastTS))
			e.CPU = int32(cpu)
			e.Source = "bpf"
			e.SetStr(event.FieldTrack, "bpf/"+groupName(g))
			e.SetTime(event.FieldStart, start)
			e.SetUint(event.FieldCount, n)
			e.SetStr(event.FieldName, "the BPF ring buffer was full: record with a larger one, or fewer probes")
		}
	}
	r.lossFrom = now
	if n := s.sum(objects.GpurecMapNoRoom, 0); n > r.noRoom {
		s.conv.anomalies.Add(anomalyNoRoom, n-r.noRoom)
		r.noRoom = n
	}
}

// openCalls adds the entries of calls that were entered at least so long ago
// and have not returned, where the entry would else come with the return.
func (s *Source) openCalls(b *event.Batch, age time.Duration) {
	before := bootTime() - event.Time(age)
	for _, name := range []string{objects.GpurecMapSlots, objects.GpurecMapThreads} {
		m := s.mapNamed(name)
		if m == nil {
			return
		}
		var cursor ebpf.MapBatchCursor
		keys, threads := make([]uint32, 512), make([]objects.Thread, 512)
		for {
			n, err := m.BatchLookup(&cursor, keys, threads, nil)
			for i := range min(n, len(keys)) {
				if threads[i].TID != 0 {
					s.openThread(b, m, keys[i], &threads[i], before)
				}
			}
			if err != nil {
				// ErrKeyNotExist is the end; anything else ends the look too: the
				// calls are looked for again in a second.
				break
			}
		}
	}
}

func (s *Source) openThread(b *event.Batch, m *ebpf.Map, key uint32, t *objects.Thread, before event.Time) {
	var again objects.Thread
	for d := range min(t.Depth, objects.MaxDepth) {
		f := &t.Frames[d]
		id := uint16(f.Cookie)
		if f.TS == 0 || event.Time(f.TS) > before || f.Cookie>>16&objects.CookieBlocks != 0 || s.conv.isShown(t.TID, id, f.TS) {
			continue // young, or its entry is in the log already
		}
		// The programs write while we copy: what is the same twice is whole.
		if m.Lookup(key, &again) != nil || again.TID != t.TID || again.Depth <= d || again.Frames[d] != *f {
			continue // it has returned: its record tells all
		}
		s.conv.show(b, t, f)
	}
}

// mapNamed returns a map while the source is open.
func (s *Source) mapNamed(name string) *ebpf.Map {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.l == nil || s.l.maps == nil || s.state == stateClosed {
		return nil
	}
	return s.l.maps.Maps[name]
}

// sum adds up a per-CPU counter.
func (s *Source) sum(name string, key uint32) (n uint64) {
	m := s.mapNamed(name)
	var cpus []uint64
	if m == nil || m.Lookup(key, &cpus) != nil {
		return 0
	}
	for _, v := range cpus {
		n += v
	}
	return n
}

// readHits reads the counters of all probes, by id. The caller holds the lock.
func (s *Source) readHits() []uint64 {
	if s.l == nil || s.l.maps == nil {
		return s.read.hits
	}
	m := s.l.maps.Maps[objects.GpurecMapHits]
	out := make([]uint64, objects.IDFirstSymbol+len(s.symbols.all()))
	for id := range out {
		var cpus []uint64
		if m.Lookup(uint32(id), &cpus) != nil {
			continue // no such id: it stays zero
		}
		for _, v := range cpus {
			out[id] += v
		}
	}
	return out
}

// lostByGroup reads the losses. The caller holds the lock.
func (s *Source) lostByGroup() (out [objects.NumGroups]uint64) {
	if s.l == nil || s.l.maps == nil {
		return s.read.lostTotal
	}
	for g := range objects.NumGroups {
		var cpus []objects.Loss
		if s.l.maps.Maps[objects.GpurecMapLosses].Lookup(uint32(g), &cpus) != nil {
			continue // the map is being closed
		}
		for _, l := range cpus {
			out[g] += l.Lost
		}
	}
	return out
}

// bootTime is the time that records carry.
func bootTime() event.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return event.Time(ts.Nano())
}

func membarrierGlobal() error {
	const cmdGlobal = 1 // MEMBARRIER_CMD_GLOBAL: waits for an RCU grace period
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, cmdGlobal, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

var errClosed = errors.New("bpf: the source is closed")
