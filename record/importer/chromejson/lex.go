package chromejson

import (
	"encoding/binary"
	"math/bits"
)

// What the lexer says instead of a place.
const (
	needMore = -1 // the window ends within the value
	badJSON  = -2 // it is none; lexer.bad holds the place
)

// maxDepth bounds arrays and objects in each other.
const maxDepth = 256

// What is special about a text.
const (
	textEscaped uint8 = 1 << iota // holds a backslash
	textControl                   // holds a raw control byte
	textHigh                      // holds bytes above 0x7f
)

// lexer finds the ends of JSON values in b[:end]. Behind end stand zero bytes
// (padding): every loop ends there at the latest.
type lexer struct {
	b   []byte
	end int
	bad int // place of an error
	// unclean says that a value passed is no JSON to the letter: see clean.
	unclean bool
	// broken says that it has line breaks between its tokens: see squeeze.
	broken bool
	steps  *steps
}

func (x *lexer) fail(i int) int {
	if i >= x.end {
		return needMore
	}
	x.bad = i
	return badJSON
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// text returns the place of the quote that ends the text which begins at i,
// behind its opening quote.
func (x *lexer) text(i int) (int, uint8) {
	b := x.b
	var fl uint8
	for {
		v := binary.LittleEndian.Uint64(b[i:])
		q := v ^ '"'*ones
		s := v ^ '\\'*ones
		m := ((q-ones)&^q | (s-ones)&^s | (v-' '*ones)&^v) & highs
		if m == 0 {
			if v&highs != 0 {
				fl |= textHigh
			}
			i += 8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3
		if v&highs&(1<<(8*k)-1) != 0 {
			fl |= textHigh
		}
		i += k
		switch b[i] {
		case '"':
			return i, fl
		case '\\':
			fl |= textEscaped
			i += 2
			if i > x.end {
				return needMore, fl
			}
		default:
			if i >= x.end {
				return needMore, fl
			}
			fl |= textControl
			i++
		}
	}
}

// blank passes over white space. Indented files have a line break and a run of
// spaces before every token.
func (x *lexer) blank(i int) int {
	b := x.b
	for {
		switch b[i] {
		case '\n', '\r', '\t':
			i++
		case ' ':
		default:
			return i
		}
		v := binary.LittleEndian.Uint64(b[i:]) ^ ' '*ones
		for v == 0 {
			i += 8
			v = binary.LittleEndian.Uint64(b[i:]) ^ ' '*ones
		}
		i += bits.TrailingZeros64(v) >> 3
		if b[i] > ' ' {
			return i
		}
	}
}

// The classes of bytes outside of texts.
const (
	clOther  uint8 = iota
	clScalar       // may stand in a number or word
	clBlank
	clBreak // line breaks and tabs
	clQuote
	clOpen
	clClose
	clComma
	clColon
)

var classes = func() (t [256]uint8) {
	for _, c := range []byte("0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") {
		t[c] = clScalar
	}
	t[' '], t['\n'], t['\r'], t['\t'] = clBlank, clBreak, clBreak, clBreak
	t['"'], t['['], t['{'], t[']'], t['}'], t[','], t[':'] = clQuote, clOpen, clOpen, clClose, clClose, clComma, clColon
	return
}()

// endOfDigits passes over digits, eight at a time.
func endOfDigits(b []byte, i int) int {
	for {
		m := noDigits(binary.LittleEndian.Uint64(b[i:]))
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
}

// noDigits has its first bit set in that of eight bytes which is the first that
// is no digit; those behind it say nothing.
func noDigits(v uint64) uint64 {
	v ^= '0' * ones
	return (v + 0x76*ones | v) & highs
}

// scalar passes over a number or word that begins at i.
func (x *lexer) scalar(i int) int {
	b, from := x.b, i
	if b[i] == '-' {
		i++
	}
	if first := i; b[i]-'0' <= 9 { // nearly all are plain numbers
		i = endOfDigits(b, i)
		if good := b[first] != '0' || i == first+1; good {
			if b[i] == '.' && b[i+1]-'0' <= 9 {
				i = endOfDigits(b, i+2)
			}
			if classes[b[i]] != clScalar && i < x.end {
				return i
			}
		}
	}
	for classes[b[i]] == clScalar {
		i++
	}
	if i >= x.end {
		return needMore // it may go on
	}
	if i == from {
		return x.fail(i)
	}
	if !validScalar(b[from:i]) {
		x.unclean = true
	}
	return i
}

// validScalar reports whether s is a JSON number, true, false or null.
func validScalar(s []byte) bool {
	switch string(s) {
	case "true", "false", "null":
		return true
	}
	i := 0
	if s[0] == '-' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 1 && s[i] == '0' {
		return false
	}
	i += n
	if i < len(s) && s[i] == '.' {
		n = digits(s[i+1:])
		if n == 0 {
			return false
		}
		i += 1 + n
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		n = digits(s[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(s)
}

func digits(s []byte) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// value passes over the value that begins at i and returns the place behind it.
func (x *lexer) value(i int) int {
	switch x.b[i] {
	case '"':
		q, fl := x.text(i + 1)
		if q < 0 {
			return q
		}
		if fl != 0 {
			x.unclean = true
		}
		return q + 1
	case '{', '[':
		return x.nested(i)
	}
	return x.scalar(i)
}

// What may come next in an array or object.
const (
	wantFirst uint8 = iota // a value, a key or the end: it has just begun
	wantNext               // a value or a key: behind a comma
	wantColon
	wantValue // behind a colon
	wantComma // or the end
)

// nested passes over an array or object.
func (x *lexer) nested(i int) int {
	var object [maxDepth/64 + 1]uint64 // bit d: the value at depth d is an object
	b, depth, state := x.b, 0, wantFirst
	isObject := b[i] == '{'
	if isObject {
		object[0] = 1
	}
	for i++; ; {
		c := b[i]
		switch classes[c] {
		case clBlank:
			i++
			continue
		case clBreak:
			x.broken = true
			i = x.blank(i)
			continue
		case clComma:
			if state != wantComma {
				return x.fail(i)
			}
			i++
			state = wantNext
			continue
		case clColon:
			if state != wantColon {
				return x.fail(i)
			}
			i++
			state = wantValue
			continue
		case clClose:
			if isObject != (c == '}') || state == wantColon || state == wantValue {
				return x.fail(i)
			}
			if state == wantNext {
				x.unclean = true // a comma before the end
			}
			i++
			if depth == 0 {
				return i
			}
			depth--
			isObject = object[depth>>6]>>(depth&63)&1 != 0
			state = wantComma
			continue
		}
		if state == wantColon || state == wantComma {
			return x.fail(i)
		}
		key := isObject && state != wantValue
		if key && c != '"' {
			return x.fail(i)
		}
		switch c {
		case '"':
			q, fl := x.text(i + 1)
			if q < 0 {
				return q
			}
			if fl != 0 {
				x.unclean = true
			}
			i = q + 1
		case '{', '[':
			if depth++; depth >= maxDepth {
				return x.fail(i)
			}
			isObject = c == '{'
			if isObject {
				object[depth>>6] |= 1 << (depth & 63)
			} else {
				object[depth>>6] &^= 1 << (depth & 63)
			}
			state = wantFirst
			i++
			continue
		default:
			if i = x.scalar(i); i < 0 {
				return i
			}
		}
		state = wantComma
		if key {
			state = wantColon
		}
	}
}
