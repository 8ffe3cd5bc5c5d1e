package bpf

import (
	"testing"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
)

// tester converts hand-made records.
type tester struct {
	*testing.T
	c *converter
	b event.Batch
}

func newTester(t *testing.T, names ...string) *tester {
	var s symbols
	var list []*symbol
	for _, n := range names {
		list = append(list, testSymbol(t, n, false))
	}
	s.add(list)
	return &tester{T: t, c: newConverter(&s)}
}

// one converts a record that makes one event.
func (t *tester) one(rec []byte) *event.Event {
	t.Helper()
	t.b.Reset()
	t.c.convert(rec, &t.b)
	if len(t.b.Events) != 1 {
		t.Fatalf("%d events, want 1", len(t.b.Events))
	}
	return &t.b.Events[0]
}

func (t *tester) want(e *event.Event, fields map[event.Field]uint64) {
	t.Helper()
	for f, v := range fields {
		if got, ok := e.Uint(f); !ok || got != v {
			t.Errorf("%v: %v is %d (known: %v), want %d", e.Kind, f, got, ok, v)
		}
	}
}

func (t *tester) unknown(e *event.Event, fields ...event.Field) {
	t.Helper()
	for _, f := range fields {
		if e.Has(f) {
			t.Errorf("%v: %v is known", e.Kind, f)
		}
	}
}

func head(typ objects.RecType, id uint16) objects.Head {
	return objects.Head{TS: 2000, PID: 10, TID: 11, CPU: 3, Type: typ, ID: id, Comm: [16]byte{'t', 'r', 'a', 'i', 'n'}}
}

const sym0 = objects.IDFirstSymbol

func TestUnreadableArgumentsStayUnknown(t *testing.T) {
	x := newTester(t, "cuLaunchKernel")
	e := x.one(bytesOf(&objects.API{Head: head(objects.RecAPI, sym0), Start: 1000, Regs: [6]uint64{0xf, 1, 2, 3, 4, 5}}))
	x.want(e, map[event.Field]uint64{event.FieldGridX: 1, event.FieldBlockY: 5, event.FieldStart: 1000, event.FieldResult: 0})
	x.unknown(e, event.FieldBlockZ, event.FieldStream, event.FieldSharedMemBytes, event.FieldKernelName)
	if x.c.anomalies.Get(anomalyArgument) != 1 {
		t.Error("the unread arguments are not counted")
	}
	if e.Comm != "train" || e.CPU != 3 || e.PID != 10 || e.TID != 11 || e.Time != 2000 {
		t.Errorf("%+v", e)
	}
}

func TestUpperHalvesOfRegistersAreGarbage(t *testing.T) {
	x := newTester(t, "cuLaunchKernel")
	e := x.one(bytesOf(&objects.APIEnter{Head: head(objects.RecAPIEnter, sym0), Regs: [6]uint64{1 << 40, 7 | 0xdead<<32, 2, 3, 4, 5}}))
	x.want(e, map[event.Field]uint64{event.FieldGridX: 7, event.FieldFunction: 1 << 40})
}

