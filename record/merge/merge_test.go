package merge

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// memory is an input in memory.
type memory struct {
	meta   event.Meta
	events []event.Event
	at     int
	fail   error // instead of the end
}

func (s *memory) Meta() *event.Meta { return &s.meta }

func (s *memory) Next(b *event.Batch) error {
	b.Reset()
	if s.at == len(s.events) {
		if s.fail != nil {
			return s.fail
		}
		return io.EOF
	}
	n := min(100, len(s.events)-s.at)
	b.Events = append(b.Events, s.events[s.at:s.at+n]...)
	s.at += n
	return nil
}

func (s *memory) input(name string) Input { return Input{Name: name, Source: s} }

// again is input, read a second time instead of spooled.
func (s *memory) again(name string) Input {
	return Input{Name: name, Source: s, Again: func() (Source, io.Closer, error) {
		return &memory{meta: s.meta, events: s.events}, nil, nil
	}}
}

// open merges, and reads the result.
func open(t *testing.T, o Options, inputs ...Input) (*Merged, []event.Event) {
	t.Helper()
	m, err := Open(inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	var all []event.Event
	var b event.Batch
	for {
		bound := m.Bound()
		err := m.Next(&b)
		if err == io.EOF {
			return m, all
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Events {
			if e := &b.Events[i]; e.Time.Known() && e.Time < bound {
				t.Fatalf("an event at %d after the bound was %d", e.Time, bound)
			}
		}
		all = append(all, b.Events...)
	}
}

// mark makes an event whose name says which it is.
func mark(at event.Time, name string) event.Event {
	e := event.New(event.KindMark, at)
	e.PID, e.TID = 7, 7
	e.SetStr(event.FieldName, name)
	return e
}

// called makes a whole call.
func called(start event.Time, pid, tid int32, name, source string) event.Event {
	e := event.New(event.KindAPI, start+4000)
	e.PID, e.TID, e.Source = pid, tid, source
	e.SetTime(event.FieldStart, start)
	e.SetStr(event.FieldName, name)
	return e
}

func named1(t *testing.T, all []event.Event, name string) *event.Event {
	t.Helper()
	for i := range all {
		if all[i].Str(event.FieldName) == name {
			return &all[i]
		}
	}
	t.Fatalf("no event %q in the result", name)
	return nil
}

func TestSnapshots(t *testing.T) {
	// BOOTTIME is MONOTONIC + 1000; MONOTONIC_RAW runs 1 in 1000 slow.
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime, Snapshots: []event.ClockSnapshot{
		{Boottime: 1_001_000, Monotonic: 1_000_000, MonotonicRaw: 500_000, Realtime: 9_000_000},
		{Boottime: 2_001_000, Monotonic: 2_000_000, MonotonicRaw: 1_499_000, Realtime: 10_000_000},
	}}, events: []event.Event{mark(1_001_500, "boot"), mark(1_900_000, "late")}}
	mono := &memory{meta: event.Meta{Clock: event.ClockMonotonic}, events: []event.Event{mark(1_000_200, "mono"), mark(1_000_700, "mono2")}}
	raw := &memory{meta: event.Meta{Clock: event.ClockMonotonicRaw}, events: []event.Event{mark(999_500, "raw")}}
	kineto := &memory{meta: event.Meta{Clock: "kineto", Facts: []event.Fact{{Key: "realtime_base_ns", Value: "9000000"}}},
		events: []event.Event{mark(250_000, "kineto")}}
	nsys := &memory{meta: event.Meta{Clock: event.ClockNsysSession, Facts: []event.Fact{{Key: "session_start_realtime_ns", Value: "8000000"}}},
		events: []event.Event{mark(1_100_000, "nsys")}}
	m, all := open(t, Options{}, mono.input("mono"), live.again("live"), raw.again("raw"), kineto.input("k"), nsys.input("n"))

	want := []struct {
		name string
		at   event.Time
	}{
		{"mono", 1_001_200}, {"boot", 1_001_500}, {"mono2", 1_001_700},
		{"nsys", 1_101_000}, {"kineto", 1_251_000},
		// Half way between the snapshots: 500,000 + 499,500 of the raw clock.
		{"raw", 1_501_000}, {"late", 1_900_000},
	}
	if len(all) != len(want) {
		t.Fatalf("%d events", len(all))
	}
	for i, w := range want {
		if all[i].Str(event.FieldName) != w.name || all[i].Time != w.at {
			t.Errorf("event %d is %s at %d, want %s at %d", i, all[i].Str(event.FieldName), all[i].Time, w.name, w.at)
		}
		if all[i].Has(event.FieldDomain) || all[i].Flags != 0 {
			t.Errorf("%s is not of the one domain: %v", w.name, all[i])
		}
	}
	rules := []string{RuleSnapshots, RuleSame, RuleSnapshots, RuleBase, RuleBase}
	for i, a := range m.Alignments() {
		if a.Rule != rules[i] || !a.Aligned || a.To != event.ClockBoottime {
			t.Errorf("%s: %+v, want rule %s", a.Input, a, rules[i])
		}
	}
	if m.Meta().Clock != event.ClockBoottime || len(m.Meta().Snapshots) != 2 || m.Counters().Get(anomalyUnaligned) != 0 {
		t.Errorf("meta %+v", m.Meta())
	}
}

