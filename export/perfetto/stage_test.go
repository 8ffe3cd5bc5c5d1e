package perfetto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/export/picture/picturetest"
	pb "github.com/gpurec/gpurec/protos/perfetto"
)

func writeWith(t testing.TB, o export.Options, rows *correlate.Rows, sum *correlate.Summary) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pftrace")
	w, err := New(path, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.End(sum); err != nil {
		t.Fatal(err)
	}
	return path
}

// launches is two processes that use equal numbers of streams, contexts and
// correlation, on two GPUs, and an activity whose device nobody knows.
func launches() *correlate.Rows {
	kernel := func(id, process correlate.ID, pid, device, start int64) correlate.GPUActivity {
		return correlate.GPUActivity{ID: id, ProcessID: process, PID: num(pid), DeviceID: correlate.ID(device), Kind: "kernel", Name: "void ns::gemm<float>(int)",
			Context: unum(1), Stream: unum(7), StartNS: at(start), EndNS: at(start + 50), DurNS: num(50), CorrelationID: num(99), APICallID: process,
			GridX: unum(432), GridY: unum(2), GridZ: unum(1), BlockX: unum(128), BlockY: unum(1), BlockZ: unum(1)}
	}
	r := &correlate.Rows{
		APICalls: []correlate.APICall{
			{ID: 1, ProcessID: 1, PID: num(7), TID: num(7), API: "cuda_runtime", Name: "cudaLaunchKernel", StartNS: at(100), EndNS: at(110), EndKind: "returned"},
			{ID: 2, ProcessID: 2, PID: num(8), TID: num(8), API: "hip", Name: "hipLaunchKernel", StartNS: at(100), EndNS: at(110), EndKind: "returned"},
		},
		// 1 and 2 overlap on one stream: Perfetto stacks them.
		GPUActivities: []correlate.GPUActivity{kernel(1, 1, 7, 1, 120), kernel(2, 1, 7, 1, 150), kernel(3, 2, 8, 2, 130),
			{ID: 4, ProcessID: 1, PID: num(7), DeviceID: 1, Kind: "memcpy", Name: "memcpy HtoD", StartNS: at(300), EndNS: at(310), DurNS: num(10), Bytes: unum(4096)},
			{ID: 5, ProcessID: 1, PID: num(7), Kind: "memset", Name: "memset", StartNS: at(400), EndNS: at(410), DurNS: num(10)}},
		Processes: []correlate.Process{{ID: 1, PID: num(7), Name: "train"}, {ID: 2, PID: num(8), Name: "train"}},
		Devices:   []correlate.Device{{ID: 1, Index: 0, Name: "H100"}, {ID: 2, Index: 1, Name: "MI300"}},
	}
	for _, a := range r.GPUActivities[:3] {
		r.Links = append(r.Links, correlate.Link{SrcTable: "api_calls", SrcID: a.APICallID, DstTable: "gpu_activities", DstID: a.ID, Rule: "correlation", Confidence: "exact"})
	}
	return r
}

func TestRenderStages(t *testing.T) {
	path := writeWith(t, export.Options{RenderStages: true}, launches(), summary(50, 1000))
	rep, err := check.File(path)
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep.Err())
	}
	got := ""
	for _, s := range rep.Stages {
		got += fmt.Sprintf("%d %d+%d gpu %d | %s | %s | %s | context of %s | %s | %v %v | %d\n", s.ID, s.Start, s.Dur, s.GPU, s.Name, s.Queue, s.Kind, s.Context, s.Kernel, s.Grid, s.Block, s.Submission)
	}
	same(t, got, `
1 120+50 gpu 0 | gemm | train 7 stream 7 | kernel | context of 7 | void ns::gemm<float>(int) | [432 2 1] [128 1 1] | 99
3 130+50 gpu 1 | gemm | train 8 stream 7 | kernel | context of 8 | void ns::gemm<float>(int) | [432 2 1] [128 1 1] | 99
2 150+50 gpu 0 | gemm | train 7 stream 7 | kernel | context of 7 | void ns::gemm<float>(int) | [432 2 1] [128 1 1] | 99
4 300+10 gpu 0 | memcpy HtoD | train 7 stream unknown | memcpy | context of 7 |  | [0 0 0] [0 0 0] | 0
`)
	if x := fmt.Sprint(rep.Stages[1].Extra); x != "map[context:1 correlation_id:99 device:1 gpu_activity_id:3 process_id:8 process_name:train stream:7]" {
		t.Errorf("extra data %s", x)
	}
	told := false
	for _, x := range rep.Instants {
		told = told || x.Name == "perfetto_stage_no_gpu"
	}
	if !told {
		t.Error("the activity without a device is left out without a word")
	}
	// The calls say what they submit, and of which API they are.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m pb.Trace
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, p := range m.Packet {
		if e := p.GetTrackEvent(); e.GetGpuApi() != 0 {
			calls = append(calls, fmt.Sprint(e.GetGpuApi(), e.GetGpuCorrelation().GetRenderStageSubmissionEventIds()))
		}
	}
	if s := strings.Join(calls, " "); s != "4 [1 2] 5 [3]" {
		t.Errorf("calls %s", s)
	}
	plain, err := check.File(write(t, launches(), summary(50, 1000)))
	if err != nil || plain.Err() != nil || len(plain.Stages) != 0 || len(plain.Slices) != len(rep.Slices) {
		t.Error("render stages without being asked for, or slices lost by them", err, plain.Err())
	}
}

