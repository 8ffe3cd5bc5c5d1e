package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/perfetto/check"
	pb "github.com/gpurec/gpurec/protos/perfetto"
	"github.com/gpurec/gpurec/record/event"
)

func at(ns int64) correlate.OptTime   { return event.Some(event.Time(ns)) }
func num(v int64) correlate.OptInt    { return event.Some(v) }
func unum(v uint64) correlate.OptUint { return event.Some(v) }

// summary of a run in CLOCK_BOOTTIME.
func summary(start, end int64) *correlate.Summary {
	return &correlate.Summary{Start: event.Time(start), End: event.Time(end), Meta: event.Meta{Clock: event.ClockBoottime}}
}

// write exports rows to a file and returns its path.
func write(t testing.TB, rows *correlate.Rows, sum *correlate.Summary) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pftrace")
	w, err := New(path, export.Options{Tool: "gpurec test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(&sum.Meta); err != nil {
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

// read exports rows, checks the file strictly and returns what it holds.
func read(t testing.TB, rows *correlate.Rows, sum *correlate.Summary) *check.Report {
	t.Helper()
	rep, err := check.File(write(t, rows, sum))
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	return rep
}

// show writes slices, counters and instants as lines, in order of the file.
func show(rep *check.Report) string {
	var b strings.Builder
	for _, s := range rep.Slices {
		fmt.Fprintf(&b, "%s | %s | %s | %d-%d", s.Track.Path(), s.Category, s.Name, s.Start, s.End)
		if s.Parent != nil {
			fmt.Fprintf(&b, " in %s", s.Parent.Name)
		}
		if len(s.Flows) > 0 {
			fmt.Fprintf(&b, " flows %v", s.Flows)
		}
		b.WriteByte('\n')
	}
	for _, t := range rep.Tracks {
		for _, s := range t.Samples {
			fmt.Fprintf(&b, "%s | %d = %g%s\n", t.Path(), s.Time, s.Value, t.Unit)
		}
		for _, s := range t.Instants {
			fmt.Fprintf(&b, "%s | %s | %s | %d\n", t.Path(), s.Category, s.Name, s.Start)
		}
	}
	return b.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	got, want = strings.TrimSpace(got), strings.TrimSpace(want)
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var x, y string
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			t.Fatalf("line %d:\ngot  %s\nwant %s\nall:\n%s", i+1, x, y, got)
		}
	}
}

