package report

import (
	"slices"
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
