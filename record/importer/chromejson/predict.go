package chromejson

import "encoding/binary"

// Programs write their events by a few patterns: what stands between two
// values (the comma, the white space, the key and its colon) is nearly always
// what stood there in an earlier event. A step is such a piece with what the
// lexer made of it. Where one is met again, to the byte, its bytes need not be
// looked at one by one.
type step struct {
	lit, mask [litWords]uint64 // its bytes, and which of them count
	next      [fanOut]*step    // those met behind its value
	size      int32
	from, to  int32 // of the key
	what      memberKind
	broken    bool // it has line breaks between members
	args      bool // it stands among the arguments
}

const (
	litWords = 6
	litSize  = 8 * litWords
	fanOut   = 6
	maxSteps = 1 << 9
)

// steps are those of a file. A lexer may be without.
type steps struct {
	all    []step
	byHash [maxSteps]*step
	// These stand for no piece.
	record, afterOdd   step // before the first member of an event, or behind one that is no step
	args, argsAfterOdd step // the same among the arguments
	memos              memos
}

// follow returns the step that stands at b[i:], of those met behind the step
// at; nil if none does.
func (x *lexer) follow(at *step, i int) *step {
	if i+litSize > len(x.b) {
		return nil
	}
	b := x.b[i : i+litSize : i+litSize]
	v0, v1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	for k, s := range &at.next {
		if s == nil {
			return nil
		}
		if (v0^s.lit[0])&s.mask[0]|(v1^s.lit[1])&s.mask[1] == 0 && (s.size <= 16 || s.rest(b)) {
			if k > 1 {
				at.next[k], at.next[k-1] = at.next[k-1], s
			}
			return s
		}
	}
	return nil
}

// rest compares what lies behind the first 16 bytes.
func (s *step) rest(b []byte) bool {
	_ = b[litSize-1]
	return (binary.LittleEndian.Uint64(b[16:])^s.lit[2])&s.mask[2]|
		(binary.LittleEndian.Uint64(b[24:])^s.lit[3])&s.mask[3]|
		(binary.LittleEndian.Uint64(b[32:])^s.lit[4])&s.mask[4]|
		(binary.LittleEndian.Uint64(b[40:])^s.lit[5])&s.mask[5] == 0
}

// learn makes a step of the piece p, which begins at i, and notes that it was
// met behind the step at. It returns nil if there is no room, or if the piece
// is too long.
func (x *lexer) learn(at *step, i int, p *piece, args bool) *step {
	t := x.steps
	size := p.end - i
	if t == nil || size > litSize || i+litSize > len(x.b) || p.flags != 0 {
		return nil
	}
	s := step{size: int32(size), what: p.what, broken: p.broken, args: args}
	if p.what != memberEnd {
		s.from, s.to = p.key.from-int32(i), p.key.to-int32(i)
	}
	for k := range size {
		s.mask[k/8] |= 0xff << (k % 8 * 8)
	}
	hash := uint64(size)
	for k := range s.lit {
		s.lit[k] = binary.LittleEndian.Uint64(x.b[i+8*k:]) & s.mask[k]
		hash = (hash ^ s.lit[k]) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	slot := &t.byHash[hash%maxSteps]
	n := *slot
	if n == nil || n.lit != s.lit || n.size != s.size || n.args != args || n.broken != s.broken || n.what != s.what {
		if t.all == nil {
			t.all = make([]step, 0, maxSteps) // steps point to each other: they must not move
		}
		if len(t.all) == maxSteps {
			return nil
		}
		t.all = append(t.all, s)
		n = &t.all[len(t.all)-1]
		*slot = n
	}
	for k := range at.next {
		if at.next[k] == nil || k == fanOut-1 {
			at.next[k] = n
			break
		}
	}
	return n
}

// begin returns the step before the first member.
func (x *lexer) begin(args bool) *step {
	switch {
	case x.steps == nil:
		return &noStep
	case args:
		return &x.steps.args
	}
	return &x.steps.record
}

// odd returns the step behind a piece that is none.
func (x *lexer) odd(args bool) *step {
	switch {
	case x.steps == nil:
		return &noStep
	case args:
		return &x.steps.argsAfterOdd
	}
	return &x.steps.afterOdd
}

// noStep has none behind it.
var noStep step

// piece is what stands between two values: it ends where the next one begins.
type piece struct {
	end    int // or what the lexer says instead
	key    span
	what   memberKind
	flags  uint8 // of the key
	broken bool
}

// piece passes over what stands before the first member of an object, or
// behind the value of another.
func (x *lexer) piece(i int, first, args bool) (p piece) {
	b := x.b
	if b[i] <= ' ' {
		i = x.blank(i)
	}
	switch {
	case b[i] == '}':
		return piece{end: i + 1, what: memberEnd}
	case first:
	case b[i] != ',':
		p.end = x.fail(i)
		return p
	default:
		i++
		if b[i] == ' ' {
			i++
		}
		if b[i] != '"' {
			i = x.blank(i)
			if b[i] == '}' {
				return piece{end: i + 1, what: memberEnd} // a comma before the end
			}
			p.broken = true
		}
	}
	if b[i] != '"' {
		p.end = x.fail(i)
		return p
	}
	key := i + 1
	q, fl := x.text(key)
	if q < 0 {
		p.end = q
		return p
	}
	p.key, p.flags = span{int32(key), int32(q)}, fl
	i = q + 1
	if b[i] != ':' {
		if i = x.blank(i); b[i] != ':' {
			p.end = x.fail(i)
			return p
		}
	}
	if i++; b[i] <= ' ' {
		i = x.blank(i)
	}
	p.end = i
	if !args {
		p.what = memberOf(b[key:q])
	} else {
		p.what = memberArg
	}
	return p
}
