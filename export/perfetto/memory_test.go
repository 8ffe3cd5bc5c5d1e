//go:build unix

package perfetto

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// A trace is the same, byte for byte, whether its rows and what they need of
// each other fit into memory or go to files, and no file is left behind.
func TestSameInLittleMemory(t *testing.T) {
	const jobs = 30_000
	write := func(memory int64) []byte {
		dir, tmp := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, "x.pftrace")
		w, err := New(path, export.Options{MaxMemory: memory, TempDir: tmp})
		if err != nil {
			t.Fatal(err)
		}
		rows := &correlate.Rows{}
		for id := int64(1); id <= jobs; id += 500 {
			batch(rows, id, 500)
			if err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(summary(0, (jobs+1)*10_000)); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if roomy, tight := write(1<<30), write(1<<20); !bytes.Equal(roomy, tight) {
		t.Errorf("%d bytes with much memory, %d others with little", len(roomy), len(tight))
	}
}
