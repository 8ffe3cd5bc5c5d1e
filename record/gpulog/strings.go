package gpulog

import (
	"encoding/binary"
	"unsafe"
)

// stringTable numbers the strings of a block; "" is number 0.
type stringTable struct {
	list  []string // number 1 is list[0]
	idx   map[string]uint32
	epoch uint32
	cache [512]struct {
		s     string
		idx   uint32
		epoch uint32
	}
}

func (t *stringTable) reset(epoch uint32) {
	clear(t.list)
	t.list = t.list[:0]
	clear(t.idx)
	t.epoch = epoch
}

// intern returns the number of s, and how much the table's bound grew for it.
func (t *stringTable) intern(s string) (uint32, int) {
	if s == "" {
		return 0, 0
	}
	// Sources give the same string again and again: its address finds it.
	p := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	c := &t.cache[(p>>3^p>>12^uintptr(len(s)))%uintptr(len(t.cache))]
	if c.epoch == t.epoch && c.s == s {
		return c.idx, 0
	}
	i, ok := t.idx[s]
	grown := 0
	if !ok {
		i, grown = t.append(s)
		t.idx[s] = i
	}
	c.s, c.idx, c.epoch = s, i, t.epoch
	return i, grown
}

// append is intern for a string that is not expected to come again.
func (t *stringTable) append(s string) (uint32, int) {
	t.list = append(t.list, s)
	return uint32(len(t.list)), len(s) + maxStringSize
}

func (t *stringTable) encode(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.list)))
	for _, s := range t.list {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
	}
	for _, s := range t.list {
		dst = append(dst, s...)
	}
	return dst
}
