package gpulog

import "encoding/binary"

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// decbuf reads from a body. After the first fault ok is false for good, and
// everything reads as zero.
type decbuf struct {
	b   []byte
	bad bool
}

func (d *decbuf) fail() { d.bad, d.b = true, nil }

func (d *decbuf) uvarint() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		v := d.b[0]
		d.b = d.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads a number that must not exceed limit.
func (d *decbuf) count(limit int) int {
	v := d.uvarint()
	if v > uint64(limit) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decbuf) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decbuf) bytes(n int) []byte {
	if n > len(d.b) {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decbuf) uint64() uint64 {
	b := d.bytes(8)
	if d.bad {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}