func TestNamesOfFunctionsFollowProcesses(t *testing.T) {
	x := newTester(t, "cuModuleGetFunction", "cuLaunchKernel", "cuKernelGetFunction")
	get := objects.APIName{Head: head(objects.RecAPIName, sym0), Out: 0x500}
	get.Flags = objects.FlagOut | objects.FlagName
	copy(get.Name[:], "gemm")
	x.want(x.one(bytesOf(&get)), map[event.Field]uint64{event.FieldFunction: 0x500})
	launch := func(pid uint32, fn uint64) string {
		r := objects.APIX{Head: head(objects.RecAPIX, sym0+1), Regs: [6]uint64{fn}}
		r.Flags, r.PID = objects.FlagExtra, pid
		return x.one(bytesOf(&r)).Str(event.FieldKernelName)
	}
	task := func(op uint32, pid, target uint32) {
		r := objects.Task{Head: head(objects.RecTask, objects.IDFork), Op: op, TargetPID: target, TargetTID: target, ProcessEnded: 1}
		r.PID = pid
		x.one(bytesOf(&r))
	}
	task(objects.TaskFork, 10, 20)
	if got := launch(10, 0x500); got != "gemm" {
		t.Errorf("in the process: %q", got)
	}
	if got := launch(20, 0x500); got != "gemm" {
		t.Errorf("in its child: %q", got)
	}
	if got := launch(30, 0x500); got != "" {
		t.Errorf("in a stranger: %q", got)
	}
	task(objects.TaskExec, 20, 20)
	if got := launch(20, 0x500); got != "" {
		t.Errorf("after an exec: %q", got)
	}
	task(objects.TaskExit, 10, 10)
	if got := launch(10, 0x500); got != "" {
		t.Errorf("a new process with the pid: %q", got)
	}
	// a call that failed names nothing
	get.Result, get.PID = 500, 40
	e := x.one(bytesOf(&get))
	x.unknown(e, event.FieldFunction)
	if e.Str(event.FieldKernelName) != "gemm" {
		t.Errorf("what was asked for: %q", e.Str(event.FieldKernelName))
	}
	if got := launch(40, 0x500); got != "" {
		t.Errorf("after a failed call: %q", got)
	}
}

func TestShownCallsReturnAsExits(t *testing.T) {
	x := newTester(t, "cuLaunchKernel")
	th := objects.Thread{TID: 11, PID: 10, Depth: 1}
	th.Frames[0] = objects.Frame{TS: 1000, Cookie: sym0, Flags: objects.FlagExtra, Regs: [6]uint64{1, 2}}
	x.b.Reset()
	x.c.show(&x.b, &th, &th.Frames[0])
	if len(x.b.Events) != 1 || x.b.Events[0].Kind != event.KindAPIEnter || x.b.Events[0].Time != 1000 || x.b.Events[0].CPU != event.NoID {
		t.Fatalf("%+v", x.b.Events)
	}
	ret := objects.APIX{Head: head(objects.RecAPIX, sym0), Start: 1000, Result: 1}
	ret.Flags = objects.FlagExtra
	e := x.one(bytesOf(&ret))
	if e.Kind != event.KindAPIExit {
		t.Errorf("the return is %v", e.Kind)
	}
	x.want(e, map[event.Field]uint64{event.FieldResult: 1})
	ret.Start = 1500
	if e := x.one(bytesOf(&ret)); e.Kind != event.KindAPI {
		t.Errorf("the next call is %v", e.Kind)
	}
	// shown, then its thread ends: once is enough
	x.c.show(&x.b, &th, &th.Frames[0])
	open := objects.APIEnterX{Head: head(objects.RecAPIEnterX, sym0)}
	open.TS, open.Flags = 1000, objects.FlagOpen|objects.FlagExtra
	x.b.Reset()
	x.c.convert(bytesOf(&open), &x.b)
	if len(x.b.Events) != 0 {
		t.Errorf("told twice: %+v", x.b.Events)
	}
}