// chain is one call that submits one job, and one that waits for it:
//
//	call   100......200            300..............900
//	ioctl   110....190              310..........890
//	job      120 queued, 150 run, 160 a second job is looked at
//	running     150.................700 done, 705 finished
//	wait                              320......800, woken from 705
func chain() *correlate.Rows {
	return &correlate.Rows{
		APICalls: []correlate.APICall{
			{ID: 1, ProcessID: 1, PID: num(7), TID: num(7), API: "cuda_driver", Name: "cuLaunchKernel", StartNS: at(100), EndNS: at(200), EndKind: "returned",
				Result: num(0), KernelName: "void ns::gemm<float, 4>(int*)", GridX: unum(432), GridY: unum(1), GridZ: unum(1), Stream: unum(7)},
			{ID: 2, ProcessID: 1, PID: num(7), TID: num(7), API: "cuda_driver", Name: "cuStreamSynchronize", StartNS: at(300), EndNS: at(900), EndKind: "returned"},
		},
		Ioctls: []correlate.Ioctl{
			{ID: 1, ProcessID: 1, PID: num(7), TID: num(7), DeviceID: 1, Cmd: 0xc0306440, Name: "X_SUBMIT", Role: "submit", StartNS: at(110), EndNS: at(190), EndKind: "returned", Result: num(0), APICallID: 1},
			{ID: 2, ProcessID: 1, PID: num(7), TID: num(7), DeviceID: 1, Cmd: 0x6441, Role: "wait", StartNS: at(310), EndNS: at(890), EndKind: "returned", APICallID: 2},
		},
		Jobs: []correlate.Job{{ID: 1, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: 1, PID: num(7), TID: num(7), SchedJobID: unum(54),
			FenceContext: unum(8), FenceSeqno: unum(27), HWFenceContext: unum(1), HWFenceSeqno: unum(54),
			QueuedNS: at(120), RunNS: at(150), DeviceStartNS: at(150), DoneNS: at(700), FinishedNS: at(705), EndKind: "done",
			QueueDelayNS: num(30), HWQueueNS: num(0), DeviceTimeNS: num(550), IoctlID: 1, APICallID: 1, KernelName: "void ns::gemm<float, 4>(int*)"}},
		FenceWaits: []correlate.FenceWait{{ID: 1, ProcessID: 1, PID: num(7), TID: num(7), Context: unum(8), Seqno: unum(27),
			StartNS: at(320), SignalNS: at(705), EndNS: at(800), WaitNS: num(480), WakeNS: num(95), JobID: 1, IoctlID: 2, EndKind: "returned"}},
		Links: []correlate.Link{
			{SrcTable: "api_calls", SrcID: 1, DstTable: "ioctls", DstID: 1, Rule: "api-ioctl", Confidence: "nested"},
			{SrcTable: "ioctls", SrcID: 1, DstTable: "jobs", DstID: 1, Rule: "ioctl-job", Confidence: "nested"},
			{SrcTable: "api_calls", SrcID: 2, DstTable: "ioctls", DstID: 2, Rule: "api-ioctl", Confidence: "nested"},
			{SrcTable: "jobs", SrcID: 1, DstTable: "jobs", DstID: 1, Rule: "job-run", Confidence: "exact"},
			{SrcTable: "jobs", SrcID: 1, DstTable: "jobs", DstID: 1, Rule: "job-done", Confidence: "exact"},
			{SrcTable: "jobs", SrcID: 1, DstTable: "fences", DstID: 9, Rule: "job-fence", Confidence: "adjacent"},
			{SrcTable: "jobs", SrcID: 1, DstTable: "fence_waits", DstID: 1, Rule: "fence-wait", Confidence: "exact"},
		},
		Processes: []correlate.Process{{ID: 1, PID: num(7), Name: "train"}},
		Threads:   []correlate.Thread{{ID: 1, ProcessID: 1, PID: num(7), TID: num(7), Name: "train"}},
		Devices:   []correlate.Device{{ID: 1, Index: 0, Driver: "mockgpu", Rule: "inferred"}},
	}
}

const (
	onThread = "process 7 > thread 7"
	onRing   = "GPU 0 (mockgpu) > ring gfx"
)

