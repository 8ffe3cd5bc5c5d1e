package perfetto

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/export/picture/picturetest"
)

// writeSome exports what a filter passes of rows.
func writeSome(t testing.TB, o export.FilterOptions, rows *correlate.Rows, sum *correlate.Summary) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pftrace")
	w, err := New(path, export.Options{Tool: "gpurec test", Window: o.Window})
	if err != nil {
		t.Fatal(err)
	}
	f := export.NewFilter(w, o)
	f.Starts(sum.Start)
	if err := f.Begin(&sum.Meta); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := f.End(sum); err != nil {
		t.Fatal(err)
	}
	return path
}

func between(from, to int64) *export.Window {
	return &export.Window{From: export.Edge{Set: true, NS: from}, To: export.Edge{Set: true, NS: to}}
}

// The chain from 400 to 750: the first call and ioctl are outside, the job runs
// in, the rest runs out. No arrow leads outside.
func TestWindow(t *testing.T) {
	rep, err := check.File(writeSome(t, export.FilterOptions{Window: between(400, 750)}, chain(), summary(50, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	same(t, show(rep), `
process 7 > thread 7 | cuda_driver | cuStreamSynchronize | 400-750 flows [1]
process 7 > thread 7 | ioctl | ioctl 0x00006441 | 400-750 in cuStreamSynchronize flows [1]
GPU 0 (mockgpu) > ring gfx > backlog > queued | job.queued | gemm #54 | 400-400 flows [2]
GPU 0 (mockgpu) > ring gfx | job.running | gemm #54 | 400-700 flows [2 3]
process 7 > thread 7 | fence_wait | wait fence 8:27 | 400-750 in ioctl 0x00006441
process 7 > thread 7 | fence_wake | woken | 705-750 in wait fence 8:27 flows [3]
GPU 0 (mockgpu) > ring gfx > backlog | 400 = 0 jobs
GPU 0 (mockgpu) > ring gfx > backlog | 400 = 1 jobs
GPU 0 (mockgpu) > ring gfx > backlog | 700 = 0 jobs
process 7 > GPU 0 jobs in flight | 400 = 0 jobs
process 7 > GPU 0 jobs in flight | 400 = 1 jobs
process 7 > GPU 0 jobs in flight | 700 = 0 jobs
GPU 0 (mockgpu) > utilisation | 400 = 85.71428571428571 %
GPU 0 (mockgpu) > utilisation | 750 = 0 %
gpurec > anomalies | anomaly | left_out_time | 750
gpurec > anomalies | anomaly | left_out_partner | 750
`) // 300 ns of 350
	for i, want := range []string{"both", "both", "start", "start", "both", "end"} {
		if got := rep.Slices[i].Str("clipped"); got != want {
			t.Errorf("%s is clipped at %q, not %q", rep.Slices[i].Name, got, want)
		}
	}
	if x := rep.Slices[3]; x.Args["ioctl_id"] != nil || x.Args["api_call_id"] != nil || x.Args["links.ioctl.rule"] != nil {
		t.Errorf("the job names a call that is not drawn: %v", x.Args)
	}
}

// A window that ends while the job runs: it is open, as if the recording ended.
func TestWindowEndsInJob(t *testing.T) {
	rep, err := check.File(writeSome(t, export.FilterOptions{Window: between(0, 140)}, chain(), summary(50, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range rep.Slices {
		got += fmt.Sprintf("%s %s %d-%d %s %s\n", s.Category, s.Name, s.Start, s.End, s.Str("clipped"), s.Str("end"))
	}
	same(t, got, `
cuda_driver cuLaunchKernel 100-140 end 
ioctl X_SUBMIT 110-140 end 
job.queued gemm #54 120-140 end after_stop
job.stage.queue queued #54 120-140  
`)
}

// Windows and filters of rows of any kind: nothing is dropped or misplaced,
// nothing lies outside.
func TestAnyWindow(t *testing.T) {
	for seed := range 100 {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		rows := picturetest.Any(r)
		from := r.Int64N(150)
		o := export.FilterOptions{Window: between(from, from+1+r.Int64N(100)), Detail: r.IntN(4) * 4}
		if r.IntN(2) == 0 {
			o.Processes, _ = export.MatchProcesses([]correlate.Process{{ID: 1, PID: num(1)}}, []string{"1"})
		}
		rep, err := check.File(writeSome(t, o, rows, summary(0, 250)))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{"clock", "flags", "iid", "sequence", "track", "nesting", "order", "flow", "ftrace", "argument", "name", "counter"} {
			if rep.Has(rule) {
				t.Errorf("seed %d: %s: %v", seed, rule, rep.Err())
			}
		}
		for _, s := range rep.Slices {
			if s.Start < from || s.End > o.Window.To.NS {
				t.Errorf("seed %d: %s %d-%d lies outside of %d-%d", seed, s.Name, s.Start, s.End, from, o.Window.To.NS)
			}
		}
	}
}
