package correlate

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/testdata/stress"
)

// heapSource looks at the heap when its events reach each of marks.
type heapSource struct {
	*stress.Source
	marks []int
	heaps []uint64
}

func (s *heapSource) Next(b *event.Batch) error {
	if n := len(s.heaps); n < len(s.marks) && s.Events() >= s.marks[n] {
		s.heaps = append(s.heaps, heapNow())
	}
	return s.Source.Next(b)
}

// heapNow is what lives on the heap.
func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// heapsAt runs a stream and returns what lived on the heap, beyond what did
// before, after each of marks events.
func heapsAt(t testing.TB, variant string, o Options, marks ...int) []uint64 {
	t.Helper()
	src, err := stress.New(variant, marks[len(marks)-1]+1)
	if err != nil {
		t.Fatal(err)
	}
	base := heapNow()
	s := &heapSource{Source: src, marks: marks}
	if _, err := Run(s, o, func(*Rows) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for i, h := range s.heaps {
		s.heaps[i] = h - min(h, base)
	}
	return s.heaps
}

// cpuTime is what the process has used of its CPUs.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkBounded(b *testing.B) {
	top := 1000000
	if n, err := strconv.Atoi(os.Getenv("GPUREC_EVENTS")); err == nil {
		top = n
	}
	for _, v := range stress.Variants() {
		b.Run(v, func(b *testing.B) {
			cpu := cpuTime(b)
			for range b.N {
				h := heapsAt(b, v, Options{}, top/10, top)
				b.ReportMetric(float64(h[0])/1e6, "MB/tenth")
				b.ReportMetric(float64(h[1])/1e6, "MB")
			}
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N)/float64(top), "cpu-ns/event")
		})
	}
}
