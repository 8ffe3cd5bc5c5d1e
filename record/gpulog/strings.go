package gpulog

import (
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// stringTable numbers the strings of a block; "" is number 0. It copies them
// behind one another, to where the block's body will have them, and keeps no
// string that it was given: its memory may be another's next.
type stringTable struct {
	buf   []byte   // room for the lengths, then the strings; number 1 comes first
	ends  []uint32 // of the strings in buf
	slots []stringSlot
	used  int // slots of this epoch
	seed  maphash.Seed
	epoch uint32
	cache [512]struct{ number, epoch uint32 }
}

type stringSlot struct{ hash, number, epoch uint32 }

// lengthsRoom is what a body's lengths of strings take at most.
const lengthsRoom = 3 + (MaxBlockTable+1)*maxStringSize

func (t *stringTable) init() {
	// Only what is written to becomes memory of the process.
	t.buf = make([]byte, lengthsRoom, lengthsRoom+MaxBody)
	t.slots = make([]stringSlot, 1<<10)
	t.seed = maphash.MakeSeed()
}

func (t *stringTable) reset(epoch uint32) {
	t.buf = t.buf[:lengthsRoom]
	t.ends = t.ends[:0]
	t.used = 0
	t.epoch = epoch
}

func (t *stringTable) len() int { return len(t.ends) }

// at returns the string of a number that is not 0.
func (t *stringTable) at(number uint32) []byte {
	from := uint32(lengthsRoom)
	if number > 1 {
		from = t.ends[number-2]
	}
	return t.buf[from:t.ends[number-1]]
}

// intern returns the number of s, and how much the table's bound grew for it.
func (t *stringTable) intern(s string) (uint32, int) {
	if s == "" {
		return 0, 0
	}
	// Sources give the same string again and again: its address finds it.
	p := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	c := &t.cache[(p>>3^p>>12^uintptr(len(s)))%uintptr(len(t.cache))]
	if c.epoch == t.epoch && string(t.at(c.number)) == s {
		return c.number, 0
	}
	slot := t.find(s)
	grown := 0
	if slot.epoch != t.epoch {
		slot.epoch = t.epoch
		slot.number, grown = t.append(s)
		t.used++
	}
	c.number, c.epoch = slot.number, t.epoch
	return c.number, grown
}

// find returns the slot that s has or may have, with its hash in it.
func (t *stringTable) find(s string) *stringSlot {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	h := uint32(maphash.String(t.seed, s))
	slot := &t.slots[h&uint32(len(t.slots)-1)]
	for i := h; slot.epoch == t.epoch && (slot.hash != h || string(t.at(slot.number)) != s); {
		i++
		slot = &t.slots[i&uint32(len(t.slots)-1)]
	}
	slot.hash = h
	return slot
}

func (t *stringTable) grow() {
	was := t.slots
	t.slots = make([]stringSlot, 4*len(was))
	for _, s := range was {
		if s.epoch != t.epoch {
			continue
		}
		i := s.hash & uint32(len(t.slots)-1)
		for t.slots[i].epoch == t.epoch {
			i = (i + 1) & uint32(len(t.slots)-1)
		}
		t.slots[i] = s
	}
}

// append is intern for a string that is not expected to come again.
func (t *stringTable) append(s string) (uint32, int) {
	t.buf = append(t.buf, s...)
	t.ends = append(t.ends, uint32(len(t.buf)))
	return uint32(len(t.ends)), len(s) + maxStringSize
}

// encode returns the strings as a body begins with them. It is valid, and may
// be appended to, until the next intern or append.
func (t *stringTable) encode() []byte {
	size := uvarintBytes(uint64(len(t.ends)))
	from := uint32(lengthsRoom)
	for _, end := range t.ends {
		size += uvarintBytes(uint64(end - from))
		from = end
	}
	at := lengthsRoom - size
	dst := binary.AppendUvarint(t.buf[at:at], uint64(len(t.ends)))
	from = lengthsRoom
	for _, end := range t.ends {
		dst = binary.AppendUvarint(dst, uint64(end-from))
		from = end
	}
	return t.buf[at:]
}
