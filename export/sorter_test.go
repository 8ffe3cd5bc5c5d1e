package export

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// wide has every type that a row may hold.
type wide struct {
	Key int64
	Seq int
	A   int8
	B   int16
	C   int32
	D   uint8
	E   uint16
	F   uint32
	G   uint64
	H   float32
	I   float64
	J   bool
	K   string
	L   event.Opt[event.Time]
	M   event.Opt[string]
	N   struct {
		X event.Opt[uint64]
		Y [3]string
		Z bool
	}
	O uintptr
	P uint
}

func byKey(a, b *wide) int { return cmp.Compare(a.Key, b.Key) }

// check pushes rows and compares what comes out with the standard library's stable sort.
func check(t *testing.T, rows []wide, maxBytes int64) *Sorter[wide] {
	t.Helper()
	s := NewSorter(byKey, maxBytes, t.TempDir())
	for i := range rows {
		row := rows[i]
		if err := s.Push(&row); err != nil {
			t.Fatal(err)
		}
		row = wide{K: "the caller's row is its own again"}
	}
	want := slices.Clone(rows)
	slices.SortStableFunc(want, func(a, b wide) int { return byKey(&a, &b) })
	if s.Len() != len(rows) {
		t.Fatalf("Len is %d of %d", s.Len(), len(rows))
	}
	for range 2 { // Each may be called again
		i := 0
		err := s.Each(func(v *wide) error {
			if i >= len(want) || !same(v, &want[i]) {
				return fmt.Errorf("row %d is %+v", i, *v)
			}
			i++
			return nil
		})
		if err != nil || i != len(want) {
			t.Fatalf("%d of %d rows: %v", i, len(want), err)
		}
	}
	walk(t, s, want)
	batches(t, rows, want, maxBytes)
	return s
}

// walk compares what a cursor gives, to its end and beyond.
func walk(t *testing.T, s *Sorter[wide], want []wide) {
	t.Helper()
	c, err := s.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		row, err := c.Next()
		if err != nil || row == nil || !same(row, &want[i]) {
			t.Fatalf("cursor: row %d is %+v, %v", i, row, err)
		}
	}
	for range 2 {
		if row, err := c.Next(); row != nil || err != nil {
			t.Fatalf("cursor: %+v, %v at the end", row, err)
		}
	}
}

// same compares rows with NaN equal to itself.
func same(a, b *wide) bool {
	x, y := *a, *b
	if math.Float64bits(x.I) != math.Float64bits(y.I) || math.Float32bits(x.H) != math.Float32bits(y.H) {
		return false
	}
	x.H, x.I, y.H, y.I = 0, 0, 0, 0
	return x == y
}

func randomRow(t *testing.T, r *rand.Rand) wide {
	v, ok := quick.Value(reflect.TypeFor[wide](), quickSource(r))
	if !ok {
		t.Fatal("quick makes no such value")
	}
	return v.Interface().(wide)
}

func TestSorterRoundTripsEveryType(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows []wide
	for i := range 2000 {
		row := randomRow(t, r)
		switch i % 5 {
		case 0: // most fields as they were
			if i > 0 {
				key := row.Key
				row = rows[i-1]
				row.Key = key
			}
		case 1:
			row.I, row.H, row.Key, row.G = math.NaN(), float32(math.Inf(-1)), math.MinInt64, math.MaxUint64
		case 2:
			row.I = math.Copysign(0, -1)
			row.K = strings.Repeat("x", i*10)
			row.N.Y[1] = "\xff\x00"
		}
		row.Seq = i
		rows = append(rows, row)
	}
	check(t, rows, 1<<30)
	s := check(t, rows, 20<<10)
	if len(s.spill.runs) < 2 {
		t.Fatal("nothing was spilled")
	}
}

func TestSorterIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, keys := range []int64{1, 2, 7, 1000} {
		rows := make([]wide, 5000)
		for i := range rows {
			rows[i] = wide{Key: r.Int64N(keys), Seq: i, K: fmt.Sprint("s", i%10)}
		}
		check(t, rows, 1<<30)
		check(t, rows, 30<<10)
	}
}

// Rows that come in the order of their ends are only a little out of place.
func TestSorterNearlySorted(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, spread := range []int64{1, 3, 50, 4000} {
		rows := make([]wide, 6000)
		for i := range rows {
			rows[i] = wide{Key: int64(i) - r.Int64N(spread), Seq: i}
		}
		check(t, rows, 1<<30)
		check(t, rows, 100<<10)
	}
}

func TestSorterInOrderMakesOneRun(t *testing.T) {
	rows := make([]wide, 5000)
	for i := range rows {
		rows[i] = wide{Key: int64(i / 3), Seq: i}
	}
	s := check(t, rows, 10<<10)
	if len(s.spill.runs) != 1 {
		t.Fatalf("%d runs", len(s.spill.runs))
	}
}

func TestSorterMergesRunsInLevels(t *testing.T) {
	rows := make([]wide, 3*maxRuns*20)
	for i := range rows {
		rows[i] = wide{Key: int64(-i / 5), Seq: i}
	}
	s := check(t, rows, 10*int64(reflect.TypeFor[wide]().Size())) // under 10 rows a run
	if len(s.levels()) < 2 || len(s.spill.runs) > 3*maxRuns {
		t.Fatalf("%d runs in %d levels", len(s.spill.runs), len(s.levels()))
	}
}

