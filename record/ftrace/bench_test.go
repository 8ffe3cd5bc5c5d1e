package ftrace

import (
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func BenchmarkPages(b *testing.B) {
	c := readCapture(b, shared(b, "captures", kernels[1]))
	d := c.decoder(b)
	size := c.layout.SubBufferSize()
	var batch event.Batch
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		for cpu, pages := range c.cpus {
			for off := 0; off+size <= len(pages); off += size {
				batch.Reset()
				d.Page(int32(cpu), pages[off:off+size], &batch)
				events += len(batch.Events)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
