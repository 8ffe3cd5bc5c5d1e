package correlate

import (
	"path/filepath"
	"testing"

	"github.com/gpurec/gpurec/record/gpulog"
)

// TestDemoProcessesOnce: whoever exits in the demo's log shows events after
// that, and is in processes and threads once all the same. No id is used twice
// in its half second.
func TestDemoProcessesOnce(t *testing.T) {
	l, err := gpulog.Open(filepath.Join(repoRoot(t), "testdata", "demo", "demo.gpurec"), gpulog.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	s := gpulog.Sort(r, gpulog.SortOptions{})
	defer s.Close()
	pids, tids, exits := map[int64]ID{}, map[int64]ID{}, 0
	_, err = Run(s, Options{}, func(rows *Rows) error {
		for _, p := range rows.Processes {
			if first, twice := pids[p.PID.V]; twice && p.PID.OK {
				t.Errorf("processes %d and %d are both pid %d", first, p.ID, p.PID.V)
			}
			pids[p.PID.V] = p.ID
			if p.EndNS.OK {
				exits++
			}
		}
		for _, h := range rows.Threads {
			if first, twice := tids[h.TID.V]; twice && h.TID.OK {
				t.Errorf("threads %d and %d are both tid %d", first, h.ID, h.TID.V)
			}
			tids[h.TID.V] = h.ID
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if exits == 0 {
		t.Error("no process exits: the test shows nothing")
	}
}
