package chromejson

import (
	"os"
	"path/filepath"
	"testing"
)

// shared returns a file of the shared data beside the checkout, or skips.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no go.mod above the test: cannot find the shared data")
		}
		dir = up
	}
	p := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("shared data is absent: %v", err)
	}
	return p
}
