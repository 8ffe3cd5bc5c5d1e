package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"unsafe"
)

// A run is rows one after another, each: its length (uvarint), a bitmap of the
// fields that differ from the row before (from the zero row in the first), and
// their values: the difference (zigzag varint) of integers, the bits of
// floats, nothing for bools, which have two values. A string is 0, its length
// and itself, or 1 + its index in the strings that came before: both sides
// remember the same ones.

// rowCodec is the plan of a row type: its fields with those of its structs and
// arrays in one flat list.
type rowCodec struct {
	fields  []codecField
	strings []uintptr // offsets of the strings
	bytes   uintptr   // size of a row
	bitmap  int       // bytes of the bitmap
}

type codecField struct {
	kind   codecKind
	offset uintptr
}

type codecKind uint8

const (
	codec8 codecKind = iota
	codec16
	codec32
	codec64
	codecFloat32
	codecFloat64
	codecBool
	codecString
)

func codecOf[T any]() *rowCodec {
	t := reflect.TypeFor[T]()
	c := &rowCodec{bytes: t.Size()}
	c.add(t, 0)
	for _, f := range c.fields {
		if f.kind == codecString {
			c.strings = append(c.strings, f.offset)
		}
	}
	c.bitmap = (len(c.fields) + 7) / 8
	return c
}

func (c *rowCodec) add(t reflect.Type, offset uintptr) {
	var kind codecKind
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			c.add(f.Type, offset+f.Offset)
		}
		return
	case reflect.Array:
		for i := range t.Len() {
			c.add(t.Elem(), offset+uintptr(i)*t.Elem().Size())
		}
		return
	case reflect.Int8, reflect.Uint8:
		kind = codec8
	case reflect.Int16, reflect.Uint16:
		kind = codec16
	case reflect.Int32, reflect.Uint32:
		kind = codec32
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint, reflect.Uintptr:
		kind = codec64
		if t.Size() == 4 {
			kind = codec32
		}
	case reflect.Float32:
		kind = codecFloat32
	case reflect.Float64:
		kind = codecFloat64
	case reflect.Bool:
		kind = codecBool
	case reflect.String:
		kind = codecString
	default:
		panic(fmt.Sprintf("export: cannot sort rows that hold a %v", t))
	}
	c.fields = append(c.fields, codecField{kind, offset})
}

// rowOverhead is what a row held takes beside itself: its pointer, and half of
// one while sorting.
const rowOverhead = 12

func (c *rowCodec) sizeOf(row unsafe.Pointer) int64 {
	n := int64(c.bytes) + rowOverhead
	for _, off := range c.strings {
		n += int64(len(*(*string)(unsafe.Add(row, off))))
	}
	return n
}

// load returns an integer, the bits of a float, or a bool as 64 bits.
func (f codecField) load(row unsafe.Pointer) uint64 {
	p := unsafe.Add(row, f.offset)
	switch f.kind {
	case codec8, codecBool:
		return uint64(*(*uint8)(p))
	case codec16:
		return uint64(*(*uint16)(p))
	case codec32, codecFloat32:
		return uint64(*(*uint32)(p))
	default:
		return *(*uint64)(p)
	}
}

