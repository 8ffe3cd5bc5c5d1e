package gpulog

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/event"
)

// sliceSource gives events in batches of a size.
type sliceSource struct {
	evs  []event.Event
	size int
}

func (s *sliceSource) Next(b *event.Batch) error {
	b.Reset()
	if len(s.evs) == 0 {
		return io.EOF
	}
	n := min(s.size, len(s.evs))
	b.Events = append(b.Events, s.evs[:n]...)
	s.evs = s.evs[n:]
	return nil
}

func (s *sliceSource) Meta() *event.Meta { return &event.Meta{Tool: "test"} }

// boundedSource knows its future exactly.
type boundedSource struct {
	sliceSource
	least []event.Time // from each event on, and after the last
}

func bounded(evs []event.Event, size int) *boundedSource {
	s := &boundedSource{sliceSource{evs, size}, make([]event.Time, len(evs)+1)}
	s.least[len(evs)] = endOfTime
	for i := len(evs) - 1; i >= 0; i-- {
		s.least[i] = s.least[i+1]
		if evs[i].Time.Known() {
			s.least[i] = min(s.least[i], evs[i].Time)
		}
	}
	return s
}

func (s *boundedSource) Bound() event.Time { return s.least[len(s.least)-1-len(s.evs)] }

// marked returns n events whose count tells their place in the source.
func marked(n int, timeOf func(i int) event.Time) []event.Event {
	evs := make([]event.Event, n)
	for i := range evs {
		evs[i] = event.New(event.KindLoss, timeOf(i))
		evs[i].SetUint(event.FieldCount, uint64(i))
		evs[i].Comm = fmt.Sprint("comm", i%7)
	}
	return evs
}

// wantOrder is the order that Sort promises, by a stable sort of its own.
func wantOrder(evs []event.Event) []event.Event {
	type placed struct {
		e event.Event
		t event.Time
	}
	l := make([]placed, len(evs))
	p := event.NoTime
	for i, e := range evs {
		if e.Time.Known() {
			p = e.Time
		}
		l[i] = placed{e, p}
	}
	sort.SliceStable(l, func(i, j int) bool { return l[i].t < l[j].t })
	out := make([]event.Event, len(l))
	for i := range l {
		out[i] = l[i].e
	}
	return out
}

func drain(t testing.TB, s interface{ Next(*event.Batch) error }) []event.Event {
	t.Helper()
	var b event.Batch
	var out []event.Event
	for {
		err := s.Next(&b)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Events) == 0 {
			t.Fatal("no event and no error")
		}
		out = append(out, b.Events...)
	}
}

// orders are ways in which a source may be out of order.
var orders = map[string]func(r *rand.Rand, i, n int) event.Time{
	"in order":   func(_ *rand.Rand, i, _ int) event.Time { return event.Time(i / 3) },
	"reversed":   func(_ *rand.Rand, i, n int) event.Time { return event.Time(n - i) },
	"random":     func(r *rand.Rand, _, n int) event.Time { return event.Time(r.IntN(n)) },
	"few times":  func(r *rand.Rand, _, _ int) event.Time { return event.Time(r.IntN(3)) },
	"per CPU":    func(_ *rand.Rand, i, _ int) event.Time { return event.Time(i/400*100 + i%100) },
	"no times":   func(*rand.Rand, int, int) event.Time { return event.NoTime },
	"extremes":   func(r *rand.Rand, _, _ int) event.Time { return event.Time(randomNum(r)) },
	"some times": func(r *rand.Rand, i, _ int) event.Time { return pick(r, event.NoTime, event.Time(i-r.IntN(500))) },
	"late start": func(_ *rand.Rand, i, n int) event.Time { return event.Time((i + n/2) % n) },
}

func pick(r *rand.Rand, l ...event.Time) event.Time { return l[r.IntN(len(l))] }

