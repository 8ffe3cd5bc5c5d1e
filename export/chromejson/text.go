package chromejson

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain tells which bytes stand in a JSON string as they are.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\' && c != 0x7f
	}
	return t
}()

// appendString appends s as a JSON string, whatever bytes it holds: those that
// are no UTF-8 become U+FFFD, and the two line ends that JavaScript knows and
// JSON does not (U+2028, U+2029) are escaped.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			b = appendEscape(append(b, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		switch r {
		case utf8.RuneError:
			b = append(b, "\uFFFD"...)
		default:
			b = append(b, '\\', 'u', '2', '0', '2', hexDigits[r&15])
		}
		i += n
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendMicros appends a time in ns as microseconds with three decimals: exact,
// and no float on the way.
func appendMicros(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1000, 10)
	r := ns % 1000
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}

// maxExact is the number up to which a reader that has only doubles (JavaScript,
// jq) holds every whole number.
const maxExact = 1 << 53

// appendUint appends a number: as text if a double could not hold it.
func appendUint(b []byte, v uint64) []byte {
	if v <= maxExact {
		return strconv.AppendUint(b, v, 10)
	}
	return append(strconv.AppendUint(append(b, '"'), v, 10), '"')
}

func appendInt(b []byte, v int64) []byte {
	if -maxExact <= v && v <= maxExact {
		return strconv.AppendInt(b, v, 10)
	}
	return append(strconv.AppendInt(append(b, '"'), v, 10), '"')
}
