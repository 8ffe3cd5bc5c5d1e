package export

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file beyond its limit does not appear, and says how large it would be.
func TestFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		limit int64
		fits  bool
	}{{999, false}, {1000, true}, {0, true}} {
		os.Remove(path)
		f, err := Create(path, Options{MaxOutput: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if n, err := f.Write(bytes.Repeat([]byte("x"), 100)); n != 100 || err != nil {
				t.Fatal(n, err)
			}
		}
		err = f.Commit()
		var large *TooLargeError
		if c.fits && err != nil || !c.fits && (!errors.As(err, &large) || large.Size != 1000) {
			t.Errorf("limit %d: %v", c.limit, err)
		}
		st, err := os.Stat(path)
		if (err == nil) != c.fits || c.fits && st.Size() != 1000 {
			t.Errorf("limit %d: %v %v", c.limit, st, err)
		}
	}
}