func TestChain(t *testing.T) {
	rep := read(t, chain(), summary(50, 1000))
	same(t, show(rep), `
process 7 > thread 7 | cuda_driver | cuLaunchKernel | 100-200 flows [1]
process 7 > thread 7 | ioctl | X_SUBMIT | 110-190 in cuLaunchKernel flows [1 2]
GPU 0 (mockgpu) > ring gfx > backlog > queued | job.queued | gemm #54 | 120-150 flows [2 4]
GPU 0 (mockgpu) > ring gfx > backlog > queued | job.stage.queue | queued #54 | 120-150 in gemm #54
GPU 0 (mockgpu) > ring gfx | job.running | gemm #54 | 150-700 flows [4 5]
process 7 > thread 7 | cuda_driver | cuStreamSynchronize | 300-900 flows [3]
process 7 > thread 7 | ioctl | ioctl 0x00006441 | 310-890 in cuStreamSynchronize flows [3]
process 7 > thread 7 | fence_wait | wait fence 8:27 | 320-800 in ioctl 0x00006441
process 7 > thread 7 | fence_wake | woken | 705-800 in wait fence 8:27 flows [5]
GPU 0 (mockgpu) > ring gfx > backlog | 50 = 0 jobs
GPU 0 (mockgpu) > ring gfx > backlog | 120 = 1 jobs
GPU 0 (mockgpu) > ring gfx > backlog | 700 = 0 jobs
process 7 > GPU 0 jobs in flight | 50 = 0 jobs
process 7 > GPU 0 jobs in flight | 120 = 1 jobs
process 7 > GPU 0 jobs in flight | 700 = 0 jobs
GPU 0 (mockgpu) > utilisation | 50 = 57.89473684210527 %
GPU 0 (mockgpu) > utilisation | 1000 = 0 %
`) // 550 ns of 950
	run := rep.Tracks[0]
	for _, tr := range rep.Tracks {
		if tr.Path() == onRing {
			run = tr
		}
	}
	for arg, want := range map[string]any{
		"job_id": int64(1), "sched_job_id": int64(54), "ring": "gfx", "device": "mockgpu", "pid": int64(7), "tid": int64(7),
		"fence": "8:27", "hw_fence": "1:54", "queue_delay_ns": int64(30), "hw_queue_ns": int64(0), "device_time_ns": int64(550),
		"ioctl_id": int64(1), "api_call_id": int64(1), "links.ioctl.rule": "ioctl-job", "links.ioctl.confidence": "nested",
		"links.run.rule": "job-run", "links.run.confidence": "exact", "links.done.rule": "job-done", "links.done.confidence": "exact",
		"links.fence.rule": "job-fence", "links.fence.confidence": "adjacent", "finished_ns": int64(705),
	} {
		if got := run.Slices[0].Args[arg]; got != want {
			t.Errorf("job.running %s = %v, want %v", arg, got, want)
		}
	}
	if n := len(run.Slices[0].Args); n != 22 {
		t.Errorf("job.running has %d arguments: %v", n, run.Slices[0].Args)
	}
	call := rep.Slices[0]
	if call.Str("grid") != "432,1,1" || call.Str("kernel_name") != "void ns::gemm<float, 4>(int*)" || call.Args["block"] != nil {
		t.Errorf("arguments of the call: %v", call.Args)
	}
	if c := rep.Slices[1].Str("cmd"); c != "0xc0306440" {
		t.Errorf("cmd %s", c)
	}
}

// The wait comes after the signal: the arrow goes to the wait itself.
func TestAlreadySignalled(t *testing.T) {
	rows := chain()
	rows.FenceWaits[0].SignalNS, rows.FenceWaits[0].StartNS, rows.FenceWaits[0].WaitNS = at(705), at(710), num(90)
	rows.FenceWaits[0].WakeNS = correlate.OptDur{}
	rep := read(t, rows, summary(50, 1000))
	if rep.Categories["fence_wake"] != 0 || rep.FlowPairs["job.running > fence_wait"] != 1 {
		t.Errorf("%v %v", rep.Categories, rep.FlowPairs)
	}
	for _, s := range rep.Slices {
		if s.Category == "fence_wait" && s.Args["already_signalled"] != true {
			t.Errorf("wait: %v", s.Args)
		}
	}
}

// A job that depends on another, and waits for the hardware after it:
// queued 100, dependency seen 110, other done 200, run 230, previous done 300.
func TestStages(t *testing.T) {
	rows := &correlate.Rows{
		Jobs: []correlate.Job{
			{ID: 1, Ring: "a", SchedJobID: unum(1), QueuedNS: at(90), RunNS: at(95), DeviceStartNS: at(95), DoneNS: at(200), EndKind: "done", Comm: "x"},
			{ID: 2, Ring: "b", SchedJobID: unum(2), QueuedNS: at(96), RunNS: at(97), DeviceStartNS: at(97), DoneNS: at(300), EndKind: "done", Comm: "x"},
			{ID: 3, Ring: "b", SchedJobID: unum(3), QueuedNS: at(100), RunNS: at(230), DeviceStartNS: at(300), DoneNS: at(400), EndKind: "done", Comm: "x"},
		},
		JobDeps: []correlate.JobDep{
			{JobID: 3, OnJobID: 1, TSNS: at(110), OnFenceContext: unum(4), OnFenceSeqno: unum(5)},
			{JobID: 3, OnJobID: 2, TSNS: at(240)}, // looked at after run: no stage
		},
	}
	rep := read(t, rows, summary(50, 500))
	var b strings.Builder
	for _, s := range rep.Slices {
		if s.Parent != nil && s.Parent.Name == "x #3" {
			fmt.Fprintf(&b, "%s %s %d-%d\n", s.Category, s.Name, s.Start, s.End)
		}
	}
	same(t, b.String(), `
job.stage.queue queued #3 100-110
job.stage.dependency waits for #1 110-200
job.stage.queue queued #3 200-230
job.stage.hw_queue hw queue #3 230-300`)
}

