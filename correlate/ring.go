package correlate

import "github.com/gpurec/gpurec/record/event"

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
	hwContext     OptUint
	oldest        *job // queued and not run
	newest        *job
	waiting       int       // jobs queued and not run
	recent        []*job    // run since the last done
	gaps          []*gap    // not settled, in order
	current       endingJob // where the hardware tells what it went to
}

type ringKey struct {
	dev  *device
	name string
}

// ringTracker sums up rings. A ring is (device, name). Where no event names
// the device the ring stands under none until a hardware fence's driver tells.
type ringTracker struct {
	e      *engine
	rings  []*ring
	byKey  map[ringKey]*ring
	resets []resetAt
}

type resetAt struct {
	dev  ID
	ring string
	at   event.Time
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
		return
	}
	x.hwContext(j)
	if r.row.Ring != j.row.Ring { // a better name than the one inferred at first
		x.move(j, x.get(j.dev, j.row.Ring))
		return
	}
	if j.dev == nil || r.dev == j.dev {
		return
	}
	if r.dev == nil && x.byKey[ringKey{j.dev, r.row.Ring}] == nil && j.row.DeviceRule == ruleDeviceByDriver {
		r.dev, r.alias = j.dev, true
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
		r = &ring{dev: d, row: Ring{ID: x.e.seq.ring, Ring: name}}
		x.rings = append(x.rings, r)
		x.byKey[k] = r
	}
	return r
}

// move takes a job from the ring that it was thought to be on to its own.
func (x *ringTracker) move(j *job, to *ring) {
	from := j.ring
	if from == to {
		return
	}
	from.row.Jobs--
	to.row.Jobs++
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
	if !j.ring.hwContext.OK {
		j.ring.hwContext = event.Some(c)
	} else if j.ring.hwContext.V != c {
		x.e.count(&anomalyRingTwoFences)
		j.ring.hwContext.V = c
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
	r := j.ring
	if r == nil {
		return
	}
	if j.row.SchedJobID.OK && !r.firstQueued.OK {
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
	r := j.ring
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
	r := j.ring
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
		x.settle(r, true)
		x.clearRecent(r)
		if r.row.Jobs == 0 {
			continue // its jobs turned out to be on another
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
}
