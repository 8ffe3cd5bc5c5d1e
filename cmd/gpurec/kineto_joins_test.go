package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/importer/chromejson"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// kinetoEvent is an event of a PyTorch trace, read by encoding/json alone.
type kinetoEvent struct {
	Ph, Cat, Name string
	PID, TID      any
	TS, Dur       json.Number
	Args          struct {
		Correlation    *json.Number
		Device, Stream any
	}
}

func (e *kinetoEvent) correlation() int64 {
	if e.Args.Correlation == nil {
		return 0
	}
	n, err := e.Args.Correlation.Int64()
	if err != nil {
		return 0
	}
	return n
}

// nanos turns a decimal of microseconds into nanoseconds.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, _ := strings.Cut(n.String(), ".")
	ns, err := strconv.ParseInt(whole+(frac + "000")[:3], 10, 64)
	if err != nil || len(strings.TrimRight(frac, "0")) > 3 {
		t.Fatalf("time %s: %v", n, err)
	}
	return ns
}

func kinetoEvents(t *testing.T, name string) []kinetoEvent {
	t.Helper()
	f, err := os.Open(importtest.Shared(t, "traces", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []kinetoEvent }
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file.TraceEvents
}

// work reports whether the event is work on a device. Of an MTIA's command
// processor all is, but what orders its streams.
func (e *kinetoEvent) work() bool {
	switch e.Cat {
	case "kernel", "gpu_memcpy", "gpu_memset":
		return e.Ph == "X"
	case "mtia_ccp_events":
		return e.Ph == "X" && !strings.HasPrefix(e.Name, "event_")
	}
	return false
}

// kinetoExpected says of each piece of work on a GPU whether a call of the
// process holds its correlation id, and if none does, whether it can be proved
// that it was launched before the trace began: its id is below that of every
// call, or it began on its stream before the first work whose call is known.
func kinetoExpected(t *testing.T, events []kinetoEvent) (map[string]int, map[string]int) {
	calls, callers, devices := map[int64]bool{}, map[string]bool{}, map[string]bool{}
	least := int64(math.MaxInt64)
	for i := range events {
		if events[i].work() {
			devices[fmt.Sprint(events[i].PID)] = true
		}
	}
	for i := range events {
		e := &events[i]
		if e.Ph != "X" || e.Cat != "cuda_runtime" && e.Cat != "cuda_driver" && e.Cat != "mtia_runtime" || devices[fmt.Sprint(e.PID)] {
			continue // what stands on a device's row is no call
		}
		callers[fmt.Sprint(e.PID)] = true
		if id := e.correlation(); id > 0 {
			calls[id] = true
			least = min(least, id)
		}
	}
	if len(callers) > 1 {
		t.Fatalf("calls of %d processes: to which of them work belongs is not known here", len(callers))
	}
	first := map[string]int64{}
	stream := func(e *kinetoEvent) string { return fmt.Sprint(e.PID, "/", e.Args.Stream) }
	for i := range events {
		e := &events[i]
		if e.work() && calls[e.correlation()] {
			at := nanos(t, e.TS)
			if f, ok := first[stream(e)]; !ok || at < f {
				first[stream(e)] = at
			}
		}
	}
	want, kernels := map[string]int{}, map[string]int{}
	for i := range events {
		e := &events[i]
		if !e.work() {
			continue
		}
		at, id := nanos(t, e.TS), e.correlation()
		how := "not_recorded"
		switch f, known := first[stream(e)]; {
		case calls[id]:
			how = "joined"
		case id > 0 && id < least, known && at < f:
			how = "before_start"
		}
		want[fmt.Sprintf("%s %d %s at %d for %d", how, id, e.Name, at, nanos(t, e.Dur))]++
		if e.Cat == "kernel" {
			kernels[how]++
		}
	}
	return want, kernels
}

// TestKinetoJoins: work on a GPU is joined with its call exactly where a call of
// the process holds its correlation id, and of the rest it is said exactly where
// it can be proved that it was launched before the trace began.
func TestKinetoJoins(t *testing.T) {
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "kineto" {
			continue
		}
		t.Run(row[1], func(t *testing.T) {
			want, kernels := kinetoExpected(t, kinetoEvents(t, row[1]))
			j := join(t, importtest.Shared(t, "traces", row[1]), chromejson.Kineto())
			reasons := map[correlate.ID]string{}
			for _, u := range j.rows.Unmatched {
				if u.SrcTable == "gpu_activities" && u.Link == "api_call" {
					reasons[u.SrcID] = u.Reason
				}
			}
			got := map[string]int{}
			for i := range j.rows.GPUActivities {
				g := &j.rows.GPUActivities[i]
				if g.Kind == "other" {
					continue
				}
				how := "joined"
				if g.APICallID == 0 {
					how = reasons[g.ID]
				}
				got[fmt.Sprintf("%s %d %s at %d for %d", how, g.CorrelationID.V, g.Name, g.StartNS.V, g.DurNS.V)]++
			}
			bad := 0
			for k, n := range want {
				if got[k] != n {
					if bad++; bad <= 3 {
						t.Errorf("%d, not %d: %s", got[k], n, k)
					}
				}
				delete(got, k)
			}
			for k, n := range got {
				if bad++; bad <= 6 {
					t.Errorf("%d, not 0: %s", n, k)
				}
			}
			if bad > 0 {
				t.Errorf("%d of %d kinds of work differ", bad, len(want))
			}
			t.Logf("kernels: %v", kernels)
		})
	}
}

// TestKinetoBusy: how long GPUs were busy is the union of their work, beside
// the sum of its durations, as counted in the file itself.
func TestKinetoBusy(t *testing.T) {
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "kineto" {
			continue
		}
		work := map[string][][2]int64{} // by device: from, to
		for _, e := range kinetoEvents(t, row[1]) {
			if e.work() {
				at := nanos(t, e.TS)
				d := fmt.Sprint(e.Args.Device)
				work[d] = append(work[d], [2]int64{at, at + nanos(t, e.Dur)})
			}
		}
		var want, got []string
		for _, list := range work {
			slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
			var sum, busy, end int64
			for _, w := range list {
				sum += w[1] - w[0]
				if from := max(w[0], end); w[1] > from {
					busy += w[1] - from
					end = w[1]
				}
			}
			want = append(want, fmt.Sprintf("%d pieces, sum %d, busy %d", len(list), sum, busy))
		}
		var rep struct {
			Devices []struct {
				By    string `json:"measured_by"`
				Count int    `json:"count"`
				Sum   int64  `json:"sum_ns"`
				Busy  int64  `json:"busy_ns"`
			} `json:"gpu_devices"`
		}
		if err := json.Unmarshal([]byte(must(t, "report", "--json", importtest.Shared(t, "traces", row[1]))), &rep); err != nil {
			t.Fatal(err)
		}
		for _, d := range rep.Devices {
			if d.By == "gpu_activities" {
				got = append(got, fmt.Sprintf("%d pieces, sum %d, busy %d", d.Count, d.Sum, d.Busy))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", row[1], got, want)
		}
	}
}
