package export

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gpurec/gpurec/record/event"
)

// Edge is one end of a [Window]. The zero value is no end.
type Edge struct {
	Set      bool
	Relative bool  // NS counts from the start of the trace
	NS       int64 // else a time of the log's clock
}

// ParseEdge reads an edge: a duration with its unit counts from the start of
// the trace ("1.5s", "200ms", "0s"), a whole number is a time of the log's
// clock in nanoseconds, as the columns *_ns hold it.
func ParseEdge(s string) (Edge, error) {
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Edge{Set: true, NS: ns}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return Edge{}, fmt.Errorf("%q is neither a duration from the start of the trace (1.5s, 200ms) nor a time in nanoseconds of its clock", s)
	}
	return Edge{Set: true, Relative: true, NS: int64(d)}, nil
}

// Window is the part of a trace that an export shows: from the first edge on,
// up to the second, which is outside. nil is the whole trace.
type Window struct {
	From, To Edge
	start    int64
	started  bool
}

// Starts tells the start of the trace, from which relative edges count. It is
// called before the first row; later calls do nothing.
func (w *Window) Starts(at event.Time) {
	if w != nil && !w.started {
		w.start, w.started = int64(at), true
	}
}

// Bounds returns the window in the log's clock: from ≤ t < to. Where there is
// no edge it is the least or greatest number.
func (w *Window) Bounds() (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if w == nil {
		return from, to
	}
	if w.From.Set {
		from = w.at(w.From)
	}
	if w.To.Set {
		to = w.at(w.To)
	}
	return from, to
}

func (w *Window) at(e Edge) int64 {
	if !e.Relative {
		return e.NS
	}
	if w.start > math.MaxInt64-e.NS {
		return math.MaxInt64
	}
	return w.start + e.NS
}
