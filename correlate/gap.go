package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// maxGapJobs bounds the jobs from which the cause of a gap is judged.
const maxGapJobs = 1 << 10

// maxGaps bounds the gaps of a ring that wait for their jobs to run.
const maxGaps = 1 << 8

// The causes of idle gaps.
const (
	causeReset      = "in_reset"
	causeNothing    = "nothing_submitted"
	causeDependency = "dependency"
	causeScheduling = "scheduling_latency"
)

// gap is a time in which a ring ran nothing. Its cause is judged when every
// job that was queued in it has run: only then all their dependencies are told.
type gap struct {
	start, end event.Time
	next       *job // whose start ended the gap
	nextID     ID
	jobs       []*job
	ran        int // leading jobs known to have run
}

func (x *ringTracker) openGap(r *ring, next *job, start, end event.Time) {
	r.idle += int64(end - start)
	g := &gap{start: start, end: end, next: next, nextID: next.row.ID}
	for _, j := range r.recent {
		if j.row.RunNS.V > start && j.row.QueuedNS.OK && j.row.QueuedNS.V < end {
			g.take(j)
		}
	}
	if !slices.Contains(g.jobs, next) && next.row.QueuedNS.OK {
		g.take(next)
	}
	for j := r.oldest; j != nil; j = j.qnext {
		if len(g.jobs) >= maxGapJobs {
			x.e.count(&anomalyGapJobs)
			break
		}
		if j.row.QueuedNS.OK && j.row.QueuedNS.V < end {
			g.take(j)
		}
	}
	next.refs++
	r.gaps = append(r.gaps, g)
	x.kept += 1 + len(g.jobs)
	if len(r.gaps) > maxGaps {
		x.settleFirst(r)
	}
	if x.kept > x.e.caps.Gaps {
		x.letGo()
	}
}

func (g *gap) take(j *job) {
	g.jobs = append(g.jobs, j)
	j.refs++
}

// settle gives the gaps whose jobs have all run, in order; all of them at the end.
func (x *ringTracker) settle(r *ring, all bool) {
	for len(r.gaps) > 0 {
		g := r.gaps[0]
		for !all && g.ran < len(g.jobs) {
			j := g.jobs[g.ran]
			if j.inQueue && !j.given {
				return
			}
			g.ran++
		}
		x.settleFirst(r)
	}
}

func (x *ringTracker) settleFirst(r *ring) {
	g := r.gaps[0]
	r.gaps[0] = nil
	r.gaps = r.gaps[1:]
	if len(r.gaps) == 0 {
		r.gaps = nil
	}
	x.kept -= 1 + len(g.jobs)
	x.judge(r, g)
	for _, j := range g.jobs {
		j.refs--
		x.e.job.recycle(j)
	}
	g.next.refs--
	x.e.job.recycle(g.next)
}

// edge is a change of how many jobs are queued or blocked.
type edge struct {
	at              event.Time
	queued, blocked int
}

// piece is a part of a gap that has one cause.
type piece struct {
	start, end event.Time
	cause      string
}

// judge cuts a gap where the state of its ring changes and gives its parts.
func (x *ringTracker) judge(r *ring, g *gap) {
	var edges []edge
	add := func(from, to event.Time, q, b int) {
		from, to = max(from, g.start), min(to, g.end)
		if from < to {
			edges = append(edges, edge{from, q, b}, edge{to, -q, -b})
		}
	}
	for _, j := range g.jobs {
		q, run := j.row.QueuedNS.V, g.end
		if j.row.RunNS.OK {
			run = j.row.RunNS.V
		}
		add(q, run, 1, 0)
		if u, _ := j.blockedUntil(run); u > q {
			add(q, u, 0, 1)
		}
	}
	x.resetEdges(r, g, &edges)
	slices.SortStableFunc(edges, func(a, b edge) int { return int(min(max(a.at-b.at, -1), 1)) })
	var pieces []piece
	at, queued, blocked := g.start, 0, 0
	emit := func(to event.Time) {
		if to <= at {
			return
		}
		c := x.cause(r, at, to, queued, blocked)
		if n := len(pieces); n > 0 && pieces[n-1].cause == c {
			pieces[n-1].end = to
		} else {
			pieces = append(pieces, piece{at, to, c})
		}
		at = to
	}
	for _, ed := range edges {
		emit(ed.at)
		queued += ed.queued
		blocked += ed.blocked
	}
	emit(g.end)
	for _, p := range pieces {
		x.gapRow(r, g, p)
	}
}

