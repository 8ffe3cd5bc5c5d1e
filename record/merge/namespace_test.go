package merge

import (
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// inside makes what a recording tells of a process or thread of a container.
func inside(kind event.Kind, pid, tid int32, inner int64) event.Event {
	e := event.New(kind, 10)
	e.PID, e.TID = pid, tid
	e.SetInt(event.FieldNSPID, inner)
	return e
}

// container is a profiler's view of process 27, whose threads are 27 and 31,
// and 40, which began after the recording looked.
func container() *memory {
	worker := called(3000, 27, 31, "cudaMalloc", "kineto:cuda_runtime")
	late := called(4000, 27, 40, "cudaFree", "kineto:cuda_runtime")
	return &memory{meta: event.Meta{Clock: event.ClockBoottime},
		events: []event.Event{called(2000, 27, 27, "cudaLaunchKernel", "kineto:cuda_runtime"), worker, late, mark(5000, "host's 7")}}
}

// The numbers of a container become those outside: of the process and of the
// threads that the recording told; a thread that it did not tell is no other.
func TestPidsOfAContainer(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{
		inside(event.KindProcess, 51234, 51234, 27), inside(event.KindThread, 51234, 51301, 31),
		called(2001, 51234, 51234, "cudaLaunchKernel", "uprobe:cudaLaunchKernel"), mark(9000, "end")}}
	m, all := open(t, Options{}, live.input("live"), container().input("kineto.json"))
	var got []string
	for i := range all {
		if e := &all[i]; e.Kind == event.KindAPI && strings.HasPrefix(e.Source, "kineto") {
			got = append(got, e.Str(event.FieldName))
			want := map[string]int32{"cudaLaunchKernel": 51234, "cudaMalloc": 51301, "cudaFree": 40 + 1<<22}[e.Str(event.FieldName)]
			if e.PID != 51234 || e.TID != want {
				t.Errorf("%s in process %d on thread %d, want %d", e.Str(event.FieldName), e.PID, e.TID, want)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("calls %v", got)
	}
	if a := m.Alignments()[1]; a.Pids != "27 is 51234" || !strings.HasSuffix(a.String(), "; pids of a container: 27 is 51234") {
		t.Errorf("alignment %q", a.String())
	}
	if l := m.Counters().List(); len(l) != 1 || l[0].AnomalySpec != anomalyForeignThread || l[0].Count != 1 || l[0].Sample != "kineto.json: thread 40 of process 27" {
		t.Errorf("anomalies %+v", l)
	}
	if e := named1(t, all, "host's 7"); e.PID != 7 {
		t.Errorf("process %d: no recording tells another number", e.PID)
	}
}

// Calls align the clocks of a container's trace too, once its threads are known.
func TestContainerAlignedByCalls(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{inside(event.KindProcess, 900, 900, 1)}}
	kineto := &memory{meta: event.Meta{Clock: event.ClockUnknown}}
	for i, at := range program(400, 1e6, 3) {
		live.events = append(live.events, called(at, 900, 900, functions[i%4], "uprobe:x"))
		kineto.events = append(kineto.events, called(at-5e9, 1, 1, functions[i%4], "kineto:x"))
	}
	m, _ := open(t, Options{}, live.input("live"), kineto.input("kineto"))
	if a := m.Alignments()[1]; a.Rule != RuleCalls || a.OffsetNS != 5e9 || a.Matched != 400 {
		t.Errorf("alignment %+v", a)
	}
}

// Two containers call their process 27: its threads tell which it is; where
// both have those, nothing does, and the number stays.
func TestTwoContainers(t *testing.T) {
	for _, c := range []struct {
		second int64 // what the other container calls a second thread
		want   int32
	}{{99, 51234}, {31, 27}} {
		live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{
			inside(event.KindProcess, 51234, 51234, 27), inside(event.KindThread, 51234, 51301, 31),
			inside(event.KindProcess, 60000, 60000, 27), inside(event.KindThread, 60000, 60001, c.second)}}
		m, all := open(t, Options{}, live.input("live"), container().input("kineto.json"))
		if e := named1(t, all, "cudaMalloc"); e.PID != c.want {
			t.Errorf("the other has thread %d: process %d, want %d", c.second, e.PID, c.want)
		}
		if n := m.Counters().Get(anomalyNamespaceAmbiguous); (n == 1) != (c.want == 27) {
			t.Errorf("the other has thread %d: counted %d", c.second, n)
		}
	}
}

// A number is the host's where the recording saw calls of that very process,
// and where the input itself tells what the kernel says.
func TestPidsOfTheHost(t *testing.T) {
	live := func() *memory {
		return &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{
			inside(event.KindProcess, 51234, 51234, 27), called(2001, 27, 27, "cudaLaunchKernel", "uprobe:cudaLaunchKernel")}}
	}
	_, all := open(t, Options{}, live().input("live"), container().input("kineto.json"))
	if e := named1(t, all, "cudaMalloc"); e.PID != 27 {
		t.Errorf("process %d", e.PID)
	}
	kernel := container()
	kernel.events = append(kernel.events, fence(6000, 0, 1, 0))
	recording := live()
	recording.events = recording.events[:1]
	_, all = open(t, Options{}, recording.input("live"), kernel.input("trace.dat"))
	if e := named1(t, all, "cudaMalloc"); e.PID != 27 {
		t.Errorf("process %d of an input with tracepoints", e.PID)
	}
}

// Two ranks in two containers have one number: outside they have two, and share
// the machine. Docker names their hosts after the containers.
func TestRanksInContainers(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime, Host: event.Host{Name: "node1", BootID: "b"}}, events: []event.Event{
		inside(event.KindProcess, 500, 500, 27), inside(event.KindThread, 500, 501, 31), mark(9000, "end")}}
	rank := container()
	rank.meta.Facts = []event.Fact{{Key: "rank", Value: "1"}}
	rank.meta.Host.Name = "0123456789ab"
	m, all := open(t, Options{}, live.input("live"), rank.input("rank1.json"))
	if a := m.Alignments()[1]; a.Domain != 0 || a.Pids != "27 is 500" {
		t.Errorf("alignment %+v", a)
	}
	for i := range all {
		if e := &all[i]; e.Kind == event.KindProcess && e.Has(event.FieldRank) && e.PID != 500 && e.PID != 7 {
			t.Errorf("process %d has the rank", e.PID)
		}
	}
}
