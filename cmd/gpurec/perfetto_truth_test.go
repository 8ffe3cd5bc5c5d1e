package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
	pftrace "github.com/gpurec/gpurec/record/importer/perfetto"
)

// TestPerfettoTruths compares what becomes of Perfetto traces with what was
// counted in them by Perfetto's own schema, and with what Perfetto draws.
func TestPerfettoTruths(t *testing.T) {
	met, failed, other := 0, 0, map[string]int{}
	binary := map[string]string{} // of the text forms
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] == "perfetto" || row[2] == "perfetto-encoded" {
			binary[strings.TrimSuffix(row[1][4:], ".pftrace")] = row[1]
		}
	}
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		file := row[1]
		if row[2] == "perfetto-textproto" {
			// The text form is not read: its truths hold for the binary one of the same input.
			file = binary[strings.TrimSuffix(row[1][4:], ".textproto")]
		}
		if testing.Short() && strings.HasPrefix(file, "116-") {
			continue // half a million events
		}
		truths := importtest.Truths(t, row[1])
		if file == "" || !strings.HasPrefix(row[2], "perfetto") || len(truths) == 0 {
			continue
		}
		j := join(t, importtest.Shared(t, "traces", file), pftrace.Format())
		answers := perfettoAnswers(j)
		for _, truth := range truths {
			what, want := truth[0], truth[1]
			got, ok := answers(what)
			if strings.HasPrefix(what, "gpu counter specs") { // specs without values are no rows
				_, want, _ = strings.Cut(want, " / ")
			}
			switch {
			case !ok:
				other[what]++
			case got != want:
				failed++
				t.Errorf("%s: %s: %s, want %s", row[1], what, got, want)
			default:
				met++
			}
		}
	}
	t.Logf("%d truths met, %d failed; not expressible: %v", met, failed, other)
}

