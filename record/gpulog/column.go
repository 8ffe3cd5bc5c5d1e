package gpulog

import (
	"encoding/binary"
	"math/bits"

	"github.com/gpurec/gpurec/record/event"
)

// columnEncoder writes the columns of a block: their heads into the
// directory, their bytes behind one another into data.
type columnEncoder struct {
	data []byte
	pool poolTable
	dict dictTable
	last [keyedSlots]uint64
	buf  []byte
	vals []uint64 // of the column in work
	keys []uint64 // of the one that predicts it
	// keyed counts the columns that need a table of last values to be read.
	keyedColumns int
}

// reset begins a block: so many pointers, and no more bytes than size.
func (c *columnEncoder) reset(pointers, size int) {
	if cap(c.data) == 0 {
		c.data = make([]byte, 0, size) // once, and not by steps
	}
	c.data = c.data[:0]
	c.pool.reset(pointers)
	c.keyedColumns = 0
}

const (
	maxDict    = 256 // values of a column's dictionary
	keyedSlots = 256
)

// keyedSlot is the place of a key in the table of last values. Keys that
// share a place share a prediction, which costs bytes and nothing else.
func keyedSlot(key uint64) uint8 { return uint8(key * 0x9E3779B97F4A7C15 >> 56) }

// append writes col's bytes to data and its head to dst: encoding and base,
// the key column where there is one, the length of the bytes.
func (c *columnEncoder) append(dst []byte, col, key *column) []byte {
	vals := col.vals.all(&c.vals)
	enc := c.choose(col.typ, vals, key)
	start := len(c.data)
	switch enc {
	case encConst:
		if len(vals) > 0 {
			c.data = binary.AppendUvarint(c.data, vals[0])
		}
	case encVarint:
		for _, v := range vals {
			c.data = binary.AppendUvarint(c.data, v)
		}
	case encDelta:
		c.data = appendDeltas(c.data, vals)
	case encDict:
		c.data = append(c.data, byte(len(c.dict.list)-1))
		c.data = appendDeltas(c.data, c.dict.list)
		c.data = append(c.data, c.dict.places...)
	case encPool:
		c.data = c.pool.append(c.data, vals)
	case encKeyed:
		c.data = append(c.data, c.buf...)
		c.keyedColumns++
	case encPlain:
		for _, v := range vals {
			c.data = binary.LittleEndian.AppendUint64(c.data, v)
		}
	}
	dst = append(dst, byte(enc)|byte(col.base)<<4)
	if enc == encKeyed {
		dst = append(dst, byte(col.key-1))
	}
	return binary.AppendUvarint(dst, uint64(len(c.data)-start))
}

// choose picks the encoding that takes the fewest bytes before compression,
// with a liking for those that compress well.
func (c *columnEncoder) choose(typ event.FieldType, vals []uint64, key *column) encoding {
	same, deltas, plain := measure(vals)
	if same {
		return encConst
	}
	n := len(vals)
	if typ == event.TypePointer {
		return encPool
	}
	best, size := encDelta, deltas
	if key != nil && c.keyedColumns < MaxBlockKeyed {
		c.keyed(vals, key.vals.all(&c.keys))
		if len(c.buf) <= size {
			best, size = encKeyed, len(c.buf)
		}
	}
	if plain < size {
		best, size = encVarint, plain
	}
	// Few values: their places compress better than their differences.
	if best != encKeyed && c.dict.fill(vals, min(maxDict, n/4+1)) && c.dict.size() <= size+n/4 {
		best, size = encDict, c.dict.size()
	}
	if size > 8*n {
		best = encPlain
	}
	return best
}

// measure returns whether all values are the same, and what they take as
// differences and as they are.
func measure(vals []uint64) (same bool, deltas, plain int) {
	prev := uint64(0)
	same = true
	for _, v := range vals {
		same = same && v == vals[0]
		deltas += uvarintBytes(zigzag(v - prev))
		plain += uvarintBytes(v)
		prev = v
	}
	return
}

func uvarintBytes(v uint64) int { return (bits.Len64(v|1)*9 + 64) / 64 }

func appendDeltas(dst []byte, vals []uint64) []byte {
	prev := uint64(0)
	for _, v := range vals {
		dst = binary.AppendUvarint(dst, zigzag(v-prev))
		prev = v
	}
	return dst
}

// keyed leaves in buf the differences from the last value with the same key.
func (c *columnEncoder) keyed(vals, key []uint64) {
	clear(c.last[:])
	c.buf = c.buf[:0]
	for i, v := range vals {
		l := &c.last[keyedSlot(key[i])]
		c.buf = binary.AppendUvarint(c.buf, zigzag(v-*l))
		*l = v
	}
}

// dictTable numbers the values of a column in their order of appearance.
type dictTable struct {
	list   []uint64
	places []byte
	slots  [1024]struct {
		v     uint64
		place uint8
		epoch uint32
	}
	epoch uint32
}

// fill numbers vals, and reports whether they have no more than limit values.
func (d *dictTable) fill(vals []uint64, limit int) bool {
	d.epoch++
	d.list, d.places = d.list[:0], d.places[:0]
	for _, v := range vals {
		h := v * 0x9E3779B97F4A7C15 >> 54
		for d.slots[h].epoch == d.epoch && d.slots[h].v != v {
			h = (h + 1) % uint64(len(d.slots))
		}
		s := &d.slots[h]
		if s.epoch != d.epoch {
			if len(d.list) == limit {
				return false
			}
			s.v, s.place, s.epoch = v, uint8(len(d.list)), d.epoch
			d.list = append(d.list, v)
		}
		d.places = append(d.places, s.place)
	}
	return true
}

func (d *dictTable) size() int {
	_, n, _ := measure(d.list)
	return 1 + n + len(d.places)
}

// poolTable numbers the addresses of a block in the order in which its columns
// show them, so that one that is seen again, in any column, takes a byte.
type poolTable struct {
	list  []uint64
	slots []struct{ place, epoch uint32 }
	epoch uint32
	shift uint
}

func (p *poolTable) reset(n int) {
	p.list = p.list[:0]
	p.epoch++
	if want := 1 << bits.Len(uint(2*n+1)); want > len(p.slots) {
		p.slots = make([]struct{ place, epoch uint32 }, want)
	}
	p.shift = uint(64 - bits.Len(uint(len(p.slots)-1)))
}

// append adds vals and writes the differences of their places.
func (p *poolTable) append(dst []byte, vals []uint64) []byte {
	prev := uint64(0)
	mask := uint64(len(p.slots) - 1)
	for _, v := range vals {
		h := v * 0x9E3779B97F4A7C15 >> p.shift
		for p.slots[h].epoch == p.epoch && p.list[p.slots[h].place] != v {
			h = (h + 1) & mask
		}
		s := &p.slots[h]
		if s.epoch != p.epoch {
			s.place, s.epoch = uint32(len(p.list)), p.epoch
			p.list = append(p.list, v)
		}
		dst = binary.AppendUvarint(dst, zigzag(uint64(s.place)-prev))
		prev = uint64(s.place)
	}
	return dst
}
