package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/gpurec/gpurec/correlate"
	pfcheck "github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/record/gpulog"
)

// cannotHold is what an export does not give back when it is imported again,
// and why. kind is what [kindsOf] calls it, or the first words of that, or all that
// begins with it if it ends with a hyphen; the format "" is both.
var cannotHold = []struct{ format, kind, why string }{
	{"", "fence", "fences are no slices: those that a wait or a job names are in its arguments"},
	{"", "irq", "interrupts have no place in the picture"},
	{"", "flow", "arrows of the source have no place in the picture"},
	{"", "link job-hw-fence", "its fence is no slice; the fence is an argument"},
	{"", "link job-scheduled-fence", "its fence is no slice"},
	{"", "link job-fence", "its fence is no slice: that of a job whose fence signals comes back"},
	{"", "link job-wake", "the signal that woke a thread is found by what its CPU did around it, which is not drawn"},
	{"", "reset", "a reset that was found by what jobs did is drawn as an instant, what they did is not"},
	{"", "mark reset", "is what such a reset comes back as"},
	{"", "link reset-", "with it"},
	{"", "link job-dep", "a dependency comes back where the job waited for it: that is a stage"},
	{"", "idle", "gaps are found again by what came back: dependencies that were met, or on fences of no job, do not"},
	{"chrome-json", "cpu idle", "a CPU that no thread ran on has no slice"},
}

// cannotHoldIf is the same for what an export says of itself: an anomaly, or the
// counter of jobs beyond the lanes. Other files are held to their counts.
var cannotHoldIf = []struct{ said, kind, why string }{
	{"queued, not drawn", "job", "jobs beyond twelve lanes that never ran are in a counter"},
	{"queued, not drawn", "link ioctl-job", "with them"},
	{"picture_job_not_drawn", "job", "of some jobs too little is known to draw them"},
	{"picture_job_not_drawn", "link fence-wait", "with them"},
	{"end: lost", "job", "the end of a job was not seen, or that of one before it"},
	{"end: lost", "link job-", "with it"},
	{"end: lost", "link ioctl-job", "with it"},
	{"end: lost", "link fence-wait", "with it"},
	{"unmatched_reason: not_possible", "link job-run", "which driver told of a job is not drawn: with some, queueing is the hand-over"},
	{"job_id_ambiguous", "job", "which device a job is of is found anew"},
	{"job_id_ambiguous", "link job-", "with it"},
}

// saidOf is what an export says of itself that bears on what it can hold.
func saidOf(rep *pfcheck.Report) map[string]bool {
	said := map[string]bool{}
	for _, x := range rep.Instants {
		if x.Category == "anomaly" {
			said[x.Name] = true
		}
	}
	for _, tr := range rep.Tracks {
		said[tr.Name] = said[tr.Name] || tr.IsCounter && tr.Name == "queued, not drawn"
	}
	for _, s := range rep.Slices {
		for _, a := range []struct{ arg, value string }{{"end", "lost"}, {"unmatched_reason", "not_possible"}} {
			what := a.arg + ": " + a.value
			said[what] = said[what] || strings.HasPrefix(s.Category, "job.") && s.Str(a.arg) == a.value
		}
	}
	return said
}

// TestRoundTripsOfAllTraces exports every trace to every format and reads it
// back: counts and sums are those of the rows.
func TestRoundTripsOfAllTraces(t *testing.T) {
	trips := &roundTrips{dir: t.TempDir(), used: map[int]int{}}
	inputs := everyInput(t)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		t.Run(name, func(t *testing.T) { trips.of(t, name, inputs[name]) })
	}
	for i, c := range cannotHold {
		if trips.used[i] == 0 && trips.files > 100 { // all there are
			t.Errorf("%s holds %s after all: take it off the list", c.format, c.kind)
		}
	}
	t.Logf("%d files, %d round trips", trips.files, trips.trips)
}

