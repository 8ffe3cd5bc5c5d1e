package picture

import "testing"

func TestWindow(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct{ length, want int64 }{{0, ms}, {199 * ms, ms}, {200 * ms, 2 * ms}, {860 * ms, 5 * ms}, {1000 * ms, 10 * ms}, {3600_000 * ms, 20_000 * ms}} {
		if got := windowOf(5, 5+c.length); got != c.want {
			t.Errorf("%d ms: window %d", c.length/ms, got)
		}
	}
}
