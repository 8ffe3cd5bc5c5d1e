package duckdb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

func ts(v int64) correlate.OptTime  { return event.Some(event.Time(v)) }
func num(v int64) correlate.OptInt  { return event.Some(v) }
func un(v uint64) correlate.OptUint { return event.Some(v) }

// scene is a small run: a launch with its whole chain, a launch that led to
// nothing, calls that failed, wait or never returned, two devices with one ring
// name, a ring of an unknown device.
func scene() *correlate.Rows {
	call := func(id, parent correlate.ID, name string, start, dur int64, kind string, result correlate.OptInt) correlate.APICall {
		c := correlate.APICall{ID: id, ParentID: parent, ProcessID: 1, PID: num(100), TID: num(101), API: "cuda_driver", Name: name + "_v2", BaseName: name, StartNS: ts(start), EndKind: kind, Result: result}
		if kind == "returned" {
			c.EndNS, c.DurNS = ts(start+dur), num(dur)
		}
		return c
	}
	calls := []correlate.APICall{
		call(1, 0, "cudaLaunchKernel", 1000, 900, "returned", num(0)),
		call(2, 1, "cuLaunchKernel", 1100, 600, "returned", num(0)),
		call(3, 0, "cuMemcpyHtoD", 3000, 500, "returned", num(1)),
		call(4, 0, "cuStreamQuery", 4000, 10, "returned", num(600)),
		call(5, 0, "cuLaunchKernel", 5000, 300, "returned", num(0)),
		call(6, 0, "cuStreamSynchronize", 6000, 0, "open", correlate.OptInt{}),
		call(7, 0, "cuLaunchKernel", 6100, 200, "returned", num(0)),
	}
	calls[1].KernelName, calls[4].KernelName = "matmul", "softmax"
	return &correlate.Rows{
		APICalls: calls,
		Ioctls: []correlate.Ioctl{
			{ID: 1, ProcessID: 1, Driver: "amdgpu", Name: "AMDGPU_CS", Role: "submit", StartNS: ts(1200), EndNS: ts(1500), DurNS: num(300), Result: num(0), APICallID: 2, DeviceID: 1},
			{ID: 2, ProcessID: 1, Driver: "amdgpu", Name: "AMDGPU_WAIT_CS", Role: "wait", StartNS: ts(7000), Result: num(-62), Errno: num(62)},
			{ID: 3, ProcessID: 2, Driver: "amdgpu", Name: "AMDGPU_WAIT_CS", Role: "wait", StartNS: ts(6500), Result: num(-62), Errno: num(62)},
			{ID: 4, ProcessID: 1, Driver: "nvidia", Name: "NV_ESC_RM_ALLOC", Role: "alloc", StartNS: ts(100), Result: num(0), Status: un(0x51)},
			{ID: 5, ProcessID: 1, Driver: "nvidia", Name: "NV_ESC_RM_ALLOC", Role: "alloc", StartNS: ts(200), Result: num(0), Status: un(0)},
		},
		Jobs: []correlate.Job{
			{ID: 1, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: 1, PID: num(100), TID: num(101), QueuedNS: ts(1300), RunNS: ts(1400), DeviceStartNS: ts(1400), DoneNS: ts(2400), FinishedNS: ts(2450),
				QueueDelayNS: num(100), HWQueueNS: num(0), DeviceTimeNS: num(1000), IoctlID: 1, APICallID: 2, EndKind: "done", KernelName: "matmul", Comm: "python3"},
			{ID: 2, DeviceID: 2, Ring: "gfx", Owner: "unknown", RunNS: ts(1350), DoneNS: ts(1360), EndKind: "done"},
			{ID: 3, Ring: "sdma", Owner: "kernel", QueuedNS: ts(2000), EndKind: "open"},
		},
		FenceWaits: []correlate.FenceWait{
			{ID: 1, TID: num(102), JobID: 1, StartNS: ts(1500), EndNS: ts(2900), WakeNS: num(450), WaitNS: num(1400)},
			{ID: 2, TID: num(103), JobID: 1, StartNS: ts(1600), EndNS: ts(2600), WakeNS: num(150), WaitNS: num(1000)},
		},
		GPUActivities: []correlate.GPUActivity{
			{ID: 1, Kind: "kernel", Name: "matmul", DeviceID: 1, DurNS: num(700), StartNS: ts(6200), APICallID: 7},
			{ID: 2, Kind: "memcpy", Name: "Memcpy HtoD", DeviceID: 1, DurNS: num(50), StartNS: ts(3100), APICallID: 3},
		},
		Rings:   []correlate.Ring{{ID: 1, DeviceID: 1, Ring: "gfx", BusyNS: num(1000), IdleNS: num(0), MaxBacklog: 1}, {ID: 2, Ring: "sdma", MaxBacklog: 1}},
		Devices: []correlate.Device{{ID: 1, Index: 0, Device: "0000:03:00.0"}, {ID: 2, Index: 1, Device: "0000:43:00.0"}},
		Processes: []correlate.Process{
			{ID: 1, PID: num(100), Name: "train"}, {ID: 2, PID: num(200), Name: "other"},
		},
		IdleGaps: []correlate.IdleGap{
			{DeviceID: 1, Ring: "gfx", StartNS: ts(2400), EndNS: ts(2500), Cause: "nothing_submitted", SubmitterWas: "waiting for fence 6:48"},
			{DeviceID: 1, Ring: "gfx", StartNS: ts(2500), EndNS: ts(3000), Cause: "nothing_submitted", SubmitterWas: "waiting for fence 10:7"},
			{DeviceID: 1, Ring: "gfx", StartNS: ts(4000), EndNS: ts(4300), Cause: "dependency"},
			{DeviceID: 1, Ring: "gfx", StartNS: ts(5000), EndNS: ts(5100), Cause: "dependency"},
		},
		Links: []correlate.Link{
			{SrcTable: "api_calls", SrcID: 2, DstTable: "ioctls", DstID: 1, Rule: "api-ioctl", Confidence: "nested"},
			{SrcTable: "ioctls", SrcID: 1, DstTable: "jobs", DstID: 1, Rule: "ioctl-job", Confidence: "nested"},
		},
		Unmatched: []correlate.Unmatched{
			{SrcTable: "api_calls", SrcID: 5, Link: "job", Reason: "lost", LossID: 1},
			{SrcTable: "api_calls", SrcID: 5, Link: "ioctl", Reason: "not_recorded"},
			{SrcTable: "jobs", SrcID: 2, Link: "queue", Reason: "not_recorded"},
			{SrcTable: "jobs", SrcID: 9, Link: "queue", Reason: "not_recorded"},
		},
		IRQs: []correlate.IRQ{
			{IRQ: num(40), Name: "amdgpu", StartNS: ts(100), EndNS: ts(130), DeviceID: 1, Driver: "amdgpu", Source: "irq:irq_handler_entry"},
			{IRQ: num(40), Name: "amdgpu", StartNS: ts(200), EndNS: ts(210), DeviceID: 1, Driver: "amdgpu", Source: "irq:irq_handler_entry"},
			{Name: "amdgpu_iv", StartNS: ts(205), EndNS: ts(205), DeviceID: 1, Driver: "amdgpu", Source: "amdgpu:amdgpu_iv"},
			{IRQ: num(9), Name: "nvme0q1", StartNS: ts(300), EndNS: ts(301), Source: "irq:irq_handler_entry"},
		},
		Losses: []correlate.Loss{
			{ID: 1, Stream: "ftrace", CPU: num(0), StartNS: ts(100), EndNS: ts(200), Count: un(7)},
			{ID: 2, Stream: "ftrace", CPU: num(0), StartNS: ts(300), EndNS: ts(400)},
			{ID: 3, Stream: "bpf", Count: un(1 << 63)},
		},
	}
}

