package nsys

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// build makes a database of SQL statements.
func build(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFile(t testing.TB, path string) (importer.Reader, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(importer.Input{Name: filepath.Base(path), R: f, At: f, Size: st.Size()}, importer.Options{})
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

// TestCases runs the scripts of testdata/nsys: SQL, then the events that it
// must give, then what must be counted.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(importtest.Root(t), "testdata", "nsys", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			script, rest, _ := strings.Cut(string(text), "-- want\n")
			want, counted, _ := strings.Cut(rest, "-- counted\n")
			r, err := openFile(t, build(t, script))
			if err != nil {
				t.Fatal(err)
			}
			events, err := importtest.Read(r)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, lines(want), shown(events))
			var got []string
			for _, a := range r.Counters().List() {
				got = append(got, fmt.Sprintf("%s %d", a.Name, a.Count))
			}
			compare(t, lines(counted), got)
		})
	}
}

func lines(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func shown(events []event.Event) (l []string) {
	for i := range events {
		l = append(l, importtest.Show(&events[i]))
	}
	return l
}

// compare checks that two lists hold the same lines, in any order of those
// that lie at one time.
func compare(t *testing.T, want, got []string) {
	t.Helper()
	left := map[string]int{}
	for _, l := range got {
		left[l]++
	}
	for _, l := range want {
		if left[l] == 0 {
			t.Errorf("missing  %s", l)
			continue
		}
		left[l]--
	}
	for _, l := range got {
		if left[l] > 0 {
			left[l] = 0
			t.Errorf("surplus  %s", l)
		}
	}
}

// TestMeta: facts of the session; the environment stays out.
func TestMeta(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(importtest.Root(t), "testdata", "nsys", "processes.sql"))
	if err != nil {
		t.Fatal(err)
	}
	script, _, _ := strings.Cut(string(text), "-- want\n")
	r, err := openFile(t, build(t, script))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importtest.Read(r); err != nil {
		t.Fatal(err)
	}
	m := r.Meta()
	if m.Clock != event.ClockNsysSession || m.Start != event.Some(event.Time(90)) || m.End != event.Some(event.Time(400)) {
		t.Errorf("clock %s, %v to %v", m.Clock, m.Start, m.End)
	}
	if got := fmt.Sprint(m.Command); got != "[python train.py --steps=2]" {
		t.Errorf("command %s", got)
	}
	if got := fmt.Sprint(m.Facts); got != "[{rows.META_DATA_CAPTURE 4} {rows.StringIds 6} {rows.TARGET_INFO_SESSION_START_TIME 1} {session_start_realtime_ns 1700000000000000001} {session_start_system_clock_ns 5000} {rows.SETTINGS 2}]" {
		t.Errorf("facts %s", got)
	}
	if strings.Contains(fmt.Sprintf("%+v", m), "SECRET") {
		t.Error("the environment is in the metadata")
	}
}

// Times that nsys shifted to Unix time are Unix time.
func TestNormalisedTimes(t *testing.T) {
	r, err := openFile(t, build(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
		INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE','true');`))
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Meta().Clock; c != event.ClockRealtime {
		t.Errorf("clock %s", c)
	}
}

// A SQLite file of something else is refused in one line.
func TestForeignDatabase(t *testing.T) {
	_, err := openFile(t, build(t, "CREATE TABLE contacts (name TEXT)"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nsys export") {
		t.Errorf("error %v", err)
	}
}

// A view or virtual table of a table's name is not run.
func TestViewIsNoTable(t *testing.T) {
	r, err := openFile(t, build(t, `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start+1 FROM n) SELECT start, start AS end FROM n;`))
	if err != nil {
		t.Fatal(err)
	}
	if events, err := importtest.Read(r); err != nil || len(events) != 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// Nothing is written beside the file, and a pipe gives the same as the file.
func TestPipeAndNoTraces(t *testing.T) {
	script := "CREATE TABLE NVTX_EVENTS (start INTEGER, eventType INTEGER, text TEXT); INSERT INTO NVTX_EVENTS VALUES (1,34,'a'),(2,34,'b');"
	path := build(t, script)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := openFile(t, path)
	if err != nil {
		t.Fatal(err)
	}
	fromFile, err := importtest.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	p, err := open(importer.Input{Name: "pipe", R: bytes.NewReader(data)}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fromPipe, err := importtest.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, shown(fromFile), shown(fromPipe))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left in TMPDIR: %v", left)
	}
}

func TestSniff(t *testing.T) { importtest.Claimed(t, Format(), "nsys-sqlite") }

// Times that nsys shifted count from as much earlier.
func TestShiftedTimes(t *testing.T) {
	r, err := openFile(t, build(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
		INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT','-2000');
		CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
		INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, 5);
		CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);`))
	if err != nil {
		t.Fatal(err)
	}
	// An event of the session's start now has the time -2000.
	for _, f := range r.Meta().Facts {
		if f.Key == "session_start_realtime_ns" && f.Value != "1700000000000002000" {
			t.Errorf("times count from %s", f.Value)
		}
	}
	if r.Meta().Clock != event.ClockNsysSession {
		t.Errorf("clock %s", r.Meta().Clock)
	}
}
