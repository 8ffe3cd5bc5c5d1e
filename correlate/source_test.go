package correlate

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// memSource gives events from memory.
type memSource struct {
	events []event.Event
	meta   event.Meta
	at     int
}

func (s *memSource) Next(b *event.Batch) error {
	b.Reset()
	if s.at == len(s.events) {
		return io.EOF
	}
	n := min(len(s.events)-s.at, 100)
	b.Events = append(b.Events, s.events[s.at:s.at+n]...)
	s.at += n
	return nil
}

func (s *memSource) Meta() *event.Meta { return &s.meta }

// collect runs the engine and gathers copies of all rows.
func collect(t testing.TB, events []event.Event, o Options) (*Rows, *Summary) {
	t.Helper()
	all := &Rows{}
	sum, err := Run(&memSource{events: events}, o, func(r *Rows) error {
		appendRows(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, sum
}

func appendRows(to, r *Rows) {
	to.APICalls = append(to.APICalls, r.APICalls...)
	to.Ioctls = append(to.Ioctls, r.Ioctls...)
	to.Jobs = append(to.Jobs, r.Jobs...)
	to.JobDeps = append(to.JobDeps, r.JobDeps...)
	to.JobEvents = append(to.JobEvents, r.JobEvents...)
	to.Fences = append(to.Fences, r.Fences...)
	to.FenceWaits = append(to.FenceWaits, r.FenceWaits...)
	to.GPUActivities = append(to.GPUActivities, r.GPUActivities...)
	to.Slices = append(to.Slices, r.Slices...)
	to.Rings = append(to.Rings, r.Rings...)
	to.IdleGaps = append(to.IdleGaps, r.IdleGaps...)
	to.Counters = append(to.Counters, r.Counters...)
	to.Links = append(to.Links, r.Links...)
	to.Unmatched = append(to.Unmatched, r.Unmatched...)
	to.Losses = append(to.Losses, r.Losses...)
	to.Sched = append(to.Sched, r.Sched...)
	to.IRQs = append(to.IRQs, r.IRQs...)
	to.MemMaps = append(to.MemMaps, r.MemMaps...)
	to.Resets = append(to.Resets, r.Resets...)
	to.Marks = append(to.Marks, r.Marks...)
	to.Flows = append(to.Flows, r.Flows...)
	to.Samples = append(to.Samples, r.Samples...)
	to.LogLines = append(to.LogLines, r.LogLines...)
	to.Others = append(to.Others, r.Others...)
	to.Anomalies = append(to.Anomalies, r.Anomalies...)
	to.Processes = append(to.Processes, r.Processes...)
	to.Threads = append(to.Threads, r.Threads...)
	to.Devices = append(to.Devices, r.Devices...)
	to.Probes = append(to.Probes, r.Probes...)
	to.Metadata = append(to.Metadata, r.Metadata...)
}

// repoRoot returns the directory that holds go.mod.
func repoRoot(t testing.TB) string {
	t.Helper()
	d, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d
		}
		p := filepath.Dir(d)
		if p == d {
			t.Fatal("no go.mod above the test")
		}
		d = p
	}
}

// shared returns a path of the reference data beside the checkout, or skips.
func shared(t testing.TB, path string) string {
	t.Helper()
	p := filepath.Join(repoRoot(t), "..", "shared", path)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("no reference data: %v", err)
	}
	return p
}

// captures are the recordings of the lab.
var captures = []string{"6.12.117+deb12-amd64", "6.1.0-57-amd64"}

var (
	rawLine  = regexp.MustCompile(`^(\d+)\.(\d{9}) \[(\d+)\] pid=(\d+) (\S+?)\.(\S+?)\(\d+\) ?(.*)$`)
	rawField = regexp.MustCompile(`(\w+)=(\(b'.*?', \d+, \d+\)|\S+)`)
)

// rawRecord is a line of rawdump.txt: what the raw pages hold.
type rawRecord struct {
	at     event.Time
	cpu    int32
	pid    int32
	system string
	name   string
	f      map[string]string
}

func (r *rawRecord) str(name string) string {
	v := r.f[name]
	if strings.HasPrefix(v, "(b'") {
		v = v[3:]
		v = v[:strings.Index(v, `\x00`)]
	}
	return v
}

func (r *rawRecord) num(name string) uint64 {
	v, err := strconv.ParseInt(r.f[name], 0, 64)
	if err != nil {
		u, _ := strconv.ParseUint(r.f[name], 0, 64)
		return u
	}
	return uint64(v)
}