// A program's calls, with gaps as programs have them.
func program(n int, mean float64, seed uint64) []event.Time {
	r := rand.New(rand.NewPCG(seed, 1))
	t := 50e9
	out := make([]event.Time, n)
	for i := range out {
		t += mean * (0.2 + r.ExpFloat64())
		out[i] = event.Time(t)
	}
	return out
}

var functions = []string{"cudaLaunchKernel", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamSynchronize"}

// The profiler's clock has no relation but the calls: it is 123,456,789,000 ns
// behind at its start and 40 ppm slow.
func TestCallsFindOffsetAndDrift(t *testing.T) {
	const offset, drift = 123_456_789_000, 40e-6
	r := rand.New(rand.NewPCG(3, 3))
	truth := program(6000, 3e6, 5)
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}}
	kineto := &memory{meta: event.Meta{Clock: event.ClockUnknown}}
	back := func(at event.Time) event.Time { // from the live clock
		return truth[0] - offset + event.Time(float64(at-truth[0])*(1-drift))
	}
	for i, at := range truth {
		name := functions[i%len(functions)]
		if i%97 != 0 { // some were lost
			live.events = append(live.events, called(at+event.Time(r.IntN(2000)), 10, int32(10+i%3), name, "uprobe:"+name))
		}
		if i > 500 && i%89 != 0 { // it began later
			kineto.events = append(kineto.events, called(back(at)+event.Time(r.IntN(2000)), 10, int32(10+i%3), name+"_v7000", "kineto:cuda_runtime"))
		}
	}
	probe := []event.Time{truth[501], truth[3000], truth[5999]}
	for i, at := range probe {
		kineto.events = append(kineto.events, mark(back(at), string(rune('a'+i))))
	}
	m, all := open(t, Options{}, live.input("live"), kineto.input("kineto"))
	a := m.Alignments()[1]
	if a.Rule != RuleCalls || !a.Aligned || a.Matched < 5000 || a.Residual > 2000 {
		t.Fatalf("alignment %+v", a)
	}
	// What is added grows by 1/(1-40 ppm) - 1 = 40.0016 ppm.
	if a.DriftPPM < 39.5 || a.DriftPPM > 40.5 {
		t.Errorf("drift %.3f ppm", a.DriftPPM)
	}
	for i, at := range probe {
		got := named1(t, all, string(rune('a'+i))).Time
		if d := got - at; d < -2500 || d > 2500 {
			t.Errorf("at %d: %d ns off", at, d)
		}
	}
	if !strings.Contains(factOf(m, "input.2.align"), "unknown to boottime by calls: ") {
		t.Errorf("fact %q", factOf(m, "input.2.align"))
	}
}