func TestJobs(t *testing.T) {
	x := newTester(t)
	r := objects.Job{Head: head(objects.RecJob, objects.IDJobRunOld), Job: 0xffff1000, Entity: 0xffff2000, Fence: 0xffff3040,
		SchedID: 54, Context: 7, Seqno: 1 << 33, JobCount: 2, HWJobCount: 3, Known: objects.JobSchedID | objects.JobEntity | objects.JobCounts}
	copy(r.Ring[:], "gfx_0.0.0")
	copy(r.Dev[:], "0000:03:00.0")
	e := x.one(bytesOf(&r))
	x.want(e, map[event.Field]uint64{event.FieldJobPtr: 0xffff1000, event.FieldEntityPtr: 0xffff2000, event.FieldFencePtr: 0xffff3040,
		event.FieldSchedJobID: 54, event.FieldFenceContext: 7, event.FieldFenceSeqno: 1 << 33, event.FieldJobCount: 2, event.FieldHWJobCount: 3})
	x.unknown(e, event.FieldHWFenceContext, event.FieldClientID, event.FieldError)
	if e.Kind != event.KindJobRun || e.Str(event.FieldRing) != "gfx_0.0.0" || e.Str(event.FieldDevice) != "0000:03:00.0" || e.Str(event.FieldOrigin) != "drm_sched" {
		t.Errorf("%v ring %q device %q origin %q", e.Kind, e.Str(event.FieldRing), e.Str(event.FieldDevice), e.Str(event.FieldOrigin))
	}
	r = objects.Job{Head: head(objects.RecJob, objects.IDJobDone), Fence: 1, Context: 7, Seqno: 8, HWContext: 3, HWSeqno: 99, ClientID: 1<<64 - 1,
		Error: -62, Known: objects.JobHW | objects.JobClient}
	e = x.one(bytesOf(&r))
	x.want(e, map[event.Field]uint64{event.FieldHWFenceContext: 3, event.FieldHWFenceSeqno: 99, event.FieldClientID: 1<<64 - 1})
	if v, _ := e.Int(event.FieldError); v != -62 || e.Str(event.FieldOrigin) != "drm_sched_617" || e.Kind != event.KindJobDone {
		t.Errorf("%v error %d origin %q", e.Kind, v, e.Str(event.FieldOrigin))
	}
	x.unknown(e, event.FieldJobPtr, event.FieldSchedJobID, event.FieldJobCount)
	d := objects.Dep{Head: head(objects.RecDep, objects.IDJobUnschedulable), Fence: 1, Context: 7, Seqno: 8, OnFence: 2, OnContext: 9, OnSeqno: 10}
	e = x.one(bytesOf(&d))
	x.want(e, map[event.Field]uint64{event.FieldFenceContext: 7, event.FieldOnFenceContext: 9, event.FieldOnFenceSeqno: 10, event.FieldUnsignalled: 1})
}

func TestFences(t *testing.T) {
	x := newTester(t)
	x.c.drivers = map[uint64]string{0xff00: "amdgpu"}
	r := objects.Fence{Head: head(objects.RecFence, objects.IDFenceSignal), Fence: 0xffff5000, DriverFunc: 0xff00, Context: 1 << 35, Seqno: 6, Error: -125}
	e := x.one(bytesOf(&r))
	x.want(e, map[event.Field]uint64{event.FieldFencePtr: 0xffff5000, event.FieldFenceContext: 1 << 35, event.FieldFenceSeqno: 6})
	if e.Str(event.FieldDriver) != "amdgpu" || e.Has(event.FieldTimeline) || e.Kind != event.KindFenceSignal || e.Flags&event.FlagLow32 != 0 {
		t.Errorf("%v driver %q", e.Kind, e.Str(event.FieldDriver))
	}
}

type oneDevice struct{}

func (oneDevice) lookup(rdev uint32) (string, string) {
	if rdev == 226<<20|128 {
		return "amdgpu", "0000:03:00.0"
	}
	return "", ""
}

