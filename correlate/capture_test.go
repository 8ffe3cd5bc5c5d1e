package correlate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/ftracetext"
)

// The captures are correlated twice: from the raw pages' dump, by a reader of
// the test's own, and from the kernel's text, through the importer. Both are
// compared with what the clients say they did and with a calculation from the
// dump that shares no code with the product.

// textEvents imports a text file and orders its events by time.
func textEvents(t testing.TB, path string) []event.Event {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ftracetext.Format().Open(importer.Input{Name: path, R: bytes.NewReader(b)}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []event.Event
	var batch event.Batch
	for {
		err := r.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, batch.Events...)
	}
	sort.SliceStable(out, func(i, k int) bool { return out[i].Time < out[k].Time })
	return out
}

// plainJob is a job as calculated from the dump alone.
type plainJob struct {
	pid                       int64
	ring                      string
	id                        uint64
	ctx, seqno                uint64
	queued, run, done, finish event.Time
	start                     event.Time // on the device
	dep                       event.Time // when wait_dep was emitted, 0 without
	depOn                     *plainJob
	hwCtx, hwSeqno            uint64 // the last
}

// plainJobs rebuilds the jobs from the dump: by address until the done, the
// finished fence being the last drm_sched fence that the task made before it
// queued, the hardware fence the one that signalled last before the done.
func plainJobs(recs []rawRecord) []*plainJob {
	var jobs []*plainJob
	byPtr, byKey, byNum := map[string]*plainJob{}, map[[2]uint64]*plainJob{}, map[string]*plainJob{}
	made := map[int32][2]uint64{}
	hw := [8][2]uint64{} // per CPU
	for i := range recs {
		r := &recs[i]
		key := [2]uint64{r.num("context"), r.num("seqno")}
		sched := r.str("driver") == "drm_sched"
		switch r.name {
		case "dma_fence_init":
			if sched {
				made[r.pid] = key
			}
		case "dma_fence_signaled":
			if !sched {
				hw[r.cpu] = key
			} else if j := byKey[key]; j != nil {
				j.finish = r.at
			}
		case "drm_sched_job":
			k := made[r.pid]
			j := &plainJob{pid: int64(r.pid), ring: r.str("name"), id: r.num("id"), ctx: k[0], seqno: k[1], queued: r.at}
			jobs = append(jobs, j)
			byPtr[r.f["fence"]], byKey[k], byNum[j.ring+r.f["id"]] = j, j, j
		case "drm_run_job":
			byPtr[r.f["fence"]].run = r.at
		case "drm_sched_process_job":
			j := byPtr[r.f["fence"]]
			j.done = r.at
			j.hwCtx, j.hwSeqno = hw[r.cpu][0], hw[r.cpu][1]
		case "drm_sched_job_wait_dep":
			j := byNum[r.str("name")+r.f["id"]]
			j.dep, j.depOn = r.at, byKey[[2]uint64{r.num("ctx"), r.num("seqno")}]
		}
	}
	byDone := append([]*plainJob(nil), jobs...)
	sort.Slice(byDone, func(a, b int) bool { return byDone[a].done < byDone[b].done })
	last := map[string]event.Time{}
	for _, j := range byDone {
		j.start = max(j.run, last[j.ring])
		last[j.ring] = j.done
	}
	return jobs
}

// near reports whether two values differ by at most tol.
func near(a, b, tol int64) bool { return a-b <= tol && b-a <= tol }

func checkTime(t *testing.T, what string, got OptTime, want event.Time, tol int64) {
	t.Helper()
	if !got.OK || !near(int64(got.V), int64(want), tol) {
		t.Errorf("%s = %v, want %d ± %d", what, got, want, tol)
	}
}

func checkDur(t *testing.T, what string, got OptDur, want event.Time, tol int64) {
	t.Helper()
	if !got.OK || !near(got.V, int64(want), tol) {
		t.Errorf("%s = %v, want %d ± %d", what, got, want, tol)
	}
}