func factOf(m *Merged, key string) string {
	for _, f := range m.Meta().Facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// A base is right to 3 ms only; calls tell the rest.
func TestCallsRefineABase(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime, Snapshots: []event.ClockSnapshot{{Boottime: 50e9, Realtime: 1e18}}}}
	kineto := &memory{meta: event.Meta{Clock: "kineto", Facts: []event.Fact{{Key: "realtime_base_ns", Value: "1000000000000000000"}}}}
	for i, at := range program(400, 1e6, 8) {
		live.events = append(live.events, called(at, 10, 10, functions[i%4], "uprobe:x"))
		kineto.events = append(kineto.events, called(at-50e9-3e6, 10, 10, functions[i%4], "kineto:x"))
	}
	m, all := open(t, Options{}, live.input("live"), kineto.input("kineto"))
	a := m.Alignments()[1]
	if a.Rule != RuleBase+refined || a.OffsetNS != 50e9+3e6 || a.Residual != 0 || a.Matched != 400 || a.Possible != 400 {
		t.Errorf("alignment %+v", a)
	}
	if m.Counters().Get(anomalyDisagree) != 1 {
		t.Error("a correction of 3 ms was not told")
	}
	for i := 0; i+1 < len(all); i += 2 {
		if all[i].Time != all[i+1].Time {
			t.Fatalf("call %d at %d and %d", i/2, all[i].Time, all[i+1].Time)
		}
	}
}

// A program that repeats itself exactly fits at many places: no telling.
func TestRepetitionIsNotBelieved(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}}
	kineto := &memory{meta: event.Meta{Clock: event.ClockUnknown}}
	for i := range 1000 {
		at := event.Time(50e9 + int64(i)*10e6)
		live.events = append(live.events, called(at, 10, 10, "cudaLaunchKernel", "uprobe:x"))
		if i > 100 && i < 900 {
			kineto.events = append(kineto.events, called(at-7e9, 10, 10, "cudaLaunchKernel", "kineto:x"))
		}
	}
	m, _ := open(t, Options{}, live.input("live"), kineto.input("kineto"))
	if a := m.Alignments()[1]; a.Aligned {
		t.Errorf("aligned: %+v", a)
	}
}

func TestUnalignedKeepsItsTimes(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{mark(100, "a"), mark(300, "c")}}
	text := &memory{meta: event.Meta{Clock: event.ClockLocal}, events: []event.Event{mark(200, "b"), called(250, 7, 7, "cudaMalloc", "uprobe:x")}}
	m, all := open(t, Options{}, live.input("live"), text.input("trace.txt"))
	if len(all) != 4 {
		t.Fatalf("%d events", len(all))
	}
	for _, name := range []string{"b", "cudaMalloc"} {
		e := named1(t, all, name)
		if d, _ := e.Uint(event.FieldDomain); d != 1 || e.Flags&event.FlagUnaligned == 0 {
			t.Errorf("%s: domain %d flags %b", name, d, e.Flags)
		}
	}
	if e := named1(t, all, "cudaMalloc"); e.Time != 4250 || e.TimeOf(event.FieldStart) != 250 {
		t.Errorf("times changed: %d %d", e.Time, e.TimeOf(event.FieldStart))
	}
	if e := named1(t, all, "a"); e.Flags != 0 || e.Has(event.FieldDomain) {
		t.Errorf("the aligned input is marked: %v", e)
	}
	l := m.Counters().List()
	if len(l) != 1 || l[0].AnomalySpec != anomalyUnaligned || l[0].Sample != "trace.txt: clock=local, unaligned" {
		t.Errorf("anomalies %+v", l)
	}
	if m.Meta().End.V != 300 || factOf(m, "input.2.align") != "clock=local, unaligned" || factOf(m, "input.2.domain") != "1" {
		t.Errorf("meta %+v", m.Meta())
	}
}

func TestStatedOffset(t *testing.T) {
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{mark(100, "a")}}
	text := &memory{meta: event.Meta{Clock: event.ClockLocal}, events: []event.Event{called(250, 7, 7, "cudaMalloc", "uprobe:x")}}
	m, all := open(t, Options{Offsets: map[int]int64{1: -200}}, live.input("live"), text.input("trace.txt"))
	if e := named1(t, all, "cudaMalloc"); e.Time != 4050 || e.TimeOf(event.FieldStart) != 50 || e.Flags != 0 {
		t.Errorf("event %v", e)
	}
	if a := m.Alignments()[1]; a.Rule != RuleStated || a.OffsetNS != -200 {
		t.Errorf("alignment %+v", a)
	}
}