// Neighbours at one nanosecond, a slice of no length, equal parent and child.
func TestEqualTimes(t *testing.T) {
	call := func(id, start, end, depth int64) correlate.APICall {
		return correlate.APICall{ID: correlate.ID(id), PID: num(3), TID: num(3), API: "hip", Name: fmt.Sprint("c", id), StartNS: at(start), EndNS: at(end), EndKind: "returned", Depth: depth}
	}
	rows := &correlate.Rows{APICalls: []correlate.APICall{
		call(1, 10, 20, 0), call(2, 20, 20, 0), call(3, 20, 30, 0), call(5, 30, 40, 1), call(4, 30, 40, 0), call(6, 40, 50, 0),
	}}
	same(t, show(read(t, rows, summary(0, 60))), `
process 3 > thread 3 | hip | c1 | 10-20
process 3 > thread 3 | hip | c3 | 20-30
process 3 > thread 3 | hip | c2 | 20-20 in c3
process 3 > thread 3 | hip | c4 | 30-40
process 3 > thread 3 | hip | c5 | 30-40 in c4
process 3 > thread 3 | hip | c6 | 40-50`)
}

// A call that does not nest stands beside, with a reason.
func TestOverlapping(t *testing.T) {
	rows := &correlate.Rows{APICalls: []correlate.APICall{
		{ID: 1, PID: num(3), TID: num(4), API: "hip", Name: "a", StartNS: at(10), EndNS: at(20), EndKind: "returned"},
		{ID: 2, PID: num(3), TID: num(4), API: "hip", Name: "b", StartNS: at(15), EndNS: at(25), EndKind: "returned"},
		{ID: 3, PID: num(3), TID: num(4), API: "hip", Name: "c", StartNS: at(18), EndNS: at(28), EndKind: "returned"},
		{ID: 4, PID: num(3), TID: num(4), API: "hip", Name: "d", StartNS: at(26), EndKind: "open"},
	}, Unmatched: []correlate.Unmatched{{SrcTable: "api_calls", SrcID: 2, Link: "exit", Reason: "lost"}}}
	rep := read(t, rows, summary(0, 60))
	same(t, show(rep), `
process 3 > thread 4 | hip | a | 10-20
process 3 > thread 4 > overlapping | hip | b | 15-25
process 3 > thread 4 > overlapping | hip | c | 18-28
process 3 > thread 4 | hip | d | 26-60
gpurec > anomalies | anomaly | picture_overlapping | 60`)
	if r := rep.Slices[1].Str("unmatched_reason"); r != "lost" {
		t.Errorf("b: reason %q", r)
	}
	if e := rep.Slices[3].Str("end"); e != "after_stop" {
		t.Errorf("d: end %q", e)
	}
}

// Thirteen jobs are queued at once: the thirteenth is not drawn, but counted,
// and its arrow goes from the ioctl to where it runs.
func TestHidden(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 13; i++ {
		rows.Ioctls = append(rows.Ioctls, correlate.Ioctl{ID: correlate.ID(i), PID: num(3), TID: num(3), Name: "S", StartNS: at(i * 10), EndNS: at(i*10 + 5), EndKind: "returned"})
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: correlate.ID(i), Ring: "r", SchedJobID: unum(uint64(i)), Comm: "x", QueuedNS: at(i*10 + 1),
			RunNS: at(1000 + i*10), DeviceStartNS: at(1000 + i*10), DoneNS: at(1010 + i*10), QueueDelayNS: num(999), HWQueueNS: num(0), DeviceTimeNS: num(10), EndKind: "done"})
		rows.Links = append(rows.Links,
			correlate.Link{SrcTable: "ioctls", SrcID: correlate.ID(i), DstTable: "jobs", DstID: correlate.ID(i), Rule: "ioctl-job", Confidence: "nested"},
			correlate.Link{SrcTable: "jobs", SrcID: correlate.ID(i), DstTable: "jobs", DstID: correlate.ID(i), Rule: "job-run", Confidence: "exact"})
	}
	rep := read(t, rows, summary(0, 2000))
	if rep.Categories["job.queued"] != 12 || rep.Categories["job.running"] != 13 {
		t.Errorf("categories %v", rep.Categories)
	}
	if rep.FlowPairs["ioctl > job.running"] != 1 || rep.FlowPairs["ioctl > job.queued"] != 12 || rep.FlowPairs["job.queued > job.running"] != 12 {
		t.Errorf("flows %v", rep.FlowPairs)
	}
	for _, tr := range rep.Tracks {
		if tr.Name == "queued, not drawn" {
			if s := tr.Samples; len(s) != 3 || s[1] != (check.Sample{Time: 131, Value: 1}) || s[2] != (check.Sample{Time: 1130, Value: 0}) {
				t.Errorf("%s: %v", tr.Path(), s)
			}
			return
		}
	}
	t.Error("no counter of jobs that are not drawn")
}

