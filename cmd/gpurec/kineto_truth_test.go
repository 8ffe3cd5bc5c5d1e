package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// TestTraceJSONReports joins small traces that public reports say were read wrong.
func TestTraceJSONReports(t *testing.T) {
	const kernel = `{"ph":"X","cat":"kernel","pid":0,"tid":7,`
	for _, c := range []struct {
		story, trace string
		check        func(j *joined) string
		want         string
	}{
		{"kernels that overlap on one stream both count, with their own durations",
			`[` + kernel + `"name":"a","ts":0.5,"dur":10,"args":{"stream":7,"correlation":1}},` + kernel + `"name":"b","ts":5,"dur":10,"args":{"stream":7,"correlation":2}}]`,
			activities, "a 500+10000 alone; b 5000+10000 alone"},
		{"a duration that runs over the next kernels is kept as it is",
			`[` + kernel + `"name":"a","ts":1,"dur":1600000,"args":{"stream":7}},` + kernel + `"name":"b","ts":10,"dur":5,"args":{"stream":7}}]`,
			activities, "b 10000+5000 alone; a 1000+1600000000 alone"},
		{"a kernel without times is outside of the extent",
			`[` + kernel + `"name":"a","ts":0,"dur":0,"args":{"stream":7}},` + kernel + `"name":"b","ts":10,"dur":5,"args":{"stream":7}}]`,
			func(j *joined) string { return fmt.Sprint(j.summary.Start, j.summary.End) }, "10000 15000"},
		{"times of metadata are outside of the extent",
			`[{"ph":"M","pid":1,"tid":1,"ts":0,"name":"thread_name","args":{"name":"t"}},{"ph":"i","pid":1,"tid":1,"ts":520451593556,"name":"x"}]`,
			func(j *joined) string { return fmt.Sprint(j.summary.Start, j.summary.End) }, "520451593556000 520451593556000"},
		{"an end and the next begin of one instant: the order in the file decides",
			`[{"ph":"B","pid":1,"tid":1,"ts":0,"name":"Event5"},{"ph":"E","pid":1,"tid":1,"ts":283},{"ph":"B","pid":1,"tid":1,"ts":283,"name":"Event6"},{"ph":"E","pid":1,"tid":1,"ts":347}]`,
			ranges, "Event5 0+283000 in -; Event6 283000+64000 in -"},
		{"of two ranges that begin together the longer is the parent",
			`[{"ph":"X","pid":1,"tid":1,"ts":10,"dur":5,"name":"short"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":50,"name":"long"}]`,
			ranges, "long 10000+50000 in -; short 10000+5000 in long"},
		{"an end of another name closes the innermost, one too many none",
			`[{"ph":"B","pid":1,"tid":1,"ts":0,"name":"alpha"},{"ph":"B","pid":1,"tid":1,"ts":1,"name":"beta"},{"ph":"E","pid":1,"tid":1,"ts":2,"name":"gamma"},{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":4}]`,
			ranges, "alpha 0+3000 in -; beta 1000+1000 in alpha"},
		{"ranges of one id lie in each other",
			`[{"ph":"b","pid":1,"tid":1,"ts":0,"cat":"c","id":"0x1","name":"out"},{"ph":"b","pid":1,"tid":1,"ts":1,"cat":"c","id":"0x1","name":"in"},{"ph":"e","pid":1,"tid":2,"ts":2,"cat":"c","id":"0x1","name":"in"},{"ph":"e","pid":1,"tid":2,"ts":5,"cat":"c","id":"0x1","name":"out"}]`,
			ranges, "in 1000+1000 in -; out 0+5000 in -"},
		{"an end belongs to the range of its name, and one without to none",
			`[{"ph":"b","pid":1,"tid":1,"ts":0,"cat":"c","id":1,"name":"out"},{"ph":"b","pid":1,"tid":1,"ts":1,"cat":"c","id":1,"name":"no end"},{"ph":"e","pid":1,"tid":1,"ts":2,"cat":"c","id":1,"name":"no begin"},{"ph":"e","pid":1,"tid":1,"ts":5,"cat":"c","id":1,"name":"out"},{"ph":"b","pid":1,"tid":1,"ts":6,"cat":"c","id":1,"name":"next"},{"ph":"e","pid":1,"tid":1,"ts":8,"cat":"c","id":1}]`,
			ranges, "next 6000+2000 in -; no end 1000+0 in -; out 0+5000 in -"},
		{"local ids of two processes are two",
			`[{"ph":"b","pid":1,"tid":1,"ts":0,"cat":"c","id2":{"local":"0x1"},"name":"a"},{"ph":"b","pid":2,"tid":2,"ts":1,"cat":"c","id2":{"local":"0x1"},"name":"b"},{"ph":"e","pid":1,"tid":1,"ts":2,"cat":"c","id2":{"local":"0x1"},"name":"a"},{"ph":"e","pid":2,"tid":2,"ts":5,"cat":"c","id2":{"local":"0x1"},"name":"b"}]`,
			ranges, "a 0+2000 in -; b 1000+4000 in -"},
		{"a global id is one in all processes",
			`[{"ph":"b","pid":1,"tid":1,"ts":0,"cat":"c","id2":{"global":"x"},"name":"a"},{"ph":"e","pid":2,"tid":2,"ts":2,"cat":"c","id2":{"global":"x"},"name":"a"}]`,
			ranges, "a 0+2000 in -"},
		{"a launch is known by its correlation id, not by its name",
			`[{"ph":"X","cat":"cuda_driver","pid":9,"tid":9,"ts":1,"dur":2,"name":"cuLaunchSomethingNew","args":{"correlation":4}},` + kernel + `"name":"k","ts":10,"dur":5,"args":{"stream":7,"correlation":4}}]`,
			activities, "k 10000+5000 by cuLaunchSomethingNew"},
		{"one graph launch, many kernels",
			`[{"ph":"X","cat":"cuda_runtime","pid":9,"tid":9,"ts":1,"dur":2,"name":"hipGraphLaunch","args":{"correlation":4}},` + kernel + `"name":"k","ts":10,"dur":5,"args":{"stream":7,"correlation":4}},` + kernel + `"name":"l","ts":20,"dur":5,"args":{"stream":7,"correlation":4}}]`,
			activities, "k 10000+5000 by hipGraphLaunch; l 20000+5000 by hipGraphLaunch"},
		{"one correlation id on calls that have nothing to do with each other joins nothing",
			`[{"ph":"X","cat":"cuda_runtime","pid":9,"tid":9,"ts":1,"dur":1,"name":"hipMemcpyAsync","args":{"correlation":4}},{"ph":"X","cat":"cuda_runtime","pid":9,"tid":9,"ts":3,"dur":1,"name":"hipMemcpyAsync","args":{"correlation":4}},` +
				`{"ph":"X","cat":"gpu_memcpy","pid":0,"tid":1,"name":"c","ts":10,"dur":5,"args":{"stream":1,"correlation":4}},{"ph":"X","cat":"gpu_memcpy","pid":0,"tid":2,"name":"d","ts":11,"dur":5,"args":{"stream":2,"correlation":4}}]`,
			activities, "c 10000+5000 alone; d 11000+5000 alone"},
		{"the wait of the host is no work of the device",
			`[{"ph":"X","cat":"cuda_sync","pid":0,"tid":7,"ts":1,"dur":9,"name":"Stream Sync","args":{"stream":7,"correlation":4}}]`,
			func(j *joined) string { return activities(j) + ranges(j) }, "Stream Sync 1000+9000 in -"},
	} {
		path := filepath.Join(t.TempDir(), "trace.json")
		if err := os.WriteFile(path, []byte(c.trace), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.check(join(t, path, chromejson.Format())); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.story, got, c.want)
		}
	}
}

// activities shows the work of devices, each with the call that led to it.
func activities(j *joined) string {
	names := map[correlate.ID]string{0: "alone"}
	for _, c := range j.rows.APICalls {
		names[c.ID] = "by " + c.Name
	}
	var l []string
	for _, g := range j.rows.GPUActivities {
		l = append(l, fmt.Sprintf("%s %d+%d %s", g.Name, g.StartNS.V, g.DurNS.V, names[g.APICallID]))
	}
	return strings.Join(l, "; ")
}

// ranges shows slices, each with the one that it lies in.
func ranges(j *joined) string {
	names := map[correlate.ID]string{0: "-"}
	for _, s := range j.rows.Slices {
		names[s.ID] = s.Name
	}
	var l []string
	for _, s := range j.rows.Slices {
		l = append(l, fmt.Sprintf("%s %d+%d in %s", s.Name, s.StartNS.V, s.DurNS.V, names[s.ParentID]))
	}
	slices.Sort(l)
	return strings.Join(l, "; ")
}
