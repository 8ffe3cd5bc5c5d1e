package bpf

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
)

// emptyUprobe attaches a program that does nothing to every function of a file.
func emptyUprobe(t testing.TB, path string, typ ebpf.AttachType) func() {
	t.Helper()
	l, err := newLoader(settings{ringBytes: minRingBytes})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := l.load(objects.GpurecProgEmptyUprobe, typ)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{})
	sites, err := findSites(f, s.wantFunction, kernelAtLeast(6, 18))
	if err != nil {
		t.Fatal(err)
	}
	var offsets, cookies []uint64
	for _, st := range sites {
		offsets, cookies = append(offsets, st.offset), append(cookies, 0)
	}
	ln, err := linkUprobes(prog, typ, path, offsets, cookies, false)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		ln.Close()
		prog.Close()
		f.Close()
		l.close()
	}
}

// nsPerCall runs the program and returns the CPU time of a call in ns.
func nsPerCall(t testing.TB, word string, n int, o *Options) float64 {
	t.Helper()
	f := stub(t)
	p := startProg(t, "preload", f.lib, word, strconv.Itoa(n))
	var r *recording
	if o != nil {
		opt := *o
		if opt.PIDs == nil {
			opt.PIDs = []int{p.pid}
		}
		opt.Libraries, opt.NoSystemLibraries = []string{f.lib}, true
		r = &recording{s: New(opt), done: make(chan error, 1)}
		if err := r.s.Attach(); err != nil {
			t.Fatal(err)
		}
		go func() {
			var b event.Batch
			for {
				if err := r.s.Read(&b, 100*time.Millisecond); err != nil {
					r.done <- err
					return
				}
			}
		}()
	}
	p.goOn()
	p.out.Scan()
	v, err := strconv.ParseFloat(p.out.Text(), 64)
	if err != nil {
		t.Fatal(err)
	}
	p.wait()
	if r != nil {
		if err := r.s.Stop(); err != nil {
			t.Error(err)
		}
		<-r.done
		r.s.Close()
	}
	return v
}

// BenchmarkCall measures what recording adds to a call, and its ratio to the
// bare empty uprobe.multi of the same run. Medians of interleaved rounds.
//
//	go test -run - -bench Call -benchtime 1x ./record/live/bpf
func BenchmarkCall(b *testing.B) {
	f := stub(b)
	const n, rounds = 100000, 5
	type variant struct {
		name, word string
		o          *Options
		empty      ebpf.AttachType
	}
	other := startProg(b, "wait", f.lib).pid
	api := func(o Options) *Options { o.Groups = []string{GroupAPI}; return &o }
	variants := []variant{
		{"base", "time", nil, 0},
		{"base-sync", "time:cuStreamSynchronize", nil, 0},
		{"base-event", "time:cuEventRecord", nil, 0},
		{"empty", "time", nil, ebpf.AttachTraceUprobeMulti},
		{"empty-session", "time", nil, attachUprobeSession},
		{"entry-only", "time", api(Options{EntryOnly: true}), 0},
		{"one-record", "time:cuEventRecord", api(Options{}), 0},
		{"one-record-stack-args", "time", api(Options{}), 0},
		{"two-records", "time:cuStreamSynchronize", api(Options{}), 0},
		{"multi-one-record", "time:cuEventRecord", api(Options{bestMode: uprobeMulti}), 0},
		{"out-of-scope-session", "time", api(Options{PIDs: []int{other}}), 0},
		{"out-of-scope-multi", "time", api(Options{PIDs: []int{other}, bestMode: uprobeMulti}), 0},
	}
	times := map[string][]float64{}
	for b.Loop() {
		for range rounds {
			for _, v := range variants {
				undo := func() {}
				if v.empty != 0 {
					undo = emptyUprobe(b, f.lib, v.empty)
				}
				times[v.name] = append(times[v.name], nsPerCall(b, v.word, n, v.o))
				undo()
			}
		}
	}
	median := func(name string) float64 {
		l := slices.Clone(times[name])
		slices.Sort(l)
		return l[len(l)/2]
	}
	empty := median("empty") - median("base")
	for _, v := range variants {
		base := map[string]string{"time": "base", "time:cuStreamSynchronize": "base-sync", "time:cuEventRecord": "base-event"}[v.word]
		added := median(v.name) - median(base)
		b.Logf("%-22s %8.0f ns over base, %.2f × empty", v.name, added, added/empty)
		if v.name != base {
			b.ReportMetric(added/empty, "x-"+v.name)
		}
	}
	b.ReportMetric(empty, "ns-empty")
}

// BenchmarkReader measures the CPU time of the reading thread for each event,
// from the ring to the batch.
func BenchmarkReader(b *testing.B) {
	f := stub(b)
	const n = 200000
	for b.Loop() {
		p := startProg(b, "preload", f.lib, "launch", strconv.Itoa(n))
		s := New(Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true, RingBytes: 64 << 20, Groups: []string{GroupAPI}})
		if err := s.Attach(); err != nil {
			b.Fatal(err)
		}
		p.goOn()
		p.wait()
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		runtime.LockOSThread() // the time is the thread's
		var batch event.Batch
		events, start := 0, threadTime()
		for {
			err := s.Read(&batch, 0)
			events += len(batch.Events)
			if err != nil {
				break
			}
		}
		b.ReportMetric(float64(threadTime()-start)/float64(events), "ns/event")
		runtime.UnlockOSThread()
		if events != n {
			b.Errorf("%d events, want %d", events, n)
		}
		s.Close()
	}
}

func threadTime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(fmt.Sprint("clock_gettime: ", err))
	}
	return ts.Nano()
}
