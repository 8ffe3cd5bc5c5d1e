package gpulog

import (
	"encoding/binary"

	"github.com/gpurec/gpurec/record/event"
)

// encoder gathers the events of one block as columns.
//
//  1. add gives each event a shape (events of one kind that carry the same
//     fields), an identity (CPU, process, thread, name) and its strings'
//     numbers, and appends its values to the shape's columns.
//  2. encode chooses an encoding for each column by what it takes, and lays
//     directory and columns out.
//
// size bounds from above what encode will give.
type encoder struct {
	epoch  uint32 // of the caches' entries
	strs   stringTable
	who    []identity
	whoIdx map[identity]uint32
	cache  [256]struct {
		key   identity
		idx   uint32
		epoch uint32
	}
	shapes   []shape // the first nShapes are in use
	nShapes  int
	shapeIdx map[shapeKey]uint32
	recent   [128]struct {
		key   shapeKey
		idx   uint32
		epoch uint32
	}
	order, whos, times values
	slab               slab
	min, max           event.Time
	size               int
	col                columnEncoder
}

type identity struct {
	cpu, pid, tid int32
	comm          uint32
}

type shapeKey struct {
	kind   event.Kind
	flags  event.Flags
	mode   timeMode
	source uint32
	mask   uint32
}

// shape holds the columns of the events that have one shapeKey.
type shape struct {
	key    shapeKey
	n      int
	cols   []column
	nCols  int
	perRow int // upper bound of the bytes that one event adds
}

type column struct {
	layout
	key  int // 1 + the column that predicts this one, 0: none
	vals values
}

// layout is what of a column its kind says.
type layout struct {
	field event.Field
	place event.Place
	typ   event.FieldType
	base  base
}

func newEncoder() *encoder {
	e := &encoder{
		whoIdx:   make(map[identity]uint32),
		shapeIdx: make(map[shapeKey]uint32),
	}
	e.strs.init()
	e.reset()
	return e
}

const emptyBodySize = 64 // counts and the heads of the common columns

// reset empties e and keeps its memory.
func (e *encoder) reset() {
	e.epoch++
	e.strs.reset(e.epoch)
	e.who = e.who[:0]
	clear(e.whoIdx)
	clear(e.shapeIdx)
	for i := range e.shapes[:e.nShapes] {
		s := &e.shapes[i]
		s.n = 0
		for j := range s.cols[:s.nCols] {
			s.cols[j].vals.reset()
		}
	}
	e.nShapes = 0
	e.order.reset()
	e.whos.reset()
	e.times.reset()
	e.slab.reset()
	e.min, e.max = event.NoTime, event.NoTime
	e.size = emptyBodySize
}

func (e *encoder) events() int { return e.order.len() }

// What the parts of a body take at most.
const (
	maxWhoSize    = 5 + 5 + 5 + 3
	maxShapeSize  = 2 + 1 + 1 + 3 + 3 + 2
	maxColumnSize = 2 + 1 + 1 + 2 + 4 + 9
	maxRowSize    = 3 + 3 + 10 // shape, identity, time
	maxStringSize = 3          // its length; the bytes come on top
	maxEventSize  = maxRowSize + maxWhoSize + maxShapeSize + 23*(maxColumnSize+14) + 7*maxStringSize
)

