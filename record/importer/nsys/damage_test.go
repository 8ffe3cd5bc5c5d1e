package nsys

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// small is a file of small pages.
func small(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(importtest.Root(t), "testdata", "nsys", "reduced.sql"))
	if err != nil {
		t.Fatal(err)
	}
	script, _, _ := strings.Cut(string(text), "-- want\n")
	var more strings.Builder
	more.WriteString("PRAGMA page_size = 512;\n" + script)
	for range 40 {
		more.WriteString("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000,2010,102,1,2);\n")
	}
	data, err := os.ReadFile(build(t, more.String()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// read opens bytes as a pipe and reads all; it returns what both gave.
func read(t testing.TB, data []byte) (events []event.Event, err error) {
	t.Helper()
	r, err := open(importer.Input{Name: "cut.sqlite", R: bytes.NewReader(data)}, importer.Options{})
	if err != nil {
		return nil, err
	}
	events, err = importtest.Read(r)
	if cerr := r.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	if w, _ := r.Counters().Worst(); err != nil && w < 3 {
		t.Errorf("failed with %v, but counted no error", err)
	}
	return events, err
}

// A file that ends early gives what is whole and one line of error; never
// more, and never a sound end.
func TestCut(t *testing.T) {
	data := small(t)
	whole, err := read(t, data)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	// The process of a kernel comes from the calls here, and may be lost with them.
	strip := strings.NewReplacer(" pid=1", "", " +pid_inferred", "").Replace
	for _, l := range shown(whole) {
		known[strip(l)] = true
	}
	step := 127
	if testing.Short() {
		step = 997
	}
	kept := 0
	for n := len(data) - 1; n > 0; n -= step {
		got, err := read(t, data[:n])
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cut.sqlite") {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(data), err)
		}
		for _, l := range shown(got) {
			if !known[strip(l)] && !strings.Contains(l, "string ") && !strings.Contains(l, "metric ") && !strings.Contains(l, "gpu1") {
				t.Fatalf("cut to %d bytes: %s is no event of the whole file", n, l)
			}
		}
		kept = max(kept, len(got))
	}
	if kept == 0 {
		t.Error("nothing was kept of any cut file")
	}
}

func FuzzReader(f *testing.F) {
	data := small(f)
	f.Add(data)
	f.Add(data[:1500])
	f.Add([]byte("SQLite format 3\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sniff(data)
		if events, err := read(t, data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}
