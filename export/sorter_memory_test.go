package export

import (
	"cmp"
	"runtime"
	"testing"
)

// TestSpillFrees fills sorters one after the other: what one held is free for
// the next once it is spilled.
func TestSpillFrees(t *testing.T) {
	type row struct{ A, B, C, D int64 }
	const each, bytes = 1 << 17, 32 << 17 // rows, and what they take: 4 MiB
	dir := t.TempDir()
	var sorters []*Sorter[row]
	before := heap()
	for range 16 {
		s := NewSorter(func(a, b *row) int { return cmp.Compare(a.A, b.A) }, 64<<20, dir)
		sorters = append(sorters, s)
		for i := range int64(each) {
			if err := s.Push(&row{A: i, B: -i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Spill(); err != nil {
			t.Fatal(err)
		}
	}
	if got := heap() - before; got > 2*bytes {
		t.Errorf("%d bytes are held by sorters that hold no rows", got)
	}
	for _, s := range sorters {
		n := int64(0)
		if err := s.Each(func(r *row) error {
			if r.A != n || r.B != -n {
				t.Fatalf("row %d is %v", n, *r)
			}
			n++
			return nil
		}); err != nil || n != each {
			t.Fatal(n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
