package parquet

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// Levels are what another decoder takes them for.
func TestLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	decoder := rle.Encoding{BitWidth: 1}
	for round := range 1000 {
		var b bitmap
		var want []byte
		flips := []int{1 << 30, 2, 5, 40, 300}[round%5] // one in how many differs from its neighbour
		bit := byte(round / 5 % 2)
		for parts := 1 + r.IntN(12); parts > 0; parts-- {
			n := 1 + r.IntN(64)
			var w uint64
			for i := range n {
				if r.IntN(flips) == 0 {
					bit ^= 1
				}
				w |= uint64(bit) << i
				want = append(want, bit)
			}
			b.add(w, n)
		}
		if b.n != len(want) || b.ones != bytes.Count(want, []byte{1}) {
			t.Fatalf("%d bits, %d ones of %v", b.n, b.ones, want)
		}
		got := b.appendLevels([]byte("x"))
		size := int(got[1]) | int(got[2])<<8
		if size != len(got)-5 {
			t.Fatalf("%d bytes follow, not %d", len(got)-5, size)
		}
		levels, err := decoder.DecodeLevels(nil, got[5:])
		if err != nil {
			t.Fatal(err)
		}
		// What is packed comes in eights.
		if len(levels) < len(want) || len(levels) > (len(want)+7)/8*8 || !bytes.Equal(levels[:len(want)], want) {
			t.Fatalf("round %d: %v became %v", round, want, levels)
		}
	}
}

// A pattern of values of one column: what they are, and which are NULL.
type pattern struct {
	known func(i int) bool
	value func(i int) int64
}

func patternOf(r *rand.Rand) pattern {
	n, base := 1+r.IntN(50_000), r.Int64()-math.MaxInt64/2
	in := 2 + r.IntN(6)
	return pattern{
		known: []func(int) bool{
			func(int) bool { return true },
			func(int) bool { return false },
			func(int) bool { return r.IntN(in) > 0 },
			func(i int) bool { return i/n%2 == 0 },
		}[r.IntN(4)],
		value: []func(int) int64{
			func(int) int64 { return base },
			func(i int) int64 { return base + int64(i)*3 },
			func(int) int64 { return r.Int64N(5) - 2 },
			func(int) int64 { return base + r.Int64N(1000)*1e6 },
			func(int) int64 { return int64(r.Uint64()) },
			func(i int) int64 { return int64(i/n) * 1e12 },
		}[r.IntN(6)],
	}
}

func textOf(v int64) string {
	return strings.Repeat("é", int(uint64(v)%11)) + fmt.Sprintf("%x", v) + strings.Repeat("ÿ long ", int(uint64(v)%97/90*100))
}

// randomTable fills rows of T; the first time rises, so that they are in order.
func randomTable[T any](r *rand.Rand, n int) (rows []T, want [][]any) {
	rows, want = make([]T, n), make([][]any, n)
	columns := correlate.ColumnsOf(reflect.TypeFor[T]())
	for i := range want {
		want[i] = make([]any, len(columns))
	}
	timed := false
	for k, c := range columns {
		p := patternOf(r)
		if c.Type == correlate.ColTime && !timed {
			timed = true
			p = pattern{func(int) bool { return true }, func(i int) int64 { return int64(i / 3) }}
		}
		for i := range rows {
			if v := p.value(i); p.known(i) || !nullable(c.Type) {
				want[i][k] = set(reflect.ValueOf(&rows[i]).Elem().Field(c.Index), c.Type, v)
			}
		}
	}
	return rows, want
}

// set sets a field to a value made of v, and returns it as read gives it.
func set(f reflect.Value, t correlate.ColumnType, v int64) any {
	if f.Kind() == reflect.Struct { // an Opt
		f.Field(1).SetBool(true)
		f = f.Field(0)
	}
	switch t {
	case correlate.ColUint, correlate.ColPlainUint:
		f.SetUint(uint64(v))
		return uint64(v)
	case correlate.ColReal, correlate.ColPlainReal:
		f.SetFloat(float64(v) / 8)
		return float64(v) / 8
	case correlate.ColBool, correlate.ColPlainBool:
		f.SetBool(v&1 != 0)
		return v&1 != 0
	case correlate.ColString:
		f.SetString(textOf(v))
		return textOf(v)
	}
	f.SetInt(v)
	if t == correlate.ColID && v == 0 {
		return nil
	}
	return v
}

// Every value comes back over pages and row groups, however a column's values
// are spread, and statistics and page index hold for them.
func TestPages(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := &correlate.Rows{}
		want := map[string][][]any{}
		rows.JobDeps, want["job_deps"] = randomTable[correlate.JobDep](r, rowGroupRows+100)
		rows.Counters, want["counters"] = randomTable[correlate.Counter](r, 2*pageRows)
		rows.Jobs, want["jobs"] = randomTable[correlate.Job](r, 3001)
		rows.Slices, want["slices"] = randomTable[correlate.Slice](r, 2500)
		rows.Threads, want["threads"] = randomTable[correlate.Thread](r, pageRows+63)
		rows.Devices, want["devices"] = randomTable[correlate.Device](r, 65)
		dir := filepath.Join(t.TempDir(), "out")
		export1(t, dir, export.Options{}, rows)
		for table, want := range want {
			names, got := read(t, dir, table)
			if len(got) != len(want) {
				t.Fatalf("%s has %d rows, not %d", table, len(got), len(want))
			}
			for i := range got {
				for k := range names {
					if got[i][k] != want[i][k] {
						t.Fatalf("seed %d: %s.%s of row %d is %v, not %v", seed, table, names[k], i, got[i][k], want[i][k])
					}
				}
			}
			checkIndexes(t, dir, table, want)
		}
	}
}

