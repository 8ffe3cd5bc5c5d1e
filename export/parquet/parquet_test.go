package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

func export1(t testing.TB, path string, o export.Options, batches ...*correlate.Rows) {
	t.Helper()
	s := begin(t, path, o, batches...)
	if err := s.End(&correlate.Summary{}); err != nil {
		t.Fatal(err)
	}
}

func begin(t testing.TB, path string, o export.Options, batches ...*correlate.Rows) export.Sink {
	t.Helper()
	s, err := Format().New(path, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(&event.Meta{}); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := s.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// read returns the values of a table, a nil for NULL, with the columns' names.
func read(t *testing.T, dir, table string) (names []string, rows [][]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Columns() {
		names = append(names, c[0])
	}
	unsigned := func(i int) bool {
		return f.Schema().Fields()[i].Type().String() == "INT(64,false)"
	}
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				out := make([]any, len(row))
				for i, v := range row {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64 && unsigned(i):
						out[i] = v.Uint64()
					case v.Kind() == parquet.Int64:
						out[i] = v.Int64()
					case v.Kind() == parquet.Double:
						out[i] = v.Double()
					case v.Kind() == parquet.Boolean:
						out[i] = v.Boolean()
					default:
						out[i] = string(v.ByteArray())
					}
				}
				rows = append(rows, out)
			}
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return names, rows
}

func TestEveryTableIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	export1(t, dir+"/", export.Options{})
	var want []string
	for _, table := range correlate.Tables {
		want = append(want, table.Name+".parquet")
		names, rows := read(t, dir, table.Name)
		var columns []string
		for _, c := range table.Columns() {
			columns = append(columns, c.Name)
		}
		if !slices.Equal(names, columns) || len(rows) != 0 {
			t.Errorf("%s has %d rows of %v", table.Name, len(rows), names)
		}
	}
	want = append(want, "views.sql")
	slices.Sort(want)
	if got := entries(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %v", got)
	}
}

// Known and unknown, zero and extreme values of every column type.
func TestValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	export1(t, dir, export.Options{}, &correlate.Rows{
		Jobs: []correlate.Job{
			{ID: 1},
			{ID: 2, DeviceID: 3, Ring: "gfx", JobPtr: event.Some[uint64](math.MaxUint64), FenceSeqno: event.Some[uint64](0), QueuedNS: event.Some[event.Time](0),
				QueueDelayNS: event.Some[int64](-7), Error: event.Some[int64](math.MinInt64), Comm: "a\xffb\xc3", Runs: 2},
		},
		JobDeps:  []correlate.JobDep{{Waited: event.Some(false)}, {Waited: event.Some(true)}, {}},
		Counters: []correlate.Counter{{Value: 0}, {Value: math.Inf(-1)}, {Value: 1.25, Name: "power"}},
		Fences:   []correlate.Fence{{ID: 1, Context: 1 << 63, Low32: true}},
		Devices:  []correlate.Device{{ID: 1, Index: -1}},
	})
	cell := func(table, column string) (out []any) {
		names, rows := read(t, dir, table)
		for _, r := range rows {
			out = append(out, r[slices.Index(names, column)])
		}
		return out
	}
	for _, c := range []struct {
		table, column string
		want          []any
	}{
		{"jobs", "id", []any{int64(1), int64(2)}},
		{"jobs", "device_id", []any{nil, int64(3)}},
		{"jobs", "ring", []any{nil, "gfx"}},
		{"jobs", "job_ptr", []any{nil, uint64(math.MaxUint64)}},
		{"jobs", "fence_seqno", []any{nil, uint64(0)}},
		{"jobs", "queued_ns", []any{nil, int64(0)}},
		{"jobs", "queue_delay_ns", []any{nil, int64(-7)}},
		{"jobs", "error", []any{nil, int64(math.MinInt64)}},
		{"jobs", "comm", []any{nil, `a\xffb\xc3`}},
		{"jobs", "runs", []any{int64(0), int64(2)}},
		{"job_deps", "waited", []any{false, true, nil}},
		{"counters", "value", []any{0.0, math.Inf(-1), 1.25}},
		{"fences", "context", []any{uint64(1 << 63)}},
		{"fences", "low32", []any{true}},
		{"devices", "gpu", []any{int64(-1)}},
	} {
		if got := cell(c.table, c.column); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s.%s is %v, not %v", c.table, c.column, got, c.want)
		}
	}
}