type captureRun struct {
	kernel string
	text   bool
	tol    int64 // ns: a time of the text is rounded to 1000
	r      *Rows
	plain  []*plainJob
	byKey  map[[2]uint64]*Job
}

func eachCapture(t *testing.T, f func(t *testing.T, c *captureRun)) {
	for _, kernel := range captures {
		for _, text := range []bool{false, true} {
			name := kernel + map[bool]string{false: "/raw", true: "/text"}[text]
			t.Run(name, func(t *testing.T) {
				recs := readRaw(t, kernel)
				c := &captureRun{kernel: kernel, text: text, plain: plainJobs(recs), byKey: map[[2]uint64]*Job{}}
				events := rawEvents(recs)
				if text {
					c.tol = 1000
					events = textEvents(t, shared(t, "captures/"+kernel+"/trace.txt"))
				}
				c.r, _ = collect(t, events, Options{BatchRows: 64})
				for i := range c.r.Jobs {
					j := &c.r.Jobs[i]
					c.byKey[[2]uint64{j.FenceContext.V, j.FenceSeqno.V}] = j
				}
				checkRules(t, c.r)
				f(t, c)
			})
		}
	}
}

// TestCaptureJobs: every job of the clients' own truth is there, its queue
// event inside the submit ioctl as the client timed it.
func TestCaptureJobs(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		truths := readTruth(t, c.kernel)
		if len(truths) != 300 || len(c.r.Jobs) != 300 {
			t.Fatalf("%d truths, %d jobs, want 300", len(truths), len(c.r.Jobs))
		}
		for _, w := range truths {
			name := fmt.Sprintf("job %d:%d", w.ctx, w.fseq)
			j := c.byKey[[2]uint64{w.ctx, w.fseq}]
			if j == nil {
				t.Errorf("%s is missing", name)
				continue
			}
			if j.PID.V != w.pid || j.TID.V != w.pid || j.Owner != "user" || j.EndKind != "done" {
				t.Errorf("%s: pid %v tid %v owner %s end %s", name, j.PID, j.TID, j.Owner, j.EndKind)
			}
			if ring := [...]string{"gfx", "compute"}[w.ring]; j.Ring != ring {
				t.Errorf("%s: ring %q, want %q", name, j.Ring, ring)
			}
			if j.QueuedNS.V < w.submit-event.Time(c.tol) || j.QueuedNS.V > w.ret+event.Time(c.tol) {
				t.Errorf("%s: queued %d outside of [%d, %d]", name, j.QueuedNS.V, w.submit, w.ret)
			}
		}
	})
}

// TestCaptureFates: the job that the client made hang is guilty, the other one
// that it saw fail is cancelled, the one with two hardware fences ran again; no
// other has a fate, and all that is one reset.
func TestCaptureFates(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		count := map[string]int{}
		for _, w := range readTruth(t, c.kernel) {
			j := c.byKey[[2]uint64{w.ctx, w.fseq}]
			if j == nil {
				t.Fatalf("job %d:%d is missing", w.ctx, w.fseq)
			}
			want := ""
			switch {
			case w.hangs:
				want = fateGuilty
			case w.err_ != 0:
				want = fateCancelled
			case j.Runs > 1:
				want = fateRerun
			}
			if j.Fate != want {
				t.Errorf("job %d:%d: fate %q by %q, want %q", w.ctx, w.fseq, j.Fate, j.FateRule, want)
			}
			count[j.Fate]++
		}
		if count[fateGuilty] != 1 || count[fateCancelled] != 1 || count[fateRerun] != 1 || len(c.r.Resets) != 1 {
			t.Errorf("fates %v, %d resets", count, len(c.r.Resets))
		}
	})
}

