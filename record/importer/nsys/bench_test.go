package nsys

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// BenchmarkImport reads a real export: 28,188 rows of events and names.
func BenchmarkImport(b *testing.B) {
	path := importtest.Shared(b, "traces", "041-nsysai-h100-2gpu-1s.sqlite")
	var batch event.Batch
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		r, err := open(importer.Input{Name: path, R: f, At: f, Size: st.Size()}, importer.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for {
			if err := r.Next(&batch); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			n += len(batch.Events)
		}
		r.Close()
		f.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
