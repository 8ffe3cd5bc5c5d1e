package picture

import "math"

// laneEnds holds when each of some lanes is free again, as a tree of least
// ends: a source may have a hundred thousand slices open at once.
type laneEnds struct {
	n    int     // lanes
	tree []int64 // 1 is the root, the children of i are 2i and 2i+1, lane k is at len/2+k
}

// firstFree returns the first lane that is free at a time, or -1.
func (l *laneEnds) firstFree(at int64) int {
	if len(l.tree) == 0 || l.tree[1] > at {
		return -1
	}
	i := 1
	for half := len(l.tree) / 2; i < half; {
		if i *= 2; l.tree[i] > at {
			i++
		}
	}
	return i - len(l.tree)/2
}

// book takes a lane until end: one that there is, or the next.
func (l *laneEnds) book(lane int, end int64) {
	if lane >= len(l.tree)/2 {
		l.grow()
	}
	l.n = max(l.n, lane+1)
	i := len(l.tree)/2 + lane
	l.tree[i] = end
	for i /= 2; i > 0; i /= 2 {
		l.tree[i] = min(l.tree[2*i], l.tree[2*i+1])
	}
}

func (l *laneEnds) grow() {
	old := l.tree[len(l.tree)/2:]
	half := max(1, len(old)*2)
	l.tree = make([]int64, 2*half)
	for i := range l.tree { // lanes that are not there yet are never free
		l.tree[i] = math.MaxInt64
	}
	copy(l.tree[half:], old)
	for i := half - 1; i > 0; i-- {
		l.tree[i] = min(l.tree[2*i], l.tree[2*i+1])
	}
}
