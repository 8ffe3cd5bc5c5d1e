package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/ftracetext"
	"github.com/gpurec/gpurec/record/importer/importtest"
	"github.com/gpurec/gpurec/record/importer/rawpages"
	"github.com/gpurec/gpurec/record/importer/tracedat"
)

// imported reads a file of the shared data with one importer.
func imported(t *testing.T, f importer.Format, parts ...string) ([]event.Event, importer.Reader) {
	t.Helper()
	r := importtest.Open(t, f, importtest.Shared(t, parts...))
	l, err := importtest.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

// TestTraceDatTruths checks the truths that trace-cmd told of each trace.dat.
func TestTraceDatTruths(t *testing.T) {
	truths := map[string][][]string{}
	for _, r := range importtest.Rows(t, "TRUTHS.tsv") {
		truths[r[0]] = append(truths[r[0]], r)
	}
	met, failed := 0, 0
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		name := row[1]
		if row[2] != "trace.dat" {
			continue
		}
		head, err := os.ReadFile(importtest.Shared(t, "traces", name))
		if err != nil {
			t.Fatal(err)
		}
		events, r := imported(t, tracedat.Format(), "traces", name)
		a := datAnswers(events, r, head)
		for _, tr := range truths[name] {
			if got, ok := a[tr[1]]; !ok || got != tr[2] {
				t.Errorf("%s: %s: %q, want %s", name, tr[1], got, tr[2])
				failed++
				continue
			}
			met++
		}
	}
	t.Logf("truths: %d met, 0 not expressible, %d failed", met, failed)
}

func datAnswers(events []event.Event, r importer.Reader, head []byte) map[string]string {
	a, count, losses, total := map[string]string{}, map[string]int{}, 0, 0
	var first, last event.Time
	for i := range events {
		e := &events[i]
		if e.Kind == event.KindLoss {
			losses++
			continue
		}
		if total == 0 {
			first = e.Time
		}
		last = e.Time
		total++
		count["event "+e.Source[strings.IndexByte(e.Source, ':')+1:]]++
	}
	for k, n := range count {
		a[k] = strconv.Itoa(n)
	}
	for _, f := range r.Meta().Facts {
		if f.Key == "trace_dat_version" {
			a["file version"] = f.Value
		}
	}
	// The importer's own reading of these shows in every event.
	a["byte order of the traced machine"] = map[byte]string{0: "little", 1: "big"}[head[12]]
	a["size of long there"] = strconv.Itoa(int(head[13]))
	a["page size"] = strconv.Itoa(int(head[14]) | int(head[15])<<8)
	a["events"] = strconv.Itoa(total)
	a["first ts"], a["last ts"] = inMicros(first), inMicros(last)
	a["dropped-events notes"] = strconv.Itoa(losses)
	return a
}

// inMicros prints a time as trace-cmd report does: rounded to microseconds.
func inMicros(t event.Time) string {
	us := (int64(t) + 500) / 1000
	return strconv.FormatInt(us/1e6, 10) + "." + strconv.FormatInt(1e6+us%1e6, 10)[1:]
}

// TestThreeFormsOfOneRecording: the trace.dat, the kernel's text and trace-cmd's
// report of one recording give the same events.
func TestThreeFormsOfOneRecording(t *testing.T) {
	dat, _ := imported(t, tracedat.Format(), "traces", "180-local-v7-zstd-instance.dat")
	kernel, _ := imported(t, ftracetext.Format(), "traces", "183-local-trace-6.18-5flags.ftrace.txt")
	report, _ := imported(t, ftracetext.Format(), "traces", "184-local-trace-cmd-report.txt")
	sameForms(t, "kernel text", dat, kernel)
	// trace-cmd's plugin has a table of states of its own, which newer kernels do
	// not follow: it prints W where the kernel says I, and R for R+ (preempted).
	// The kernel's own text, above, has the states right.
	for _, l := range [][]event.Event{dat, report} {
		for i := range l {
			if l[i].Kind == event.KindSchedSwitch {
				l[i].Clear(event.FieldPrevState)
			}
		}
	}
	sameForms(t, "trace-cmd report", dat, report)
}

// TestCaptureForms: raw pages against the kernel's text of the same recording,
// and trace.dat against the report that trace-cmd made of it.
func TestCaptureForms(t *testing.T) {
	for _, k := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		t.Run(k, func(t *testing.T) {
			raw, _ := imported(t, rawpages.Format(), "captures", k, "raw")
			text, _ := imported(t, ftracetext.Format(), "captures", k, "trace.txt")
			sameForms(t, "trace.txt", raw, text)
			dat, _ := imported(t, tracedat.Format(), "captures", k, "trace.dat")
			report, _ := imported(t, ftracetext.Format(), "captures", k, "tracecmd-report.txt")
			if len(report) < len(dat) { // the report is cut at 3,000 lines
				dat = dat[:len(report)]
			}
			sameForms(t, "tracecmd-report.txt", dat, report)
		})
	}
}