// TestCaptureMeasures: all times and measures equal the plain calculation.
func TestCaptureMeasures(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		reruns := 0
		for _, p := range c.plain {
			j := c.byKey[[2]uint64{p.ctx, p.seqno}]
			if j == nil {
				t.Fatalf("job %d:%d is missing", p.ctx, p.seqno)
			}
			n := fmt.Sprintf("job %s #%d ", p.ring, p.id)
			checkTime(t, n+"queued", j.QueuedNS, p.queued, c.tol)
			checkTime(t, n+"run", j.RunNS, p.run, c.tol)
			checkTime(t, n+"done", j.DoneNS, p.done, c.tol)
			checkTime(t, n+"finished", j.FinishedNS, p.finish, c.tol)
			checkTime(t, n+"device start", j.DeviceStartNS, p.start, c.tol)
			checkDur(t, n+"queue delay", j.QueueDelayNS, p.run-p.queued, c.tol)
			checkDur(t, n+"hw queue", j.HWQueueNS, p.start-p.run, c.tol)
			checkDur(t, n+"device time", j.DeviceTimeNS, p.done-p.start, c.tol)
			if j.SchedJobID.V != p.id {
				t.Errorf("%s: sched_job_id %v", n, j.SchedJobID)
			}
			if j.Runs == 2 {
				reruns++
				if j.HWFenceContext.V != p.hwCtx || j.HWFenceSeqno.V != p.hwSeqno {
					t.Errorf("%s: hardware fence %v:%v, want %d:%d", n, j.HWFenceContext, j.HWFenceSeqno, p.hwCtx, p.hwSeqno)
				}
			}
		}
		if reruns != 1 || len(c.r.Resets) != 1 || c.r.Resets[0].Rule != "inferred" {
			t.Errorf("%d jobs ran twice, resets %+v, want one of each", reruns, c.r.Resets)
		}
	})
}

// TestCaptureDeps: every wait_dep is one dependency, joined to the job whose
// fence it names.
func TestCaptureDeps(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		deps := map[ID]*JobDep{}
		for i := range c.r.JobDeps {
			deps[c.r.JobDeps[i].JobID] = &c.r.JobDeps[i]
		}
		n := 0
		for _, p := range c.plain {
			if p.depOn == nil {
				continue
			}
			n++
			j, on := c.byKey[[2]uint64{p.ctx, p.seqno}], c.byKey[[2]uint64{p.depOn.ctx, p.depOn.seqno}]
			d := deps[j.ID]
			if d == nil || d.OnJobID != on.ID {
				t.Errorf("job %d: dependency %+v, want on job %d", j.ID, d, on.ID)
				continue
			}
			checkTime(t, "dependency", d.TSNS, p.dep, c.tol)
			if want := p.depOn.finish > p.dep; !d.Waited.OK || d.Waited.V != want {
				t.Errorf("job %d: waited %v, want %v", j.ID, d.Waited, want)
			}
		}
		if n != 100 || len(c.r.JobDeps) != n {
			t.Errorf("%d dependencies, %d in the dump, want 100", len(c.r.JobDeps), n)
		}
	})
}

