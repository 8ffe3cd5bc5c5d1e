package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/record/event"
)

// A frame that holds a page as it is reads as any other.
func TestStored(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, n := range []int{0, 1, storedBlock - 1, storedBlock, storedBlock + 1, 3*storedBlock + 7} {
		page := make([]byte, n)
		for i := range page {
			page[i] = byte(i * 7)
		}
		if got, err := d.DecodeAll(appendStored([]byte("x"), page)[1:], nil); err != nil || !bytes.Equal(got, page) {
			t.Errorf("%d bytes became %d, %v", n, len(got), err)
		}
	}
}

// Rows of a kind stand together in each row group, in the order in which they
// came; kinds in that of their first rows.
func TestKinds(t *testing.T) {
	for different, n := range map[int]int{1: 300, 9: rowGroupRows + 5000, maxKinds - 1: 9000, maxKinds: 9000, 1000: 9000} {
		r := rand.New(rand.NewPCG(7, uint64(different)))
		links := make([]correlate.Link, n)
		for i := range links {
			k := r.IntN(different)
			links[i] = correlate.Link{SrcTable: fmt.Sprint("s", k%3), DstTable: fmt.Sprint("d", k%5), Rule: fmt.Sprint("r", k), SrcID: correlate.ID(i + 1)}
			if k == 0 {
				links[i].SrcTable, links[i].DstTable, links[i].Rule = "", "", ""
			}
		}
		dir := filepath.Join(t.TempDir(), "out")
		export1(t, dir, export.Options{}, &correlate.Rows{Links: links[:200]}, &correlate.Rows{Links: links[200:]})
		names, got := read(t, dir, "links")
		column := func(name string) int { return slices.Index(names, name) }
		if len(got) != n {
			t.Fatalf("%d rows", len(got))
		}
		for g := range (n + rowGroupRows - 1) / rowGroupRows {
			from := g * rowGroupRows
			var want []correlate.Link
			for _, of := range byKind(links[from:min(from+rowGroupRows, n)], maxKinds-1) {
				want = append(want, of...)
			}
			for i, w := range want {
				row := got[from+i]
				if row[column("src_id")] != int64(w.SrcID) || w.Rule != "" && row[column("rule")] != w.Rule || w.Rule == "" && row[column("rule")] != nil {
					t.Fatalf("%d kinds, row group %d: row %d is %v, not %v", different, g, i, row, w)
				}
			}
		}
	}
}

// byKind returns the links of each rule, those beyond most rules together.
func byKind(links []correlate.Link, most int) (kinds [][]correlate.Link) {
	at := map[string]int{}
	for _, l := range links {
		k, ok := at[l.Rule]
		if !ok {
			k = min(len(at), most)
			at[l.Rule] = k
		}
		if k == len(kinds) {
			kinds = append(kinds, nil)
		}
		kinds[k] = append(kinds[k], l)
	}
	return kinds
}

// NaN has no place in an order: it is not in statistics, nor is what only it is in.
func TestStatisticsOfReals(t *testing.T) {
	real := func(v float64) correlate.Counter { return correlate.Counter{Value: v} }
	negative := math.Copysign(0, -1)
	for _, c := range []struct {
		values      []correlate.Counter
		least, most any
	}{
		{[]correlate.Counter{real(math.NaN()), real(2), real(-3)}, -3.0, 2.0},
		{[]correlate.Counter{real(math.NaN())}, nil, nil},
		{[]correlate.Counter{real(0), real(0)}, negative, 0.0},
		{[]correlate.Counter{real(negative), real(negative)}, negative, 0.0},
		{[]correlate.Counter{real(math.Inf(-1))}, math.Inf(-1), math.Inf(-1)},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		export1(t, dir, export.Options{}, &correlate.Rows{Counters: c.values})
		b, err := os.ReadFile(filepath.Join(dir, "counters.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range f.Schema().Columns() {
			if n[0] != "value" {
				continue
			}
			s := f.Metadata().RowGroups[0].Columns[k].MetaData.Statistics
			var least, most any
			if s.MinValue != nil {
				least, most = valueOf(parquet.DoubleType, s.MinValue), valueOf(parquet.DoubleType, s.MaxValue)
			}
			if fmt.Sprintf("%v %v", least, most) != fmt.Sprintf("%v %v", c.least, c.most) {
				t.Errorf("%v: %v to %v", c.values, least, most)
			}
		}
	}
}

// Texts of any length are bounded by what the indexes have of them.
func TestShortBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []rune("a~\x7fé￿\U0010ffff\x00")
	for range 20_000 {
		s := make([]rune, r.IntN(30))
		for i := range s {
			s[i] = alphabet[r.IntN(len(alphabet))]
		}
		text := []byte(string(s))
		least, most := shortLeast(text), shortMost(text)
		if bytes.Compare(least, text) > 0 || bytes.Compare(most, text) < 0 || len(least) > indexText || validUTF8(string(most)) != string(most) {
			t.Fatalf("%q has the bounds %q and %q", text, least, most)
		}
	}
}

