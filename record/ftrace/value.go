package ftrace

import (
	"bytes"
	"math"

	"github.com/gpurec/gpurec/record/event"
)

// set reads a text value into the field of b.
func (m *TextMapper) set(e *event.Event, b *bind, val []byte) {
	switch b.conv {
	case convIgnore:
	case convStr, convNonEmpty, convWord:
		if len(val) == 0 {
			if b.conv != convStr {
				m.note(&AnomalyEmptyFirstString)
			}
			return
		}
		if b.field == event.FieldNone {
			return
		}
		e.SetStr(b.field, m.Strings.Get(val))
	case convState:
		e.SetStr(b.field, m.state(val))
	case convPtr:
		m.setPointer(e, b.field, val)
	case convFence, convFenceText:
		m.setFence(e, val, event.FieldFencePtr, event.FieldFenceContext, event.FieldFenceSeqno)
	case convOnFence:
		m.setFence(e, val, event.FieldOnFencePtr, event.FieldOnFenceContext, event.FieldOnFenceSeqno)
	case convJobID:
		if isAddress(val) {
			m.setPointer(e, event.FieldJobPtr, val)
			return
		}
		m.setNumber(e, b, event.FieldSchedJobID, val)
	case convPair:
		first, second, both := bytes.Cut(val, []byte(":"))
		m.setNumber(e, b, b.field, first)
		if v, ok := parseNumber(second, false); both && ok {
			m.scr.set(b.tmp+1, v)
		} else if both {
			m.note(&AnomalyBadValue)
		}
	case convSeconds:
		if v, ok := parseSeconds(val); ok {
			m.scr.set(b.tmp, v)
		} else {
			m.note(&AnomalyBadValue)
		}
	case convHandled:
		if string(val) == "handled" || string(val) == "unhandled" {
			e.SetBool(b.field, string(val) == "handled")
			return
		}
		m.setNumber(e, b, b.field, val)
	default:
		m.setNumber(e, b, b.field, val)
	}
}

func (m *TextMapper) setNumber(e *event.Event, b *bind, f event.Field, val []byte) {
	v, ok := parseNumber(val, b.conv == convHex)
	if !ok {
		m.note(&AnomalyBadValue)
		return
	}
	if b.conv == convLow32 || b.conv == convNarrow {
		e.Flags |= event.FlagLow32
	}
	if f == event.FieldNone {
		m.scr.set(b.tmp, v)
		return
	}
	e.SetUint(f, v)
}

