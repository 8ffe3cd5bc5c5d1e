package chromejson

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// An export of gpurec's own is known by its first event (docs/chromejson.md):
// the name of the process gpurec, whose arguments tell the version, the clock,
// and the time from which all others count. What it draws becomes the events
// from which it was drawn. Without that event, or with another before it, a
// file is any other's.

// markVersion is the version of exports that is read.
const markVersion = 1

// ownTrace reads an export of gpurec's.
type ownTrace struct {
	m     *mapper
	on    bool
	clock event.Clock
	own   own.Mapper
	args  own.Args
	batch *event.Batch // in work

	procs   map[int64]*ownProc
	order   []*ownProc
	rows    map[whoKey]*ownRow
	last    [8]*ownRow
	devices map[int64]string // by the number that activities give
	cpus    []*ownCPU
	open    openSlices
	texts   arena // which outlive a batch: an end comes later than its begin
}

func (o *ownTrace) init(m *mapper) {
	o.m = m
}

// start begins to read an export.
func (o *ownTrace) start(clock event.Clock, base event.Time) {
	o.on, o.clock, o.m.base = true, clock, base
	o.procs, o.rows, o.devices = map[int64]*ownProc{}, map[whoKey]*ownRow{}, map[int64]string{}
	o.own = own.Mapper{
		Add: func(k event.Kind, t event.Time) *event.Event {
			o.m.span(t)
			return o.batch.Add(k, t)
		},
		Derived: o.derived,
		Note:    o.m.note,
		Device:  func(n int64) string { return o.devices[n] },
		Source:  "chrome:gpurec",
	}
}

func (o *ownTrace) derived() { o.m.note(&AnomalyDerived) }

// event maps an event of an export. It reports false, and gives nothing, if it
// is another's.
func (o *ownTrace) event(b *event.Batch, r *record, ts event.Time) bool {
	o.batch = b
	if ts.Known() {
		o.endBefore(ts)
	}
	switch r.ph {
	case 'X':
		return o.slice(r, ts)
	case 'i':
		return o.instant(r, ts)
	case 'C':
		return o.counter(r, ts)
	case 's', 'f':
		if o.m.category(r).name == "flow" {
			o.derived()
			return true
		}
	}
	return false
}

// drawn says what a slice or an instant is. ok is false if it is surely another's.
func (o *ownTrace) drawn(r *record, ts event.Time) (d own.Drawn, ok bool) {
	row := o.row(r)
	if row == nil {
		return d, false
	}
	category := o.m.category(r).name
	o.readArgs(r, category == "loss")
	if !row.ours && !o.args.Known() {
		return d, false
	}
	return own.Drawn{Time: ts, Name: o.m.text(r.name, r.nameFl), Category: category, PID: row.pid, TID: row.tid,
		Track: row.track, Beside: row.beside || row.tid == event.NoID, Ours: row.ours, Args: &o.args}, true
}

func (o *ownTrace) slice(r *record, ts event.Time) bool {
	if r.dur.kind != tokenBare || !ts.Known() {
		return false
	}
	ns, st := parseMicros(o.m.lex.b[r.dur.from:r.dur.to])
	if st != timeExact || ns < 0 {
		return false
	}
	end := ts + event.Time(ns)
	if end < ts {
		return false
	}
	if row := o.row(r); row != nil && row.cpu != nil {
		return o.ran(row.cpu, r, ts, end)
	}
	d, ok := o.drawn(r, ts)
	if !ok {
		return false
	}
	k := o.open.get()
	if !o.own.Begin(&d, &k.own) {
		o.open.put(k)
		return false
	}
	o.m.span(ts)
	k.end = end
	if !o.open.push(k) { // too many: the log puts it in order
		o.own.End(&k.own, end)
		o.open.put(k)
	}
	return true
}

func (o *ownTrace) instant(r *record, ts event.Time) bool {
	if r.s.kind != tokenText {
		return false
	}
	d, ok := o.drawn(r, ts)
	return ok && o.own.Instant(&d)
}

// endBefore gives the ends of all slices that end at or before a time, as they
// were drawn: inner ones first.
func (o *ownTrace) endBefore(t event.Time) {
	for len(o.open.heap) > 0 && o.open.heap[0].end <= t {
		k := o.open.pop()
		o.own.End(&k.own, k.end)
		o.open.put(k)
	}
}

// close ends the trace.
func (o *ownTrace) close(b *event.Batch) {
	if !o.on {
		return
	}
	o.batch = b
	o.endBefore(event.Time(1<<63 - 1))
	for _, c := range o.cpus {
		c.leave(o)
	}
	for _, p := range o.order {
		o.tell(p)
	}
}

// readArgs reads the arguments of an event. Members of the event itself that no
// export writes make it another's.
func (o *ownTrace) readArgs(r *record, loss bool) {
	a, b := &o.args, o.m.lex.b
	a.Reset()
	if r.extras > 0 || r.args.set() {
		a.Meet("")
	}
	for i := range r.members {
		x := &r.members[i]
		arg, ok := a.MeetBytes(b[x.key.from:x.key.to])
		if !ok {
			continue
		}
		v := b[x.val.from:x.val.to]
		switch {
		case v[0] != '"':
			if string(v) == "true" {
				a.SetUint(arg, 1)
			} else if n, ok := parseNumber(v); ok {
				a.SetUint(arg, n.v)
			}
		case arg.IsNumber() || arg == own.ArgStream && !loss:
			if n, ok := parseNumber(v[1 : len(v)-1]); ok {
				a.SetUint(arg, n.v)
			}
		default:
			a.SetStr(arg, o.longText(span{x.val.from + 1, x.val.to - 1}))
		}
	}
}

// longText returns the text at s, which may be as long as arguments.
func (o *ownTrace) longText(s span) string {
	m := o.m
	b := m.lex.b[s.from:s.to]
	if len(b) > 0 && (b[0] > '9' || b[0] < '0') && len(b) <= 32 { // a word
		return m.text(s, textEscaped)
	}
	m.held += len(b)
	dst, ok := unquote(o.texts.begin(len(b)), b)
	if !ok {
		m.note(&AnomalyTextMended)
	}
	if len(dst) > maxArgs {
		m.note(&AnomalyTextCut)
		dst = cutRunes(dst, maxArgs)
	}
	return o.texts.end(dst)
}
