package tracefs

import (
	"strconv"
	"strings"
)

// cpuStats is per_cpu/cpuN/stats, as tracing_stats_read in kernel/trace/trace.c
// prints it.
type cpuStats struct {
	entries       uint64 // in the buffer, not yet read
	overrun       uint64 // overwritten before they were read
	commitOverrun uint64 // lost in a writer that was interrupted by a whole buffer of others
	dropped       uint64 // lost because the buffer was full and must not be overwritten
	read          uint64 // taken out
}

// lost is the number of events that were raised and can never be read.
func (s cpuStats) lost() uint64 { return s.overrun + s.commitOverrun + s.dropped }

func parseStats(text string) cpuStats {
	var s cpuStats
	for line := range strings.Lines(text) {
		key, val, ok := strings.Cut(line, ":")
		if !ok {
			continue // not "name: value"
		}
		n, err := strconv.ParseUint(strings.TrimSpace(val), 10, 64)
		if err != nil {
			continue // the times have a fraction; none is wanted
		}
		switch key {
		case "entries":
			s.entries = n
		case "overrun":
			s.overrun = n
		case "commit overrun":
			s.commitOverrun = n
		case "dropped events":
			s.dropped = n
		case "read events":
			s.read = n
		}
	}
	return s
}
