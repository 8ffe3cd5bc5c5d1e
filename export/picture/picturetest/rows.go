// Package picturetest makes rows for the tests of the picture and of the
// formats that write it.
package picturetest

import (
	"math/rand/v2"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Any returns rows that no tracker would give: times that cross, lie on each
// other or are missing, threads that many share, links to anything. Times are
// from 0 to 199.
func Any(r *rand.Rand) *correlate.Rows {
	rows := &correlate.Rows{}
	when := func() correlate.OptTime {
		if r.IntN(12) == 0 {
			return correlate.OptTime{}
		}
		return event.Some(event.Time(r.Int64N(200)))
	}
	span := func() (a, b correlate.OptTime) {
		if a, b = when(), when(); a.OK && b.OK && r.IntN(8) > 0 && a.V > b.V {
			a, b = b, a
		}
		return a, b
	}
	num := func(n int64) correlate.OptInt {
		if r.IntN(10) == 0 {
			return correlate.OptInt{}
		}
		return event.Some(r.Int64N(n))
	}
	id := func() correlate.ID { return correlate.ID(r.Int64N(20)) }
	of := func(s ...string) string { return s[r.IntN(len(s))] }
	ends := []string{"returned", "open", "lost", "killed", "not_probed", "evicted", ""}
	for i := correlate.ID(1); i < 20; i++ {
		a, b := span()
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: i, ProcessID: correlate.ID(r.IntN(3)), PID: num(3), TID: num(4), API: of("hip", ""), Name: of("f", ""), StartNS: a, EndNS: b, EndKind: of(ends...)})
		a, b = span()
		rows.Ioctls = append(rows.Ioctls, correlate.Ioctl{ID: i, ProcessID: correlate.ID(r.IntN(3)), PID: num(3), TID: num(4), DeviceID: correlate.ID(r.IntN(2)), StartNS: a, EndNS: b, EndKind: of(ends...), APICallID: id()})
		a, b = span()
		rows.FenceWaits = append(rows.FenceWaits, correlate.FenceWait{ID: i, PID: num(3), TID: num(4), StartNS: a, SignalNS: when(), EndNS: b, JobID: id(), EndKind: of(ends...)})
		a, b = span()
		rows.GPUActivities = append(rows.GPUActivities, correlate.GPUActivity{ID: i, PID: num(3), DeviceID: correlate.ID(2 + r.IntN(2)), Kind: "kernel", Name: of("k", ""), StartNS: a, EndNS: b, APICallID: id()})
		a, b = span()
		rows.Slices = append(rows.Slices, correlate.Slice{ID: i, PID: num(3), TID: num(4), Track: of("", "", "t"), StartNS: a, EndNS: b, Name: of("s", "")})
		a, b = span()
		rows.Sched = append(rows.Sched, correlate.Sched{CPU: r.Int64N(3), StartNS: a, EndNS: b, TID: num(4), WakeupNS: when()})
		q, run := span()
		start, done := span()
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: i, DeviceID: correlate.ID(r.IntN(2)), Ring: of("gfx", "compute", ""), PID: num(3), TID: num(4), SchedJobID: event.Some(uint64(i)),
			QueuedNS: q, RunNS: run, DeviceStartNS: start, DoneNS: done, FinishedNS: when(), EndKind: of("done", "lost", "open", "killed", "before_start")})
		rows.JobDeps = append(rows.JobDeps, correlate.JobDep{JobID: id(), OnJobID: id(), TSNS: when()})
		a, b = span()
		rows.IdleGaps = append(rows.IdleGaps, correlate.IdleGap{DeviceID: correlate.ID(r.IntN(3)), Ring: of("gfx", ""), StartNS: a, EndNS: b, Cause: "dependency", JobID: id()})
		rows.Resets = append(rows.Resets, correlate.Reset{ID: i, DeviceID: correlate.ID(r.IntN(3)), TSNS: when()})
		for range 6 {
			rows.Links = append(rows.Links, correlate.Link{SrcTable: of("api_calls", "ioctls", "jobs", "fences", "x"), SrcID: id(), Rule: of("api-ioctl", "job-run", "fence-wait"),
				DstTable: of("ioctls", "jobs", "fence_waits", "gpu_activities", "resets"), DstID: id(), Confidence: "exact"})
		}
	}
	return rows
}
