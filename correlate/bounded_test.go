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

// BenchmarkBounded tells what lives on the heap after a quarter of a stream and
// at its end: 1 million events, or as many as GPUREC_EVENTS says.
func BenchmarkBounded(b *testing.B) {
	top := 1000000
	if n, err := strconv.Atoi(os.Getenv("GPUREC_EVENTS")); err == nil {
		top = n
	}
	for _, v := range stress.Variants() {
		b.Run(v, func(b *testing.B) {
			cpu := cpuTime(b)
			for range b.N {
				h := heapsAt(b, v, Options{}, top/4, top)
				b.ReportMetric(float64(h[0])/1e6, "MB/quarter")
				b.ReportMetric(float64(h[1])/1e6, "MB")
			}
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N)/float64(top), "cpu-ns/event")
		})
	}
}

// TestBounded: whatever a stream has more and more of, what the engine holds
// does not grow with it. The caps are a 256th, so that all are reached soon.
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("three million events: not with -short")
	}
	const n = 16000
	o := Options{Caps: defaultCaps.share(256), BatchRows: 256}
	for _, v := range stress.Variants() {
		t.Run(v, func(t *testing.T) {
			h := heapsAt(t, v, o, n, 4*n)
			t.Logf("%d kB, then %d kB", h[0]>>10, h[1]>>10)
			if h[1] > h[0]+h[0]/4+512<<10 {
				t.Errorf("%d kB live after %d events, %d kB after %d", h[0]>>10, n, h[1]>>10, 4*n)
			}
		})
	}
}

// TestSteadyIsWhole: a machine at work makes the engine let go of nothing.
func TestSteadyIsWhole(t *testing.T) {
	src, err := stress.New(stress.Steady, 200000)
	if err != nil {
		t.Fatal(err)
	}
	jobs, done, work, launched := 0, 0, 0, 0
	sum, err := Run(src, Options{}, func(r *Rows) error {
		for i := range r.Jobs {
			jobs++
			if r.Jobs[i].EndKind == jobDone {
				done++
			}
		}
		for i := range r.GPUActivities {
			work++
			if r.GPUActivities[i].APICallID != 0 {
				launched++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Twelve rings have 24 jobs each in flight when the stream ends.
	if queued := int(sum.Events[event.KindJobQueue]); jobs != queued || done != queued-12*24 {
		t.Errorf("%d jobs, %d of them done; %d were queued", jobs, done, queued)
	}
	if work == 0 || launched != work {
		t.Errorf("%d of %d activities have a call", launched, work)
	}
	for _, a := range sum.Counters.List() {
		t.Errorf("%s ×%d", a.Name, a.Count)
	}
}

// letGo says what a stream makes the engine let go of.
var letGo = map[string]*event.AnomalySpec{
	"calls-hanging": &anomalyEvicted, "calls-open": &anomalyEvicted, "ioctls-open": &anomalyEvicted, "threads-waiting": &anomalyEvicted,
	"jobs-open": &anomalyEvicted, "jobs-of-a-driver": &anomalyEvicted, "jobs-depending": &anomalyEvicted, "jobs-described": &anomalyEvicted,
	"dependencies": &anomalyEvicted, "fences-unsignaled": &anomalyEvicted, "fences-pairs": &anomalyEvicted, "jobs-running": &anomalyEvicted,
	"launches-without-work": &anomalyEvicted, "work-without-launch": &anomalyEvicted, "work-of-one-launch": &anomalyEvicted,
	"ranges-open": &anomalyEvicted, "ranges-async": &anomalyEvicted, "ranges-threads": &anomalyEvicted, "tracks": &anomalyEvicted,
	"interrupts": &anomalyEvicted,
	"threads":    &anomalyThreadLetGo, "ioctls-whole": &anomalyThreadLetGo, "switches": &anomalyThreadLetGo,
	"threads-loose": &anomalyProcessLetGo, "processes": &anomalyProcessLetGo, "processes-told": &anomalyProcessLetGo, "programs": &anomalyProcessLetGo,
	"rings": &anomalyRingLetGo, "jobs-undone": &anomalyRingLetGo,
	"devices": &anomalyDeviceLetGo, "devices-told": &anomalyDeviceLetGo, "gaps": &anomalyDeviceLetGo,
	"ranges-whole": &anomalyNestingCut, "losses": &anomalyLossesJoined, "domains": &anomalyDomains,
}

// TestBoundedRows: what is let go is counted, and every row that an event began
// is given once, whatever was let go before.
func TestBoundedRows(t *testing.T) {
	o := Options{Caps: defaultCaps.share(256), BatchRows: 256}
	for _, v := range stress.Variants() {
		t.Run(v, func(t *testing.T) {
			n := 12000
			if v == "losses" {
				n = 40000 // their bound is no cap
			}
			src, err := stress.New(v, n)
			if err != nil {
				t.Fatal(err)
			}
			all := &Rows{}
			sum, err := Run(src, o, func(r *Rows) error { appendRows(all, r); return nil })
			if err != nil {
				t.Fatal(err)
			}
			checkRules(t, all)
			checkIDs(t, all)
			for i, r := range all.Threads {
				if r.ProcessID > ID(len(all.Processes)) || r.ID > ID(len(all.Threads)) {
					t.Errorf("threads row %d of %d: %+v", i, len(all.Threads), r)
				}
			}
			counted := map[string]uint64{}
			for _, a := range sum.Counters.List() {
				counted[a.Name] = a.Count
			}
			if w := letGo[v]; w != nil && counted[w.Name] == 0 {
				t.Errorf("%s is not counted: %v", w.Name, counted)
			}
			evicted := uint64(0)
			for _, u := range all.Unmatched {
				if u.Reason == string(Evicted) {
					evicted++
				}
			}
			if evicted > 0 && counted[anomalyEvicted.Name] == 0 {
				t.Errorf("%d rows say that their partner was evicted, and nothing is counted", evicted)
			}
		})
	}
}
