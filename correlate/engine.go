package correlate

import (
	"errors"
	"io"

	"github.com/gpurec/gpurec/record/event"
)

// The algorithm, once:
//
//  1. Events come ordered by time. Each first teaches identity (which thread,
//     which process), then goes to the tracker of its kind.
//  2. A tracker opens a row at the row's first event, which fixes its id, and
//     holds it while something may still change it.
//  3. What a tracker learns (this fence belongs to that job) it tells to the
//     others at once; nothing is looked up in rows already given.
//  4. A row leaves when it is complete, when a cap forces it out (counted,
//     marked evicted) or at the end. Links are given when they are made.
//  5. A missing partner is noted with the interval in which its event should
//     have been. Notes wait, bounded, because losses are told after the fact.

// defaultBatchRows is the default of Options.BatchRows.
const defaultBatchRows = 4096

// core is what the engines of all domains of a log have in common: where
// rows go, and their numbers.
type core struct {
	o     Options
	caps  Caps   // of each domain
	tick  uint64 // events so far
	emit  func(*Rows) error
	rows  Rows
	n     int // rows gathered
	err   error
	sum   Summary
	seq   sequence
	key   []byte    // scratch for keys of links
	all   []*engine // the first is that of domain 0
	byID  map[uint64]*engine
	names nameTable
}

// sequence holds the last row number of each table.
type sequence struct {
	call, ioctl, job, fence, wait, activity, slice, ring, loss, process, thread, device ID
	mark, other, memMap, reset                                                          ID
	deviceGone                                                                          int64
}

// engine runs the trackers over the events of one domain: a machine, or what
// an unaligned input tells. A log of one recording has one.
type engine struct {
	*core
	domain    uint64
	unaligned bool                   // its times are of another clock than the log's
	events    [event.NumKinds]uint64 // of this domain
	now       event.Time             // greatest time so far

	ids   idTracker
	loss  lossTracker
	unm   unmatchedTracker
	api   apiTracker
	ioctl ioctlTracker
	job   jobTracker
	fence fenceTracker
	ring  ringTracker
	act   activityTracker
	slice sliceTracker
	cpu   cpuTracker
	misc  miscTracker
}

func newEngine(o Options, emit func(*Rows) error) *engine {
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	o.Caps = o.Caps.withDefaults(o.MaxOpen)
	s := &core{o: o, caps: o.Caps, emit: emit}
	s.sum = Summary{Rows: make(map[string]uint64, len(Tables)), Start: event.NoTime, End: event.NoTime}
	return s.engine(0)
}

// engine makes the engine of a domain.
func (s *core) engine(domain uint64) *engine {
	e := &engine{core: s, domain: domain, now: event.NoTime}
	e.ids.init(e)
	e.loss.e = e
	e.unm.e = e
	e.api.init(e)
	e.ioctl.init(e)
	e.job.init(e)
	e.fence.init(e)
	e.ring.init(e)
	e.act.init(e)
	e.slice.init(e)
	e.cpu.init(e)
	e.misc.e = e
	s.all = append(s.all, e)
	return e
}

func (e *engine) run(src MetaSource) (*Summary, error) {
	var b event.Batch
	for {
		if err := src.Next(&b); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		for i := range b.Events {
			e.of(&b.Events[i]).event(&b.Events[i])
			if e.n >= e.o.BatchRows {
				e.flush()
			}
		}
		if e.err != nil {
			return nil, e.err
		}
	}
	e.sum.Meta = *src.Meta()
	e.finishAll()
	if e.err != nil {
		return nil, e.err
	}
	sum := e.sum // by itself: what was joined is let go while the rows are written
	return &sum, nil
}

