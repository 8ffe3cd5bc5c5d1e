package duckdb

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// A second reader, Apache Arrow's, sees every value as DuckDB does.
func TestArrowReadsEveryValue(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(21, 22)), 150)
	dir := write(t, event.Meta{Clock: event.ClockBoottime}, export.Options{}, rows)
	for _, table := range correlate.Tables {
		f, err := file.OpenParquetFile(filepath.Join(dir, table.Name+".parquet"), false)
		if err != nil {
			t.Fatalf("%s: %v", table.Name, err)
		}
		if v := f.MetaData().KeyValueMetadata().FindValue("gpurec.clock"); v == nil || *v != "boottime" {
			t.Errorf("%s: the clock is %v", table.Name, v)
		}
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatalf("%s: %v", table.Name, err)
		}
		got, err := r.ReadTable(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", table.Name, err)
		}
		compareArrow(t, table, got, rowsOf(rows, table))
		got.Release()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// rowsOf returns the rows of a table in the order of its file.
func rowsOf(rows *correlate.Rows, table *correlate.Table) []reflect.Value {
	var want []reflect.Value
	v := reflect.ValueOf(rows).Elem()
	for i := range v.NumField() {
		if v.Field(i).Type().Elem() != reflect.TypeOf(table.Zero) {
			continue
		}
		for k := range v.Field(i).Len() {
			want = append(want, v.Field(i).Index(k))
		}
	}
	return inOrderOfFile(table, want)
}

func compareArrow(t *testing.T, table *correlate.Table, got arrow.Table, want []reflect.Value) {
	t.Helper()
	columns := table.Columns()
	if int(got.NumCols()) != len(columns) || int(got.NumRows()) != len(want) {
		t.Fatalf("%s has %d columns and %d rows, not %d and %d", table.Name, got.NumCols(), got.NumRows(), len(columns), len(want))
	}
	for c, col := range columns {
		if name := got.Column(c).Name(); name != col.Name {
			t.Fatalf("%s: column %d is %s, not %s", table.Name, c, name, col.Name)
		}
		row := 0
		for _, chunk := range got.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				if v, w := arrowValue(t, chunk, i), expected(want[row].Field(c)); v != w {
					t.Fatalf("%s row %d %s is %T %.60v, not %T %.60v", table.Name, row, col.Name, v, v, w, w)
				}
				row++
			}
		}
	}
}

func arrowValue(t *testing.T, a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	}
	t.Fatal(fmt.Sprintf("a column of type %v", a.DataType()))
	return math.NaN()
}
