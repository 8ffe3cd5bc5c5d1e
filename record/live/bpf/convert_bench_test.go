package bpf

import (
	"testing"
	"unsafe"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// testSymbol is a probed function of the tables.
func testSymbol(t testing.TB, name string, entryOnly bool) *symbol {
	t.Helper()
	fn, ok := gpu.Lookup(name)
	if !ok {
		t.Fatalf("no function %s", name)
	}
	return newSymbol(&site{symbol: name, fn: fn}, "libcuda.so.1", entryOnly)
}

// bytesOf views a record as the ring gives it.
func bytesOf[T any](r *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

// BenchmarkConvert converts launches, with all of their arguments.
func BenchmarkConvert(b *testing.B) {
	var s symbols
	s.add([]*symbol{testSymbol(b, "cuLaunchKernel", false)})
	c := newConverter(&s)
	rec := objects.APIX{Head: objects.Head{TS: 1, PID: 10, TID: 11, Type: objects.RecAPIX, Flags: objects.FlagExtra, ID: objects.IDFirstSymbol, Comm: [16]byte{'p'}}}
	raw := bytesOf(&rec)
	var batch event.Batch
	b.ReportAllocs()
	for b.Loop() {
		if len(batch.Events) == event.DefaultBatch {
			batch.Reset()
		}
		c.convert(raw, &batch)
	}
}
