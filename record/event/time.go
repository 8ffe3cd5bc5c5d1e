package event

import "math"

// Time is a point in time: signed nanoseconds of the one clock that its log
// or source names (see [Meta.Clock]). Times of different clocks are never
// compared; package clock converts between them.
type Time int64

// NoTime says that the source gave an event no time. Such an event keeps its
// place in the order of its source and has NULL times in every export.
const NoTime Time = math.MinInt64

// Known reports whether t is a time.
func (t Time) Known() bool { return t != NoTime }

// Clock names a clock. Values of Time never carry it; the log does.
type Clock string

// The clocks that gpurec knows by name. A source may use others: their names
// are kept, but only snapshots or a declared base relate them to these.
const (
	ClockUnknown      Clock = "unknown"       // the source does not say
	ClockBoottime     Clock = "boottime"      // CLOCK_BOOTTIME, ftrace "boot", bpf_ktime_get_boot_ns
	ClockMonotonic    Clock = "monotonic"     // CLOCK_MONOTONIC, ftrace "mono"
	ClockMonotonicRaw Clock = "monotonic_raw" // CLOCK_MONOTONIC_RAW, ftrace "mono_raw"
	ClockRealtime     Clock = "realtime"      // CLOCK_REALTIME, Unix time
	ClockLocal        Clock = "local"         // ftrace "local" or "global": sched_clock, no fixed relation to the others
	ClockNsysSession  Clock = "nsys-session"  // nanoseconds since an Nsight Systems session began
)

// ClockSnapshot holds readings of several clocks taken at one instant.
// A zero reading means that this clock was not read.
type ClockSnapshot struct {
	Boottime     Time
	Monotonic    Time
	MonotonicRaw Time
	Realtime     Time
}