// TestAgainstTraceCmd has the installed trace-cmd print each trace.dat without
// its plugins and with all digits of the times, and expects the same events to
// the nanosecond: of the shared files, and of recordings of testdata/tracedat.
func TestAgainstTraceCmd(t *testing.T) {
	if testing.Short() {
		t.Skip("runs trace-cmd on every file")
	}
	tool, err := exec.LookPath("trace-cmd")
	if err != nil {
		t.Skip("trace-cmd is not installed")
	}
	files := map[string]string{}
	for _, f := range []string{"traces/048-trappy-tests-trace.dat", "traces/051-lisa-example-rtapp.dat", "traces/180-local-v7-zstd-instance.dat",
		"captures/6.1.0-57-amd64/trace.dat", "captures/6.12.117+deb12-amd64/trace.dat"} {
		files[f] = importtest.Shared(t, f)
	}
	made := map[string]bool{}
	for _, name := range []string{"merged", "lost", "common", "instances"} {
		c := importtest.ReadCase(t, importtest.Testdata(t, "tracedat", name+".txt"))
		// saved_tgids under the number of CPUCOUNT are gpuvis's own; trace-cmd takes them for a number.
		d := importtest.ParseDat(t, regexp.MustCompile(`(?m)^tgid .*`).ReplaceAllString(string(c.Trace), ""))
		for _, version := range []int{6, 7} {
			path := filepath.Join(t.TempDir(), "x.dat")
			m := importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 4096}
			if err := os.WriteFile(path, d.File(version, m, "zstd"), 0o644); err != nil {
				t.Fatal(err)
			}
			key := name + strconv.Itoa(version)
			files[key], made[key] = path, true
		}
	}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(tool, "report", "-N", "-t", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			r, err := importtest.OpenBytes(ftracetext.Format(), out, true)
			if err != nil {
				t.Fatal(err)
			}
			text, err := importtest.Read(r)
			if err != nil {
				t.Fatal(err)
			}
			dat, err := importtest.Read(importtest.Open(t, tracedat.Format(), path))
			if err != nil {
				t.Fatal(err)
			}
			if made[name] { // their print formats are empty
				blank(dat)
				blank(text)
			}
			sameForms(t, "trace-cmd report -N -t", dat, text)
			a, b := sortable(dat), sortable(text)
			for i := range a {
				if a[i].Time != b[i].Time {
					t.Fatalf("event %d at %d, in the pages at %d", i, b[i].Time, a[i].Time)
				}
			}
		})
	}
}

// blank takes all fields off.
func blank(l []event.Event) {
	for i := range l {
		if l[i].Kind != event.KindLoss {
			l[i].SetMask(0)
			l[i].Flags = 0
		}
	}
}

// sameForms compares events of pages with those of a text of the same
// recording. A text has microseconds, and events of equal microseconds may
// stand in another order; losses have no time of their own there.
func sameForms(t *testing.T, form string, dat, text []event.Event) {
	t.Helper()
	a, b := sortable(dat), sortable(text)
	if len(a) != len(b) {
		t.Fatalf("%s: %d events, %d in the pages", form, len(b), len(a))
	}
	fields, others := 0, 0
	for i := range a {
		x, y := a[i], b[i]
		if d := y.Time - x.Time; d < -500 || d > 500 {
			t.Fatalf("%s: event %d at %d, in the pages at %d", form, i, y.Time, x.Time)
		}
		if x.Kind != y.Kind || x.CPU != y.CPU || x.TID != y.TID || !sameSource(x, y) || x.Flags != y.Flags || !sameComm(x, y) {
			t.Fatalf("%s: event %d:\n%s\nin the pages:\n%s", form, i, importtest.CaseLine(y), importtest.CaseLine(x))
		}
		n, ok := sameFields(x, y)
		if !ok {
			t.Fatalf("%s: event %d:\n%s\nin the pages:\n%s", form, i, importtest.CaseLine(y), importtest.CaseLine(x))
		}
		fields += n
		if x.Kind == event.KindOther {
			others++
		}
	}
	lossesA, lossesB := lost(dat), lost(text)
	if lossesA != lossesB {
		t.Errorf("%s: %d events lost, %d by the pages", form, lossesB, lossesA)
	}
	t.Logf("%s: %d events, %d fields the same; %d are of no kind of their own; %d lost", form, len(a), fields, others, lossesA)
}

func lost(l []event.Event) (n uint64) {
	for i := range l {
		if l[i].Kind == event.KindLoss {
			c, _ := l[i].Uint(event.FieldCount)
			n += c
		}
	}
	return n
}

