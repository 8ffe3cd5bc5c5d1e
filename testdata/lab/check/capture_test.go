package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// Captures that the lab made hold what the lab holds, without QEMU. Their names
// are KERNEL-SCENARIO-MODE.
func TestCaptures(t *testing.T) {
	names, err := filepath.Glob("../captures/*.tar.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	all, err := scenario.Load("../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".tar.gz")
		t.Run(base, func(t *testing.T) {
			dir := t.TempDir()
			if err := Unpack(name, dir); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(base, "-")
			i := strings.LastIndex(rest, "-")
			for _, s := range all {
				if s.Name == rest[:i] {
					for _, p := range Dir(dir, s, scenario.Mode(rest[i+1:])) {
						t.Error(p)
					}
					return
				}
			}
			t.Errorf("no scenario is named %s", rest[:i])
		})
	}
}
