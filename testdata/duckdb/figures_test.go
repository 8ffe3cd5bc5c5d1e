package duckdb

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/report"
	"github.com/gpurec/gpurec/record/event"
)

// comparedPaths are the figures of the report's JSON that were held against a view.
var comparedPaths sync.Map

func compared(path string) { comparedPaths.Store(path, true) }

// withoutView says why parts of the report's JSON have no view: they are no
// figures, or the table itself has them.
var withoutView = map[string]string{
	"tool":                       "names the program",
	"command":                    "metadata has it",
	"clock":                      "metadata has it",
	"rows_without_own_line":      "a bound of the report; views have none",
	"not_known[].what":           "a sentence",
	"not_known[].why":            "a sentence",
	"not_known[].remedy":         "a sentence",
	"findings[].text":            "a sentence",
	"findings[].start_ns":        "where to look: the rows of its query",
	"findings[].end_ns":          "where to look: the rows of its query",
	"findings[].process_ids":     "who to look at: the rows of its query",
	"findings[].processes":       "who to look at: the rows of its query",
	"findings[].perfetto_search": "what to type",
	"findings[].explain":         "what to type",
	"findings[].sql":             "the query itself, which is run",
	"failed_ioctls[].error":      "errno in words",
}

// namesOfRows are names of devices and processes beside their ids, and marks
// of figures that only a view has exactly.
var namesOfRows = []string{".gpu", ".pid", ".process", ".approximate", ".backlog_approximate"}

// leaves lists the paths of the values that a JSON form has.
func leaves(t reflect.Type, path string) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return leaves(t.Elem(), path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return leaves(t.Elem(), path+"[]")
		}
	case reflect.Struct:
		var out []string
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				out = append(out, leaves(f.Type, path)...)
			case name != "" && name != "-":
				out = append(out, leaves(f.Type, strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
		return out
	}
	return []string{path}
}

// Every figure of the report's JSON is one that a view computes, and that was
// held against it.
func TestEveryFigureHasAView(t *testing.T) {
	rows := plausibleRows(rand.New(rand.NewPCG(61, 62)), 3000)
	rows.Metadata = []correlate.Metadata{{Key: "start_ns", Value: "0"}, {Key: "end_ns", Value: "9000000000"}, {Key: "exit_status", Value: "3"}}
	db := open(t, write(t, event.Meta{}, export.Options{}, rows))
	compare(t, db, reportJSON(t, rows))
	paths := leaves(reflect.TypeFor[report.Report](), "")
	if len(paths) < 150 {
		t.Fatalf("only %d paths", len(paths))
	}
	for _, p := range paths {
		_, ok := comparedPaths.Load(p)
		named := slices.ContainsFunc(namesOfRows, func(s string) bool { return strings.HasSuffix(p, s) })
		if !ok && !named && withoutView[p] == "" {
			t.Errorf("no view computes %s", p)
		}
	}
	for p := range maps.Keys(withoutView) {
		if !slices.Contains(paths, p) {
			t.Errorf("the JSON has no %s", p)
		}
	}
}