// event takes one event through identity and its tracker.
func (e *engine) event(ev *event.Event) {
	if ev.Kind >= event.NumKinds {
		e.count(&anomalyUnknownKind)
		return
	}
	e.sum.Events[ev.Kind]++
	e.events[ev.Kind]++
	e.tick++
	e.clock(ev)
	if e.identity(ev) {
		return
	}
	e.fence.tick(ev)
	t := e.ids.thread(ev)
	if len(e.api.exiting) > 0 && ev.Kind != event.KindAPIExit {
		e.api.settleExits(t) // what its thread does next is in none of them
	}
	if e.unaligned && t.proc != nil {
		t.proc.row.Unaligned = true
	}
	switch ev.Kind {
	case event.KindAPIEnter:
		e.api.enter(ev, t)
	case event.KindAPIExit:
		e.api.exit(ev, t)
	case event.KindAPI:
		e.api.complete(ev, t)
	case event.KindIoctlEnter:
		e.ioctl.enter(ev, t)
	case event.KindIoctlExit:
		e.ioctl.exit(ev, t)
	case event.KindIoctl:
		e.ioctl.complete(ev, t)
	case event.KindJobQueue, event.KindJobDep, event.KindJobRun, event.KindJobDone:
		e.job.event(ev, t)
	case event.KindJobNote:
		e.job.jobNote(ev, t)
	case event.KindFenceInit, event.KindFenceEmit, event.KindFenceEnable,
		event.KindFenceSignal, event.KindFenceDestroy:
		e.fence.event(ev, t)
	case event.KindFenceWaitStart:
		e.fence.waitStart(ev, t)
	case event.KindFenceWaitEnd:
		e.fence.waitEnd(ev, t)
	case event.KindGPUActivity:
		e.act.event(ev, t)
	case event.KindSliceBegin, event.KindSliceEnd, event.KindSlice:
		e.slice.event(ev, t)
	case event.KindSchedSwitch, event.KindSchedWaking, event.KindSchedWakeup,
		event.KindIRQEntry, event.KindIRQExit:
		e.cpu.event(ev, t)
	default:
		e.misc.event(ev, t)
	}
}

// identity takes the events that are about identity and losses alone.
func (e *engine) identity(ev *event.Event) bool {
	switch ev.Kind {
	case event.KindTask:
		e.ids.task(ev)
	case event.KindProcess:
		e.ids.processEvent(ev)
	case event.KindThread:
		e.ids.threadEvent(ev)
	case event.KindDevice:
		e.ids.deviceEvent(ev)
	case event.KindLoss:
		e.loss.event(ev)
	default:
		return false
	}
	return true
}

// clock advances the watermark and the extent of the run.
func (e *engine) clock(ev *event.Event) {
	if !ev.Time.Known() {
		return
	}
	if ev.Flags&event.FlagUnaligned != 0 {
		e.unaligned = true // it tells nothing of when the run was
	} else {
		e.extend(ev.Time)
	}
	if s := ev.TimeOf(event.FieldStart); s.Known() && ev.Kind != event.KindProcess && !e.unaligned {
		e.extend(s)
	}
	if ev.Time < e.now {
		e.count(&anomalyTimeBack)
		return
	}
	if ev.Time > e.now && len(e.fence.ended) > 0 {
		e.fence.giveWaits()
	}
	if ev.Time > e.now && len(e.api.whole)+len(e.api.exiting) > 0 {
		e.api.instantOver()
	}
	e.now = ev.Time
	e.ids.bury()
}

func (e *engine) extend(t event.Time) {
	if !e.sum.Start.Known() || t < e.sum.Start {
		e.sum.Start = t
	}
	if t > e.sum.End {
		e.sum.End = t
	}
}

// finishAll closes every domain, and gives what is known of the run as a whole.
func (e *engine) finishAll() {
	for _, d := range e.all {
		d.finish()
	}
	e.finishDevices()
	for _, d := range e.all {
		d.ids.finish()
	}
	e.flush() // it notes the last names
	e.finishNames()
	e.misc.finish()
	e.flush()
}

// finish closes what is open, in the order of dependence, and gives the rows
// that summarise.
func (e *engine) finish() {
	e.api.finish()
	e.fence.finishWaits()
	e.job.finish()
	e.ioctl.finish()
	e.fence.finish()
	e.act.finish()
	e.slice.finish()
	e.cpu.finish()
	e.ring.finish()
	e.misc.finishResets()
	e.unm.finish()
}

// flush gives the gathered rows out.
func (e *engine) flush() {
	e.noteNames(&e.rows)
	for _, t := range Tables {
		if n := t.Len(&e.rows); n > 0 {
			e.sum.Rows[t.Name] += uint64(n)
		}
	}
	if e.err == nil {
		e.err = e.emit(&e.rows)
	}
	e.rows.Reset()
	e.n = 0
}

func (e *engine) count(spec *event.AnomalySpec) { e.sum.Counters.Add(spec, 1) }