func TestJobsWithoutEnd(t *testing.T) {
	rows := &correlate.Rows{Jobs: []correlate.Job{
		// Its done was lost: the next one on the ring ran to its end.
		{ID: 1, Ring: "r", SchedJobID: unum(1), Comm: "x", QueuedNS: at(10), RunNS: at(20), DeviceStartNS: at(20), EndKind: "open"},
		{ID: 2, Ring: "r", SchedJobID: unum(2), Comm: "x", QueuedNS: at(25), RunNS: at(30), DeviceStartNS: at(30), DoneNS: at(40), DeviceTimeNS: num(10), EndKind: "done"},
		// Running when the trace ends, and one behind it.
		{ID: 3, Ring: "r", SchedJobID: unum(3), Comm: "x", QueuedNS: at(45), RunNS: at(50), DeviceStartNS: at(50), EndKind: "open"},
		{ID: 4, Ring: "r", SchedJobID: unum(4), Comm: "x", QueuedNS: at(46), RunNS: at(55), EndKind: "open"},
		{ID: 5, Ring: "r", SchedJobID: unum(5), Comm: "x", QueuedNS: at(47), EndKind: "open"},
		// Killed before it ran.
		{ID: 6, Ring: "q", SchedJobID: unum(6), Comm: "x", QueuedNS: at(48), FinishedNS: at(60), EndKind: "killed", Error: num(-3)},
		// Only its run was seen.
		{ID: 7, Ring: "p", Owner: "unknown", FenceContext: unum(1), FenceSeqno: unum(42), RunNS: at(70), DeviceStartNS: at(70), EndKind: "open"},
		{ID: 8, Ring: "p", EndKind: "lost"},
	},
		IdleGaps: []correlate.IdleGap{{Ring: "r", StartNS: at(40), EndNS: at(45), Cause: "nothing_submitted", JobID: 3}, {Ring: "r", StartNS: at(45), EndNS: at(50), Cause: "scheduling_latency", JobID: 3}},
	}
	rep := read(t, rows, summary(0, 100))
	var b strings.Builder
	for _, s := range rep.Slices {
		if strings.HasPrefix(s.Category, "job.") && !strings.HasPrefix(s.Category, "job.stage") {
			fmt.Fprintf(&b, "%s %s %d-%d %s\n", s.Category, s.Name, s.Start, s.End, s.Str("end"))
		}
	}
	same(t, b.String(), `
job.queued x #1 10-20 lost
job.queued x #2 25-30 
job.running x #2 30-40 
job.queued x #3 45-50 
job.queued x #4 46-100 after_stop
job.queued x #5 47-100 after_stop
job.queued x #6 (ESRCH) 48-60 
job.running x #3 50-100 after_stop
job.running job 1:42 70-100 after_stop`)
	for _, i := range rep.Instants {
		if i.Name == "picture_no_time" && i.Args["count"] == int64(1) {
			return
		}
	}
	t.Error("the job without any time is not counted")
}

