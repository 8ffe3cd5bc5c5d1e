package ftrace

import (
	"bytes"
	"slices"
)

// StatsLost reads a ring buffer's counters (per_cpu/cpuN/stats of tracefs) and
// returns how many events it lost: overwritten before anybody read them, or
// not written for want of room.
func StatsLost(text []byte) uint64 {
	return statsSum(text, "overrun", "commit overrun", "dropped events")
}

// StatsEvents is how many events a ring buffer held, read or not, by the same
// counters.
func StatsEvents(text []byte) uint64 { return statsSum(text, "entries", "read events") }

func statsSum(text []byte, keys ...string) (n uint64) {
	for line := range bytes.Lines(text) {
		key, val, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if !ok {
			continue // a heading
		}
		if v, ok := parseNumber(bytes.TrimSpace(val), false); ok && v < 1<<56 && slices.Contains(keys, string(key)) {
			n += v
		}
	}
	return n
}