// checkIndexes holds statistics and indexes of a table against its values.
func checkIndexes(t *testing.T, dir, table string, values [][]any) {
	b, err := os.ReadFile(filepath.Join(dir, table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for g, group := range f.Metadata().RowGroups {
		chunks := f.RowGroups()[g].ColumnChunks()
		for k, meta := range group.Columns {
			name := fmt.Sprintf("%s.%s, row group %d", table, meta.MetaData.PathInSchema[0], g)
			kind := chunks[k].Type()
			least, most, nulls := boundsOfValues(values[:group.NumRows], k)
			s := meta.MetaData.Statistics
			if s.NullCount != int64(nulls) {
				t.Errorf("%s: %d NULL, not %d", name, s.NullCount, nulls)
			}
			if least != nil && (valueOf(kind, s.MinValue) != least || valueOf(kind, s.MaxValue) != most) {
				t.Errorf("%s: %v to %v, not %v to %v", name, valueOf(kind, s.MinValue), valueOf(kind, s.MaxValue), least, most)
			}
			ci, err := chunks[k].ColumnIndex()
			if err != nil {
				t.Fatal(name, err)
			}
			oi, err := chunks[k].OffsetIndex()
			if err != nil {
				t.Fatal(name, err)
			}
			checkPages(t, name, ci, oi, values[:group.NumRows], k)
		}
		values = values[group.NumRows:]
	}
}

func checkPages(t *testing.T, name string, ci parquet.ColumnIndex, oi parquet.OffsetIndex, values [][]any, k int) {
	type bounds struct{ least, most parquet.Value }
	var pages []bounds
	for p := range ci.NumPages() {
		from, to := oi.FirstRowIndex(p), int64(len(values))
		if p+1 < ci.NumPages() {
			to = oi.FirstRowIndex(p + 1)
		}
		least, most, nulls := boundsOfValues(values[from:to], k)
		if ci.NullCount(p) != int64(nulls) || ci.NullPage(p) != (least == nil) {
			t.Errorf("%s, page %d: %d NULL, not %d", name, p, ci.NullCount(p), nulls)
		}
		if least == nil {
			continue
		}
		lo, hi := ci.MinValue(p), ci.MaxValue(p)
		pages = append(pages, bounds{lo, hi})
		text, isText := least.(string)
		switch {
		case isText && (string(lo.ByteArray()) > text || string(hi.ByteArray()) < most.(string) || len(lo.ByteArray()) > 16):
			t.Errorf("%s, page %d: %q to %q are no bounds of %q to %q", name, p, lo, hi, least, most)
		case !isText && (anyOf(lo, least) != least || anyOf(hi, most) != most):
			t.Errorf("%s, page %d: %v to %v, not %v to %v", name, p, lo, hi, least, most)
		}
	}
	for i := 1; i < len(pages); i++ {
		a, b := pages[i-1], pages[i]
		rises := compare(a.least, b.least) <= 0 && compare(a.most, b.most) <= 0
		falls := compare(a.least, b.least) >= 0 && compare(a.most, b.most) >= 0
		if _, u := values[0][k].(uint64); !u && (ci.IsAscending() && !rises || ci.IsDescending() && !falls) {
			t.Errorf("%s: pages %v and %v are in another order than told", name, a, b)
		}
	}
}

func compare(a, b parquet.Value) int {
	if a.Kind() == parquet.ByteArray {
		return bytes.Compare(a.ByteArray(), b.ByteArray())
	}
	if a.Kind() == parquet.Double {
		return cmp.Compare(a.Double(), b.Double())
	}
	return cmp.Compare(a.Int64(), b.Int64())
}

func valueOf(t parquet.Type, b []byte) any {
	return anyOf(t.Kind().Value(b), map[bool]any{true: uint64(0)}[t.String() == "INT(64,false)"])
}

// anyOf returns v as a value of the type of like.
func anyOf(v parquet.Value, like any) any {
	_, u := like.(uint64)
	switch {
	case u:
		return v.Uint64()
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	}
	return string(v.ByteArray())
}

func boundsOfValues(rows [][]any, k int) (least, most any, nulls int) {
	for _, r := range rows {
		v := r[k]
		switch {
		case v == nil:
			nulls++
		case least == nil:
			least, most = v, v
		case lessValue(v, least):
			least = v
		case lessValue(most, v):
			most = v
		}
	}
	return least, most, nulls
}

func lessValue(a, b any) bool {
	switch a := a.(type) {
	case int64:
		return a < b.(int64)
	case uint64:
		return a < b.(uint64)
	case float64:
		return a < b.(float64)
	case string:
		return a < b.(string)
	}
	return !a.(bool) && b.(bool)
}