func TestViews(t *testing.T) {
	db := open(t, write(t, event.Meta{}, export.Options{}, scene()))
	for _, c := range []struct {
		query string
		want  [][]any
	}{
		{"SELECT name, calls, not_returned, failed, total_ns, self_ns, p50_ns, max_ns FROM api_summary ORDER BY name", [][]any{
			{"cuLaunchKernel", 3, 0, 0, 1100, 1100, 300, 600},
			{"cuMemcpyHtoD", 1, 0, 1, 500, 500, 500, 500},
			{"cuStreamQuery", 1, 0, 0, 10, 10, 10, 10},
			{"cuStreamSynchronize", 1, 1, 0, nil, nil, nil, nil},
			{"cudaLaunchKernel", 1, 0, 0, 900, 300, 900, 900},
		}},
		// Outermost calls with both ends: 900 + 500 + 10 + 300 + 200 = 1910.
		{"SELECT process, pid, name, calls, total_ns, percent FROM api_time_by_name LIMIT 2", [][]any{
			{"train", 100, "cuLaunchKernel", 3, 1100, 57.59},
			{"train", 100, "cudaLaunchKernel", 1, 900, 47.12},
		}},
		{"SELECT * FROM kernel_summary ORDER BY measured_by", [][]any{
			{"gpu_activities", 1, "matmul", 1, 700, 700, 700, 700, 700, nil},
			{"jobs", 1, "matmul", 1, 1000, 1000, 1000, 1000, 1000, nil},
		}},
		{"SELECT gpu, device, ring, jobs, done, queue_delay_count, queue_delay_p50_ns, device_time_count, device_time_max_ns, busy_ns, max_backlog FROM ring_summary", [][]any{
			{0, "0000:03:00.0", "gfx", 1, 1, 1, 100, 1, 1000, 1000, 1},
			{1, "0000:43:00.0", "gfx", 1, 1, 0, nil, 0, nil, nil, nil},
			{nil, nil, "sdma", 1, 0, 0, nil, 0, nil, nil, 1},
		}},
		{"SELECT job_id, api_name, kernel_name, ioctl_name, submit_latency_ns, ioctl_to_queue_ns, queue_delay_ns, device_time_ns, signal_latency_ns, fence_wait_id, waiter_tid, wake_ns FROM job_chain", [][]any{
			{1, "cuLaunchKernel_v2", "matmul", "AMDGPU_CS", 200, 100, 100, 1000, 50, 2, 103, 150},
			{2, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
			{3, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
		}},
		// The runtime call is no launch without a job: the driver call inside it has one.
		{"SELECT api_call_id, kernel_name, reasons FROM launches_without_job", [][]any{
			{5, "softmax", "ioctl: not_recorded, job: lost"},
		}},
		{"SELECT ring, cause, submitter_was, gaps, total_ns, max_ns, percent FROM top_idle_causes", [][]any{
			{"gfx", "nothing_submitted", "waiting for fence", 2, 600, 500, 60.0},
			{"gfx", "dependency", nil, 2, 400, 300, 40.0},
		}},
		{"SELECT * FROM queue_depth_over_time", [][]any{
			{1, "gfx", 1300, 1, 0, 1}, {1, "gfx", 1400, 0, 1, 1}, {1, "gfx", 2400, 0, 0, 0},
			{2, "gfx", 1350, 0, 1, 1}, {2, "gfx", 1360, 0, 0, 0},
			{nil, "sdma", 2000, 1, 0, 1},
		}},
		{"SELECT device, driver, name, irq, source, interrupts, total_ns, max_ns, first_ns, last_ns FROM interrupts_by_device", [][]any{
			{"0000:03:00.0", "amdgpu", "amdgpu", 40, "irq:irq_handler_entry", 2, 40, 30, 100, 200},
			{"0000:03:00.0", "amdgpu", "amdgpu_iv", nil, "amdgpu:amdgpu_iv", 1, 0, 0, 205, 205},
		}},
		{"SELECT driver, name, errno, status, failures, first_ns, last_ns, processes, example_ioctl_id FROM failed_ioctls", [][]any{
			{"amdgpu", "AMDGPU_WAIT_CS", 62, nil, 2, 6500, 7000, 2, 2},
			{"nvidia", "NV_ESC_RM_ALLOC", nil, uint64(0x51), 1, 100, 100, 1, 4},
		}},
		{"SELECT * FROM unmatched_summary", [][]any{
			{"jobs", "queue", "not_recorded", 2, 0, 2},
			{"api_calls", "ioctl", "not_recorded", 1, 0, 5},
			{"api_calls", "job", "lost", 1, 1, 5},
		}},
		{"SELECT * FROM link_summary", [][]any{
			{"api-ioctl", "nested", "api_calls", "ioctls", 1},
			{"ioctl-job", "nested", "ioctls", "jobs", 1},
		}},
		{"SELECT * FROM loss_summary", [][]any{
			{"bpf", nil, 1, uint64(1 << 63), 0, nil, nil, 0},
			{"ftrace", 0, 2, uint64(7), 1, 100, 400, 1},
		}},
	} {
		got := query(t, db, c.query)
		if a, b := lines(got), lines(c.want); a != b {
			t.Errorf("%s\n%s\nnot\n%s", c.query, a, b)
		}
	}
}

func lines(rows [][]any) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, r...)
	}
	return b.String()
}

