package chromejson

import (
	"bytes"
	"encoding/binary"
)

// memo is an array or object among the arguments, as it was read before: the
// shapes of an operator's tensors are the same in each round of training.
type memo struct {
	key     uint64
	raw     []byte
	compact []byte // without white space; empty until it is asked for
	unclean bool
	broken  bool
	used    uint64 // serial number of the record that has it
}

const (
	memoSets = 1 << 7
	maxMemo  = 1 << 10 // bytes of one
)

// memos has two for what is the same argument of the same name.
type memos struct {
	sets   [memoSets][2]*memo
	serial uint64 // of the record in work
}

// known passes over the array or object at i, which is the value of s, if it
// is one that was there before.
func (x *lexer) known(r *record, s *step, i int) (*memo, int) {
	if x.steps == nil || s.size == 0 {
		return nil, x.value(i)
	}
	t := &x.steps.memos
	key := x.memoKey(r, s)
	set := &t.sets[key>>(64-7)]
	for k, m := range set {
		if m != nil && m.key == key && bytes.HasPrefix(x.b[i:x.end], m.raw) {
			set[k], set[0] = set[0], m
			x.unclean = x.unclean || m.unclean
			x.broken = x.broken || m.broken
			m.used = t.serial
			return m, i + len(m.raw)
		}
	}
	unclean, broken := x.unclean, x.broken
	x.unclean, x.broken = false, false
	n := x.value(i)
	if n > 0 && n-i <= maxMemo {
		m := set[1]
		if m == nil {
			m = &memo{}
		}
		if m.used != t.serial { // else the record in work has it
			*m = memo{key: key, raw: append(m.raw[:0], x.b[i:n]...), compact: m.compact[:0], unclean: x.unclean, broken: x.broken}
			set[0], set[1] = m, set[0]
		}
	}
	x.unclean, x.broken = x.unclean || unclean, x.broken || broken
	return nil, n
}

// memoKey tells arguments apart: by the step before them, and by the name of
// the event if that is known by then.
func (x *lexer) memoKey(r *record, s *step) uint64 {
	h := s.lit[0] ^ s.lit[1]*31 ^ s.lit[2]*961
	if n := r.name.to - r.name.from; n >= 8 {
		h ^= binary.LittleEndian.Uint64(x.b[r.name.from:]) * 7
		h ^= binary.LittleEndian.Uint64(x.b[r.name.to-8:]) * 127
	}
	h = (h ^ uint64(r.name.to-r.name.from)) * 0x9E3779B97F4A7C15
	return h ^ h>>31
}

// squeezed appends the member's value without white space.
func (m *memo) squeezed(dst, b []byte, val span) []byte {
	if len(m.compact) == 0 {
		m.compact = squeeze(m.compact, b, int(val.from), int(val.to))
	}
	return append(dst, m.compact...)
}
