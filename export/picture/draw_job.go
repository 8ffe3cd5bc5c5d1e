package picture

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
	function "github.com/gpurec/gpurec/record/symbol"
)

// openJob is a job of which slices are still to be drawn.
type openJob struct {
	r        jobRow
	j        jobInfo
	ring     *ring
	thread   *Thread
	n        uint32 // in drawer.jobs
	refs     int    // slices announced
	what     string // what it is called
	isKernel bool
	links    rowLinks
}

func (d *drawer) newOpenJob(r *jobRow, j *jobInfo) *openJob {
	o, n := d.jobs.take()
	o.n, o.r, o.j, o.ring, o.thread = n, *r, *j, d.m.ringOf(j), d.m.threadOf(j)
	o.links.read = false
	return o
}

func (d *drawer) release(o *openJob) {
	if o.refs--; o.refs <= 0 {
		d.jobs.release(o.n)
	}
}

// drawJob draws job.queued, and announces its stages, job.running and the
// counters that fall. A row whose times are out of order comes before its first
// slice: that is announced too.
func (d *drawer) drawJob(r *jobRow, _ *key) {
	j := d.m.jobs.get(r.id)
	if j.flags&(jobQueued|jobHidden|jobRunning) == 0 {
		d.m.counters.Add(&AnomalyJobNotDrawn, 1)
		return
	}
	o := d.newOpenJob(r, &j)
	o.refs = 1
	o.what, o.isKernel = d.what(o)
	if at := j.queued; j.flags&(jobQueued|jobHidden) != 0 && at > r.at {
		d.announce(later{key: key{start: at, end: forever, class: classQueued}, op: opJob, ref: o.n})
		return
	}
	d.openJob(o)
}

func (d *drawer) openJob(o *openJob) {
	j := &o.j
	if j.flags&(jobQueued|jobHidden) != 0 {
		d.countJob(o)
	}
	if j.flags&jobQueued != 0 {
		d.drawQueued(o)
		d.announceStages(o)
	}
	if j.flags&jobRunning != 0 {
		o.refs++
		d.announce(later{key: key{start: j.start, end: j.end, class: classRunning}, op: opRunning, ref: o.n})
	}
	d.release(o)
}

// countJob raises the counters of a queued job, and announces their fall.
func (d *drawer) countJob(o *openJob) {
	j := &o.j
	inflight := d.inflight(j)
	d.add(o.ring.backlog, j.queued, 1)
	if inflight != nil {
		d.add(inflight, j.queued, 1)
	}
	left := j.done
	if left == never {
		left = j.finished
	}
	if left != never {
		left = max(left, j.queued)
		l := later{key: key{start: left, class: classRest}, op: opLower, ref: d.lower(o.ring.backlog)}
		if inflight != nil {
			l.dep = d.lower(inflight)
		}
		d.announce(l)
	}
	if j.flags&jobHidden != 0 {
		d.add(o.ring.hidden, j.queued, 1)
		if j.flags&jobRunning != 0 {
			left = j.start
		}
		if left != never { // else it is queued to the end
			d.announce(later{key: key{start: left, class: classRest}, op: opLower, ref: d.lower(o.ring.hidden)})
		}
	}
}

// inflight is the counter of a job's process on its device, or nil.
func (d *drawer) inflight(j *jobInfo) *counter {
	t := d.m.threadOf(j)
	if t == nil || j.flags&jobKernel != 0 {
		return nil
	}
	p, v := t.Process, d.m.ringOf(j).device
	c := p.inflight[v]
	if c == nil {
		c = &counter{track: p.track.childCounter(v.label+" jobs in flight", " jobs", 0)}
		if p.inflight == nil {
			p.inflight = map[*Device]*counter{}
		}
		p.inflight[v] = c
	}
	return c
}

// what a job is called: its kernel, else who submitted it.
func (d *drawer) what(o *openJob) (name string, isKernel bool) {
	switch {
	case o.r.kernel != 0:
		return d.shortOf(o.r.kernel), true
	case o.j.flags&jobKernel != 0:
		return "kernel", false
	case o.r.comm != 0:
		return d.m.symbols.text(o.r.comm), false
	}
	return "job", false
}

// shortOf is short of a symbol.
func (d *drawer) shortOf(n symbol) string {
	if n&farSymbol != 0 {
		return d.short(d.m.symbols.text(n))
	}
	for int(n) >= len(d.shortSymbols) {
		d.shortSymbols = append(d.shortSymbols, "")
	}
	if d.shortSymbols[n] == "" {
		d.shortSymbols[n] = function.Short(d.m.symbols.text(n))
	}
	return d.shortSymbols[n]
}

