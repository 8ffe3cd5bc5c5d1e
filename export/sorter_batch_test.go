package export

import (
	"errors"
	"slices"
	"testing"
)

// batches pushes rows in batches and compares the batches that come out.
func batches(t *testing.T, rows, want []wide, maxBytes int64) {
	t.Helper()
	s := NewSorter(byKey, maxBytes, t.TempDir())
	defer s.Close()
	var given []wide
	for from, size := 0, 1; from < len(rows); from, size = from+len(given), size*3 {
		given = slices.Clone(rows[from:min(from+size, len(rows))])
		if err := s.PushAll(given); err != nil {
			t.Fatal(err)
		}
		clear(given) // the caller's rows are its own again
	}
	if s.Len() != len(rows) {
		t.Fatalf("Len is %d of %d", s.Len(), len(rows))
	}
	const most = 7
	i := 0
	err := s.EachBatch(most, func(batch []*wide) error {
		if len(batch) == 0 || len(batch) > most || len(batch) < most && i+len(batch) < len(want) {
			t.Fatalf("a batch of %d rows at row %d of %d", len(batch), i, len(want))
		}
		for _, v := range batch {
			if i >= len(want) || !same(v, &want[i]) {
				t.Fatalf("row %d is %+v", i, *v)
			}
			i++
		}
		return nil
	})
	if err != nil || i != len(want) {
		t.Fatalf("%d of %d rows: %v", i, len(want), err)
	}
}

func TestSorterBatchesStopAtError(t *testing.T) {
	for _, maxBytes := range []int64{0, 1} {
		s := NewSorter(byKey, maxBytes, t.TempDir())
		defer s.Close()
		if err := s.PushAll(make([]wide, 20)); err != nil {
			t.Fatal(err)
		}
		stop, calls := errors.New("stop"), 0
		err := s.EachBatch(8, func([]*wide) error {
			calls++
			if calls == 2 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}
