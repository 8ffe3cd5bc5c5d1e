package picture

import (
	"fmt"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// drawer writes the trace. All sources are merged by time:
//
//  1. the least key among the heads of the sorted rows and the slices that
//     earlier rows announced (stages, job.running, woken, counter values) is next;
//  2. all slices that end at or before its start are ended, inner ones first:
//     so an END stands before a BEGIN of the same nanosecond;
//  3. it is drawn: its track is described if it is new, and a slice that does
//     not lie inside the one around it goes to the thread's track `overlapping`.
type drawer struct {
	m    *model
	rows *rowSorters
	pen  Pen
	sum  *correlate.Summary
	o    *Picture

	start, end int64
	window     int64
	devices    []*Device
	procs      []*Process

	feeds        []feed
	heads        []*key // of the feeds; nil at the end of one
	later        laterHeap
	ends         endHeap
	seq          uint64
	jobs         pool[openJob]
	wakes        pool[wake]
	lowered      []*counter // by number, from 1
	values       []value
	devArgs      [16]devArg
	lossL        *lanes
	odd          *Track // anomalies
	logs         *Track
	gpurec       *Track
	loneMarks    *Track
	loose        map[*Device]*streams // activities without a process
	lone         *lanes               // rows without thread and process
	plain        map[string]*Track
	tracks       map[namedTrack]*lanes
	shorts       map[string]string // short kernel names
	shortSymbols []string          // the same by symbol
	depList      []dep
	counted      map[countedIn]bool
	inflights    []*counter // in the order in which jobs need them
	launches     *export.Sorter[launch]
	kinds        map[symbol]string // categories of activities
	lastStreams  lastStreams
	buf          []byte
	slices       int64
	samples      int64
	stages       StagePen // nil unless render stages are asked for

	submitHead table[uint32] // number of the last activity of an API call
	submitted  list[submitted]
	submitIDs  []correlate.ID // reused
}

// key orders what is drawn. class puts the source of a flow before its target,
// and a thread's calls before what happens inside, where both start at once.
type key struct {
	start, end int64
	class      uint8
	depth      int32
	id         int64
}

// Classes: API calls, ioctls and host slices; queued jobs with their stages;
// what runs on the device; waits; wakes; counters and instants.
const (
	classCall uint8 = iota
	classQueued
	classRunning
	classWait
	classWake
	classRest
)

func (a *key) less(b *key) bool {
	switch {
	case a.start != b.start:
		return a.start < b.start
	case a.class != b.class:
		return a.class < b.class
	case a.end != b.end:
		return a.end > b.end
	case a.depth != b.depth:
		return a.depth < b.depth
	}
	return a.id < b.id
}

func newDrawer(o *Picture, pen Pen, sum *correlate.Summary) *drawer {
	d := &drawer{m: o.m, rows: o.rows, sum: sum, o: o, pen: pen,
		plain: map[string]*Track{}, tracks: map[namedTrack]*lanes{}, shorts: map[string]string{}, kinds: map[symbol]string{}, counted: map[countedIn]bool{}}
	d.start, d.end = int64(sum.Start), int64(sum.End)
	if !sum.Start.Known() || !sum.End.Known() || isFar(d.start) || isFar(d.end) {
		d.start, d.end = max(o.m.min, 0), max(o.m.max, 0)
	}
	if o.m.min != never { // rows may begin before the first event: complete ones are told at their end
		d.start, d.end = min(d.start, o.m.min), max(d.end, o.m.max)
	}
	if c := &o.m.clip; o.o.Window != nil {
		d.start, d.end = c.time(d.start), c.time(d.end)
	}
	return d
}

func (d *drawer) run() error {
	if err := d.plan(); err != nil {
		return err
	}
	d.pen.Start(d.scene())
	if err := d.drawCPUs(); err != nil {
		return err
	}
	d.openFeeds()
	d.first()
	for d.pen.Err() == nil && d.m.pages.err == nil {
		if !d.step() {
			break
		}
	}
	if err := d.m.pages.err; err != nil {
		return err
	}
	d.endBefore(forever)
	d.anomalies()
	if err := d.pen.Err(); err != nil {
		return err
	}
	for _, f := range d.feeds {
		if err := f.err(); err != nil {
			return err
		}
	}
	return nil
}

// step draws the next slice, counter value or instant. It returns false at the end.
func (d *drawer) step() bool {
	var first *key
	best := -1
	for i, k := range d.heads {
		if k != nil && (first == nil || k.less(first)) {
			first, best = k, i
		}
	}
	if len(d.later.s) > 0 && (first == nil || d.later.s[0].key.less(first)) {
		l := d.later.pop()
		d.endBefore(l.key.start)
		d.drawLater(&l)
		return true
	}
	if first == nil {
		return false
	}
	d.endBefore(first.start)
	f := d.feeds[best]
	f.draw(d)
	d.heads[best] = f.head()
	return true
}

// clip makes an end that was not seen the end of the trace.
func (d *drawer) clip(start, end int64) int64 {
	if end == forever {
		return max(d.end, start)
	}
	return end
}

// opened is an open slice.
type opened struct {
	end   int64
	seq   uint64
	track *Track
}

// less puts the earliest end first; of equal ones the slice opened last.
func (o *opened) less(p *opened) bool {
	if o.end != p.end {
		return o.end < p.end
	}
	return o.seq > p.seq
}

// endBefore ends all slices that end at or before t.
func (d *drawer) endBefore(t int64) {
	for len(d.ends.s) > 0 && d.ends.s[0].end <= t {
		o := d.ends.pop()
		o.track.open = o.track.open[:len(o.track.open)-1]
		d.pen.End(o.track, o.end)
	}
}

// begin starts a slice on a track that it nests in; w then takes its name and
// arguments, and d.pen.Done() writes it.
func (d *drawer) begin(t *Track, start, end int64) {
	if !t.nests(end) {
		panic(fmt.Sprintf("picture: slice %d-%d does not nest in track %q", start, end, t.Name))
	}
	t.open = append(t.open, end)
	d.seq++
	d.slices++
	d.ends.push(opened{end, d.seq, t})
	d.pen.Begin(t, start, end)
}

// beginThread is begin on a thread's track, or beside it where the slice does
// not nest. It returns the track, and whether that was so.
func (d *drawer) beginThread(t *Thread, start, end int64) (on *Track, overlaps bool) {
	switch {
	case t == nil:
		d.m.counters.Add(&AnomalyNoThread, 1)
		if d.lone == nil {
			d.lone = &lanes{parent: d.gpurec, name: "no thread", rank: 4}
		}
		on = d.lone.track(d.lone.take(start, end))
	case t.track.nests(end):
		on = t.track
	default:
		on, overlaps = d.beside(t, start, end), true
	}
	d.begin(on, start, end)
	return on, overlaps
}

// beside is a free lane of a thread's track `overlapping`.
func (d *drawer) beside(t *Thread, start, end int64) *Track {
	d.m.counters.Add(&AnomalyOverlap, 1)
	if t.overlap == nil {
		t.overlap = &lanes{parent: t.track, name: "overlapping", rank: 1}
	}
	return t.overlap.track(t.overlap.take(start, end))
}

// instant starts an instant.
func (d *drawer) instant(t *Track, at int64) {
	d.pen.Instant(t, at)
}

// add changes a counter.
func (d *drawer) add(c *counter, at, by int64) {
	c.value += by
	c.begun = true
	d.pen.Count(c.track, at, c.value)
}

// later is something that an earlier row announced. It holds no pointers, since
// a heap moves it about.
type later struct {
	key key
	op  laterOp
	ref uint32 // number of the job or wake in its pool, of a counter, or in values
	dep uint32 // opDependency: number in deps; opLower: a second counter, or 0
}

type laterOp uint8

const (
	opRunning laterOp = iota
	opJob
	opStageQueue
	opStageHW
	opDependency
	opWoken
	opLower
	opValue
)

func (l *later) less(m *later) bool { return l.key.less(&m.key) }

// value is a counter's value to come.
type value struct {
	c *counter
	v float64
}

// pool holds what a later names by number. Numbers of what is let go are given
// anew.
type pool[T any] struct {
	all  []*T
	free []uint32
}

// take returns a place; what it held before is still in it.
func (p *pool[T]) take() (*T, uint32) {
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return p.all[i], i
	}
	p.all = append(p.all, new(T))
	return p.all[len(p.all)-1], uint32(len(p.all) - 1)
}

func (p *pool[T]) release(i uint32) { p.free = append(p.free, i) }

// lower is the number by which a counter's fall is announced.
func (d *drawer) lower(c *counter) uint32 {
	if c.n == 0 {
		d.lowered = append(d.lowered, c)
		c.n = uint32(len(d.lowered))
	}
	return c.n
}

func (d *drawer) announce(l later) {
	d.seq++
	l.key.id = int64(d.seq)
	d.later.push(l)
}

func (d *drawer) drawLater(l *later) {
	switch l.op {
	case opJob:
		d.openJob(d.jobs.all[l.ref])
	case opRunning:
		d.drawRunning(d.jobs.all[l.ref])
	case opStageQueue, opStageHW, opDependency:
		d.drawStage(l)
	case opWoken:
		d.drawWoken(d.wakes.all[l.ref])
		d.wakes.release(l.ref)
	case opLower:
		d.add(d.lowered[l.ref-1], l.key.start, -1)
		if l.dep != 0 {
			d.add(d.lowered[l.dep-1], l.key.start, -1)
		}
	case opValue:
		x := &d.values[l.ref]
		d.pen.CountReal(x.c.track, l.key.start, x.v)
	}
}