// short is [function.Short], remembered: few kernels make most launches.
func (d *drawer) short(name string) string {
	s, ok := d.shorts[name]
	if !ok {
		if len(d.shorts) > 1<<16 {
			clear(d.shorts)
		}
		s = function.Short(name)
		d.shorts[name] = s
	}
	return s
}

// appendJobID adds the number by which people know a job: " #54", else its fence.
func appendJobID(b []byte, o *openJob) []byte {
	switch {
	case o.j.flags&jobSched != 0:
		return strconv.AppendUint(append(b, " #"...), o.j.sched, 10)
	case o.r.marks.has(hasFence):
		return AppendPair(append(b, ' '), o.r.context, o.r.seq)
	}
	return b
}

// jobHeader writes name, category and colour of a slice of a job.
func (d *drawer) jobHeader(o *openJob, c Category, last bool) {
	b := appendJobID(append(d.buf[:0], o.what...), o)
	if last && o.r.marks.has(hasError) {
		b = append(append(append(b, " ("...), errorName(o.r.err)...), ')')
	}
	d.buf = b
	d.pen.NameOnce(b)
	d.pen.Category(c)
	if !o.isKernel && o.r.process != 0 {
		d.buf = strconv.AppendInt(append(d.buf[:0], "process "...), int64(o.r.process), 10)
		d.pen.Colour(d.buf)
	}
}

// jobArgs writes the arguments that both slices of a job have.
func (d *drawer) jobArgs(o *openJob) {
	r := &o.r
	d.pen.Int(argJobID, int64(r.id))
	if o.j.flags&jobSched != 0 {
		d.pen.Uint(argSchedJobID, o.j.sched)
	}
	d.argSymbol(argRing, r.ring)
	d.pen.Str(argDevice, o.ring.device.arg)
	d.argIf(argPID, r.marks.has(hasPID), r.pid)
	d.argIf(argTID, r.marks.has(hasTID), r.tid)
	if o.thread != nil && o.thread.Process.Inferred {
		d.pen.True(argPIDInferred)
	}
	if r.marks.has(hasFence) {
		d.pen.Pair(argFence, r.context, r.seq)
	}
	if r.marks.has(low32) {
		d.pen.True(argLow32)
	}
}

func (d *drawer) argDur(a Arg, v correlate.OptDur) {
	if v.OK {
		d.pen.Int(a, v.V)
	}
}

// argEnd says how a job ended whose end was not seen.
func (d *drawer) argJobEnd(j *jobInfo) {
	switch {
	case j.flags&jobLost != 0:
		d.pen.Str(argEnd, "lost")
	case j.flags&jobOpen != 0:
		d.pen.Str(argEnd, "after_stop")
	}
}

// argLostEnd says when a job left its ring whose end was not seen, or cannot be
// drawn since the ring ran another: the backlog falls then.
func (d *drawer) argLostEnd(j *jobInfo, r *jobRow) {
	switch {
	case j.flags&jobLost == 0:
	case j.done != never:
		d.pen.Int(argDoneNS, r.done)
	case j.finished != never:
		d.pen.Int(argFinishedNS, r.finished)
	}
}

func (d *drawer) drawQueued(o *openJob) {
	j, r := &o.j, &o.r
	d.begin(o.ring.queued.track(int(j.lane)), j.queued, j.queuedEnd())
	alone := j.flags&jobRunning == 0
	d.jobHeader(o, catQueued, alone)
	d.jobArgs(o)
	d.argIf(argQueueDelayNS, r.marks.has(hasDelay), r.delay)
	d.argIf(argHWQueueNS, r.marks.has(hasHWQueue), r.hwQueue)
	d.argCut(r.marks)
	if alone {
		d.argIf(argError, r.marks.has(hasError), r.err)
		d.argJobEnd(j)
		d.argLostEnd(j, r)
		d.pen.Str(argUnmatchedReason, d.m.reason(tabJob, r.id))
	}
	links := d.jobLinks(o)
	d.links(links.to, ioctlLink)
	d.flows(links, slotQueued)
	d.pen.Done()
}

