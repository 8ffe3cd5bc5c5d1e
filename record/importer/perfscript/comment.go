package perfscript

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// maxFacts bounds what comments may add to the metadata.
const maxFacts = 256

// comment reads the header of perf script --header.
func (r *reader) comment(line []byte) {
	key, val, ok := strings.Cut(strings.ToValidUTF8(string(bytes.TrimLeft(line, "# ")), "\ufffd"), ":")
	key, val = strings.TrimSpace(key), strings.TrimSpace(val)
	if !ok || val == "" || len(val) > 4096 {
		return
	}
	m := &r.meta
	switch key {
	case "hostname":
		m.Host.Name = val
	case "os release":
		m.Host.Kernel = val
	case "arch":
		m.Host.Machine = val
	case "nrcpus online":
		if n, err := strconv.ParseUint(val, 10, 31); err == nil {
			m.Host.CPUs = int(n)
		}
	case "cmdline":
		r.fact("perf_cmdline", val)
	case "captured on":
		r.fact("captured_on", val)
	case "perf version":
		r.fact("perf_version", val)
	case "clockid":
		r.clockID(val)
	case "reference time":
		r.reference(val)
	}
}

// fact adds a fact once.
func (r *reader) fact(key, val string) {
	for _, f := range r.meta.Facts {
		if f.Key == key && f.Value == val {
			return
		}
	}
	if len(r.meta.Facts) < maxFacts {
		r.meta.Facts = append(r.meta.Facts, event.Fact{Key: key, Value: val})
	}
}

// clockID reads "monotonic (1)": what perf record -k was given.
func (r *reader) clockID(val string) {
	name, _, _ := strings.Cut(val, " ")
	switch name {
	case "monotonic":
		r.meta.Clock = event.ClockMonotonic
	case "monotonic_raw":
		r.meta.Clock = event.ClockMonotonicRaw
	case "boottime":
		r.meta.Clock = event.ClockBoottime
	case "realtime":
		r.meta.Clock = event.ClockRealtime
	}
}

// reference reads "DATE = 1597075261.123456 (TOD) = 12.345678901 (monotonic)":
// one instant on two clocks.
func (r *reader) reference(val string) {
	r.fact("reference_time", val)
	var s event.ClockSnapshot
	for part := range strings.SplitSeq(val, "=") {
		num, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		var h head
		if !h.clock([]byte(num+":")) || h.range_ {
			continue // the date in words
		}
		switch strings.Trim(rest, " ()") {
		case "TOD":
			s.Realtime = h.time
		case "monotonic", "CLOCK_MONOTONIC":
			s.Monotonic = h.time
		case "monotonic_raw", "CLOCK_MONOTONIC_RAW":
			s.MonotonicRaw = h.time
		case "boottime", "CLOCK_BOOTTIME":
			s.Boottime = h.time
		}
	}
	if s.Realtime != 0 && (s.Monotonic != 0 || s.MonotonicRaw != 0 || s.Boottime != 0) {
		r.meta.Snapshots = append(r.meta.Snapshots, s)
	}
}
