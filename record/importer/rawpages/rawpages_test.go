package rawpages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// TestCases writes the recordings of testdata/tracedat that have one buffer and
// no options as folders, and reads them back.
func TestCases(t *testing.T) {
	for _, name := range []string{"merged", "lost", "common", "prints"} {
		c := importtest.ReadCase(t, importtest.Testdata(t, "tracedat", name+".txt"))
		d := importtest.ParseDat(t, string(c.Trace))
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, long := range []int{4, 8} {
				t.Run(fmt.Sprintf("%s/%v-long%d", name, order, long), func(t *testing.T) {
					dir := t.TempDir()
					d.Folder(dir, importtest.Machine{Order: order, Long: long, Page: 4096})
					if !sniffDir(os.DirFS(dir)) {
						t.Error("the folder is not recognised")
					}
					r := importtest.Open(t, Format(), dir)
					got, err := importtest.Read(r)
					if err != nil {
						t.Fatal(err)
					}
					importtest.Compare(t, got, r.Counters(), c)
				})
			}
		}
	}
}

// folder writes the case "merged" and opens it after change.
func folder(t *testing.T, change func(dir string)) (importer.Reader, error) {
	t.Helper()
	dir := t.TempDir()
	c := importtest.ReadCase(t, importtest.Testdata(t, "tracedat", "merged.txt"))
	importtest.ParseDat(t, string(c.Trace)).Folder(dir, importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 4096})
	change(dir)
	s, err := importer.OpenStream(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f, err := importer.Detect(s, []importer.Format{Format()}, "")
	if err != nil {
		return nil, err
	}
	r, err := s.OpenReader(f, importer.Options{})
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The same folder as tracefs names its files.
func TestTracefsNames(t *testing.T) {
	r, err := folder(t, func(dir string) {
		for _, cpu := range []string{"cpu0", "cpu1"} {
			must(t, os.MkdirAll(filepath.Join(dir, "per_cpu", cpu), 0o755))
			must(t, os.Rename(filepath.Join(dir, cpu+".raw"), filepath.Join(dir, "per_cpu", cpu, "trace_pipe_raw")))
		}
		for _, f := range []string{"header_page", "header_event"} {
			must(t, os.Rename(filepath.Join(dir, f), filepath.Join(dir, "events", f)))
		}
	})
	must(t, err)
	got, err := importtest.Read(r)
	if err != nil || len(got) != 5 || got[1].Comm != "app two" {
		t.Fatalf("%d events of 5, %v", len(got), err)
	}
	if m := r.Meta(); m.Host.CPUs != 2 || m.Clock != event.ClockMonotonic || m.Start.V != 1005 || m.End.V != 4294968316 {
		t.Errorf("meta %+v", m)
	}
}

// A file of pages that is cut in the middle of one gives what is whole.
func TestCut(t *testing.T) {
	for n := 0; n < 2*4096; n += 97 {
		r, err := folder(t, func(dir string) { must(t, os.Truncate(filepath.Join(dir, "cpu1.raw"), int64(n))) })
		must(t, err)
		got, err := importtest.Read(r)
		if len(got) < 2 || len(got) > 5 {
			t.Fatalf("cut at %d: %d events", n, len(got))
		}
		var e *importer.Error
		if cut := n%4096 != 0; cut != errors.As(err, &e) {
			t.Fatalf("cut at %d: %d events, error %v", n, len(got), err)
		}
	}
}

// Missing formats and unreadable texts are counted; the rest is read.
func TestDamage(t *testing.T) {
	r, err := folder(t, func(dir string) {
		must(t, os.WriteFile(filepath.Join(dir, "events/dma_fence/dma_fence_init/format"), []byte("rubbish"), 0o644))
		must(t, os.Remove(filepath.Join(dir, "saved_cmdlines")))
		must(t, os.WriteFile(filepath.Join(dir, "cpu0.stats"), []byte("entries: 2\noverrun: 5\ndropped events: 2\n"), 0o644))
	})
	must(t, err)
	got, err := importtest.Read(r)
	c := r.Counters()
	if err != nil || len(got) != 5 || c.Get(&ftrace.AnomalyBadFormat) != 1 || c.Get(&ftrace.AnomalyNoFormat) != 3 || c.Get(&ftrace.AnomalyLostByStats) != 7 {
		t.Errorf("%d events of 5, %v, %v", len(got), err, c.List())
	}
}

// Counters of a CPU whose pages are not there, or are none, tell what is
// missing; a CPU whose pages stand in two files is told.
func TestCPUs(t *testing.T) {
	stats := []byte("entries: 3\noverrun: 0\nread events: 4\n")
	r, err := folder(t, func(dir string) {
		must(t, os.WriteFile(filepath.Join(dir, "cpu7.stats"), stats, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "cpu3.stats"), []byte("entries: 0\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "cpu1.stats"), stats, 0o644))
		must(t, os.Truncate(filepath.Join(dir, "cpu1.raw"), 0))
	})
	must(t, err)
	if _, err := importtest.Read(r); err != nil || r.Counters().Get(&AnomalyMissingCPU) != 14 {
		t.Errorf("%v, %v", err, r.Counters().List())
	}
	r, err = folder(t, func(dir string) {
		text, err := os.ReadFile(filepath.Join(dir, "cpu0.raw"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "cpu0"), text, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "cpu0.stats"), stats, 0o644))
	})
	must(t, err)
	if _, err := importtest.Read(r); err != nil || r.Counters().Get(&AnomalyCPUTwice) != 2 || r.Counters().Get(&AnomalyMissingCPU) != 0 {
		t.Errorf("%v, %v", err, r.Counters().List())
	}
}

// Of what a ring buffer's counters call lost, only what no page tells is added.
func TestStatsBeyondPages(t *testing.T) {
	r, err := folder(t, func(dir string) {
		p := filepath.Join(dir, "cpu0.raw")
		page, err := os.ReadFile(p)
		must(t, err)
		size := binary.LittleEndian.Uint64(page[8:])
		binary.LittleEndian.PutUint64(page[8:], size|3<<30) // events are missing, their number is stored
		binary.LittleEndian.PutUint64(page[16+size:], 5)
		must(t, os.WriteFile(p, page, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "cpu0.stats"), []byte("overrun: 7\ncommit overrun: 0\ndropped events: 1\n"), 0o644))
	})
	must(t, err)
	if _, err := importtest.Read(r); err != nil || r.Counters().Get(&ftrace.AnomalyLost) != 5 || r.Counters().Get(&ftrace.AnomalyLostByStats) != 3 {
		t.Errorf("%v, %v", err, r.Counters().List())
	}
}

