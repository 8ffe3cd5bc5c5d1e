package merge

import (
	"slices"
	"strconv"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// profiled makes what a profiler tells of one launch: a call of 5 µs at at, an
// operator around it, its kernel of 10 µs 20 µs later, and a counter.
func profiled(at event.Time, id int64) []event.Event {
	whole := func(k event.Kind, tid int32, name, source string, start, dur event.Time) event.Event {
		e := event.New(k, start+dur)
		e.PID, e.TID, e.Source = 42, tid, source
		e.SetStr(event.FieldName, name)
		e.SetTime(event.FieldStart, start)
		return e
	}
	call := whole(event.KindAPI, 43, "cudaLaunchKernel", "kineto:cuda_runtime", at, 5000)
	call.SetInt(event.FieldCorrelationID, id)
	op := whole(event.KindSlice, 43, "aten::add", "kineto:cpu_op", at-1000, 8000)
	kernel := whole(event.KindGPUActivity, event.NoID, "add", "kineto:kernel", at+20000, 10000)
	kernel.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
	kernel.SetStr(event.FieldDevice, "GPU 0")
	kernel.SetInt(event.FieldCorrelationID, id)
	c := event.New(event.KindCounter, at)
	c.PID, c.Source = 42, "kineto:counter"
	c.SetStr(event.FieldName, "memory")
	c.SetFloat(event.FieldValue, float64(at%7))
	return []event.Event{call, op, c, kernel}
}

// part is a file of one profiler: launches from to to, one each 50 µs, its
// times cut to a multiple of round.
func part(from, to int, format string, round event.Time) *memory {
	m := &memory{meta: event.Meta{Format: format, Clock: event.ClockRealtime}}
	for i := from; i < to; i++ {
		m.events = append(m.events, profiled(event.Time(1e9+i*50_000+i*i%17*100), int64(i+1))...)
	}
	for i := range m.events {
		e := &m.events[i]
		e.Time -= e.Time % round
		if s := e.TimeOf(event.FieldStart); s.Known() {
			e.SetTime(event.FieldStart, s-s%round)
		}
	}
	slices.SortStableFunc(m.events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	return m
}

// kindsOf counts events by kind, and correlation ids of activities.
func kindsOf(events []event.Event) (n map[event.Kind]int, ids map[int64]int) {
	n, ids = map[event.Kind]int{}, map[int64]int{}
	for i := range events {
		n[events[i].Kind]++
		if id, ok := events[i].Int(event.FieldCorrelationID); ok && events[i].Kind == event.KindGPUActivity {
			ids[id]++
		}
	}
	return n, ids
}

// TestCopies: two windows of one profiler that overlap tell each moment once.
func TestCopies(t *testing.T) {
	for name, c := range map[string]struct {
		a, b       *memory
		want, both int // launches in the result, and those that both told
	}{
		"the same twice":    {part(0, 40, "kineto", 1), part(0, 40, "kineto", 1), 40, 40},
		"overlap":           {part(0, 30, "kineto", 1), part(20, 50, "kineto", 1), 50, 10},
		"one in µs":         {part(0, 40, "kineto", 1), part(0, 40, "kineto", 1000), 40, 40},
		"one after another": {part(0, 20, "kineto", 1), part(20, 40, "kineto", 1), 40, 0},
		"two formats":       {part(0, 40, "kineto", 1), part(0, 40, "nsys", 1), 80, 0},
	} {
		m, events := open(t, Options{}, c.a.input("a"), c.b.input("b"))
		n, ids := kindsOf(events)
		for _, k := range []event.Kind{event.KindAPI, event.KindSlice, event.KindGPUActivity, event.KindCounter} {
			if n[k] != c.want {
				t.Errorf("%s: %d events of kind %v, want %d", name, n[k], k, c.want)
			}
		}
		if c.want <= 50 {
			for id, k := range ids {
				if k != 1 {
					t.Errorf("%s: correlation id %d is on %d activities", name, id, k)
				}
			}
		}
		told := uint64(0)
		for _, a := range m.Counters().List() {
			if a.AnomalySpec == anomalyToldTwice {
				told = a.Count
			}
		}
		if told != uint64(4*c.both) {
			t.Errorf("%s: %d told twice, want %d", name, told, 4*c.both)
		}
	}
}

// What only looks alike stays: the kernels of a graph share name and id, another
// process has the numbers of its own, a file of one alone repeats itself.
func TestNoCopies(t *testing.T) {
	graph := func(from int) *memory {
		m := part(0, 1, "kineto", 1)
		for i := range 8 {
			e := m.events[len(m.events)-1]
			e.Time += event.Time(from+2*i+1) * 12_000
			e.SetTime(event.FieldStart, e.Time-10_000)
			m.events = append(m.events, e)
		}
		return m
	}
	_, events := open(t, Options{}, graph(0).input("a"), graph(1).input("b"))
	if n, _ := kindsOf(events); n[event.KindGPUActivity] != 1+16 {
		t.Errorf("%d kernels of one graph, want 17", n[event.KindGPUActivity])
	}
	other := part(0, 40, "kineto", 1)
	for i := range other.events {
		other.events[i].PID = 52
	}
	mixed := part(0, 40, "kineto", 1)
	mixed.events = append(mixed.events, mark(2e9, "x"))
	other.events = append(other.events, mark(2e9+5000, "x")) // both know process 7
	_, events = open(t, Options{}, mixed.input("a"), other.input("b"))
	if n, _ := kindsOf(events); n[event.KindGPUActivity] != 80 || n[event.KindMark] != 2 {
		t.Errorf("two processes: %s", strconv.Itoa(n[event.KindGPUActivity]))
	}
	double := part(0, 10, "kineto", 1)
	double.events = append(double.events, double.events...)
	slices.SortStableFunc(double.events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	_, events = open(t, Options{}, double.input("a"), part(0, 10, "kineto", 1).input("b"))
	if n, _ := kindsOf(events); n[event.KindGPUActivity] != 20 {
		t.Errorf("a file that repeats itself and one that does not: %d kernels, want 20", n[event.KindGPUActivity])
	}
}
