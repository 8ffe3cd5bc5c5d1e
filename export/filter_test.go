package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// gathered is a sink that keeps everything.
type gathered struct {
	rows correlate.Rows
	sum  *correlate.Summary
}

func (g *gathered) Begin(*event.Meta) error { return nil }
func (g *gathered) Abort() error            { return nil }
func (g *gathered) End(s *correlate.Summary) error {
	g.sum = s
	return nil
}

func (g *gathered) Write(r *correlate.Rows) error {
	g.rows.APICalls = append(g.rows.APICalls, r.APICalls...)
	g.rows.Ioctls = append(g.rows.Ioctls, r.Ioctls...)
	g.rows.Jobs = append(g.rows.Jobs, r.Jobs...)
	g.rows.JobDeps = append(g.rows.JobDeps, r.JobDeps...)
	g.rows.Fences = append(g.rows.Fences, r.Fences...)
	g.rows.Links = append(g.rows.Links, r.Links...)
	g.rows.Unmatched = append(g.rows.Unmatched, r.Unmatched...)
	g.rows.Losses = append(g.rows.Losses, r.Losses...)
	g.rows.Counters = append(g.rows.Counters, r.Counters...)
	g.rows.Slices = append(g.rows.Slices, r.Slices...)
	g.rows.Sched = append(g.rows.Sched, r.Sched...)
	g.rows.Anomalies = append(g.rows.Anomalies, r.Anomalies...)
	g.rows.Metadata = append(g.rows.Metadata, r.Metadata...)
	return nil
}

func ns(v int64) correlate.OptTime { return event.Some(event.Time(v)) }