func (d *drawer) drawRunning(o *openJob) {
	j, r := &o.j, &o.r
	d.begin(o.ring.track, j.start, j.end)
	d.jobHeader(o, catRunning, true)
	d.jobArgs(o)
	if r.marks.has(hasHWFence) {
		d.pen.Pair(argHWFence, r.hwContext, r.hwSeq)
	}
	d.argIf(argQueueDelayNS, r.marks.has(hasDelay), r.delay)
	d.argIf(argHWQueueNS, r.marks.has(hasHWQueue), r.hwQueue)
	d.argIf(argDeviceTimeNS, r.marks.has(hasDevice), r.deviceTime)
	d.argCut(r.marks)
	if d.m.ioctls.get(r.ioctl).ok() {
		d.pen.Int(argIoctlID, int64(r.ioctl))
	}
	if api := d.m.drawnAs(tabAPI, r.api); d.m.apis.get(api).ok() {
		d.pen.Int(argAPICallID, int64(api))
	}
	d.argIf(argError, r.marks.has(hasError), r.err)
	if j.flags&jobHidden != 0 {
		d.pen.True(argQueuedHidden)
		if !r.marks.has(hasDelay) || !r.marks.has(hasHWQueue) { // nothing else tells
			d.pen.Int(argQueuedNS, r.queued)
		}
	}
	d.argJobEnd(j)
	d.argLostEnd(j, r)
	if j.flags&jobLost == 0 && j.finished != never && j.done != never {
		d.pen.Int(argFinishedNS, r.finished)
	}
	d.pen.Str(argUnmatchedReason, d.m.reason(tabJob, r.id))
	links := d.jobLinks(o)
	d.links(links.to, jobLink)
	d.flows(links, slotRunning)
	d.pen.Done()
	d.release(o)
}

// jobLinks are the links of a job, read once for its two slices.
func (d *drawer) jobLinks(o *openJob) *rowLinks {
	if !o.links.read {
		d.m.readLinks(&o.links, tabJob, o.r.id)
	}
	return &o.links
}

// announceStages cuts job.queued into stages without holes: before run, what a
// dependency explains and what none does; after it, the hardware queue.
func (d *drawer) announceStages(o *openJob) {
	j := &o.j
	start, stop := j.queued, j.queuedEnd()
	run := stop
	if j.run != never {
		run = min(max(j.run, start), stop)
	}
	at := start
	for _, x := range d.depsOf(j) {
		b := min(run, d.doneOf(x.on, run))
		a := max(x.at, at)
		if b <= a {
			continue
		}
		d.stage(o, opStageQueue, at, a, 0)
		d.stage(o, opDependency, a, b, x.next)
		at = b
	}
	d.stage(o, opStageQueue, at, run, 0)
	d.stage(o, opStageHW, run, stop, 0)
}

// depsOf lists a job's dependencies in the order in which the scheduler looked
// at them; next is the number of each itself.
func (d *drawer) depsOf(j *jobInfo) []dep {
	list := d.depList[:0]
	for i := j.deps; i != 0; {
		x := d.m.deps.value(i)
		i, x.next = x.next, i
		list = append(list, x)
	}
	d.depList = list
	if len(list) > 1 {
		slices.SortFunc(list, func(a, b dep) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.next, b.next))
		})
	}
	return list
}

// doneOf is when a job was done, or otherwise if that is not known.
func (d *drawer) doneOf(id correlate.ID, otherwise int64) int64 {
	j := d.m.jobs.get(id)
	switch {
	case j.flags&jobPut == 0:
	case j.done != never:
		return j.done
	case j.finished != never:
		return j.finished
	}
	return otherwise
}

func (d *drawer) stage(o *openJob, op laterOp, start, end int64, dep uint32) {
	if end <= start {
		return
	}
	o.refs++
	d.announce(later{key: key{start: start, end: end, class: classQueued}, op: op, ref: o.n, dep: dep})
}

func (d *drawer) drawStage(l *later) {
	o := d.jobs.all[l.ref]
	d.begin(o.ring.queued.track(int(o.j.lane)), l.key.start, l.key.end)
	switch l.op {
	case opStageQueue:
		d.buf = appendJobID(append(d.buf[:0], "queued"...), o)
		d.pen.NameOnce(d.buf)
		d.pen.Category(catStageQueue)
	case opStageHW:
		d.buf = appendJobID(append(d.buf[:0], "hw queue"...), o)
		d.pen.NameOnce(d.buf)
		d.pen.Category(catStageHWQueue)
	default:
		x := d.m.deps.value(l.dep)
		d.dependency(o, &x)
	}
	d.pen.Done()
	d.release(o)
}

func (d *drawer) dependency(o *openJob, x *dep) {
	other := d.m.jobs.get(x.on)
	b := append(d.buf[:0], "waits for"...)
	if other.flags&jobSched != 0 {
		b = strconv.AppendUint(append(b, " #"...), other.sched, 10)
	} else if x.known {
		b = AppendPair(append(b, ' '), x.ctx, x.seq)
	}
	d.buf = b
	d.pen.NameOnce(b)
	d.pen.Category(catStageDependency)
	d.pen.Int(argJobID, int64(o.r.id)) // the job's own slice may stand in another row
	d.pen.Int(argDependsOnJobID, int64(x.on))
	if r := d.m.ringOf(&other); r != nil {
		d.pen.Str(argDependsOnRing, r.name)
	}
	if x.known {
		d.pen.Pair(argDependsOnFence, x.ctx, x.seq)
	}
}