func (f codecField) store(row unsafe.Pointer, v uint64) {
	p := unsafe.Add(row, f.offset)
	switch f.kind {
	case codec8:
		*(*uint8)(p) = uint8(v)
	case codecBool:
		*(*bool)(p) = v != 0
	case codec16:
		*(*uint16)(p) = uint16(v)
	case codec32, codecFloat32:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// Bounds of the strings that a run remembers.
const (
	dictStrings = 4096
	dictBytes   = 128 << 10
)

// encoder writes the rows of one run.
type encoder struct {
	c     *rowCodec
	vals  []uint64 // of the row before, by field
	strs  []string
	dict  map[string]uint64
	bytes int
	buf   []byte
}

func newEncoder(c *rowCodec) *encoder {
	return &encoder{c: c, vals: make([]uint64, len(c.fields)), strs: make([]string, len(c.fields)), dict: map[string]uint64{}}
}

// encode returns the body of a row, valid until the next call.
func (e *encoder) encode(row unsafe.Pointer) []byte {
	b := append(e.buf[:0], make([]byte, e.c.bitmap)...)
	for i, f := range e.c.fields {
		if f.kind == codecString {
			s := *(*string)(unsafe.Add(row, f.offset))
			if s != e.strs[i] {
				e.strs[i] = s
				b[i>>3] |= 1 << (i & 7)
				b = e.appendString(b, s)
			}
			continue
		}
		v := f.load(row)
		old := e.vals[i]
		if v == old {
			continue
		}
		e.vals[i] = v
		b[i>>3] |= 1 << (i & 7)
		switch f.kind {
		case codecBool:
		case codecFloat32:
			b = binary.AppendUvarint(b, uint64(bits.ReverseBytes32(uint32(v^old))))
		case codecFloat64:
			// Round numbers differ in the high bytes only.
			b = binary.AppendUvarint(b, bits.ReverseBytes64(v^old))
		default:
			b = binary.AppendUvarint(b, zigzag(v-old))
		}
	}
	e.buf = b
	return b
}

func (e *encoder) appendString(b []byte, s string) []byte {
	if i, ok := e.dict[s]; ok {
		return binary.AppendUvarint(b, i+1)
	}
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(len(s)))
	b = append(b, s...)
	if dictForgets(len(e.dict), e.bytes+len(s)) {
		clear(e.dict)
		e.bytes = 0
	}
	e.dict[s] = uint64(len(e.dict))
	e.bytes += len(s)
	return b
}

// dictForgets says when both sides drop the strings that they remember.
func dictForgets(n, bytes int) bool { return n >= dictStrings || bytes > dictBytes }

// decoder reads the rows of one run. It holds the current row.
type decoder struct {
	c     *rowCodec
	dict  []string
	bytes int
}

var errRun = errors.New("a sorted run is damaged: the temporary file was changed")

// decode changes row, which holds the row before, into the next.
func (d *decoder) decode(b []byte, row unsafe.Pointer) error {
	if len(b) < d.c.bitmap {
		return errRun
	}
	set, b := b[:d.c.bitmap], b[d.c.bitmap:]
	for w, m := range set {
		for ; m != 0; m &= m - 1 {
			i := w<<3 + bits.TrailingZeros8(m)
			if i >= len(d.c.fields) {
				return errRun
			}
			f := d.c.fields[i]
			switch f.kind {
			case codecBool:
				f.store(row, f.load(row)^1)
				continue
			case codecString:
				s, n, ok := d.str(b)
				if !ok {
					return errRun
				}
				*(*string)(unsafe.Add(row, f.offset)) = s
				b = b[n:]
				continue
			}
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return errRun
			}
			b = b[n:]
			switch f.kind {
			case codecFloat32:
				v = f.load(row) ^ uint64(bits.ReverseBytes32(uint32(v)))
			case codecFloat64:
				v = f.load(row) ^ bits.ReverseBytes64(v)
			default:
				v = f.load(row) + unzigzag(v)
			}
			f.store(row, v)
		}
	}
	if len(b) != 0 {
		return errRun
	}
	return nil
}

func (d *decoder) str(b []byte) (s string, n int, ok bool) {
	ref, n := binary.Uvarint(b)
	if n <= 0 {
		return "", 0, false
	}
	if ref > 0 {
		if ref > uint64(len(d.dict)) {
			return "", 0, false
		}
		return d.dict[ref-1], n, true
	}
	size, m := binary.Uvarint(b[n:])
	n += m
	if m <= 0 || size > uint64(len(b)-n) {
		return "", 0, false
	}
	s = string(b[n : n+int(size)])
	if dictForgets(len(d.dict), d.bytes+len(s)) {
		clear(d.dict)
		d.dict, d.bytes = d.dict[:0], 0
	}
	d.dict = append(d.dict, s)
	d.bytes += len(s)
	return s, n + int(size), true
}

// readRow returns the body of the next row, valid until the next call.
func readRow(r interface {
	io.ByteReader
	io.Reader
}, buf []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return buf, err // io.EOF only at the end of a row
	}
	if n > 1<<31 {
		return buf, errRun
	}
	if uint64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err = io.ReadFull(r, buf); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return buf, err
}