// add appends ev, which takes the place of time place in the order: its own
// time, if it has one. It reports false, and changes nothing, if the block
// is full.
func (e *encoder) add(ev *event.Event, mode timeMode, place event.Time) bool {
	if !e.fits(ev) || e.events() >= MaxBlockEvents ||
		max(e.strs.len()+7, len(e.who), e.nShapes) >= MaxBlockTable {
		return false
	}
	comm := e.str(ev.Comm)
	key := shapeKey{ev.Kind, ev.Flags, mode, e.str(ev.Source), ev.Mask()}
	l := &e.recent[(uint32(key.kind)^key.source<<3^key.mask^key.mask>>7^key.mask>>15)%uint32(len(e.recent))]
	if l.epoch != e.epoch || l.key != key {
		l.key, l.idx, l.epoch = key, e.shapeOf(key), e.epoch
	}
	s := &e.shapes[l.idx]
	e.order.add(uint64(l.idx), &e.slab)
	e.whos.add(uint64(e.identity(identity{ev.CPU, ev.PID, ev.TID, comm})), &e.slab)
	if mode != timeNone {
		e.times.add(uint64(place), &e.slab)
	}
	if mode == timeKnown {
		if e.min == event.NoTime {
			e.min, e.max = place, place
		}
		e.min, e.max = min(e.min, place), max(e.max, place)
	}
	for i := range s.cols[:s.nCols] {
		c := &s.cols[i]
		var v uint64
		switch {
		case c.typ == event.TypeText:
			v = uint64(e.text(ev.StrAt(c.place)))
		case c.typ == event.TypeString:
			v = uint64(e.str(ev.StrAt(c.place)))
		default:
			v = ev.Num(c.place)
		}
		switch c.base {
		case baseTime:
			v = uint64(place) - v
		case baseTID:
			v -= uint64(int64(ev.TID))
		case baseComm:
			v ^= uint64(comm)
		}
		c.vals.add(v, &e.slab)
	}
	s.n++
	e.size += s.perRow
	return true
}

// fits reports whether ev would surely not make the body too large.
func (e *encoder) fits(ev *event.Event) bool {
	room := MaxBody - e.size - maxEventSize - len(ev.Comm) - len(ev.Source)
	// Most have room for all their strings, known or not.
	return ev.TextBytes() <= room || fieldBytes(ev) <= room
}

// fieldBytes returns how many bytes the strings in the fields of ev have.
func fieldBytes(ev *event.Event) int {
	n := 0
	for _, c := range layouts[ev.Kind] {
		if c.place.IsString() && ev.Mask()&c.place.Mask() != 0 {
			n += len(ev.StrAt(c.place))
		}
	}
	return n
}

func (e *encoder) str(s string) uint32 {
	i, grown := e.strs.intern(s)
	e.size += grown
	return i
}

func (e *encoder) text(s string) uint32 {
	i, grown := e.strs.append(s)
	e.size += grown
	return i
}

func (e *encoder) identity(w identity) uint32 {
	c := &e.cache[(uint32(w.tid)*31+uint32(w.cpu))%uint32(len(e.cache))]
	if c.epoch == e.epoch && c.key == w {
		return c.idx
	}
	i, ok := e.whoIdx[w]
	if !ok {
		i = uint32(len(e.who))
		e.who = append(e.who, w)
		e.whoIdx[w] = i
		e.size += maxWhoSize
	}
	c.key, c.idx, c.epoch = w, i, e.epoch
	return i
}

func (e *encoder) shapeOf(key shapeKey) uint32 {
	if i, ok := e.shapeIdx[key]; ok {
		return i
	}
	i := uint32(e.nShapes)
	if e.nShapes == len(e.shapes) {
		e.shapes = append(e.shapes, shape{})
	}
	e.nShapes++
	e.shapeIdx[key] = i
	s := &e.shapes[i]
	s.key, s.n, s.nCols, s.perRow = key, 0, 0, maxRowSize
	for _, c := range layouts[key.kind] {
		if key.mask&c.place.Mask() == 0 {
			continue
		}
		if s.nCols == len(s.cols) {
			s.cols = append(s.cols, column{})
		}
		d := &s.cols[s.nCols]
		*d = column{layout: c, vals: values{full: d.vals.full[:0]}}
		if d.base == baseTime && key.mode != timeKnown {
			d.base = baseNone
		}
		d.key = s.keyColumn(c.field)
		s.nCols++
		s.perRow += 9
		if c.typ == event.TypePointer {
			s.perRow += 5 // a place in the pool, and there a difference
		}
	}
	e.size += maxShapeSize + s.nCols*maxColumnSize
	return i
}

