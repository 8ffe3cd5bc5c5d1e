package report

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Overlapping, touching, contained and apart, in any order: 0–10, 20–35, 50–51.
func TestUnionByHand(t *testing.T) {
	spans := []interval{{0, 5}, {5, 10}, {20, 30}, {22, 25}, {28, 35}, {50, 51}, {7, 7}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r.Shuffle(len(spans), func(i, k int) { spans[i], spans[k] = spans[k], spans[i] })
		var u union
		for _, s := range spans {
			u.add(s.start, s.end)
		}
		if u.covered() != 10+15+1 || u.late {
			t.Fatalf("%v cover %d", spans, u.covered())
		}
	}
}

// Beyond its bound a union settles its oldest spans, and counts none twice.
func TestUnionIsBounded(t *testing.T) {
	var u union
	const n = 3*maxSpans + 7
	for i := range int64(n) {
		u.add(10*i, 10*i+4)
	}
	if len(u.spans) > maxSpans || u.covered() != 4*n || u.late {
		t.Errorf("%d spans cover %d, want %d", len(u.spans), u.covered(), 4*n)
	}
	u.add(0, 4)
	if u.covered() != 4*n || !u.late {
		t.Errorf("a span that comes late: %d, %v", u.covered(), u.late)
	}
}

// A frame of 16 ms; every tenth takes 33. The times come out of order.
func TestPeriodicStutter(t *testing.T) {
	var times []int64
	at := int64(0)
	for i := range 61 {
		times = append(times, at)
		if at += 16e6; i%10 == 9 {
			at += 17e6
		}
	}
	for i := 0; i+3 < len(times); i += 4 {
		times[i], times[i+3] = times[i+3], times[i]
	}
	var x intervals
	for _, v := range times {
		x.add(v)
	}
	x.flush(len(x.times))
	r := x.regularity()
	// 60 intervals, 6 of them 33 ms; their begins are 10 frames and 17 ms apart.
	if r.Intervals.Count != 60 || r.Intervals.P50NS != 16e6 || r.Intervals.MaxNS != 33e6 || r.ThresholdNS != 24e6 ||
		r.Outliers != 6 || r.ExcessNS != 6*17e6 || r.PeriodNS == nil || *r.PeriodNS != 177e6 || !r.Periodic {
		t.Errorf("%+v", r)
	}
	if !r.stutters(stutterShare) {
		t.Error("no stutter")
	}
}

// Four jobs, 100 µs apart, in each frame of 10 ms; one frame takes 30.
func TestStutterOfBursts(t *testing.T) {
	b := NewBuilder("test")
	n := correlate.ID(0)
	for f := range int64(40) {
		at := f * 10e6
		if f > 20 {
			at += 20e6
		}
		for k := range int64(4) {
			n++
			b.addJob(&correlate.Job{ID: n, Ring: "gfx", ProcessID: 3, QueuedNS: optNS(at + k*100_000)})
		}
	}
	b.endSubmissions()
	s := b.rep.Submissions[0]
	// 159 intervals; the 39 between frames are outliers: more than a tenth.
	if s.Intervals.Count != 159 || s.Intervals.P50NS != 100_000 || s.Outliers != 39 || s.Bursts == nil {
		t.Fatalf("%+v", s)
	}
	if u := s.Bursts; u.Intervals.Count != 39 || u.Intervals.P50NS != 10e6 || u.Outliers != 1 || u.ExcessNS != 20e6 || u.list[0] != (interval{200e6, 230e6}) || u.PeriodNS != nil {
		t.Errorf("%+v", u)
	}
	if f := b.stutter(); len(f) != 1 || f[0].Value != 1 || *f[0].StartNS != 200e6 || *f[0].EndNS != 230e6 {
		t.Errorf("%+v", f)
	}
}

// frames gives 50 calls or jobs, 100 µs apart, in each frame of 16 ms; the
// frames of late take 30 ms more.
func frames(n int, late map[int]bool, give func(at int64)) {
	at := int64(0)
	for f := range n {
		for k := range int64(50) {
			give(at + k*100_000)
		}
		if at += 16e6; late[f] {
			at += 30e6
		}
	}
}

// Where each frame makes many calls, frames part bursts, though few intervals
// do: regular ones are no stutter, one late frame is, whoever measured it.
func TestStutterOfManyCallsAFrame(t *testing.T) {
	for name, late := range map[string]map[int]bool{"none late": nil, "one late": {20: true}, "every seventh late": {6: true, 13: true, 20: true, 27: true, 34: true}} {
		calls, jobs := NewBuilder("test"), NewBuilder("test")
		frames(40, late, func(at int64) {
			calls.addAPI(&correlate.APICall{ID: 1, ProcessID: 3, Class: "launch", StartNS: optNS(at), EndNS: optNS(at + 5), DurNS: event.Some(int64(5)), EndKind: "returned"})
			jobs.addJob(&correlate.Job{ID: 1, Ring: "gfx", ProcessID: 3, QueuedNS: optNS(at)})
		})
		for by, b := range map[string]*Builder{byCalls: calls, byJobs: jobs} {
			b.endSubmissions()
			s := b.rep.Submissions
			if len(s) != 1 || s[0].MeasuredBy != by || s[0].Intervals.P50NS != 100_000 || s[0].Outliers != 39 || s[0].Bursts == nil || s[0].Bursts.Intervals.P50NS != 16e6 {
				t.Fatalf("%s, %s: %+v", name, by, s)
			}
			f := b.stutter()
			if len(f) != min(len(late), 1) {
				t.Errorf("%s, %s: %+v", name, by, f)
			}
			if len(late) > 1 && len(f) == 1 && (f[0].Value != 5 || f[0].CostNS != 5*30e6 || !strings.Contains(f[0].Text, "about every 142.00 ms: a periodic stutter")) {
				t.Errorf("%s, %s: %+v", name, by, f[0])
			}
			if len(late) == 1 && len(f) == 1 && (f[0].CostNS != 30e6 || *f[0].StartNS != 20*16e6 || *f[0].EndNS != 21*16e6+30e6) {
				t.Errorf("%s, %s: %+v", name, by, f[0])
			}
		}
	}
	// A few frames are too few to judge, and no stutter of the calls in them.
	b := NewBuilder("test")
	frames(12, nil, func(at int64) { b.submitted(submitKey{by: byCalls}, at) })
	if b.endSubmissions(); len(b.stutter()) != 0 {
		t.Errorf("%+v", b.stutter())
	}
}

