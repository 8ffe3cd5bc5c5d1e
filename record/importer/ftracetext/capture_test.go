package ftracetext

import (
	"bufio"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

var kernels = []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"}

// What each line of the captures must become, by hand.
var kindOf = map[string]event.Kind{
	"dma_fence_init": event.KindFenceInit, "dma_fence_emit": event.KindFenceEmit, "dma_fence_signaled": event.KindFenceSignal,
	"dma_fence_destroy": event.KindFenceDestroy, "dma_fence_wait_start": event.KindFenceWaitStart, "dma_fence_wait_end": event.KindFenceWaitEnd,
	"drm_sched_job": event.KindJobQueue, "drm_run_job": event.KindJobRun, "drm_sched_process_job": event.KindJobDone,
	"drm_sched_job_wait_dep": event.KindJobDep, "sched_switch": event.KindSchedSwitch, "sched_wakeup": event.KindSchedWakeup,
	"sys_enter": event.KindIoctlEnter, "sys_exit": event.KindIoctlExit, "sys_ioctl(": event.KindIoctlEnter, "sys_ioctl ->": event.KindIoctlExit,
}

// TestCaptureCounts counts the lines of the captures with a regular expression
// and compares: kinds, and no anomaly but the known fault of 6.1.
func TestCaptureCounts(t *testing.T) {
	rx := regexp.MustCompile(`^.{15,22}-\d+ .*\d+\.\d{6}: +(\w+:|sys_ioctl\(|sys_ioctl ->)`)
	empty := regexp.MustCompile(`(?:[:,] |^| )(?:\w+)=(?: |,)`)
	for _, k := range kernels {
		for _, name := range []string{"trace.txt", "tracecmd-report.txt"} {
			t.Run(k+"/"+name, func(t *testing.T) {
				path := importtest.Shared(t, "captures", k, name)
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				want := map[event.Kind]int{}
				empties := uint64(0)
				for sc := bufio.NewScanner(f); sc.Scan(); {
					if m := rx.FindStringSubmatch(sc.Text()); m != nil {
						kind, ok := kindOf[strings.TrimSuffix(m[1], ":")]
						if !ok {
							t.Fatalf("line %q has no kind in the test", sc.Text())
						}
						want[kind]++
						empties += uint64(len(empty.FindAllString(sc.Text(), -1)))
					}
				}
				if _, err := f.Seek(0, 0); err != nil {
					t.Fatal(err)
				}
				events, r := readAll(t, f)
				got := map[event.Kind]int{}
				for i := range events {
					got[events[i].Kind]++
				}
				for kind := range event.NumKinds {
					if got[kind] != want[kind] {
						t.Errorf("%v: %d events, %d lines", kind, got[kind], want[kind])
					}
				}
				for _, a := range r.Counters().List() {
					if a.Name != "ftrace_empty_first_string" || a.Count != empties || k != kernels[0] {
						t.Errorf("anomaly %s %d (%s); the text has %d empty strings", a.Name, a.Count, a.Sample, empties)
					}
				}
				if empties > 0 && r.Counters().Get(&ftrace.AnomalyEmptyFirstString) == 0 {
					t.Errorf("%d empty strings in the text, none counted", empties)
				}
			})
		}
	}
}

// TestTextAgainstPages imports a capture's text and decodes the raw pages of the
// same recording: the events must be the same, but for the text's microseconds,
// the strings that 6.1 left empty, and the names and processes of threads, of
// which the pages hold none.
func TestTextAgainstPages(t *testing.T) {
	for _, k := range kernels {
		t.Run(k, func(t *testing.T) {
			dir := importtest.Shared(t, "captures", k)
			f, err := os.Open(filepath.Join(dir, "trace.txt"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			text, _ := readAll(t, f)
			raw := decodePages(t, filepath.Join(dir, "raw"))
			if len(text) != len(raw) {
				t.Fatalf("%d events in text, %d in pages", len(text), len(raw))
			}
			for i := range raw {
				sameButText(t, &text[i], &raw[i], k == kernels[0])
				if t.Failed() {
					return
				}
			}
		})
	}
}

func sameButText(t *testing.T, x, r *event.Event, emptyStrings bool) {
	t.Helper()
	// The kernel rounds to the nearest microsecond (trace_print_context).
	if d := x.Time - r.Time; d < -500 || d > 500 {
		t.Errorf("times %d and %d", x.Time, r.Time)
	}
	if x.Kind != r.Kind || x.CPU != r.CPU || x.TID != r.TID || x.Source != r.Source || x.Flags != r.Flags {
		t.Errorf("text  %s\npages %s", importtest.CaseLine(x), importtest.CaseLine(r))
	}
	for _, f := range r.Kind.Spec().Fields {
		if emptyStrings && x.Str(f) == "" && r.Str(f) != "" {
			continue
		}
		if x.Has(f) != r.Has(f) || importtest.CaseValue(x, f) != importtest.CaseValue(r, f) {
			t.Errorf("%v: text %s, pages %s\n%s\n%s", f, importtest.CaseValue(x, f), importtest.CaseValue(r, f), importtest.CaseLine(x), importtest.CaseLine(r))
		}
	}
}

func decodePages(t *testing.T, dir string) []event.Event {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	layout, err := ftrace.ParseLayout(read("header_page"), read("header_event"), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "events", "*.format"))
	var formats []*ftrace.Format
	for _, f := range files {
		system, _, _ := strings.Cut(filepath.Base(f), ".")
		p, err := ftrace.ParseFormat(system, read(filepath.Join("events", filepath.Base(f))))
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, p)
	}
	d, err := ftrace.NewDecoder(layout, formats, ftrace.DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	for cpu, name := range []string{"cpu0.raw", "cpu1.raw"} {
		for pages := read(name); len(pages) > 0; pages = pages[layout.SubBufferSize():] {
			d.Page(int32(cpu), pages[:layout.SubBufferSize()], &b)
		}
	}
	sort.SliceStable(b.Events, func(i, j int) bool { return b.Events[i].Time < b.Events[j].Time })
	return b.Events
}