// What Perfetto would drop or misplace is found.
func TestStageMutations(t *testing.T) {
	b, err := os.ReadFile(writeWith(t, export.Options{RenderStages: true}, launches(), summary(50, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	stage := func(id uint64) func(*pb.TracePacket) bool {
		return func(p *pb.TracePacket) bool { return p.GetGpuRenderStageEvent().GetEventId() == id }
	}
	for name, c := range map[string]struct {
		rule string
		at   func(*pb.TracePacket) bool
		do   func(*pb.TracePacket)
	}{
		"queue not defined":   {"iid", stage(1), func(p *pb.TracePacket) { p.InternedData.GpuSpecifications = nil }},
		"context not defined": {"iid", stage(1), func(p *pb.TracePacket) { p.InternedData.GraphicsContexts = nil }},
		"kernel not defined":  {"iid", stage(1), func(p *pb.TracePacket) { p.InternedData.ComputeKernels = nil }},
		"id twice":            {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.EventId = proto.Uint64(1) }},
		"no queue":            {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.HwQueueIid = nil }},
		"no GPU":              {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.GpuId = nil }},
		"GPU of nobody":       {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.GpuId = proto.Int32(2) }},
		"another length":      {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.Duration = proto.Uint64(49) }},
		"stage lost":          {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent = nil }},
		"context too large":   {"stage", stage(2), func(p *pb.TracePacket) { p.GpuRenderStageEvent.Context = proto.Uint64(1 << 32) }},
		"out of order":        {"order", stage(2), func(p *pb.TracePacket) { p.Timestamp = proto.Uint64(10) }},
		"no sequence flags":   {"flags", stage(2), func(p *pb.TracePacket) { p.SequenceFlags = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var m pb.Trace
			if err := proto.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			c.do(m.Packet[trace(m.Packet).first(t, c.at)])
			x, err := proto.Marshal(&m)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := check.Trace(bytes.NewReader(x))
			if err != nil || !rep.Has(c.rule) {
				t.Errorf("not found: %v %v", err, rep.Err())
			}
		})
	}
}

func TestCompressPackets(t *testing.T) {
	for name, rows := range map[string]*correlate.Rows{"small": twoJobs(), "large": manyCalls(20_000)} {
		plain, err := check.File(writeWith(t, export.Options{}, rows, summary(50, 100_000)))
		if err != nil || plain.Err() != nil {
			t.Fatal(err, plain.Err())
		}
		path := writeWith(t, export.Options{CompressPackets: true}, rows, summary(50, 100_000))
		rep, err := check.File(path)
		if err != nil || rep.Err() != nil {
			t.Fatal(name, err, rep.Err())
		}
		if got := show(rep); got != show(plain) {
			t.Errorf("%s: another trace", name)
		}
		if rep.Compressed == 0 || name == "large" && rep.Compressed < 4 {
			t.Errorf("%s: %d compressed packets", name, rep.Compressed)
		}
	}
}

// A packet that is too large by itself stands uncompressed.
func TestCompressLargePacket(t *testing.T) {
	rows := twoJobs()
	rows.APICalls[0].Name = strings.Repeat("f", 600<<10)
	rep, err := check.File(writeWith(t, export.Options{CompressPackets: true}, rows, summary(50, 1000)))
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep.Err())
	}
	if len(rep.Slices) == 0 || len(rep.Slices[0].Name) != 600<<10 {
		t.Error("the name is lost")
	}
}

func manyCalls(n int) *correlate.Rows {
	r := &correlate.Rows{}
	for i := range n {
		r.APICalls = append(r.APICalls, correlate.APICall{ID: correlate.ID(i + 1), PID: num(7), TID: num(7), API: "hip", Name: "hipLaunchKernel",
			StartNS: at(int64(100 + 4*i)), EndNS: at(int64(102 + 4*i)), EndKind: "returned", KernelName: fmt.Sprint("kernel ", i)})
	}
	return r
}

// Rows of any kind, with both options.
func TestAnyRowsWithStages(t *testing.T) {
	for seed := range 60 {
		rows := picturetest.Any(rand.New(rand.NewPCG(uint64(seed), 5)))
		rows.Devices = []correlate.Device{{ID: 2, Index: 0, Name: "x"}}
		rep, err := check.File(writeWith(t, export.Options{RenderStages: true, CompressPackets: true}, rows, summary(0, 250)))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{"clock", "flags", "iid", "sequence", "track", "nesting", "order", "flow", "argument", "name", "stage", "size"} {
			if rep.Has(rule) {
				t.Errorf("seed %d: %s: %v", seed, rule, rep.Err())
			}
		}
	}
}
