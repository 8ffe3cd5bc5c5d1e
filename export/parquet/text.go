package parquet

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// textValues are texts that hardly ever come twice, one behind the other.
type textValues struct {
	text  []byte
	ends  []uint32 // where each begins, and the last ends
	delta delta.ByteArrayEncoding
}

func (v *textValues) add(rows []unsafe.Pointer, offset uintptr, known *bitmap) (size int) {
	for len(rows) > 0 {
		some := rows[:min(len(rows), 64)]
		rows = rows[len(some):]
		var bits uint64
		for i, p := range some {
			if s := *(*string)(unsafe.Add(p, offset)); s != "" {
				bits |= 1 << i
				size += len(s)
				v.put(s)
			}
		}
		known.add(bits, len(some))
	}
	return size
}

func (v *textValues) put(s string) {
	if len(v.ends) == 0 {
		v.ends = append(v.ends, 0)
	}
	v.text = append(v.text, validUTF8(s)...)
	v.ends = append(v.ends, uint32(len(v.text)))
}

func (v *textValues) full() bool { return len(v.text) >= pageBytes }

func (v *textValues) next() { v.text, v.ends = v.text[:0], v.ends[:0] }

func (v *textValues) encode(dst []byte) ([]byte, format.Encoding, error) {
	if len(v.text) > math.MaxInt32/2 {
		return dst, 0, fmt.Errorf("a page of %d bytes of text is more than the format can hold", len(v.text))
	}
	out, err := v.delta.EncodeByteArray(dst[len(dst):], v.text, v.ends)
	return append(dst, out...), format.DeltaByteArray, err
}

func (v *textValues) bounds() (least, most []byte) {
	for i := 1; i < len(v.ends); i++ {
		s := v.text[v.ends[i-1]:v.ends[i]]
		if i == 1 || bytes.Compare(s, least) < 0 {
			least = s
		}
		if i == 1 || bytes.Compare(s, most) > 0 {
			most = s
		}
	}
	return bytes.Clone(least), bytes.Clone(most)
}

// validUTF8 returns s with each byte that is not part of a UTF-8 character as
// \xNN: readers of Parquet refuse the whole file for one such byte.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
