package parquet

import (
	"math/bits"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// dictionary is values that are written as their places in a dictionary, which
// holds for a row group.
type dictionary interface {
	values
	// entries returns the number of values in the dictionary, size their bytes.
	entries() int
	size() int
	// appendEntries appends the dictionary as its page has it.
	appendEntries(dst []byte) []byte
	// wasteful reports whether hardly a value of the page came twice.
	wasteful() bool
	// plain returns the page's values without the dictionary.
	plain() values
	// reset begins another dictionary.
	reset()
}

// places are the places of a page's values in a dictionary.
type places struct {
	ids []int32
	rle rle.DictionaryEncoding
}

func (p *places) next() { p.ids = p.ids[:0] }

func (p *places) encode(dst []byte) ([]byte, format.Encoding, error) {
	out, err := p.rle.EncodeInt32(dst[len(dst):], p.ids)
	return append(dst, out...), format.RLEDictionary, err
}

// used returns which of n entries the page has.
func (p *places) used(n int) []bool {
	seen := make([]bool, n)
	if n == 1 {
		seen[0] = len(p.ids) > 0
		return seen
	}
	for _, id := range p.ids {
		seen[id] = true
	}
	return seen
}

// wastefulFrom is how many entries a dictionary may have whatever it saves.
const wastefulFrom = 1024

func (p *places) wastes(entries int) bool { return entries > wastefulFrom && 2*entries > len(p.ids) }

// intDict is a dictionary of whole numbers.
type intDict struct {
	places
	gather gatherer
	order  ordering
	other  *intValues // for plain
	got    []int64

	ints  []int64 // the entries
	slots []int32 // 1 + the place of an entry, at its hash or behind; 0 is free
	shift uint
	last  int64 // the value before, and its place
	at    int32
}

func (d *intDict) add(rows []unsafe.Pointer, offset uintptr, known *bitmap) int {
	d.got = room(d.got[:0], len(rows))
	n := d.gather(d.got, rows, offset, known)
	from := len(d.ids)
	d.ids = room(d.ids, n)
	ids := d.ids[from:]
	if n > 0 && len(d.ints) == 0 {
		d.last, d.at = d.got[0], d.place(d.got[0])
	}
	for i, v := range d.got[:n] {
		if v != d.last {
			d.last, d.at = v, d.place(v)
		}
		ids[i] = d.at
	}
	return 0
}

// place returns the place of v, which it adds if it is new.
func (d *intDict) place(v int64) int32 {
	if 2*len(d.ints) >= len(d.slots) {
		d.grow()
	}
	i := d.hash(v)
	for ; d.slots[i] != 0; i = (i + 1) & (len(d.slots) - 1) {
		if at := d.slots[i] - 1; d.ints[at] == v {
			return at
		}
	}
	d.ints = append(d.ints, v)
	d.slots[i] = int32(len(d.ints))
	return int32(len(d.ints) - 1)
}

// hash multiplies with 2^64 over the golden ratio, whose high bits are even.
func (d *intDict) hash(v int64) int { return int(uint64(v) * 0x9e3779b97f4a7c15 >> d.shift) }

func (d *intDict) grow() {
	n := max(64, 2*len(d.slots))
	d.slots = make([]int32, n)
	d.shift = uint(65 - bits.Len(uint(n)))
	for at, v := range d.ints {
		i := d.hash(v)
		for d.slots[i] != 0 {
			i = (i + 1) & (n - 1)
		}
		d.slots[i] = int32(at + 1)
	}
}

func (d *intDict) full() bool     { return false }
func (d *intDict) entries() int   { return len(d.ints) }
func (d *intDict) size() int      { return 8 * len(d.ints) }
func (d *intDict) wasteful() bool { return d.wastes(len(d.ints)) }

func (d *intDict) appendEntries(dst []byte) []byte { return appendPlain(dst, d.ints) }

func (d *intDict) plain() values {
	d.other.ints = d.other.ints[:0]
	for _, id := range d.ids {
		d.other.ints = append(d.other.ints, d.ints[id])
	}
	return d.other
}

func (d *intDict) reset() {
	d.next()
	d.ints = d.ints[:0]
	clear(d.slots)
}

func (d *intDict) bounds() (least, most []byte) {
	d.got = d.got[:0]
	for at, used := range d.used(len(d.ints)) {
		if used {
			d.got = append(d.got, d.ints[at])
		}
	}
	return boundsOf(d.got, d.order)
}