// filtered passes rows through a filter of a trace that starts at 1000. Links
// come before the rows they speak of.
func filtered(t *testing.T, o FilterOptions, rows *correlate.Rows) *gathered {
	t.Helper()
	g := &gathered{}
	o.TempDir = t.TempDir()
	f := NewFilter(g, o)
	f.Starts(1000)
	if err := f.Begin(&event.Meta{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*correlate.Rows{{Links: rows.Links, Unmatched: rows.Unmatched, JobDeps: rows.JobDeps}, rows} {
		if r == rows {
			later := *rows
			later.Links, later.Unmatched, later.JobDeps = nil, nil, nil
			r = &later
		}
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	sum := &correlate.Summary{Rows: map[string]uint64{}}
	for _, table := range correlate.Tables {
		sum.Rows[table.Name] = uint64(table.Len(rows))
	}
	if err := f.End(sum); err != nil {
		t.Fatal(err)
	}
	return g
}

func callIDs(g *gathered) string {
	var ids []string
	for _, c := range g.rows.APICalls {
		ids = append(ids, fmt.Sprint(c.ID))
	}
	return strings.Join(ids, " ")
}

func edge(t *testing.T, s string) Edge {
	t.Helper()
	e, err := ParseEdge(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// From 1.2 µs (200 ns after the start) up to 1.3 µs.
func TestFilterWindow(t *testing.T) {
	calls := func(times ...correlate.OptTime) *correlate.Rows {
		r := &correlate.Rows{}
		for i := 0; i < len(times); i += 2 {
			r.APICalls = append(r.APICalls, correlate.APICall{ID: correlate.ID(i/2 + 1), StartNS: times[i], EndNS: times[i+1], EndKind: "returned"})
		}
		return r
	}
	rows := calls(
		ns(1100), ns(1199), // 1: before
		ns(1100), ns(1200), // 2: touches the edge
		ns(1100), ns(1201), // 3: into it
		ns(1200), ns(1200), // 4: a point at the first edge
		ns(1250), ns(1260), // 5: inside
		ns(1100), ns(1400), // 6: around
		ns(1299), ns(1400), // 7: out of it
		ns(1300), ns(1400), // 8: begins at the second edge
		correlate.OptTime{}, ns(1250), // 9: only the return was seen
		correlate.OptTime{}, correlate.OptTime{}) // 10: no time
	rows.APICalls = append(rows.APICalls,
		correlate.APICall{ID: 11, StartNS: ns(1100), EndKind: "open"},
		correlate.APICall{ID: 12, StartNS: ns(1100), EndKind: "lost"})
	for _, w := range []*Window{
		{From: edge(t, "200ns"), To: edge(t, "300ns")},
		{From: edge(t, "1200"), To: edge(t, "1300")},
	} {
		g := filtered(t, FilterOptions{Window: w}, rows)
		if got := callIDs(g); got != "3 4 5 6 7 9 10 11" {
			t.Errorf("passed %s", got)
		}
		if g.sum.Rows["api_calls"] != 8 {
			t.Errorf("the summary says %d", g.sum.Rows["api_calls"])
		}
		if a := g.rows.Anomalies; len(a) != 1 || a[0].Name != "left_out_time" || a[0].Count != 4 || a[0].Sample != "4 api_calls" {
			t.Errorf("anomalies %+v", a)
		}
		if !slices.Contains(g.rows.Metadata, correlate.Metadata{Key: "export.left_out.api_calls", Value: "4"}) {
			t.Errorf("metadata %+v", g.rows.Metadata)
		}
	}
}

// Whatever speaks of a row that is left out goes with it, however the two come.
func TestFilterLeavesNothingDangling(t *testing.T) {
	rows := &correlate.Rows{
		APICalls: []correlate.APICall{{ID: 1, ProcessID: 1}, {ID: 2, ProcessID: 2}},
		Ioctls:   []correlate.Ioctl{{ID: 1, ProcessID: 1, Role: "submit"}, {ID: 2, ProcessID: 2, Role: "submit"}},
		Jobs:     []correlate.Job{{ID: 1, ProcessID: 1}, {ID: 2, ProcessID: 2}, {ID: 3, Owner: "kernel"}},
		JobDeps:  []correlate.JobDep{{JobID: 1, OnJobID: 1}, {JobID: 1, OnJobID: 2}, {JobID: 1}, {JobID: 2}},
		Fences:   []correlate.Fence{{ID: 1, JobID: 1}, {ID: 2, JobID: 2}, {ID: 3}},
		Links: []correlate.Link{
			{SrcTable: "api_calls", SrcID: 1, DstTable: "ioctls", DstID: 1}, {SrcTable: "api_calls", SrcID: 2, DstTable: "ioctls", DstID: 2},
			{SrcTable: "ioctls", SrcID: 1, DstTable: "jobs", DstID: 2}, {SrcTable: "jobs", SrcID: 2, DstTable: "fences", DstID: 3},
			{SrcTable: "jobs", SrcID: 1, DstTable: "fences", DstID: 2}, {SrcTable: "jobs", SrcID: 1, DstTable: "fences", DstID: 1},
		},
		Unmatched: []correlate.Unmatched{{SrcTable: "jobs", SrcID: 1}, {SrcTable: "jobs", SrcID: 2}},
		Counters:  []correlate.Counter{{Name: "power"}, {Name: "rss", ProcessID: 2}},
		Sched:     []correlate.Sched{{ProcessID: 2}},
		Slices:    []correlate.Slice{{ID: 1, ProcessID: 2}, {ID: 2, DeviceID: 1, Track: "x"}, {ID: 3}},
	}
	set, missing := MatchProcesses([]correlate.Process{{ID: 1, PID: event.Some[int64](7), Name: "train.py"}, {ID: 2, PID: event.Some[int64](8), Name: "other"}}, []string{"tr*n.py"})
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	g := filtered(t, FilterOptions{Processes: set}, rows)
	if got := fmt.Sprint(len(g.rows.APICalls), len(g.rows.Ioctls), len(g.rows.Jobs), len(g.rows.JobDeps), len(g.rows.Fences), len(g.rows.Links), len(g.rows.Unmatched), len(g.rows.Counters), len(g.rows.Sched), len(g.rows.Slices)); got != "1 1 1 2 2 2 1 1 1 1" {
		t.Errorf("passed %s", got)
	}
	for _, l := range g.rows.Links {
		if l.SrcID != 1 || l.DstID != 1 {
			t.Errorf("link %+v", l)
		}
	}
}

func TestMatchProcesses(t *testing.T) {
	rows := []correlate.Process{{ID: 1, PID: event.Some[int64](7), Name: "a"}, {ID: 2, PID: event.Some[int64](7), Name: "b"}, {ID: 3, Name: "7"}, {ID: 4}}
	for want, ids := range map[string]string{"7": "1 2 3", "b": "2", "*": "1 2 3", "8": "", "": ""} {
		set, missing := MatchProcesses(rows, []string{want})
		var got []string
		for id := correlate.ID(1); id <= 4; id++ {
			if set.has(id, correlate.OptInt{}) {
				got = append(got, fmt.Sprint(id))
			}
		}
		if strings.Join(got, " ") != ids || (len(missing) == 1) != (ids == "") {
			t.Errorf("%q fits %v, missing %v", want, got, missing)
		}
	}
	set, _ := MatchProcesses(rows, []string{"a"})
	if !set.has(0, event.Some[int64](7)) || set.has(0, event.Some[int64](9)) || set.has(0, correlate.OptInt{}) {
		t.Error("rows that name a pid alone")
	}
}

func TestFilterKinds(t *testing.T) {
	rows := &correlate.Rows{
		APICalls: []correlate.APICall{{ID: 1, API: "cuda_driver"}, {ID: 2, API: "cuda_runtime"}, {ID: 3, API: "nccl"}},
		Ioctls:   []correlate.Ioctl{{ID: 1}},
		Links:    []correlate.Link{{SrcTable: "api_calls", SrcID: 1, DstTable: "ioctls", DstID: 1}, {SrcTable: "api_calls", SrcID: 1, DstTable: "jobs", DstID: 9}},
		Losses:   []correlate.Loss{{ID: 1}},
	}
	kinds := func(list string) (out []Kind) {
		for _, s := range strings.Fields(list) {
			k, err := ParseKind(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, k)
		}
		return out
	}
	for _, c := range []struct{ include, exclude, calls, rest string }{
		{"", "", "1 2 3", "1 2 1"},
		{"api", "", "1 2 3", "0 1 1"},
		{"api:cuda_* ioctls", "", "1 2", "1 2 1"},
		{"ioctls", "", "", "1 0 1"},
		{"", "api_calls:cuda_driver", "2 3", "1 0 1"},
		{"api:cuda_*", "api:*_driver", "2", "0 0 1"},
		{"", "links", "1 2 3", "1 0 1"},
	} {
		g := filtered(t, FilterOptions{Include: kinds(c.include), Exclude: kinds(c.exclude)}, rows)
		if got := callIDs(g); got != c.calls {
			t.Errorf("include %q exclude %q: calls %s, not %s", c.include, c.exclude, got, c.calls)
		}
		if got := fmt.Sprint(len(g.rows.Ioctls), len(g.rows.Links), len(g.rows.Losses)); got != c.rest {
			t.Errorf("include %q exclude %q: ioctls, links, losses %s, not %s", c.include, c.exclude, got, c.rest)
		}
	}
	for _, bad := range []string{"", "nothing", "processes", "api:", "sched:x", "api:["} {
		if k, err := ParseKind(bad); err == nil {
			t.Errorf("%q is %v", bad, k)
		}
	}
}

// Each step leaves out what its title says, and the steps before it did.
func TestFilterDetail(t *testing.T) {
	rows := &correlate.Rows{
		APICalls: []correlate.APICall{{ID: 1, Class: "launch"}, {ID: 2, Class: "query"}, {ID: 3}},
		Ioctls:   []correlate.Ioctl{{ID: 1, Role: "submit"}, {ID: 2, Role: "map"}},
		Jobs:     []correlate.Job{{ID: 1}},
		Sched:    make([]correlate.Sched, 5),
		Links:    []correlate.Link{{SrcTable: "jobs", SrcID: 1}},
	}
	for detail, want := range map[int]string{0: "3 2 1 5 1", 4: "3 2 1 5 1", 5: "3 2 1 0 1", 11: "3 1 1 0 1", 12: "2 1 1 0 1", 13: "2 1 1 0 0", 16: "0 0 1 0 0", 99: "0 0 1 0 0"} {
		g := filtered(t, FilterOptions{Detail: detail}, rows)
		if got := fmt.Sprint(len(g.rows.APICalls), len(g.rows.Ioctls), len(g.rows.Jobs), len(g.rows.Sched), len(g.rows.Links)); got != want {
			t.Errorf("detail %d: %s, not %s", detail, got, want)
		}
	}
}

func TestNextDetail(t *testing.T) {
	f := NewFilter(&gathered{}, FilterOptions{})
	f.plan["sched"].passed[0] = 1000 // 90,000 of 440,000 by weight
	f.plan["jobs"].passed[0] = 1000
	for _, c := range []struct {
		limit  int64
		detail int
	}{{900, 5}, {400, 16}} {
		if got, ok := f.NextDetail(1000, c.limit); got != c.detail || !ok {
			t.Errorf("limit %d: %d %v", c.limit, got, ok)
		}
	}
	f.o.Detail = len(DetailSteps)
	if _, ok := f.NextDetail(1000, 10); ok {
		t.Error("nothing is left to leave out")
	}
}

func TestParseEdge(t *testing.T) {
	for s, want := range map[string]Edge{
		"1.5s": {true, true, 1_500_000_000}, "0s": {true, true, 0}, "12345678901": {true, false, 12345678901}, "0": {true, true, 0}, "-5": {true, false, -5},
	} {
		if s == "0" {
			want.Relative = false
		}
		if got, err := ParseEdge(s); got != want || err != nil {
			t.Errorf("%q is %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "x", "1.5", "-1s", "1e9"} {
		if e, err := ParseEdge(s); err == nil {
			t.Errorf("%q is %+v", s, e)
		}
	}
}

func TestIDSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s idSet
	want := map[correlate.ID]bool{}
	for range 5000 {
		id := correlate.ID(r.Int64N(20000))
		s.add(id)
		want[id] = true
	}
	for id := correlate.ID(0); id < 20000; id++ {
		if s.has(id) != want[id] {
			t.Fatal(id)
		}
	}
}