// views returns the names of all views, those of the tables left out.
func views(t *testing.T) []string {
	t.Helper()
	db := open(t, write(t, event.Meta{}, export.Options{}))
	var out []string
	for _, r := range query(t, db, "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1") {
		if name := r[0].(string); correlate.TableByName(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// Every view runs on an export without rows.
func TestViewsWithoutRows(t *testing.T) {
	all := views(t)
	for _, name := range []string{"api_summary", "kernel_summary", "ring_summary", "job_chain", "launches_without_job", "top_idle_causes",
		"queue_depth_over_time", "failed_ioctls", "unmatched_summary", "api_time_by_name", "loss_summary", "link_summary", "interrupts_by_device", "reset_fates"} {
		if !slices.Contains(all, name) {
			t.Errorf("there is no view %s", name)
		}
	}
	empty := open(t, write(t, event.Meta{}, export.Options{}))
	for _, name := range all {
		if got := query(t, empty, "SELECT * FROM "+name); len(got) != 0 {
			t.Errorf("%s has rows without any: %v", name, got)
		}
	}
}

// The views of an export are found from its own directory without a variable,
// and an export that is moved takes them along.
func TestViewsFromTheDirectory(t *testing.T) {
	dir := write(t, event.Meta{}, export.Options{}, scene())
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Chdir(moved)
	db := open(t, ".")
	run(t, db, "RESET VARIABLE gpurec_dir")
	if got := query(t, db, "SELECT count(*) FROM job_chain")[0][0]; got != int64(3) {
		t.Fatalf("%v jobs", got)
	}
}

// nearestRank is the definition: the least value that at least percent % of
// the values do not exceed.
func nearestRank(values []int64, percent int) any {
	if len(values) == 0 {
		return nil
	}
	for _, v := range slices.Sorted(slices.Values(values)) {
		n := 0
		for _, w := range values {
			if w <= v {
				n++
			}
		}
		if n*100 >= percent*len(values) {
			return v
		}
	}
	panic("unreachable")
}

func TestPercentiles(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	rows := &correlate.Rows{}
	delays := map[string][]int64{}
	for k, n := range []int{1, 2, 3, 10, 99, 100, 101, 250} {
		ring := fmt.Sprint("ring", k)
		for range n {
			v := r.Int64N(500)
			delays[ring] = append(delays[ring], v)
			rows.Jobs = append(rows.Jobs, correlate.Job{ID: correlate.ID(len(rows.Jobs) + 1), Ring: ring, QueueDelayNS: num(v)})
		}
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: correlate.ID(len(rows.Jobs) + 1), Ring: ring},
			correlate.Job{ID: correlate.ID(len(rows.Jobs) + 2), Ring: ring, QueueDelayNS: num(-5)})
	}
	db := open(t, write(t, event.Meta{}, export.Options{}, rows))
	got := query(t, db, "SELECT ring, queue_delay_count, queue_delay_p50_ns, queue_delay_p90_ns, queue_delay_p99_ns, queue_delay_max_ns FROM ring_summary")
	for _, row := range got {
		v := delays[row[0].(string)]
		want := []any{row[0], int64(len(v)), nearestRank(v, 50), nearestRank(v, 90), nearestRank(v, 99), slices.Max(v)}
		if !reflect.DeepEqual(row, want) {
			t.Errorf("%v is not %v", row, want)
		}
	}
	if len(got) != len(delays) {
		t.Errorf("%d rings", len(got))
	}
}

// TestResetViews: what a reset did, and a queue that a killed job leaves without
// a done. Job 1 brought reset 1, which ended job 2 and made job 3 run again; job 4
// was killed while it waited, which its finished fence tells; job 5 is guilty by a
// driver's word, of no reset.
func TestResetViews(t *testing.T) {
	rows := &correlate.Rows{
		Jobs: []correlate.Job{
			{ID: 1, Ring: "gfx", QueuedNS: ts(10), RunNS: ts(20), DoneNS: ts(100), Fate: "guilty", FateRule: "inferred from hardware fences that one thread failed", Runs: 1},
			{ID: 2, Ring: "gfx", QueuedNS: ts(11), RunNS: ts(21), DoneNS: ts(101), Fate: "cancelled", FateRule: "inferred from hardware fences that one thread failed", Runs: 1},
			{ID: 3, Ring: "gfx", QueuedNS: ts(12), RunNS: ts(22), DoneNS: ts(200), Fate: "rerun", FateRule: "inferred from its second hand-over", Runs: 2},
			{ID: 4, Ring: "sdma", QueuedNS: ts(30), FinishedNS: ts(40), EndKind: "killed"},
			{ID: 5, Ring: "rb0", RunNS: ts(50), DoneNS: ts(60), Fate: "guilty", FateRule: "source", Runs: 1},
		},
		Resets: []correlate.Reset{{ID: 1, Ring: "gfx", TSNS: ts(90), Rule: "inferred", JobID: 1}},
		Links: []correlate.Link{
			{SrcTable: "resets", SrcID: 1, DstTable: "jobs", DstID: 1, Rule: "reset-fate", Confidence: "inferred"},
			{SrcTable: "resets", SrcID: 1, DstTable: "jobs", DstID: 2, Rule: "reset-fate", Confidence: "inferred"},
			{SrcTable: "resets", SrcID: 1, DstTable: "jobs", DstID: 3, Rule: "reset-job", Confidence: "adjacent"},
		},
	}
	db := open(t, write(t, event.Meta{}, export.Options{}, rows))
	for _, c := range []struct {
		query string
		want  [][]any
	}{
		{"SELECT reset_id, ring, job_id, fate, runs FROM reset_fates", [][]any{
			{1, "gfx", 1, "guilty", 1}, {1, "gfx", 2, "cancelled", 1}, {1, "gfx", 3, "rerun", 2}, {nil, "rb0", 5, "guilty", 1},
		}},
		{"SELECT ts_ns, waiting, running, depth FROM queue_depth_over_time WHERE ring = 'sdma'", [][]any{{30, 1, 0, 1}, {40, 0, 0, 0}}},
	} {
		if a, b := lines(query(t, db, c.query)), lines(c.want); a != b {
			t.Errorf("%s\n%s\nnot\n%s", c.query, a, b)
		}
	}
}

// At each time of queue_depth_over_time the jobs are counted one by one.
func TestQueueDepth(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	rows := &correlate.Rows{}
	for i := range 200 {
		j := correlate.Job{ID: correlate.ID(i + 1), Ring: "r", DeviceID: correlate.ID(r.IntN(2))}
		at := r.Int64N(1000)
		if r.IntN(10) > 0 {
			j.QueuedNS = ts(at)
		}
		if at += r.Int64N(50); r.IntN(10) > 0 {
			j.RunNS = ts(at)
		}
		if at += r.Int64N(50); r.IntN(10) > 0 {
			j.DoneNS = ts(at)
		}
		rows.Jobs = append(rows.Jobs, j)
	}
	db := open(t, write(t, event.Meta{}, export.Options{}, rows))
	got := query(t, db, "SELECT device_id, ts_ns, waiting, running, depth FROM queue_depth_over_time")
	if len(got) < 300 {
		t.Fatalf("only %d steps", len(got))
	}
	for _, row := range got {
		at := row[1].(int64)
		var waiting, running int64
		for _, j := range rows.Jobs {
			if (j.DeviceID == 0) != (row[0] == nil) || j.DoneNS.OK && int64(j.DoneNS.V) <= at {
				continue
			}
			switch {
			case j.RunNS.OK && int64(j.RunNS.V) <= at:
				running++
			case j.QueuedNS.OK && int64(j.QueuedNS.V) <= at:
				waiting++
			}
		}
		if row[2] != waiting || row[3] != running || row[4] != waiting+running {
			t.Fatalf("at %d: %v, not waiting %d running %d", at, row, waiting, running)
		}
	}
}