// Folders that are none are refused in one line.
func TestRefused(t *testing.T) {
	for name, change := range map[string]func(dir string){
		"no header_page": func(dir string) { must(t, os.Remove(filepath.Join(dir, "header_page"))) },
		"no pages": func(dir string) {
			must(t, os.Remove(filepath.Join(dir, "cpu0.raw")))
			must(t, os.Remove(filepath.Join(dir, "cpu1.raw")))
		},
		"bad header_page": func(dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "header_page"), []byte("field: u64 timestamp;\toffset:0;\tsize:4;\n"), 0o644))
		},
	} {
		_, err := folder(t, change)
		var e *importer.Error
		if !errors.As(err, &e) || e.Remedy == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No other folder is taken for one of ours.
func TestSniffDir(t *testing.T) {
	for _, dir := range []string{"traces", "captures", "facts", "captures/6.1.0-57-amd64"} {
		if sniffDir(os.DirFS(importtest.Shared(t, dir))) {
			t.Errorf("%s is claimed", dir)
		}
	}
	for _, k := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		if !sniffDir(os.DirFS(importtest.Shared(t, "captures", k, "raw"))) {
			t.Errorf("%s is not recognised", k)
		}
	}
}

func FuzzPages(f *testing.F) {
	m := importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 4096}
	dir := f.TempDir()
	c, err := os.ReadFile(importtest.Testdata(f, "tracedat", "merged.txt"))
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(c), "-- trace --\n")
	trace, _, _ := strings.Cut(rest, "-- want --\n")
	importtest.ParseDat(f, trace).Folder(dir, m)
	pages, err := os.ReadFile(filepath.Join(dir, "cpu1.raw"))
	if err != nil {
		f.Fatal(err)
	}
	format, err := os.ReadFile(filepath.Join(dir, "events/dma_fence/dma_fence_init/format"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(m.HeaderPage()), []byte(importtest.HeaderEvent), format, pages[:256])
	f.Fuzz(func(t *testing.T, header, event_, format, pages []byte) {
		fs := fstest.MapFS{
			"header_page": {Data: header}, "header_event": {Data: event_},
			"events/a.b.format": {Data: format}, "cpu0.raw": {Data: pages}, "cpu1.raw": {Data: pages},
		}
		r, err := open(importer.Input{Name: "fuzz", Dir: fs}, importer.Options{})
		if err != nil {
			return
		}
		defer r.Close()
		got, err := importtest.Read(r)
		var e *importer.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if len(got) > len(pages)*2 {
			t.Fatalf("%d events of %d bytes", len(got), len(pages))
		}
	})
}

func BenchmarkImport(b *testing.B) {
	dir := importtest.Shared(b, "captures", "6.12.117+deb12-amd64", "raw")
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		r, err := open(importer.Input{Name: dir, Dir: os.DirFS(dir)}, importer.Options{})
		if err != nil {
			b.Fatal(err)
		}
		var batch event.Batch
		for r.Next(&batch) == nil {
			n += len(batch.Events)
		}
		r.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// BenchmarkLong reads the same pages many times over, so that opening does not count.
func BenchmarkLong(b *testing.B) {
	dir := importtest.Shared(b, "captures", "6.12.117+deb12-amd64", "raw")
	long := b.TempDir()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.CopyFS(long, os.DirFS(dir)))
	for _, cpu := range []string{"cpu0.raw", "cpu1.raw"} {
		p, err := os.ReadFile(filepath.Join(dir, cpu))
		must(err)
		must(os.Chmod(filepath.Join(long, cpu), 0o644))
		must(os.WriteFile(filepath.Join(long, cpu), []byte(strings.Repeat(string(p), 100)), 0o644))
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		r, err := open(importer.Input{Name: long, Dir: os.DirFS(long)}, importer.Options{})
		must(err)
		var batch event.Batch
		for r.Next(&batch) == nil {
			n += len(batch.Events)
		}
		must(r.Close())
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