// TestCaptureChain: 602 ioctls, 300 of them submissions with a job each; 300
// waits, each in an ioctl and joined to its job.
func TestCaptureChain(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		roles := map[string]int{}
		for _, i := range c.r.Ioctls {
			roles[i.Role]++
			if i.EndKind != "returned" || i.Source != "syscalls:sys_enter_ioctl+raw_syscalls:sys_enter" {
				t.Errorf("ioctl %d: end %s, source %s", i.ID, i.EndKind, i.Source)
			}
			if c.text && c.kernel == captures[1] {
				if i.Driver != "" {
					t.Errorf("ioctl %d: driver %q from a text without drivers", i.ID, i.Driver)
				}
			} else if i.Driver != "mockgpu" || i.DriverRule == "" || i.DriverRule == "source" {
				t.Errorf("ioctl %d: driver %q, rule %q", i.ID, i.Driver, i.DriverRule)
			}
		}
		if len(c.r.Ioctls) != 602 || roles["submit"] != 300 {
			t.Errorf("%d ioctls, roles %v, want 602 with 300 submit", len(c.r.Ioctls), roles)
		}
		inside, woken := 0, 0
		for _, w := range c.r.FenceWaits {
			j := c.byKey[[2]uint64{w.Context.V, w.Seqno.V}]
			if j == nil || w.JobID != j.ID || w.IoctlID == 0 {
				t.Errorf("wait %d: job %d, ioctl %d", w.ID, w.JobID, w.IoctlID)
			}
			if w.WakeNS.OK {
				woken++
			}
			if w.StartNS.V < w.SignalNS.V && w.SignalNS.V < w.EndNS.V {
				inside++
			}
		}
		if len(c.r.FenceWaits) != 300 || inside != woken {
			t.Errorf("%d waits, %d with a signal inside, %d woken", len(c.r.FenceWaits), inside, woken)
		}
		if c.kernel == captures[0] && inside != 80 {
			t.Errorf("%d waits have a signal inside, want 80", inside)
		}
		checkLinkCounts(t, c.r)
	})
}

func checkLinkCounts(t *testing.T, r *Rows) {
	t.Helper()
	n := map[string]int{}
	for _, l := range r.Links {
		n[l.Rule]++
	}
	for rule, want := range map[string]int{RuleIoctlJob: 300, RuleJobRun: 300, RuleJobDone: 300, RuleJobFence: 300,
		RuleJobScheduled: 300, RuleJobHWFence: 300, RuleJobDep: 100, RuleFenceWait: 300, RuleIoctlWait: 300, RuleResetJob: 1} {
		if n[rule] != want {
			t.Errorf("%d links of %s, want %d", n[rule], rule, want)
		}
	}
}

// TestCaptureFences: 300 jobs have three fences each, one of them four.
func TestCaptureFences(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		n := map[string]int{}
		for _, f := range c.r.Fences {
			n[f.Role]++
			if f.JobID == 0 {
				t.Errorf("fence %d:%d (%s) of no job", f.Context, f.Seqno, f.Role)
			}
		}
		if n["scheduled"] != 300 || n["finished"] != 300 || n["hardware"] != 301 {
			t.Errorf("fences %v, want 300 scheduled, 300 finished, 301 hardware", n)
		}
	})
}

// TestCaptureUnmatched: all that is missing are the API calls around the
// ioctls, and in the text of 6.1 the devices.
func TestCaptureUnmatched(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		n := map[string]int{}
		for _, u := range c.r.Unmatched {
			n[u.SrcTable+"/"+u.Link+"/"+u.Reason]++
		}
		want := map[string]int{"ioctls/api_call/not_recorded": 602}
		if c.text && c.kernel == captures[1] {
			want["jobs/device/not_recorded"] = 300
		}
		if fmt.Sprint(n) != fmt.Sprint(want) {
			t.Errorf("unmatched %v, want %v", n, want)
		}
		rule := map[bool]string{false: "source", true: "inferred from the fence's timeline"}[c.text && c.kernel == captures[1]]
		for _, j := range c.r.Jobs {
			if j.RingRule != rule {
				t.Errorf("job %d: ring rule %q, want %q", j.ID, j.RingRule, rule)
			}
		}
	})
}

