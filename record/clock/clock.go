// Package clock relates clock domains: snapshots of the kernel's clocks and
// conversion of times from one clock to another.
package clock

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
)

// attempts is how often Now reads all clocks to find a reading that was not interrupted.
const attempts = 7

// Reading is a snapshot and how exact it is.
type Reading struct {
	event.ClockSnapshot
	// Width is the time, in ns, within which all clocks were read: no reading
	// is further than this from the instant that the others name.
	Width int64
}

// Now reads CLOCK_BOOTTIME, MONOTONIC, MONOTONIC_RAW and REALTIME as close
// together as it can: of several attempts, each between two readings of
// BOOTTIME, the tightest counts, and its BOOTTIME is the middle of the two.
func Now() (Reading, error) {
	var best Reading
	for i := range attempts {
		r, err := readOnce()
		if err != nil {
			return Reading{}, err
		}
		if i == 0 || r.Width < best.Width {
			best = r
		}
	}
	return best, nil
}

func readOnce() (Reading, error) {
	ids := [5]int32{unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME}
	var ts [5]unix.Timespec
	for i, id := range ids {
		if err := unix.ClockGettime(id, &ts[i]); err != nil {
			return Reading{}, fmt.Errorf("read clock %d: %w", id, err)
		}
	}
	first, last := ts[0].Nano(), ts[4].Nano()
	return Reading{
		ClockSnapshot: event.ClockSnapshot{
			Boottime:     event.Time(first + (last-first)/2),
			Monotonic:    event.Time(ts[1].Nano()),
			Realtime:     event.Time(ts[2].Nano()),
			MonotonicRaw: event.Time(ts[3].Nano()),
		},
		Width: last - first,
	}, nil
}

// Boottime returns CLOCK_BOOTTIME, the clock of live logs.
func Boottime() event.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return event.NoTime
	}
	return event.Time(ts.Nano())
}
