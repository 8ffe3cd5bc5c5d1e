package correlate

// What a reset did to a job, docs/correlation.md, section 13. The kernel's
// scheduler stops a ring, takes its work off the hardware, fails the hardware
// fences of what ran there, hands what is innocent over again and ends the rest
// (drm_sched_stop, drm_sched_resubmit_jobs, drm_sched_start): all in one kernel
// thread, out of whose call stack no hardware fence signals otherwise without
// its job being done at once.

const (
	fateGuilty    = "guilty"    // it brought the reset
	fateRerun     = "rerun"     // handed to the hardware again
	fateCancelled = "cancelled" // ended by the reset
	fateDoubtful  = "doubtful"  // a reset lies in its time on the hardware: it may have ended it, or not
)

// How the fate of a job is known, in jobs.fate_rule.
const (
	ruleFateByRun    = "inferred from its second hand-over"
	ruleFateByFences = "inferred from hardware fences that one thread failed"
	ruleFateByReset  = "inferred from the reset in its time"
)

// setFate notes what a reset did to a job. Guilt that a source tells stands, and
// what a source tells stands against what is inferred.
func (j *job) setFate(fate, rule string) {
	r := &j.row
	if r.Fate == fateGuilty && r.FateRule == ruleSource || r.FateRule == ruleSource && rule != ruleSource {
		return
	}
	r.Fate, r.FateRule = fate, rule
}

// hwFailed takes the signal of a job's hardware fence. Two of one ring on one
// thread, without a done between, are those of a reset.
func (x *jobTracker) hwFailed(j *job, t *thread) {
	if t.idle || j.done {
		return
	}
	p := t.failed
	t.failed = endingJob{j, j.row.ID}
	if !p.waits() || p.j == j || p.j.done || p.j.hw == nil || j.hw == nil || p.j.hw.key.Context != j.hw.key.Context {
		return
	}
	if p.j.failedBy != t {
		p.j.failedBy, p.j.failedFirst = t, true // the oldest on the hardware: what timed out
	}
	j.failedBy, j.failedFirst = t, false
}

// endedByReset notes the end of a job in the thread that failed its hardware
// fence. The scheduler ends there what it does not hand over again.
func (x *jobTracker) endedByReset(j *job, t *thread) {
	if j.failedBy == nil || j.failedBy != t || j.row.Runs > 1 {
		return
	}
	if j.failedFirst {
		j.setFate(fateGuilty, ruleFateByFences)
	} else {
		j.setFate(fateCancelled, ruleFateByFences)
	}
	if x.resetOf(j) != nil {
		return // its row is there: settleFate finds it
	}
	if r := j.ring; r != nil && j.hwSignal.OK {
		if r.burst.of(t, j.hwSignal) {
			j.fateReset = r.burst.id
			return
		}
		r.burst = burst{t, j.hwSignal.V, x.e.misc.newInferred(j, j.hwSignal, "")}
	}
}

// resetOf returns the named reset that lies in a job's time on the hardware.
func (x *jobTracker) resetOf(j *job) *resetAt {
	run, end := j.row.RunNS, j.row.DoneNS
	if !end.OK {
		end = j.row.FinishedNS
	}
	if !run.OK || !end.OK {
		return nil
	}
	dev := ID(0)
	if j.dev != nil {
		dev = j.dev.row.ID
	}
	resets := x.e.ring.resets
	for i := len(resets) - 1; i >= 0; i-- {
		s := &resets[i]
		if s.at < run.V {
			return nil // the others began earlier
		}
		if s.at < end.V && s.of(dev, j.row.Ring) {
			return s
		}
	}
	return nil
}

// settleFate says what a reset did to a job, as its row is given.
func (x *jobTracker) settleFate(j *job) {
	r := &j.row
	s := x.resetOf(j)
	switch {
	case r.Runs > 1 && (j.drv == nil || !j.drv.preempts):
		j.setFate(fateRerun, ruleFateByRun)
	case r.Fate != "" || s == nil || !r.DoneNS.OK:
	case s.end.Known() && r.DoneNS.V > s.end, // it ended after the reset: nothing tells of a second hand-over
		!s.end.Known() && j.hw == nil && (j.drv == nil || !j.drv.noFence):
		// The scheduler ends what a reset cancels by the event of what is done,
		// and with an error (drm_sched_start), which few events tell.
		if r.Error.OK {
			j.setFate(fateCancelled, ruleFateByReset)
		} else {
			j.setFate(fateDoubtful, ruleFateByReset)
		}
	default:
		j.setFate(fateCancelled, ruleFateByReset)
	}
	if r.Fate == "" {
		return
	}
	c := Inferred
	if r.FateRule == ruleSource && j.fateReset != 0 {
		c = Exact // the reset's event names the job
	}
	if j.fateReset == 0 && s != nil {
		j.fateReset = s.id
	}
	if r.Fate == fateRerun && r.FateRule == ruleFateByRun && (s == nil || j.fateReset != s.id) {
		return // linked when it was found
	}
	x.e.link(RuleResetFate, "resets", j.fateReset, "jobs", r.ID, c, r.Fate)
}
