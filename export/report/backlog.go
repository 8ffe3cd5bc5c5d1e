package report

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// maxSteps bounds the changes of backlogs that wait for earlier ones.
const maxSteps = 1 << 20

// mostDepth is from which backlog on its times are summed up together.
const mostDepth = 64

// step is a change of a ring's backlog.
type step struct {
	at              int64
	queued, running int
}

// backlog follows how many jobs a ring has queued and in flight, in bounded
// memory. The zero value is ready to use.
type backlog struct {
	steps                 []step
	at                    int64 // of the last change that was taken
	any                   bool
	queued, running       int
	mostQueued, mostInRun int
	byDepth               [mostDepth + 1]int64 // ns
	late                  bool                 // a change came before one that had been taken
}

// add takes a job: queued, then in flight, then gone. One whose end was lost
// is gone with its last known moment.
func (x *backlog) add(j *correlate.Job) int {
	if !j.QueuedNS.OK && !j.RunNS.OK {
		return 0
	}
	before := len(x.steps)
	last := 0 // who counts it: queued or in flight
	if j.QueuedNS.OK {
		x.steps = append(x.steps, step{int64(j.QueuedNS.V), 1, 0})
		last = 1
	}
	if j.RunNS.OK {
		x.steps = append(x.steps, step{int64(j.RunNS.V), -last, 1})
		last = 0
	}
	end := j.DoneNS
	if !end.OK {
		end = j.FinishedNS
	}
	if !end.OK && (j.EndKind == "lost" || j.EndKind == "killed") {
		if end = j.RunNS; !end.OK {
			end = j.QueuedNS
		}
	}
	if end.OK {
		x.steps = append(x.steps, step{int64(end.V), -last, last - 1})
	}
	return len(x.steps) - before
}

// flush takes the least n changes; those of one moment are one change.
func (x *backlog) flush(n int) {
	slices.SortStableFunc(x.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for n < len(x.steps) && n > 0 && x.steps[n].at == x.steps[n-1].at {
		n++
	}
	for i, s := range x.steps[:n] {
		if x.any && s.at < x.at {
			x.late = true
			s.at = x.at
		}
		if x.any && s.at > x.at {
			x.byDepth[min(max(x.queued+x.running, 0), mostDepth)] += s.at - x.at
		}
		x.at, x.any = s.at, true
		x.queued += s.queued
		x.running += s.running
		if i+1 == n || x.steps[i+1].at > s.at {
			x.mostQueued, x.mostInRun = max(x.mostQueued, x.queued), max(x.mostInRun, x.running)
		}
	}
	x.steps = append(x.steps[:0], x.steps[n:]...)
}

// times lists how long the ring had how many jobs queued or in flight.
func (x *backlog) times() []BacklogTime {
	out := []BacklogTime{}
	for d, ns := range x.byDepth {
		if ns > 0 {
			out = append(out, BacklogTime{int64(d), ns})
		}
	}
	return out
}

// backlogged takes a job's part in its ring's backlog.
func (b *Builder) backlogged(a *ringAcc, j *correlate.Job) {
	b.steps += a.backlog.add(j)
	if b.steps <= maxSteps {
		return
	}
	for _, o := range b.rings {
		if len(o.backlog.steps) > len(a.backlog.steps) {
			a = o
		}
	}
	before := len(a.backlog.steps)
	a.backlog.flush(before / 2)
	b.steps += len(a.backlog.steps) - before
}
