package chromejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/chromejson/check"
	"github.com/gpurec/gpurec/export/picture"
	"github.com/gpurec/gpurec/record/event"
)

func at(ns int64) correlate.OptTime   { return event.Some(event.Time(ns)) }
func num(v int64) correlate.OptInt    { return event.Some(v) }
func unum(v uint64) correlate.OptUint { return event.Some(v) }

// summary of a run in CLOCK_BOOTTIME.
func summary(start, end int64) *correlate.Summary {
	return &correlate.Summary{Start: event.Time(start), End: event.Time(end), Meta: event.Meta{Clock: event.ClockBoottime}}
}

// write exports rows to a file and returns what it holds.
func write(t testing.TB, rows *correlate.Rows, sum *correlate.Summary, o export.Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.json")
	w, err := New(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Begin(&sum.Meta); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.End(sum); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read exports rows and checks the file strictly.
func read(t testing.TB, rows *correlate.Rows, sum *correlate.Summary) *check.Report {
	t.Helper()
	b := write(t, rows, sum, export.Options{Tool: "gpurec test"})
	rep, err := check.Bytes(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if err := rep.Err(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return rep
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

func same(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var x, y string
		if i < len(got) {
			x = got[i]
		}
		if i < len(want) {
			y = want[i]
		}
		if x != y {
			t.Fatalf("line %d:\ngot  %s\nwant %s\nall:\n%s", i+1, x, y, strings.Join(got, "\n"))
		}
	}
}

// chain is one call that submits one job, and one that waits for it; times
// are ns, from 1 s on:
//
//	call   100......200            300..............900
//	ioctl   110....190              310..........890
//	job      120 queued, 150 run
//	running     150.................700 done, 705 finished
//	wait                              320......800, woken from 705
func chain() *correlate.Rows {
	return &correlate.Rows{
		APICalls: []correlate.APICall{
			{ID: 1, ProcessID: 1, PID: num(7), TID: num(8), API: "cuda_driver", Name: "cuLaunchKernel", StartNS: at(1_000_000_100), EndNS: at(1_000_000_200), EndKind: "returned",
				Result: num(0), KernelName: "void ns::gemm<float, 4>(int*)", GridX: unum(432), GridY: unum(1), GridZ: unum(1), Stream: unum(7)},
			{ID: 2, ProcessID: 1, PID: num(7), TID: num(8), API: "cuda_driver", Name: "cuStreamSynchronize", StartNS: at(1_000_000_300), EndNS: at(1_000_000_900), EndKind: "returned"},
		},
		Ioctls: []correlate.Ioctl{
			{ID: 1, ProcessID: 1, PID: num(7), TID: num(8), DeviceID: 1, Cmd: 0xc0306440, Name: "X_SUBMIT", Role: "submit", StartNS: at(1_000_000_110), EndNS: at(1_000_000_190), EndKind: "returned", Result: num(0), APICallID: 1},
			{ID: 2, ProcessID: 1, PID: num(7), TID: num(8), DeviceID: 1, Cmd: 0x6441, Role: "wait", StartNS: at(1_000_000_310), EndNS: at(1_000_000_890), EndKind: "returned", APICallID: 2},
		},
		Jobs: []correlate.Job{{ID: 1, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: 1, PID: num(7), TID: num(8), SchedJobID: unum(54),
			FenceContext: unum(8), FenceSeqno: unum(27), HWFenceContext: unum(1), HWFenceSeqno: unum(54),
			QueuedNS: at(1_000_000_120), RunNS: at(1_000_000_150), DeviceStartNS: at(1_000_000_150), DoneNS: at(1_000_000_700), FinishedNS: at(1_000_000_705), EndKind: "done",
			QueueDelayNS: num(30), HWQueueNS: num(0), DeviceTimeNS: num(550), IoctlID: 1, APICallID: 1, KernelName: "void ns::gemm<float, 4>(int*)"}},
		FenceWaits: []correlate.FenceWait{{ID: 1, ProcessID: 1, PID: num(7), TID: num(8), Context: unum(8), Seqno: unum(27),
			StartNS: at(1_000_000_320), SignalNS: at(1_000_000_705), EndNS: at(1_000_000_800), WaitNS: num(480), WakeNS: num(95), JobID: 1, IoctlID: 2, EndKind: "returned"}},
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
		Threads:   []correlate.Thread{{ID: 1, ProcessID: 1, PID: num(7), TID: num(8), Name: "worker"}},
		Devices:   []correlate.Device{{ID: 1, Index: 0, Driver: "mockgpu", Rule: "inferred"}},
	}
}

// The whole file of the chain, by hand: the trace starts at 1 s + 50 ns.
func TestChain(t *testing.T) {
	got := lines(string(write(t, chain(), summary(1_000_000_050, 1_000_001_050), export.Options{Tool: "gpurec test"})))
	const gpu = 1<<29 + 1 // the first made process is gpurec
	thread := `"pid":7,"tid":8`
	row := func(tid int) string { return fmt.Sprintf(`"pid":%d,"tid":%d`, gpu, tid) }
	jobArgs := `"job_id":1,"sched_job_id":54,"ring":"gfx","device":"mockgpu","pid":7,"tid":8,"fence":"8:27"`
	var keep []string
	for _, l := range got {
		l = strings.TrimSuffix(l, ",")
		if !strings.HasPrefix(l, `{"ph":"M"`) && !strings.HasPrefix(l, `{"ph":"C"`) {
			keep = append(keep, l)
		}
	}
	queuedRow, stageRow, ringRow := row(gpu+1), row(gpu+2), row(gpu+3)
	same(t, keep, lines(`
{"traceEvents":[
{"ph":"X",`+thread+`,"ts":0.050,"dur":0.100,"name":"cuLaunchKernel","cat":"cuda_driver","args":{"api_call_id":1,"result":0,"kernel_name":"void ns::gemm<float, 4>(int*)","stream":7,"grid":"432,1,1"}}
{"ph":"s","cat":"flow","name":"api-ioctl","id":1,`+thread+`,"ts":0.050}
{"ph":"X",`+thread+`,"ts":0.060,"dur":0.080,"name":"X_SUBMIT","cat":"ioctl","args":{"ioctl_id":1,"device":"mockgpu","cmd":"0xc0306440","role":"submit","result":0,"api_call_id":1,"links":{"api":{"rule":"api-ioctl","confidence":"nested"}}}}
{"ph":"f","bp":"e","cat":"flow","name":"api-ioctl","id":1,`+thread+`,"ts":0.060}
{"ph":"s","cat":"flow","name":"ioctl-job","id":2,`+thread+`,"ts":0.060}
{"ph":"X",`+queuedRow+`,"ts":0.070,"dur":0.030,"name":"gemm #54","cat":"job.queued","args":{`+jobArgs+`,"queue_delay_ns":30,"hw_queue_ns":0,"links":{"ioctl":{"rule":"ioctl-job","confidence":"nested"}}}}
{"ph":"f","bp":"e","cat":"flow","name":"ioctl-job","id":2,`+queuedRow+`,"ts":0.070}
{"ph":"s","cat":"flow","name":"job-run","id":4,`+queuedRow+`,"ts":0.070}
{"ph":"X",`+stageRow+`,"ts":0.070,"dur":0.030,"name":"queued #54","cat":"job.stage.queue"}
{"ph":"X",`+ringRow+`,"ts":0.100,"dur":0.550,"name":"gemm #54","cat":"job.running","args":{`+jobArgs+`,"hw_fence":"1:54","queue_delay_ns":30,"hw_queue_ns":0,"device_time_ns":550,"ioctl_id":1,"api_call_id":1,"finished_ns":1000000705,"links":{"ioctl":{"rule":"ioctl-job","confidence":"nested"},"run":{"rule":"job-run","confidence":"exact"},"done":{"rule":"job-done","confidence":"exact"},"fence":{"rule":"job-fence","confidence":"adjacent"}}}}
{"ph":"f","bp":"e","cat":"flow","name":"job-run","id":4,`+ringRow+`,"ts":0.100}
{"ph":"s","cat":"flow","name":"fence-wait","id":5,`+ringRow+`,"ts":0.100}
{"ph":"X",`+thread+`,"ts":0.250,"dur":0.600,"name":"cuStreamSynchronize","cat":"cuda_driver","args":{"api_call_id":2}}
{"ph":"s","cat":"flow","name":"api-ioctl","id":3,`+thread+`,"ts":0.250}
{"ph":"X",`+thread+`,"ts":0.260,"dur":0.580,"name":"ioctl 0x00006441","cat":"ioctl","args":{"ioctl_id":2,"device":"mockgpu","cmd":"0x00006441","role":"wait","api_call_id":2,"links":{"api":{"rule":"api-ioctl","confidence":"nested"}}}}
{"ph":"f","bp":"e","cat":"flow","name":"api-ioctl","id":3,`+thread+`,"ts":0.260}
{"ph":"X",`+thread+`,"ts":0.270,"dur":0.480,"name":"wait fence 8:27","cat":"fence_wait","args":{"fence_wait_id":1,"fence":"8:27","job_id":1,"sched_job_id":54,"ring":"gfx","wait_ns":480,"wake_ns":95}}
{"ph":"X",`+thread+`,"ts":0.655,"dur":0.095,"name":"woken","cat":"fence_wake","args":{"fence_wait_id":1,"fence":"8:27","job_id":1,"sched_job_id":54,"ring":"gfx","wake_ns":95,"links":{"job":{"rule":"fence-wait","confidence":"exact"}}}}
{"ph":"f","bp":"e","cat":"flow","name":"fence-wait","id":5,`+thread+`,"ts":0.655}
],"displayTimeUnit":"ns"
"otherData":{"tool":"gpurec test","clock":"boottime","start_ns":"1000000050","end_ns":"1000001050"}}`))
}

// What is said of processes, threads and counters.
func TestDescriptions(t *testing.T) {
	rep := read(t, chain(), summary(1_000_000_050, 1_000_001_050))
	var got []string
	for _, r := range rep.Rows {
		got = append(got, fmt.Sprintf("%s %v", r.Path(), r.PID >= 1<<29 && r.TID >= 1<<29))
	}
	same(t, got, lines(`
train > worker false
GPU 0 (mockgpu) > ring gfx / queued true
GPU 0 (mockgpu) > ring gfx / stages true
GPU 0 (mockgpu) > ring gfx true`))
	// backlog: 0, 1, 0; in flight the same; utilisation: 550 of 1000 ns, and 0.
	for name, want := range map[string]int{"GPU 0 (mockgpu) > ring gfx / backlog": 3, "GPU 0 (mockgpu) > utilisation": 2, "train > GPU 0 jobs in flight": 3} {
		if rep.Counters[name] != want {
			t.Errorf("counter %s has %d values, want %d", name, rep.Counters[name], want)
		}
	}
	sort := map[string]int64{}
	for _, r := range rep.Rows {
		sort[r.Name] = r.Sort
	}
	if !(sort["ring gfx"] < sort["ring gfx / queued"] && sort["ring gfx / queued"] < sort["ring gfx / stages"]) {
		t.Errorf("order of rows: %v", sort)
	}
}

// Lanes of jobs that wait at once are rows of their own, each with its stages below.
func TestLanes(t *testing.T) {
	rows := chain()
	for i := int64(2); i <= 4; i++ {
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: correlate.ID(i), DeviceID: 1, Ring: "gfx", ProcessID: 1, PID: num(7), TID: num(8), Comm: "train",
			QueuedNS: at(1_000_000_120 + i), RunNS: at(1_000_000_500), DeviceStartNS: at(1_000_000_500 + i*1000), DoneNS: at(1_000_000_600 + i*1000), EndKind: "done"})
	}
	rep := read(t, rows, summary(1_000_000_050, 1_000_010_050))
	stages := map[string]int64{}
	sort := map[string]int64{}
	for _, s := range rep.Slices {
		switch {
		case s.Category == "job.queued":
			stages[fmt.Sprint(s.Start, s.Row.Name)] += s.End - s.Start
		case strings.HasPrefix(s.Category, "job.stage."):
			if s.Parent != nil {
				t.Errorf("%s lies in %s", s.Name, s.Parent.Name)
			}
		}
		sort[s.Row.Name] = s.Row.Sort
	}
	if len(stages) != 4 {
		t.Errorf("%d jobs queued", len(stages))
	}
	if !(sort["ring gfx / queued"] < sort["ring gfx / stages"] && sort["ring gfx / stages"] < sort["ring gfx / queued (2)"]) {
		t.Errorf("order of rows: %v", sort)
	}
}

// Pids and tids that are none, that come twice, and such as we make ourselves.
func TestIDs(t *testing.T) {
	rows := &correlate.Rows{}
	add := func(id, process, pid, tid, start int64) {
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: correlate.ID(id), ProcessID: correlate.ID(process), PID: num(pid), TID: num(tid),
			API: "hip", Name: fmt.Sprint("f", id), StartNS: at(start), EndNS: at(start + 10), EndKind: "returned"})
	}
	add(1, 1, 5, 5, 100)
	add(2, 2, 5, 5, 105) // the number given again, while we think that the first call still runs
	add(3, 3, 0, 9, 100)
	add(4, 4, -7, -7, 100)
	add(5, 5, 1<<40, 1<<40, 100)
	add(6, 6, 1<<29, 1<<29, 100)
	add(7, 7, 1<<29+1, 1<<29+1, 100)
	rows.Resets = []correlate.Reset{{ID: 1, DeviceID: 1, TSNS: at(200)}}
	rep := read(t, rows, summary(0, 1000))
	pids := map[uint64]bool{}
	for _, s := range rep.Slices {
		if pids[s.Row.PID] {
			t.Errorf("pid %d twice", s.Row.PID)
		}
		pids[s.Row.PID] = true
	}
	if len(pids) != 7 || !pids[5] || !pids[1<<29] || !pids[1<<29+1] {
		t.Errorf("pids %v", pids)
	}
	if n := anomalies(rep)["chrome_json_id_taken"]; n != 1 {
		t.Errorf("%d ids taken", n)
	}
}

