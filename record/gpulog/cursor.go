package gpulog

import (
	"encoding/binary"

	"github.com/gpurec/gpurec/record/event"
)

// cursor reads a column from front to back.
type cursor struct {
	field uint32
	typ   event.FieldType
	enc   encoding
	base  base
	key   int // the column that predicts this one, for encKeyed
	data  decbuf
	prev  uint64 // last value; the value, for encConst
	dict  []uint64
	last  *[keyedSlots]uint64
}

// parseHead reads what columnEncoder.append wrote to the directory, and
// returns the length of the column's bytes.
func (c *cursor) parseHead(d *decbuf) int {
	b := d.byte()
	c.enc, c.base = encoding(b&15), base(b>>4)
	if c.enc >= numEncodings || c.base >= numBases {
		d.fail()
		return 0
	}
	if c.enc == encKeyed {
		c.key = int(d.byte())
	}
	return d.count(MaxBody)
}

// open takes the column's bytes.
func (c *cursor) open(b []byte) bool {
	c.data = decbuf{b: b}
	switch c.enc {
	case encConst:
		if len(b) > 0 {
			c.prev = c.data.uvarint()
		}
	case encDict:
		n := int(c.data.byte()) + 1
		if n > len(c.data.b) {
			return false
		}
		c.dict = make([]uint64, n)
		c.data.deltas(c.dict, 0)
	case encKeyed:
		c.last = new([keyedSlots]uint64)
	}
	return !c.data.bad
}

// deltas fills dst with differences added up from prev on, and returns the last value.
func (d *decbuf) deltas(dst []uint64, prev uint64) uint64 {
	b := d.b
	for i := range dst {
		var v uint64
		if len(b) > 0 && b[0] < 0x80 {
			v = uint64(b[0])
			b = b[1:]
		} else if len(b) > 1 && b[1] < 0x80 {
			v = uint64(b[0]&0x7f) | uint64(b[1])<<7
			b = b[2:]
		} else {
			var n int
			if v, n = binary.Uvarint(b); n <= 0 {
				d.fail()
				return prev
			}
			b = b[n:]
		}
		prev += unzigzag(v)
		dst[i] = prev
	}
	d.b = b
	return prev
}

// fill reads the next len(dst) values; key holds the key column's values for
// the same events. It reports false if the column is not sound.
func (c *cursor) fill(dst, key, pool []uint64) bool {
	switch c.enc {
	case encConst:
		for i := range dst {
			dst[i] = c.prev
		}
	case encVarint:
		for i := range dst {
			dst[i] = c.data.uvarint()
		}
	case encDelta:
		c.prev = c.data.deltas(dst, c.prev)
	case encDict:
		return c.fillDict(dst)
	case encPool:
		return c.fillPool(dst, pool)
	case encKeyed:
		return c.fillKeyed(dst, key)
	case encPlain:
		b := c.data.bytes(8 * len(dst))
		if c.data.bad {
			return false
		}
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return !c.data.bad
}

func (c *cursor) fillDict(dst []uint64) bool {
	b := c.data.bytes(len(dst))
	if c.data.bad {
		return false
	}
	for i := range dst {
		if int(b[i]) >= len(c.dict) {
			return false
		}
		dst[i] = c.dict[b[i]]
	}
	return true
}

func (c *cursor) fillPool(dst, pool []uint64) bool {
	c.prev = c.data.deltas(dst, c.prev)
	if c.data.bad {
		return false
	}
	for i, p := range dst {
		if p >= uint64(len(pool)) {
			return false
		}
		dst[i] = pool[p]
	}
	return true
}

func (c *cursor) fillKeyed(dst, key []uint64) bool {
	if len(key) < len(dst) {
		return false
	}
	for i := range dst {
		l := &c.last[keyedSlot(key[i])]
		*l += unzigzag(c.data.uvarint())
		dst[i] = *l
	}
	return !c.data.bad
}