func TestIoctlNames(t *testing.T) {
	x := newTester(t)
	x.c.devices = oneDevice{}
	r := objects.IoctlEnter{Head: head(objects.RecIoctlEnter, objects.IDIoctlEnter), FD: 5, Cmd: 0xc0186444, Arg: 0x7ffe, Rdev: 226<<20 | 128}
	e := x.one(bytesOf(&r))
	x.want(e, map[event.Field]uint64{event.FieldFD: 5, event.FieldCmd: 0xc0186444, event.FieldRole: uint64(event.RoleSubmit)})
	if e.Str(event.FieldName) != "AMDGPU_CS" || e.Str(event.FieldDriver) != "amdgpu" || e.Str(event.FieldDevice) != "0000:03:00.0" {
		t.Errorf("%q on %q, %q", e.Str(event.FieldName), e.Str(event.FieldDriver), e.Str(event.FieldDevice))
	}
	// no device: no driver, and no name that only a driver gives
	r.Rdev = 0
	e = x.one(bytesOf(&r))
	if e.Has(event.FieldDriver) || e.Has(event.FieldName) || e.Has(event.FieldRole) {
		t.Errorf("without a device: %q %q", e.Str(event.FieldDriver), e.Str(event.FieldName))
	}
	ex := objects.IoctlExit{Head: head(objects.RecIoctlExit, objects.IDIoctlExit), FD: -1, Cmd: 0xc020462a, Result: -22, Status: 0x1f}
	e = x.one(bytesOf(&ex))
	x.unknown(e, event.FieldStatus)
	ex.Flags = objects.FlagStatus
	e = x.one(bytesOf(&ex))
	x.want(e, map[event.Field]uint64{event.FieldStatus: 0x1f})
	if v, _ := e.Int(event.FieldResult); v != -22 {
		t.Errorf("result %d", v)
	}
	if v, _ := e.Int(event.FieldFD); v != -1 {
		t.Errorf("fd %d", v)
	}
}

func TestExitCodes(t *testing.T) {
	for code, want := range map[uint32]int64{0: 0, 3 << 8: 3, 9: 137, 0x8b: 139, 15: 143} {
		if got := exitCode(code); got != want {
			t.Errorf("exit code %#x: %d, want %d", code, got, want)
		}
	}
}

func TestMalformedRecordsAreCounted(t *testing.T) {
	x := newTester(t, "cuLaunchKernel")
	whole := bytesOf(&objects.APIX{Head: head(objects.RecAPIX, sym0)})
	for n := range len(whole) {
		x.b.Reset()
		x.c.convert(whole[:n], &x.b)
		if len(x.b.Events) != 0 {
			t.Fatalf("an event of %d of %d bytes", n, len(whole))
		}
	}
	if got := x.c.anomalies.Get(anomalyRecord); got != uint64(len(whole)) {
		t.Errorf("%d malformed records counted, want %d", got, len(whole))
	}
	x.b.Reset()
	x.c.convert(bytesOf(&objects.APIX{Head: head(objects.RecAPIX, sym0+1)}), &x.b)
	if len(x.b.Events) != 0 || x.c.anomalies.Get(anomalySymbol) != 1 {
		t.Error("an unknown symbol is not counted")
	}
}

func FuzzConvert(f *testing.F) {
	f.Add(bytesOf(&objects.APIX{Head: head(objects.RecAPIX, sym0)}))
	f.Add(bytesOf(&objects.APIName{Head: head(objects.RecAPIName, sym0+1)}))
	f.Add(bytesOf(&objects.Task{Head: head(objects.RecTask, objects.IDFork), Op: 1}))
	f.Add(bytesOf(&objects.Job{Head: head(objects.RecJob, objects.IDJobQueue)}))
	f.Add(bytesOf(&objects.Fence{Head: head(objects.RecFence, objects.IDFenceInit)}))
	f.Add(bytesOf(&objects.IoctlEnter{Head: head(objects.RecIoctlEnter, objects.IDIoctlEnter)}))
	var s symbols
	s.add([]*symbol{testSymbol(f, "cuLaunchKernel", false), testSymbol(f, "cuModuleGetFunction", false), testSymbol(f, "cuMemcpy2D_v2", false)})
	f.Fuzz(func(t *testing.T, rec []byte) {
		c := newConverter(&s)
		var b event.Batch
		c.convert(rec, &b)
		n := len(b.Events)
		for _, a := range c.anomalies.List() {
			if a.AnomalySpec == anomalyRecord || a.AnomalySpec == anomalySymbol {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%d events and anomalies of one record", n)
		}
	})
}