// Two ranks have the same pid: they cannot be of one machine.
func TestTwoRanksWithOnePID(t *testing.T) {
	rank := func(n, base string, at event.Time) *memory {
		k := event.New(event.KindGPUActivity, at)
		k.PID = 7
		k.SetStr(event.FieldDevice, "GPU 0")
		return &memory{meta: event.Meta{Clock: "kineto", Facts: []event.Fact{{Key: "rank", Value: n}, {Key: "realtime_base_ns", Value: base}}},
			events: []event.Event{mark(at, "r"+n), k}}
	}
	m, all := open(t, Options{}, rank("0", "1000000", 100).input("r0.json"), rank("1", "1000000", 50).input("r1.json"))
	if m.Meta().Clock != event.ClockRealtime {
		t.Errorf("clock %s", m.Meta().Clock)
	}
	ranks := map[uint64]int64{}
	for i := range all {
		if e := &all[i]; e.Kind == event.KindProcess {
			d, _ := e.Uint(event.FieldDomain)
			n, ok := e.Int(event.FieldRank)
			if !ok || e.PID != 7 {
				t.Errorf("process %v", e)
			}
			ranks[d] = n
		}
	}
	if len(ranks) != 2 || ranks[0] != 0 || ranks[1] != 1 {
		t.Errorf("ranks by domain: %v", ranks)
	}
	a, b := named1(t, all, "r0"), named1(t, all, "r1")
	if d, _ := b.Uint(event.FieldDomain); a.Has(event.FieldDomain) || d != 1 || a.Time != 1_000_100 || b.Time != 1_000_050 {
		t.Errorf("%v %v", a, b)
	}
	if m.Counters().Get(anomalyTwoHosts) != 1 {
		t.Error("two machines aligned by Unix time, and it is not told")
	}
}

// Two ranks on one machine share its domain; their GPU 0 may be two devices.
func TestTwoRanksOnOneMachine(t *testing.T) {
	rank := func(n string, pid int32) *memory {
		k := event.New(event.KindGPUActivity, 100)
		k.PID = pid
		k.SetStr(event.FieldDevice, "GPU 0")
		p := k
		p.SetStr(event.FieldDevice, "0000:65:00.0")
		return &memory{meta: event.Meta{Clock: event.ClockRealtime, Facts: []event.Fact{{Key: "rank", Value: n}}}, events: []event.Event{k, p}}
	}
	_, all := open(t, Options{}, rank("0", 7).input("r0"), rank("1", 8).input("r1"))
	got := map[string]int32{}
	for i := range all {
		if e := &all[i]; e.Kind == event.KindGPUActivity {
			if e.Has(event.FieldDomain) {
				t.Errorf("domain of %v", e)
			}
			got[e.Str(event.FieldDevice)] += e.PID
		}
	}
	if got["rank 0 GPU 0"] != 7 || got["rank 1 GPU 0"] != 8 || got["0000:65:00.0"] != 15 {
		t.Errorf("devices %v", got)
	}
}

// Hosts of different names are apart, and aligned through Unix time.
func TestTwoHosts(t *testing.T) {
	host := func(name string, boot, real event.Time) *memory {
		return &memory{meta: event.Meta{Clock: event.ClockBoottime, Host: event.Host{Name: name, BootID: name + "-1"},
			Snapshots: []event.ClockSnapshot{{Boottime: boot, Realtime: real}}}, events: []event.Event{mark(boot+10, name)}}
	}
	m, all := open(t, Options{}, host("a", 1000, 1_000_000).input("a.gpurec"), host("b", 77_000, 1_000_500).input("b.gpurec"))
	// 10 ns after b's snapshot is Unix time 1,000,510: a's BOOTTIME 1510.
	if e := named1(t, all, "b"); e.Time != 1510 {
		t.Errorf("b at %d", e.Time)
	}
	if a := m.Alignments()[1]; a.Rule != RuleRealtime || a.Domain != 1 || a.Host != "b" {
		t.Errorf("alignment %+v", a)
	}
	if len(m.Meta().Snapshots) != 1 || m.Meta().Snapshots[0].Boottime != 1000 {
		t.Errorf("snapshots of another machine: %v", m.Meta().Snapshots)
	}
}

