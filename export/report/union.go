package report

import "slices"

// maxSpans bounds the spans of a union that later ones may still touch.
const maxSpans = 1 << 16

// union measures the time that any of many intervals covers. They may come in
// any order; beyond maxSpans apart the oldest are settled.
type union struct {
	spans   []interval // apart, in order
	settled int64      // ns of those no longer kept
	until   int64      // end of the last settled span
	any     bool
	late    bool // an interval came that began before until
}

func (u *union) add(start, end int64) {
	if u.any && start < u.until {
		u.late = true
		start = u.until
	}
	if end < start {
		return
	}
	// Spans i..k touch the new one.
	i := len(u.spans)
	for i > 0 && u.spans[i-1].end >= start {
		i--
	}
	k := i
	for k < len(u.spans) && u.spans[k].start <= end {
		start, end = min(start, u.spans[k].start), max(end, u.spans[k].end)
		k++
	}
	if k > i {
		u.spans[i] = interval{start, end}
		u.spans = slices.Delete(u.spans, i+1, k)
	} else {
		u.spans = slices.Insert(u.spans, i, interval{start, end})
	}
	if len(u.spans) > maxSpans {
		h := len(u.spans) / 2
		for _, s := range u.spans[:h] {
			u.settled += s.dur()
		}
		u.until, u.any = u.spans[h-1].end, true
		u.spans = slices.Delete(u.spans, 0, h)
	}
}

// covered returns the time covered, ns.
func (u *union) covered() int64 {
	n := u.settled
	for _, s := range u.spans {
		n += s.dur()
	}
	return n
}
