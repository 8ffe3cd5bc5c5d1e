package chromejson

// span is a place in the window: b[from:to].
type span struct{ from, to int32 }

func (s span) set() bool { return s.to > s.from }

// record is one event as it stands in the window. Spans of texts lie between
// their quotes; a span that is not set is absent or empty.
type record struct {
	ph             byte // the phase, 0 if it has none or one that is no single character
	phase          token
	name, cat      span
	nameFl, catFl  uint8
	pid, tid       token
	ts, dur        token
	id, bp, s      token
	args           span     // the whole value, if it is no object
	members        []member // of args, if it is one
	id2            span
	hasID, hasID2  bool
	hasPh, hasName bool
	extra          [maxExtra]span // other members, from their key to the end of their value
	extras         int
	unclean        bool // one of the extra members is
	argsUnclean    bool
	argsBroken     bool
}

// maxExtra bounds the members that an event may have beside those known.
const maxExtra = 24

// token is a scalar: a text or a bare word.
type token struct {
	span
	kind  tokenKind
	flags uint8
}

type tokenKind uint8

const (
	tokenNone tokenKind = iota
	tokenText
	tokenBare
	tokenNested // no scalar: the span is the whole value
)

// token passes over a value and says what it is.
func (x *lexer) token(i int, t *token) int {
	switch x.b[i] {
	case '"':
		q, fl := x.text(i + 1)
		if q < 0 {
			return q
		}
		*t = token{span{int32(i + 1), int32(q)}, tokenText, fl}
		return q + 1
	case '{', '[':
		n := x.nested(i)
		if n > 0 {
			*t = token{span{int32(i), int32(n)}, tokenNested, 0}
		}
		return n
	}
	n := x.scalar(i)
	if n > 0 {
		*t = token{span{int32(i), int32(n)}, tokenBare, 0}
		if x.b[i] == 'n' && string(x.b[i:n]) == "null" {
			*t = token{}
		}
	}
	return n
}

// record reads the event that begins at i. It returns the place behind it.
func (x *lexer) record(i int, r *record) int {
	*r = record{members: r.members[:0]}
	if x.steps != nil {
		x.steps.memos.serial++
	}
	i++
	at := x.begin(false)
	for first := true; ; first = false {
		var key int // place of its opening quote
		var what memberKind
		s := x.follow(at, i)
		if s != nil {
			key, what = i+int(s.from)-1, s.what
			if i += int(s.size); x.b[i] <= ' ' && what != memberEnd {
				i = x.blank(i)
			}
		} else {
			p := x.piece(i, first, false)
			if p.end < 0 {
				return p.end
			}
			if s = x.learn(at, i, &p, false); s == nil {
				s = x.odd(false)
			}
			r.unclean = r.unclean || p.flags != 0
			key, what, i = int(p.key.from)-1, p.what, p.end
		}
		if what == memberEnd {
			return i
		}
		if i = x.member(r, what, key, i); i < 0 {
			return i
		}
		at = s
	}
}

// memberKind says what a member of an event, by its key, is.
type memberKind uint8

const (
	memberOther memberKind = iota
	memberEnd              // none: the object ends
	memberArg              // one of the arguments
	memberPhase
	memberTime
	memberID
	memberBindingPoint
	memberScope
	memberCategory
	memberPID
	memberTID
	memberDuration
	memberID2
	memberName
	memberArgs
)

func memberOf(key []byte) memberKind {
	switch string(key) {
	case "ph":
		return memberPhase
	case "ts":
		return memberTime
	case "id":
		return memberID
	case "bp":
		return memberBindingPoint
	case "s":
		return memberScope
	case "cat":
		return memberCategory
	case "pid":
		return memberPID
	case "tid":
		return memberTID
	case "dur":
		return memberDuration
	case "id2":
		return memberID2
	case "name":
		return memberName
	case "args":
		return memberArgs
	}
	return memberOther
}

