package clock

import (
	"fmt"
	"sort"

	"github.com/gpurec/gpurec/record/event"
)

// NotRelatedError says that no snapshot holds both clocks.
type NotRelatedError struct{ From, To event.Clock }

func (e *NotRelatedError) Error() string {
	return fmt.Sprintf("no clock snapshot relates %s to %s", e.From, e.To)
}

// Map converts times of one clock to another, through snapshots that hold
// both: between two of them by the line that joins them, before the first and
// after the last by the offset that held there. A clock that was set between
// two snapshots (REALTIME) is wrong by at most the step, in between only.
type Map struct {
	from []event.Time // ascending
	off  []int64      // to - from, at from[i]
}

// NewMap builds the conversion. Snapshots that lack one of the clocks are
// passed over; with none left the error is a *NotRelatedError.
func NewMap(snaps []event.ClockSnapshot, from, to event.Clock) (*Map, error) {
	m := &Map{}
	if from == to && from != event.ClockUnknown {
		return m, nil
	}
	sorted := append([]event.ClockSnapshot(nil), snaps...)
	sort.SliceStable(sorted, func(i, j int) bool { return reading(&sorted[i], from) < reading(&sorted[j], from) })
	for i := range sorted {
		f, t := reading(&sorted[i], from), reading(&sorted[i], to)
		if f == 0 || t == 0 {
			continue // not read: see ClockSnapshot
		}
		if n := len(m.from); n > 0 && m.from[n-1] == f {
			continue // the same instant twice
		}
		m.from, m.off = append(m.from, f), append(m.off, int64(t-f))
	}
	if len(m.from) == 0 {
		return nil, &NotRelatedError{from, to}
	}
	return m, nil
}

// Convert returns t on the other clock. NoTime stays NoTime.
func (m *Map) Convert(t event.Time) event.Time {
	if !t.Known() || len(m.from) == 0 {
		return t
	}
	return t + event.Time(m.Offset(t))
}

// Offset returns what Convert adds at t, in ns.
func (m *Map) Offset(t event.Time) int64 {
	n := len(m.from)
	switch {
	case n == 0:
		return 0
	case t <= m.from[0]:
		return m.off[0]
	case t >= m.from[n-1]:
		return m.off[n-1]
	}
	i := sort.Search(n, func(i int) bool { return m.from[i] > t }) // 1 … n-1
	span, part := float64(m.from[i]-m.from[i-1]), float64(t-m.from[i-1])
	// The difference of two offsets is drift: small, so that a float holds it.
	return m.off[i-1] + int64(float64(m.off[i]-m.off[i-1])*(part/span))
}

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
