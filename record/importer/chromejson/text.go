package chromejson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote appends the text between two quotes to dst as UTF-8. ok is false if
// it had to be mended: raw control bytes and unknown escapes are kept as they
// stand, bytes that are no UTF-8 and half surrogates become U+FFFD.
func unquote(dst, s []byte) (_ []byte, ok bool) {
	ok = true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			var n int
			var good bool
			dst, n, good = unescape(dst, s[i:])
			ok = ok && good
			i += n
		case c < utf8.RuneSelf:
			ok = ok && c >= ' '
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			ok = ok && (r != utf8.RuneError || n > 1)
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst, ok
}

// unescape appends what the escape at the beginning of s means, and returns
// its length.
func unescape(dst, s []byte) (_ []byte, n int, ok bool) {
	switch s[1] {
	case '"', '\\', '/':
		return append(dst, s[1]), 2, true
	case 'b':
		return append(dst, '\b'), 2, true
	case 'f':
		return append(dst, '\f'), 2, true
	case 'n':
		return append(dst, '\n'), 2, true
	case 'r':
		return append(dst, '\r'), 2, true
	case 't':
		return append(dst, '\t'), 2, true
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			break
		}
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(dst, r), 6, true
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if lo, ok := hex4(s[8:]); ok {
				if full := utf16.DecodeRune(r, lo); full != utf8.RuneError {
					return utf8.AppendRune(dst, full), 12, true
				}
			}
		}
		return utf8.AppendRune(dst, utf8.RuneError), 6, false
	}
	return append(dst, '\\'), 1, false
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendQuoted appends s, which is UTF-8, as a JSON text.
func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// clean appends the value b[from:to], which the lexer passed over, to dst as
// JSON to the letter, without white space. Numbers and words that JSON does
// not know (NaN) become texts. ok is false if a text had to be mended.
func clean(dst, b []byte, from, to int, scratch *[]byte) (_ []byte, ok bool) {
	ok = true
	s := b[:to]
	x := lexer{b: b, end: to}
	for i := from; i < to; {
		switch c := s[i]; classes[c] {
		case clBlank, clBreak:
			i++
		case clQuote:
			q, fl := x.text(i + 1)
			if q < 0 {
				return append(dst, "null"...), false
			}
			if fl&^textHigh == 0 && (fl == 0 || utf8.Valid(s[i:q])) {
				dst = append(dst, s[i:q+1]...)
			} else {
				var good bool
				*scratch, good = unquote((*scratch)[:0], s[i+1:q])
				ok = ok && good
				dst = appendQuoted(dst, *scratch)
			}
			i = q + 1
		case clScalar:
			n := i
			for n < to && classes[s[n]] == clScalar {
				n++
			}
			if validScalar(s[i:n]) {
				dst = append(dst, s[i:n]...)
			} else {
				dst = appendQuoted(dst, s[i:n])
			}
			i = n
		case clClose:
			if n := len(dst); n > 0 && dst[n-1] == ',' {
				dst = dst[:n-1]
			}
			dst = append(dst, c)
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, ok
}

// number is a number as an id or an argument gives it.
type number struct {
	v   uint64 // two's complement if neg
	neg bool
}

// parseNumber reads a whole number: decimal, or hexadecimal behind 0x. Decimals
// that are all zero (5.0) are passed over. ok is false if it is none, or does
// not fit.
func parseNumber(s []byte) (n number, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		n.neg, s = true, s[1:]
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		if len(s) > 18 || n.neg {
			return n, false
		}
		for _, c := range s[2:] {
			switch {
			case c-'0' <= 9:
				c -= '0'
			case c|0x20-'a' <= 5:
				c = c | 0x20 - 'a' + 10
			default:
				return n, false
			}
			n.v = n.v<<4 | uint64(c)
		}
		return n, true
	}
	d := digits(s)
	if d == 0 || d > 20 {
		return n, false
	}
	if v, ok := shortNumber(s[:d]); ok {
		n.v = v
	} else if d < 19 {
		for _, c := range s[:d] {
			n.v = n.v*10 + uint64(c-'0')
		}
	} else {
		v, err := strconv.ParseUint(string(s[:d]), 10, 64)
		if err != nil {
			return n, false
		}
		n.v = v
	}
	if s = s[d:]; len(s) > 0 {
		if s[0] != '.' {
			return n, false
		}
		for _, c := range s[1:] {
			if c != '0' {
				return n, false
			}
		}
	}
	if n.neg {
		if n.v > 1<<63 {
			return n, false
		}
		n.v = -n.v
	}
	return n, true
}