// What inputs counted and lost keeps their names; a merged log merges again.
func TestNamesAndMergingAgain(t *testing.T) {
	spec := &event.AnomalySpec{Name: "odd", Severity: event.SeverityWarning}
	loss := event.New(event.KindLoss, 60)
	loss.SetStr(event.FieldTrack, "cpu0")
	a := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{mark(10, "a")}}
	b := &memory{meta: event.Meta{Clock: event.ClockLocal, Anomalies: []event.Anomaly{{AnomalySpec: spec, Count: 3, Sample: "line 4"}}},
		events: []event.Event{mark(20, "b"), loss}}
	m, all := open(t, Options{}, a.input("a"), b.input("b.txt"))
	if l := m.Meta().Anomalies; len(l) != 1 || l[0].Sample != "b.txt: line 4" || l[0].Count != 3 {
		t.Errorf("anomalies %+v", l)
	}
	if got := all[len(all)-1].Str(event.FieldTrack); got != "b.txt: cpu0" {
		t.Errorf("loss of %q", got)
	}
	c := &memory{meta: event.Meta{Clock: event.ClockLocal}, events: []event.Event{mark(30, "c")}}
	ab := &memory{meta: *m.Meta(), events: all}
	_, all = open(t, Options{}, ab.input("ab"), c.input("c"))
	db, _ := named1(t, all, "b").Uint(event.FieldDomain)
	dc, _ := named1(t, all, "c").Uint(event.FieldDomain)
	if db == 0 || dc == 0 || db == dc || named1(t, all, "a").Has(event.FieldDomain) || named1(t, all, "b").Time != 20 {
		t.Errorf("domains of b and c: %d %d", db, dc)
	}
}

func TestEventsWithoutTimeStayBehind(t *testing.T) {
	a := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{mark(event.NoTime, "a0"), mark(10, "a1"), mark(event.NoTime, "a2"), mark(30, "a3")}}
	b := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{mark(10, "b1"), mark(20, "b2"), mark(event.NoTime, "b3"), mark(5, "b0")}}
	_, all := open(t, Options{}, a.input("a"), b.input("b"))
	var got []string
	for i := range all {
		got = append(got, all[i].Str(event.FieldName))
	}
	if s := strings.Join(got, " "); s != "a0 b0 a1 a2 b1 b2 b3 a3" {
		t.Errorf("order %s", s)
	}
}

func TestAFailingInputIsNamed(t *testing.T) {
	bad := errors.New("the disk is gone")
	a := &memory{events: []event.Event{mark(1, "a")}}
	_, err := Open([]Input{a.input("a"), (&memory{fail: bad}).input("b.json")}, Options{})
	if !errors.Is(err, bad) || !strings.HasPrefix(err.Error(), "b.json: ") {
		t.Errorf("error %v", err)
	}
}

// No input, whatever its times, makes matching panic or run for ever.
func TestHostileTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	hostile := func() *memory {
		s := &memory{meta: event.Meta{Clock: event.ClockUnknown}}
		for range 300 {
			at := event.Time(r.Uint64())
			if r.IntN(3) == 0 {
				at = []event.Time{-1 << 63, -1<<63 + 1, 1<<63 - 1, 0}[r.IntN(4)]
			}
			e := event.New(event.KindAPIEnter, at)
			e.TID, e.PID = int32(r.IntN(3)), int32(r.IntN(3))
			s.events = append(s.events, e)
		}
		return s
	}
	for range 20 {
		m, err := Open([]Input{hostile().input("a"), hostile().again("b")}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		var b event.Batch
		for m.Next(&b) == nil {
			n += len(b.Events)
		}
		if n != 600 {
			t.Fatalf("%d events", n)
		}
		m.Close()
	}
}

// fence makes a fence event of a tracepoint.
func fence(at event.Time, cpu int32, seqno uint64, flags event.Flags) event.Event {
	e := event.New(event.KindFenceSignal, at)
	e.CPU, e.PID, e.TID, e.Flags, e.Source = cpu, 7, 7, flags, "dma_fence:dma_fence_signaled"
	e.SetUint(event.FieldFenceContext, 1<<40|5)
	e.SetUint(event.FieldFenceSeqno, seqno)
	if flags&event.FlagLow32 != 0 {
		e.SetUint(event.FieldFenceContext, 5)
	}
	return e
}

