package perfetto

import (
	"sort"
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
// the last snapshot so far that is not later than the time to convert, else by
// the first: packets stand in a trace in the order in which buffers were read,
// and between two snapshots clocks part (suspend stops MONOTONIC).
type clocks struct {
	r      *reader
	trace  uint64 // the trace's clock
	fixed  bool   // trace was named by a snapshot
	at     map[clockKey]*clockState
	known  [firstSeqClock]*clockState // of the clocks of no sequence, by id
	count  int
	points int  // earlier snapshots of all clocks
	axis   bool // BOOTTIME stands for another clock: an export of ours, whose snapshots say that the two are one
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
	past         []clockPoint
}

// clockPoint is what an earlier snapshot said; those of a clock ascend.
type clockPoint struct{ clock, trace int64 }

// maxPoints bounds the earlier snapshots of all clocks.
const maxPoints = 1 << 18

// onTrace is the time of the trace's clock when this one reads v.
func (st *clockState) onTrace(v int64) int64 {
	at := clockPoint{st.clock, st.trace}
	if v < st.clock && len(st.past) > 0 {
		i := sort.Search(len(st.past), func(i int) bool { return st.past[i].clock > v })
		at = st.past[max(i-1, 0)]
	}
	return at.trace + (v - at.clock)
}

// turn takes a new snapshot's reading of a clock. What a clock that went
// backwards read before would be ambiguous.
func (c *clocks) turn(st *clockState, clock, trace int64, incremental bool) {
	switch {
	case !st.valid:
	case incremental || st.incremental || clock < st.clock:
		c.points -= len(st.past)
		st.past = nil
	case clock == st.clock || clock-st.clock == trace-st.trace && st.straight(): // the one in between says no more
	default:
		c.keepPoint(st)
	}
	st.clock, st.trace, st.valid = clock, trace, true
}

// straight reports whether the snapshot before the latest relates the clocks
// as the latest does.
func (st *clockState) straight() bool {
	n := len(st.past)
	return n > 0 && st.trace-st.clock == st.past[n-1].trace-st.past[n-1].clock
}

func (c *clocks) keepPoint(st *clockState) {
	if c.points >= maxPoints {
		c.r.note(&AnomalyTooMuchState, 1)
		return
	}
	c.points++
	st.past = append(st.past, clockPoint{st.clock, st.trace})
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
	return event.Time(st.onTrace(v))
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
		c.turn(st, v.time*v.unit, at, v.incremental)
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
			return st.onTrace(v.time * v.unit), true
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
