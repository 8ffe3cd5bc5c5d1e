package chromejson

import (
	"github.com/gpurec/gpurec/record/event"
)

// Bounds of what is followed.
const (
	maxAsync      = 1 << 16 // ids
	maxAsyncDepth = 1 << 10 // ranges of one id in each other
)

// asyncRanges follows how ranges with one id lie in each other: those of the
// phases b and e nest, and share their id. An end belongs to the innermost
// open range of its name; those in it stay without an end.
type asyncRanges struct {
	open map[asyncKey]*asyncStack
}

type asyncStack struct {
	ranges []asyncRange
	serial uint64 // ranges that were begun in others
}

type asyncRange struct{ name, id uint64 }

type asyncKey struct{ id, category uint64 }

// FNV-1a, so that ids are the same on every machine.
func hash(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

const hashBasis = 14695981039346656037

func hashNumber(h, n uint64) uint64 {
	for range 8 {
		h = (h ^ n&0xff) * 1099511628211
		n >>= 8
	}
	return h
}

// id returns the id of a record: the number itself, else a hash of the text,
// which then is not exact. Ids of one process only are hashed with its pid.
func (m *mapper) id(r *record, w *who) (id uint64, exact, ok bool) {
	b := m.lex.b
	if r.hasID && (r.id.kind == tokenText || r.id.kind == tokenBare) {
		t := b[r.id.from:r.id.to]
		if n, ok := parseNumber(t); ok && !n.neg {
			return n.v, true, true
		}
		return hash(hashBasis, t), false, true
	}
	if !r.hasID2 || b[r.id2.from] != '{' {
		return 0, false, false
	}
	key, val := firstMember(m.lex, r.id2)
	if key == nil && val == nil {
		return 0, false, false
	}
	h := hash(hashBasis, val)
	if string(key) == "local" {
		h = hashNumber(h, uint64(w.pidNum))
		if !w.isPIDNum {
			h = hash(h, b[r.pid.from:r.pid.to])
		}
	}
	return h, false, true
}

// firstMember returns the first key and value of an object.
func firstMember(x *lexer, s span) (key, val []byte) {
	i := x.blank(int(s.from) + 1)
	if x.b[i] != '"' {
		return nil, nil
	}
	q, _ := x.text(i + 1)
	key = x.b[i+1 : q]
	i = x.blank(x.blank(q+1) + 1)
	n := x.value(i)
	if n < 0 {
		return nil, nil
	}
	return key, x.b[i:n]
}

// asyncHalf maps the beginning or end of a range that is on no thread's stack.
func (m *mapper) asyncHalf(b *event.Batch, r *record, ts event.Time) {
	k := event.KindSliceBegin
	if r.ph == 'e' || r.ph == 'F' {
		k = event.KindSliceEnd
	}
	e, w := m.add(b, k, ts, r)
	c := m.label(e, r)
	id, exact, ok := m.id(r, w)
	if ok {
		own := id
		switch name := e.Str(event.FieldName); r.ph {
		case 'b':
			own = m.async.begin(m, id, c.name, name)
		case 'e':
			own = m.async.end(id, c.name, name)
		}
		e.SetUint(event.FieldSliceID, own)
		r.hasID = r.hasID && (!exact || own != id)
	}
	if w.oddPID { // else the range may begin on one thread and end on another
		e.SetStr(event.FieldTrack, w.track)
	} else if w.oddTID {
		m.addToken("tid", &r.tid)
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, 0))
}

// begin returns the id of a range that begins: of the outermost the id itself,
// of those in it a number made of it.
func (a *asyncRanges) begin(m *mapper, id uint64, category, name string) uint64 {
	k := asyncKey{id, hash(hashBasis, []byte(category))}
	s := a.open[k]
	if s == nil {
		if len(a.open) >= maxAsync {
			m.note(&AnomalyAsyncCapped)
			return id
		}
		if a.open == nil {
			a.open = map[asyncKey]*asyncStack{}
		}
		s = &asyncStack{}
		a.open[k] = s
	}
	if len(s.ranges) == maxAsyncDepth {
		m.note(&AnomalyAsyncCapped)
		s.ranges = s.ranges[:0]
	}
	own := id
	if len(s.ranges) > 0 {
		s.serial++
		own = nestedID(id, s.serial)
	}
	s.ranges = append(s.ranges, asyncRange{hash(hashBasis, []byte(name)), own})
	return own
}

// end returns the id of the range that ends. One that had not begun gets an id
// that none has.
func (a *asyncRanges) end(id uint64, category, name string) uint64 {
	k := asyncKey{id, hash(hashBasis, []byte(category))}
	s := a.open[k]
	if s == nil {
		return id
	}
	h := hash(hashBasis, []byte(name))
	for i := len(s.ranges) - 1; i >= 0; i-- {
		if r := s.ranges[i]; name == "" || r.name == h {
			if s.ranges = s.ranges[:i]; i == 0 {
				delete(a.open, k)
			}
			return r.id
		}
	}
	s.serial++
	return nestedID(id, s.serial)
}

func nestedID(id, serial uint64) uint64 { return hashNumber(hashNumber(hashBasis, id), serial) }
