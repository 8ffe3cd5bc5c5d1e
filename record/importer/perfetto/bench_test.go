package perfetto

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// BenchmarkImport reads a trace of Chrome of 293,610 packets, most of which
// are track events with a counter each, and one of GPU counters.
func BenchmarkImport(b *testing.B) {
	for file, packets := range map[string]int{"116-mstools-chrome.pftrace": 293610, "113-mstools-androidGpu.pftrace": 5790} {
		b.Run(file, func(b *testing.B) {
			s, err := importer.OpenStream(importtest.Shared(b, "traces", file))
			if err != nil {
				b.Fatal(err)
			}
			data, err := io.ReadAll(s.R)
			if err != nil || s.Close() != nil {
				b.Fatal(err)
			}
			var batch event.Batch
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r, err := open(importer.Input{Name: file, R: bytes.NewReader(data)}, importer.Options{})
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
				n += packets
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
		})
	}
}
