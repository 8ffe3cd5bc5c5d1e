package check

import (
	"sort"
	"strings"
)

// ring is a ring's track with those below it.
type ring struct {
	track   *Track
	idle    *Track
	backlog *Track
	hidden  *Track
	queued  []*Track
	lost    bool // a job whose end was lost: gaps cannot be whole
	open    bool
}

func (c *checker) devices() {
	rings := map[*Track]*ring{}
	var order []*ring
	for _, t := range c.rep.Tracks {
		if p := t.Parent; p != nil && strings.HasPrefix(p.Name, "GPU ") && strings.HasPrefix(t.Name, "ring ") && !t.IsCounter {
			rings[t] = &ring{track: t}
			order = append(order, rings[t])
		}
	}
	for _, t := range c.rep.Tracks {
		if r := rings[t.Parent]; r != nil {
			switch t.Name {
			case "idle":
				r.idle = t
			case "backlog":
				r.backlog = t
			}
		} else if t.Parent != nil {
			if r := rings[t.Parent.Parent]; r != nil {
				switch t.Name {
				case "queued":
					r.queued = append(r.queued, t)
				case "queued, not drawn":
					r.hidden = t
				}
			}
		}
	}
	for _, r := range order {
		c.ring(r)
	}
	for _, t := range c.rep.Tracks {
		if t.IsCounter && (t.Name == "backlog" || strings.HasSuffix(t.Name, "jobs in flight") || t.Name == "queued, not drawn") {
			for _, s := range t.Samples {
				if s.Value < 0 {
					c.problem("backlog", "%s is %g at %d", t.Path(), s.Value, s.Time)
				}
			}
		}
	}
}

// job is the slices of one job.
type job struct {
	queued, running *Slice
}

func (c *checker) ring(r *ring) {
	path := r.track.Path()
	jobs := map[int64]*job{}
	get := func(x *Slice) *job {
		id, ok := x.Int("job_id")
		if !ok {
			c.problem("job", "%s: %q at %d has no job_id", path, x.Name, x.Start)
		}
		if jobs[id] == nil {
			jobs[id] = &job{}
		}
		return jobs[id]
	}
	for _, x := range r.track.Slices {
		j := get(x)
		if j.running != nil {
			c.problem("job", "%s: job %v runs twice", path, x.Args["job_id"])
		}
		j.running = x
		r.lost = r.lost || x.Str("end") == "lost"
		r.open = r.open || x.Str("end") == "after_stop"
		c.rep.Busy[path] += x.End - x.Start
	}
	if len(r.queued) > 12 {
		c.problem("lane", "%s has %d lanes", path, len(r.queued))
	}
	for _, t := range r.queued {
		for _, x := range t.Slices {
			if x.Category != "job.queued" {
				continue
			}
			j := get(x)
			if j.queued != nil {
				c.problem("job", "%s: job %v is queued twice", path, x.Args["job_id"])
			}
			j.queued = x
			r.lost = r.lost || x.Str("end") == "lost"
			c.stages(path, x)
		}
	}
	for id, j := range jobs {
		c.job(path, id, j)
	}
	c.disjoint("ring", r.track)
	c.idle(r)
	c.tiles(r)
	c.hidden(r, jobs)
	c.backlog(r, jobs)
}

func (c *checker) idle(r *ring) {
	path := r.track.Path()
	if r.idle != nil {
		c.disjoint("idle", r.idle)
		c.rep.Idle[path] = map[string]Idle{}
		for _, x := range r.idle.Slices {
			i := c.rep.Idle[path][x.Name]
			c.rep.Idle[path][x.Name] = Idle{i.Count + 1, i.NS + x.End - x.Start}
		}
	}
}

func (c *checker) job(path string, id int64, j *job) {
	q, r := j.queued, j.running
	switch {
	case q != nil && r != nil && q.End != r.Start:
		c.problem("job", "%s: job %d is queued until %d and runs from %d", path, id, q.End, r.Start)
	case q != nil && r != nil && r.Args["queued_hidden"] == true:
		c.problem("job", "%s: job %d is drawn, and called hidden", path, id)
	case q == nil && r != nil && r.Args["queued_hidden"] == nil && r.Args["queue_delay_ns"] != nil:
		c.problem("job", "%s: job %d was queued, but is neither drawn nor hidden", path, id)
	}
}

// stages checks that the children of job.queued are its stages without holes.
func (c *checker) stages(path string, x *Slice) {
	at := x.Start
	for _, s := range x.Children {
		if s.Start != at {
			c.problem("stages", "%s: %q: a stage starts at %d, not %d", path, x.Name, s.Start, at)
		}
		at = s.End
		if s.End <= s.Start {
			c.problem("stages", "%s: %q: a stage of no length at %d", path, x.Name, s.Start)
		}
	}
	if at != x.End && (len(x.Children) > 0 || x.End > x.Start) {
		c.problem("stages", "%s: %q: stages end at %d, not %d", path, x.Name, at, x.End)
	}
}

// disjoint checks that a track is one row: no slice touches the time of another.
func (c *checker) disjoint(rule string, t *Track) {
	last := int64(0)
	for _, x := range t.Slices {
		if x.Parent != nil || x.Start < last {
			c.problem(rule, "%s: %q at %d overlaps the one before", t.Path(), x.Name, x.Start)
		}
		last = max(last, x.End)
	}
}

