package picture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/picture/picturetest"
	"github.com/gpurec/gpurec/record/event"
)

// strict is a pen that holds the picture to what [Pen] promises.
type strict struct {
	t       *testing.T
	scene   *Scene
	sched   bool // SchedDone was called
	cpu, on int64
	now     int64
	open    map[*Track][]int64
	in      bool // an event is begun
	part    int  // the last part of the event
	slice   bool
	links   bool
	flows   map[uint64]int // 1: the source was drawn, 2: both
	slices  int64
	values  map[*Track]int64
}

const (
	partNone = iota
	partName
	partCategory
	partColour
	partArg
	partFlow
)

func (s *strict) must(ok bool, format string, args ...any) {
	s.t.Helper()
	if !ok {
		s.t.Fatalf(format, args...)
	}
}

func (s *strict) Start(c *Scene) {
	s.must(s.scene == nil, "Start comes twice")
	s.scene, s.now, s.cpu, s.on = c, c.Start, -1, math.MinInt64
}

func (s *strict) byCPU(cpu, at int64) {
	s.must(s.scene != nil && !s.sched, "scheduling before Start or after SchedDone")
	s.must(cpu > s.cpu || cpu == s.cpu && at >= s.on, "CPU %d at %d after CPU %d at %d", cpu, at, s.cpu, s.on)
	s.cpu, s.on = cpu, at
}

func (s *strict) Switch(x *Switch) { s.byCPU(x.CPU, x.Time) }
func (s *strict) Waking(x *Waking) { s.byCPU(x.CPU, x.Time) }
func (s *strict) SchedDone()       { s.sched = true }

func (s *strict) at(t int64) {
	s.must(s.sched && !s.in, "an event before SchedDone, or inside another")
	s.must(t >= s.now && t <= s.scene.End, "time %d after %d, to %d", t, s.now, s.scene.End)
	s.now = t
}

func (s *strict) begin(t *Track, at int64) {
	s.at(at)
	for up := t; up != nil; up = up.Parent {
		s.must(up.Name != "" || up.Process != nil || up.Thread != nil, "a track without name")
		s.must(up == t || !(up.Parent == nil && up.Process == nil) || up.Group, "%s holds tracks, and is no group", up.Name)
	}
	s.must(!t.Counter && !t.Group, "an event on %s", t.Name)
	s.in, s.part = true, partNone
}

func (s *strict) Begin(t *Track, start, end int64) {
	s.begin(t, start)
	s.slice = true
	o := s.open[t]
	s.must(end >= start && (len(o) == 0 || o[len(o)-1] >= end), "slice %d-%d in %v on %s", start, end, o, t.Name)
	for on, ends := range s.open {
		for _, e := range ends {
			s.must(e > start, "a slice that ended at %d is open on %s at %d", e, on.Name, start)
		}
	}
	s.open[t] = append(o, end)
	s.slices++
}

func (s *strict) End(t *Track, at int64) {
	s.at(at)
	o := s.open[t]
	s.must(len(o) > 0 && o[len(o)-1] == at, "end at %d of %v", at, o)
	s.open[t] = o[:len(o)-1]
}

func (s *strict) Instant(t *Track, at int64) {
	s.begin(t, at)
	s.slice = false
}

func (s *strict) Done() {
	s.must(s.in && s.part >= partName && !s.links, "Done")
	s.in = false
}

func (s *strict) Count(t *Track, at, v int64) {
	s.at(at)
	s.must(t.Counter && v >= 0, "%s is %d", t.Name, v)
	s.values[t] = v
}

func (s *strict) CountReal(t *Track, at int64, _ float64) {
	s.at(at)
	s.must(t.Counter, "%s is no counter", t.Name)
}

// next takes a part: they come in order, and only arguments and flows repeat.
func (s *strict) next(part int) {
	s.t.Helper()
	s.must(s.in && (part > s.part || part == s.part && part >= partArg), "part %d after %d", part, s.part)
	s.part = part
}