func anomalies(rep *check.Report) map[string]int {
	m := map[string]int{}
	list, _ := rep.Other["anomalies"].([]any)
	for _, a := range list {
		x := a.(map[string]any)
		if n, ok := x["count"].(json.Number); ok {
			v, _ := n.Int64()
			m[x["name"].(string)] = int(v)
		}
	}
	return m
}

// Names of any bytes, numbers of any size, values that are none.
func TestOddValues(t *testing.T) {
	rows := &correlate.Rows{}
	for i, s := range odd[1:] {
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: correlate.ID(i + 1), PID: num(3), TID: num(3), API: s, Name: s, KernelName: s,
			StartNS: at(int64(i) * 10), EndNS: at(int64(i)*10 + 5), EndKind: "returned", Result: num(math.MinInt64), Bytes: unum(math.MaxUint64)})
	}
	for i, v := range []float64{1.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -0.25} {
		rows.Counters = append(rows.Counters, correlate.Counter{Name: "c\"\xff", Unit: "°\xfe", TSNS: at(int64(i)), Value: v})
	}
	rows.Marks = []correlate.Mark{{ID: 1, PID: num(3), TID: num(3), TSNS: at(3), Name: "m", Args: `{"a":"\u2028"}`}}
	rows.Processes = []correlate.Process{{PID: num(3), Name: "p\"\xff", Cmdline: "a\x00b"}}
	rep := read(t, rows, summary(0, 1000))
	if len(rep.Slices) != len(odd)-1 || rep.Samples != 3 {
		t.Errorf("%d slices, %d values", len(rep.Slices), rep.Samples)
	}
	for i, s := range rep.Slices {
		if s.Name != string([]rune(odd[i+1])) || s.Args["kernel_name"] != s.Name {
			t.Errorf("name %d: %.40q", i, s.Name)
		}
		if s.Args["bytes"] != "18446744073709551615" || s.Args["result"] != "-9223372036854775808" {
			t.Errorf("args %v", s.Args["bytes"])
		}
	}
	if n := anomalies(rep)["chrome_json_value_not_finite"]; n != 3 {
		t.Errorf("%d values not finite", n)
	}
}

