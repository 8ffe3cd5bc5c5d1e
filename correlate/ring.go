package correlate

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// ring is a hardware queue: what its jobs sum up to, and its gaps.
type ring struct {
	row           Ring
	dev           *device
	alias         bool // the device was inferred; jobs without a device belong here too
	firstQueued   OptUint
	firstQueuedAt event.Time
	lastDone      OptTime
	backlog       int64
	busy, idle    int64
	hwContexts    []uint64 // of its hardware fences
	oldest        *job     // queued and not run
	newest        *job
	waiting       int       // jobs queued and not run
	recent        []*job    // run since the last done
	gaps          []*gap    // not settled, in order
	current       endingJob // where the hardware tells what it went to
	burst         burst     // the last reset that only showed in its jobs

	used uint64 // tick of its last event
	gone bool   // its row is given
}

type ringKey struct {
	dev  *device
	name string
}

// ringTracker sums up rings. A ring is (device, name). Where no event names
// the device the ring stands under none until a hardware fence's driver tells.
type ringTracker struct {
	e       *engine
	rings   []*ring // in the order of their ids
	kept    int     // jobs in gaps that are not judged, and these gaps
	letGone bool    // of some the row was given early
	byKey   map[ringKey]*ring
	resets  []resetAt
}

func (x *ringTracker) init(e *engine) {
	x.e = e
	x.byKey = map[ringKey]*ring{}
}

// place puts a job on its ring, or moves it when its device becomes known.
func (x *ringTracker) place(j *job) {
	if j.row.Ring == "" {
		return
	}
	r := j.ring
	if r == nil {
		j.ring = x.get(j.dev, j.row.Ring)
		j.ring.row.Jobs++
		x.hwContext(j)
		if j.done { // only its finished fence told the ring
			x.done(j)
		}
		return
	}
	r = x.of(j)
	x.hwContext(j)
	if r.row.Ring != j.row.Ring { // a better name than the one inferred at first
		x.move(j, x.get(j.dev, j.row.Ring))
		return
	}
	if j.dev == nil || r.dev == j.dev {
		return
	}
	if r.dev == nil && x.byKey[ringKey{j.dev, r.row.Ring}] == nil && j.row.DeviceRule == ruleDeviceByDriver {
		r.dev, r.alias, j.dev.rings = j.dev, true, true
		x.byKey[ringKey{j.dev, r.row.Ring}] = r
		return
	}
	x.move(j, x.get(j.dev, j.row.Ring))
}

func (x *ringTracker) get(d *device, name string) *ring {
	k := ringKey{d, name}
	r := x.byKey[k]
	if r == nil {
		x.e.seq.ring++
		r = &ring{dev: d, row: Ring{ID: x.e.seq.ring, Ring: name}, used: x.e.tick}
		x.rings = append(x.rings, r)
		x.byKey[k] = r
		if d != nil {
			d.rings = true
		}
		x.trim()
	}
	r.used = x.e.tick
	return r
}

// of returns the ring of a job, nil for none. Where the row of that was given
// early there is another.
func (x *ringTracker) of(j *job) *ring {
	r := j.ring
	if r != nil && r.gone {
		x.move(j, x.get(r.dev, r.row.Ring))
		r = j.ring
	}
	if r != nil {
		r.used = x.e.tick
	}
	return r
}

// move takes a job from the ring that it was thought to be on to its own.
func (x *ringTracker) move(j *job, to *ring) {
	from := j.ring
	if from == to {
		return
	}
	if !from.gone { // else its row has the job
		from.row.Jobs--
		to.row.Jobs++
	}
	if j.inBacklog {
		from.backlog--
		to.backlog++
		to.row.MaxBacklog = max(to.row.MaxBacklog, to.backlog)
	}
	if j.inQueue {
		from.unqueue(j)
		to.enqueue(j)
	}
	j.ring = to
}

// hwContext counts rings whose hardware fences come from more than one context.
func (x *ringTracker) hwContext(j *job) {
	if j.hw == nil || j.ring == nil || j.row.DeviceRule == ruleSource {
		return
	}
	c := j.hw.key.Context
	r := j.ring
	switch {
	case slices.Contains(r.hwContexts, c):
	case len(r.hwContexts) > 0:
		x.e.count(&anomalyRingTwoFences)
		fallthrough
	default:
		if len(r.hwContexts) < maxTwins {
			r.hwContexts = append(r.hwContexts, c)
		}
	}
}

func (r *ring) enqueue(j *job) {
	j.inQueue = true
	j.qprev = r.newest
	if r.newest != nil {
		r.newest.qnext = j
	} else {
		r.oldest = j
	}
	r.newest = j
	r.waiting++
}

func (r *ring) unqueue(j *job) {
	if j.qprev != nil {
		j.qprev.qnext = j.qnext
	} else {
		r.oldest = j.qnext
	}
	if j.qnext != nil {
		j.qnext.qprev = j.qprev
	} else {
		r.newest = j.qprev
	}
	j.qprev, j.qnext, j.inQueue = nil, nil, false
	r.waiting--
}

// queue takes a job that was just queued.
func (x *ringTracker) queue(j *job) {
	r := x.of(j)
	if r == nil {
		return
	}
	if j.row.SchedJobID.OK && !r.firstQueued.OK && !x.letGone { // else it may have had others
		r.firstQueued, r.firstQueuedAt = j.row.SchedJobID, timeOr(j.row.QueuedNS)
	}
	if j.done || j.given {
		return
	}
	r.backlog++
	j.inBacklog = true
	r.row.MaxBacklog = max(r.row.MaxBacklog, r.backlog)
	if j.ran || j.bridgeRun {
		return
	}
	if r.waiting == 0 && r.lastDone.OK && j.t != nil && j.row.QueuedNS.OK {
		j.submitterWas = j.t.was(x.e, r.lastDone.V, j.row.QueuedNS.V)
	}
	r.enqueue(j)
}

