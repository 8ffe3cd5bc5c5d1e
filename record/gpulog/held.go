package gpulog

import (
	"unsafe"

	"github.com/gpurec/gpurec/record/event"
)

// held are the events that a Sorter has in memory. Events stay in the batches
// in which they came; items put them into order.
type held struct {
	batches []heldBatch
	free    []uint32 // batches that hold nothing
	open    int      // 1 + the batch that small ones are gathered in, 0: none
	items   []item   // up to fresh from the end in order of place, then in order of arrival
	aux     []item
	fresh   int
	given   int        // items given out, at the front
	least   event.Time // place of the first item, endOfTime if there is none
	bytes   int64
	ends    bool // nothing more comes: what is given out needs no memory any more
}

type heldBatch struct {
	events []event.Event
	left   int // events that were not given out
	bytes  int64
}

// item is an event in memory.
type item struct {
	place        event.Time
	batch, index uint32
}

const (
	eventSize = int64(unsafe.Sizeof(event.Event{}))
	itemSize  = 2 * int64(unsafe.Sizeof(item{})) // it is moved back and forth to be sorted
)

func (h *held) len() int { return len(h.items) - h.given }

// take takes over the events of b, the first of which follows an event at
// place before, and leaves b empty, with other memory.
func (h *held) take(b *event.Batch, before event.Time) {
	n := len(b.Events)
	slot, base := h.room(n)
	hb := &h.batches[slot]
	if base == 0 && n > event.DefaultBatch/2 {
		hb.events, b.Events = b.Events, hb.events[:0]
	} else {
		hb.events = append(hb.events, b.Events...)
		b.Reset()
	}
	hb.left += n
	bytes := -hb.bytes
	for i := base; i < base+n; i++ {
		e := &hb.events[i]
		if e.Time.Known() {
			before = e.Time
		}
		h.least = min(h.least, before)
		h.items = append(h.items, item{before, slot, uint32(i)})
		hb.bytes += int64(e.TextBytes()) + itemSize
	}
	if base == 0 {
		hb.bytes += int64(cap(hb.events)) * eventSize
	}
	h.bytes += bytes + hb.bytes
	h.fresh += n
}

// room finds a batch for n events, and how many it holds already.
func (h *held) room(n int) (slot uint32, base int) {
	if n <= event.DefaultBatch/2 && h.open > 0 {
		hb := &h.batches[h.open-1]
		if len(hb.events)+n <= cap(hb.events) {
			return uint32(h.open - 1), len(hb.events)
		}
	}
	if l := len(h.free); l > 0 {
		slot = h.free[l-1]
		h.free = h.free[:l-1]
	} else {
		slot = uint32(len(h.batches))
		h.batches = append(h.batches, heldBatch{})
	}
	if n <= event.DefaultBatch/2 {
		h.open = int(slot) + 1
		if hb := &h.batches[slot]; cap(hb.events) < event.DefaultBatch {
			hb.events = make([]event.Event, 0, event.DefaultBatch)
		}
	}
	return slot, 0
}

// pop appends the first event to b. The items must be sorted.
func (h *held) pop(b *event.Batch) {
	it := h.items[h.given]
	h.given++
	hb := &h.batches[it.batch]
	b.Events = append(b.Events, hb.events[it.index])
	if hb.left--; hb.left == 0 {
		h.release(it.batch)
	}
	h.least = endOfTime
	if h.given < len(h.items) {
		h.least = h.items[h.given].place
	} else {
		h.items, h.given = h.items[:0], 0
	}
}

func (h *held) release(slot uint32) {
	hb := &h.batches[slot]
	h.bytes -= hb.bytes
	hb.bytes = 0
	hb.events = hb.events[:0]
	if h.ends {
		hb.events = nil
	}
	h.free = append(h.free, slot)
	if h.open == int(slot)+1 {
		h.open = 0
	}
}

// end says that nothing more comes: memory goes as it is no longer needed.
func (h *held) end() {
	h.ends = true
	for _, slot := range h.free {
		h.batches[slot].events = nil
	}
}

// clear forgets all events, and keeps the memory.
func (h *held) clear() {
	h.items, h.given, h.fresh, h.least = h.items[:0], 0, 0, endOfTime
	for i := range h.batches {
		if h.batches[i].left > 0 {
			h.batches[i].left = 0
			h.release(uint32(i))
		}
	}
}

// sort puts the items into order of place, equal ones as they came: it merges
// the stretches that are in order already, of which a recording has few.
func (h *held) sort() {
	if h.given > 0 {
		h.items = h.items[:copy(h.items, h.items[h.given:])]
		h.given = 0
	}
	h.fresh = 0
	src := h.items
	ends := stretches(src)
	if len(ends) < 2 {
		return
	}
	if cap(h.aux) < len(src) {
		h.aux = make([]item, cap(src))
	}
	dst := h.aux[:len(src)]
	for len(ends) > 1 {
		ends = mergePairs(dst, src, ends)
		src, dst = dst, src
	}
	h.items, h.aux = src, dst
}

// stretches returns the ends of the stretches of items that are in order.
func stretches(items []item) (ends []int) {
	for i := range items {
		if i > 0 && items[i].place < items[i-1].place {
			ends = append(ends, i)
		}
	}
	return append(ends, len(items))
}

// mergePairs merges each two neighbouring stretches of src into dst, and
// returns the ends there.
func mergePairs(dst, src []item, ends []int) []int {
	out := ends[:0]
	begin := 0
	for i := 0; i < len(ends); i += 2 {
		mid, end := ends[i], ends[i]
		if i+1 < len(ends) {
			end = ends[i+1]
		}
		mergeStable(dst[begin:end], src[begin:mid], src[mid:end])
		out = append(out, end)
		begin = end
	}
	return out
}

func mergeStable(dst, a, b []item) {
	for len(a) > 0 && len(b) > 0 {
		if b[0].place < a[0].place {
			dst[0] = b[0]
			b = b[1:]
		} else {
			dst[0] = a[0]
			a = a[1:]
		}
		dst = dst[1:]
	}
	copy(dst[copy(dst, a):], b)
}