// An arrow at a slice inside of which another begins at the same time goes to
// the inner one, and is counted.
func TestArrowAtInnerSlice(t *testing.T) {
	rows := chain()
	rows.Ioctls[0].StartNS = rows.APICalls[0].StartNS
	rep := read(t, rows, summary(1_000_000_050, 1_000_001_050))
	if n := anomalies(rep)["chrome_json_arrow_at_inner_slice"]; n != 1 {
		t.Errorf("%d arrows, want the one from the call", n)
	}
	if rep.FlowPairs["ioctl > ioctl"] != 1 || rep.FlowPairs["cuda_driver > ioctl"] != 1 {
		t.Errorf("pairs %v", rep.FlowPairs)
	}
}

// What CPUs run: slices by the thread's name, to its leaving or the end.
func TestCPUs(t *testing.T) {
	rows := &correlate.Rows{Sched: []correlate.Sched{
		{CPU: 1, StartNS: at(100), EndNS: at(300), TID: num(7), Comm: "train", EndState: "S", WakeupNS: at(90), WakerTID: num(5)},
		{CPU: 1, StartNS: at(300), EndNS: at(400), TID: num(9), Comm: "sh", PrevTID: num(7), PrevComm: "train", PrevState: "S"},
		{CPU: 1, StartNS: at(500), TID: num(7), Comm: "train"},
		{CPU: 0, StartNS: at(100), EndNS: at(200), TID: num(0), Comm: "swapper/0"},
	}}
	rep := read(t, rows, summary(0, 1000))
	var got []string
	for _, s := range rep.Slices {
		got = append(got, fmt.Sprintf("%s | %s | %s | %d-%d %v %v %v", s.Row.Path(), s.Category, s.Name, s.Start, s.End, s.Args["end_state"], s.Args["wakeup_delay_ns"], s.Args["waker_tid"]))
	}
	same(t, got, lines(`
CPUs > CPU 1 | sched | train | 100-300 S 10 5
CPUs > CPU 1 | sched | sh | 300-400 <nil> <nil> <nil>
CPUs > CPU 1 | sched | train | 500-1000 <nil> <nil> <nil>`))
	for _, s := range rep.Slices {
		if s.Args["prev_tid"] != nil {
			t.Errorf("%s at %d tells of what ran before: a slice does, or nothing ran", s.Name, s.Start)
		}
	}
	if n := anomalies(rep)["chrome_json_waking_not_drawn"]; n != 0 {
		t.Errorf("%d wakings not drawn", n)
	}
}

