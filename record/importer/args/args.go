// Package args builds the JSON objects in which importers keep what a source
// says beyond the fields of an event (event.FieldArgs).
package args

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Object is a JSON object in work. The zero value is an empty one. A name that
// comes twice stands twice: it is for the caller to avoid that.
type Object struct {
	buf []byte
}

// Reset empties o and keeps its memory.
func (o *Object) Reset() { o.buf = o.buf[:0] }

// Empty reports whether nothing was added.
func (o *Object) Empty() bool { return len(o.buf) == 0 }

// Len returns the bytes so far.
func (o *Object) Len() int { return len(o.buf) }

// String returns the object, "" if it is empty.
func (o *Object) String() string {
	if len(o.buf) == 0 {
		return ""
	}
	return string(o.buf) + "}"
}

// Key opens a field; a value must follow.
func (o *Object) Key(name string) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else if c := o.buf[len(o.buf)-1]; c != '{' && c != '[' {
		o.buf = append(o.buf, ',')
	}
	o.buf = Append(o.buf, name)
	o.buf = append(o.buf, ':')
}

// item separates the elements of an array.
func (o *Object) item() {
	if n := len(o.buf); n > 0 && o.buf[n-1] != '[' && o.buf[n-1] != ':' {
		o.buf = append(o.buf, ',')
	}
}

// Open begins an object ('{') or an array ('[') as a value or an element.
func (o *Object) Open(c byte) { o.item(); o.buf = append(o.buf, c) }

// Close ends it ('}' or ']').
func (o *Object) Close(c byte) { o.buf = append(o.buf, c) }

// Str adds a field.
func (o *Object) Str(name, v string) { o.Key(name); o.StrValue(v) }

// Int adds a field.
func (o *Object) Int(name string, v int64) { o.Key(name); o.IntValue(v) }

// Uint adds a field.
func (o *Object) Uint(name string, v uint64) { o.Key(name); o.UintValue(v) }

// Float adds a field.
func (o *Object) Float(name string, v float64) { o.Key(name); o.FloatValue(v) }

// Bool adds a field.
func (o *Object) Bool(name string, v bool) { o.Key(name); o.BoolValue(v) }

// Hex adds an address: JSON has no hexadecimal numbers, so it is text.
func (o *Object) Hex(name string, v uint64) { o.Key(name); o.HexValue(v) }

// StrValue adds a value or an element; so do the others.
func (o *Object) StrValue(v string) { o.item(); o.buf = Append(o.buf, v) }

// IntValue adds a value.
func (o *Object) IntValue(v int64) { o.item(); o.buf = strconv.AppendInt(o.buf, v, 10) }

// UintValue adds a value.
func (o *Object) UintValue(v uint64) { o.item(); o.buf = strconv.AppendUint(o.buf, v, 10) }

// BoolValue adds a value.
func (o *Object) BoolValue(v bool) { o.item(); o.buf = strconv.AppendBool(o.buf, v) }

// FloatValue adds a value; what JSON cannot hold is text.
func (o *Object) FloatValue(v float64) {
	o.item()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		o.buf = append(o.buf, '"')
		o.buf = strconv.AppendFloat(o.buf, v, 'g', -1, 64)
		o.buf = append(o.buf, '"')
		return
	}
	o.buf = strconv.AppendFloat(o.buf, v, 'g', -1, 64)
}

// RawValue adds a value that is valid JSON already.
func (o *Object) RawValue(v []byte) { o.item(); o.buf = append(o.buf, v...) }

// HexValue adds an address.
func (o *Object) HexValue(v uint64) {
	o.item()
	o.buf = append(o.buf, `"0x`...)
	o.buf = strconv.AppendUint(o.buf, v, 16)
	o.buf = append(o.buf, '"')
}

const hexDigits = "0123456789abcdef"

// Append appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func Append(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[from:i]...)
				b = append(b, "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