func (s *strict) arg(Arg)               { s.must(!s.links, "an argument inside links"); s.next(partArg) }
func (s *strict) Name(n string)         { s.must(n != "", "no name"); s.next(partName) }
func (s *strict) NameOnce(n []byte)     { s.Name(string(n)) }
func (s *strict) Category(c Category)   { s.must(c < NumCategories, "category"); s.next(partCategory) }
func (s *strict) CategoryText(c string) { s.next(partCategory) }
func (s *strict) Colour([]byte)         { s.next(partColour) }
func (s *strict) Int(a Arg, _ int64)    { s.arg(a) }
func (s *strict) Uint(a Arg, _ uint64)  { s.arg(a) }
func (s *strict) True(a Arg)            { s.arg(a) }
func (s *strict) Str(a Arg, _ string)   { s.arg(a) }
func (s *strict) Text(a Arg, _ string)  { s.arg(a) }
func (s *strict) Bytes(a Arg, _ []byte) { s.arg(a) }
func (s *strict) Pair(a Arg, _, _ uint64) {
	s.arg(a)
}
func (s *strict) LinksBegin() { s.arg(ArgLinks); s.links = true }
func (s *strict) LinksEnd()   { s.must(s.links, "LinksEnd"); s.links = false }
func (s *strict) Link(_ Arg, rule, _ Word) {
	s.must(s.links && rule.Text != "", "Link outside of links")
}

func (s *strict) Flow(f Flow) {
	s.next(partFlow)
	s.must(s.slice && f.Rule.Text != "", "a flow at an instant, or without rule")
	want := 0
	if f.Into {
		want = 1
	}
	s.must(s.flows[f.ID] == want, "flow %d: into %v comes with %d ends drawn", f.ID, f.Into, s.flows[f.ID])
	s.flows[f.ID]++
}

func (s *strict) Err() error { return nil }

// draw gives rows to a picture and that to the strict pen.
func draw(t *testing.T, rows *correlate.Rows, end int64) *strict {
	t.Helper()
	return drawPart(t, rows, end, nil)
}

// writes is a sink that only gives rows to a picture.
type writes struct{ *Picture }

func (writes) Begin(*event.Meta) error      { return nil }
func (writes) End(*correlate.Summary) error { return nil }
func (writes) Abort() error                 { return nil }

// drawPart is draw of a window.
func drawPart(t *testing.T, rows *correlate.Rows, end int64, w *export.Window) *strict {
	t.Helper()
	p := New(export.Options{TempDir: t.TempDir(), MaxMemory: 1 << 20, Window: w})
	defer p.Close()
	f := export.NewFilter(writes{p}, export.FilterOptions{Window: w})
	if err := f.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := f.End(&correlate.Summary{}); err != nil {
		t.Fatal(err)
	}
	s := &strict{t: t, open: map[*Track][]int64{}, flows: map[uint64]int{}, values: map[*Track]int64{}}
	sum := &correlate.Summary{Start: 0, End: event.Time(end), Meta: event.Meta{Clock: event.ClockBoottime}}
	if err := p.Draw(sum, s); err != nil {
		t.Fatal(err)
	}
	for tr, o := range s.open {
		s.must(len(o) == 0, "%v stays open on %s", o, tr.Name)
	}
	for id, n := range s.flows {
		s.must(n == 2, "flow %d has %d ends", id, n)
	}
	s.must(s.slices == p.Slices(), "%d slices, and %d were drawn", p.Slices(), s.slices)
	return s
}

// Whatever the rows say, a pen is called as promised.
func TestPenContract(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			draw(t, picturetest.Any(r), 250)
			from := r.Int64N(150)
			drawPart(t, picturetest.Any(r), 250, &export.Window{From: export.Edge{Set: true, NS: from}, To: export.Edge{Set: true, NS: from + r.Int64N(100)}})
		})
	}
}