// What ran on a CPU before its first switch has no slice: the first slice tells
// of it, and of the time in which nothing ran.
func TestBeforeFirstSwitch(t *testing.T) {
	rows := &correlate.Rows{Sched: []correlate.Sched{
		{CPU: 0, StartNS: at(100), EndNS: at(130), TID: num(0), Comm: "swapper/0", PrevTID: num(5), PrevComm: "sh", PrevPrio: num(110), PrevState: "D"},
		{CPU: 0, StartNS: at(130), EndNS: at(200), TID: num(7), Comm: "train", PrevTID: num(0), PrevComm: "swapper/0"},
		{CPU: 1, StartNS: at(100), EndNS: at(200), TID: num(8), Comm: "train", PrevTID: num(5), PrevComm: "sh", PrevState: "R"},
		{CPU: 2, StartNS: at(100), EndNS: at(140), TID: num(0), Comm: "swapper/2", PrevTID: num(0), PrevComm: "swapper/2"},
		{CPU: 2, StartNS: at(140), EndNS: at(200), TID: num(8), Comm: "train", PrevTID: num(0), PrevComm: "swapper/2"},
		{CPU: 3, StartNS: at(100), EndNS: at(200), TID: num(9), Comm: "train", PrevTID: num(0), PrevComm: "swapper/3"},
	}}
	rep := read(t, rows, summary(0, 1000))
	var got []string
	for _, s := range rep.Slices {
		got = append(got, fmt.Sprintf("%s %d-%d before: %v %v %v %v, idle %v", s.Row.Name, s.Start, s.End,
			s.Args["prev_tid"], s.Args["prev_comm"], s.Args["prev_prio"], s.Args["prev_state"], s.Args["idle_ns"]))
	}
	same(t, got, lines(`
CPU 0 130-200 before: 5 sh 110 D, idle 30
CPU 1 100-200 before: 5 sh 120 R, idle <nil>
CPU 2 140-200 before: 0 swapper/2 120 <nil>, idle 40
CPU 3 100-200 before: <nil> <nil> <nil> <nil>, idle <nil>`))
}

