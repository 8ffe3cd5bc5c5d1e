package perfetto

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// Clocks that every trace knows (BuiltinClock). From 64 on a clock is of a
// sequence, from 128 on of the trace.
const (
	clockRealtime        = 1
	clockRealtimeCoarse  = 2
	clockMonotonic       = 3
	clockMonotonicCoarse = 4
	clockMonotonicRaw    = 5
	clockBoottime        = 6
	firstSeqClock        = 64
	lastSeqClock         = 127
)

// clocks relates the clocks of a trace to its own (see [clocks.trace]), by
// the latest snapshot that holds both.
type clocks struct {
	r     *reader
	trace uint64 // the trace's clock
	fixed bool   // trace was named by a snapshot
	at    map[clockKey]*clockState
	known [firstSeqClock]*clockState // of the clocks of no sequence, by id
	count int
	axis  bool // BOOTTIME stands for another clock: an export of ours, whose snapshots say that the two are one
}

type clockKey struct {
	seq   uint32
	clock uint64
}

// clockState is what the latest snapshot says of a clock.
type clockState struct {
	clock, trace int64 // readings at one instant
	valid        bool
	incremental  bool
	unit         int64
	last         int64 // of an incremental clock
}

const maxClocks = 1 << 16

func (c *clocks) init(r *reader) {
	c.r, c.trace, c.at = r, clockBoottime, map[clockKey]*clockState{}
}

func (c *clocks) state(s *sequence, clock uint64, make bool) *clockState {
	if clock < firstSeqClock {
		st := c.known[clock]
		if st == nil && make {
			st = &clockState{unit: 1}
			c.known[clock] = st
		}
		return st
	}
	k := clockKey{clock: clock}
	if clock <= lastSeqClock {
		k.seq = s.id
	}
	st := c.at[k]
	if st == nil && make {
		if len(c.at) >= maxClocks {
			c.r.note(&AnomalyTooMuchState, 1)
			return &clockState{unit: 1}
		}
		st = &clockState{unit: 1}
		c.at[k] = st
	}
	return st
}

// convert returns a time of a clock on the trace's, NoTime if nothing relates
// the two. 0 means the trace's own.
func (c *clocks) convert(s *sequence, clock, t uint64) event.Time {
	if clock == 0 || clock == c.trace {
		return event.Time(t)
	}
	st := c.state(s, clock, false)
	if st == nil || !st.valid {
		c.r.noteAt(&AnomalyNoClock, 1, "clock %d", clock)
		return event.NoTime
	}
	v := int64(t) * st.unit
	if st.incremental {
		st.last += v
		v = st.last
	}
	return event.Time(st.trace + (v - st.clock))
}

// snapshotReading is a clock of a snapshot.
type snapshotReading struct {
	id          uint64
	time        int64
	incremental bool
	unit        int64
}

// snapshot reads a ClockSnapshot.
func (r *reader) snapshot(s *sequence, m *message) {
	var list [32]snapshotReading
	n := 0
	var primary uint64
	var f, g field
	for m.next(&f) {
		switch f.num {
		case 1:
			v := snapshotReading{unit: 1}
			sub := message{b: f.b}
			for sub.next(&g) {
				switch g.num {
				case 1:
					v.id = g.v
				case 2:
					v.time = int64(g.v)
				case 3:
					v.incremental = g.v != 0
				case 4:
					v.unit = max(int64(g.v), 1)
				}
			}
			if n == len(list) {
				r.note(&AnomalyTooMuchState, 1)
				continue
			}
			list[n] = v
			n++
		case 2:
			primary = f.v
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
		return
	}
	r.clocks.snapshot(s, list[:n], primary)
}

func (c *clocks) snapshot(s *sequence, list []snapshotReading, primary uint64) {
	if primary != 0 && !c.fixed {
		c.fixed = true
		if primary < firstSeqClock {
			c.trace = primary
			c.r.meta.Clock = clockName(primary)
		}
	}
	at, ok := c.instant(s, list)
	if !ok {
		return
	}
	var snap event.ClockSnapshot
	for i := range list {
		v := &list[i]
		st := c.state(s, v.id, true)
		st.clock, st.trace, st.valid = v.time*v.unit, at, true
		st.unit, st.incremental, st.last = v.unit, v.incremental, v.time*v.unit
		switch v.id {
		case clockBoottime:
			snap.Boottime = event.Time(v.time)
		case clockMonotonic:
			snap.Monotonic = event.Time(v.time)
		case clockMonotonicRaw:
			snap.MonotonicRaw = event.Time(v.time)
		case clockRealtime:
			snap.Realtime = event.Time(v.time)
		}
	}
	c.keep(snap)
}

// instant is the time of a snapshot on the trace's clock.
func (c *clocks) instant(s *sequence, list []snapshotReading) (int64, bool) {
	for i := range list {
		if list[i].id == c.trace {
			return list[i].time * list[i].unit, true
		}
	}
	for i := range list {
		v := &list[i]
		if st := c.state(s, v.id, false); st != nil && st.valid && !st.incremental {
			return st.trace + (v.time*v.unit - st.clock), true
		}
	}
	return 0, false
}

const maxSnapshots = 4096

// keep adds a snapshot that holds at least two of the kernel's clocks to the description.
func (c *clocks) keep(s event.ClockSnapshot) {
	n := 0
	for _, t := range []event.Time{s.Boottime, s.Monotonic, s.MonotonicRaw, s.Realtime} {
		if t != 0 {
			n++
		}
	}
	l := c.r.meta.Snapshots
	if n < 2 || len(l) > 0 && l[len(l)-1] == s {
		return
	}
	c.count++
	if len(l) == maxSnapshots { // thin out: half as many tell the same of drift
		for i := range maxSnapshots / 2 {
			l[i] = l[2*i]
		}
		l = l[:maxSnapshots/2]
	}
	c.r.meta.Snapshots = append(l, s)
}

func (c *clocks) finish() {
	if c.axis {
		l := c.r.meta.Snapshots
		c.r.meta.Snapshots = nil
		for _, s := range l {
			s.Boottime = 0
			c.keep(s)
		}
	}
	if c.count > maxSnapshots {
		c.r.fact("clock_snapshots_in_trace", strconv.Itoa(c.count))
	}
}

func clockName(id uint64) event.Clock {
	switch id {
	case clockRealtime, clockRealtimeCoarse:
		return event.ClockRealtime
	case clockMonotonic, clockMonotonicCoarse:
		return event.ClockMonotonic
	case clockMonotonicRaw:
		return event.ClockMonotonicRaw
	case clockBoottime:
		return event.ClockBoottime
	}
	return event.Clock("perfetto-" + strconv.FormatUint(id, 10))
}