// keyColumn returns 1 + the number of the column that predicts field, 0 for none.
func (s *shape) keyColumn(field event.Field) int {
	key := keyFields[field]
	for i := range s.cols[:s.nCols] {
		if key != event.FieldNone && s.cols[i].field == key {
			return i + 1
		}
	}
	return 0
}

// layouts lists the columns that each kind may have, in the order in which
// they are stored.
var layouts = func() (l [event.NumKinds][]layout) {
	for k := event.Kind(1); k < event.NumKinds; k++ {
		for _, f := range k.Spec().Fields {
			l[k] = append(l[k], layout{field: f, place: k.Place(f), typ: f.Spec().Type, base: baseOf(f)})
		}
	}
	return
}()

func baseOf(f event.Field) base {
	switch {
	case f.Spec().Type == event.TypeTime:
		return baseTime
	case f == event.FieldPrevTID:
		return baseTID
	case f == event.FieldPrevComm:
		return baseComm
	}
	return baseNone
}

// keyFields names, for a field, the one that predicts it: seqnos grow by one
// on their context, job numbers on their ring.
var keyFields = [event.NumFields]event.Field{
	event.FieldFenceSeqno:   event.FieldFenceContext,
	event.FieldHWFenceSeqno: event.FieldHWFenceContext,
	event.FieldOnFenceSeqno: event.FieldOnFenceContext,
	event.FieldSchedJobID:   event.FieldRing,
}

// encode returns the body. It is valid until the next add.
func (e *encoder) encode() []byte {
	c := &e.col
	c.reset(e.poolSize(), e.size)
	dst := e.strs.encode()
	dst = binary.AppendUvarint(dst, uint64(len(e.who)))
	dst = e.encodeWho(dst)
	dst = binary.AppendUvarint(dst, uint64(e.nShapes))
	for _, vals := range []values{e.order, e.whos, e.times} {
		dst = c.append(dst, &column{layout: layout{typ: event.TypeString}, vals: vals}, nil)
	}
	for i := range e.shapes[:e.nShapes] {
		s := &e.shapes[i]
		dst = binary.AppendUvarint(dst, uint64(wireKindOf[s.key.kind]))
		dst = append(dst, byte(s.key.flags), byte(s.key.mode))
		dst = binary.AppendUvarint(dst, uint64(s.key.source))
		dst = binary.AppendUvarint(dst, uint64(s.n))
		dst = append(dst, byte(s.nCols))
		for j := range s.cols[:s.nCols] {
			col := &s.cols[j]
			dst = binary.AppendUvarint(dst, uint64(wireFieldOf[col.field]))
			dst = append(dst, wireTypeOf[col.typ])
			var key *column
			if col.key > 0 {
				key = &s.cols[col.key-1]
			}
			dst = c.append(dst, col, key)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.pool.list)))
	dst = appendDeltas(dst, c.pool.list)
	return append(dst, c.data...)
}

// poolSize returns how many values the pool may hold at most.
func (e *encoder) poolSize() (n int) {
	for i := range e.shapes[:e.nShapes] {
		for j := range e.shapes[i].cols[:e.shapes[i].nCols] {
			if e.shapes[i].cols[j].typ == event.TypePointer {
				n += e.shapes[i].n
			}
		}
	}
	return n
}

func (e *encoder) encodeWho(dst []byte) []byte {
	for _, w := range e.who {
		dst = binary.AppendVarint(dst, int64(w.cpu))
	}
	for _, w := range e.who {
		dst = binary.AppendVarint(dst, int64(w.pid))
	}
	for _, w := range e.who {
		dst = binary.AppendVarint(dst, int64(w.tid))
	}
	for _, w := range e.who {
		dst = binary.AppendUvarint(dst, uint64(w.comm))
	}
	return dst
}
