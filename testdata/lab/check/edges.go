package check

import (
	"fmt"
	"math"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// window is what a log must hold: all that happened from begun to ended,
// nothing from before before or after after. A scenario lets nothing happen to a
// job in between, where recorders begin and end.
type window struct{ before, begun, ended, after int64 }

// window is as the marks say that the scenario's script made.
func (r *results) window() window {
	w := window{math.MinInt64, math.MinInt64, math.MaxInt64, math.MaxInt64}
	for _, c := range r.calls {
		switch c.API {
		case "before":
			w.before = c.Enter
		case "begun":
			w.begun = c.Enter
		case "ended":
			w.ended = c.Enter
		case "after":
			w.after = c.Enter
		}
	}
	return w
}

// edges compares a log that begins late, ends early or lacks events with the
// truth. What it must hold the window tells, what it holds the jobs that its
// events are of; so each row is known to be right, or must say why it is not.
type edges struct {
	comparison
	r         *results
	p         *product
	w         window
	made, log *sights // of the guest's own trace, which lost nothing, and of the log
	rows      map[*Job]*correlate.Job
	misses    int64           // events that BPF programs missed
	mixed     map[moment]bool // dones that a row has which says that they may be of another job
	counts    map[string]int64
}

func (r *results) edges(p *product) []string {
	x := newJobIndex(r.truth)
	e := &edges{
		r: r, p: p, w: r.window(), made: x.sights(r.trace.generation(p.origin).events), log: x.sights(p.events),
		comparison: comparison{excused: p.excused},
		rows:       map[*Job]*correlate.Job{}, mixed: map[moment]bool{},
		counts: map[string]int64{"before_start": 0, "after_stop": 0, "lost_jobs": 0, "whole_jobs": 0, "doubtful_jobs": 0, "cut_waits": 0},
	}
	if r.trace.Lost != 0 {
		e.say("the guest's own trace lost %d events: nothing to compare with", r.trace.Lost)
	}
	e.misses = e.p.misses()
	e.join()
	for _, j := range r.truth.Jobs {
		e.job(j)
	}
	if e.w.before > math.MinInt64 {
		e.waits(x)
	}
	e.deviceStarts(r.truth.Jobs, e.rows, p)
	e.counts["log_lost"] = e.account()
	for name, n := range e.counts {
		r.count(name, n)
	}
	return e.problems
}

func (e *edges) say(format string, args ...any) {
	e.problems = append(e.problems, e.p.what+": "+fmt.Sprintf(format, args...))
}

// join finds the job that each row is of.
func (e *edges) join() {
	for i := range e.p.rows.Jobs {
		row := &e.p.rows.Jobs[i]
		j := e.log.owner(row, e.p.doubtful(row))
		switch {
		case j == nil:
			e.say("row %d is made of events that are not all of one job, and does not say so", row.ID)
		case e.rows[j] != nil:
			e.problem(j, "%s: rows %d and %d are both of it", e.p.what, e.rows[j].ID, row.ID)
		default:
			e.rows[j] = row
		}
		if e.p.doubtful(row) {
			e.mixed[moment{event.KindJobDone, row.DoneNS.V}] = true
			e.counts["doubtful_jobs"]++
		}
	}
}

// moments are those of a row, by edge.
func moments(row *correlate.Job) [numEdges]correlate.OptTime {
	return [numEdges]correlate.OptTime{row.QueuedNS, row.RunNS, row.DoneNS, row.FinishedNS}
}

var edgeKinds = [numEdges]event.Kind{event.KindJobQueue, event.KindJobRun, event.KindJobDone, event.KindFenceSignal}

// owner is the one job that all events of a row are of; if the row says that
// its done is doubtful, all before that.
func (s *sights) owner(row *correlate.Job, doubtful bool) *Job {
	var common []*Job
	first := true
	for i, t := range moments(row) {
		if !t.OK || doubtful && edge(i) >= edgeDone {
			continue
		}
		at := s.at[moment{edgeKinds[i], t.V}]
		if first {
			common, first = at, false
			continue
		}
		var both []*Job
		for _, a := range common {
			for _, b := range at {
				if a == b {
					both = append(both, a)
				}
			}
		}
		common = both
	}
	if len(common) != 1 {
		return nil
	}
	return common[0]
}

// job holds a job's row to what the log has of it.
func (e *edges) job(j *Job) {
	made, seen, row := e.made.seen(j), e.log.seen(j), e.rows[j]
	whole := true
	for at := range numEdges {
		e.recorded(j, at, made[at], seen[at])
		whole = whole && (seen[at] != 0) == (made[at] != 0)
	}
	if row == nil {
		e.without(j, made, seen)
		return
	}
	if whole {
		e.counts["whole_jobs"]++
	}
	e.row(j, row, e.p)
	e.key(j, row)
	near := e.lossNear(seen)
	reasons := map[string]bool{}
	for at := range numEdges {
		reasons[e.edge(j, row, at, made[at], seen[at], near)] = true
	}
	e.fencesOf(j, row, near)
	e.tally(reasons)
	if e.p.doubtful(row) {
		return
	}
	e.order(j, row, e.p.what)
	if !whole || near {
		return
	}
	e.complete(j, row, e.p.what)
	e.linked(j, e.p.links[row.ID], e.p.what)
}

func (e *edges) tally(reasons map[string]bool) {
	for reason, name := range map[correlate.Reason]string{
		correlate.BeforeStart: "before_start", correlate.AfterStop: "after_stop", correlate.Lost: "lost_jobs",
	} {
		if reasons[string(reason)] {
			e.counts[name]++
		}
	}
}

// recorded holds that the log has an event of a job if it must, and only then.
func (e *edges) recorded(j *Job, at edge, made, seen int64) {
	switch {
	case made == 0 && seen != 0:
		e.problem(j, "%s: %s is in the log and did not happen", e.p.what, at)
	case made == 0:
	case made > e.w.before && made < e.w.begun || made > e.w.ended && made < e.w.after:
		e.problem(j, "%s: %s happened while the recorder began or ended: the scenario can't tell", e.p.what, at)
	case !e.inside(made) && seen != 0:
		e.problem(j, "%s: %s is in the log, and happened %d ns before it or %d ns after it", e.p.what, at, e.w.before-made, made-e.w.after)
	case e.inside(made) && seen == 0 && len(e.p.rows.Losses) == 0:
		e.problem(j, "%s: %s is not in the log, which lost nothing", e.p.what, at)
	}
}

func (e *edges) inside(t int64) bool { return t >= e.w.begun && t <= e.w.ended }

// without holds that a job without a row has no event in the log, except a done
// that another row has, and says that it may be of another job.
func (e *edges) without(j *Job, made, seen sighting) {
	for at := edgeQueue; at <= edgeDone; at++ {
		if t := seen[at]; t != 0 && !(at == edgeDone && e.mixed[moment{event.KindJobDone, event.Time(t)}]) {
			e.problem(j, "%s: no such row, and its %s is in the log", e.p.what, at)
		}
	}
	if e.inside(made[edgeQueue]) {
		e.counts["lost_jobs"]++
	}
}

// lossNear reports whether the log tells of a loss in the life of a job, as far
// as it has seen it; all times are the log's own.
func (e *edges) lossNear(seen sighting) bool {
	first, last := int64(math.MinInt64), int64(math.MaxInt64)
	if t := seen[edgeQueue]; t != 0 {
		first = t
	}
	if t := seen[edgeFinished]; t != 0 {
		last = t
	}
	for i := range e.p.rows.Losses {
		l := &e.p.rows.Losses[i]
		if (!l.StartNS.OK || int64(l.StartNS.V) <= last) && (!l.EndNS.OK || int64(l.EndNS.V) >= first) {
			return true
		}
	}
	return false
}

// edge holds what a row says of one edge: it has it, or says rightly why not.
// It returns the reason.
func (e *edges) edge(j *Job, row *correlate.Job, at edge, made, seen int64, near bool) string {
	reason := e.p.missing[row.ID][at.String()]
	if moments(row)[at].OK {
		if reason != "" {
			e.problem(j, "%s: has its %s, and says that it lacks as %q", e.p.what, at, reason)
		}
		return ""
	}
	want := e.reason(j, row, at, made)
	if seen != 0 && near {
		want = correlate.Lost // the loss put in doubt that it is this job's
	}
	if seen == 0 && want == correlate.Lost && !near && reason == string(correlate.NotRecorded) && e.misses > 0 {
		e.misses-- // an event that a program missed, of which no loss tells
		return reason
	}
	if reason != string(want) {
		e.problem(j, "%s: lacks its %s as %q, not as %q", e.p.what, at, reason, want)
	}
	return reason
}

// reason is why an edge is not in the log. That an event lies before the start
// is told only if it can be proven: by a later number that was seen to begin.
func (e *edges) reason(j *Job, row *correlate.Job, at edge, made int64) correlate.Reason {
	switch {
	case made == 0:
		return correlate.Killed
	case made > e.w.ended:
		return correlate.AfterStop
	case made < e.w.begun && e.provable(j, row, at):
		return correlate.BeforeStart
	case made < e.w.begun:
		return correlate.NotRecorded
	}
	return correlate.Lost
}

// provable reports whether the log shows that a job was queued before the first
// one that it holds: of its ring, where the row has the scheduler's number, else
// of its context.
func (e *edges) provable(j *Job, row *correlate.Job, at edge) bool {
	if at != edgeQueue {
		return false
	}
	var first *Job
	for k := range e.log.of {
		same := k.Key.Context == j.Key.Context && row.FenceContext.OK
		if row.SchedJobID.OK {
			same = k.Ring == j.Ring && k.Device == j.Device
		}
		t := e.log.seen(k)[at]
		if same && t != 0 && (first == nil || t < e.log.seen(first)[at]) {
			first = k
		}
	}
	return first != nil && first.Queue > j.Queue
}

// key holds the finished fence of a row to the truth.
func (e *edges) key(j *Job, row *correlate.Job) {
	if !row.FenceContext.OK {
		return
	}
	got, want := Key{row.FenceContext.V, row.FenceSeqno.V}, j.Key
	if row.Low32 {
		want = want.low()
	}
	if got != want {
		e.problem(j, "%s: its fence is %v", e.p.what, got)
	}
}

// fencesOf holds that a row knows its fences, or why not.
func (e *edges) fencesOf(j *Job, row *correlate.Job, near bool) {
	missing := e.p.missing[row.ID]
	ok := func(link string, known, needed bool) {
		reason := missing[link]
		switch {
		case known && reason != "":
			e.problem(j, "%s: knows its %s, and says that it lacks as %q", e.p.what, link, reason)
		case known || reason == string(correlate.Lost) && near:
		case needed:
			e.problem(j, "%s: lacks its %s as %q", e.p.what, link, reason)
		case reason != string(correlate.NotRecorded):
			e.problem(j, "%s: lacks its %s as %q, not as not_recorded", e.p.what, link, reason)
		}
	}
	// the fences of a job are made right before its queueing
	ok("fence", row.FenceContext.OK, e.inside(e.made.seen(j)[edgeQueue]))
	if len(j.HW) > 0 && row.RunNS.OK {
		ok("hw_fence", row.HWFenceContext.OK, true)
	}
}