// sortable leaves losses out and sorts by what both forms have: microseconds,
// then the CPU.
func sortable(l []event.Event) []*event.Event {
	var p []*event.Event
	for i := range l {
		if l[i].Kind != event.KindLoss {
			p = append(p, &l[i])
		}
	}
	us := func(e *event.Event) int64 { return (int64(e.Time) + 500) / 1000 }
	sort.SliceStable(p, func(i, j int) bool {
		if us(p[i]) != us(p[j]) {
			return us(p[i]) < us(p[j])
		}
		return p[i].CPU < p[j].CPU
	})
	return p
}

// sameSource: the kernel's text names only the event, and a mark by its writer.
func sameSource(x, y *event.Event) bool {
	a, b := x.Source[strings.IndexByte(x.Source, ':')+1:], y.Source[strings.IndexByte(y.Source, ':')+1:]
	return a == b || x.Kind == event.KindMark && b == "tracing_mark_write"
}

// sameComm: the kernel's text has the names of its end, pages none of tasks that it forgot.
func sameComm(x, y *event.Event) bool {
	return x.Comm == y.Comm || x.Comm == "" || y.Comm == ""
}

// sameFields counts the fields that are equal; it fails on one that is not.
// Two differences are known: text may lack a string that 6.1 printed empty, and
// trace-cmd's plugins leave out what they find dull.
func sameFields(x, y *event.Event) (n int, ok bool) {
	if x.Kind == event.KindOther {
		return sameArgs(x.Str(event.FieldArgs), y.Str(event.FieldArgs))
	}
	for _, f := range x.Kind.Spec().Fields {
		switch {
		case !y.Has(f) && (x.Str(f) != "" || x.Kind == event.KindTask || f == event.FieldNextPrio):
			continue
		case x.Has(f) != y.Has(f) || importtest.CaseValue(x, f) != importtest.CaseValue(y, f):
			return n, false
		case x.Has(f):
			n++
		}
	}
	return n, true
}

// sameArgs compares the numbers of events that are kept as they are, under the
// names that both forms have.
func sameArgs(a, b string) (n int, ok bool) {
	x, y := map[string]any{}, map[string]any{}
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return 0, a == "" || b == ""
	}
	for k, v := range x {
		w, both := y[k]
		if _, number := v.(float64); !both || !number {
			continue
		}
		if _, number := w.(float64); number && v != w {
			return n, false
		}
		n++
	}
	return n, true
}

// TestTraceDatJobs: each job that the traced program says it submitted is a
// row with its process, fence and ring, queued while the program was in its
// submit call, from the trace.dat and from the raw pages of the captures.
func TestTraceDatJobs(t *testing.T) {
	rings := map[string]string{"0": "gfx", "1": "compute"}
	for _, k := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		for _, in := range []struct {
			f      importer.Format
			path   string
			truths []string
		}{
			{tracedat.Format(), "trace.dat", []string{"T.tracecmd"}},
			{rawpages.Format(), "raw", []string{"A.tracefs", "B.tracefs"}},
		} {
			t.Run(k+"/"+in.path, func(t *testing.T) {
				jobs := jobRows(t, importtest.Open(t, in.f, importtest.Shared(t, "captures", k, in.path)))
				n := 0
				for _, name := range in.truths {
					text, err := os.ReadFile(importtest.Shared(t, "captures", k, name))
					if err != nil {
						t.Fatal(err)
					}
					for line := range strings.Lines(string(text)) {
						w := map[string]string{}
						for _, f := range strings.Fields(line) {
							key, val, _ := strings.Cut(f, "=")
							w[key] = val
						}
						if w["fseq"] == "" {
							continue
						}
						n++
						j := jobs[w["ctx"]+":"+w["fseq"]]
						if j == nil {
							t.Errorf("%s: no job for %s", name, line)
							continue
						}
						from, _ := strconv.ParseInt(w["submit"], 10, 64)
						to, _ := strconv.ParseInt(w["ret"], 10, 64)
						if q := int64(j.QueuedNS.V); q < from || q > to || j.Ring != rings[w["ring"]] || strconv.FormatInt(j.TID.V, 10) != w["pid"] {
							t.Errorf("%s: tid %d ring %s queued %d, the program says %s", name, j.TID.V, j.Ring, q, line)
						}
					}
				}
				if n == 0 || len(jobs) != n {
					t.Errorf("%d jobs, the programs submitted %d", len(jobs), n)
				}
				t.Logf("%d jobs as the programs say", n)
			})
		}
	}
}

// jobRows correlates an input; it returns the jobs by their finished fence.
func jobRows(t *testing.T, r importer.Reader) map[string]*correlate.Job {
	t.Helper()
	sorted := gpulog.Sort(r, gpulog.SortOptions{})
	defer sorted.Close()
	jobs := map[string]*correlate.Job{}
	_, err := correlate.Run(sorted, correlate.Options{}, func(rows *correlate.Rows) error {
		for i := range rows.Jobs {
			j := rows.Jobs[i]
			jobs[fmt.Sprintf("%d:%d", j.FenceContext.V, j.FenceSeqno.V)] = &j
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