func (s *Sorter[T]) levels() []*levelFile { return s.spill.levels }

func TestSorterDictionaryForgets(t *testing.T) {
	rows := make([]wide, 3*dictStrings)
	for i := range rows {
		rows[i] = wide{Key: int64(i), Seq: i, K: fmt.Sprint(i % (dictStrings + 10)), M: event.Some(fmt.Sprint("long", strings.Repeat("y", i%200)))}
	}
	check(t, rows, 100<<10)
}

func TestSorterEmptyAndSmall(t *testing.T) {
	check(t, nil, 1)
	check(t, []wide{{Key: 1}}, 1)
	check(t, []wide{{Key: 2}, {Key: 1, K: "a"}}, 1)
}

func TestSorterStopsAtError(t *testing.T) {
	stop := errors.New("stop")
	for _, maxBytes := range []int64{1, 1 << 20} {
		s := NewSorter(byKey, maxBytes, t.TempDir())
		for i := range 10 {
			if err := s.Push(&wide{Key: int64(10 - i)}); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		if err := s.Each(func(*wide) error { n++; return stop }); err != stop || n != 1 {
			t.Fatalf("%v after %d rows", err, n)
		}
	}
}

func TestSorterLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	s := NewSorter(byKey, 1, dir)
	for i := range 100 {
		if err := s.Push(&wide{Key: int64(-i)}); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Fatal("files have names while in use: ", left)
	}
	f := s.spill.levels[0].f
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Fatal("Close leaves the file open")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSorterNamesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	s := NewSorter(byKey, 1, dir)
	s.Push(&wide{})
	err := s.Push(&wide{})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatal(err)
	}
}

func TestSorterFindsDamage(t *testing.T) {
	s := NewSorter(byKey, 1, t.TempDir())
	for i := range 50 {
		s.Push(&wide{Key: int64(i), K: "text"})
	}
	if _, err := s.spill.levels[0].f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}, 5); err != nil {
		t.Fatal(err)
	}
	if err := s.Each(func(*wide) error { return nil }); err == nil {
		t.Fatal("a damaged run reads")
	}
	s.spill.levels[0].f.Truncate(7)
	if err := s.Each(func(*wide) error { return nil }); err == nil {
		t.Fatal("a short run reads")
	}
}

func TestSorterRefusesPointers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("rows with pointers are taken")
		}
	}()
	NewSorter(func(a, b *struct{ P *int }) int { return 0 }, 0, "")
}

// All row types of the tables can be sorted.
func TestSorterTakesTheRowTypes(t *testing.T) {
	for _, table := range correlate.Tables {
		c := &rowCodec{}
		c.add(reflect.TypeOf(table.Zero), 0)
		if len(c.fields) == 0 {
			t.Error(table.Name)
		}
	}
}

func FuzzRunDecode(f *testing.F) {
	c := codecOf[wide]()
	e := newEncoder(c)
	row := wide{Key: 5, K: "abc", I: 2.5, J: true, M: event.Some("abc")}
	f.Add(slices.Clone(e.encode(ptr(&row))))
	row.Key++
	f.Add(slices.Clone(e.encode(ptr(&row))))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := decoder{c: c}
		var row wide
		for range 3 {
			if d.decode(b, ptr(&row)) != nil {
				return
			}
		}
	})
}

func benchRows(n int) []correlate.Job {
	r := rand.New(rand.NewPCG(7, 8))
	rows := make([]correlate.Job, n)
	for i := range rows {
		at := event.Time(i*1000) - event.Time(r.Int64N(20000))
		rows[i] = correlate.Job{
			ID: correlate.ID(i + 1), Origin: "drm_sched", Ring: "gfx", Owner: "user", DeviceID: 1, ProcessID: 3,
			PID: event.Some[int64](100), TID: event.Some(int64(100 + i%4)), SchedJobID: event.Some(uint64(i)),
			JobPtr: event.Some(0xffff888000000000 + uint64(i%64)*512), FenceContext: event.Some[uint64](17), FenceSeqno: event.Some(uint64(i)),
			QueuedNS: event.OptTime(at), RunNS: event.OptTime(at + 500), DoneNS: event.OptTime(at + 9000),
			QueueDelayNS: event.Some[int64](500), DeviceTimeNS: event.Some[int64](8500), EndKind: "done", Runs: 1, RingRule: "source", Comm: "python3",
		}
	}
	return rows
}

func BenchmarkSorter(b *testing.B) {
	rows := benchRows(100_000)
	compare := func(x, y *correlate.Job) int { return cmp.Compare(x.QueuedNS.V, y.QueuedNS.V) }
	for _, c := range []struct {
		name string
		max  int64
	}{{"memory", 1 << 30}, {"spill", 8 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var bytes int64
			for range b.N {
				s := NewSorter(compare, c.max, b.TempDir())
				for i := range rows {
					if err := s.Push(&rows[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Each(func(*correlate.Job) error { return nil }); err != nil {
					b.Fatal(err)
				}
				for _, l := range s.spill.levels {
					bytes += l.size
				}
				s.Close()
			}
			n := float64(b.N) * float64(len(rows))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/row")
			b.ReportMetric(float64(bytes)/n, "spilled-B/row")
		})
	}
}

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

func quickSource(r *rand.Rand) *mathrand.Rand { return mathrand.New(mathrand.NewSource(r.Int64())) }