// run takes a job that was just handed to the hardware.
func (x *ringTracker) run(j *job) {
	r := x.of(j)
	if r == nil {
		return
	}
	if j.inQueue {
		r.unqueue(j)
	}
	if j.done {
		x.account(j)
		return
	}
	if !j.inBacklog && !j.closing && !j.queued && !j.bridgeQueue { // its queueing was not seen
		r.backlog++
		j.inBacklog = true
		r.row.MaxBacklog = max(r.row.MaxBacklog, r.backlog)
	}
	if len(r.recent) < maxGapJobs {
		r.recent = append(r.recent, j)
		j.refs++
	}
	x.settle(r, false)
}

// done takes a job that the hardware just finished.
func (x *ringTracker) done(j *job) {
	r := x.of(j)
	if r == nil {
		return
	}
	at := j.row.DoneNS
	if !at.OK || !r.lastDone.OK || r.lastDone.V <= at.V { // else an event tells late when it was: see moment
		j.prevDone = r.lastDone
	}
	r.row.Done++
	if j.inBacklog {
		r.backlog--
		j.inBacklog = false
	}
	if j.inQueue {
		r.unqueue(j)
	}
	if j.row.RunNS.OK {
		x.account(j)
	}
	if at.OK && (!r.lastDone.OK || r.lastDone.V < at.V) {
		r.lastDone = at
	}
	x.clearRecent(r)
	x.settle(r, false)
}

// over takes a job that has ended, whether its done was seen or not.
func (x *ringTracker) over(j *job) {
	if j.ring != nil && j.inBacklog {
		j.ring.backlog--
		j.inBacklog = false
	}
}

func (x *ringTracker) clearRecent(r *ring) {
	for i, j := range r.recent {
		j.refs--
		x.e.job.recycle(j)
		r.recent[i] = nil
	}
	r.recent = r.recent[:0]
}

// account adds a job's time on the device, and the gap before it.
func (x *ringTracker) account(j *job) {
	run, done := j.row.RunNS, j.row.DoneNS
	if j.accounted || !run.OK || !done.OK || run.V > done.V {
		return
	}
	j.accounted = true
	r, start := j.ring, run.V
	if j.prevDone.OK && j.prevDone.V > start {
		start = j.prevDone.V
	}
	r.busy += int64(done.V - start)
	if !r.row.FirstStartNS.OK || start < r.row.FirstStartNS.V {
		r.row.FirstStartNS = event.Some(start)
	}
	if j.prevDone.OK && start > j.prevDone.V {
		x.openGap(r, j, j.prevDone.V, start)
	}
}

// leave takes a job whose row is given off its ring.
func (x *ringTracker) leave(j *job) {
	r := j.ring
	if r == nil {
		return
	}
	if j.inBacklog {
		r.backlog--
		j.inBacklog = false
	}
	if j.inQueue {
		r.unqueue(j)
	}
	x.settle(r, false)
}

func (x *ringTracker) finish() {
	for _, r := range x.rings {
		x.give(r)
		x.e.flushFull()
	}
}

// give gives a ring's row, and its gaps.
func (x *ringTracker) give(r *ring) {
	x.settle(r, true)
	x.clearRecent(r)
	r.gone = true
	if r.row.Jobs == 0 {
		return // its jobs turned out to be on another
	}
	if r.dev != nil {
		r.row.DeviceID = r.dev.row.ID
	}
	r.row.LastDoneNS = r.lastDone
	if r.row.FirstStartNS.OK {
		r.row.BusyNS = event.Some(r.busy)
		r.row.IdleNS = event.Some(r.idle)
	}
	x.e.rows.Rings = append(x.e.rows.Rings, r.row)
	x.e.n++
}

// trim gives the rows of the rings that were used the longest ago, beyond the cap.
func (x *ringTracker) trim() {
	for len(x.rings) > x.e.caps.Rings {
		mark := usedUpTo(x.rings, func(r *ring) (uint64, bool) { return r.used, true })
		x.giveRings(func(r *ring) bool { return r.used <= mark })
	}
}

// giveRings gives the rows of some rings early.
func (x *ringTracker) giveRings(which func(*ring) bool) {
	keep := x.rings[:0]
	for _, r := range x.rings {
		if !which(r) {
			keep = append(keep, r)
			continue
		}
		x.e.count(&anomalyRingLetGo)
		x.letGone = true
		for _, d := range []*device{r.dev, nil} {
			if k := (ringKey{d, r.row.Ring}); x.byKey[k] == r {
				delete(x.byKey, k)
			}
		}
		x.give(r)
		x.e.flushFull()
	}
	clear(x.rings[len(keep):])
	x.rings = keep
}

// letGo judges the gaps of the rings that were used the longest ago, and lets
// go of the jobs that ran on them since their last done, until few
// are kept.
func (x *ringTracker) letGo() {
	held := make([]*ring, 0, len(x.rings))
	for _, r := range x.rings {
		if len(r.gaps)+len(r.recent) > 0 {
			held = append(held, r)
		}
	}
	slices.SortStableFunc(held, func(a, b *ring) int { return cmp.Compare(a.used, b.used) })
	c := &x.e.caps
	for _, r := range held {
		if x.kept <= c.Gaps/2 && x.e.job.pool.live-x.e.job.count <= c.KeptJobs/8 {
			return
		}
		x.e.count(&anomalyGapJobs)
		x.settle(r, true)
		x.clearRecent(r)
		x.e.flushFull()
	}
}
