package duckdb

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Runs that lie side by side under host=/run= read as one table, to which
// DuckDB adds both columns.
func TestManyRunsReadAsOne(t *testing.T) {
	gpurec := build(t)
	root := filepath.Join(t.TempDir(), "data")
	log := "../demo/demo.gpurec"
	one := filepath.Join(root, "one")
	gpurec("export", log, "-o", filepath.Join(root, "host=node1", "run={run}")+"/")
	gpurec("export", log, "-o", filepath.Join(root, "host=node2", "run=a{run}")+"/")
	gpurec("export", log, "-o", filepath.Join(root, "host=node2", "run=b")+"/", "--include", "jobs")
	gpurec("export", log, "-o", one+"/")
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	table := func(name string) string {
		return fmt.Sprintf("read_parquet('%s/host=*/run=*/%s.parquet', hive_partitioning = true)", strings.ReplaceAll(root, "'", "''"), name)
	}
	alone := func(name string) int64 {
		return query(t, db, "SELECT count(*) FROM '"+strings.ReplaceAll(one, "'", "''")+"/"+name+".parquet'")[0][0].(int64)
	}
	jobs, calls := alone("jobs"), alone("api_calls")
	if jobs == 0 || calls == 0 {
		t.Fatal("the demo is empty")
	}
	got := fmt.Sprint(query(t, db, "SELECT host, run, count(*) FROM "+table("jobs")+" GROUP BY ALL ORDER BY ALL"))
	if want := fmt.Sprintf("[[node1 demo %d] [node2 ademo %d] [node2 b %d]]", jobs, jobs, jobs); got != want {
		t.Errorf("jobs %s, not %s", got, want)
	}
	got = fmt.Sprint(query(t, db, "SELECT count(*), count(DISTINCT (host, run)) FROM "+table("api_calls")))
	if want := fmt.Sprintf("[[%d 2]]", 2*calls); got != want {
		t.Errorf("calls %s, not %s", got, want)
	}
	// Ids are those of a run: a join names host and run besides.
	got = fmt.Sprint(query(t, db, "SELECT count(*) FROM "+table("jobs")+" j JOIN "+table("api_calls")+" c ON c.id = j.api_call_id AND c.host = j.host AND c.run = j.run"))
	within := query(t, db, "SELECT count(api_call_id) FROM '"+strings.ReplaceAll(one, "'", "''")+"/jobs.parquet'")[0][0].(int64)
	if want := fmt.Sprintf("[[%d]]", 2*within); got != want || within == 0 {
		t.Errorf("joined %s, not %s", got, want)
	}
	// Every table can be read so, those that have a column host of their own too.
	for _, name := range []string{"processes", "devices", "links", "metadata", "idle_gaps"} {
		got := query(t, db, "SELECT count(*), count(DISTINCT host) FROM "+table(name))[0]
		if got[0] == int64(0) || got[1] != int64(2) {
			t.Errorf("%s: %v rows of %v hosts", name, got[0], got[1])
		}
	}
	// One host is read alone: the others' files are not opened.
	plan := fmt.Sprint(query(t, db, "EXPLAIN ANALYZE SELECT max(queued_ns) FROM "+table("jobs")+" WHERE host = 'node1'"))
	if !strings.Contains(plan, "1/3") {
		t.Errorf("the plan opens more than one file of three:\n%s", plan)
	}
}

// Two runs with equal ids in one dataset: each view is of the run that the
// variable names, in one session, and no view takes both for one run.
func TestViewsDoNotMixRuns(t *testing.T) {
	gpurec := build(t)
	root := t.TempDir()
	event := func(at, name, ring string) string {
		return fmt.Sprintf("           app-10    (    9) [000] .....     1.%s: %s: entity=ff11000004066800, id=1, fence=ff11000004886340, ring=%s, job count:0, hw job count:0\n", at, name, ring)
	}
	for run, head := range map[string]string{"a": event("000100", "drm_sched_job", "gfx") + event("000130", "drm_run_job", "gfx"), "b": event("000100", "drm_sched_job", "gfx") + event("000190", "drm_run_job", "gfx") + event("000500", "drm_sched_job", "sdma")} {
		trace := filepath.Join(root, run+".txt")
		writeText(t, trace, "# tracer: nop\n"+head)
		gpurec("convert", trace, filepath.Join(root, "data", "host=node1", "run={run}")+"/")
	}
	dir := func(run string) string { return filepath.Join(root, "data", "host=node1", "run="+run) }
	db := open(t, dir("a"))
	alone := map[string]map[string]string{}
	for _, run := range []string{"a", "b"} {
		alone[run] = map[string]string{}
		one := open(t, dir(run))
		for _, v := range views(t) {
			alone[run][v] = sortedRows(t, one, v)
		}
	}
	if alone["a"]["report_rings"] == alone["b"]["report_rings"] || alone["a"]["report_stats"] == alone["b"]["report_stats"] {
		t.Fatal("the runs do not differ")
	}
	for _, r := range []string{"b", "a"} {
		run(t, db, "SET VARIABLE gpurec_dir = '"+dir(r)+"'")
		for v, want := range alone[r] {
			if got := sortedRows(t, db, v); got != want {
				t.Errorf("%s of run %s is %s, alone it is %s", v, r, got, want)
			}
		}
	}
	// A directory's name adds no columns.
	if got := fmt.Sprint(query(t, db, "SELECT count(*) FROM (DESCRIBE jobs) WHERE column_name IN ('host', 'run')")); got != "[[0]]" {
		t.Errorf("jobs has columns host and run: %s", got)
	}
	// All runs at once are no run.
	run(t, db, "SET VARIABLE gpurec_dir = '"+filepath.Join(root, "data", "host=*", "run=*")+"'")
	for _, v := range append(views(t), "jobs", "devices") {
		rows, err := db.Query("SELECT * FROM " + v)
		if err == nil {
			rows.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "docs/fleet.md") {
			t.Errorf("%s over many runs: %v", v, err)
		}
	}
}

func sortedRows(t *testing.T, db *sql.DB, view string) string {
	t.Helper()
	var out []string
	for _, r := range query(t, db, "SELECT * FROM "+view) {
		out = append(out, fmt.Sprint(r))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// A host that the log does not name is NULL.
func TestUnknownPartition(t *testing.T) {
	gpurec := build(t)
	root := t.TempDir()
	trace := filepath.Join(root, "trace.txt")
	writeText(t, trace, "# tracer: nop\n           app-10    (    9) [000] .....     1.000100: drm_sched_job: entity=ff11000004066800, id=1, fence=ff11000004886340, ring=gfx, job count:0, hw job count:0\n")
	gpurec("convert", trace, filepath.Join(root, "data", "host={host}", "run={run}")+"/")
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := fmt.Sprint(query(t, db, "SELECT host, run, count(*) FROM read_parquet('"+root+"/data/host=*/run=*/jobs.parquet', hive_partitioning = true) GROUP BY ALL"))
	if got != "[[<nil> trace 1]]" {
		t.Errorf("jobs %s", got)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
