package ftracetext

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

func BenchmarkImport(b *testing.B) {
	for _, f := range []string{"captures/6.12.117+deb12-amd64/trace.txt", "traces/183-local-trace-6.18-5flags.ftrace.txt", "captures/6.12.117+deb12-amd64/tracecmd-report.txt"} {
		b.Run(f, func(b *testing.B) {
			text, err := os.ReadFile(importtest.Shared(b, f))
			if err != nil {
				b.Fatal(err)
			}
			lines := bytes.Count(text, []byte("\n"))
			var batch event.Batch
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				r, err := open(importer.Input{Name: f, R: bytes.NewReader(text)}, importer.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if err := r.Next(&batch); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				n += lines
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mlines/s")
		})
	}
}