// leftOut reports whether the trace says that it leaves such rows out.
func (c *checker) leftOut(anomaly string) bool {
	for _, x := range c.rep.Instants {
		if x.Category == "anomaly" && x.Name == anomaly {
			return true
		}
	}
	return false
}

// tiles checks that running and idle slices fill the time from the first device
// start to the last done.
func (c *checker) tiles(r *ring) {
	if r.lost || r.open || len(r.track.Slices) == 0 || c.leftOut("left_out_process") || c.leftOut("left_out_kind") || c.leftOut("left_out_size") {
		return
	}
	all := append([]*Slice(nil), r.track.Slices...)
	if r.idle != nil {
		all = append(all, r.idle.Slices...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].Start != all[j].Start {
			return all[i].Start < all[j].Start
		}
		return all[i].End < all[j].End
	})
	at, notDrawn := r.track.Slices[0].Start, c.leftOut("picture_job_not_drawn")
	if c.leftOut("left_out_time") || notDrawn {
		at = min(at, all[0].Start) // a gap that is cut, or that follows a job of which only the end is known
	}
	for _, x := range all {
		if x.Start > at && notDrawn {
			at = x.Start // a job ran here of which only the end is known
		}
		if x.Start != at {
			c.problem("idle", "%s: %q starts at %d, the one before ends at %d", r.track.Path(), x.Name, x.Start, at)
		}
		at = x.End
	}
}

// changes is by how much the jobs of a ring change its backlog, by time. Jobs
// beyond the lanes are in the counter of those while they are queued.
func (c *checker) changes(r *ring, jobs map[int64]*job) map[int64]float64 {
	delta := map[int64]float64{}
	for _, j := range jobs {
		q, x := j.queued, j.running
		switch {
		case q != nil:
			delta[q.Start]++
		case x != nil && x.Args["queued_hidden"] == true:
			delta[x.Start]++
		default:
			continue // nobody saw it queued
		}
		last := x
		if x == nil {
			last = q
		}
		if last.Str("end") == "" {
			delta[last.End]--
		} else if at, ok := lostEnd(last); ok {
			delta[max(at, last.Start)]--
		}
	}
	if r.hidden != nil {
		last := 0.0
		for _, s := range r.hidden.Samples {
			delta[s.Time] += s.Value - last
			last = s.Value
		}
	}
	return delta
}

// lostEnd is when a job ended that is not drawn as running.
func lostEnd(x *Slice) (at int64, ok bool) {
	if at, ok = x.Int("done_ns"); !ok {
		at, ok = x.Int("finished_ns")
	}
	return at, ok
}

// hidden compares the counter of the jobs beyond the lanes with those of them
// that run later. It may count more: jobs that never ran have no slice.
func (c *checker) hidden(r *ring, jobs map[int64]*job) {
	delta := map[int64]float64{}
	for _, j := range jobs {
		x := j.running
		if x == nil || x.Args["queued_hidden"] != true {
			continue
		}
		delay, ok1 := x.Int("queue_delay_ns")
		hw, ok2 := x.Int("hw_queue_ns")
		at, ok3 := x.Int("queued_ns")
		switch {
		case x.Str("clipped") != "":
		case ok1 && ok2:
			delta[x.Start-hw-delay]++
			delta[x.Start]--
		case !ok3 || at > x.Start:
			c.problem("backlog", "%s: a hidden job at %d does not say when it was queued", r.track.Path(), x.Start)
		}
	}
	if len(delta) == 0 {
		return
	}
	if r.hidden == nil {
		c.problem("backlog", "%s has hidden jobs and no counter of them", r.track.Path())
		return
	}
	s, at, least := r.hidden.Samples, -1, 0.0
	for _, t := range sortedTimes(delta) {
		least += delta[t]
		for at+1 < len(s) && s[at+1].Time <= t {
			at++
		}
		if at < 0 || s[at].Value < least {
			c.problem("backlog", "%s at %d: at least %g jobs are queued", r.hidden.Path(), t, least)
			return
		}
	}
}

func sortedTimes(m map[int64]float64) []int64 {
	times := make([]int64, 0, len(m))
	for t := range m {
		times = append(times, t)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times
}

// backlog compares the counter with the jobs that are queued and not done.
func (c *checker) backlog(r *ring, jobs map[int64]*job) {
	delta := c.changes(r, jobs)
	if len(delta) == 0 {
		return
	}
	if r.backlog == nil {
		c.problem("backlog", "%s has no backlog", r.track.Path())
		return
	}
	s, at, want := r.backlog.Samples, -1, 0.0
	for _, t := range sortedTimes(delta) {
		want += delta[t]
		for at+1 < len(s) && s[at+1].Time <= t {
			at++
		}
		if at < 0 || s[at].Value != want {
			c.problem("backlog", "%s at %d: queued and not done are %g", r.backlog.Path(), t, want)
			return
		}
	}
	for _, v := range s {
		p := r.track.Path()
		c.rep.MaxBacklog[p] = max(c.rep.MaxBacklog[p], v.Value)
	}
	if n := len(s); n > 0 && s[n-1].Value != want {
		c.problem("backlog", "%s ends with %g, not %g", r.backlog.Path(), s[n-1].Value, want)
	}
}
