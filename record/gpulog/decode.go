package gpulog

import (
	"errors"

	"github.com/gpurec/gpurec/record/event"
)

// errBody says that a body is not what the format asks for, although its
// checksum is right.
var errBody = errors.New("its checksum is right but its content is not as the format says")

// decoder reads the events of one block, a batch at a time: load takes the
// directory, and next goes forward in all columns at once.
type decoder struct {
	strs    []string // by number; number 0 is ""
	who     []identity
	shapes  []dshape
	order   cursor
	whos    cursor
	timeCol cursor
	times   []uint64 // of all events of the block that have one
	ts      []uint64 // of those not yet read
	pool    []uint64
	left    int // events not yet read
	batch   int // how many of them may be read at once

	interned map[string]string
	counters *event.Counters

	// scratch of next
	ord, ids, vals []uint64
	active         []*dshape
}

// dshape is a shape as it is read.
type dshape struct {
	kind   event.Kind
	flags  event.Flags
	mode   timeMode
	source string
	mask   uint32
	left   int
	cols   []dcolumn
	rows   []uint32 // events of the batch that have this shape
	extras *extras  // fields that have no place in the kind; nil if there are none
}

type dcolumn struct {
	cursor
	place event.Place
}

// load begins to read a body. It keeps the memory of the block before, and
// body must stay as it is until all events are read.
func (d *decoder) load(body []byte, events int, sc *schema) error {
	buf := decbuf{b: body}
	d.left, d.batch = 0, event.DefaultBatch
	d.loadStrings(&buf)
	d.loadWho(&buf)
	nShapes := buf.count(MaxBlockTable)
	if buf.bad {
		return errBody
	}
	l := loader{d: &buf, sc: sc, strs: d.strs, counters: d.counters}
	d.order, d.whos, d.timeCol = cursor{}, cursor{}, cursor{}
	for _, c := range []*cursor{&d.order, &d.whos, &d.timeCol} {
		l.common(c)
	}
	d.shapes = d.shapes[:0]
	total := 0
	for range nShapes {
		s := l.shape()
		if buf.bad {
			return errBody
		}
		total += s.left
		if s.extras != nil {
			d.batch = extraBatch
		}
		d.shapes = append(d.shapes, s)
	}
	n := buf.count(len(buf.b))
	d.pool = grow(d.pool, n)
	buf.deltas(d.pool, 0)
	if buf.bad || total != events {
		return errBody
	}
	if !d.open(buf.b, l.lengths) || !d.loadTimes() {
		return errBody
	}
	d.left = events
	return nil
}

// open gives each column its bytes, which stand in the order of their heads.
func (d *decoder) open(data []byte, lengths []int) bool {
	buf := decbuf{b: data}
	next := func(c *cursor) bool {
		b := buf.bytes(lengths[0])
		lengths = lengths[1:]
		return !buf.bad && c.open(b)
	}
	ok := next(&d.order) && next(&d.whos) && next(&d.timeCol)
	for i := range d.shapes {
		s := &d.shapes[i]
		for j := range s.cols {
			ok = ok && next(&s.cols[j].cursor)
		}
	}
	return ok && len(buf.b) == 0
}

// loadTimes reads the times of all events, so that it is known early how far
// the block goes back.
func (d *decoder) loadTimes() bool {
	n := 0
	for i := range d.shapes {
		if d.shapes[i].mode != timeNone {
			n += d.shapes[i].left
		}
	}
	d.times = grow(d.times, n)
	d.ts = d.times
	return d.timeCol.fill(d.times, nil, nil)
}

// least returns the least time of the events not yet read, endOfTime if they have none.
func (d *decoder) least() event.Time {
	t := endOfTime
	for _, v := range d.ts {
		t = min(t, event.Time(v))
	}
	return t
}

func (d *decoder) loadStrings(buf *decbuf) {
	n := buf.count(min(len(buf.b), MaxBlockTable))
	lens := d.scratch(n)
	total := 0
	for i := range lens {
		lens[i] = uint64(buf.count(len(buf.b)))
		total += int(lens[i])
	}
	clear(d.strs)
	d.strs = append(d.strs[:0], "")
	b := buf.bytes(total)
	if buf.bad {
		return
	}
	for _, l := range lens {
		d.strs = append(d.strs, d.intern(b[:l]))
		b = b[l:]
	}
}

const (
	maxInterned    = 1 << 14
	maxInternedLen = 64
)

// intern returns the same string for the same short text, whatever block it
// comes from, so that those who group by it compare addresses. Each string has
// memory of its own: who keeps one does not keep the text of a whole block.
func (d *decoder) intern(b []byte) string {
	if len(b) > maxInternedLen {
		return string(b)
	}
	if s, ok := d.interned[string(b)]; ok {
		return s
	}
	if d.interned == nil || len(d.interned) >= maxInterned {
		d.interned = make(map[string]string)
	}
	s := string(b)
	d.interned[s] = s
	return s
}