// compareWhole compares what is of the whole run.
func compareWhole(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	one := func(path string, got any, q string) {
		t.Helper()
		compared(path)
		var want any
		if rows := query(t, db, q); len(rows) > 0 {
			want = rows[0][0]
		}
		if want == nil && same(got, int64(0)) {
			want = int64(0) // no row: none
		}
		if n++; !same(got, want) {
			t.Errorf("%s is %v, %s says %v", path, got, q, want)
		}
	}
	one("fence_waits_timed_out", rep["fence_waits_timed_out"], "SELECT fence_waits_timed_out FROM report_waits")
	if _, ok := rep["exit_status"]; ok {
		one("exit_status", rep["exit_status"], "SELECT value::BIGINT FROM metadata WHERE key = 'exit_status'")
	}
	for _, f := range []string{"start_ns", "end_ns", "time_resolution_ns"} {
		if rep["start_ns"] == nil && f == "time_resolution_ns" {
			continue // no times at all
		}
		one(f, rep[f], "SELECT "+f+" FROM report_run")
	}
	for _, f := range []string{"gaps", "events", "gaps_of_unknown_size"} {
		one("lost."+f, rep["lost"].(map[string]any)[f], "SELECT "+f+" FROM report_lost")
	}
	counted := rep["rows"].(map[string]any)
	for _, table := range correlate.Tables {
		if got, ok := counted[table.Name]; ok {
			one("rows", got, "SELECT count(*) FROM "+table.Name)
		}
	}
	for list, fields := range map[string][]string{"losses": {"stream", "cpu", "count", "remedy"}, "anomalies": {"name", "severity", "count", "doc", "remedy", "sample"}} {
		want := query(t, db, "SELECT "+strings.Join(fields, ", ")+" FROM "+list)
		got := rep[list].([]any)
		if len(got) != len(want) {
			t.Errorf("%d %s, the table has %d", len(got), list, len(want))
			continue
		}
		for i, x := range got {
			for k, f := range fields {
				compared(list + "[]." + f)
				if n++; !same(x.(map[string]any)[f], want[i][k]) {
					t.Errorf("%s %d: %s is %v, the table has %v", list, i, f, x.(map[string]any)[f], want[i][k])
				}
			}
		}
	}
	return n
}

// compareBacklog compares how long rings had how many jobs.
func compareBacklog(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	want := map[string]any{}
	for _, r := range named(t, db, "SELECT * FROM report_backlog WHERE ns > 0") {
		want[key(r, []string{"device_id", "ring", "jobs"})] = r["ns"]
	}
	for _, x := range rep["rings"].([]any) {
		x := x.(map[string]any)
		for _, s := range x["backlog_time"].([]any) {
			s := s.(map[string]any)
			k := key(map[string]any{"device_id": x["device_id"], "ring": x["ring"], "jobs": s["jobs"]}, []string{"device_id", "ring", "jobs"})
			compared("rings[].backlog_time[].jobs")
			compared("rings[].backlog_time[].ns")
			if n++; !same(s["ns"], want[k]) {
				t.Errorf("backlog %s: %v ns, the view says %v", k, s["ns"], want[k])
			}
			delete(want, k)
		}
	}
	if len(want) > 0 {
		t.Errorf("the report lacks backlog: %v", want)
	}
	return n
}

// without returns what of one list the other lacks.
func without(list, other []string) (out []string) {
	other = slices.Clone(other)
	for _, l := range list {
		if i := slices.Index(other, l); i >= 0 {
			other = slices.Delete(other, i, i+1)
		} else {
			out = append(out, l)
		}
	}
	return out
}

// compareFindings compares what stands out, in its order.
func compareFindings(t *testing.T, db *sql.DB, rep map[string]any) (n int) {
	// Which GPU is the least busy the view does not say.
	line := func(f map[string]any) string {
		device := f["device_id"]
		if f["rule"] == "gpu_imbalance" || device == nil {
			device = "-"
		}
		ring := f["ring"]
		if ring == "" || ring == nil {
			ring = "-"
		}
		v := fmt.Sprintf("%.9v", f["value"])
		var x float64
		if _, err := fmt.Sscan(fmt.Sprint(f["value"]), &x); err == nil {
			v = fmt.Sprintf("%.9g", x)
		}
		return fmt.Sprintf("%v %v device %v ring %v: %s %v, %v ns", f["level"], f["rule"], device, ring, v, f["unit"], f["cost_ns"])
	}
	var got, want []string
	for _, f := range rep["findings"].([]any) {
		got = append(got, line(f.(map[string]any)))
	}
	for _, f := range named(t, db, "SELECT * FROM report_findings") {
		want = append(want, line(f))
	}
	for _, f := range []string{"level", "rule", "device_id", "ring", "value", "unit", "cost_ns"} {
		compared("findings[]." + f)
	}
	for _, l := range without(got, want) {
		t.Errorf("report_findings lacks %s", l)
	}
	for _, l := range without(want, got) {
		t.Errorf("the report lacks %s", l)
	}
	return len(got) * 4
}