// trace-cmd ran beside the recording, which has whole fences. It lost the
// second fence, the recording the third. The fourth is of another number at
// nearly the time of the fifth, on another CPU than the sixth.
func TestOneTracepointSeenTwice(t *testing.T) {
	low := event.FlagLow32
	live := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{
		fence(10_000, 0, 1, 0), fence(11_000, 0, 2, 0), fence(20_000, 0, 4, 0), fence(20_500, 1, 6, 0), mark(90_000, "end")}}
	dat := &memory{meta: event.Meta{Clock: event.ClockBoottime}, events: []event.Event{
		fence(10_400, 0, 1, low), fence(15_000, 0, 3, low), fence(20_100, 0, 5, low), fence(20_800, 1, 6, low), fence(21_000, 2, 6, low)}}
	for _, first := range []bool{true, false} {
		in := []Input{dat.input("trace.dat"), live.input("live")}
		if first {
			in[0], in[1] = in[1], in[0]
		}
		live.at, dat.at = 0, 0
		m, all := open(t, Options{}, in...)
		got := map[uint64]int{}
		whole := 0
		for i := range all {
			if n, ok := all[i].Uint(event.FieldFenceSeqno); ok {
				got[n]++
				if all[i].Flags == 0 {
					whole++
				}
			}
		}
		if len(got) != 6 || got[1] != 1 || got[2] != 1 || got[3] != 1 || got[4] != 1 || got[5] != 1 || got[6] != 2 {
			t.Errorf("fences %v", got)
		}
		if whole != 4 {
			t.Errorf("%d fences as the better witness has them, want 4", whole)
		}
		if n := m.Counters().Get(anomalySeenTwice); n != 2 {
			t.Errorf("%d seen twice", n)
		}
	}
}

// Two profilers call a process's GPUs by PCI address and by number, which the
// work of one correlation id tells; GPU 2 did work that one of them saw only.
func TestDevicesOfTwoNames(t *testing.T) {
	work := func(at event.Time, id int64, device string) event.Event {
		e := event.New(event.KindGPUActivity, at+500)
		e.PID, e.Source = 7, "x:kernel"
		e.SetTime(event.FieldStart, at)
		e.SetInt(event.FieldCorrelationID, id)
		e.SetStr(event.FieldDevice, device)
		return e
	}
	kineto, nsys := &memory{meta: event.Meta{Clock: event.ClockRealtime}}, &memory{meta: event.Meta{Clock: event.ClockRealtime}}
	for i := range int64(20) {
		at, pci := event.Time(1000*i), []string{"0000:17:00.0", "0000:65:00.0"}[i%2]
		// CUDA's order is not that of the bus.
		kineto.events = append(kineto.events, work(at, i+1+100*(i%3), []string{"GPU 1", "GPU 0"}[i%2]))
		nsys.events = append(nsys.events, work(at+300, i+1, pci))
	}
	kineto.events = append(kineto.events, work(50_000, 99, "GPU 2"))
	nsys.events = append(nsys.events, work(9e9, 99, "0000:99:00.0")) // another piece of work, by its time
	for _, first := range []bool{true, false} {
		kineto.at, nsys.at = 0, 0
		in := []Input{kineto.input("kineto"), nsys.input("nsys")}
		if first {
			in[0], in[1] = in[1], in[0]
		}
		m, all := open(t, Options{}, in...)
		got := map[string]int{}
		for i := range all {
			got[all[i].Str(event.FieldDevice)]++
		}
		if len(got) != 4 || got["0000:17:00.0"] != 20 || got["0000:65:00.0"] != 20 || got["GPU 2"] != 1 || got["0000:99:00.0"] != 1 {
			t.Errorf("work by device: %v", got)
		}
		key := "input.1.devices"
		if first {
			key = "input.2.devices"
		}
		if f := factOf(m, key); f != "GPU 0 is 0000:65:00.0, GPU 1 is 0000:17:00.0" {
			t.Errorf("%s: %q", key, f)
		}
	}
}
