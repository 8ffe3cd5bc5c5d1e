package correlate

import (
	"io"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// loopSource gives the events of a capture again and again, each time later
// and with numbers that go on, as a long recording would.
type loopSource struct {
	base  []event.Event
	loops int
	at    int
	loop  int
	span  event.Time
	meta  event.Meta
}

func (s *loopSource) Meta() *event.Meta { return &s.meta }

func (s *loopSource) Next(b *event.Batch) error {
	b.Reset()
	for len(b.Events) < event.DefaultBatch {
		if s.at == len(s.base) {
			s.at, s.loop = 0, s.loop+1
		}
		if s.loop == s.loops {
			break
		}
		b.Events = append(b.Events, s.base[s.at])
		e := &b.Events[len(b.Events)-1]
		e.Time += event.Time(s.loop) * s.span
		s.shift(e, event.FieldFenceSeqno)
		s.shift(e, event.FieldOnFenceSeqno)
		s.shift(e, event.FieldSchedJobID)
		s.at++
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	return nil
}

func (s *loopSource) shift(e *event.Event, f event.Field) {
	if v, ok := e.Uint(f); ok {
		e.SetUint(f, v+uint64(s.loop)*1000)
	}
}

// BenchmarkCapture correlates the events of a capture: scheduler, fences,
// ioctls twice each, sched. One operation is one event.
func BenchmarkCapture(b *testing.B) {
	base := rawEvents(readRaw(b, captures[0]))
	src := &loopSource{base: base, loops: b.N/len(base) + 1, span: base[len(base)-1].Time}
	rows := 0
	b.ReportAllocs()
	b.ResetTimer()
	_, err := Run(src, Options{}, func(r *Rows) error { rows += r.Len(); return nil })
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	n := float64(src.loops * len(base))
	b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(rows)/n, "rows/event")
}

// BenchmarkCalls correlates API calls that nest and launch activities.
func BenchmarkCalls(b *testing.B) {
	s := &callSource{n: b.N}
	b.ReportAllocs()
	b.ResetTimer()
	_, err := Run(s, Options{}, func(*Rows) error { return nil })
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.i)/b.Elapsed().Seconds(), "events/s")
}

// callSource gives cudaLaunchKernel around cuLaunchKernel, and the kernel.
type callSource struct {
	i, n int
	meta event.Meta
}

func (s *callSource) Meta() *event.Meta { return &s.meta }

func (s *callSource) Next(b *event.Batch) error {
	b.Reset()
	if s.i >= s.n {
		return io.EOF
	}
	for range 400 {
		at, id := event.Time(s.i)*1000, int64(s.i/5+1)
		for k, name := range []string{"cudaLaunchKernel", "cuLaunchKernel", "cuLaunchKernel", "cudaLaunchKernel"} {
			kind := event.KindAPIEnter
			if k > 1 {
				kind = event.KindAPIExit
			}
			e := b.Add(kind, at+event.Time(k))
			e.PID, e.TID, e.CPU, e.Comm, e.Source = 100, int32(100+s.i%4), 0, "app", "uprobe"
			e.SetUint(event.FieldAPI, uint64(event.APICUDADriver))
			e.SetStr(event.FieldName, name)
			if kind == event.KindAPIExit {
				e.SetInt(event.FieldResult, 0)
			} else if k == 0 {
				e.SetInt(event.FieldCorrelationID, id)
			}
		}
		e := b.Add(event.KindGPUActivity, at+900)
		e.PID = 100
		e.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
		e.SetStr(event.FieldName, "kernel")
		e.SetTime(event.FieldStart, at+100)
		e.SetInt(event.FieldCorrelationID, id)
		s.i += 5
	}
	return nil
}