func TestActivities(t *testing.T) {
	rows := &correlate.Rows{
		APICalls: []correlate.APICall{{ID: 1, ProcessID: 1, PID: num(9), TID: num(9), API: "cuda_runtime", Name: "cudaLaunchKernel", StartNS: at(100), EndNS: at(110), EndKind: "returned", CorrelationID: num(5)}},
		GPUActivities: []correlate.GPUActivity{
			{ID: 1, ProcessID: 1, PID: num(9), DeviceID: 1, Kind: "kernel", Name: "void a::k<int>(int)", Stream: unum(7), StartNS: at(200), EndNS: at(300), DurNS: num(100), CorrelationID: num(5), APICallID: 1},
			{ID: 2, ProcessID: 1, PID: num(9), DeviceID: 1, Kind: "memcpy", Name: "Memcpy DtoH (Device -> Pinned)", Stream: unum(7), StartNS: at(250), EndNS: at(350), DurNS: num(100)},
			{ID: 3, ProcessID: 1, PID: num(9), DeviceID: 1, Kind: "kernel", Name: "k2", Stream: unum(7), StartNS: at(300), EndNS: at(400), DurNS: num(100)},
		},
		Links:     []correlate.Link{{SrcTable: "api_calls", SrcID: 1, DstTable: "gpu_activities", DstID: 1, Rule: "correlation-id", Confidence: "exact"}},
		Processes: []correlate.Process{{ID: 1, PID: num(9), Name: "python"}},
		Devices:   []correlate.Device{{ID: 1, Index: 1, Name: "NVIDIA H100"}, {ID: 2, Index: 10, Name: "other"}},
	}
	same(t, show(read(t, rows, summary(0, 1000))), `
process 9 > thread 9 | cuda_runtime | cudaLaunchKernel | 100-110 flows [1]
process 9 > GPU 01 streams > stream 7 | gpu_activity.kernel | k | 200-300 flows [1]
process 9 > GPU 01 streams > stream 7 | gpu_activity.memcpy | Memcpy DtoH | 250-350
process 9 > GPU 01 streams > stream 7 | gpu_activity.kernel | k2 | 300-400
GPU 01 (NVIDIA H100) > utilisation | 0 = 20 %
GPU 01 (NVIDIA H100) > utilisation | 1000 = 0 %
GPU 01 (NVIDIA H100) > backlog | 100 = 1 activities
GPU 01 (NVIDIA H100) > backlog | 250 = 2 activities
GPU 01 (NVIDIA H100) > backlog | 300 = 3 activities
GPU 01 (NVIDIA H100) > backlog | 300 = 2 activities
GPU 01 (NVIDIA H100) > backlog | 350 = 1 activities
GPU 01 (NVIDIA H100) > backlog | 400 = 0 activities
`)
}

func TestSched(t *testing.T) {
	row := func(cpu, start, end, tid int64, prev int64, state string) correlate.Sched {
		return correlate.Sched{CPU: cpu, StartNS: at(start), EndNS: at(end), TID: num(tid), Comm: fmt.Sprint("t", tid), PrevTID: num(prev), PrevComm: fmt.Sprint("t", prev), EndState: state}
	}
	rows := &correlate.Rows{Sched: []correlate.Sched{row(0, 10, 20, 5, 0, "S"), row(0, 20, 30, 6, 5, "R+"), row(0, 50, 60, 5, 0, "D"), row(1, 5, 7, 8, 0, "S")}}
	rows.Sched[2].WakeupNS, rows.Sched[2].WakerTID = at(45), num(8)
	rep := read(t, rows, summary(0, 100))
	// CPU 0: 10 come, 20 5→6, 30 6→idle, 50, 60 idle; CPU 1: 5, 7.
	if rep.Switches != 7 || rep.Wakings != 1 {
		t.Errorf("%d switches, %d wakings", rep.Switches, rep.Wakings)
	}
}

func TestClock(t *testing.T) {
	sum := summary(50, 1000)
	sum.Meta.Clock = event.ClockMonotonic
	rep := read(t, chain(), sum)
	for _, i := range rep.Instants {
		if i.Name == "clock=monotonic, unaligned" {
			return
		}
	}
	t.Error("the trace does not say that its clock is not BOOTTIME")
}