// resetEdges cuts a gap where a reset whose end is known begins and ends.
func (x *ringTracker) resetEdges(r *ring, g *gap, edges *[]edge) {
	dev := ID(0)
	if r.dev != nil {
		dev = r.dev.row.ID
	}
	for i := range x.resets {
		if s := &x.resets[i]; s.end.Known() && s.over(g.start, g.end) && s.of(dev, r.row.Ring) {
			*edges = append(*edges, edge{at: max(s.at, g.start)}, edge{at: min(s.end, g.end)})
		}
	}
}

func (x *ringTracker) cause(r *ring, from, to event.Time, queued, blocked int) string {
	switch {
	case queued == 0:
		return causeNothing
	case x.inReset(r, from, to):
		return causeReset
	case blocked >= queued:
		return causeDependency
	}
	return causeScheduling
}

// inReset reports whether a source named a reset of the ring between from and to.
func (x *ringTracker) inReset(r *ring, from, to event.Time) bool {
	dev := ID(0)
	if r.dev != nil {
		dev = r.dev.row.ID
	}
	for i := range x.resets {
		if s := &x.resets[i]; s.over(from, to) && s.of(dev, r.row.Ring) {
			return true
		}
	}
	return false
}

// blockedUntil returns until when a job waited for others, NoTime if it did
// not, and the job that it waited for last.
func (j *job) blockedUntil(run event.Time) (event.Time, ID) {
	until, on := event.NoTime, ID(0)
	if r := j.row.ReadyNS; r.OK { // the driver itself tells when nothing held it any more
		until = min(r.V, run)
	}
	for i := range j.deps {
		d := &j.deps[i]
		if d.fence == nil {
			continue // low halves that several fences have
		}
		u := d.fence.unblocked()
		if d.key == stub {
			u = j.row.QueuedNS
		}
		if !u.OK {
			if !d.unsignalled && d.fence.id == 0 && d.fence.jobID == 0 {
				continue // nothing is known of that fence
			}
			u = event.Some(run)
		}
		if v := min(u.V, run); v > until {
			until, on = v, d.fence.jobID
		}
	}
	return until, on
}

// depWait returns how long a job that ran had waited for others since it was
// queued; unknown if nothing is known of what it depended on.
func (j *job) depWait() OptDur {
	if !j.row.QueuedNS.OK || !j.row.RunNS.OK {
		return OptDur{}
	}
	until, _ := j.blockedUntil(j.row.RunNS.V)
	if until == event.NoTime {
		return OptDur{}
	}
	return event.Some(max(int64(until-j.row.QueuedNS.V), 0))
}

func (x *ringTracker) gapRow(r *ring, g *gap, p piece) {
	row := IdleGap{Ring: r.row.Ring, StartNS: event.Some(p.start), EndNS: event.Some(p.end), Cause: p.cause, JobID: g.nextID}
	if r.dev != nil {
		row.DeviceID = r.dev.row.ID
	}
	switch p.cause {
	case causeDependency:
		row.WaitsForID = x.waitsFor(g, p)
	case causeNothing:
		for _, j := range g.jobs {
			if j.row.QueuedNS.V == p.end {
				row.SubmitterWas, row.SubmitterID, row.SubmitterTID = j.submitterWas, j.row.ProcessID, j.row.TID
				break
			}
		}
	}
	x.e.rows.IdleGaps = append(x.e.rows.IdleGaps, row)
	x.e.n++
}

// waitsFor returns the job that the next job of the ring waits for in a piece,
// else the one that any of them waits for.
func (x *ringTracker) waitsFor(g *gap, p piece) ID {
	if u, on := g.next.blockedUntil(g.end); u > p.start && on != 0 {
		return on
	}
	for _, j := range g.jobs {
		if u, on := j.blockedUntil(g.end); u > p.start && on != 0 {
			return on
		}
	}
	return 0
}
