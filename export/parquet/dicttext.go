package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// textDict is a dictionary of texts.
type textDict struct {
	places
	other *textValues // for plain

	text   []byte   // the entries as their page has them: the size in four bytes, the text
	starts []uint32 // of the entries in text
	slots  []int32  // 1 + the place of an entry, at its hash or behind; 0 is free
	seed   maphash.Seed

	// Texts met lately, each at a place that its address gives.
	lately [64]struct {
		text string
		id   int32
	}
}

func newTextDict() *textDict {
	return &textDict{seed: maphash.MakeSeed(), other: &textValues{}}
}

func (d *textDict) add(rows []unsafe.Pointer, offset uintptr, known *bitmap) (size int) {
	from := len(d.ids)
	d.ids = room(d.ids, len(rows))
	ids := d.ids[from:]
	var last string
	var id int32
	n := 0
	for len(rows) > 0 {
		some := rows[:min(len(rows), 64)]
		rows = rows[len(some):]
		var is uint64
		for i, p := range some {
			s := *(*string)(unsafe.Add(p, offset))
			if s == "" {
				continue
			}
			is |= 1 << i
			size += len(s)
			if !same(s, last) {
				last, id = s, d.find(s)
			}
			ids[n] = id
			n++
		}
		known.add(is, len(some))
	}
	d.ids = d.ids[:from+n]
	return size
}

// same reports whether two texts are one: those that are equal mostly stand at
// one address.
func same(a, b string) bool { return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b) }

// find returns the place of s, which need not be UTF-8.
func (d *textDict) find(s string) int32 {
	l := &d.lately[uintptr(unsafe.Pointer(unsafe.StringData(s)))>>3%uintptr(len(d.lately))]
	if !same(s, l.text) {
		l.text, l.id = s, d.place(validUTF8(s))
	}
	return l.id
}

// place returns the place of s, which it adds if it is new.
func (d *textDict) place(s string) int32 {
	if 2*len(d.starts) >= len(d.slots) {
		d.grow()
	}
	i := d.hash(s)
	for ; d.slots[i] != 0; i = (i + 1) & (len(d.slots) - 1) {
		if at := d.slots[i] - 1; string(d.entry(int(at))) == s {
			return at
		}
	}
	d.starts = append(d.starts, uint32(len(d.text)))
	d.text = binary.LittleEndian.AppendUint32(d.text, uint32(len(s)))
	d.text = append(d.text, s...)
	d.slots[i] = int32(len(d.starts))
	return int32(len(d.starts) - 1)
}

func (d *textDict) entry(at int) []byte {
	from := d.starts[at] + 4
	return d.text[from : from+binary.LittleEndian.Uint32(d.text[from-4:])]
}

// hash differs from run to run; what is written does not depend on it.
func (d *textDict) hash(s string) int { return int(maphash.String(d.seed, s) & uint64(len(d.slots)-1)) }

func (d *textDict) grow() {
	n := max(64, 2*len(d.slots))
	d.slots = make([]int32, n)
	for at := range d.starts {
		i := int(maphash.Bytes(d.seed, d.entry(at)) & uint64(n-1))
		for d.slots[i] != 0 {
			i = (i + 1) & (n - 1)
		}
		d.slots[i] = int32(at + 1)
	}
}

func (d *textDict) full() bool     { return len(d.text) > dictionaryBytes }
func (d *textDict) entries() int   { return len(d.starts) }
func (d *textDict) size() int      { return len(d.text) }
func (d *textDict) wasteful() bool { return d.wastes(len(d.starts)) }

func (d *textDict) appendEntries(dst []byte) []byte { return append(dst, d.text...) }

func (d *textDict) plain() values {
	d.other.next()
	for _, id := range d.ids {
		d.other.put(string(d.entry(int(id))))
	}
	return d.other
}

// reset lets go of the memory of a dictionary that grew beyond its bound.
func (d *textDict) reset() {
	d.next()
	d.text, d.starts = d.text[:0], d.starts[:0]
	if cap(d.text) > 2*dictionaryBytes {
		d.text = nil
	}
	clear(d.slots)
	clear(d.lately[:])
}

func (d *textDict) bounds() (least, most []byte) {
	first := true
	for at, used := range d.used(len(d.starts)) {
		if !used {
			continue
		}
		s := d.entry(at)
		if first || bytes.Compare(s, least) < 0 {
			least = s
		}
		if first || bytes.Compare(s, most) > 0 {
			most = s
		}
		first = false
	}
	return bytes.Clone(least), bytes.Clone(most)
}
