package picture

import "github.com/gpurec/gpurec/correlate"

// countFar counts the times of rows that no trace can hold, and that are drawn
// as if they were not known.
func (m *model) countFar(r *correlate.Rows) {
	n := uint64(0)
	for i := range r.APICalls {
		n += far(r.APICalls[i].StartNS) + far(r.APICalls[i].EndNS)
	}
	for i := range r.Ioctls {
		n += far(r.Ioctls[i].StartNS) + far(r.Ioctls[i].EndNS)
	}
	for i := range r.Jobs {
		x := &r.Jobs[i]
		n += far(x.QueuedNS) + far(x.RunNS) + far(x.DeviceStartNS) + far(x.DoneNS) + far(x.FinishedNS)
	}
	for i := range r.FenceWaits {
		n += far(r.FenceWaits[i].StartNS) + far(r.FenceWaits[i].SignalNS) + far(r.FenceWaits[i].EndNS)
	}
	for i := range r.GPUActivities {
		n += far(r.GPUActivities[i].StartNS) + far(r.GPUActivities[i].EndNS)
	}
	for i := range r.Sched {
		n += far(r.Sched[i].StartNS) + far(r.Sched[i].EndNS) + far(r.Sched[i].WakeupNS)
	}
	for i := range r.Slices {
		n += far(r.Slices[i].StartNS) + far(r.Slices[i].EndNS)
	}
	for i := range r.IdleGaps {
		n += far(r.IdleGaps[i].StartNS) + far(r.IdleGaps[i].EndNS)
	}
	for i := range r.Losses {
		n += far(r.Losses[i].StartNS) + far(r.Losses[i].EndNS)
	}
	m.counters.Add(&AnomalyFarTime, n+farInstants(r))
}

func farInstants(r *correlate.Rows) (n uint64) {
	for i := range r.Counters {
		n += far(r.Counters[i].TSNS)
	}
	for i := range r.Marks {
		n += far(r.Marks[i].TSNS)
	}
	for i := range r.Others {
		n += far(r.Others[i].TSNS)
	}
	for i := range r.Resets {
		n += far(r.Resets[i].TSNS)
	}
	for i := range r.Samples {
		n += far(r.Samples[i].TSNS)
	}
	for i := range r.MemMaps {
		n += far(r.MemMaps[i].TSNS)
	}
	for i := range r.LogLines {
		n += far(r.LogLines[i].TSNS)
	}
	return n
}

func far(t correlate.OptTime) uint64 {
	if t.OK && t.V.Known() && isFar(int64(t.V)) {
		return 1
	}
	return 0
}