// The file says what is missing, and of which clock its times are.
func TestFoot(t *testing.T) {
	sum := summary(-500, 1000)
	sum.Meta.Clock = event.ClockMonotonic
	sum.Meta.Snapshots = []event.ClockSnapshot{{Monotonic: 40, Realtime: 1_700_000_000_000_000_001}}
	rows := chain()
	rows.Losses = []correlate.Loss{{ID: 1, Stream: "ftrace", CPU: num(3), StartNS: at(1), EndNS: at(5), Count: unum(7)},
		{ID: 2, Stream: "ftrace", CPU: num(3), StartNS: at(6), EndNS: at(9), Count: unum(5)}, {ID: 3, Stream: "bpf", StartNS: at(2), EndNS: at(3)}}
	rows.APICalls = append(rows.APICalls, correlate.APICall{ID: 9, Name: "nobody knows when"})
	rep := read(t, rows, sum)
	b, err := json.Marshal([]any{rep.Other["clock"], rep.Other["start_ns"], rep.Other["note"], rep.Other["clocks"], rep.Other["losses"]})
	if err != nil {
		t.Fatal(err)
	}
	want := `["monotonic","-500","clock=monotonic, unaligned",[{"monotonic":"40","realtime":"1700000000000000001"}],` +
		`[{"count_at_least":0,"intervals":1,"stream":"bpf"},{"count":12,"cpu":"3","intervals":2,"stream":"ftrace"}]]`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if n := anomalies(rep)["picture_no_time"]; n != 1 {
		t.Errorf("%d rows without time", n)
	}
}

