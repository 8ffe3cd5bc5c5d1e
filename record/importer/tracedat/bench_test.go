package tracedat

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// BenchmarkImport reads trace.dat files of others, of which opening is a good part.
func BenchmarkImport(b *testing.B) {
	for _, f := range []string{"traces/180-local-v7-zstd-instance.dat", "traces/051-lisa-example-rtapp.dat"} {
		b.Run(filepath.Base(f), func(b *testing.B) {
			file, err := os.ReadFile(importtest.Shared(b, f))
			if err != nil {
				b.Fatal(err)
			}
			read(b, file)
		})
	}
}

// BenchmarkLong reads a capture's pages a hundred times over, so that opening
// does not count: in version 6 as they are, in 7 compressed.
func BenchmarkLong(b *testing.B) {
	dir := importtest.Shared(b, "captures", "6.12.117+deb12-amd64", "raw")
	d := importtest.ParseDat(b, "clock mono\nbuffer \"\"\n")
	formats, err := filepath.Glob(filepath.Join(dir, "events", "*.format"))
	if err != nil {
		b.Fatal(err)
	}
	must := func(t []byte, err error) []byte {
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	for _, f := range formats {
		system, _, _ := strings.Cut(filepath.Base(f), ".")
		d.AddFormat(system, string(must(os.ReadFile(f))))
	}
	for cpu, name := range []string{"cpu0.raw", "cpu1.raw"} {
		d.AddPages(uint32(cpu), bytes.Repeat(must(os.ReadFile(filepath.Join(dir, name))), 100))
	}
	m := importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 4096}
	for _, f := range []form{{6, "", m}, {7, "zstd", m}, {7, "zlib", m}} {
		b.Run(f.String(), func(b *testing.B) { read(b, d.File(f.version, f.machine, f.zip)) })
	}
}

func read(b *testing.B, file []byte) {
	n := 0
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := importtest.OpenBytes(Format(), file, false)
		if err != nil {
			b.Fatal(err)
		}
		var batch event.Batch
		for r.Next(&batch) == nil {
			n += len(batch.Events)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
