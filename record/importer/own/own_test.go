package own

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpurec/gpurec/export/picture"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// Every argument that exports write is known: an unknown one would make a slice
// another writer's, and its row would be lost.
func TestEveryArgument(t *testing.T) {
	inside := []string{"api", "ioctl", "run", "done", "job", "reset"} // the keys of links, not arguments
	for a := range picture.NumArgs {
		if _, ok := argNames[a.String()]; !ok && !slices.Contains(inside, a.String()) {
			t.Errorf("argument %s is not known", a)
		}
	}
	for name := range argNames {
		found := false
		for a := range picture.NumArgs {
			found = found || a.String() == name
		}
		if !found {
			t.Errorf("no export writes %s", name)
		}
	}
	if numArgs > 64 {
		t.Errorf("%d arguments do not fit into 64 bits", numArgs)
	}
}

// drawing is a mapper that writes down what it gives.
type drawing struct {
	Mapper
	events []*event.Event
	other  int
	noted  int
}

func newDrawing() *drawing {
	d := &drawing{}
	d.Mapper = Mapper{
		Add: func(k event.Kind, at event.Time) *event.Event {
			e := event.New(k, at)
			d.events = append(d.events, &e)
			return &e
		},
		Derived: func() { d.other++ },
		Note:    func(*event.AnomalySpec) { d.noted++ },
		Device:  func(n int64) string { return fmt.Sprint("device ", n) },
		Source:  "test",
	}
	return d
}

// args are given as name, value, name, value: whole numbers or texts.
func args(kv ...any) *Args {
	a := &Args{}
	for i := 0; i < len(kv); i += 2 {
		x, ok := a.Meet(kv[i].(string))
		switch v := kv[i+1].(type) {
		case int:
			if ok {
				a.SetUint(x, uint64(int64(v)))
			}
		case string:
			if ok {
				a.SetStr(x, v)
			}
		}
	}
	return a
}

func (d *drawing) slice(t *testing.T, from, to event.Time, what Drawn) {
	t.Helper()
	var o Open
	what.Time = from
	if !d.Begin(&what, &o) {
		t.Errorf("%s %q is none of an export's", what.Category, what.Name)
		return
	}
	d.End(&o, to)
}

func (d *drawing) compare(t *testing.T, want ...string) {
	t.Helper()
	for i := range max(len(d.events), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(d.events) {
			g = importtest.Show(d.events[i])
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("event %d\n got  %s\n want %s", i+1, g, w)
		}
	}
}

func TestCalls(t *testing.T) {
	d := newDrawing()
	on := Drawn{Name: "cuLaunchKernel", Category: "cuda_driver", PID: 7, TID: 8}
	on.Args = args("api_call_id", 1, "result", -5, "kernel_name", "k", "grid", "4,2,1", "unmatched_reason", "not_recorded", "links", "")
	d.slice(t, 10, 20, on)
	beside := on
	beside.Beside, beside.Args = true, args("api_call_id", 2, "stream", 7)
	d.slice(t, 15, 25, beside)
	for _, end := range []string{"not_probed", "after_stop"} {
		on.Args = args("api_call_id", 3, "end", end)
		d.slice(t, 30, 40, on)
	}
	io := Drawn{Name: "ioctl 0xc0306440", Category: "ioctl", PID: 7, TID: 8,
		Args: args("ioctl_id", 1, "api_call_id", 1, "cmd", "0xc0306440", "role", "submit", "device", "0000:04:00.0", "result", 0, "pid_inferred", 1)}
	d.slice(t, 50, 60, io)
	io.Beside, io.Name, io.Args = true, "X_WAIT", args("ioctl_id", 2, "cmd", "0x00006441", "role", "wait", "device", "mockgpu")
	d.slice(t, 51, 61, io)
	d.compare(t,
		`api_enter 10 pid=7 tid=8 api=cuda_driver name="cuLaunchKernel" kernel_name="k" grid_x=4 grid_y=2 grid_z=1`,
		`api_exit 20 pid=7 tid=8 api=cuda_driver name="cuLaunchKernel" result=-5`,
		`api 25 pid=7 tid=8 api=cuda_driver name="cuLaunchKernel" stream=7 start=15`,
		`api_enter 30 pid=7 tid=8 api=cuda_driver name="cuLaunchKernel" entry_only=1`,
		`api_enter 30 pid=7 tid=8 api=cuda_driver name="cuLaunchKernel"`,
		`ioctl_enter 50 pid=7 tid=8 +pid_inferred cmd=3224396864 device="0000:04:00.0" role=submit`,
		`ioctl_exit 60 pid=7 tid=8 +pid_inferred cmd=3224396864 result=0`,
		`ioctl 61 pid=7 tid=8 cmd=25665 driver="mockgpu" name="X_WAIT" role=wait start=51`)
}

