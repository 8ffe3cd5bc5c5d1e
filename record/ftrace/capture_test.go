package ftrace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

var kernels = []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"}

// dumped is a line of rawdump.txt, which another program made from the pages.
type dumped struct {
	ns     int64
	cpu    int
	pid    int
	source string
	field  map[string]string
}

var (
	dumpLine  = regexp.MustCompile(`^(\d+)\.(\d{9}) \[(\d+)\] pid=(\d+) (\w+)\.(\w+)\(\d+\)(.*)$`)
	dumpField = regexp.MustCompile(` (\w+)=(?:\(b'([^']*)\\x00', \d+, \d+\)|(\S+))`)
)

func readDump(t *testing.T, path string) []dumped {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var l []dumped
	for sc := bufio.NewScanner(f); sc.Scan(); {
		m := dumpLine.FindStringSubmatch(sc.Text())
		if m == nil {
			t.Fatalf("rawdump line %q", sc.Text())
		}
		ns, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
		cpu, _ := strconv.Atoi(m[3])
		pid, _ := strconv.Atoi(m[4])
		d := dumped{ns, cpu, pid, m[5] + ":" + m[6], map[string]string{}}
		for _, f := range dumpField.FindAllStringSubmatch(m[7], -1) {
			d.field[f[1]] = f[2] + f[3]
		}
		l = append(l, d)
	}
	return l
}

// Where the dump's fields must be found in our events, by hand.
var dumpToField = map[string]map[string]event.Field{
	"dma_fence": {"driver": event.FieldDriver, "timeline": event.FieldTimeline, "context": event.FieldFenceContext, "seqno": event.FieldFenceSeqno},
	"gpu_scheduler": {"entity": event.FieldEntityPtr, "fence": event.FieldFencePtr, "name": event.FieldRing, "id": event.FieldSchedJobID,
		"job_count": event.FieldJobCount, "hw_job_count": event.FieldHWJobCount},
	"gpu_scheduler:drm_sched_job_wait_dep": {"name": event.FieldRing, "id": event.FieldSchedJobID, "fence": event.FieldOnFencePtr,
		"ctx": event.FieldOnFenceContext, "seqno": event.FieldOnFenceSeqno},
	"syscalls:sys_enter_ioctl": {"fd": event.FieldFD, "cmd": event.FieldCmd, "arg": event.FieldArg},
	"syscalls:sys_exit_ioctl":  {"ret": event.FieldResult},
	"raw_syscalls:sys_exit":    {"ret": event.FieldResult},
	"sched:sched_switch":       {"prev_pid": event.FieldPrevTID, "prev_prio": event.FieldPrevPrio, "next_pid": event.FieldNextTID, "next_prio": event.FieldNextPrio},
	"sched:sched_wakeup":       {"pid": event.FieldTargetTID, "prio": event.FieldPrio, "target_cpu": event.FieldTargetCPU},
	"raw_syscalls:sys_enter":   {},
}

var dumpKind = map[string]event.Kind{
	"dma_fence:dma_fence_init": event.KindFenceInit, "dma_fence:dma_fence_emit": event.KindFenceEmit,
	"dma_fence:dma_fence_signaled": event.KindFenceSignal, "dma_fence:dma_fence_destroy": event.KindFenceDestroy,
	"dma_fence:dma_fence_wait_start": event.KindFenceWaitStart, "dma_fence:dma_fence_wait_end": event.KindFenceWaitEnd,
	"gpu_scheduler:drm_sched_job": event.KindJobQueue, "gpu_scheduler:drm_run_job": event.KindJobRun,
	"gpu_scheduler:drm_sched_process_job": event.KindJobDone, "gpu_scheduler:drm_sched_job_wait_dep": event.KindJobDep,
	"syscalls:sys_enter_ioctl": event.KindIoctlEnter, "syscalls:sys_exit_ioctl": event.KindIoctlExit,
	"raw_syscalls:sys_enter": event.KindIoctlEnter, "raw_syscalls:sys_exit": event.KindIoctlExit,
	"sched:sched_switch": event.KindSchedSwitch, "sched:sched_wakeup": event.KindSchedWakeup,
}

func decodeAll(t testing.TB, c *capture, d *Decoder) []event.Event {
	t.Helper()
	var all []event.Event
	var b event.Batch
	size := c.layout.SubBufferSize()
	for cpu, pages := range c.cpus {
		for off := 0; off+size <= len(pages); off += size {
			b.Reset()
			d.Page(int32(cpu), pages[off:off+size], &b)
			all = append(all, b.Events...)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time < all[j].Time })
	return all
}

// TestPagesAgainstDump compares each event of the raw pages with the line that
// an independent decoder wrote for it: time to the nanosecond, CPU, thread,
// kind and fields.
func TestPagesAgainstDump(t *testing.T) {
	for _, k := range kernels {
		t.Run(k, func(t *testing.T) {
			dir := shared(t, "captures", k)
			c := readCapture(t, dir)
			d := c.decoder(t)
			got := decodeAll(t, &c, d)
			want := readDump(t, filepath.Join(dir, "rawdump.txt"))
			if len(got) != len(want) {
				t.Fatalf("%d events, the dump has %d", len(got), len(want))
			}
			for i := range want {
				if err := sameEvent(&got[i], &want[i]); err != nil {
					t.Fatalf("event %d (%+v): %v", i+1, want[i], err)
				}
			}
			for _, a := range d.Counters().List() {
				t.Errorf("anomaly %s: %d (%s)", a.Name, a.Count, a.Sample)
			}
		})
	}
}

func sameEvent(e *event.Event, w *dumped) error {
	if int64(e.Time) != w.ns || int(e.CPU) != w.cpu || int(e.TID) != w.pid || e.Source != w.source {
		return fmt.Errorf("got time %d cpu %d tid %d source %s", e.Time, e.CPU, e.TID, e.Source)
	}
	if e.Kind != dumpKind[w.source] {
		return fmt.Errorf("kind %v", e.Kind)
	}
	fields, ok := dumpToField[w.source]
	if !ok {
		system, _, _ := strings.Cut(w.source, ":")
		fields = dumpToField[system]
	}
	for name, f := range fields {
		want, ok := w.field[name]
		if !ok {
			if e.Has(f) {
				return fmt.Errorf("%v is set, the dump has no %s", f, name)
			}
			continue
		}
		if s := e.Str(f); s != "" {
			if s != want {
				return fmt.Errorf("%v = %q, want %q", f, s, want)
			}
			continue
		}
		v, ok := e.Uint(f)
		n, err := strconv.ParseInt(want, 0, 64)
		if err != nil {
			u, err2 := strconv.ParseUint(want, 0, 64)
			if err2 != nil {
				return fmt.Errorf("%v is not set, want %q", f, want)
			}
			n = int64(u)
		}
		if !ok || int64(v) != n {
			return fmt.Errorf("%v = %#x (%v), want %s", f, v, ok, want)
		}
	}
	return nil
}
