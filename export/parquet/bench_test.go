//go:build unix

package parquet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// benchRun makes rows as correlation gives them for n launches on a user-queue
// driver: a call, its ioctl, its job, its fences, a wait now and then, links.
func benchRun(n int) *correlate.Rows {
	r := rand.New(rand.NewPCG(1, 1))
	some := func(v int64) correlate.OptInt { return event.Some(v) }
	usome := func(v uint64) correlate.OptUint { return event.Some(v) }
	out := &correlate.Rows{}
	at := event.Time(5_000_000_000_000)
	kernels := []string{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_", "ampere_sgemm_128x64_nn", "softmax_warp_forward", "layer_norm"}
	for i := range n {
		at += event.Time(2000 + r.Int64N(8000))
		id, tid := correlate.ID(i+1), int64(1000+r.Int64N(4))
		start, end := at-event.Time(r.Int64N(500)), at+1500+event.Time(r.Int64N(3000))
		queued, run := at+700, at+1200+event.Time(r.Int64N(2000))
		done := run + 5000 + event.Time(r.Int64N(9000))
		out.APICalls = append(out.APICalls, correlate.APICall{
			ID: id, ProcessID: 1, PID: some(1000), TID: some(tid), API: "cuda_driver", Name: "cuLaunchKernel_ptsz", BaseName: "cuLaunchKernel",
			StartNS: event.OptTime(start), EndNS: event.OptTime(end), DurNS: some(int64(end - start)), EndKind: "returned", Result: some(0),
			KernelName: kernels[r.IntN(4)], Stream: usome(0x55aa00 + uint64(r.IntN(4))*64), GridX: usome(uint64(r.IntN(64))), GridY: usome(1), GridZ: usome(1),
			BlockX: usome(256), BlockY: usome(1), BlockZ: usome(1), SharedMem: usome(0), Function: usome(0x7f0012340000 + uint64(r.IntN(4))*128),
			Library: "/usr/lib/x86_64-linux-gnu/libcuda.so.1", Source: "uprobe:cuLaunchKernel_ptsz"})
		out.Ioctls = append(out.Ioctls, correlate.Ioctl{
			ID: id, ProcessID: 1, PID: some(1000), TID: some(tid), DeviceID: 1, Driver: "amdgpu", Cmd: 0xc0186444, Name: "AMDGPU_CS", Role: "submit",
			StartNS: event.OptTime(at + 100), EndNS: event.OptTime(at + 1100), DurNS: some(1000), Result: some(0), APICallID: id, FD: some(7),
			DriverRule: "source", EndKind: "returned", Source: "syscalls:sys_enter_ioctl+raw_syscalls:sys_enter"})
		out.Jobs = append(out.Jobs, correlate.Job{
			ID: id, Origin: "drm_sched", DeviceID: 1, Ring: "gfx_0.0.0", Owner: "user", ProcessID: 1, PID: some(1000), TID: some(tid),
			SchedJobID: usome(uint64(i)), JobPtr: usome(0xffff888100000000 + uint64(r.IntN(256))*1024), FencePtr: usome(0xffff888200000000 + uint64(r.IntN(256))*256),
			FenceContext: usome(12), FenceSeqno: usome(uint64(i + 1)), HWFenceContext: usome(3), HWFenceSeqno: usome(uint64(i + 4)),
			QueuedNS: event.OptTime(queued), RunNS: event.OptTime(run), DeviceStartNS: event.OptTime(run), DoneNS: event.OptTime(done),
			QueueDelayNS: some(int64(run - queued)), HWQueueNS: some(0), DeviceTimeNS: some(int64(done - run)), IoctlID: id, APICallID: id, EndKind: "done",
			FinishedNS: event.OptTime(done + 900), Runs: 1, RingRule: "source", DeviceRule: "source", KernelName: kernels[r.IntN(4)], Comm: "python3"})
		for k, role := range []string{"finished", "hardware"} {
			out.Fences = append(out.Fences, correlate.Fence{
				ID: id*2 + correlate.ID(k), Driver: "drm_sched", Timeline: "gfx_0.0.0", Context: 12 - uint64(k)*9, Seqno: uint64(i + 1),
				InitNS: event.OptTime(queued + event.Time(k)), SignalNS: event.OptTime(done), JobID: id, Role: role})
		}
		if i%8 == 0 {
			out.FenceWaits = append(out.FenceWaits, correlate.FenceWait{
				ID: id, ProcessID: 1, PID: some(1000), TID: some(tid), Context: usome(12), Seqno: usome(uint64(i + 1)), StartNS: event.OptTime(end), SignalNS: event.OptTime(done),
				EndNS: event.OptTime(done + 4000), WaitNS: some(int64(done + 4000 - end)), WakeNS: some(4000), JobID: id, Driver: "drm_sched", Timeline: "gfx_0.0.0", EndKind: "returned"})
		}
		key := fmt.Sprintf("12:%d", i+1)
		out.Links = append(out.Links,
			correlate.Link{SrcTable: "api_calls", SrcID: id, DstTable: "ioctls", DstID: id, Rule: "call_around_ioctl", Confidence: "nested"},
			correlate.Link{SrcTable: "ioctls", SrcID: id, DstTable: "jobs", DstID: id, Rule: "queue_inside_ioctl", Confidence: "nested"},
			correlate.Link{SrcTable: "jobs", SrcID: id, DstTable: "fences", DstID: id * 2, Rule: "finished_fence", Confidence: "exact", Key: key})
		out.Unmatched = append(out.Unmatched, correlate.Unmatched{SrcTable: "fences", SrcID: id, Link: "fence_wait", Reason: "not_recorded"})
	}
	return out
}

// slice returns the part of rows that batch k of n has.
func slice(rows *correlate.Rows, k, n int) *correlate.Rows {
	return &correlate.Rows{
		APICalls: part(rows.APICalls, k, n), Ioctls: part(rows.Ioctls, k, n), Jobs: part(rows.Jobs, k, n), Fences: part(rows.Fences, k, n),
		FenceWaits: part(rows.FenceWaits, k, n), Links: part(rows.Links, k, n), Unmatched: part(rows.Unmatched, k, n),
	}
}

func part[T any](s []T, k, n int) []T { return s[len(s)*k/n : len(s)*(k+1)/n] }

// BenchmarkSink writes whole exports. B/row is of the files; rows/cpu-s counts the
// CPU time, which does not change with what else the machine does.
func BenchmarkSink(b *testing.B) {
	const launches = 50_000
	rows := benchRun(launches)
	only := map[string]*correlate.Rows{
		"all": rows, "api_calls": {APICalls: rows.APICalls}, "ioctls": {Ioctls: rows.Ioctls}, "jobs": {Jobs: rows.Jobs}, "fences": {Fences: rows.Fences},
		"links": {Links: rows.Links}, "unmatched": {Unmatched: rows.Unmatched},
	}
	for _, name := range []string{"all", "api_calls", "ioctls", "jobs", "fences", "links", "unmatched"} {
		b.Run(name, func(b *testing.B) { benchmarkSink(b, only[name], launches/1000, 0) })
	}
	b.Run("all/spilled", func(b *testing.B) { benchmarkSink(b, rows, launches/1000, 8<<20) })
}

func benchmarkSink(b *testing.B, rows *correlate.Rows, batches int, memory int64) {
	path := filepath.Join(b.TempDir(), "out")
	b.ReportAllocs()
	cpu := cpuTime(b)
	for range b.N {
		s, err := New(path, export.Options{Tool: "bench", MaxMemory: memory})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Begin(&event.Meta{}); err != nil {
			b.Fatal(err)
		}
		for k := range batches {
			if err := s.Write(slice(rows, k, batches)); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.End(&correlate.Summary{}); err != nil {
			b.Fatal(err)
		}
	}
	cpu = cpuTime(b) - cpu
	var bytes int64
	files, _ := filepath.Glob(filepath.Join(path, "*.parquet"))
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			bytes += st.Size()
		}
	}
	n := float64(rows.Len())
	b.ReportMetric(n*float64(b.N)/cpu.Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(bytes)/n, "B/row")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