// Each row group has dictionaries of its own, whatever the one before had.
func TestDictionariesOfRowGroups(t *testing.T) {
	names := []string{"one", "two", "three"}
	links := make([]correlate.Link, 2*rowGroupRows+10)
	deps := make([]correlate.JobDep, len(links))
	name := func(i int) int { return (i + 2*(i/rowGroupRows)) % 3 }
	for i := range links {
		links[i] = correlate.Link{SrcTable: "jobs", SrcID: correlate.ID(i + 1), Confidence: names[name(i)]}
		deps[i] = correlate.JobDep{OnFenceContext: event.Some(uint64(100 + name(i)))}
	}
	dir := filepath.Join(t.TempDir(), "out")
	export1(t, dir, export.Options{}, &correlate.Rows{Links: links, JobDeps: deps})
	columns, got := read(t, dir, "links")
	k := slices.Index(columns, "confidence")
	for i, r := range got {
		if r[k] != names[name(i)] {
			t.Fatalf("row %d has %v, not %s", i, r[k], names[name(i)])
		}
	}
	columns, got = read(t, dir, "job_deps")
	k = slices.Index(columns, "on_fence_context")
	for i, r := range got {
		if r[k] != uint64(100+name(i)) {
			t.Fatalf("row %d has %v, not %d", i, r[k], 100+name(i))
		}
	}
}

// Texts longer than a page, and so many that a dictionary overflows.
func TestLongTexts(t *testing.T) {
	rows := make([]correlate.Mark, 400)
	for i := range rows {
		name := fmt.Sprint(i/2, strings.Repeat("n", 3000)) // 1.5 MB of different ones
		rows[i] = correlate.Mark{ID: correlate.ID(i + 1), TSNS: event.Some(event.Time(i)), Name: name, Args: strings.Repeat("a", i*1000)}
	}
	dir := filepath.Join(t.TempDir(), "out")
	export1(t, dir, export.Options{}, &correlate.Rows{Marks: rows})
	if e := encodings(t, dir, "marks", "name"); !slices.Contains(e, format.RLEDictionary) || !slices.Contains(e, format.DeltaByteArray) {
		t.Errorf("names are written as %v: the dictionary has no bound", e)
	}
	names, got := read(t, dir, "marks")
	if len(got) != len(rows) {
		t.Fatalf("%d rows", len(got))
	}
	for i, r := range got {
		for k, n := range names {
			switch {
			case n == "name" && r[k] != rows[i].Name, n == "args" && i > 0 && r[k] != rows[i].Args, n == "args" && i == 0 && r[k] != nil:
				t.Fatalf("%s of row %d is another", n, i)
			}
		}
	}
}

// encodings returns those of a column in the first row group.
func encodings(t *testing.T, dir, table, column string) []format.Encoding {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Metadata().RowGroups[0].Columns {
		if c.MetaData.PathInSchema[0] == column {
			return c.MetaData.Encoding
		}
	}
	t.Fatalf("%s has no column %s", table, column)
	return nil
}