// A job through all its slices; its wait names the low halves of its fence.
func TestJob(t *testing.T) {
	d := newDrawing()
	of := func(more ...any) *Args {
		return args(append([]any{"job_id", 5, "ring", "gfx", "device", "0000:04:00.0", "pid", 7, "tid", 8, "fence", "4294967304:27"}, more...)...)
	}
	d.slice(t, 100, 150, Drawn{Name: "k #54", Category: "job.queued", Args: of("queue_delay_ns", 30, "hw_queue_ns", 20)})
	d.slice(t, 100, 110, Drawn{Name: "waits for #50", Category: "job.stage.dependency", Args: args("job_id", 5, "depends_on_job_id", 4, "depends_on_fence", "8:26")})
	d.slice(t, 110, 130, Drawn{Name: "queued #54", Category: "job.stage.queue", Ours: true, Args: args()})
	d.slice(t, 150, 700, Drawn{Name: "k #54", Category: "job.running", Args: of("hw_fence", "1:54", "queue_delay_ns", 30, "hw_queue_ns", 20, "error", -125, "finished_ns", 705)})
	d.slice(t, 120, 800, Drawn{Name: "wait fence 8:27", Category: "fence_wait", PID: 7, TID: 8, Args: args("fence_wait_id", 1, "fence", "8:27", "low32", 1, "job_id", 5)})
	d.slice(t, 705, 800, Drawn{Name: "woken", Category: "fence_wake", PID: 7, TID: 8, Args: args("fence_wait_id", 1, "fence", "8:27", "low32", 1, "job_id", 5)})
	job := ` device="0000:04:00.0" ring="gfx"`
	d.compare(t,
		`job_queue 100 pid=7 tid=8`+job+` fence_context=4294967304 fence_seqno=27`,
		`job_dep 100`+job+` fence_context=4294967304 fence_seqno=27 on_fence_context=8 on_fence_seqno=26 unsignalled=1`,
		`job_run 130`+job+` fence_context=4294967304 fence_seqno=27 hw_fence_context=1 hw_fence_seqno=54`,
		`job_done 700`+job+` fence_context=4294967304 fence_seqno=27 hw_fence_context=1 hw_fence_seqno=54 error=-125`,
		`fence_signal 705 fence_context=4294967304 fence_seqno=27`,
		`fence_wait_start 120 pid=7 tid=8 +low32 fence_context=8 fence_seqno=27`,
		`fence_wait_end 800 pid=7 tid=8 +low32 fence_context=8 fence_seqno=27`)
	if d.other != 1 {
		t.Errorf("%d slices follow from others, want the stage", d.other)
	}
}

