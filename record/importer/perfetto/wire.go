package perfetto

import (
	"encoding/binary"
	"math"
)

// field is a field of a protobuf message, read in place.
type field struct {
	num  uint32
	wire uint8
	v    uint64 // of varint, fixed64 and fixed32
	b    []byte // of length-delimited fields: lies in the input
}

// Wire types.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// message is the rest of a message. It is damaged once bad is set.
type message struct {
	b   []byte
	bad bool
}

// next reads the next field; it reports false at the end or at damage.
func (m *message) next(f *field) bool {
	if len(m.b) == 0 {
		return false
	}
	tag, n := uvarint(m.b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return m.fail()
	}
	b := m.b[n:]
	f.num, f.wire, f.b = uint32(tag>>3), uint8(tag&7), nil
	switch f.wire {
	case wireVarint:
		if f.v, n = uvarint(b); n <= 0 {
			return m.fail()
		}
		m.b = b[n:]
	case wireBytes:
		size, n := uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return m.fail()
		}
		f.b, f.v = b[n:n+int(size)], 0
		m.b = b[n+int(size):]
	case wireFixed64:
		if len(b) < 8 {
			return m.fail()
		}
		f.v = binary.LittleEndian.Uint64(b)
		m.b = b[8:]
	case wireFixed32:
		if len(b) < 4 {
			return m.fail()
		}
		f.v = uint64(binary.LittleEndian.Uint32(b))
		m.b = b[4:]
	default:
		return m.fail()
	}
	return true
}

func (m *message) fail() bool {
	m.b, m.bad = nil, true
	return false
}

// uvarint is binary.Uvarint with a fast path for one byte.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

func (f *field) float() float64 { return math.Float64frombits(f.v) }

// packed gives each value of a repeated number field, which may be packed.
func (f *field) packed(do func(v uint64)) bool {
	if f.wire != wireBytes {
		do(f.v)
		return true
	}
	for b := f.b; len(b) > 0; {
		v, n := uvarint(b)
		if n <= 0 {
			return false
		}
		do(v)
		b = b[n:]
	}
	return true
}
