package picture

import (
	"math/rand/v2"
	"testing"
)

// The first free lane is that of a walk over all of them.
func TestLaneEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var l lanes
		l.limit = r.IntN(2) * 12
		var ends []int64
		at := int64(0)
		for range 400 {
			at += int64(r.IntN(3))
			end := at + int64(r.IntN(60))
			want := -1
			for i, e := range ends {
				if e <= at {
					want = i
					break
				}
			}
			if want < 0 && (l.limit == 0 || len(ends) < l.limit) {
				want, ends = len(ends), append(ends, 0)
			}
			if want >= 0 {
				ends[want] = end
			}
			if got := l.take(at, end); got != want {
				t.Fatalf("lane %d, not %d, at %d of %v", got, want, at, ends)
			}
		}
	}
}
