package check

import (
	"os"
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
			if testing.Short() && strings.HasPrefix(base, "6.1-") {
				t.Skip("-short: the captures of 6.12 only")
			}
			dir := t.TempDir()
			if err := Unpack(name, dir); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(base, "-")
			i := strings.LastIndex(rest, "-")
			for _, s := range all {
				if s.Name == rest[:i] {
					s, err := s.Small()
					if err != nil {
						t.Fatal(err)
					}
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

// Every scenario has a capture of both kernels, small enough to keep.
func TestCapturesAreThere(t *testing.T) {
	all, err := scenario.Load("../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, kernel := range []string{"6.1", "6.12"} {
			names, err := filepath.Glob("../captures/" + kernel + "-" + s.Name + "-*.tar.gz")
			if err != nil || len(names) == 0 {
				t.Errorf("no capture of %s on %s (%v)", s.Name, kernel, err)
			}
			for _, name := range names {
				if info, err := os.Stat(name); err != nil || info.Size() > 300<<10 {
					t.Errorf("%s: %v, or more than 300 KiB", name, err)
				}
			}
		}
	}
}
