package picture

import "github.com/gpurec/gpurec/correlate"

// countFar counts the times of rows that no trace can hold, and that are drawn
// as if they were not known.
func (m *model) countFar(r *correlate.Rows) {
	n := uint64(0)
	see := func(list ...correlate.OptTime) {
		for _, t := range list {
			if t.OK && t.V.Known() && isFar(int64(t.V)) {
				n++
			}
		}
	}
	for i := range r.APICalls {
		see(r.APICalls[i].StartNS, r.APICalls[i].EndNS)
	}
	for i := range r.Ioctls {
		see(r.Ioctls[i].StartNS, r.Ioctls[i].EndNS)
	}
	for i := range r.Jobs {
		x := &r.Jobs[i]
		see(x.QueuedNS, x.RunNS, x.DeviceStartNS, x.DoneNS, x.FinishedNS)
	}
	for i := range r.FenceWaits {
		see(r.FenceWaits[i].StartNS, r.FenceWaits[i].SignalNS, r.FenceWaits[i].EndNS)
	}
	for i := range r.GPUActivities {
		see(r.GPUActivities[i].StartNS, r.GPUActivities[i].EndNS)
	}
	for i := range r.Sched {
		see(r.Sched[i].StartNS, r.Sched[i].EndNS, r.Sched[i].WakeupNS)
	}
	for i := range r.Slices {
		see(r.Slices[i].StartNS, r.Slices[i].EndNS)
	}
	for i := range r.IdleGaps {
		see(r.IdleGaps[i].StartNS, r.IdleGaps[i].EndNS)
	}
	for i := range r.Losses {
		see(r.Losses[i].StartNS, r.Losses[i].EndNS)
	}
	for i := range r.Counters {
		see(r.Counters[i].TSNS)
	}
	for i := range r.Marks {
		see(r.Marks[i].TSNS)
	}
	for i := range r.Others {
		see(r.Others[i].TSNS)
	}
	for i := range r.Resets {
		see(r.Resets[i].TSNS)
	}
	for i := range r.Samples {
		see(r.Samples[i].TSNS)
	}
	for i := range r.MemMaps {
		see(r.MemMaps[i].TSNS)
	}
	for i := range r.LogLines {
		see(r.LogLines[i].TSNS)
	}
	m.counters.Add(&AnomalyFarTime, n)
}
