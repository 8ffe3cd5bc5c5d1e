// Package duckdb opens exports in real DuckDB: every value of every table must
// come back, and every view must run and say what an independent calculation says.
package duckdb

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/parquet"
	"github.com/gpurec/gpurec/record/event"
)

// write exports rows in batches and returns the directory.
func write(t *testing.T, meta event.Meta, o export.Options, batches ...*correlate.Rows) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's an export") // a name that needs quoting
	o.Tool = "gpurec test"
	s, err := parquet.New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(&meta); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := s.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(&correlate.Summary{Meta: meta}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open runs the export's views.sql in a new database.
func open(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // variables belong to a connection
	run(t, db, "SET VARIABLE gpurec_dir = '"+strings.ReplaceAll(dir, "'", "''")+"'")
	views, err := os.ReadFile(filepath.Join(dir, "views.sql"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, string(views))
	return db
}

func run(t *testing.T, db *sql.DB, q string) {
	t.Helper()
	if _, err := db.Exec(q); err != nil {
		t.Fatalf("%v\nin: %.200s", err, q)
	}
}

// query returns all rows, a nil for NULL.
func query(t *testing.T, db *sql.DB, q string) [][]any {
	t.Helper()
	_, out := queryNames(t, db, q)
	return out
}

func queryNames(t *testing.T, db *sql.DB, q string) ([]string, [][]any) {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatalf("%v\nin: %s", err, q)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]any
	for rows.Next() {
		row := make([]any, len(names))
		ptrs := make([]any, len(names))
		for i := range row {
			ptrs[i] = &row[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names, out
}

// load reads the tables into memory, for who asks many views about them.
func load(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, table := range correlate.Tables {
		run(t, db, "DROP VIEW "+table.Name+"; CREATE TABLE "+table.Name+" AS SELECT * FROM read_parquet(gpurec_file('"+table.Name+"'))")
	}
}

// randomRows fills every column of n rows of every table: known and unknown
// values, the extremes, text that is no UTF-8.
func randomRows(r *rand.Rand, n int) *correlate.Rows {
	rows := &correlate.Rows{}
	v := reflect.ValueOf(rows).Elem()
	for i := range v.NumField() {
		table := reflect.MakeSlice(v.Field(i).Type(), n, n)
		for k := range n {
			for f := range table.Index(k).NumField() {
				randomField(r, table.Index(k).Field(f))
			}
		}
		v.Field(i).Set(table)
	}
	return rows
}

var texts = []string{"", "gfx_0.0.0", "a", "äöü 核", "with \"quotes\" and 'more'", "line\nbreak\tand\\backslash", "\xff\xfe raw", "half \xe6\xa0", "a\x00b", strings.Repeat("long ", 5000)}

func randomField(r *rand.Rand, f reflect.Value) {
	switch f.Kind() {
	case reflect.Struct: // event.Opt
		if r.IntN(3) > 0 {
			randomField(r, f.Field(0))
			f.Field(1).SetBool(true)
		}
	case reflect.Int64:
		f.SetInt([]int64{0, 1, -1, math.MaxInt64, math.MinInt64 + 1, r.Int64(), r.Int64N(1000)}[r.IntN(7)])
	case reflect.Uint64:
		f.SetUint([]uint64{0, 1, math.MaxUint64, 1 << 63, r.Uint64(), r.Uint64N(1000)}[r.IntN(6)])
	case reflect.Float64:
		f.SetFloat([]float64{0, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), r.NormFloat64()}[r.IntN(6)])
	case reflect.Bool:
		f.SetBool(r.IntN(2) == 0)
	case reflect.String:
		f.SetString(texts[r.IntN(len(texts))])
	}
}

// expected returns what DuckDB must show for a field.
func expected(f reflect.Value) any {
	switch f.Kind() {
	case reflect.Struct:
		if !f.Field(1).Bool() {
			return nil
		}
		return expected(f.Field(0))
	case reflect.Int64:
		if f.Type() == reflect.TypeFor[correlate.ID]() && f.Int() == 0 {
			return nil
		}
		return f.Int()
	case reflect.Uint64:
		return f.Uint()
	case reflect.Float64:
		return f.Float()
	case reflect.Bool:
		return f.Bool()
	case reflect.String:
		switch s := f.String(); s {
		case "":
			return nil
		case "\xff\xfe raw":
			return `\xff\xfe raw`
		case "half \xe6\xa0":
			return `half \xe6\xa0`
		default:
			return s
		}
	}
	panic(f.Kind())
}

// sortKey is the first known time of a row: the fields whose columns end in
// _ns and hold times, in their order.
func sortKey(row reflect.Value) int64 {
	for i := range row.NumField() {
		if o, ok := row.Field(i).Interface().(correlate.OptTime); ok && o.OK {
			return int64(o.V)
		}
	}
	return math.MinInt64
}

// Tables whose rows keep their order.
var inOrderOfRows = []string{"rings", "losses", "processes", "threads", "devices", "anomalies", "probes", "metadata"}

// Tables whose row groups have one kind of rows after the other: the columns
// that tell the kinds. Beyond 255 kinds all others are taken for one.
var inOrderOfKinds = map[string][]string{"links": {"src_table", "dst_table", "rule"}, "unmatched": {"src_table", "link", "reason"}}

// inOrderOfFile returns the rows of a row group in the order of the file.
func inOrderOfFile(table *correlate.Table, rows []reflect.Value) []reflect.Value {
	if slices.Contains(inOrderOfRows, table.Name) {
		return rows
	}
	key := sortKey
	if names := inOrderOfKinds[table.Name]; names != nil {
		kinds := map[string]int64{}
		key = func(row reflect.Value) int64 {
			var texts []string
			for c, column := range table.Columns() {
				if slices.Contains(names, column.Name) {
					texts = append(texts, row.Field(c).String())
				}
			}
			kind := strings.Join(texts, "\x00")
			if _, ok := kinds[kind]; !ok {
				kinds[kind] = int64(min(len(kinds), 255))
			}
			return kinds[kind]
		}
	}
	keys := map[int]int64{}
	order := make([]int, len(rows))
	for i, row := range rows {
		order[i], keys[i] = i, key(row)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	sorted := make([]reflect.Value, len(rows))
	for i, k := range order {
		sorted[i] = rows[k]
	}
	return sorted
}

func TestEveryValueComesBack(t *testing.T) {
	for name, memory := range map[string]int64{"in memory": 0, "spilled": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			var batches []*correlate.Rows
			for range 4 {
				batches = append(batches, randomRows(r, 150))
			}
			db := open(t, write(t, event.Meta{}, export.Options{MaxMemory: memory}, batches...))
			for _, table := range correlate.Tables {
				checkTable(t, db, table, batches)
			}
		})
	}
}

func checkTable(t *testing.T, db *sql.DB, table *correlate.Table, batches []*correlate.Rows) {
	t.Helper()
	var want []reflect.Value
	for _, b := range batches {
		v := reflect.ValueOf(b).Elem()
		for i := range v.NumField() {
			if v.Field(i).Type().Elem() != reflect.TypeOf(table.Zero) {
				continue
			}
			for k := range v.Field(i).Len() {
				want = append(want, v.Field(i).Index(k))
			}
		}
	}
	want = inOrderOfFile(table, want)
	got := query(t, db, "SELECT * FROM "+table.Name)
	if len(got) != len(want) {
		t.Fatalf("%s has %d rows, not %d", table.Name, len(got), len(want))
	}
	for i := range want {
		for c := range want[i].NumField() {
			if w := expected(want[i].Field(c)); got[i][c] != w {
				t.Fatalf("%s row %d %s is %T %.60v, not %T %.60v", table.Name, i, table.Columns()[c].Name, got[i][c], got[i][c], w, w)
			}
		}
	}
}

func TestColumnsAndTypes(t *testing.T) {
	db := open(t, write(t, event.Meta{}, export.Options{}))
	types := map[correlate.ColumnType]string{
		correlate.ColID: "BIGINT", correlate.ColTime: "BIGINT", correlate.ColInt: "BIGINT", correlate.ColUint: "UBIGINT", correlate.ColReal: "DOUBLE",
		correlate.ColBool: "BOOLEAN", correlate.ColString: "VARCHAR", correlate.ColPlainInt: "BIGINT", correlate.ColPlainUint: "UBIGINT",
		correlate.ColPlainReal: "DOUBLE", correlate.ColPlainBool: "BOOLEAN",
	}
	for _, table := range correlate.Tables {
		var want []string
		for _, c := range table.Columns() {
			want = append(want, c.Name+" "+types[c.Type])
		}
		var got []string
		for _, row := range query(t, db, "DESCRIBE "+table.Name) {
			got = append(got, fmt.Sprint(row[0], " ", row[1]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, not %v", table.Name, got, want)
		}
	}
}

func TestFilesSayWhatTheyAre(t *testing.T) {
	meta := event.Meta{Clock: event.ClockBoottime, Host: event.Host{Name: "host-\xff", Kernel: "6.12.1"}}
	db := open(t, write(t, meta, export.Options{}))
	got := map[string]string{}
	for _, row := range query(t, db, "SELECT decode(key), decode(value) FROM parquet_kv_metadata(gpurec_file('jobs'))") {
		got[row[0].(string)] = row[1].(string)
	}
	for k, v := range map[string]string{
		"gpurec.schema_version": "1", "gpurec.clock": "boottime", "gpurec.tool": "gpurec test", "gpurec.host": `host-\xff`, "gpurec.kernel": "6.12.1", "gpurec.table": "jobs",
	} {
		if got[k] != v {
			t.Errorf("%s is %q, not %q", k, got[k], v)
		}
	}
	units := query(t, db, `SELECT count(*) FROM (
		SELECT unnest(from_json(decode(value), '[{"name":"VARCHAR","unit":"VARCHAR"}]')) AS c FROM parquet_kv_metadata(gpurec_file('jobs')) WHERE decode(key) = 'gpurec.columns')
		WHERE c.name LIKE '%\_ns' ESCAPE '\' AND c.unit = 'ns'`)
	want := int64(0)
	for _, c := range correlate.TableByName("jobs").Columns() {
		if strings.HasSuffix(c.Name, "_ns") {
			want++
		}
	}
	if units[0][0] != want || want < 10 {
		t.Errorf("%v columns of jobs say that they are nanoseconds, not %d", units[0][0], want)
	}
}

// Row groups are bounded, so that memory is.
func TestRowGroups(t *testing.T) {
	const n = 300_000
	rows := &correlate.Rows{Links: make([]correlate.Link, n), Marks: make([]correlate.Mark, n)}
	for i := range n {
		rows.Links[i] = correlate.Link{SrcTable: "ioctls", SrcID: correlate.ID(i + 1), Rule: "ioctl-job", Key: fmt.Sprint("17:", i)}
		rows.Marks[i] = correlate.Mark{ID: correlate.ID(i + 1), TSNS: event.Some(event.Time(n - i)), Name: fmt.Sprint("distinct ", i)}
	}
	// Long text ends a row group before its rows do: 20,000 of 10,000 bytes.
	args := strings.Repeat("0123456789", 1000)
	batch := &correlate.Rows{Slices: make([]correlate.Slice, 1000)}
	for i := range batch.Slices {
		batch.Slices[i].Args = args
	}
	batches := []*correlate.Rows{rows}
	for range 20 {
		batches = append(batches, batch)
	}
	db := open(t, write(t, event.Meta{}, export.Options{MaxMemory: 16 << 20}, batches...))
	if got := query(t, db, "SELECT count(DISTINCT row_group_id) FROM parquet_metadata(gpurec_file('slices'))")[0][0]; got != int64(2) {
		t.Errorf("slices has %v row groups", got)
	}
	for _, table := range []string{"links", "marks"} {
		groups := query(t, db, "SELECT count(DISTINCT row_group_id), max(row_group_num_rows) FROM parquet_metadata(gpurec_file('"+table+"'))")
		if groups[0][0].(int64) < 3 || groups[0][1].(int64) > 122_880 {
			t.Errorf("%s has %v row groups of up to %v rows", table, groups[0][0], groups[0][1])
		}
	}
	if got := query(t, db, "SELECT count(*), sum(src_id)::BIGINT, count(DISTINCT key) FROM links")[0]; got[0] != int64(n) || got[1] != int64(n)*(n+1)/2 || got[2] != int64(n) {
		t.Errorf("links: %v", got)
	}
	if got := query(t, db, "SELECT count(*) FROM (SELECT ts_ns, lag(ts_ns) OVER () AS before FROM marks) WHERE before > ts_ns")[0][0]; got != int64(0) {
		t.Errorf("%v marks are out of order", got)
	}
	if got := query(t, db, "SELECT stats_min_value, stats_max_value, stats_null_count FROM parquet_metadata(gpurec_file('marks')) WHERE path_in_schema = 'ts_ns' AND row_group_id = 0")[0]; got[0] != "1" || got[1] != "122880" {
		t.Errorf("statistics of the first row group: %v", got)
	}
}