type roundTrips struct {
	dir          string
	files, trips int
	used         map[int]int // by row of cannotHold
}

func (r *roundTrips) of(t *testing.T, name, in string) {
	log, back := filepath.Join(r.dir, "in.gpurec"), filepath.Join(r.dir, "back.gpurec")
	if res := gpurec(t, "import", "-q", in, "-o", log); res.code != 0 && res.code != exitPartial {
		t.Logf("%s: cannot be read", name)
		return
	}
	r.files++
	want := tallyLog(t, log)
	var said map[string]bool
	for _, f := range []struct{ format, out string }{{"parquet", "p/"}, {"perfetto", "x.pftrace"}, {"chrome-json", "x.json"}} {
		out := filepath.Join(r.dir, f.out)
		if f.format == "parquet" {
			out += "/"
		}
		must(t, "export", "-q", log, "-o", out)
		r.trips++
		if f.format == "parquet" {
			sameTables(t, name, want.tables, tallyParquet(t, out))
			continue
		}
		if f.format == "perfetto" {
			if rep := soundPerfetto(t, name, out); rep != nil {
				said = saidOf(rep)
			}
		}
		if name == "golden" {
			continue // one of everything, put together: its ends and beginnings belong to nothing
		}
		if res := gpurec(t, "import", "-q", out, "-o", back); res.code != 0 {
			t.Errorf("%s: %s does not come back: %s", name, f.format, res.stderr)
			continue
		}
		sameKinds(t, name, f.format, want.kinds, tallyLog(t, back).kinds, said, r.used)
	}
}

// tally is what rows add up to.
type tally struct {
	tables map[string]*columnTally // by "table.column"
	kinds  map[string]kindTally
}

// columnTally adds up a column: whole numbers modulo 2^64, text by its hash.
type columnTally struct {
	rows, nulls int
	sum         uint64
	reals       float64
}

func (c *columnTally) text(s string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	c.sum += h.Sum64()
}

func (c *columnTally) real(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		c.sum++
		return
	}
	c.reals += v
}

// kindTally adds up rows of one kind: how many, and the lengths of those with
// both ends known; of counters, their values.
type kindTally struct {
	n     int
	ns    int64
	value float64
}

