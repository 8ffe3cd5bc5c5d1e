package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
	"github.com/gpurec/gpurec/record/importer/nsys"
)

// joined is a file, imported, ordered and correlated.
type joined struct {
	events  []event.Event
	rows    correlate.Rows
	summary *correlate.Summary
	count   *event.Counters
}

// tee keeps what goes through.
type tee struct {
	importer.Reader
	events []event.Event
}

func (s *tee) Next(b *event.Batch) error {
	err := s.Reader.Next(b)
	if err == nil {
		s.events = append(s.events, b.Events...)
	}
	return err
}

// join imports a file in a format and correlates it.
func join(t *testing.T, path string, f importer.Format) *joined {
	t.Helper()
	s, err := importer.OpenStream(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.OpenReader(&f, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	src := &tee{Reader: r}
	sorted := gpulog.Sort(src, gpulog.SortOptions{})
	defer sorted.Close()
	j := &joined{count: r.Counters()}
	j.summary, err = correlate.Run(sorted, correlate.Options{}, func(rows *correlate.Rows) error {
		j.rows.APICalls = append(j.rows.APICalls, rows.APICalls...)
		j.rows.GPUActivities = append(j.rows.GPUActivities, rows.GPUActivities...)
		j.rows.Jobs = append(j.rows.Jobs, rows.Jobs...)
		j.rows.Fences = append(j.rows.Fences, rows.Fences...)
		j.rows.FenceWaits = append(j.rows.FenceWaits, rows.FenceWaits...)
		j.rows.Slices = append(j.rows.Slices, rows.Slices...)
		j.rows.Links = append(j.rows.Links, rows.Links...)
		j.rows.Counters = append(j.rows.Counters, rows.Counters...)
		j.rows.Devices = append(j.rows.Devices, rows.Devices...)
		j.rows.Ioctls = append(j.rows.Ioctls, rows.Ioctls...)
		j.rows.Rings = append(j.rows.Rings, rows.Rings...)
		j.rows.Others = append(j.rows.Others, rows.Others...)
		j.rows.Unmatched = append(j.rows.Unmatched, rows.Unmatched...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	j.events = src.events
	return j
}

// TestNsysTruths compares what becomes of the exports of Nsight Systems with
// what was counted in them by SQL.
func TestNsysTruths(t *testing.T) {
	met, failed := 0, 0
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "nsys-sqlite" {
			continue
		}
		j := join(t, importtest.Shared(t, "traces", row[1]), nsys.Format())
		answers := nsysAnswers(j)
		for _, truth := range importtest.Truths(t, row[1]) {
			what, want := truth[0], truth[1]
			got, ok := answers[what]
			if !ok && strings.HasPrefix(what, "rows ") { // of tables that describe others
				got = j.fact("rows." + strings.TrimPrefix(what, "rows "))
				ok = got != ""
			}
			switch {
			case !ok:
				failed++
				t.Errorf("%s: nothing answers %q", row[1], what)
			case got != want:
				failed++
				t.Errorf("%s: %s: %s, want %s", row[1], what, got, want)
			default:
				met++
			}
		}
	}
	t.Logf("%d truths met, %d failed; not expressible: 0", met, failed)
}

func nsysAnswers(j *joined) map[string]string {
	a := map[string]string{}
	num := func(what string, n int64) { a[what] = strconv.FormatInt(n, 10) }
	bySource := map[string]int64{}
	for i := range j.events {
		bySource[j.events[i].Source]++
	}
	for table, source := range map[string]string{
		"CUPTI_ACTIVITY_KIND_KERNEL": "cupti:kernel", "CUPTI_ACTIVITY_KIND_MEMCPY": "cupti:memcpy", "CUPTI_ACTIVITY_KIND_MEMSET": "cupti:memset",
		"CUPTI_ACTIVITY_KIND_RUNTIME": "cupti:runtime", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "cupti:sync", "CUPTI_ACTIVITY_KIND_OVERHEAD": "cupti:overhead",
		"NVTX_EVENTS": "nsys:nvtx", "PROCESSES": "nsys:processes", "ThreadNames": "nsys:threads", "TARGET_INFO_GPU": "nsys:gpus",
	} {
		if n := bySource[source]; n > 0 {
			num("rows "+table, n)
		}
	}
	nsysKernels(j, num, a)
	nsysCopies(j, a)
	names := map[string]bool{}
	ids := map[string]int{}
	for i := range j.rows.APICalls {
		c := &j.rows.APICalls[i]
		names[c.Name] = true
		ids[fmt.Sprint(c.PID.V, c.CorrelationID.V)]++
	}
	num("runtime distinct names", int64(len(names)))
	shared := int64(0)
	for _, n := range ids {
		if n > 1 {
			shared++
		}
	}
	num("runtime rows with correlationId used by 2 or more runtime rows", shared)
	if n := bySource["nsys:nvtx"]; n > 0 {
		pushPop := int64(0)
		for i := range j.rows.Slices {
			if s := &j.rows.Slices[i]; s.Category == "nvtx" && s.Track == "" {
				pushPop++
			}
		}
		a["NVTX_EVENTS by eventType"] = fmt.Sprintf("[[59, %d]]", pushPop)
	}
	return a
}

// nsysKernels answers what is asked of kernels, of their rows and links.
func nsysKernels(j *joined, num func(string, int64), a map[string]string) {
	starts := map[correlate.ID]event.Time{}
	byID := map[int64][]event.Time{}
	for i := range j.rows.APICalls {
		c := &j.rows.APICalls[i]
		starts[c.ID] = c.StartNS.V
		byID[c.CorrelationID.V] = append(byID[c.CorrelationID.V], c.StartNS.V)
	}
	var sum, joined, alone, before, beforeAlone, graph int64
	var first, last, least event.Time
	streams, names, pids := map[string]bool{}, map[string]bool{}, map[int64]bool{}
	type use struct{ ns, calls int64 }
	short := map[string]*use{}
	var kernels []*correlate.GPUActivity
	for i := range j.rows.GPUActivities {
		k := &j.rows.GPUActivities[i]
		if k.Kind != "kernel" {
			continue
		}
		kernels = append(kernels, k)
		sum += int64(k.DurNS.V)
		if len(kernels) == 1 || k.StartNS.V < first {
			first = k.StartNS.V
		}
		last = max(last, k.EndNS.V)
		streams[fmt.Sprint(k.DeviceID, k.Stream.V)] = true
		names[k.Name] = true
		if k.PID.OK {
			pids[k.PID.V] = true
		}
		if k.APICallID != 0 {
			d := k.StartNS.V - starts[k.APICallID]
			if joined == 0 || d < least {
				least = d
			}
			joined++
			if d < 0 {
				before++
			}
		}
		if l := byID[k.CorrelationID.V]; len(l) > 0 {
			alone++
			if k.StartNS.V < l[0] {
				beforeAlone++
			}
		}
		var args struct {
			Short string `json:"short_name"`
		}
		if k.Args != "" && json.Unmarshal([]byte(k.Args), &args) != nil {
			args.Short = "unreadable arguments"
		}
		if args.Short == "" {
			args.Short = k.Name
		}
		u := short[args.Short]
		if u == nil {
			u = &use{}
			short[args.Short] = u
		}
		u.ns += int64(k.DurNS.V)
		u.calls++
	}
	for i := range j.events {
		if _, ok := j.events[i].Uint(event.FieldGraphNode); ok {
			graph++
		}
	}
	num("kernel time sum ns", sum)
	num("kernel first start", int64(first))
	num("kernel last end", int64(last))
	num("distinct (deviceId,streamId)", int64(len(streams)))
	num("distinct kernel names (demangledName)", int64(len(names)))
	num("distinct globalPid of kernels", int64(len(pids)))
	num("kernels with a runtime row of the same correlationId", alone)
	num("same with the process too", joined)
	num("kernels starting before their runtime call", beforeAlone)
	num("kernels starting before their runtime call, process also matched", before)
	num("min kernel.start - runtime.start ns, process also matched", int64(least))
	num("kernels in a graph (graphNodeId set)", graph)
	num("kernels starting before an earlier one on the same stream ended", overlapping(kernels))
	best := ""
	for n, u := range short {
		if b := short[best]; b == nil || u.ns > b.ns || u.ns == b.ns && n < best {
			best = n
		}
	}
	a["top kernel shortName; ns; calls"] = fmt.Sprintf("%s; %d; %d", best, short[best].ns, short[best].calls)
}

func overlapping(kernels []*correlate.GPUActivity) (n int64) {
	l := append([]*correlate.GPUActivity(nil), kernels...)
	sort.SliceStable(l, func(i, j int) bool { return l[i].StartNS.V < l[j].StartNS.V })
	end := map[string]event.Time{}
	for _, k := range l {
		s := fmt.Sprint(k.DeviceID, k.Stream.V)
		if e, ok := end[s]; ok && k.StartNS.V < e {
			n++
		}
		end[s] = max(end[s], k.EndNS.V)
	}
	return n
}

// nsysCopies answers by CUPTI's numbers of the kinds of copies.
func nsysCopies(j *joined, a map[string]string) {
	kinds := map[string]int{"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
	type sum struct{ n, bytes, ns int64 }
	by := map[int]*sum{}
	for i := range j.rows.GPUActivities {
		c := &j.rows.GPUActivities[i]
		if c.Kind != "memcpy" {
			continue
		}
		k := kinds[c.Direction]
		if by[k] == nil {
			by[k] = &sum{}
		}
		by[k].n++
		by[k].bytes += int64(c.Bytes.V)
		by[k].ns += int64(c.DurNS.V)
	}
	var l []string
	for k := range 11 {
		if s := by[k]; s != nil {
			l = append(l, fmt.Sprintf("[%d, %d, %d, %d]", k, s.n, s.bytes, s.ns))
		}
	}
	if l != nil {
		a["memcpy bytes by copyKind"] = "[" + strings.Join(l, ", ") + "]"
	}
}

// TestNsysBeforeStart: all kernels of a window cut out of a longer recording
// whose launch is not in it are shown to have been launched before it: their id
// is below that of every call of the process, or they ran on their stream before
// the first work with a known launch.
func TestNsysBeforeStart(t *testing.T) {
	j := join(t, importtest.Shared(t, "traces", "041-nsysai-h100-2gpu-1s.sqlite"), nsys.Format())
	least, first := map[int64]int64{}, map[string]event.Time{}
	for i := range j.rows.APICalls {
		if c := &j.rows.APICalls[i]; c.CorrelationID.V > 0 {
			if l, ok := least[c.PID.V]; !ok || c.CorrelationID.V < l {
				least[c.PID.V] = c.CorrelationID.V
			}
		}
	}
	stream := func(g *correlate.GPUActivity) string { return fmt.Sprint(g.PID, g.DeviceID, g.Context, g.Stream) }
	for i := range j.rows.GPUActivities {
		if g := &j.rows.GPUActivities[i]; g.APICallID != 0 {
			if f, ok := first[stream(g)]; !ok || g.StartNS.V < f {
				first[stream(g)] = g.StartNS.V
			}
		}
	}
	reasons := map[correlate.ID]string{}
	for _, u := range j.rows.Unmatched {
		if u.SrcTable == "gpu_activities" {
			reasons[u.SrcID] += u.Link + " " + u.Reason
		}
	}
	alone := 0
	for i := range j.rows.GPUActivities {
		g := &j.rows.GPUActivities[i]
		if g.Kind != "kernel" || g.APICallID != 0 {
			continue
		}
		alone++
		f, known := first[stream(g)]
		if g.CorrelationID.V >= least[g.PID.V] && !(known && g.StartNS.V < f) {
			t.Errorf("kernel %d, id %d: nothing shows when it was launched", g.ID, g.CorrelationID.V)
		}
		if reasons[g.ID] != "api_call before_start" {
			t.Errorf("kernel %d: %q", g.ID, reasons[g.ID])
		}
	}
	if alone != 1810 {
		t.Errorf("%d kernels without a call, not 1810", alone)
	}
}
