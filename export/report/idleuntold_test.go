package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

// A GPU without rings works from 0 to 10, 40 to 50 and 90 to 100: it is idle
// for 70, of which a gap of 30 has a cause.
func TestIdleWithoutCause(t *testing.T) {
	r := build(t, &correlate.Rows{
		GPUActivities: []correlate.GPUActivity{
			{ID: 1, DeviceID: 1, Kind: "kernel", StartNS: at(0), EndNS: at(10), DurNS: ns(10)},
			{ID: 2, DeviceID: 1, Kind: "kernel", StartNS: at(40), EndNS: at(50), DurNS: ns(10)},
			{ID: 3, DeviceID: 1, Kind: "kernel", StartNS: at(90), EndNS: at(100), DurNS: ns(10)},
		},
		IdleGaps: []correlate.IdleGap{{DeviceID: 1, StartNS: at(10), EndNS: at(40), Cause: "launch_latency"}},
		Devices:  []correlate.Device{{ID: 1}},
	})
	got := r.idleTable().rows
	want := [][]string{
		{"0", "-", "launch latency", "1", "30 ns", "42.9", "30 ns"},
		{"0", "-", "not known: launch not recorded", "-", "40 ns", "57.1", "-"},
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The finding's share is one of the gaps with a cause, and says so.
func TestIdleFindingSaysWhatItLeavesOut(t *testing.T) {
	kernel := func(id correlate.ID, from, to int64) correlate.GPUActivity {
		return correlate.GPUActivity{ID: id, DeviceID: 1, Kind: "kernel", StartNS: at(from), EndNS: at(to), DurNS: ns(to - from)}
	}
	rows := &correlate.Rows{
		GPUActivities: []correlate.GPUActivity{kernel(1, 0, 10e6), kernel(2, 40e6, 50e6), kernel(3, 90e6, 100e6)},
		IdleGaps:      []correlate.IdleGap{{DeviceID: 1, StartNS: at(10e6), EndNS: at(40e6), Cause: "launch_latency"}},
		Devices:       []correlate.Device{{ID: 1}},
	}
	text := func() string {
		for _, f := range build(t, rows).Findings {
			if f.Rule == "ring_idle" {
				return f.Text
			}
		}
		return ""
	}
	const want = "stood idle for 30.00 ms of 60.00 ms (50.0 %) between its work (not counting 40.00 ms before work whose launch is not recorded); 100.0 % of that"
	if got := text(); !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
	rows.IdleGaps = append(rows.IdleGaps, correlate.IdleGap{DeviceID: 1, StartNS: at(50e6), EndNS: at(90e6), Cause: "launch_latency"})
	if got := text(); !strings.Contains(got, "70.00 ms of 100.00 ms (70.0 %) between its work, 100.0 % of that") {
		t.Errorf("all is known: %q", got)
	}
}
