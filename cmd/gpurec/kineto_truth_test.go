package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/chromejson"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// TestKinetoTruths compares what becomes of PyTorch traces, imported and
// correlated, with what was counted in them. What the files hold before
// correlation is compared by the importer's own test.
func TestKinetoTruths(t *testing.T) {
	met, failed, importer := 0, 0, 0
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "kineto" {
			continue
		}
		j := join(t, importtest.Shared(t, "traces", row[1]), chromejson.Kineto())
		answers := kinetoAnswers(j)
		for _, truth := range importtest.Truths(t, row[1]) {
			what, want := truth[0], truth[1]
			got, ok := answers[what]
			switch {
			case !ok && (what == "events" || strings.HasPrefix(what, "ph ") || strings.HasPrefix(what, "X cat ") || strings.HasPrefix(what, "flow ")):
				importer++
			case !ok:
				failed++
				t.Errorf("%s: nothing answers %q", row[1], what)
			case got != want && !sameMicros(got, want):
				failed++
				t.Errorf("%s: %s: %s, want %s", row[1], what, got, want)
			default:
				met++
			}
		}
	}
	t.Logf("%d truths met, %d failed; %d are of the file alone (tested with the importer); not expressible: 0", met, failed, importer)
}

// kinetoAnswers computes from rows what the truths say of the file.
func kinetoAnswers(j *joined) map[string]string {
	a := map[string]string{}
	num := func(what string, n int) { a[what] = strconv.Itoa(n) }
	calls := map[correlate.ID]*correlate.APICall{}
	for i := range j.rows.APICalls {
		calls[j.rows.APICalls[i].ID] = &j.rows.APICalls[i]
	}
	num("runtime/driver calls", len(calls))
	var kernels, work []*correlate.GPUActivity
	kinds := map[string]int{}
	for i := range j.rows.GPUActivities {
		g := &j.rows.GPUActivities[i]
		kinds[g.Kind]++
		work = append(work, g)
		if g.Kind == event.ActivityKernel.String() {
			kernels = append(kernels, g)
		}
	}
	num("kernels", len(kernels))
	num("memcpy", kinds["memcpy"])
	num("memset", kinds["memset"])
	kernelTimes(a, kernels)
	launches(num, a, kernels, calls)
	overlap, busy := rows(work)
	num("GPU events starting before an earlier one on the same track ended", overlap)
	a["GPU busy union us (all devices together)"] = micros(busy)
	return a
}

// kernelTimes sums up kernels by name.
func kernelTimes(a map[string]string, kernels []*correlate.GPUActivity) {
	sum, zero := int64(0), 0
	first, last := event.Time(math.MaxInt64), event.Time(math.MinInt64)
	byName, tracks := map[string]int64{}, map[string]bool{}
	var order []string
	for _, k := range kernels {
		if _, ok := byName[k.Name]; !ok {
			order = append(order, k.Name)
		}
		sum += k.DurNS.V
		byName[k.Name] += k.DurNS.V
		tracks[fmt.Sprint(k.DeviceID, k.Stream)] = true
		first, last = min(first, k.StartNS.V), max(last, k.EndNS.V)
		if k.DurNS.V == 0 {
			zero++
		}
	}
	a["kernel dur sum us"] = micros(sum)
	a["kernel distinct names"] = strconv.Itoa(len(byName))
	a["kernel tracks (pid,tid)"] = strconv.Itoa(len(tracks))
	a["kernels dur 0"] = strconv.Itoa(zero)
	if len(kernels) == 0 {
		return
	}
	top := slices.MaxFunc(order, func(x, y string) int { return cmp.Compare(byName[x], byName[y]) })
	a["top kernel by time"] = strings.TrimSpace(top[:min(len(top), 120)])
	a["top kernel time us"] = micros(byName[top])
	a["first kernel ts"] = micros(int64(first))
	a["last kernel end"] = micros(int64(last))
}

// launches looks at the calls that kernels were joined with.
func launches(num func(string, int), a map[string]string, kernels []*correlate.GPUActivity, calls map[correlate.ID]*correlate.APICall) {
	with, none, early := 0, 0, 0
	shared := map[int64]int{}
	least := int64(math.MaxInt64)
	for _, k := range kernels {
		if !k.CorrelationID.OK || k.CorrelationID.V <= 0 {
			none++
		} else {
			shared[k.CorrelationID.V]++
		}
		c := calls[k.APICallID]
		if c == nil {
			continue
		}
		with++
		delay := int64(k.StartNS.V - c.StartNS.V)
		least = min(least, delay)
		if delay < 0 {
			early++
		}
	}
	several := 0
	for _, n := range shared {
		if n > 1 {
			several++
		}
	}
	num("kernels with runtime call of same correlation", with)
	num("kernels without", len(kernels)-with)
	num("kernels with correlation 0/none/-1", none)
	num("correlations shared by >1 kernel", several)
	num("kernels starting before launch", early)
	a["min (kernel.ts - launch.ts) us"] = micros(least)
}

// rows counts work that overlaps work before it on its stream, and the time in
// which anything ran.
func rows(work []*correlate.GPUActivity) (overlap int, busy int64) {
	slices.SortStableFunc(work, func(x, y *correlate.GPUActivity) int { return cmp.Compare(x.StartNS.V, y.StartNS.V) })
	ends := map[string]event.Time{}
	end := event.Time(math.MinInt64)
	for _, g := range work {
		if g.Kind == event.ActivityOther.String() {
			continue
		}
		key := fmt.Sprint(g.DeviceID, g.Stream)
		if e, ok := ends[key]; ok && g.StartNS.V < e {
			overlap++
		}
		ends[key] = max(ends[key], g.EndNS.V)
		if from := max(end, g.StartNS.V); g.EndNS.V > from {
			busy += int64(g.EndNS.V - from)
			end = g.EndNS.V
		}
	}
	return overlap, busy
}

// micros writes nanoseconds as microseconds.
func micros(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// sameMicros compares decimals that differ in trailing zeros at most.
func sameMicros(a, b string) bool {
	trim := func(s string) string {
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	return trim(a) == trim(b)
}
