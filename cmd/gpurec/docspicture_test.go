package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The picture in the README is what the export gives today.
func TestDocsPicture(t *testing.T) {
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "demo.pftrace"), filepath.Join(dir, "demo.svg")
	must(t, "export", "-q", demoLog, "-o", trace)
	c := exec.Command("go", "run", "../../testdata/picture", "-o", out, "-from", "44ms", "-to", "59.5ms", "-job", "gemm", trace)
	if b, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/demo.svg is not what the export gives: run make docs-picture, and look at it")
	}
	if len(want) > 200<<10 {
		t.Errorf("docs/demo.svg has %d bytes", len(want))
	}
}