func (d *decoder) loadWho(buf *decbuf) {
	n := buf.count(min(len(buf.b), MaxBlockTable))
	if n > cap(d.who) {
		d.who = make([]identity, n)
	}
	d.who = d.who[:n]
	for i := range d.who {
		d.who[i].cpu = int32(unzigzag(buf.uvarint()))
	}
	for i := range d.who {
		d.who[i].pid = int32(unzigzag(buf.uvarint()))
	}
	for i := range d.who {
		d.who[i].tid = int32(unzigzag(buf.uvarint()))
	}
	for i := range d.who {
		d.who[i].comm = uint32(buf.count(len(d.strs) - 1))
	}
}

func (d *decoder) scratch(n int) []uint64 {
	d.vals = grow(d.vals, n)
	return d.vals
}

func grow(s []uint64, n int) []uint64 {
	if n > cap(s) {
		return make([]uint64, n)
	}
	return s[:n]
}

// next fills dst with the next events, and places, if it is not nil, with the
// places that they take in the order of time. len(dst) must not exceed left and batch.
func (d *decoder) next(dst []event.Event, places []event.Time) error {
	n := len(dst)
	d.left -= n
	d.ord, d.ids = grow(d.ord, n), grow(d.ids, n)
	if !d.order.fill(d.ord, nil, nil) || !d.whos.fill(d.ids, nil, nil) {
		return errBody
	}
	if !d.assign() || !d.heads(dst, places) {
		return errBody
	}
	for _, s := range d.active {
		if !d.columns(s, dst) {
			return errBody
		}
	}
	return nil
}

// assign gives each event of the batch to its shape.
func (d *decoder) assign() bool {
	for _, s := range d.active {
		s.rows = s.rows[:0]
	}
	d.active = d.active[:0]
	for i, o := range d.ord {
		if o >= uint64(len(d.shapes)) {
			return false
		}
		s := &d.shapes[o]
		if len(s.rows) == 0 {
			d.active = append(d.active, s)
		}
		s.rows = append(s.rows, uint32(i))
	}
	for _, s := range d.active {
		if s.left -= len(s.rows); s.left < 0 {
			return false
		}
	}
	return true
}

// heads sets what all events have in common.
func (d *decoder) heads(dst []event.Event, places []event.Time) bool {
	for i := range dst {
		s := &d.shapes[d.ord[i]]
		t := event.NoTime
		place := event.NoTime
		if s.mode != timeNone {
			place = event.Time(d.ts[0]) // assign saw to it that there is one
			d.ts = d.ts[1:]
			if s.mode == timeKnown {
				t = place
			}
		}
		if places != nil {
			places[i] = place
		}
		if d.ids[i] >= uint64(len(d.who)) {
			return false
		}
		w := &d.who[d.ids[i]]
		e := &dst[i]
		e.Reset(s.kind, t)
		e.Flags, e.CPU, e.PID, e.TID = s.flags, w.cpu, w.pid, w.tid
		e.Comm, e.Source = d.strs[w.comm], s.source
		e.SetMask(s.mask)
	}
	return true
}

// columns sets the fields of the events of one shape.
func (d *decoder) columns(s *dshape, dst []event.Event) bool {
	n := len(s.rows)
	vals := d.scratch(n * len(s.cols))
	for j := range s.cols {
		c := &s.cols[j]
		col := vals[j*n : (j+1)*n]
		var key []uint64
		if c.enc == encKeyed {
			key = vals[c.key*n : (c.key+1)*n]
		}
		if !c.fill(col, key, d.pool) {
			return false
		}
	}
	for j := range s.cols {
		c := &s.cols[j]
		col := vals[j*n : (j+1)*n]
		if c.base != baseNone {
			d.rebase(c, s, col, dst)
		}
		if isStr := c.typ == event.TypeString || c.typ == event.TypeText; isStr {
			if !d.putStrings(c, s, col, dst) {
				return false
			}
		} else if c.place.OK() {
			for i, r := range s.rows {
				dst[r].PutNum(c.place, col[i])
			}
		}
	}
	if s.extras != nil {
		d.counters.AddAt(AnomalyFieldLost, s.extras.put(s, vals, d.strs, dst), s.kind.String()+".args")
	}
	return true
}

// rebase adds what a column's values are relative to.
func (d *decoder) rebase(c *dcolumn, s *dshape, col []uint64, dst []event.Event) {
	switch c.base {
	case baseTime:
		for i, r := range s.rows {
			col[i] = uint64(dst[r].Time) - col[i]
		}
	case baseTID:
		for i, r := range s.rows {
			col[i] += uint64(int64(dst[r].TID))
		}
	case baseComm:
		for i, r := range s.rows {
			col[i] ^= uint64(d.who[d.ids[r]].comm)
		}
	}
}

func (d *decoder) putStrings(c *dcolumn, s *dshape, col []uint64, dst []event.Event) bool {
	for i, r := range s.rows {
		if col[i] >= uint64(len(d.strs)) {
			return false
		}
		if !c.place.OK() {
			continue // an extra: checked here, used by extras.put
		}
		if col[i] == 0 { // "" is unknown
			dst[r].SetMask(dst[r].Mask() &^ c.place.Mask())
			continue
		}
		dst[r].PutStr(c.place, d.strs[col[i]])
	}
	return true
}
