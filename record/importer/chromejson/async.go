package chromejson

import (
	"github.com/gpurec/gpurec/record/event"
)

const maxAsync = 1 << 16

// asyncRanges follows how deep ranges with one id lie in each other: those of
// the phases b and e nest, and share their id.
type asyncRanges struct {
	open map[asyncKey]uint64 // depth
}

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
		if r.ph == 'b' || r.ph == 'e' {
			own = m.async.nest(m, id, c.name, r.ph == 'b')
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

// nest returns the id of the range itself: of the outermost the id, of those
// in it a number made of id and depth.
func (a *asyncRanges) nest(m *mapper, id uint64, category string, begin bool) uint64 {
	if a.open == nil {
		a.open = map[asyncKey]uint64{}
	}
	k := asyncKey{id, hash(hashBasis, []byte(category))}
	depth, known := a.open[k]
	switch {
	case begin && !known && len(a.open) >= maxAsync:
		m.note(&AnomalyAsyncCapped)
	case begin:
		a.open[k] = depth + 1
	case depth > 1:
		depth--
		a.open[k] = depth
	default:
		depth = 0
		delete(a.open, k)
	}
	if depth == 0 {
		return id
	}
	return hashNumber(hashNumber(hashBasis, id), depth)
}
