package duckdb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/report"
	"github.com/gpurec/gpurec/record/event"
)

// lists says which view has the figures of a list of the report's JSON, and
// which columns tell its rows apart.
var lists = []struct {
	list, view string
	keys       []string
}{
	{"rings", "report_rings", []string{"device_id", "ring"}},
	{"submissions", "report_submissions", []string{"measured_by", "device_id", "ring", "process_id"}},
	{"gpu_devices", "report_devices", []string{"device_id", "measured_by"}},
	{"gpu_processes", "report_processes", []string{"process_id", "device_id", "measured_by"}},
	{"gpu_kernels", "report_kernels", []string{"measured_by", "name"}},
	{"api_calls", "report_api_calls", []string{"api", "name"}},
	{"api_processes", "report_api_processes", []string{"process_id"}},
	{"blocking_threads", "report_blocking_threads", []string{"process_id", "tid", "api", "name"}},
	{"ioctls", "report_ioctls", []string{"driver", "name", "role"}},
	{"failed_ioctls", "report_failed_ioctls", []string{"driver", "name", "role", "errno", "status"}},
	{"interrupts", "report_interrupts", []string{"device_id", "driver", "name"}},
	{"resets", "report_resets", []string{"device_id", "ring", "rule"}},
	{"memory", "report_memory", []string{"source", "process_id", "device_id"}},
}

// shown are the columns of views that stand elsewhere in the JSON: in stats.
var shown = map[string]bool{"gpu_kernels.sum_ns": true, "submissions.interval_count": true}

