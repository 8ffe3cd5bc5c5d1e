//go:build unix

package chromejson

import (
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/picture"
)

// batch makes the rows of n jobs from id on: each with an API call, an ioctl,
// a wait with its wake, and the links between them: 7 slices and 4 arrows a job.
func batch(rows *correlate.Rows, id, n int64) {
	rows.Reset()
	for i := id; i < id+n; i++ {
		r, t := correlate.ID(i), i*10_000
		p, pid := correlate.ID(i%4+1), num(i%4+10)
		kernel := fmt.Sprintf("void ns::gemm_%d<float, 128>(float const*, float*, int)", i%20)
		rows.APICalls = append(rows.APICalls, correlate.APICall{ID: r, ProcessID: p, PID: pid, TID: pid, API: "cuda_driver", Name: "cuLaunchKernel",
			StartNS: at(t), EndNS: at(t + 9000), EndKind: "returned", Result: num(0), KernelName: kernel, Stream: unum(7), GridX: unum(432), GridY: unum(1), GridZ: unum(1)})
		rows.Ioctls = append(rows.Ioctls, correlate.Ioctl{ID: r, ProcessID: p, PID: pid, TID: pid, DeviceID: 1, Cmd: 0xc0306440, Name: "AMDGPU_CS", Role: "submit",
			StartNS: at(t + 100), EndNS: at(t + 8900), EndKind: "returned", Result: num(0), APICallID: r})
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: r, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: p, PID: pid, TID: pid, SchedJobID: unum(uint64(i)),
			FenceContext: unum(8), FenceSeqno: unum(uint64(i)), HWFenceContext: unum(1), HWFenceSeqno: unum(uint64(i)), QueuedNS: at(t + 200), RunNS: at(t + 1200), DeviceStartNS: at(t + 1200),
			DoneNS: at(t + 5000), FinishedNS: at(t + 5100), EndKind: "done", QueueDelayNS: num(1000), HWQueueNS: num(0), DeviceTimeNS: num(3800), IoctlID: r, APICallID: r, KernelName: kernel})
		rows.FenceWaits = append(rows.FenceWaits, correlate.FenceWait{ID: r, ProcessID: p, PID: pid, TID: pid, Context: unum(8), Seqno: unum(uint64(i)),
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

// BenchmarkExport writes traces of 50,000 jobs: 350,000 slices, 200,000 arrows
// and the counters. events/cpu-s counts JSON objects by the CPU time of the
// whole path, making the rows and collecting garbage too.
func BenchmarkExport(b *testing.B) {
	const jobs = 50_000
	for _, suffix := range []string{".json", ".json.gz"} {
		b.Run(suffix[1:], func(b *testing.B) {
			b.ReportAllocs()
			var events, slices, size int64
			path := filepath.Join(b.TempDir(), "x"+suffix)
			rows := &correlate.Rows{}
			cpu := cpuTime(b)
			for b.Loop() {
				w, err := New(path, export.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for id := int64(1); id <= jobs; id += 500 {
					batch(rows, id, 500)
					if err := w.Write(rows); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.End(summary(0, (jobs+1)*10_000)); err != nil {
					b.Fatal(err)
				}
				events, slices, size = events+w.Events(), slices+w.Slices(), size+w.Size()
			}
			b.ReportMetric(float64(events)/(cpuTime(b)-cpu).Seconds(), "events/cpu-s")
			b.ReportMetric(float64(slices)/(cpuTime(b)-cpu).Seconds(), "slices/cpu-s")
			b.ReportMetric(float64(size)/float64(events), "raw-B/event")
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

// BenchmarkEvent writes single slices with an arrow: the encoding without sorting.
func BenchmarkEvent(b *testing.B) {
	b.ReportAllocs()
	var p picture.Pen = newPen(io.Discard)
	p.Start(&picture.Scene{})
	t := &picture.Track{Name: "x"}
	f := picture.Flow{Rule: picture.Word{N: 1, Text: "api-ioctl"}}
	for i := int64(0); b.Loop(); i++ {
		p.Begin(t, i*1000, i*1000+500)
		p.Name("cuLaunchKernel")
		p.CategoryText("cuda_driver")
		p.Int(0, i)
		p.Str(1, "amdgpu")
		f.ID = uint64(i)
		p.Flow(f)
		p.Done()
		p.End(t, i*1000+500)
	}
}