// Times before 0 are moved, and stay apart as they were.
func TestNegativeTimes(t *testing.T) {
	rows := &correlate.Rows{APICalls: []correlate.APICall{{ID: 1, PID: num(3), TID: num(3), Name: "a", StartNS: at(-900), EndNS: at(-800), EndKind: "returned"}}}
	rep := read(t, rows, summary(-1000, 0))
	if s := rep.Slices[0]; s.End-s.Start != 100 {
		t.Errorf("%d-%d", s.Start, s.End)
	}
}

// Complete events are told at their end: rows may begin before the first event.
func TestRowBeforeStart(t *testing.T) {
	rows := &correlate.Rows{APICalls: []correlate.APICall{{ID: 1, PID: num(3), TID: num(3), Name: "a", StartNS: at(10), EndNS: at(100), EndKind: "returned"}},
		Jobs: []correlate.Job{{ID: 1, Ring: "r", Comm: "x", QueuedNS: at(110), RunNS: at(120), DeviceStartNS: at(120), DoneNS: at(130), EndKind: "done"}}}
	read(t, rows, summary(100, 120))
}

// Pids that the format cannot hold stay apart, and none becomes the idle process.
func TestOddPIDs(t *testing.T) {
	rows := &correlate.Rows{}
	for i, id := range []int64{-5, -6, 0, 1 << 40} {
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: correlate.ID(i + 1), PID: num(id), TID: num(id + 1), Name: "a", StartNS: at(10), EndNS: at(100), EndKind: "returned"})
	}
	rep := read(t, rows, summary(0, 200))
	seen := map[int32]bool{}
	for _, tr := range rep.Tracks {
		if tr.IsProcess {
			seen[tr.PID] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d processes of 4", len(seen))
	}
}

// What has no thread is drawn all the same, and said.
func TestNoThread(t *testing.T) {
	rows := &correlate.Rows{
		Ioctls:   []correlate.Ioctl{{ID: 1, Name: "I", StartNS: at(10), EndNS: at(20), EndKind: "returned"}, {ID: 2, Name: "I", StartNS: at(15), EndNS: at(25), EndKind: "returned"}},
		Others:   []correlate.Other{{ID: 1, Name: "odd", TSNS: at(30), PID: num(0), TID: num(0), Fields: `{"a":1}`}, {ID: 2, Name: "never"}},
		Marks:    []correlate.Mark{{ID: 1, PID: num(3), TID: num(4), TSNS: at(40), Category: "user", Name: "here"}},
		Losses:   []correlate.Loss{{ID: 1, Stream: "ftrace", CPU: num(1), StartNS: at(12), EndNS: at(22), Count: unum(37)}, {ID: 2, Stream: "bpf", StartNS: at(14), EndNS: at(18)}},
		Counters: []correlate.Counter{{Name: "power", TSNS: at(50), Value: 1.5, Unit: "W"}},
		LogLines: []correlate.LogLine{{TSNS: at(60), Text: "Xid 31", Code: num(31)}},
	}
	same(t, show(read(t, rows, summary(0, 100))), `
gpurec > no thread | ioctl | I | 10-20
gpurec > losses | loss | lost 37 events | 12-22
gpurec > losses | loss | lost events | 14-18
gpurec > no thread | ioctl | I | 15-25
gpurec > events without a thread | other | odd | 30
process 3 > thread 4 | user | here | 40
power | 50 = 1.5 W
gpurec > kernel log | log_line | Xid 31 | 60
gpurec > anomalies | anomaly | picture_no_time | 100
gpurec > anomalies | anomaly | picture_no_thread | 100`)
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	rows := &correlate.Rows{APICalls: []correlate.APICall{
		{ID: 1, PID: num(3), TID: num(3), Name: "bad\xff\xfename", StartNS: at(10), EndNS: at(20), EndKind: "returned"},
		{ID: 2, PID: num(3), TID: num(3), Name: long, StartNS: at(20), EndNS: at(30), EndKind: "returned", KernelName: "k\x00\n" + long},
	}}
	rep := read(t, rows, summary(0, 100))
	if rep.Slices[0].Name != "bad\uFFFD\uFFFDname" {
		t.Errorf("name %q", rep.Slices[0].Name)
	}
	if rep.Slices[1].Name != long || rep.Slices[1].Str("kernel_name") != "k\x00\n"+long {
		t.Error("a long name is cut")
	}
}