func tallyLog(t *testing.T, path string) *tally {
	t.Helper()
	l, err := gpulog.Open(path, gpulog.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	s := gpulog.Sort(r, gpulog.SortOptions{})
	defer s.Close()
	a := &tally{map[string]*columnTally{}, map[string]kindTally{}}
	_, err = correlate.Run(s, correlate.Options{}, func(rows *correlate.Rows) error {
		a.add(rows)
		kindsOf(a.kinds, rows)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *tally) column(table, name string) *columnTally {
	k := table + "." + name
	if a.tables[k] == nil {
		a.tables[k] = &columnTally{}
	}
	return a.tables[k]
}

// add adds all columns of all rows, found by their tags.
func (a *tally) add(rows *correlate.Rows) {
	byType := map[reflect.Type]string{}
	for _, tb := range correlate.Tables {
		byType[reflect.TypeOf(tb.Zero)] = tb.Name
	}
	v := reflect.ValueOf(rows).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		table := byType[list.Type().Elem()]
		for f := range list.Type().Elem().NumField() {
			c := a.column(table, list.Type().Elem().Field(f).Tag.Get("col"))
			for k := range list.Len() {
				c.field(list.Index(k).Field(f).Interface())
			}
		}
	}
}

func (c *columnTally) field(v any) {
	c.rows++
	switch v := v.(type) {
	case correlate.ID:
		c.opt(v != 0, uint64(v))
	case correlate.OptTime:
		c.opt(v.OK, uint64(v.V))
	case correlate.OptInt: // and OptDur
		c.opt(v.OK, uint64(v.V))
	case correlate.OptUint:
		c.opt(v.OK, v.V)
	case correlate.OptBool:
		c.opt(v.OK, boolBit(v.V))
	case correlate.OptReal:
		if c.opt(v.OK, 0); v.OK {
			c.real(v.V)
		}
	case float64:
		c.real(v)
	case string:
		if c.opt(v != "", 0); v != "" {
			c.text(escaped(v))
		}
	case bool:
		c.sum += boolBit(v)
	default:
		c.sum += uint64(reflect.ValueOf(v).Convert(reflect.TypeFor[int64]()).Int())
	}
}

func (c *columnTally) opt(ok bool, v uint64) {
	if !ok {
		c.nulls++
		return
	}
	c.sum += v
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// escaped has the bytes that are no UTF-8 as \xNN, as docs/parquet.md says.
func escaped(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// tallyParquet adds up what the files of an export hold.
func tallyParquet(t *testing.T, dir string) map[string]*columnTally {
	t.Helper()
	a := &tally{tables: map[string]*columnTally{}}
	for _, tb := range correlate.Tables {
		f, err := os.Open(filepath.Join(dir, tb.Name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		p, err := parquet.OpenFile(f, st.Size())
		if err != nil {
			t.Fatal(err)
		}
		var columns []*columnTally
		for _, c := range p.Schema().Columns() {
			columns = append(columns, a.column(tb.Name, c[0]))
		}
		for _, g := range p.RowGroups() {
			tallyGroup(t, g, columns)
		}
		f.Close()
	}
	return a.tables
}

func tallyGroup(t *testing.T, g parquet.RowGroup, columns []*columnTally) {
	t.Helper()
	r := g.Rows()
	defer r.Close()
	for buf := make([]parquet.Row, 256); ; {
		n, err := r.ReadRows(buf)
		for _, row := range buf[:n] {
			for i, v := range row {
				c := columns[i]
				c.rows++
				switch {
				case v.IsNull():
					c.nulls++
				case v.Kind() == parquet.Int64:
					c.sum += v.Uint64()
				case v.Kind() == parquet.Boolean:
					c.sum += boolBit(v.Boolean())
				case v.Kind() == parquet.Double:
					c.real(v.Double())
				default:
					c.text(string(v.ByteArray()))
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func sameTables(t *testing.T, name string, want, got map[string]*columnTally) {
	t.Helper()
	for k, w := range want {
		g := got[k]
		if g == nil {
			t.Errorf("%s: Parquet has no %s", name, k)
			continue
		}
		if g.rows != w.rows || g.nulls != w.nulls || g.sum != w.sum || math.Abs(g.reals-w.reals) > 1e-9*math.Abs(w.reals) {
			t.Errorf("%s: Parquet: %s has %+v, the rows %+v", name, k, *g, *w)
		}
	}
}

// kindsOf adds up rows by what they are, but for those without any time, which
// only tables can hold.
func kindsOf(m map[string]kindTally, r *correlate.Rows) {
	known := func(t correlate.OptTime) bool { return t.OK && t.V.Known() && t.V < 1<<62 && t.V > -1<<62 }
	add := func(kind string, start, end correlate.OptTime) {
		if !known(start) && !known(end) {
			return
		}
		k := m[kind]
		k.n++
		if known(start) && known(end) {
			k.ns += int64(end.V - start.V)
		}
		m[kind] = k
	}
	// What was open came back as drawn to the end of the trace, and says so.
	open := func(args string) bool { return strings.Contains(args, `"end":"`) || strings.Contains(args, `"end": "`) }
	for i := range r.APICalls {
		x := &r.APICalls[i]
		if open(x.Args) {
			x.EndNS = correlate.OptTime{}
		}
		add("call "+x.API, x.StartNS, x.EndNS)
	}
	for i := range r.Ioctls {
		add("ioctl", r.Ioctls[i].StartNS, r.Ioctls[i].EndNS)
	}
	for i := range r.FenceWaits {
		add("fence_wait", r.FenceWaits[i].StartNS, r.FenceWaits[i].EndNS)
	}
	for i := range r.Jobs {
		x := &r.Jobs[i]
		if known(x.QueuedNS) || known(x.RunNS) || known(x.DoneNS) {
			k := m["job"]
			k.n++
			m["job"] = k
		}
		if known(x.QueuedNS) {
			add("job queued", x.QueuedNS, x.DeviceStartNS)
		}
		if known(x.DeviceStartNS) {
			add("job running", x.DeviceStartNS, x.DoneNS)
		} else if known(x.RunNS) {
			add("job running", x.RunNS, correlate.OptTime{})
		}
	}
	for i := range r.GPUActivities {
		x := &r.GPUActivities[i]
		add("activity "+x.Kind, x.StartNS, x.EndNS)
	}
	for i := range r.Slices {
		x := &r.Slices[i]
		if open(x.Args) {
			x.EndNS = correlate.OptTime{}
		}
		add("slice "+x.Category, x.StartNS, x.EndNS)
	}
	for i := range r.IdleGaps {
		x := &r.IdleGaps[i]
		add("idle "+x.Cause, x.StartNS, x.EndNS)
	}
	for i := range r.Losses {
		add("loss", r.Losses[i].StartNS, r.Losses[i].EndNS)
	}
	for i := range r.Sched {
		x := &r.Sched[i]
		if x.TID.V == 0 {
			add("cpu idle", x.StartNS, x.EndNS)
			continue
		}
		add("sched", x.StartNS, x.EndNS)
	}
	kindsOfPoints(m, r)
}

func kindsOfPoints(m map[string]kindTally, r *correlate.Rows) {
	add := func(kind string, v float64) {
		k := m[kind]
		k.n, k.value = k.n+1, k.value+v
		m[kind] = k
	}
	at := func(kind string, t correlate.OptTime, v float64) {
		if t.OK && t.V.Known() && t.V < 1<<62 && t.V > -1<<62 {
			add(kind, v)
		}
	}
	for i := range r.Marks {
		at("mark "+r.Marks[i].Category, r.Marks[i].TSNS, 0)
	}
	for i := range r.Counters {
		at("counter "+r.Counters[i].Name, r.Counters[i].TSNS, r.Counters[i].Value)
	}
	for i := range r.Flows {
		add("flow "+r.Flows[i].Step, 0)
	}
	for i := range r.Links {
		add("link "+r.Links[i].Rule, 0)
	}
	for i := range r.Others {
		at("other", r.Others[i].TSNS, 0)
	}
	for i := range r.Resets {
		at("reset", r.Resets[i].TSNS, 0)
	}
	for i := range r.LogLines {
		at("log_line", r.LogLines[i].TSNS, 0)
	}
	for i := range r.Samples {
		at("sample", r.Samples[i].TSNS, 0)
	}
	for range r.IRQs {
		add("irq", 0)
	}
	for i := range r.MemMaps {
		at("mem_map", r.MemMaps[i].TSNS, 0)
	}
	for range r.Fences {
		add("fence", 0)
	}
}

// isOf reports whether a row of the tables speaks of a kind.
func isOf(k, kind string) bool {
	return k == kind || strings.HasPrefix(k, kind+" ") || strings.HasSuffix(kind, "-") && strings.HasPrefix(k, kind)
}

func sameKinds(t *testing.T, name, format string, want, got map[string]kindTally, said map[string]bool, used map[int]int) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, got)
next:
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if want[k] == got[k] {
			continue
		}
		for i, c := range cannotHold {
			if (c.format == format || c.format == "") && isOf(k, c.kind) {
				used[i]++
				continue next
			}
		}
		for _, c := range cannotHoldIf {
			if said[c.said] && isOf(k, c.kind) {
				continue next
			}
		}
		t.Errorf("%s: %s: %s: %+v became %+v", name, format, k, want[k], got[k])
	}
}
