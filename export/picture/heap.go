package picture

// lesser is what a heap holds pointers to.
type lesser[T any] interface {
	*T
	less(*T) bool
}

// minHeap is a binary heap of values: no boxing, no allocation once grown.
type minHeap[T any, P lesser[T]] struct{ s []T }

func (h *minHeap[T, P]) less(i, j int) bool { return P(&h.s[i]).less(&h.s[j]) }

func (h *minHeap[T, P]) push(v T) {
	h.s = append(h.s, v)
	for i := len(h.s) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(i, p) {
			break
		}
		h.s[i], h.s[p] = h.s[p], h.s[i]
		i = p
	}
}

// pop removes and returns the least value; the heap must not be empty.
func (h *minHeap[T, P]) pop() T {
	top, n := h.s[0], len(h.s)-1
	h.s[0] = h.s[n]
	var zero T
	h.s[n] = zero
	h.s = h.s[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			break
		}
		h.s[i], h.s[c] = h.s[c], h.s[i]
		i = c
	}
	return top
}