// member reads the value at i of a member whose key begins with the quote at keyAt.
func (x *lexer) member(r *record, what memberKind, keyAt, i int) int {
	switch what {
	case memberPhase:
		return x.phase(r, i)
	case memberTime:
		return x.token(i, &r.ts)
	case memberID:
		r.hasID = true
		return x.token(i, &r.id)
	case memberBindingPoint:
		return x.token(i, &r.bp)
	case memberScope:
		return x.token(i, &r.s)
	case memberPID:
		return x.token(i, &r.pid)
	case memberTID:
		return x.token(i, &r.tid)
	case memberDuration:
		return x.token(i, &r.dur)
	case memberArgs:
		return x.arguments(r, i)
	case memberID2:
		r.hasID2 = true
		n := x.value(i)
		r.id2 = span{int32(i), int32(n)}
		return n
	case memberCategory:
		var t token
		n := x.token(i, &t)
		if t.kind == tokenText || n < 0 {
			r.cat, r.catFl = t.span, t.flags
			return n
		}
	case memberName:
		var t token
		n := x.token(i, &t)
		if t.kind == tokenText || n < 0 {
			r.name, r.nameFl, r.hasName = t.span, t.flags, true
			return n
		}
	}
	return x.other(r, keyAt, i)
}

// member is a member of args: its key, and its value whole.
type member struct {
	key, val span
	known    *memo // what is known of its value; valid until the next record
}

// arguments reads args.
func (x *lexer) arguments(r *record, i int) int {
	was, wasBroken := x.unclean, x.broken
	x.unclean, x.broken = false, false
	n := 0
	if x.b[i] == '{' {
		r.members = r.members[:0]
		n = x.object(r, i)
	} else {
		n = x.value(i)
		r.args = span{int32(i), int32(n)}
	}
	r.argsUnclean, r.argsBroken = x.unclean, x.broken
	x.unclean, x.broken = was, wasBroken
	return n
}

// object notes the members of args. Line breaks around all of them do not
// make it unclean: they are left out anyway.
func (x *lexer) object(r *record, i int) int {
	at := x.begin(true)
	i++
	for first := true; ; first = false {
		var key span
		s := x.follow(at, i)
		if s != nil {
			key = span{int32(i) + s.from, int32(i) + s.to}
			i += int(s.size)
			if s.what == memberEnd {
				return i
			}
			if x.b[i] <= ' ' {
				i = x.blank(i)
			}
			x.broken = x.broken || s.broken
		} else {
			p := x.piece(i, first, true)
			if p.end < 0 {
				return p.end
			}
			if s = x.learn(at, i, &p, true); s == nil {
				s = x.odd(true)
			}
			if i = p.end; p.what == memberEnd {
				return i
			}
			x.unclean = x.unclean || p.flags != 0
			x.broken = x.broken || p.broken
			key = p.key
		}
		val := i
		var known *memo
		switch x.b[i] {
		case '"':
			q, fl := x.text(i + 1)
			if i = q; q > 0 {
				i++
				x.unclean = x.unclean || fl != 0
			}
		case '[', '{':
			known, i = x.known(r, s, i)
		default:
			i = x.scalar(i)
		}
		if i < 0 {
			return i
		}
		r.members = append(r.members, member{key, span{int32(val), int32(i)}, known})
		at = s
	}
}

func (x *lexer) phase(r *record, i int) int {
	t := &r.phase
	n := x.token(i, t)
	if n > 0 && t.kind == tokenText && t.set() {
		r.ph, r.hasPh = 0, true
		if t.to-t.from == 1 {
			r.ph = x.b[t.from]
		}
	}
	return n
}

// other keeps a member that has no meaning of its own.
func (x *lexer) other(r *record, keyAt, i int) int {
	was := x.unclean
	x.unclean, x.broken = false, false
	n := x.value(i)
	if n > 0 {
		if r.extras == maxExtra {
			return x.fail(i)
		}
		r.extra[r.extras] = span{int32(keyAt), int32(n)}
		r.extras++
		r.unclean = r.unclean || x.unclean || x.broken
	}
	x.unclean = was
	return n
}