// Rows come in the order of their ends and leave in that of their starts, over
// batches, row groups and spilled runs. The caller's rows are its own again.
func TestOrder(t *testing.T) {
	const batches, per = 40, 1000
	for _, memory := range []int64{0, 1 << 20} {
		dir := filepath.Join(t.TempDir(), "out")
		s := begin(t, dir, export.Options{MaxMemory: memory})
		rows := &correlate.Rows{Ioctls: make([]correlate.Ioctl, per)}
		for b := range batches {
			for i := range rows.Ioctls {
				n := b*per + i
				rows.Ioctls[i] = correlate.Ioctl{ID: correlate.ID(n + 1), StartNS: event.Some(event.Time(n/7*7 - 50*(n%7))), Name: fmt.Sprint(n % 3)}
				if n%1000 == 999 {
					rows.Ioctls[i].StartNS = correlate.OptTime{} // sorted by its end
					rows.Ioctls[i].EndNS = event.Some(event.Time(n))
				}
			}
			if err := s.Write(rows); err != nil {
				t.Fatal(err)
			}
		}
		clear(rows.Ioctls)
		if err := s.End(&correlate.Summary{}); err != nil {
			t.Fatal(err)
		}
		names, got := read(t, dir, "ioctls")
		if len(got) != batches*per {
			t.Fatalf("%d rows", len(got))
		}
		id, start, end := slices.Index(names, "id"), slices.Index(names, "start_ns"), slices.Index(names, "end_ns")
		seen := map[any]bool{}
		var last, lastID int64 = math.MinInt64, 0
		for _, r := range got {
			at, ok := r[start].(int64)
			if !ok {
				at = r[end].(int64)
			}
			if at < last || at == last && r[id].(int64) < lastID {
				t.Fatalf("row %v at %d comes after %d at %d", r[id], at, lastID, last)
			}
			last, lastID = at, r[id].(int64)
			seen[r[id]] = true
		}
		if len(seen) != batches*per {
			t.Fatalf("%d different rows", len(seen))
		}
	}
}

