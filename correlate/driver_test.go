package correlate

import (
	"slices"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// The traces of single drivers, through the importer, against what the index
// of the traces says of them (counted there by scripts that share no code).

func importTrace(t *testing.T, name string) *Rows {
	t.Helper()
	r, _ := collect(t, textEvents(t, shared(t, "traces/"+name)), Options{})
	checkRules(t, r)
	return r
}

// TestTraceMSM: 18 submissions, 17 retired, 77,706,189 ns on the GPU by its own
// measure, 154,117 us from flush to retired, at most 2 in flight.
func TestTraceMSM(t *testing.T) {
	r := importTrace(t, "156-catapult-msm_parser.ftrace.txt")
	var elapsed, held int64
	done := 0
	type edge struct {
		at event.Time
		d  int
	}
	var edges []edge
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Origin != "msm" || j.Ring != "gpu-ring-0" || !j.RunNS.OK {
			t.Errorf("job %d: origin %s, ring %s, run %v", j.ID, j.Origin, j.Ring, j.RunNS)
		}
		edges = append(edges, edge{j.RunNS.V, 1})
		if j.DoneNS.OK {
			done++
			elapsed += j.ElapsedNS.V
			held += int64(j.DoneNS.V - j.RunNS.V)
			edges = append(edges, edge{j.DoneNS.V, -1})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return int(a.at - b.at) })
	flight, most := 0, 0
	for _, e := range edges {
		flight += e.d
		most = max(most, flight)
	}
	if len(r.Jobs) != 18 || done != 17 || elapsed != 77706189 || held != 154117000 || most != 2 {
		t.Errorf("%d jobs, %d done, %d ns on the GPU, %d ns from flush to retired, %d in flight", len(r.Jobs), done, elapsed, held, most)
	}
	if len(r.Rings) != 1 || r.Rings[0].MaxBacklog != 2 || r.Rings[0].Jobs != 18 || r.Rings[0].Done != 17 {
		t.Errorf("rings %+v", r.Rings)
	}
	if len(r.Counters) != 12 || r.Counters[0].Value != 180 || r.Counters[0].Unit != "MHz" {
		t.Errorf("%d counters, first %+v; want 12 frequencies, 180 MHz first", len(r.Counters), r.Counters)
	}
	if len(r.Resets) != 0 || len(r.Others) != 0 {
		t.Errorf("%d resets, %d other events, want none", len(r.Resets), len(r.Others))
	}
}

// TestTraceV3D: the time from submit to interrupt, per queue and number.
func TestTraceV3D(t *testing.T) {
	r := importTrace(t, "170-v3d-raspberrypi4-compute.ftrace.txt")
	type key struct {
		ring string
		num  uint64
	}
	want := map[key]int64{
		{"v3d_bin", 1}: 321, {"v3d_render", 1}: 390, {"v3d_csd", 1}: 130, {"v3d_bin", 2}: 552, {"v3d_render", 2}: 290,
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		k := key{j.Ring, j.SchedJobID.V}
		if w, ok := want[k]; !ok || j.DeviceTimeNS.V != w*1000 || j.EndKind != jobDone {
			t.Errorf("%v: %v ns, %s; want %d us", k, j.DeviceTimeNS, j.EndKind, w)
		}
		delete(want, k)
	}
	if len(want) != 0 {
		t.Errorf("missing %v", want)
	}
	if len(r.Slices) != 1 || r.Slices[0].DurNS.V != 38000 {
		t.Errorf("slices %+v, want one cache clean of 38 us", r.Slices)
	}
	if len(r.Devices) != 1 || r.Devices[0].Device != "card1" || r.Devices[0].Driver != "v3d" {
		t.Errorf("devices %+v", r.Devices)
	}
}

// TestTraceVirtio: both commands are joined to their responses, 1180 and 1167
// us later; the device does one after the other.
func TestTraceVirtio(t *testing.T) {
	r := importTrace(t, "192-rendered-virtio_gpu.ftrace.txt")
	if len(r.Jobs) != 2 {
		t.Fatalf("%d jobs, want 2", len(r.Jobs))
	}
	for i, want := range []int64{1180, 1167} {
		j := &r.Jobs[i]
		if d := int64(j.DoneNS.V - j.RunNS.V); d != want*1000 || j.SchedJobID.V != uint64(143910+i) || j.TID.V != 3687 {
			t.Errorf("command %d: %d ns, number %d, thread %v; want %d us", i+1, d, j.SchedJobID.V, j.TID, want)
		}
	}
}

// TestTraceMali: two jobs are queued; a third, queued earlier, comes onto the
// slot at its own time of 4395.025649, 10155 us before the line.
func TestTraceMali(t *testing.T) {
	r := importTrace(t, "172-catapult2160-mali-gpu-job.ftrace.txt")
	if len(r.Jobs) != 3 {
		t.Fatalf("%d jobs, want 3", len(r.Jobs))
	}
	j := &r.Jobs[2]
	if j.RunNS.V != 4395025649000 || j.Ring != "job_slot_0" || j.SchedJobID.V != 21611 || j.Owner != "unknown" {
		t.Errorf("job %+v", j)
	}
	if r.Jobs[0].Args != `{"type":"Vertex/Geometry Shader Job + Tiler Job"}` || r.Jobs[0].TID.V != 19970 || r.Jobs[0].PID.V != 19927 {
		t.Errorf("job %+v", r.Jobs[0])
	}
}

// TestTraceMaliCounters: hardware counters and frequencies are counters.
func TestTraceMaliCounters(t *testing.T) {
	r := importTrace(t, "160-catapult-mali_parser.ftrace.txt")
	hw := 0
	for i := range r.Counters {
		c := &r.Counters[i]
		switch c.Name {
		case "mali_dvfs_set_clock", "mali_dvfs_set_voltage", "mali_dvfs_utilization":
		case "mali_hwc_ACTIVE":
			hw++
			if c.Value != 238 {
				t.Errorf("%s = %v, want 238", c.Name, c.Value)
			}
		default:
			hw++
		}
	}
	// 145 lines, of which 36 are marks and 6 dvfs.
	if len(r.Counters)-hw != 6 || hw != 145-36-6 {
		t.Errorf("%d hardware counters, %d dvfs; want 103 and 6", hw, len(r.Counters)-hw)
	}
}

// TestTraceSync: Android's sync points are no jobs and no fences.
func TestTraceSync(t *testing.T) {
	r := importTrace(t, "158-catapult-sync_parser.ftrace.txt")
	if len(r.Jobs)+len(r.Fences)+len(r.FenceWaits) != 0 {
		t.Errorf("jobs %d, fences %d, waits %d, want none", len(r.Jobs), len(r.Fences), len(r.FenceWaits))
	}
	// 16 lines: 6 of timelines, begin and end of 3 waits, 4 points.
	if len(r.Counters) != 6 || len(r.Slices) != 3 || len(r.Others) != 4 {
		t.Errorf("%d counters, %d slices, %d other events, want 6, 3 and 4", len(r.Counters), len(r.Slices), len(r.Others))
	}
	if s := r.Slices[0]; s.Name != "sync_wait SurfaceView:6" || s.DurNS.V != 41000 || s.TID.V != 2700 {
		t.Errorf("first wait %+v, want 41 us of thread 2700", s)
	}
}