// parseNumber reads the number at the beginning of val: decimal with or
// without sign, or hexadecimal after 0x or if hex is set. A value that goes on
// with a letter is none; one that does not fit 64 bits neither.
func parseNumber(val []byte, hex bool) (uint64, bool) {
	i, neg := 0, false
	if len(val) > 0 && val[0] == '-' {
		neg, i = true, 1
	}
	if len(val) >= i+2 && val[i] == '0' && (val[i+1] == 'x' || val[i+1] == 'X') {
		hex, i = true, i+2
	}
	if hex {
		v, n := parseHex(val[i:])
		if n == 0 || n < len(val)-i && isKeyByte(val[i+n]) {
			return 0, false
		}
		if neg {
			v = -v
		}
		return v, true
	}
	var v uint64
	j := i
	for ; j < len(val) && val[j] >= '0' && val[j] <= '9'; j++ {
		d := uint64(val[j] - '0')
		if v > (1<<64-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	if j == i || j < len(val) && isLetter(val[j]) {
		return 0, false
	}
	if neg {
		v = -v
	}
	return v, true
}

// parseSeconds reads "4395.025649" as nanoseconds.
func parseSeconds(val []byte) (uint64, bool) {
	whole, frac, _ := bytes.Cut(val, []byte("."))
	s, ok := parseNumber(whole, false)
	if !ok || s > math.MaxInt64/1_000_000_000-1 || len(frac) > 9 {
		return 0, false
	}
	ns := s
	for i := range 9 {
		d := byte('0')
		if i < len(frac) {
			d = frac[i]
		}
		if d < '0' || d > '9' {
			return 0, false
		}
		ns = ns*10 + uint64(d-'0')
	}
	return ns, true
}

// parseHex reads up to 16 hexadecimal digits, and tells how many; none if
// there are more.
func parseHex(s []byte) (v uint64, n int) {
	for n < len(s) {
		c := s[n]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return v, n
		}
		if n >= 16 && v>>60 != 0 {
			return 0, 0
		}
		v = v<<4 | uint64(c)
		n++
	}
	return v, n
}

// isAddress reports whether a value is written as %p and trace-cmd write
// addresses: 0x…, or as many hexadecimal digits as a pointer has on 64 bits.
func isAddress(val []byte) bool {
	if len(val) > 2 && val[0] == '0' && val[1] == 'x' {
		return true
	}
	_, n := parseHex(val)
	return n == 16
}

// setPointer reads an address. %p prints a 32-bit hash, on 64 bits after eight
// zeros, unless the trace option hash-ptr is off (lib/vsprintf.c); on 32 bits
// a hash looks like an address and is taken for a hash.
func (m *TextMapper) setPointer(e *event.Event, f event.Field, val []byte) {
	v, hashed, ok := parsePointer(val)
	if !ok {
		m.note(&AnomalyBadValue)
		return
	}
	if v == 0 {
		return
	}
	if hashed {
		e.Flags |= event.FlagHashed
	}
	e.SetUint(f, v)
}

func parsePointer(val []byte) (v uint64, hashed, ok bool) {
	if len(val) > 2 && val[0] == '0' && val[1] == 'x' {
		v, n := parseHex(val[2:])
		return v, false, n > 0
	}
	v, n := parseHex(val)
	if n > 0 && (n == len(val) || val[n] == ' ') {
		return v, n <= 8 || n == 16 && v>>32 == 0, true
	}
	// "(null)", "(____ptrval____)" while the kernel had no key yet, "(efault)"
	return 0, false, len(val) > 0 && val[0] == '('
}

// setFence reads the three spellings of a fence: its address, "C:S", and
// "(context:C, seqno:S)". Words may follow ("signaled", "depends on").
func (m *TextMapper) setFence(e *event.Event, val []byte, ptr, context, seqno event.Field) {
	if len(val) > 0 && val[0] == '(' {
		c, ok1 := numberAfter(val, "context:")
		s, ok2 := numberAfter(val, "seqno:")
		if ok1 && ok2 {
			e.SetUint(context, c)
			e.SetUint(seqno, s)
			return
		}
	}
	word := val
	if i := bytes.IndexByte(word, ' '); i >= 0 {
		word = word[:i]
	}
	if i := bytes.IndexByte(word, ':'); i >= 0 {
		c, ok1 := parseNumber(word[:i], false)
		s, ok2 := parseNumber(word[i+1:], false)
		if ok1 && ok2 {
			e.SetUint(context, c)
			e.SetUint(seqno, s)
		} else {
			m.note(&AnomalyBadValue)
		}
		return
	}
	m.setPointer(e, ptr, word)
}

func numberAfter(val []byte, key string) (uint64, bool) {
	i := bytes.Index(val, []byte(key))
	if i < 0 {
		return 0, false
	}
	return parseNumber(trimBlanks(val[i+len(key):]), false)
}

// state reads a task's state. Old trace-cmd prints the number; only those
// whose meaning never changed are turned into letters.
func (m *TextMapper) state(val []byte) string {
	if i := bytes.IndexByte(val, ' '); i >= 0 {
		val = val[:i]
	}
	switch string(val) {
	case "0":
		return "R"
	case "1":
		return "S"
	case "2":
		return "D"
	}
	return m.Strings.Get(val)
}
