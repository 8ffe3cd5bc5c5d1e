package picture

// Two heaps of one shape: written out, since their less is then called directly,
// and nothing escapes.

// laterHeap is a binary heap of values: what was announced, the earliest first.
type laterHeap struct{ s []later }

func (h *laterHeap) push(v later) {
	h.s = append(h.s, v)
	i := len(h.s) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !v.less(&h.s[p]) {
			break
		}
		h.s[i] = h.s[p]
		i = p
	}
	h.s[i] = v
}

// pop removes and returns the least value; the heap must not be empty.
func (h *laterHeap) pop() later {
	n := len(h.s) - 1
	top, v := h.s[0], h.s[n]
	h.s[n] = later{}
	h.s = h.s[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.s[c+1].less(&h.s[c]) {
			c++
		}
		if !h.s[c].less(&v) {
			break
		}
		h.s[i] = h.s[c]
		i = c
	}
	h.s[i] = v
	return top
}

// endHeap is a binary heap of values: open slices, the earliest end first.
type endHeap struct{ s []opened }

func (h *endHeap) push(v opened) {
	h.s = append(h.s, v)
	i := len(h.s) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !v.less(&h.s[p]) {
			break
		}
		h.s[i] = h.s[p]
		i = p
	}
	h.s[i] = v
}

// pop removes and returns the least value; the heap must not be empty.
func (h *endHeap) pop() opened {
	n := len(h.s) - 1
	top, v := h.s[0], h.s[n]
	h.s[n] = opened{}
	h.s = h.s[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.s[c+1].less(&h.s[c]) {
			c++
		}
		if !h.s[c].less(&v) {
			break
		}
		h.s[i] = h.s[c]
		i = c
	}
	h.s[i] = v
	return top
}
