package chromejson

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// keyTraceEvent holds, in the arguments of an event, what stood beside them.
const keyTraceEvent = `"trace_event":{`

// args returns the arguments of a record as a JSON object, "" if there are
// none: without those whose bits are set in taken (of the first 64), and with
// the members of the record that no field of the event holds in "trace_event".
func (m *mapper) args(r *record, taken uint64) string {
	if len(r.members) == 0 && !r.args.set() && r.extras == 0 && len(m.more) == 0 {
		return ""
	}
	b := m.lex.b
	size := len(m.more) + 64
	if n := len(r.members); n > 0 {
		size += int(r.members[n-1].val.to - r.members[0].key.from)
	}
	size += int(r.args.to - r.args.from)
	for i := range r.extras {
		size += int(r.extra[i].to-r.extra[i].from) + 1
	}
	m.held += size
	if size > maxArgs {
		m.note(&AnomalyTextCut)
		return m.longArgs(r, taken)
	}
	dst := append(m.arena.begin(size), '{')
	ok := true
	switch {
	case r.args.set():
		dst, ok = m.oddArgs(dst, r)
	case r.argsUnclean:
		for i := range r.members {
			if i < 64 && taken>>i&1 != 0 {
				continue
			}
			var good bool
			dst, good = m.cleanMember(dst, &r.members[i])
			ok = ok && good
		}
	case r.argsBroken:
		dst = squeezeMembers(dst, b, r.members, taken)
	default:
		dst = copyMembers(dst, b, r.members, taken)
	}
	dst, good := m.beside(dst, r)
	if !ok || !good {
		m.note(&AnomalyTextMended)
	}
	if len(dst) == 1 {
		return ""
	}
	return m.arena.end(append(dst, '}'))
}

// copyMembers copies members that are JSON to the letter, in runs.
func copyMembers(dst, b []byte, members []member, taken uint64) []byte {
	for i := 0; i < len(members); i++ {
		if i < 64 && taken>>i&1 != 0 {
			continue
		}
		from := members[i].key.from - 1
		for i+1 < len(members) && (i+1 >= 64 || taken>>(i+1)&1 == 0) {
			i++
		}
		dst = comma(dst)
		dst = append(dst, b[from:members[i].val.to]...)
	}
	return dst
}

// squeezeMembers copies members without the line breaks in and between them.
func squeezeMembers(dst, b []byte, members []member, taken uint64) []byte {
	for i := range members {
		if i < 64 && taken>>i&1 != 0 {
			continue
		}
		a := &members[i]
		dst = comma(dst)
		dst = append(dst, b[a.key.from-1:a.key.to+1]...)
		dst = append(dst, ':')
		if a.known != nil {
			dst = a.known.squeezed(dst, b, a.val)
			continue
		}
		if c := b[a.val.from]; c == '{' || c == '[' {
			dst = squeeze(dst, b, int(a.val.from), int(a.val.to))
			continue
		}
		dst = append(dst, b[a.val.from:a.val.to]...)
	}
	return dst
}