// Calls count as submissions only in a log without jobs.
func TestJobsTellSubmissionsThemselves(t *testing.T) {
	r := run(t, &correlate.Rows{
		APICalls: []correlate.APICall{{ID: 1, Class: "launch", StartNS: at(1), EndKind: "open"}, {ID: 2, Class: "launch", StartNS: at(9), EndKind: "open"}},
		Jobs:     []correlate.Job{{ID: 1, Ring: "gfx", QueuedNS: at(2)}, {ID: 2, Ring: "gfx", QueuedNS: at(10)}},
	})
	if len(r.Submissions) != 1 || r.Submissions[0].MeasuredBy != byJobs {
		t.Errorf("%+v", r.Submissions)
	}
}

func TestIntervalsAreBounded(t *testing.T) {
	var x intervals
	for i := range int64(maxTimes + 10) {
		x.add(i * 5)
	}
	if len(x.times) > maxTimes/2+11 {
		t.Errorf("%d times are kept", len(x.times))
	}
	x.flush(len(x.times))
	if x.dist.n != maxTimes+9 || x.dist.sum != 5*(maxTimes+9) || x.late {
		t.Errorf("%d intervals, sum %d", x.dist.n, x.dist.sum)
	}
}

func TestMemoryByHand(t *testing.T) {
	b := NewBuilder("test")
	mem := func(op string, address, bytes uint64, at int64) {
		b.memory.addMap(&correlate.MemMap{ProcessID: 1, DeviceID: 1, Op: op, Address: event.Some(address), Bytes: event.Some(bytes), TSNS: optNS(at)})
	}
	mem("map", 100, 4096, 1)
	mem("map", 200, 8192, 2)
	mem("unmap", 100, 4096, 3)
	mem("map", 200, 16384, 4)  // replaces
	mem("unmap", 300, 4096, 5) // was mapped before the recording
	call := func(class string, address, bytes uint64, result int64) {
		b.memory.addCall(&correlate.APICall{ProcessID: 2, Class: class, EndKind: "returned", Address: event.Some(address), Bytes: event.Some(bytes), Result: event.Some(result)})
	}
	call("alloc", 10, 1000, 0)
	call("alloc", 10, 1000, 0) // the runtime call around the driver's: the same address
	call("alloc", 20, 5000, 2) // failed
	call("free", 10, 0, 1)     // failed
	got := b.memory.rows(b)
	slices.SortFunc(got, func(x, y Memory) int { return len(x.Source) - len(y.Source) })
	if m := got[0]; m.Source != fromMaps || m.Maps != 3 || m.Unmaps != 2 || m.Live != 1 || m.LiveBytes != 16384 || *m.firstLive != 4 {
		t.Errorf("%+v", m)
	}
	if m := got[1]; m.Source != fromCalls || m.Maps != 2 || m.Unmaps != 0 || m.Live != 1 || m.LiveBytes != 1000 {
		t.Errorf("%+v", m)
	}
}

// The budget of all distributions together is kept, by the largest of them.
func TestDistsShareABudget(t *testing.T) {
	var all dists
	small := all.get()
	small.add(5)
	for range 5 {
		d := all.get()
		for v := range int64(exactMax - 1) {
			d.add(v)
		}
	}
	if all.exact > exactAll || small.buckets != nil {
		t.Errorf("%d values are kept one by one", all.exact)
	}
	n := 0
	for _, d := range all.list {
		n += len(d.exact)
	}
	if n != all.exact {
		t.Errorf("%d values are kept, %d counted", n, all.exact)
	}
}

func TestHistogram(t *testing.T) {
	var d dist
	for _, v := range []int64{0, 0, 1, 2, 3, 4, 7, 8, 1 << 62} {
		d.add(v)
	}
	want := []Bucket{{0, 1, 2}, {1, 2, 1}, {2, 4, 2}, {4, 8, 2}, {8, 16, 1}, {1 << 62, 1 << 63, 1}}
	if got := d.histogram(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	d.toBuckets()
	if got := d.histogram(); !slices.Equal(got, want) {
		t.Errorf("in buckets %v, want %v", got, want)
	}
}

// Each bar is a fourfold of time: 1 µs, 1 ms and 1 s stand under their letters.
func TestBars(t *testing.T) {
	for ns, letter := range map[int64]rune{1 << 10: 'µ', 1 << 20: 'm', 1 << 30: 's'} {
		got := []rune(bars([]Bucket{{FromNS: ns, Count: 3}}))
		if at := slices.Index([]rune(barHead), letter); len(got) != at+1 || got[at] != '█' {
			t.Errorf("%d ns is drawn as %q", ns, string(got))
		}
	}
	if got := bars([]Bucket{{0, 1, 1}, {1 << 40, 1 << 41, 8}}); got != "▁            █" {
		t.Errorf("%q", got)
	}
}