func TestSort(t *testing.T) {
	n := 8000
	for name, timeOf := range orders {
		r := rand.New(rand.NewPCG(7, uint64(len(name))))
		evs := marked(n, func(i int) event.Time { return timeOf(r, i, n) })
		want := wantOrder(evs)
		for _, mem := range []int64{0, 1 << 20, 1} {
			for _, size := range []int{7, 300, 2048} {
				if mem == 1 && size == 7 {
					continue // a temporary file for each batch: slow, and no other case
				}
				t.Run(fmt.Sprintf("%s/mem %d/batch %d", name, mem, size), func(t *testing.T) {
					s := Sort(&sliceSource{evs, size}, SortOptions{MaxMemory: mem, TempDir: t.TempDir()})
					compare(t, drain(t, s), want)
					if c := s.Counters().List(); len(c) > 0 {
						t.Fatalf("anomalies %+v", c)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
		t.Run(name+"/bounded", func(t *testing.T) {
			for _, mem := range []int64{0, 1 << 20} {
				s := Sort(bounded(evs, 2048), SortOptions{MaxMemory: mem, TempDir: t.TempDir()})
				compare(t, drain(t, s), want)
				if c := s.Counters().List(); len(c) > 0 {
					t.Fatalf("anomalies %+v", c)
				}
				s.Close()
			}
		})
	}
}

// A source that is in order and knows its bound passes through: nothing is held.
func TestSortPassesThrough(t *testing.T) {
	evs := marked(20000, func(i int) event.Time { return event.Time(i) })
	s := Sort(bounded(evs, 2000), SortOptions{})
	defer s.Close()
	var b event.Batch
	for i := 0; i < 10; i++ {
		if err := s.Next(&b); err != nil {
			t.Fatal(err)
		}
		if s.held.len() != 0 || len(b.Events) != 2000 {
			t.Fatalf("batch %d: %d held, %d given", i, s.held.len(), len(b.Events))
		}
	}
}

// Memory stays within its bound, and temporary files have no name and are closed.
func TestSortMemory(t *testing.T) {
	dir := t.TempDir()
	n := 200000
	r := rand.New(rand.NewPCG(1, 2))
	evs := marked(n, func(int) event.Time { return event.Time(r.IntN(n)) })
	limit := int64(4 << 20)
	s := Sort(&sliceSource{evs, 2048}, SortOptions{MaxMemory: limit, TempDir: dir})
	var b event.Batch
	got := 0
	last := event.NoTime
	for {
		err := s.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.held.bytes > limit+1<<20 {
			t.Fatalf("%d bytes held, limit %d", s.held.bytes, limit)
		}
		if len(s.runs) > runFan {
			t.Fatalf("%d runs", len(s.runs))
		}
		for i := range b.Events {
			if b.Events[i].Time < last {
				t.Fatal("out of order")
			}
			last = b.Events[i].Time
		}
		got += len(b.Events)
	}
	if got != n {
		t.Fatalf("%d events, want %d", got, n)
	}
	if l, err := os.ReadDir(dir); err != nil || len(l) > 0 {
		t.Fatalf("left in the directory: %v, %v", l, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSortWindow(t *testing.T) {
	evs := marked(10000, func(i int) event.Time { return event.Time(i * 10) })
	evs[9000].Time = 5 // far too late
	s := Sort(&sliceSource{evs, 500}, SortOptions{Window: time.Microsecond})
	defer s.Close()
	got := drain(t, s)
	if len(got) != len(evs) {
		t.Fatalf("%d events, want %d", len(got), len(evs))
	}
	if n := s.Counters().Get(AnomalyLate); n != 1 {
		t.Fatalf("late: %d, want 1", n)
	}
}

func TestSortNoTempDir(t *testing.T) {
	evs := marked(10000, func(i int) event.Time { return event.Time(-i) })
	s := Sort(&sliceSource{evs, 500}, SortOptions{MaxMemory: 1, TempDir: filepath.Join(t.TempDir(), "missing")})
	defer s.Close()
	var b event.Batch
	err := s.Next(&b)
	for err == nil {
		err = s.Next(&b)
	}
	if err == io.EOF || len(b.Events) > 0 {
		t.Fatalf("error %v, %d events", err, len(b.Events))
	}
}

// A log in a file gives the same order through its bounds as through a pipe.
func TestSortLog(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	evs := marked(60000, func(i int) event.Time {
		if r.IntN(10) == 0 {
			return event.NoTime
		}
		return event.Time(i*10 - r.IntN(20000))
	})
	evs[3].Time = math.MaxInt64
	data := write(t, evs, WriterOptions{BlockEvents: 1000})
	path := filepath.Join(t.TempDir(), "a.gpurec")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lr, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	s := Sort(lr, SortOptions{})
	defer s.Close()
	var b event.Batch
	if err := s.Next(&b); err != nil {
		t.Fatal(err)
	}
	if lr.Stats().Events > 20000 {
		t.Fatalf("%d events were read before the first was given", lr.Stats().Events)
	}
	got := append([]event.Event(nil), b.Events...)
	compare(t, append(got, drain(t, s)...), wantOrder(evs))
}
