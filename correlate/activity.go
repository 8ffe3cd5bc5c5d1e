package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

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
type streamState struct {
	first OptTime
	late  bool // it may have been known before, and forgotten
}

// activity is an activity that waits for its call.
type activity struct {
	row    GPUActivity
	key    correlationKey
	stream *streamState
	prev   *activity // of the same key
	next   *activity
	queued bool // in the list of those that wait
	given  bool
}

// waiting are the activities that wait for one call, in the order of the log.
type waiting struct{ first, last *activity }

type activityTracker struct {
	e        *engine
	pool     pool[activity]
	corr     pool[correlation]
	calls    map[correlationKey]*correlation
	order    []*correlation
	head     int
	pending  map[correlationKey]waiting
	queue    []*activity
	qhead    int
	text     int // bytes of the texts of those that wait
	gaps     int // of all devices
	streams  map[streamKey]*streamState
	devs     map[ID]*actDevice
	devOrder []*actDevice

	recent    aging[*process, *recentActivities]
	witness   map[string]uint8 // by source, and by what stands before its colon
	witnesses int
}

func (x *activityTracker) init(e *engine) {
	x.e = e
	x.calls = map[correlationKey]*correlation{}
	x.pending = map[correlationKey]waiting{}
	x.streams = map[streamKey]*streamState{}
	x.devs = map[ID]*actDevice{}
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
		launches: c.spec.launches() && !c.sameID, graph: c.spec.class == gpu.ClassGraphLaunch, root: r.ParentID == 0}
	c.entry = o
	x.calls[k] = o
	x.order = append(x.order, o)
	for a := x.pending[k].first; a != nil; {
		next := a.next
		x.text -= a.textSize()
		x.join(a, o)
		a = next
	}
	delete(x.pending, k)
	for len(x.order)-x.head > x.e.caps.Correlations {
		x.evict()
	}
}

// trim lets go of what is beyond the caps.
func (x *activityTracker) trim() {
	for len(x.order)-x.head > x.e.caps.Correlations {
		x.evict()
		x.e.flushFull()
	}
	x.trimPending()
	x.trimGaps()
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
	if x.head >= x.e.caps.Correlations {
		x.order = slices.Delete(x.order, 0, x.head)
		x.head = 0
	}
	delete(x.calls, o.key)
	if p := o.key.proc; p != nil {
		p.forgotCorrelation = max(p.forgotCorrelation, o.key.id)
	}
	if o.unmatched() && !o.ambiguous && x.e.events[event.KindGPUActivity] > 0 {
		x.e.count(&anomalyEvicted)
		x.e.unm.now("api_calls", o.apiID, missActivity, Evicted)
		return
	}
	x.settle(o)
}

// unmatched reports whether a call is to have led to work, and did not so far.
func (o *correlation) unmatched() bool { return o.launches && o.root && o.matched == 0 }

// settle says why a call that launches led to no activity.
func (x *activityTracker) settle(o *correlation) {
	if o.unmatched() {
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
	dev := x.e.ids.device(ev.Str(event.FieldDevice), "")
	x.fill(&a.row, ev, t)
	if dev != nil {
		a.row.DeviceID = dev.row.ID
	}
	a.row.ID = x.e.seq.activity
	a.stream = x.streamOf(&a.row, t.proc)
	by := x.witnessID(ev.Source)
	x.meet(&a.row, t.proc, by)
	if !a.row.CorrelationID.OK || a.row.CorrelationID.V <= 0 {
		x.busy(&a.row, dev, a.key)
		x.alone(a, NotRecorded, t.proc)
		return
	}
	a.key = correlationKey{t.proc, a.row.CorrelationID.V, by}
	x.busy(&a.row, dev, a.key)
	if o := x.calls[a.key]; o != nil {
		x.join(a, o)
		return
	}
	w := x.pending[a.key]
	a.prev = w.last
	if w.last != nil {
		w.last.next = a
	} else {
		w.first = a
	}
	w.last = a
	x.pending[a.key] = w
	a.queued = true
	x.queue = append(x.queue, a)
	x.text += a.textSize()
	x.trimPending()
}

// textSize is how many bytes of text an activity holds.
func (a *activity) textSize() int { return len(a.row.Name) + len(a.row.Args) }

func (x *activityTracker) fill(r *GPUActivity, ev *event.Event, t *thread) {
	kind, _ := ev.Uint(event.FieldActivity)
	*r = GPUActivity{
		ProcessID: t.processID(), PID: t.pid,
		Kind: event.Activity(kind).String(), Name: ev.Str(event.FieldName),
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
		s = &streamState{late: x.e.ids.procsLetGo || x.e.seq.deviceGone > 0}
		if len(x.streams) < x.e.caps.Contexts {
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
		if !a.stream.late && (!a.stream.first.OK || r.StartNS.V < a.stream.first.V) {
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
	if k := a.key; reason == NotRecorded && k.proc != nil && k.id > 0 && k.id <= k.proc.forgotCorrelation && k.id >= k.proc.minCorrelation.V {
		reason = Evicted
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

// trimPending gives the activities that have waited longest, beyond the caps.
func (x *activityTracker) trimPending() {
	for n := len(x.queue) - x.qhead; n > x.e.caps.Activities || x.text > x.e.caps.Text && n > 0; n-- {
		x.evictPending()
	}
}

// evictPending gives the activity that has waited longest.
func (x *activityTracker) evictPending() {
	a := x.queue[x.qhead]
	x.queue[x.qhead] = nil
	x.qhead++
	if x.qhead >= x.e.caps.Activities {
		x.queue = slices.Delete(x.queue, 0, x.qhead)
		x.qhead = 0
	}
	if a.given {
		x.pool.put(a)
		return
	}
	x.dropPending(a)
	x.text -= a.textSize()
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
	w := x.pending[a.key]
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		w.first = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		w.last = a.prev
	}
	if w.first == nil {
		delete(x.pending, a.key)
	} else {
		x.pending[a.key] = w
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
