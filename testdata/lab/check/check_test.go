package check

import (
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

const (
	headLine = "truth version=1 clock=mono boot_minus_mono=1000 jobs=1 ops=1 resets=1 open=0 jobs_without_room=0 interrupts=0\n"
	jobLine  = "job pid=10 tid=11 dev=0000:04:00.0 ring=gfx owner=user client=7 id=5 entity=0x1 job=0x2 fence=0xff00000000000010 " +
		"ctx=4294967301 seqno=3 flags=0 duration=500 submit=100 queue=110 run=130 runs=1 scheduled=0 finished=200 error=0 " +
		"state=ended deps=4:1 hw=9:20:131:190:195:0\n"
)

func truth(t *testing.T, text string) *Truth {
	t.Helper()
	tr, err := ReadTruth(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReadTruth(t *testing.T) {
	tr := truth(t, headLine+jobLine+
		"op name=alloc pid=10 tid=11 dev=0000:04:00.0 time=50 va=0 size=4096 ret=-12 ctx=0 seqno=0\n"+
		"reset dev=0000:04:00.0 ring=gfx start=300 end=310 ctx=4294967301 seqno=3 lost=2\n")
	j := tr.Jobs[0]
	if j.Key != (Key{1<<32 + 5, 3}) || j.Fence != 0xff00000000000010 || j.Kernel || !j.Ended || j.Ring != "gfx" {
		t.Errorf("job: %+v", j)
	}
	if j.Queue != 1110 || j.Finished != 1200 || j.Scheduled != 0 { // in BOOTTIME; 0 stays "did not happen"
		t.Errorf("times: %+v", j)
	}
	if len(j.Deps) != 1 || j.Deps[0] != (Key{4, 1}) || len(j.HW) != 1 || j.HW[0] != (HWRun{Key{9, 20}, 1131, 1190, 1195, 0}) {
		t.Errorf("deps %v, hw %v", j.Deps, j.HW)
	}
	if tr.Ops[0].Ret != -12 || tr.Resets[0].Lost != 2 || tr.Resets[0].Start != 1300 {
		t.Errorf("ops %+v, resets %+v", tr.Ops, tr.Resets)
	}
}

func TestReadTruthErrors(t *testing.T) {
	for _, text := range []string{
		"job pid=1\n",
		"nothing a=1\n",
		"truth version=2 boot_minus_mono=0 open=0 jobs_without_room=0 interrupts=0\n",
		headLine + strings.Replace(jobLine, "hw=9:20", "hw=9", 1),
		headLine + strings.Replace(jobLine, "pid=10", "pid=x", 1),
	} {
		if _, err := ReadTruth(strings.NewReader(text)); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// newerTrace is what the newer generation shows of jobLine.
func newerTrace() []event.Event {
	queue := event.New(event.KindJobQueue, 1112)
	queue.TID, queue.PID = 11, 10
	queue.SetStr(event.FieldOrigin, originNewer)
	queue.SetStr(event.FieldRing, "gfx")
	queue.SetStr(event.FieldDevice, "0000:04:00.0")
	queue.SetUint(event.FieldClientID, 7)
	dep := event.New(event.KindJobDep, 1113)
	dep.SetStr(event.FieldOrigin, originNewer)
	dep.SetUint(event.FieldOnFenceContext, 4)
	dep.SetUint(event.FieldOnFenceSeqno, 1)
	run, done := queue, queue
	run.Reset(event.KindJobRun, 1129)
	run.TID = 99
	done.Reset(event.KindJobDone, 1196)
	init := event.New(event.KindFenceInit, 1130)
	init.TID = 99
	init.SetStr(event.FieldDriver, "mockgpu")
	signal := event.New(event.KindFenceSignal, 1197)
	signal.SetStr(event.FieldDriver, "drm_sched")
	for _, e := range []*event.Event{&queue, &dep, &run, &done, &init, &signal} {
		c, s := uint64(1<<32+5), uint64(3)
		switch e.Kind {
		case event.KindFenceInit:
			c, s = 9, 20
		case event.KindFenceSignal:
			c = 5
		case event.KindJobRun, event.KindJobDone:
			e.SetStr(event.FieldOrigin, originNewer)
		}
		e.SetUint(event.FieldFenceContext, c)
		e.SetUint(event.FieldFenceSeqno, s)
	}
	return []event.Event{queue, dep, run, init, done, signal}
}

func problems(t *testing.T, events []event.Event, text string) []string {
	t.Helper()
	r := &results{truth: truth(t, text), trace: &Trace{Events: events}}
	return r.compare(scenario.Newer)
}

func TestCompare(t *testing.T) {
	if p := problems(t, newerTrace(), headLine+jobLine); len(p) != 0 {
		t.Fatalf("of a right trace: %q", p)
	}
	for what, change := range map[string]func([]event.Event) []event.Event{
		"no hardware fence found":        func(e []event.Event) []event.Event { return append(e[:3:3], e[4:]...) },
		"0 done events":                  func(e []event.Event) []event.Event { return append(e[:4:4], e[5:]...) },
		"2 run events":                   func(e []event.Event) []event.Event { return append(e, e[2]) },
		"not found":                      func(e []event.Event) []event.Event { return e[3:4] },
		`ring "sdma0"`:                   func(e []event.Event) []event.Event { e[0].SetStr(event.FieldRing, "sdma0"); return e },
		"queued by 10/12":                func(e []event.Event) []event.Event { e[0].TID = 12; return e },
		"client 8":                       func(e []event.Event) []event.Event { e[0].SetUint(event.FieldClientID, 8); return e },
		"depends on [4:2]":               func(e []event.Event) []event.Event { e[1].SetUint(event.FieldOnFenceSeqno, 2); return e },
		"hardware fence [9:21]":          func(e []event.Event) []event.Event { e[3].SetUint(event.FieldFenceSeqno, 21); return e },
		"done event before the hardware": func(e []event.Event) []event.Event { e[4].Time = 1194; return e },
		"done event after the finished":  func(e []event.Event) []event.Event { e[4].Time = 1201; return e },
		"queue event before":             func(e []event.Event) []event.Event { e[0].Time = 1109; return e },
		"was not seen to be signalled":   func(e []event.Event) []event.Event { return e[:5] },
	} {
		p := problems(t, change(newerTrace()), headLine+jobLine)
		if !strings.Contains(strings.Join(p, "\n"), what) {
			t.Errorf("want %q in %q", what, p)
		}
	}
}

// What was submitted while events were lost is not compared; what came later is.
func TestCompareLossy(t *testing.T) {
	r := &results{truth: truth(t, headLine+jobLine), trace: &Trace{Lost: 5, Whole: 1101}}
	if p := r.compare(scenario.Newer); len(p) != 0 {
		t.Errorf("of a job before the whole part: %q", p)
	}
	r.trace.Whole = 1100
	if p := r.compare(scenario.Newer); len(p) == 0 {
		t.Error("a job of the whole part isn't missed")
	}
}

func TestClients(t *testing.T) {
	const call = "submit tag=A pid=10 tid=11 node=n enter=1090 exit=1115 ret=0 ctx=4294967301 seqno=3\n"
	for what, text := range map[string]string{
		"":                     call,
		"knows no job":         strings.Replace(call, "seqno=3", "seqno=4", 1),
		"says otherwise":       strings.Replace(call, "exit=1115", "exit=1105", 1),
		"clients submitted 0 ": "wait pid=10 tid=11 enter=1 exit=2 ret=0 kind=driver\n",
	} {
		calls, err := ReadCalls(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r := &results{truth: truth(t, headLine+jobLine), calls: calls, trace: &Trace{}}
		p := strings.Join(r.clients(), "\n")
		if what == "" && p != "" || !strings.Contains(p, what) {
			t.Errorf("%q: got %q", what, p)
		}
	}
}