// squeeze copies the array or object b[from:to], which is JSON to the letter,
// without white space.
// Eight bytes are copied at a time, of which the next ones write over what was
// too many.
func squeeze(dst, b []byte, from, to int) []byte {
	x := lexer{b: b, end: to}
	dst = slices.Grow(dst, to-from+8)
	i, n := from, len(dst)
	dst = dst[:cap(dst)]
	for i < to {
		v := binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(dst[n:], v)
		q := v ^ '"'*ones
		m := ((q-ones)&^q | (v-0x21*ones)&^v) & highs
		if m == 0 {
			i, n = i+8, n+8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3
		i, n = i+k, n+k
		if i >= to {
			break
		}
		if b[i] == '"' {
			q, _ := x.text(i + 1)
			n += copy(dst[n:], b[i:q+1])
			i = q + 1
			continue
		}
		i = x.blank(i)
	}
	return dst[:n-(i-to)]
}

func comma(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return dst
}

func (m *mapper) cleanMember(dst []byte, a *member) (_ []byte, ok bool) {
	dst = comma(dst)
	dst, ok = clean(dst, m.lex.b, int(a.key.from)-1, int(a.key.to)+1, &m.scr2)
	dst = append(dst, ':')
	dst, good := clean(dst, m.lex.b, int(a.val.from), int(a.val.to), &m.scr2)
	return dst, ok && good
}

// oddArgs keeps args that are no object. An empty array and null are none.
func (m *mapper) oddArgs(dst []byte, r *record) ([]byte, bool) {
	from := len(dst)
	dst = append(dst, `"args":`...)
	at := len(dst)
	dst, ok := clean(dst, m.lex.b, int(r.args.from), int(r.args.to), &m.scr2)
	if v := string(dst[at:]); v == "[]" || v == "null" {
		dst = dst[:from]
	}
	return dst, ok
}

// beside adds what stood beside the arguments.
func (m *mapper) beside(dst []byte, r *record) (_ []byte, ok bool) {
	if r.extras == 0 && len(m.more) == 0 {
		return dst, true
	}
	ok = true
	dst = append(comma(dst), keyTraceEvent...)
	dst = append(dst, m.more...)
	for i := range r.extras {
		s := r.extra[i]
		dst = comma(dst)
		if !r.unclean {
			dst = append(dst, m.lex.b[s.from:s.to]...)
			continue
		}
		var good bool
		dst, good = clean(dst, m.lex.b, int(s.from), int(s.to), &m.scr2)
		ok = ok && good
	}
	return append(dst, '}'), ok
}

// longArgs keeps those members of very large arguments that are small, and the
// beginning of the others as text.
func (m *mapper) longArgs(r *record, taken uint64) string {
	const maxMember = 16 << 10
	dst := []byte{'{'}
	left := maxArgs - 1024
	add := func(key, val []byte, s span) {
		dst = append(append(append(comma(dst), '"'), key...), `":`...)
		if n := int(s.to - s.from); n <= maxMember {
			dst, _ = clean(dst, m.lex.b, int(s.from), int(s.to), &m.scr2)
			return
		}
		m.scr2, _ = unquote(m.scr2[:0], cutRunes(val, maxMember/4))
		dst = appendQuoted(dst, m.scr2)
	}
	for i := range r.members {
		if i < 64 && taken>>i&1 != 0 {
			continue
		}
		a := &r.members[i]
		kept := min(int(a.val.to-a.val.from), maxMember) + int(a.key.to-a.key.from)
		if left -= 2*kept + 8; left < 0 {
			break
		}
		m.scr, _ = unquote(m.scr[:0], m.lex.b[a.key.from:a.key.to])
		key := appendQuoted(nil, m.scr)
		add(key[1:len(key)-1], m.lex.b[a.val.from:a.val.to], a.val)
	}
	if r.args.set() && left > 2*maxMember {
		add([]byte("args"), m.lex.b[r.args.from:r.args.to], r.args)
	}
	if len(m.more) < left {
		r.extras = 0
		dst, _ = m.beside(dst, r)
	}
	return string(append(dst, '}'))
}

// arguments of calls and device work that have fields of their own.
func (m *mapper) fields(e *event.Event, r *record) (taken uint64, device span) {
	b := m.lex.b
	for i := range r.members {
		if i == 64 {
			break
		}
		a := &r.members[i]
		v := b[a.val.from:a.val.to]
		ok := false
		switch string(b[a.key.from:a.key.to]) {
		case "correlation":
			ok = setNumber(e, event.FieldCorrelationID, v)
		case "stream":
			ok = setNumber(e, event.FieldStream, v)
		case "context":
			ok = e.Kind == event.KindGPUActivity && setNumber(e, event.FieldContext, v)
		case "bytes":
			ok = setNumber(e, event.FieldBytes, v)
		case "shared memory":
			ok = setNumber(e, event.FieldSharedMemBytes, v)
		case "grid":
			ok = setDims(e, v, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
		case "block":
			ok = setDims(e, v, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
		case "graph node id":
			ok = e.Kind == event.KindGPUActivity && setNumber(e, event.FieldGraphNode, v)
		case "size":
			ok = m.category(r).role == roleMTIA && setNumber(e, event.FieldBytes, v)
		case "device":
			if _, ok = smallNumber(v); ok && e.Kind == event.KindGPUActivity {
				device = a.val
			} else {
				ok = false
			}
		case "kernel":
			if e.Kind == event.KindAPI && len(v) > 2 && v[0] == '"' {
				e.SetStr(event.FieldKernelName, m.text(span{a.val.from + 1, a.val.to - 1}, textEscaped|textHigh))
				ok = true
			}
		case "kind", "direction":
			if len(v) > 2 && v[0] == '"' {
				if d := copyDirection(string(v)); d != event.DirUnknown {
					e.SetUint(event.FieldDirection, uint64(d))
				}
			}
		}
		if ok {
			taken |= 1 << i
		}
	}
	return taken, device
}

// setNumber sets a field to a whole number, bare or as text. A negative one,
// which says that there is none, is left among the arguments; of correlation
// ids it is kept as it is.
func setNumber(e *event.Event, f event.Field, v []byte) bool {
	if len(v) > 2 && v[0] == '"' {
		v = v[1 : len(v)-1]
	}
	n, ok := parseNumber(v)
	if !ok || n.neg && f != event.FieldCorrelationID {
		return false
	}
	e.SetUint(f, n.v)
	return true
}

// setDims sets three fields to the numbers of an array, all or none of them.
func setDims(e *event.Event, v []byte, fields ...event.Field) bool {
	if len(v) < 2 || v[0] != '[' {
		return false
	}
	var dims [3]uint64
	i, n := 1, 0
	for ; n < 3; n++ {
		for v[i] <= ' ' {
			i++
		}
		d := digits(v[i:])
		num, ok := parseNumber(v[i : i+d])
		if !ok {
			return false
		}
		dims[n] = num.v
		for i += d; v[i] <= ' '; i++ {
		}
		want := byte(',')
		if n == 2 {
			want = ']'
		}
		if v[i] != want {
			return false
		}
		i++
	}
	for k, f := range fields {
		e.SetUint(f, dims[k])
	}
	return i == len(v)
}