func TestEmpty(t *testing.T) {
	sum := &correlate.Summary{Start: event.NoTime, End: event.NoTime, Meta: event.Meta{Clock: event.ClockBoottime}}
	// Name, label and place of gpurec.
	if rep := read(t, &correlate.Rows{}, sum); rep.Events != 3 || rep.Instants+rep.Samples+len(rep.Slices)+len(rep.Rows) != 0 {
		t.Errorf("%d events", rep.Events)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "a.json"), filepath.Join(dir, "a.json.gz")
	w, err := New(plain, export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(plain); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is there before it is whole")
	}
	w.Abort()
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
	if e, _ := os.ReadDir(dir); len(e) != 2 {
		t.Errorf("%d files", len(e))
	}
	a, err1 := check.File(plain)
	b, err2 := check.File(packed)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if a.Events == 0 || a.Events != b.Events {
		t.Errorf("%d events plain, %d compressed", a.Events, b.Events)
	}
	if _, err := New(filepath.Join(dir, "no", "a.json"), export.Options{}); err == nil {
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
	a := write(t, rows, summary(0, 2000), export.Options{})
	b := write(t, rows, summary(0, 2000), export.Options{MaxMemory: 64 << 10})
	if !bytes.Equal(a, b) {
		t.Error("spilling changes the output")
	}
}

// full is a disk that takes n bytes.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("full")

// An error of writing ends the drawing, and is returned.
func TestFull(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 20_000; i++ {
		rows.Marks = append(rows.Marks, correlate.Mark{ID: correlate.ID(i), PID: num(3), TID: num(3), TSNS: at(i), Name: "m"})
	}
	pic := picture.New(export.Options{TempDir: t.TempDir()})
	defer pic.Close()
	if err := pic.Write(rows); err != nil {
		t.Fatal(err)
	}
	p := newPen(&full{n: 400 << 10})
	if err := pic.Draw(summary(0, 20_000), p); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
	if p.n > 15_000 {
		t.Errorf("%d events were drawn on", p.n)
	}
}
