package chromejson

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// maxOwnOpen bounds the slices of an export that are open at once.
const maxOwnOpen = 1 << 14

// openSlice is a slice of an export whose end is to come.
type openSlice struct {
	end event.Time
	seq uint64
	own own.Open
}

// before puts the earliest end first; of equal ones the slice that began last.
func (k *openSlice) before(o *openSlice) bool {
	if k.end != o.end {
		return k.end < o.end
	}
	return k.seq > o.seq
}

// openSlices is a heap by end, and the free ones.
type openSlices struct {
	heap []*openSlice
	free []*openSlice
	seq  uint64
}

func (h *openSlices) get() *openSlice {
	n := len(h.free)
	if n == 0 {
		return &openSlice{}
	}
	k := h.free[n-1]
	h.free = h.free[:n-1]
	return k
}

func (h *openSlices) put(k *openSlice) { h.free = append(h.free, k) }

// push reports false if there are too many.
func (h *openSlices) push(k *openSlice) bool {
	if len(h.heap) >= maxOwnOpen {
		return false
	}
	h.seq++
	k.seq = h.seq
	h.heap = append(h.heap, k)
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.heap[i].before(h.heap[up]) {
			break
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
	return true
}

func (h *openSlices) pop() *openSlice {
	top, n := h.heap[0], len(h.heap)-1
	h.heap[0] = h.heap[n]
	h.heap = h.heap[:n]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if h.heap[c].before(h.heap[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}