// readRaw reads rawdump.txt.
func readRaw(t testing.TB, kernel string) []rawRecord {
	t.Helper()
	f, err := os.Open(shared(t, "captures/"+kernel+"/rawdump.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []rawRecord
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		m := rawLine.FindStringSubmatch(sc.Text())
		if m == nil {
			t.Fatalf("rawdump.txt: cannot read %q", sc.Text())
		}
		sec, _ := strconv.ParseInt(m[1], 10, 64)
		ns, _ := strconv.ParseInt(m[2], 10, 64)
		cpu, _ := strconv.Atoi(m[3])
		pid, _ := strconv.Atoi(m[4])
		r := rawRecord{at: event.Time(sec*1e9 + ns), cpu: int32(cpu), pid: int32(pid), system: m[5], name: m[6], f: map[string]string{}}
		for _, kv := range rawField.FindAllStringSubmatch(m[7], -1) {
			r.f[kv[1]] = kv[2]
		}
		out = append(out, r)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// rawEvents makes events of raw records. Threads of the lab are their own
// processes, as its saved_tgids says.
func rawEvents(recs []rawRecord) []event.Event {
	var out []event.Event
	for i := range recs {
		if e, ok := rawEvent(&recs[i]); ok {
			out = append(out, e)
		}
	}
	sort.SliceStable(out, func(i, k int) bool { return out[i].Time < out[k].Time })
	return out
}

var rawKinds = map[string]event.Kind{
	"drm_sched_job": event.KindJobQueue, "drm_run_job": event.KindJobRun, "drm_sched_process_job": event.KindJobDone,
	"drm_sched_job_wait_dep": event.KindJobDep, "dma_fence_init": event.KindFenceInit, "dma_fence_emit": event.KindFenceEmit,
	"dma_fence_enable_signal": event.KindFenceEnable, "dma_fence_signaled": event.KindFenceSignal,
	"dma_fence_wait_start": event.KindFenceWaitStart, "dma_fence_wait_end": event.KindFenceWaitEnd,
	"dma_fence_destroy": event.KindFenceDestroy, "sys_enter_ioctl": event.KindIoctlEnter, "sys_exit_ioctl": event.KindIoctlExit,
	"sys_enter": event.KindIoctlEnter, "sys_exit": event.KindIoctlExit, "sched_switch": event.KindSchedSwitch, "sched_wakeup": event.KindSchedWakeup,
}

func rawEvent(r *rawRecord) (event.Event, bool) {
	k, ok := rawKinds[r.name]
	if !ok {
		return event.Event{}, false
	}
	e := event.New(k, r.at)
	e.CPU, e.TID, e.Source = r.cpu, r.pid, r.system+":"+r.name
	if r.pid > 0 {
		e.PID = r.pid
	}
	switch r.system {
	case "gpu_scheduler":
		rawJob(&e, r)
	case "dma_fence":
		e.Flags |= event.FlagLow32
		e.SetStr(event.FieldDriver, r.str("driver"))
		e.SetStr(event.FieldTimeline, r.str("timeline"))
		e.SetUint(event.FieldFenceContext, r.num("context"))
		e.SetUint(event.FieldFenceSeqno, r.num("seqno"))
	case "syscalls", "raw_syscalls":
		if k == event.KindIoctlExit {
			e.SetInt(event.FieldResult, int64(r.num("ret")))
		} else if r.f["cmd"] != "" {
			e.SetUint(event.FieldCmd, r.num("cmd"))
			e.SetInt(event.FieldFD, int64(r.num("fd")))
		}
	case "sched":
		if k == event.KindSchedSwitch {
			e.SetInt(event.FieldPrevTID, int64(r.num("prev_pid")))
			e.SetInt(event.FieldNextTID, int64(r.num("next_pid")))
		} else {
			e.SetInt(event.FieldTargetTID, int64(r.num("pid")))
		}
	}
	return e, true
}

func rawJob(e *event.Event, r *rawRecord) {
	e.SetStr(event.FieldOrigin, "drm_sched")
	switch e.Kind {
	case event.KindJobDep:
		e.SetStr(event.FieldRing, r.str("name"))
		e.SetUint(event.FieldSchedJobID, r.num("id"))
		e.SetUint(event.FieldOnFencePtr, r.num("fence"))
		e.SetUint(event.FieldOnFenceContext, r.num("ctx"))
		e.SetUint(event.FieldOnFenceSeqno, r.num("seqno"))
	case event.KindJobDone:
		e.SetUint(event.FieldFencePtr, r.num("fence"))
	default:
		e.SetStr(event.FieldRing, r.str("name"))
		e.SetUint(event.FieldSchedJobID, r.num("id"))
		e.SetUint(event.FieldFencePtr, r.num("fence"))
		e.SetUint(event.FieldEntityPtr, r.num("entity"))
	}
}

// truth is a line of A.tracefs or B.tracefs: what the client did.
type truth struct {
	pid, ring    int64
	ctx, fseq    uint64
	submit, ret  event.Time
	waited, err_ int64
	hangs        bool // the client asked for a job that never ends
}

func readTruth(t testing.TB, kernel string) []truth {
	t.Helper()
	var out []truth
	for _, name := range []string{"A.tracefs", "B.tracefs"} {
		b, err := os.ReadFile(shared(t, "captures/"+kernel+"/"+name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			f := map[string]int64{}
			for _, kv := range strings.Fields(line)[1:] {
				k, v, _ := strings.Cut(kv, "=")
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					t.Fatalf("%s: %q: %v", name, line, err)
				}
				f[k] = n
			}
			out = append(out, truth{f["pid"], f["ring"], uint64(f["ctx"]), uint64(f["fseq"]),
				event.Time(f["submit"]), event.Time(f["ret"]), f["waited"], f["err"], f["flags"]&1 != 0})
		}
	}
	return out
}