func TestSameRowsSameBytes(t *testing.T) {
	rows := benchRun(500)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	export1(t, dirs[0], export.Options{Tool: "x"}, rows)
	export1(t, dirs[1], export.Options{Tool: "x", MaxMemory: 100 << 10}, slice(rows, 0, 2), slice(rows, 1, 2))
	for _, name := range entries(t, dirs[0]) {
		a, _ := os.ReadFile(filepath.Join(dirs[0], name))
		b, _ := os.ReadFile(filepath.Join(dirs[1], name))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
}

// Memory does not grow with the number of rows.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 600,000 rows")
	}
	peak := func(batches int) uint64 {
		dir := filepath.Join(t.TempDir(), "out")
		s := begin(t, dir, export.Options{MaxMemory: 4 << 20})
		rows := benchRun(1000)
		var most uint64
		for b := range batches {
			for i := range rows.Jobs { // the order is reversed: worst for sorting
				rows.Jobs[i].QueuedNS.V = event.Time(-b*1000 - i)
			}
			if err := s.Write(&correlate.Rows{Jobs: rows.Jobs, Links: rows.Links}); err != nil {
				t.Fatal(err)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		if err := s.End(&correlate.Summary{}); err != nil {
			t.Fatal(err)
		}
		return most
	}
	small, large := peak(30), peak(150)
	if large > small+8<<20 {
		t.Errorf("%d MiB for 5 times the rows that took %d MiB", large>>20, small>>20)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestNothingIsThereBeforeEnd(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	s := begin(t, dir, export.Options{}, benchRun(10))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory has its name before End")
	}
	s.Abort()
	if got := entries(t, parent); len(got) != 0 {
		t.Errorf("Abort leaves %v", got)
	}
	s.Abort()
}

func TestInterruptedEnd(t *testing.T) {
	parent := t.TempDir()
	stop := errors.New("stop")
	s := begin(t, filepath.Join(parent, "out"), export.Options{Interrupted: func() error { return stop }}, benchRun(10))
	if err := s.End(&correlate.Summary{}); !errors.Is(err, stop) {
		t.Errorf("End: %v", err)
	}
	if got := entries(t, parent); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// What a killed export left is removed by the next one to the same output; what
// one that is still at work has is not, nor what is not of an export.
func TestStaleDirectoriesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	busy := begin(t, dir, export.Options{}, benchRun(3))
	defer busy.Abort()
	working := entries(t, parent)[0]
	for _, name := range []string{".out.tmp-00000001", ".out.tmp-00000002", ".other.tmp-00000001"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range entries(t, parent) {
		if name == ".out.tmp-00000002" {
			continue // just made
		}
		if err := os.Chtimes(filepath.Join(parent, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	export1(t, dir, export.Options{}, benchRun(3))
	want := []string{".other.tmp-00000001", ".out.tmp-00000002", working, "out"}
	slices.Sort(want)
	if got := entries(t, parent); !slices.Equal(got, want) {
		t.Errorf("left %v, not %v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	parent := t.TempDir()
	s, err := New(filepath.Join(parent, "no", "out"), export.Options{})
	if err == nil {
		err = s.Begin(&event.Meta{})
		s.Abort()
	}
	if err == nil || !strings.Contains(err.Error(), "no such directory; make ") || strings.Contains(err.Error(), "tmp-") {
		t.Errorf("a directory in none: %v", err)
	}
	t.Chdir(parent)
	if _, err := New(".", export.Options{}); err == nil || !strings.Contains(err.Error(), "current directory") {
		t.Errorf("the current directory: %v", err)
	}
}

func TestAnEarlierExportIsReplaced(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	if err := os.Mkdir(dir, 0o777); err != nil { // an empty one too
		t.Fatal(err)
	}
	export1(t, dir, export.Options{}, benchRun(10))
	s := begin(t, dir, export.Options{}, benchRun(3))
	if _, rows := read(t, dir, "jobs"); len(rows) != 10 {
		t.Error("the earlier export is gone before the new one is whole")
	}
	if err := s.End(&correlate.Summary{}); err != nil {
		t.Fatal(err)
	}
	if _, rows := read(t, dir, "jobs"); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	if got := entries(t, parent); !slices.Equal(got, []string{"out"}) {
		t.Errorf("beside it: %v", got)
	}
}

func TestForeignDirectoriesAreRefused(t *testing.T) {
	for name, make := range map[string]func(dir string){
		"a file of its own":  func(dir string) { os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o666) },
		"somebody's Parquet": func(dir string) { os.WriteFile(filepath.Join(dir, "jobs.parquet"), nil, 0o666) },
		"somebody's views":   func(dir string) { os.WriteFile(filepath.Join(dir, "views.sql"), []byte("SELECT 1"), 0o666) },
		"an export with a guest": func(dir string) {
			export1(t, dir, export.Options{})
			os.WriteFile(filepath.Join(dir, "guest"), nil, 0o666)
		},
		"a directory of its own":  func(dir string) { os.Mkdir(filepath.Join(dir, "jobs.parquet"), 0o777) },
		"no directory but a file": func(dir string) { os.Remove(dir); os.WriteFile(dir, []byte("x"), 0o666) },
	} {
		dir := filepath.Join(t.TempDir(), "out")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		make(dir)
		_, err := New(dir, export.Options{})
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What came into the directory while the export ran is not lost either.
func TestForeignFilesThatComeLate(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	s := begin(t, dir, export.Options{}, benchRun(3))
	os.Mkdir(dir, 0o777)
	os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o666)
	if err := s.End(&correlate.Summary{}); err == nil {
		t.Error("a directory with notes was replaced")
	}
	if got := entries(t, parent); !slices.Equal(got, []string{"out"}) {
		t.Errorf("left: %v", got)
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"notes.txt"}) {
		t.Errorf("in it: %v", got)
	}
}

func TestALinkStays(t *testing.T) {
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "real"), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(parent, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	export1(t, link, export.Options{}, benchRun(2))
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if _, rows := read(t, filepath.Join(parent, "real"), "jobs"); len(rows) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestNoSuchPlace(t *testing.T) {
	s, err := New(filepath.Join(t.TempDir(), "no", "where"), export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(&event.Meta{}); err == nil || !strings.Contains(err.Error(), "where") {
		t.Error(err)
	}
	s.Abort()
}

func TestValidUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "äö": "äö", "a\xff": `a\xff`, "\xe6\xa0": `\xe6\xa0`, "\uFFFD": "\uFFFD", "\xc3ä\x80": `\xc3ä\x80`, "a\x00b": "a\x00b",
	} {
		if got := validUTF8(in); got != want {
			t.Errorf("%q became %q, not %q", in, got, want)
		}
	}
}
