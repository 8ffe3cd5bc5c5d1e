package ftrace

import "bytes"

// StatsLost reads a ring buffer's counters (per_cpu/cpuN/stats of tracefs) and
// returns how many events it lost: overwritten before anybody read them, or
// not written for want of room.
func StatsLost(text []byte) uint64 {
	var n uint64
	for line := range bytes.Lines(text) {
		key, val, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if !ok {
			continue // a heading
		}
		switch string(key) {
		case "overrun", "commit overrun", "dropped events":
			if v, ok := parseNumber(bytes.TrimSpace(val), false); ok && v < 1<<62 {
				n += v
			}
		}
	}
	return n
}
