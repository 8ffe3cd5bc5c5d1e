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
	b := x.b
	i = x.blank(i + 1)
	if b[i] == '}' {
		return i + 1
	}
	for {
		if b[i] != '"' {
			return x.fail(i)
		}
		key := i + 1
		q, fl := x.text(key)
		if q < 0 {
			return q
		}
		if fl != 0 {
			r.unclean = true
		}
		i = q + 1
		if b[i] != ':' {
			if i = x.blank(i); b[i] != ':' {
				return x.fail(i)
			}
		}
		if i++; b[i] <= ' ' {
			i = x.blank(i)
		}
		if i = x.member(r, b[key:q], key, i); i < 0 {
			return i
		}
		if b[i] <= ' ' {
			i = x.blank(i)
		}
		switch b[i] {
		case ',':
			i = x.blank(i + 1)
			if b[i] == '}' {
				return i + 1 // a comma before the end
			}
		case '}':
			return i + 1
		default:
			return x.fail(i)
		}
	}
}

// member reads the value at i of a key.
func (x *lexer) member(r *record, key []byte, keyAt, i int) int {
	switch len(key) {
	case 1:
		if key[0] == 's' {
			return x.token(i, &r.s)
		}
	case 2:
		switch string(key) {
		case "ph":
			return x.phase(r, i)
		case "ts":
			return x.token(i, &r.ts)
		case "id":
			r.hasID = true
			return x.token(i, &r.id)
		case "bp":
			return x.token(i, &r.bp)
		}
	case 3:
		switch string(key) {
		case "cat":
			var t token
			n := x.token(i, &t)
			if t.kind == tokenText || n < 0 {
				r.cat, r.catFl = t.span, t.flags
				return n
			}
		case "pid":
			return x.token(i, &r.pid)
		case "tid":
			return x.token(i, &r.tid)
		case "dur":
			return x.token(i, &r.dur)
		case "id2":
			r.hasID2 = true
			n := x.value(i)
			r.id2 = span{int32(i), int32(n)}
			return n
		}
	case 4:
		switch string(key) {
		case "name":
			var t token
			n := x.token(i, &t)
			if t.kind == tokenText || n < 0 {
				r.name, r.nameFl, r.hasName = t.span, t.flags, true
				return n
			}
		case "args":
			return x.arguments(r, i)
		}
	}
	return x.other(r, keyAt-1, i)
}

// member is a member of args: its key, and its value whole.
type member struct{ key, val span }

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
	b := x.b
	i = x.blank(i + 1)
	if b[i] == '}' {
		return i + 1
	}
	for {
		if b[i] != '"' {
			return x.fail(i)
		}
		key := i + 1
		q, fl := x.text(key)
		if q < 0 {
			return q
		}
		if fl != 0 {
			x.unclean = true
		}
		i = q + 1
		if b[i] != ':' {
			if i = x.blank(i); b[i] != ':' {
				return x.fail(i)
			}
		}
		if i++; b[i] <= ' ' {
			i = x.blank(i)
		}
		val := i
		if i = x.value(i); i < 0 {
			return i
		}
		r.members = append(r.members, member{span{int32(key), int32(q)}, span{int32(val), int32(i)}})
		if b[i] <= ' ' {
			i = x.blank(i)
		}
		switch b[i] {
		case ',':
			i++
			if b[i] == ' ' {
				i++
			}
			if b[i] != '"' {
				i = x.blank(i)
				if b[i] == '}' {
					return i + 1
				}
				x.broken = true
			}
		case '}':
			return i + 1
		default:
			return x.fail(i)
		}
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