// reportJSON gives the report as its readers get it.
func reportJSON(t *testing.T, batches ...*correlate.Rows) map[string]any {
	t.Helper()
	b := report.NewBuilder("gpurec test")
	sum := &correlate.Summary{Start: event.NoTime, End: event.NoTime, Rows: map[string]uint64{}}
	for _, r := range batches {
		for _, m := range r.Metadata {
			switch v := int64(0); {
			case m.Key == "start_ns":
				fmt.Sscan(m.Value, &v)
				sum.Start = event.Time(v)
			case m.Key == "end_ns":
				fmt.Sscan(m.Value, &v)
				sum.End = event.Time(v)
			case m.Key == "exit_status":
				n := 0
				fmt.Sscan(m.Value, &n)
				sum.Meta.ExitStatus = event.Some(n)
			}
		}
		for _, table := range correlate.Tables {
			sum.Rows[table.Name] += uint64(table.Len(r))
		}
		if err := b.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.End(sum); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(b.Report())
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // integers exactly
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// same compares a value of the JSON with one of DuckDB: integers exactly,
// ratios to 1e-9, null with NULL, and "" with NULL.
func same(j, q any) bool {
	if s, ok := j.(string); ok && s == "" {
		j = nil
	}
	if j == nil || q == nil {
		return j == nil && q == nil
	}
	n, ok := j.(json.Number)
	if !ok {
		return j == q
	}
	if f, ok := q.(float64); ok {
		g, err := n.Float64()
		return err == nil && math.Abs(f-g) <= 1e-9
	}
	return n.String() == fmt.Sprint(q)
}

func key(row map[string]any, keys []string) string {
	var b strings.Builder
	for _, k := range keys {
		v := row[k]
		if v == "" {
			v = nil
		}
		fmt.Fprintf(&b, "%v|", v)
	}
	return b.String()
}

// named returns rows with the names of their columns.
func named(t *testing.T, db *sql.DB, q string) []map[string]any {
	t.Helper()
	names, rows := queryNames(t, db, q)
	var out []map[string]any
	for _, r := range rows {
		m := map[string]any{}
		for i, n := range names {
			m[n] = r[i]
		}
		out = append(out, m)
	}
	return out
}

// compare holds every list and every distribution of the report against the views.
func compare(t *testing.T, db *sql.DB, rep map[string]any) (figures int) {
	t.Helper()
	for _, l := range lists {
		want := map[string]map[string]any{}
		for _, r := range named(t, db, "SELECT * FROM "+l.view) {
			want[key(r, l.keys)] = r
		}
		found := 0
		for _, x := range rep[l.list].([]any) {
			x := x.(map[string]any)
			w := want[key(x, l.keys)]
			if w == nil {
				if l.list == "rings" && same(x["jobs"], int64(0)) || l.list == "submissions" {
					continue // a device without rings; a ring with one submission
				}
				t.Errorf("%s: the view has no row %s", l.list, key(x, l.keys))
				continue
			}
			found++
			for c, q := range w {
				if j, ok := x[c]; ok {
					figures++
					compared(l.list + "[]." + c)
					if !same(j, q) {
						t.Errorf("%s %s: %s is %v, the view says %v", l.list, key(x, l.keys), c, j, q)
					}
				} else if !shown[l.list+"."+c] {
					t.Errorf("%s: the JSON has no %s", l.list, c)
				}
			}
		}
		if found != len(want) {
			t.Errorf("%s has %d rows, %s has %d", l.list, found, l.view, len(want))
		}
	}
	figures += compareWhole(t, db, rep)
	unmatched := named(t, db, "SELECT * FROM unmatched_summary")
	if list := rep["unmatched"].([]any); len(list) != len(unmatched) {
		t.Errorf("%d lines of unmatched, the view has %d", len(list), len(unmatched))
	}
	for _, x := range rep["unmatched"].([]any) {
		x := x.(map[string]any)
		if !slices.ContainsFunc(unmatched, func(u map[string]any) bool {
			return same(x["table"], u["src_table"]) && same(x["link"], u["link"]) && same(x["reason"], u["reason"]) && same(x["count"], u["count"])
		}) {
			t.Errorf("the view lacks %v", x)
		}
		figures++
	}
	for _, f := range []string{"table", "link", "reason", "count"} {
		compared("unmatched[]." + f)
	}
	return figures + compareBursts(t, db, rep) + compareIdle(t, db, rep) + compareStats(t, db, rep) + compareBacklog(t, db, rep) + compareFindings(t, db, rep)
}

// compareBursts holds the regularity of bursts against the view.
func compareBursts(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	keys := []string{"measured_by", "device_id", "ring", "process_id"}
	want := map[string]map[string]any{}
	for _, r := range named(t, db, "SELECT * FROM report_bursts") {
		want[key(r, keys)] = r
	}
	for _, x := range rep["submissions"].([]any) {
		x := x.(map[string]any)
		b, _ := x["bursts"].(map[string]any)
		if b == nil {
			continue
		}
		w := want[key(x, keys)]
		delete(want, key(x, keys))
		b["interval_count"] = b["intervals"].(map[string]any)["count"]
		compared("submissions[].bursts.intervals.count")
		for _, f := range []string{"interval_count", "outlier_threshold_ns", "outliers", "outlier_excess_ns", "outlier_period_ns", "outlier_periodic"} {
			compared("submissions[].bursts." + f)
			if n++; w == nil || !same(b[f], w[f]) {
				t.Errorf("bursts %s: %s is %v, the view says %v", key(x, keys), f, b[f], w)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("the report lacks bursts: %v", want)
	}
	return n
}

func compareIdle(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	want := map[string]map[string]any{}
	keys := []string{"device_id", "ring", "cause"}
	for _, r := range named(t, db, "SELECT * FROM report_idle_causes") {
		want[key(r, keys)] = r
	}
	was := map[string]map[string]any{}
	for _, r := range named(t, db, "SELECT * FROM report_submitter_was") {
		was[key(r, []string{"device_id", "ring", "what"})] = r
	}
	for _, x := range rep["rings"].([]any) {
		x := x.(map[string]any)
		for _, c := range x["idle_by_cause"].([]any) {
			c := c.(map[string]any)
			c["device_id"], c["ring"] = x["device_id"], x["ring"]
			w := want[key(c, keys)]
			delete(want, key(c, keys))
			for _, f := range []string{"count", "sum_ns", "max_ns"} {
				compared("rings[].idle_by_cause[].cause")
				compared("rings[].idle_by_cause[]." + f)
				if n++; w == nil || !same(c[f], w[f]) {
					t.Errorf("idle %s: %s is %v, the view says %v", key(c, keys), f, c[f], w)
				}
			}
			list, _ := c["submitter_was"].([]any)
			for _, y := range list {
				y := y.(map[string]any)
				y["device_id"], y["ring"] = x["device_id"], x["ring"]
				k := key(y, []string{"device_id", "ring", "what"})
				if w := was[k]; w == nil || !same(y["count"], w["count"]) || !same(y["sum_ns"], w["sum_ns"]) {
					t.Errorf("submitter was %s: %v, the view says %v", k, y, w)
				}
				delete(was, k)
				for _, f := range []string{"what", "count", "sum_ns"} {
					compared("rings[].idle_by_cause[].submitter_was[]." + f)
				}
				n += 2
			}
		}
	}
	if len(want)+len(was) > 0 {
		t.Errorf("the report lacks idle time: %v %v", want, was)
	}
	return n
}

// distributions says where the JSON has those of a measure, and its keys there.
var distributions = []struct {
	measure, list, field string
	keys                 map[string]string // of the view: of the JSON
}{
	{"ring.submit_latency", "rings", "submit_latency", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"ring.queue_delay", "rings", "queue_delay", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"ring.dependency_wait", "rings", "dependency_wait", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"interrupt.time", "interrupts", "time", map[string]string{"device_id": "device_id", "family": "driver", "name": "name"}},
	{"ring.hw_queue", "rings", "hw_queue", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"ring.device_time", "rings", "device_time", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"ring.signal_latency", "rings", "signal_latency", map[string]string{"device_id": "device_id", "ring": "ring"}},
	{"submission.interval", "submissions", "intervals", map[string]string{"device_id": "device_id", "ring": "ring", "process_id": "process_id", "family": "measured_by"}},
	{"burst.interval", "submissions", "bursts.intervals", map[string]string{"device_id": "device_id", "ring": "ring", "process_id": "process_id", "family": "measured_by"}},
	{"kernel.time", "gpu_kernels", "time", map[string]string{"family": "measured_by", "name": "name"}},
	{"activity.time", "gpu_activities", "time", map[string]string{"family": "kind"}},
	{"api.time", "api_calls", "time", map[string]string{"family": "api", "name": "name"}},
	{"ioctl.time", "ioctls", "time", map[string]string{"family": "driver", "name": "name", "role": "role"}},
	{"launch.delay", "", "launch_delay", nil},
	{"fence_wait.time", "", "fence_waits", nil},
	{"fence_wait.wake", "", "fence_wake", nil},
}

func compareStats(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	all := []string{"measure", "process_id", "device_id", "ring", "family", "name", "role"}
	stats := map[string]map[string]any{}
	for _, r := range named(t, db, "SELECT * FROM report_stats") {
		stats[key(r, all)] = r
	}
	buckets := map[string][]map[string]any{}
	for _, r := range named(t, db, "SELECT * FROM report_histograms") {
		buckets[key(r, all)] = append(buckets[key(r, all)], r)
	}
	for _, d := range distributions {
		items := []any{rep}
		if d.list != "" {
			items = rep[d.list].([]any)
		}
		for _, x := range items {
			x := x.(map[string]any)
			row := map[string]any{"measure": d.measure}
			for q, j := range d.keys {
				row[q] = x[j]
			}
			k := key(row, all)
			path := d.field
			if d.list != "" {
				path = d.list + "[]." + d.field
			}
			for _, key := range d.keys {
				compared(d.list + "[]." + key)
			}
			in, field, nested := strings.Cut(d.field, ".")
			if !nested {
				in, field = "", d.field
			}
			if nested {
				if x, _ = x[in].(map[string]any); x == nil {
					continue
				}
			}
			n += compareDist(t, path, k, x[field].(map[string]any), stats[k], buckets[k])
			delete(stats, k)
		}
	}
	for k := range stats {
		t.Errorf("the report lacks the distribution %s", k)
	}
	return n
}

func compareDist(t *testing.T, path, k string, j, w map[string]any, buckets []map[string]any) (n int) {
	if w == nil {
		if !same(j["count"], int64(0)) {
			t.Errorf("%s: the view has no such distribution, the JSON %v", k, j)
		}
		return 0
	}
	for _, f := range []string{"count", "sum_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "max_id", "negative"} {
		q, v := w[f], j[f]
		if v == nil && f == "negative" || w["count"] == int64(0) && q == nil {
			v, q = json.Number("0"), orZero(q)
		}
		compared(path + "." + f)
		if n++; !same(v, q) {
			t.Errorf("%s: %s is %v, the view says %v", k, f, v, q)
		}
	}
	list, _ := j["histogram"].([]any)
	if len(list) != len(buckets) {
		t.Errorf("%s: %d buckets, the view has %d", k, len(list), len(buckets))
		return n
	}
	for i, b := range list {
		b := b.(map[string]any)
		for _, f := range []string{"from_ns", "to_ns", "count"} {
			compared(path + ".histogram[]." + f)
			if n++; !same(b[f], buckets[i][f]) {
				t.Errorf("%s: bucket %d: %s is %v, the view says %v", k, i, f, b[f], buckets[i][f])
			}
		}
	}
	return n
}

func orZero(v any) any {
	if v == nil {
		return int64(0)
	}
	return v
}

// runSQL runs the query of every finding: it finds something.
func runSQL(t *testing.T, db *sql.DB, rep map[string]any) {
	t.Helper()
	for _, f := range rep["findings"].([]any) {
		f := f.(map[string]any)
		if q := f["sql"].(string); len(query(t, db, q)) == 0 {
			t.Errorf("%v: nothing in %s", f["rule"], q)
		}
	}
}

// The report of rows made by hand, and of many random ones, is what the views compute.
func TestReportOfRows(t *testing.T) {
	for name, rows := range map[string]*correlate.Rows{"scene": scene(), "random": plausibleRows(rand.New(rand.NewPCG(31, 32)), 4000), "none": {}} {
		t.Run(name, func(t *testing.T) {
			rows.Metadata = []correlate.Metadata{{Key: "start_ns", Value: "0"}, {Key: "end_ns", Value: "9000000000"}}
			db := open(t, write(t, event.Meta{}, export.Options{}, rows))
			rep := reportJSON(t, rows)
			n := compare(t, db, rep)
			if name != "none" && n < 100 {
				t.Errorf("only %d figures compared", n)
			}
			runSQL(t, db, rep)
		})
	}
}

// plausibleRows makes rows as correlating gives them, with values missing,
// negative or equal here and there.
func plausibleRows(r *rand.Rand, n int) *correlate.Rows {
	rows := &correlate.Rows{Devices: []correlate.Device{{ID: 1}, {ID: 2, Index: 1}}, Processes: []correlate.Process{{ID: 1, PID: num(10), Name: "a"}, {ID: 2, PID: num(20)}}}
	id := func(i int) correlate.ID { return correlate.ID(i + 1) }
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	maybe := func(v int64) correlate.OptInt {
		if r.IntN(20) == 0 {
			return correlate.OptInt{}
		}
		return num(v)
	}
	dur := func() int64 {
		return []int64{0, -r.Int64N(50), r.Int64N(100), r.Int64N(1e6), r.Int64N(1e9), 1 << r.IntN(40)}[r.IntN(6)]
	}
	at := int64(0)
	for i := range n {
		if at += r.Int64N(1e5); r.IntN(40) == 0 {
			at += 20e6
		}
		d := r.Int64N(1e6)
		j := correlate.Job{ID: id(i), DeviceID: correlate.ID(r.IntN(3)), Ring: pick("gfx", "sdma", ""), ProcessID: correlate.ID(r.IntN(3)), QueuedNS: ts(at),
			RunNS: ts(at + 10), DeviceStartNS: ts(at + 20), DoneNS: ts(at + 20 + d), FinishedNS: ts(at + 20 + d + dur()%1000), DeviceTimeNS: num(d),
			QueueDelayNS: maybe(dur()), HWQueueNS: maybe(dur()), SubmitNS: maybe(dur()), DepWaitNS: maybe(max(dur(), 0)), Fate: pick("", "", "guilty", "cancelled", "rerun"), KernelName: pick("", "k1", "k2"), EndKind: "done", Runs: int64(r.IntN(10)/8) + 1}
		switch r.IntN(12) {
		case 0:
			j.RunNS, j.DoneNS, j.DeviceStartNS, j.DeviceTimeNS, j.EndKind = correlate.OptTime{}, correlate.OptTime{}, correlate.OptTime{}, correlate.OptInt{}, pick("open", "killed", "lost")
		case 1:
			j.DoneNS, j.FinishedNS, j.DeviceTimeNS, j.EndKind = correlate.OptTime{}, correlate.OptTime{}, correlate.OptInt{}, "open"
		case 2:
			j.QueuedNS, j.Error = correlate.OptTime{}, num(-62)
		}
		rows.Jobs = append(rows.Jobs, j)
		a := correlate.GPUActivity{ID: id(i), Kind: pick("kernel", "memcpy", "other"), Name: pick("k1", "k3", "it's"), DeviceID: correlate.ID(r.IntN(3)), ProcessID: correlate.ID(r.IntN(3)),
			StartNS: ts(at), EndNS: ts(at + d*4), DurNS: num(d * 4), LaunchNS: maybe(dur())}
		rows.GPUActivities = append(rows.GPUActivities, a)
		c := correlate.APICall{ID: id(i), ProcessID: correlate.ID(r.IntN(3)), TID: maybe(int64(r.IntN(3))), API: pick("hip", ""), BaseName: pick("x", "y", "z"), DurNS: maybe(dur()), SelfNS: maybe(dur()),
			EndKind: pick("returned", "open", "not_probed"), Result: maybe([]int64{0, 0, 1, 600}[r.IntN(4)]), StartNS: ts(at), EndNS: ts(at + 5)}
		c.Class = map[string]string{"x": "alloc", "y": "free", "z": "sync"}[c.BaseName]
		c.Blocking = event.Some(c.BaseName != "x")
		c.Address, c.Bytes = un(uint64(r.IntN(30))), un(uint64(r.IntN(1e6)))
		if r.IntN(5) == 0 {
			c.SameAsID = 1
		}
		if r.IntN(3) == 0 {
			c.ParentID = 1
		}
		rows.APICalls = append(rows.APICalls, c)
		o := correlate.Ioctl{ID: id(i), Driver: pick("amdgpu", ""), Name: pick("CS", "WAIT"), Role: pick("submit", "wait"), DurNS: maybe(dur()), StartNS: ts(at)}
		if r.IntN(4) == 0 {
			o.Errno = num([]int64{0, 12, 62}[r.IntN(3)])
		}
		if r.IntN(4) == 0 {
			o.Status = un(uint64(r.IntN(3)))
		}
		rows.Ioctls = append(rows.Ioctls, o)
		rows.FenceWaits = append(rows.FenceWaits, correlate.FenceWait{ID: id(i), WaitNS: maybe(dur()), WakeNS: maybe(dur()), StartNS: ts(at), EndNS: ts(at + 1), TimedOut: []correlate.OptBool{{}, event.Some(true), event.Some(false)}[r.IntN(3)]})
		rows.MemMaps = append(rows.MemMaps, correlate.MemMap{ID: id(i), ProcessID: correlate.ID(r.IntN(3)), DeviceID: correlate.ID(r.IntN(2)), Op: pick("map", "unmap"), TSNS: ts(at), Address: un(uint64(r.IntN(200))), Bytes: un(r.Uint64N(1e6))})
		rows.IdleGaps = append(rows.IdleGaps, correlate.IdleGap{DeviceID: correlate.ID(r.IntN(2)), Ring: pick("gfx", "sdma"), StartNS: ts(at), EndNS: ts(at + d), Cause: pick("nothing_submitted", "dependency"), SubmitterWas: pick("", "waiting for fence 4:1", "waiting for fence 4:2", "off CPU")})
		irq := correlate.IRQ{DeviceID: correlate.ID(r.IntN(3)), Driver: pick("amdgpu", ""), Name: pick("amdgpu", "amdgpu-1"), StartNS: ts(at), EndNS: ts(at + dur()%5000)}
		if r.IntN(10) == 0 {
			irq.EndNS = correlate.OptTime{}
		}
		rows.IRQs = append(rows.IRQs, irq)
		if r.IntN(100) == 0 {
			rows.Losses = append(rows.Losses, correlate.Loss{ID: id(len(rows.Losses)), Stream: pick("bpf", "ftrace"), CPU: maybe(int64(r.IntN(4))), StartNS: ts(at), Remedy: "do"})
			if r.IntN(2) == 0 {
				rows.Losses[len(rows.Losses)-1].Count = un(uint64(r.IntN(1000)))
			}
			rows.Anomalies = append(rows.Anomalies, correlate.AnomalyRow{Name: pick("odd", "lost"), Severity: "warning", Count: uint64(r.IntN(9)), Doc: "what", Sample: pick("", "line 3")})
			rows.LogLines = append(rows.LogLines, correlate.LogLine{TSNS: ts(at), Text: "Xid 31"})
		}
		if r.IntN(100) == 0 {
			rows.Resets = append(rows.Resets, correlate.Reset{ID: id(len(rows.Resets)), DeviceID: correlate.ID(r.IntN(2)), Ring: pick("gfx", ""), Rule: pick("source", "inferred"), TSNS: ts(at)})
		}
	}
	seen := map[string]bool{}
	for _, j := range rows.Jobs {
		if k := fmt.Sprint(j.DeviceID, j.Ring); !seen[k] && r.IntN(4) > 0 {
			seen[k] = true
			rows.Rings = append(rows.Rings, correlate.Ring{ID: id(len(rows.Rings)), DeviceID: j.DeviceID, Ring: j.Ring, Jobs: 5, Done: 4, MaxBacklog: 3, BusyNS: maybe(r.Int64N(1e9)), IdleNS: num(r.Int64N(1e9))})
		}
	}
	return rows
}
