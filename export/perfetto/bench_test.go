//go:build unix

package perfetto

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/picture"
)

// batch makes the rows of n jobs from id on: each with an API call, an ioctl,
// a wait with its wake, and the links between them: 7 slices and 4 flows a job.
func batch(rows *correlate.Rows, id, n int64) {
	rows.Reset()
	for i := id; i < id+n; i++ {
		r, t := correlate.ID(i), i*10_000
		pid := num(i%4 + 10)
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, API: "cuda_driver", Name: "cuLaunchKernel",
			StartNS: at(t), EndNS: at(t + 9000), EndKind: "returned", Result: num(0), KernelName: kernels[i%int64(len(kernels))], Stream: unum(7), GridX: unum(432), GridY: unum(1), GridZ: unum(1)})
		rows.Ioctls = append(rows.Ioctls, correlate.Ioctl{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, DeviceID: 1, Cmd: 0xc0306440, Name: "AMDGPU_CS", Role: "submit",
			StartNS: at(t + 100), EndNS: at(t + 8900), EndKind: "returned", Result: num(0), APICallID: r})
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: r, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, SchedJobID: unum(uint64(i)),
			FenceContext: unum(8), FenceSeqno: unum(uint64(i)), HWFenceContext: unum(1), HWFenceSeqno: unum(uint64(i)), QueuedNS: at(t + 200), RunNS: at(t + 1200), DeviceStartNS: at(t + 1200),
			DoneNS: at(t + 5000), FinishedNS: at(t + 5100), EndKind: "done", QueueDelayNS: num(1000), HWQueueNS: num(0), DeviceTimeNS: num(3800), IoctlID: r, APICallID: r, KernelName: kernels[i%int64(len(kernels))]})
		rows.FenceWaits = append(rows.FenceWaits, correlate.FenceWait{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, Context: unum(8), Seqno: unum(uint64(i)),
			StartNS: at(t + 300), SignalNS: at(t + 5100), EndNS: at(t + 5300), WaitNS: num(5000), WakeNS: num(200), JobID: r, IoctlID: r, EndKind: "returned"})
		rows.Links = append(rows.Links,
			correlate.Link{SrcTable: "api_calls", SrcID: r, DstTable: "ioctls", DstID: r, Rule: "api-ioctl", Confidence: "nested"},
			correlate.Link{SrcTable: "ioctls", SrcID: r, DstTable: "jobs", DstID: r, Rule: "ioctl-job", Confidence: "nested"},
			correlate.Link{SrcTable: "jobs", SrcID: r, DstTable: "jobs", DstID: r, Rule: "job-run", Confidence: "exact"},
			correlate.Link{SrcTable: "jobs", SrcID: r, DstTable: "jobs", DstID: r, Rule: "job-done", Confidence: "exact"},
			correlate.Link{SrcTable: "jobs", SrcID: r, DstTable: "fences", DstID: r, Rule: "job-fence", Confidence: "adjacent"},
			correlate.Link{SrcTable: "jobs", SrcID: r, DstTable: "fence_waits", DstID: r, Rule: "fence-wait", Confidence: "exact"})
	}
}

var kernels = func() (k []string) {
	for i := range 20 {
		k = append(k, fmt.Sprintf("void ns::gemm_%d<float, 128>(float const*, float*, int)", i))
	}
	return k
}()

// profiled makes the rows of n launches as a profiler tells them: each an
// operator's slice, the API call in it, and a kernel that the call launched.
func profiled(rows *correlate.Rows, id, n int64) {
	rows.Reset()
	for i := id; i < id+n; i++ {
		r, t := correlate.ID(i), i*10_000
		pid, kernel := num(i%4+10), kernels[i%int64(len(kernels))]
		rows.Slices = append(rows.Slices, correlate.Slice{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, Category: "cpu_op", Name: "aten::mm",
			StartNS: at(t), EndNS: at(t + 9000), DurNS: num(9000), Args: `{"Sequence number":1234,"Fwd thread id":0}`})
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, TID: pid, API: "cuda_runtime", Name: "cudaLaunchKernel",
			StartNS: at(t + 100), EndNS: at(t + 8000), EndKind: "returned", CorrelationID: num(i)})
		rows.GPUActivities = append(rows.GPUActivities, correlate.GPUActivity{ID: r, ProcessID: correlate.ID(i%4 + 1), PID: pid, DeviceID: 1, Kind: "kernel", Name: kernel,
			Context: unum(1), Stream: unum(7), StartNS: at(t + 1000), EndNS: at(t + 9500), DurNS: num(8500), CorrelationID: num(i), APICallID: r,
			GridX: unum(432), GridY: unum(1), GridZ: unum(1), BlockX: unum(128), BlockY: unum(1), BlockZ: unum(1)})
		rows.Links = append(rows.Links, correlate.Link{SrcTable: "api_calls", SrcID: r, DstTable: "gpu_activities", DstID: r, Rule: "api-activity", Confidence: "exact"})
	}
}

// BenchmarkExport writes traces of 50,000 jobs (350,000 slices), and of 100,000
// launches (300,000 slices). slices/cpu-s
// counts the CPU time of the process from New to End without that of making the
// rows; collecting garbage is in it.
func BenchmarkExport(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(rows *correlate.Rows, id, n int64)
		n    int64
	}{{"x.pftrace", batch, 50_000}, {"x.pftrace.gz", batch, 50_000}, {"launches.pftrace", profiled, 100_000}, {"launches.pftrace.gz", profiled, 100_000}} {
		b.Run(strings.TrimPrefix(c.name, "x."), func(b *testing.B) {
			b.ReportAllocs()
			var slices, size int64
			path := filepath.Join(b.TempDir(), c.name)
			rows := &correlate.Rows{}
			var cpu time.Duration
			var st os.FileInfo
			for b.Loop() {
				cpu -= cpuTime(b)
				w, err := New(path, export.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for id := int64(1); id <= c.n; id += 500 {
					cpu += cpuTime(b)
					c.make(rows, id, 500)
					cpu -= cpuTime(b)
					if err := w.Write(rows); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.End(summary(0, (c.n+1)*10_000)); err != nil {
					b.Fatal(err)
				}
				cpu += cpuTime(b)
				slices, size = slices+w.Slices(), w.Size()
				if st, err = os.Stat(path); err != nil {
					b.Fatal(err)
				}
				if err := os.Remove(path); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(slices)/cpu.Seconds(), "slices/cpu-s")
			per := float64(slices) / float64(b.N)
			b.ReportMetric(float64(size)/per, "raw-B/slice")
			b.ReportMetric(float64(st.Size())/per, "file-B/slice")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEvent writes single events: the encoding without sorting.
func BenchmarkEvent(b *testing.B) {
	b.ReportAllocs()
	var w picture.Pen = newPen(newPackets(io.Discard))
	t := &picture.Track{ID: 12, Name: "x"}
	for i := int64(0); b.Loop(); i++ {
		w.Begin(t, i, i)
		w.Name("cuLaunchKernel")
		w.CategoryText("ioctl")
		w.Int(0, i)
		w.Str(1, "amdgpu")
		w.Flow(picture.Flow{ID: uint64(i)})
		w.Done()
		w.End(t, i)
	}
}