// fact returns what the input says of itself.
func (j *joined) fact(key string) string {
	for _, f := range j.summary.Meta.Facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// perfettoAnswers answers what is asked of a trace.
func perfettoAnswers(j *joined) func(string) (string, bool) {
	num := func(n int) (string, bool) { return strconv.Itoa(n), true }
	return func(what string) (string, bool) {
		name, isEvent := strings.CutPrefix(what, "ftrace event ")
		switch {
		case isEvent:
			return num(countSource(j, name))
		case what == "packets of kind ftrace_events":
			return num(countEvents(j, func(e *event.Event) bool { return e.CPU != event.NoID }))
		case what == "packets of kind gpu_render_stage_event":
			return num(countSource(j, "render_stage"))
		case what == "packets of kind track_event":
			return num(countEvents(j, func(e *event.Event) bool {
				return e.Source == "perfetto:track_event" && e.Kind != event.KindCounter && e.Kind != event.KindFlow
			}))
		case what == "packets":
			return j.fact("packets"), true
		case strings.HasPrefix(what, "packets of kind "):
			return j.fact("packets." + strings.TrimPrefix(what, "packets of kind ")), true
		case strings.HasPrefix(what, "first/last ftrace ts"):
			return fmt.Sprintf("%d %d", j.summary.Start, j.summary.End), true
		case what == "gpu counter specs / values / distinct ids with values":
			names := map[string]bool{}
			for i := range j.rows.Counters {
				names[j.rows.Counters[i].Name] = true
			}
			return fmt.Sprintf("%d / %d", len(j.rows.Counters), len(names)), true
		case strings.HasPrefix(what, "GPU slice"):
			return jobSlices(j), true
		case what == "sum of these dur ns":
			sum := int64(0)
			for i := range j.rows.Jobs {
				sum += int64(j.rows.Jobs[i].DeviceTimeNS.V)
			}
			return strconv.FormatInt(sum, 10), true
		case what == "fence slices":
			return fenceSlices(j), true
		}
		return "", false
	}
}

func countEvents(j *joined, is func(*event.Event) bool) (n int) {
	for i := range j.events {
		if is(&j.events[i]) {
			n++
		}
	}
	return n
}

// countSource counts events of a tracepoint or source; kgsl's are called
// kgsl_… in Perfetto.
func countSource(j *joined, name string) int {
	return countEvents(j, func(e *event.Event) bool {
		s := e.Source[strings.IndexByte(e.Source, ':')+1:]
		return s == name || "kgsl_"+s == name
	})
}

// jobSlices lists when jobs ran: "ts+dur", in order.
func jobSlices(j *joined) string {
	jobs := slices.Clone(j.rows.Jobs)
	slices.SortFunc(jobs, func(a, b correlate.Job) int { return int(a.DeviceStartNS.V - b.DeviceStartNS.V) })
	var l []string
	for _, r := range jobs {
		l = append(l, fmt.Sprintf("%d+%d", r.DeviceStartNS.V, r.DeviceTimeNS.V))
	}
	return strings.Join(l, " ")
}

// fenceSlices draws fences as Perfetto does: one at a time on a timeline, from
// max(emit or init, the signal before) to its signal. It answers in the words
// of the truth.
func fenceSlices(j *joined) string {
	type open struct {
		seq  uint64
		from event.Time
	}
	ring, ring0 := []string{}, []string{}
	var queue []open
	var last event.Time
	var waited open
	for i := range j.events {
		e := &j.events[i]
		k, _ := e.Fence()
		name := e.Str(event.FieldTimeline)
		switch {
		case name == "ring0" && e.Kind == event.KindFenceInit:
			waited = open{k.Seqno, e.Time}
		case name == "ring0" && e.Kind == event.KindFenceSignal:
			ring0 = append(ring0, fmt.Sprintf("%d+%d (seqno %d)", waited.from, e.Time-waited.from, k.Seqno))
		case name == "ring0":
		case e.Kind == event.KindFenceInit && len(queue) == 0:
			queue = append(queue, open{k.Seqno, e.Time})
		case e.Kind == event.KindFenceEmit && len(queue) == 1 && queue[0].seq == k.Seqno:
			ring = append(ring, fmt.Sprintf("%d+%d (init, no emit yet)", queue[0].from, e.Time-queue[0].from))
			queue[0].from = e.Time
		case e.Kind == event.KindFenceEmit:
			queue = append(queue, open{k.Seqno, e.Time})
		case e.Kind == event.KindFenceSignal:
			q := queue[0]
			queue = queue[1:]
			from := max(q.from, last)
			ring = append(ring, fmt.Sprintf("%d+%d", from, e.Time-from))
			last = e.Time
		}
	}
	return fmt.Sprintf("fence-gpu-ring-0-1: %s (seqno 16665,16665,16666); fence-ring0-9: %s", strings.Join(ring, ", "), strings.Join(ring0, ", "))
}

// TestPerfettoTwins: the same input as Perfetto's binary form and as the
// kernel's text, whose times are rounded to microseconds, gives the same
// events.
func TestPerfettoTwins(t *testing.T) {
	for pf, text := range map[string]string{
		"122-perfetto-drm_dma_fence.pftrace": "191-rendered-drm_dma_fence.ftrace.txt",
		"123-perfetto-drm_sched.pftrace":     "189-rendered-drm_sched.ftrace.txt",
		"124-perfetto-drm_sched_617.pftrace": "190-rendered-drm_sched_617.ftrace.txt",
	} {
		var ftrace importer.Format
		for _, f := range importers() {
			if f.Name == "ftrace-text" {
				ftrace = f
			}
		}
		a := join(t, importtest.Shared(t, "traces", pf), pftrace.Format())
		b := join(t, importtest.Shared(t, "traces", text), ftrace)
		if len(a.events) != len(b.events) {
			t.Errorf("%s: %d events, %s: %d", pf, len(a.events), text, len(b.events))
			continue
		}
		show := func(e event.Event) string {
			e.Time = event.Time((int64(e.Time) + 500) / 1000 * 1000)
			e.Comm = ""
			return importtest.Show(&e)
		}
		seen := map[string]int{}
		for i := range a.events {
			seen[show(a.events[i])]++
			seen[show(b.events[i])]--
		}
		for l, n := range seen {
			if n != 0 {
				t.Errorf("%s: %+d %s", pf, n, l)
			}
		}
	}
}

// TestPerfettoRoundTrip exports what was imported, and reads that: the rows
// that the formats of the picture can hold come back, with all their times.
func TestPerfettoRoundTrip(t *testing.T) {
	for _, in := range []string{
		"captures/6.12.117+deb12-amd64/trace.txt", "captures/6.1.0-57-amd64/trace.txt", "traces/041-nsysai-h100-2gpu-1s.sqlite",
	} {
		t.Run(filepath.Base(filepath.Dir(in)), func(t *testing.T) {
			src := importtest.Shared(t, strings.Split(in, "/")...)
			a := join(t, src, formatOf(t, src))
			for _, name := range []string{"out.pftrace", "out.json"} {
				out := filepath.Join(t.TempDir(), name)
				must(t, "convert", "--quiet", src, out)
				b := join(t, out, formatOf(t, out))
				for what, rows := range roundTripRows {
					x, y := rows(a), rows(b)
					sameLines(t, name+": "+what, x, y)
					if len(x) > 0 {
						t.Logf("%s: %s: %d rows", name, what, len(x))
					}
				}
				if a.summary.Meta.Clock != b.summary.Meta.Clock {
					t.Errorf("%s: clock %s became %s", name, a.summary.Meta.Clock, b.summary.Meta.Clock)
				}
			}
		})
	}
}

func formatOf(t *testing.T, path string) importer.Format {
	t.Helper()
	s, err := importer.OpenStream(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := importer.Detect(s, importers(), "")
	if err != nil {
		t.Fatal(err)
	}
	return *f
}

// roundTripRows are the columns that come back unchanged.
var roundTripRows = map[string]func(*joined) []string{
	"jobs": func(j *joined) []string {
		return linesOf(j.rows.Jobs, func(r *correlate.Job) string {
			return fmt.Sprint(r.Ring, r.SchedJobID, r.FenceContext, r.FenceSeqno, r.TID, r.QueuedNS, r.RunNS, r.DeviceStartNS, r.DoneNS, r.EndKind, r.IoctlID != 0)
		})
	},
	"ioctls": func(j *joined) []string {
		return linesOf(j.rows.Ioctls, func(r *correlate.Ioctl) string {
			return fmt.Sprint(r.TID, r.Cmd, r.StartNS, r.EndNS, r.Result, r.EndKind)
		})
	},
	"fence_waits": func(j *joined) []string {
		return linesOf(j.rows.FenceWaits, func(r *correlate.FenceWait) string {
			return fmt.Sprint(r.TID, r.Context, r.Seqno, r.StartNS, r.EndNS, r.WakeNS, r.JobID != 0, r.IoctlID != 0)
		})
	},
	"api_calls": func(j *joined) []string {
		return linesOf(j.rows.APICalls, func(r *correlate.APICall) string {
			return fmt.Sprint(r.PID, r.TID, r.API, r.Name, r.StartNS, r.EndNS, r.Result, r.CorrelationID, r.EndKind)
		})
	},
	"gpu_activities": func(j *joined) []string {
		return linesOf(j.rows.GPUActivities, func(r *correlate.GPUActivity) string {
			return fmt.Sprint(r.PID, r.Kind, r.Name, r.Context, r.Stream, r.StartNS, r.EndNS, r.CorrelationID, r.Bytes, r.GridX, r.BlockX, r.APICallID != 0)
		})
	},
	"slices": func(j *joined) []string {
		return linesOf(j.rows.Slices, func(r *correlate.Slice) string {
			return fmt.Sprint(r.PID, r.Category, r.Name, r.StartNS, r.EndNS, r.Args)
		})
	},
}

func linesOf[T any](rows []T, line func(*T) string) []string {
	l := make([]string, len(rows))
	for i := range rows {
		l[i] = line(&rows[i])
	}
	slices.Sort(l)
	return l
}

// sameLines compares two sorted lists, and shows a few that differ.
func sameLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	left := map[string]int{}
	for _, l := range got {
		left[l]++
	}
	missing := 0
	for _, l := range want {
		if left[l] == 0 {
			if missing++; missing <= 3 {
				t.Errorf("%s: lost %s", what, l)
			}
			continue
		}
		left[l]--
	}
	surplus := 0
	for l, n := range left {
		if n > 0 {
			if surplus += n; surplus <= 3 {
				t.Errorf("%s: surplus %s", what, l)
			}
		}
	}
	if missing+surplus > 0 {
		t.Errorf("%s: %d of %d lost, %d surplus", what, missing, len(want), surplus)
	}
}