// Jobs that are drawn in part: beyond the lanes, and while their ring ran another.
func TestJobsInPart(t *testing.T) {
	d := newDrawing()
	d.slice(t, 150, 700, Drawn{Category: "job.running", Args: args("job_id", 1, "ring", "a", "queued_hidden", 1, "queue_delay_ns", 30, "hw_queue_ns", 20)})
	d.slice(t, 150, 900, Drawn{Category: "job.running", Args: args("job_id", 2, "ring", "b", "queued_hidden", 1, "queued_ns", 90, "end", "after_stop")})
	d.slice(t, 100, 150, Drawn{Category: "job.queued", Args: args("job_id", 3, "ring", "c", "queue_delay_ns", 30, "end", "lost", "done_ns", 400, "error", -1)})
	d.compare(t,
		`job_queue 100 ring="a"`, `job_run 130 ring="a"`, `job_done 700 ring="a"`,
		`job_queue 90 ring="b"`, `job_run 150 ring="b"`,
		`job_queue 100 ring="c"`, `job_run 130 ring="c"`, `job_done 400 ring="c" error=-1`)
}

func TestRest(t *testing.T) {
	d := newDrawing()
	d.slice(t, 10, 20, Drawn{Name: "gemm", Category: "gpu_activity.kernel", PID: 7, TID: event.NoID,
		Args: args("gpu_activity_id", 1, "kind", "kernel", "kernel_name", "void gemm<1>()", "device", 2, "stream", 7, "block", "32,1,1")})
	d.slice(t, 10, 20, Drawn{Name: "step", Category: "slice", PID: 7, TID: 8, Args: args("slice_id", 1, "args", `{"a":1}`)})
	d.slice(t, 11, 20, Drawn{Name: "open", Category: "nvtx", PID: 7, TID: event.NoID, Track: "mine", Args: args("slice_id", 2, "end", "after_stop")})
	d.slice(t, 12, 30, Drawn{Name: "lost 3 events", Category: "loss", Ours: true, Args: args("stream", "ftrace", "cpu", 2, "count", 3, "remedy", "more")})
	for _, x := range []Drawn{
		{Name: "here", Category: "mark", PID: 7, TID: 8, Args: args("mark_id", 1)},
		{Name: "odd", Category: "other", PID: 7, TID: 8, Ours: true, Args: args("other_id", 1, "fields", `{"b":2}`, "cpu", 3)},
		{Name: "cycles", Category: "sample", PID: 7, TID: 8, Args: args("sample_id", 1, "period", 9, "stack", "inner\nouter")},
		{Name: "unmap", Category: "mem_map", PID: 7, TID: 8, Args: args("mem_map_id", 1, "address", "0x7f00", "bytes", 4096)},
		{Name: "Xid", Category: "log_line", PID: -1, TID: -1, Ours: true, Args: args("log", "Xid\n31", "code", 31)},
		{Name: "reset", Category: "reset", PID: -1, TID: -1, Ours: true, Args: args("device", "d", "ring", "gfx")},
		{Name: "some_anomaly", Category: "anomaly", Ours: true, Args: args("severity", "data_loss", "count", 4, "doc", "what", "remedy", "do")},
	} {
		x.Time = 40
		if !d.Instant(&x) {
			t.Errorf("%s is none of an export's", x.Category)
		}
	}
	d.compare(t,
		`gpu_activity 20 pid=7 activity=kernel name="void gemm<1>()" device="device 2" start=10 stream=7 block_x=32 block_y=1 block_z=1`,
		`slice 20 pid=7 tid=8 name="step" args="{\"a\":1}" start=10`,
		`slice_begin 11 pid=7 name="open" category="nvtx" track="mine"`,
		`loss 30 cpu=2 track="ftrace" start=12 count=3 name="more"`,
		`mark 40 pid=7 tid=8 name="here"`,
		`other 40 cpu=3 name="odd" args="{\"b\":2}"`,
		`sample 40 pid=7 tid=8 name="cycles" stack="inner\nouter" period=9`,
		`mem_unmap 40 pid=7 tid=8 address=0x7f00 bytes=4096`,
		`log_line 40 name="Xid\n31" code=31`,
		`reset 40 device="d" ring="gfx"`)
	if a := d.Anomalies; len(a) != 1 || a[0].Name != "some_anomaly" || a[0].Severity != event.SeverityLoss || a[0].Count != 4 || a[0].Remedy != "do" {
		t.Errorf("anomalies %+v %+v", a, a[0].AnomalySpec)
	}
}

