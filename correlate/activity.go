package correlate

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// maxCorrelations bounds the correlation ids that are remembered.
const maxCorrelations = 1 << 18

// maxPending bounds the activities that wait for their call.
const maxPending = 1 << 16

// correlation is a correlation id that calls of a process showed.
type correlation struct {
	key       correlationKey
	apiID     ID
	call      *call // while it is not given
	tid       OptInt
	start     OptTime
	end       OptTime
	launches  bool
	graph     bool
	root      bool
	ambiguous bool
	matched   int
}

// correlationKey is a correlation id: two profilers of a process number its
// calls each in its own way.
type correlationKey struct {
	proc *process
	id   int64
	by   uint8 // who tells, see witnessID
}

type streamKey struct {
	proc    *process
	device  ID
	context uint64
	stream  uint64
}

// streamState is when the first work with a known launch began on a stream.
type streamState struct{ first OptTime }

// activity is an activity that waits for its call.
type activity struct {
	row    GPUActivity
	key    correlationKey
	stream *streamState
	next   *activity // of the same key
	queued bool      // in the list of those that wait
	given  bool
}

type activityTracker struct {
	e        *engine
	pool     pool[activity]
	corr     pool[correlation]
	calls    map[correlationKey]*correlation
	order    []*correlation
	head     int
	pending  map[correlationKey]*activity // first that waits
	queue    []*activity
	qhead    int
	streams  map[streamKey]*streamState
	devs     map[ID]*actDevice
	devOrder []*actDevice

	recent    map[*process]*recentActivities
	witness   map[string]uint8 // by source, and by what stands before its colon
	witnesses int
}

func (x *activityTracker) init(e *engine) {
	x.e = e
	x.calls = map[correlationKey]*correlation{}
	x.pending = map[correlationKey]*activity{}
	x.streams = map[streamKey]*streamState{}
	x.devs = map[ID]*actDevice{}
	x.recent = map[*process]*recentActivities{}
	x.witness = map[string]uint8{"": noWitness}
}

// call takes a call whose correlation id is known.
func (x *activityTracker) call(c *call) {
	r := &c.row
	if c.proc != nil {
		c.proc.calls++
	}
	if !r.CorrelationID.OK || r.CorrelationID.V <= 0 || c.entry != nil {
		return
	}
	k := correlationKey{c.proc, r.CorrelationID.V, x.witnessID(r.Source)}
	if p := c.proc; p != nil {
		p.leastCorrelation(k, timeOr(r.StartNS))
	}
	if o := x.calls[k]; o != nil {
		x.again(o, c)
		return
	}
	o := x.corr.get()
	*o = correlation{key: k, apiID: r.ID, call: c, tid: r.TID, start: r.StartNS, end: r.EndNS,
		launches: c.spec.launches(), graph: c.spec.class == gpu.ClassGraphLaunch, root: r.ParentID == 0}
	c.entry = o
	x.calls[k] = o
	x.order = append(x.order, o)
	for a := x.pending[k]; a != nil; {
		next := a.next
		x.join(a, o)
		a = next
	}
	delete(x.pending, k)
	if len(x.order)-x.head > min(maxCorrelations, x.e.o.MaxOpen) {
		x.evict()
	}
}

// again takes a second call with an id. A call in or around the first is the
// same work; any other makes the id useless.
func (x *activityTracker) again(o *correlation, c *call) {
	r := &c.row
	c.entry = o
	if r.SameAsID != 0 && r.SameAsID == o.apiID {
		o.launches = o.launches || c.spec.launches()
		return
	}
	nested := r.ParentID != 0 && o.call != nil && o.tid == r.TID
	around := o.tid == r.TID && o.start.OK && r.StartNS.OK && o.end.OK && r.EndNS.OK &&
		r.StartNS.V <= o.start.V && o.end.V <= r.EndNS.V
	if nested || around {
		o.launches = o.launches || c.spec.launches()
		return
	}
	x.e.count(&anomalyCorrelationReused)
	o.ambiguous = true
}

// evict forgets the oldest correlation id.
func (x *activityTracker) evict() {
	o := x.order[x.head]
	x.order[x.head] = nil
	x.head++
	if x.head >= maxCorrelations {
		x.order = append(x.order[:0], x.order[x.head:]...)
		x.head = 0
	}
	x.settle(o)
	delete(x.calls, o.key)
}

// settle says why a call that launches led to no activity.
func (x *activityTracker) settle(o *correlation) {
	if o.launches && o.root && o.matched == 0 {
		r := NotRecorded
		if o.ambiguous {
			r = Ambiguous
		}
		x.e.unm.add(note{table: "api_calls", id: o.apiID, link: missActivity, reason: r, from: timeOr(o.start), to: event.NoTime})
	}
}

func (x *activityTracker) event(ev *event.Event, t *thread) {
	x.e.seq.activity++
	a := x.pool.get()
	x.fill(&a.row, ev, t)
	a.row.ID = x.e.seq.activity
	a.stream = x.streamOf(&a.row, t.proc)
	by := x.witnessID(ev.Source)
	x.meet(&a.row, t.proc, by)
	if !a.row.CorrelationID.OK || a.row.CorrelationID.V <= 0 {
		x.busy(&a.row, a.key)
		x.alone(a, NotRecorded, t.proc)
		return
	}
	a.key = correlationKey{t.proc, a.row.CorrelationID.V, by}
	x.busy(&a.row, a.key)
	if o := x.calls[a.key]; o != nil {
		x.join(a, o)
		return
	}
	a.next = x.pending[a.key]
	x.pending[a.key] = a
	a.queued = true
	x.queue = append(x.queue, a)
	if len(x.queue)-x.qhead > min(maxPending, x.e.o.MaxOpen) {
		x.evictPending()
	}
}

