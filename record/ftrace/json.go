package ftrace

import (
	"strconv"
	"unicode/utf8"
)

// object builds a JSON object field by field.
type object struct {
	buf  []byte
	keys []string // names so far: a second field of a name gets "#2"
}

func (o *object) reset() { o.buf, o.keys = o.buf[:0], o.keys[:0] }

func (o *object) empty() bool { return len(o.buf) == 0 }

// key opens a field.
func (o *object) key(name string) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	n := 1
	if len(o.keys) < 64 { // beyond, nobody reads it by key
		for _, k := range o.keys {
			if k == name {
				n++
			}
		}
		o.keys = append(o.keys, name)
	}
	if n > 1 {
		name += "#" + strconv.Itoa(n)
	}
	o.buf = appendJSON(o.buf, name)
	o.buf = append(o.buf, ':')
}

// str adds a string field.
func (o *object) str(name, val string) {
	o.key(name)
	o.buf = appendJSON(o.buf, val)
}

// value adds a field of a text: as a number if it is a plain decimal one.
func (o *object) value(name string, val []byte) {
	o.key(name)
	if isNumber(val) {
		o.buf = append(o.buf, val...)
		return
	}
	o.buf = appendJSON(o.buf, val)
}

func (o *object) uint(name string, v uint64) {
	o.key(name)
	o.buf = strconv.AppendUint(o.buf, v, 10)
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

func (o *object) hex(name string, v uint64) {
	o.key(name)
	o.buf = append(o.buf, `"0x`...)
	o.buf = strconv.AppendUint(o.buf, v, 16)
	o.buf = append(o.buf, '"')
}

// bytes closes the object. The result is valid until the next reset.
func (o *object) bytes() []byte {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	}
	o.buf = append(o.buf, '}')
	return o.buf
}

// isNumber reports whether b is a decimal integer as JSON writes one, small
// enough for 64 bits.
func isNumber(b []byte) bool {
	limit := "18446744073709551615"
	if len(b) > 0 && b[0] == '-' {
		b, limit = b[1:], "9223372036854775808"
	}
	if len(b) == 0 || len(b) > len(limit) || b[0] == '0' && len(b) > 1 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) < len(limit) || string(b) <= limit
}

const hexDigits = "0123456789abcdef"

// appendJSON appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendJSON[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