// The words of an export in another's mouth: without a row's number, or with an
// argument that no export writes.
func TestAnothers(t *testing.T) {
	d := newDrawing()
	var o Open
	for _, x := range []Drawn{
		{Name: "job", Category: "job.running", Args: args()},
		{Name: "job", Category: "job.running", Args: args("ring", "gfx", "device", "d")},
		{Name: "job", Category: "job.running", Args: args("job_id", 1, "colour", "red")},
		{Name: "mine", Category: "mine", Args: args("job_id", 1)},
		{Name: "drawn there", Category: "mine", Ours: true, Args: args()},
	} {
		if d.Begin(&x, &o) {
			t.Errorf("%s %q with %v is taken", x.Category, x.Name, x.Args.has)
		}
	}
	if x := (Drawn{Name: "reset", Category: "reset", Args: args("ring", "gfx")}); d.Instant(&x) {
		t.Error("an instant is taken")
	}
	d.compare(t)
}

// Rows of a part of a trace come back as they were cut, and are counted.
func TestClipped(t *testing.T) {
	d := newDrawing()
	d.slice(t, 10, 20, Drawn{Name: "cuInit", Category: "cuda_driver", PID: 7, TID: 8, Args: args("api_call_id", 1, "clipped", "start")})
	d.slice(t, 12, 18, Drawn{Name: "cuInit", Category: "cuda_driver", PID: 7, TID: 8, Args: args("api_call_id", 2)})
	if len(d.events) != 4 || d.noted != 1 {
		t.Errorf("%d events, %d noted", len(d.events), d.noted)
	}
}

// What is known of a slice whose end never comes is given all the same.
func TestCut(t *testing.T) {
	d := newDrawing()
	for _, x := range []Drawn{
		{Time: 10, Name: "k", Category: "gpu_activity.kernel", PID: 7, TID: event.NoID, Args: args("gpu_activity_id", 1, "kind", "kernel")},
		{Time: 11, Name: "step", Category: "nvtx", PID: 7, TID: 8, Args: args("slice_id", 1)},
		{Time: 12, Name: "cuInit", Category: "cuda_driver", PID: 7, TID: 8, Args: args("api_call_id", 1)},
	} {
		var o Open
		d.Begin(&x, &o)
		d.Cut(&o)
	}
	d.compare(t,
		`gpu_activity - pid=7 activity=kernel name="k" start=10`,
		`slice_begin 11 pid=7 tid=8 name="step" category="nvtx"`,
		`api_enter 12 pid=7 tid=8 api=cuda_driver name="cuInit"`)
}

func TestDevice(t *testing.T) {
	d := newDrawing()
	for _, x := range []struct {
		title, about string
		number       int64
		device       string
	}{
		{"GPU 0 (NVIDIA H100)", "device 0000:04:00.0, driver nvidia, version 580, host n1", 0, "0000:04:00.0"},
		{"GPU 03 (mockgpu)", "driver mockgpu", 3, "mockgpu"},
		{"GPU unknown (no event names the device)", "", -1, ""},
	} {
		if n, device := d.DeviceTrack(x.title, x.about); n != x.number || device != x.device {
			t.Errorf("%s: %d %q", x.title, n, device)
		}
	}
	d.compare(t,
		`device - device="0000:04:00.0" name="NVIDIA H100" driver="nvidia" version="580" host="n1"`,
		`device - device="mockgpu" driver="mockgpu"`)
	if CounterName("backlog (sampled)") != "backlog" || CounterName("power (sampled)") != "power (sampled)" || TrimLane("a (2)") != "a" || TrimLane("a (b)") != "a (b)" {
		t.Error("names")
	}
}