// What was interned is forgotten at a bound, and told anew.
func TestForget(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 200; i++ {
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: correlate.ID(i), PID: num(3), TID: num(3), API: "hip",
			Name: strings.Repeat("n", 100_000) + fmt.Sprint(i), StartNS: at(i * 10), EndNS: at(i*10 + 5), EndKind: "returned", Result: num(0)})
	}
	if rep := read(t, rows, summary(0, 3000)); len(rep.Slices) != 200 {
		t.Errorf("%d slices", len(rep.Slices))
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	names := func() string {
		var l []string
		e, _ := os.ReadDir(dir)
		for _, x := range e {
			l = append(l, x.Name())
		}
		return strings.Join(l, " ")
	}
	w, err := New(filepath.Join(dir, "a.pftrace"), export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.pftrace")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is there before it is whole")
	}
	w.Abort()
	if n := names(); n != "" {
		t.Errorf("Abort left %s", n)
	}
	plain := filepath.Join(dir, "a.pftrace")
	packed := filepath.Join(dir, "a.pftrace.gz")
	for _, p := range []string{plain, packed} {
		w, err := New(p, export.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(chain()); err != nil {
			t.Fatal(err)
		}
		if err := w.End(summary(0, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if n := names(); n != "a.pftrace a.pftrace.gz" {
		t.Errorf("files: %s", n)
	}
	a, _ := check.File(plain)
	b, _ := check.File(packed)
	if a == nil || b == nil || show(a) != show(b) {
		t.Error("plain and compressed differ")
	}
	if _, err := New(filepath.Join(dir, "no", "a.pftrace"), export.Options{}); err == nil {
		t.Error("no error for a missing directory")
	}
}

// The same rows give the same bytes, whatever was spilled.
func TestDeterministic(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 3000; i++ {
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: correlate.ID(i), ProcessID: correlate.ID(i%7 + 1), TID: num(i%11 + 1), PID: num(i%7 + 1), API: "hip",
			Name: fmt.Sprint("f", i%13), StartNS: at(i * 7 % 1000), EndNS: at(i*7%1000 + 3), EndKind: "returned"})
	}
	var first []byte
	for _, mem := range []int64{0, 64 << 10} {
		path := filepath.Join(t.TempDir(), "x.pftrace")
		w, err := New(path, export.Options{MaxMemory: mem})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.End(summary(0, 2000)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		} else if !bytes.Equal(first, got) {
			t.Error("spilling changes the output")
		}
	}
}

// A BOOTTIME log relates its axis to the machine's other clocks, first of all
// and at the end.
func TestSnapshots(t *testing.T) {
	sum := summary(50, 1000)
	sum.Meta.Snapshots = []event.ClockSnapshot{{Boottime: 50, Monotonic: 40, Realtime: 1_700_000_000_000_000_000}, {Boottime: 900, Monotonic: 890, Realtime: 1_700_000_000_000_000_850}}
	b, err := os.ReadFile(write(t, chain(), sum))
	if err != nil {
		t.Fatal(err)
	}
	var m pb.Trace
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, p := range m.Packet {
		if s := p.ClockSnapshot; s != nil {
			if len(got) == 0 && i != 0 {
				t.Error("the first packet is no snapshot")
			}
			for _, c := range s.Clocks {
				got = append(got, fmt.Sprint(c.GetClockId(), "=", c.GetTimestamp()))
			}
		}
	}
	if want := "6=50 3=40 1=1700000000000000000 6=900 3=890 1=1700000000000000850 6=50 64=50"; strings.Join(got, " ") != want {
		t.Errorf("snapshots %v, want %s", got, want)
	}
}

// Nothing at all is a sound trace too.
func TestEmpty(t *testing.T) {
	sum := &correlate.Summary{Start: event.NoTime, End: event.NoTime, Meta: event.Meta{Clock: event.ClockBoottime}}
	if rep := read(t, &correlate.Rows{}, sum); len(rep.Tracks) != 0 || rep.Packets == 0 {
		t.Errorf("%v", rep)
	}
}