func (x *activityTracker) fill(r *GPUActivity, ev *event.Event, t *thread) {
	kind, _ := ev.Uint(event.FieldActivity)
	*r = GPUActivity{
		ProcessID: t.processID(), PID: t.pid,
		DeviceID: x.e.ids.deviceID(ev.Str(event.FieldDevice), ""),
		Kind:     event.Activity(kind).String(), Name: ev.Str(event.FieldName),
		Context: optUint(ev, event.FieldContext), Stream: optUint(ev, event.FieldStream),
		StartNS: event.OptTime(ev.TimeOf(event.FieldStart)), EndNS: event.OptTime(ev.Time),
		CorrelationID: optInt(ev, event.FieldCorrelationID), Bytes: optUint(ev, event.FieldBytes),
		GridX: optUint(ev, event.FieldGridX), GridY: optUint(ev, event.FieldGridY), GridZ: optUint(ev, event.FieldGridZ),
		BlockX: optUint(ev, event.FieldBlockX), BlockY: optUint(ev, event.FieldBlockY), BlockZ: optUint(ev, event.FieldBlockZ),
		Direction: directionName(ev), Args: ev.Str(event.FieldArgs),
	}
	r.DurNS = sub(r.EndNS, r.StartNS)
}

func (x *activityTracker) streamOf(r *GPUActivity, p *process) *streamState {
	k := streamKey{p, r.DeviceID, r.Context.V, r.Stream.V}
	s := x.streams[k]
	if s == nil {
		s = &streamState{}
		if len(x.streams) < maxContexts {
			x.streams[k] = s
		}
	}
	return s
}

// join gives an activity whose call is known.
func (x *activityTracker) join(a *activity, o *correlation) {
	e, r := x.e, &a.row
	if o.ambiguous {
		x.alone(a, Ambiguous, a.key.proc)
		return
	}
	r.APICallID = o.apiID
	o.matched++
	if o.matched > 1 && !o.graph {
		e.count(&anomalyCorrelationShared)
	}
	if o.matched == 1 {
		r.LaunchNS = sub(r.StartNS, o.start)
	}
	if r.StartNS.OK {
		if before(r.StartNS, timeOr(o.start)) {
			e.count(&anomalyEarlyActivity)
		}
		if !a.stream.first.OK || r.StartNS.V < a.stream.first.V {
			a.stream.first = r.StartNS
		}
	}
	e.link(RuleCorrelation, "api_calls", o.apiID, "gpu_activities", r.ID, Exact, e.intText("correlation ", a.key.id))
	x.give(a)
}

// alone gives an activity without a call.
func (x *activityTracker) alone(a *activity, reason Reason, p *process) {
	if a.row.SameAsID != 0 {
		x.give(a) // its twin says what is missing
		return
	}
	n := note{table: "gpu_activities", id: a.row.ID, link: missAPICall, reason: reason, from: event.NoTime,
		to: timeOr(a.row.StartNS), proof: proofCall, proc: p, stream: a.stream}
	if a.row.CorrelationID.OK && a.row.CorrelationID.V > 0 {
		n.val = uint64(a.row.CorrelationID.V)
	}
	if reason != NotRecorded {
		n.proof = proofNever
	}
	x.e.unm.add(n)
	x.give(a)
}

func (x *activityTracker) give(a *activity) {
	x.e.rows.GPUActivities = append(x.e.rows.GPUActivities, a.row)
	x.e.n++
	a.given = true
	if !a.queued {
		x.pool.put(a)
	}
}

// evictPending gives the activity that has waited longest.
func (x *activityTracker) evictPending() {
	a := x.queue[x.qhead]
	x.queue[x.qhead] = nil
	x.qhead++
	if x.qhead >= maxPending {
		x.queue = append(x.queue[:0], x.queue[x.qhead:]...)
		x.qhead = 0
	}
	if a.given {
		return
	}
	x.dropPending(a)
	reason := Evicted
	if a.key.proc == nil || a.key.proc.calls == 0 {
		reason = NotRecorded
	} else {
		x.e.count(&anomalyEvicted)
	}
	x.alone(a, reason, a.key.proc)
}

// dropPending takes an activity off those that wait for its id.
func (x *activityTracker) dropPending(a *activity) {
	p := x.pending[a.key]
	if p == a {
		if a.next == nil {
			delete(x.pending, a.key)
		} else {
			x.pending[a.key] = a.next
		}
		return
	}
	for ; p != nil; p = p.next {
		if p.next == a {
			p.next = a.next
			return
		}
	}
}

func (x *activityTracker) finish() {
	for _, a := range x.queue[x.qhead:] {
		if a != nil && !a.given {
			x.alone(a, NotRecorded, a.key.proc)
		}
		x.e.flushFull()
	}
	x.queue = nil
	for _, d := range x.devOrder {
		x.giveGaps(d, d.gaps)
	}
	for _, o := range x.order[x.head:] {
		if o != nil {
			x.settle(o)
		}
		x.e.flushFull()
	}
}