// TestCaptureRings: busy and idle tile the time from the first device start to
// the last done of each ring; the figures of 6.12 are those of the target
// picture, measured there by other code.
func TestCaptureRings(t *testing.T) {
	type cause struct {
		n  int
		ns int64
	}
	want := map[string]map[string]cause{
		"gfx":     {"nothing_submitted": {12, 37_105_000}, "scheduling_latency": {17, 12_397_000}},
		"compute": {"dependency": {29, 539_040_000}, "scheduling_latency": {40, 13_319_000}, "nothing_submitted": {1, 117_000}},
	}
	busy := map[string]int64{"gfx": 772_389_009, "compute": 270_164_398}
	backlog := map[string]int64{"gfx": 6, "compute": 5}
	eachCapture(t, func(t *testing.T, c *captureRun) {
		got, idle := map[string]map[string]cause{"gfx": {}, "compute": {}}, map[string]int64{}
		for _, g := range c.r.IdleGaps {
			x := got[g.Ring][g.Cause]
			d := int64(g.EndNS.V - g.StartNS.V)
			got[g.Ring][g.Cause] = cause{x.n + 1, x.ns + d}
			idle[g.Ring] += d
			if g.Cause == "nothing_submitted" && g.SubmitterWas == "" || g.Cause == "dependency" && g.WaitsForID == 0 {
				t.Errorf("gap without its reason: %+v", g)
			}
		}
		if len(c.r.Rings) != 2 {
			t.Fatalf("%d rings, want 2", len(c.r.Rings))
		}
		for _, r := range c.r.Rings {
			span := int64(r.LastDoneNS.V - r.FirstStartNS.V)
			if r.BusyNS.V+r.IdleNS.V != span || idle[r.Ring] != r.IdleNS.V {
				t.Errorf("ring %s: busy %d + idle %d (gaps %d), span %d", r.Ring, r.BusyNS.V, r.IdleNS.V, idle[r.Ring], span)
			}
			if c.kernel != captures[0] {
				continue
			}
			tol := c.tol * 200 // two times a job, rounded
			if !near(r.BusyNS.V, busy[r.Ring], tol) || r.MaxBacklog != backlog[r.Ring] {
				t.Errorf("ring %s: busy %d, backlog %d; want %d, %d", r.Ring, r.BusyNS.V, r.MaxBacklog, busy[r.Ring], backlog[r.Ring])
			}
			for name, w := range want[r.Ring] {
				if g := got[r.Ring][name]; g.n != w.n || math.Abs(float64(g.ns-w.ns)) > float64(500+tol) {
					t.Errorf("ring %s: %s %d × %d ns, want %d × %d", r.Ring, name, g.n, g.ns, w.n, w.ns)
				}
			}
			if len(got[r.Ring]) != len(want[r.Ring]) {
				t.Errorf("ring %s: causes %v", r.Ring, got[r.Ring])
			}
		}
	})
}

// TestCaptureStages: the parts of a job's time in the queue, cut by the rule of
// the target picture from jobs and dependencies alone: 376, 76 and 241.
func TestCaptureStages(t *testing.T) {
	eachCapture(t, func(t *testing.T, c *captureRun) {
		if c.kernel != captures[0] {
			t.Skip("the target picture counts the capture of 6.12")
		}
		dep, byID := map[ID]*JobDep{}, map[ID]*Job{}
		for i := range c.r.JobDeps {
			dep[c.r.JobDeps[i].JobID] = &c.r.JobDeps[i]
		}
		for i := range c.r.Jobs {
			byID[c.r.Jobs[i].ID] = &c.r.Jobs[i]
		}
		queue, wait, hw := 0, 0, 0
		for _, j := range byID {
			from, to := j.RunNS.V, j.RunNS.V
			if d := dep[j.ID]; d != nil {
				from, to = max(j.QueuedNS.V, d.TSNS.V), min(j.RunNS.V, byID[d.OnJobID].DoneNS.V)
			}
			if from >= to {
				from, to = j.RunNS.V, j.RunNS.V
			} else {
				wait++
			}
			if j.QueuedNS.V < from {
				queue++
			}
			if to < j.RunNS.V {
				queue++
			}
			if j.HWQueueNS.V > 0 {
				hw++
			}
		}
		if queue != 376 || wait != 76 || hw != 241 {
			t.Errorf("%d queue, %d dependency, %d hardware queue stages; want 376, 76, 241", queue, wait, hw)
		}
	})
}
