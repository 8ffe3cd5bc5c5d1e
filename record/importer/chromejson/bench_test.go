package chromejson

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// unpacked returns a file of the shared data without its gzip.
func unpacked(t testing.TB, parts ...string) []byte {
	t.Helper()
	f, err := os.Open(importtest.Shared(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// cpuTime is what the process used, in ns: on a machine that others use too,
// time on the clock says little.
func cpuTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func benchmark(b *testing.B, file string) {
	text := unpacked(b, "traces", file)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var batch event.Batch
	from := cpuTime()
	defer func() { b.ReportMetric(float64(cpuTime()-from)/float64(b.N)/1e6, "cpu-ms/op") }()
	for b.Loop() {
		r, err := open(importer.Input{R: bytes.NewReader(text)}, importer.Options{Passing: true})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			if err := r.Next(&batch); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			n += len(batch.Events)
		}
		b.ReportMetric(float64(n), "events")
	}
}

func BenchmarkH100(b *testing.B)   { benchmark(b, "024-tracelens-h100-qwen15.json.gz") }
func BenchmarkNCCL(b *testing.B)   { benchmark(b, "003-hta-nccl-data.json.gz") }
func BenchmarkV100(b *testing.B)   { benchmark(b, "001-hta-ns-resolution.pt.trace.json.gz") }
func BenchmarkResnet(b *testing.B) { benchmark(b, "038-param-resnet-kineto.json.gz") }
func BenchmarkPretty(b *testing.B) { benchmark(b, "028-tracelens-b200-eager.json.gz") }
