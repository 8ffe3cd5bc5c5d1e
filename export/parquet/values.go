package parquet

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gpurec/gpurec/correlate"
)

// values are those of a column's page under way that are known.
type values interface {
	// add takes the column's field of rows, which stands offset bytes from their
	// start, and adds to known which of them are. It returns the bytes of text.
	add(rows []unsafe.Pointer, offset uintptr, known *bitmap) int
	// full says that the page must end, whatever its number of rows.
	full() bool
	// encode appends the page's values.
	encode(dst []byte) ([]byte, format.Encoding, error)
	// bounds returns the least and greatest value as statistics hold them, or
	// nil where there is none.
	bounds() (least, most []byte)
	// next begins another page.
	next()
}

// room returns s longer by n. What has outgrown a small table gets the room of
// a page at once.
func room[T any](s []T, n int) []T {
	if len(s)+n > cap(s) && len(s) > 1024 {
		n := max(len(s)+n, pageRows+batchRows)
		s = append(make([]T, 0, n), s...)
	}
	return slices.Grow(s, n)[:len(s)+n]
}

// intValues are whole numbers, or the bits of real ones.
type intValues struct {
	gather   gatherer
	encoding format.Encoding // Plain or DeltaBinaryPacked
	order    ordering
	ints     []int64
	delta    delta.BinaryPackedEncoding
}

// ordering is how the 64 bits of a value compare.
type ordering uint8

const (
	signed ordering = iota
	unsigned
	real
)

func orderOf(t correlate.ColumnType) ordering {
	switch t {
	case correlate.ColUint, correlate.ColPlainUint:
		return unsigned
	case correlate.ColReal, correlate.ColPlainReal:
		return real
	}
	return signed
}

func (o ordering) less(a, b uint64) bool {
	switch o {
	case unsigned:
		return a < b
	case real:
		return math.Float64frombits(a) < math.Float64frombits(b)
	}
	return int64(a) < int64(b)
}

func (v *intValues) add(rows []unsafe.Pointer, offset uintptr, known *bitmap) int {
	at := len(v.ints)
	v.ints = room(v.ints, len(rows))
	n := v.gather(v.ints[at:], rows, offset, known)
	v.ints = v.ints[:at+n]
	return 0
}

func (v *intValues) full() bool { return false }

func (v *intValues) next() { v.ints = v.ints[:0] }

func (v *intValues) encode(dst []byte) ([]byte, format.Encoding, error) {
	dst, err := v.encodeAs(dst, v.ints, v.encoding)
	return dst, v.encoding, err
}

func (v *intValues) encodeAs(dst []byte, ints []int64, e format.Encoding) ([]byte, error) {
	if e == format.DeltaBinaryPacked {
		out, err := v.delta.EncodeInt64(dst[len(dst):], ints)
		return append(dst, out...), err
	}
	return appendPlain(dst, ints), nil
}

func appendPlain(dst []byte, ints []int64) []byte {
	at := len(dst)
	dst = room(dst, 8*len(ints))
	for i, x := range ints {
		binary.LittleEndian.PutUint64(dst[at+8*i:], uint64(x))
	}
	return dst
}

func (v *intValues) bounds() (least, most []byte) { return boundsOf(v.ints, v.order) }

func boundsOf(ints []int64, o ordering) (least, most []byte) {
	if o == real {
		return realBounds(ints)
	}
	if len(ints) == 0 {
		return nil, nil
	}
	var flip int64 // makes the order of unsigned numbers that of signed ones
	if o == unsigned {
		flip = math.MinInt64
	}
	lo, hi := ints[0]^flip, ints[0]^flip
	for _, x := range ints {
		lo, hi = min(lo, x^flip), max(hi, x^flip)
	}
	return appendPlain(nil, []int64{lo ^ flip}), appendPlain(nil, []int64{hi ^ flip})
}

// realBounds leaves NaN out, and takes a zero for the lesser or greater one, as
// the format wants it.
func realBounds(bits []int64) (least, most []byte) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, b := range bits {
		if f := math.Float64frombits(uint64(b)); !math.IsNaN(f) {
			lo, hi = min(lo, f), max(hi, f)
		}
	}
	if lo > hi {
		return nil, nil
	}
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	return appendPlain(nil, []int64{int64(math.Float64bits(lo))}), appendPlain(nil, []int64{int64(math.Float64bits(hi))})
}

// boolValues are those of a BOOLEAN column.
type boolValues struct {
	optional bool
	bits     bitmap
}

func (v *boolValues) add(rows []unsafe.Pointer, offset uintptr, known *bitmap) int {
	for len(rows) > 0 {
		some := rows[:min(len(rows), 64)]
		rows = rows[len(some):]
		if !v.optional {
			var w uint64
			for i, p := range some {
				w |= toBit(*(*bool)(unsafe.Add(p, offset))) << i
			}
			v.bits.add(w, len(some))
			continue
		}
		var w, is uint64
		n := 0
		for i, p := range some {
			b := (*[2]bool)(unsafe.Add(p, offset)) // an OptBool
			bit := toBit(b[1])
			w |= toBit(b[0]) & bit << n
			is |= bit << i
			n += int(bit)
		}
		known.add(is, len(some))
		if n > 0 {
			v.bits.add(w, n)
		}
	}
	return 0
}

func (v *boolValues) full() bool { return false }

func (v *boolValues) next() { v.bits.reset() }

func (v *boolValues) encode(dst []byte) ([]byte, format.Encoding, error) {
	return v.bits.appendPlain(dst), format.Plain, nil
}

func (v *boolValues) bounds() (least, most []byte) {
	if v.bits.n == 0 {
		return nil, nil
	}
	return []byte{byte(toBit(v.bits.ones == v.bits.n))}, []byte{byte(toBit(v.bits.ones > 0))}
}
