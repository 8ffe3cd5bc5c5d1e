package merge

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
)

// The rules by which an input comes to the clock of the result.
const (
	RuleSame      = "same-clock"  // it has that clock
	RuleSnapshots = "snapshots"   // readings of both clocks at one instant
	RuleBase      = "base"        // it declares what its times count from, in Unix time
	RuleRealtime  = "realtime"    // through the Unix time of two machines
	RuleCalls     = "calls"       // calls that two inputs saw
	RuleStated    = "stated"      // by the user
	RuleNone      = "unaligned"   // none
	refined       = " then calls" // added to another rule
)

// way leads from an input's clock to that of the result: a base is added, then
// the maps are applied, then the correction that calls showed.
type way struct {
	ok   bool
	rule string
	base int64
	maps []*clock.Map
	fit  fit
}

func (w *way) identity() bool { return w.base == 0 && len(w.maps) == 0 && w.fit.n == 0 }

func (w *way) convert(t event.Time) event.Time {
	if !t.Known() {
		return t
	}
	t = w.before(t)
	return t + event.Time(w.fit.at(t))
}

// before is convert without the correction.
func (w *way) before(t event.Time) event.Time {
	t += event.Time(w.base)
	for _, m := range w.maps {
		t = m.Convert(t)
	}
	return t
}

// target is the clock of the result: of one machine, if it is not REALTIME.
type target struct {
	clock   event.Clock
	machine int
}

// bases are the facts that say what an input's times count from.
var bases = map[event.Clock]string{
	"kineto":               "realtime_base_ns",
	event.ClockNsysSession: "session_start_realtime_ns",
}

// base returns what makes the input's times Unix time.
func (s *scanned) base() (int64, bool) { return UnixBase(&s.meta) }

// UnixBase returns what, added to the times of a source, makes them Unix time;
// false if it declares nothing of the kind.
func UnixBase(m *event.Meta) (ns int64, ok bool) {
	key, ok := bases[m.Clock]
	if !ok {
		return 0, false
	}
	for _, f := range m.Facts {
		if f.Key == key {
			v, err := strconv.ParseInt(f.Value, 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}

// clock is the input's clock, once its base is added.
func (s *scanned) clock() event.Clock {
	if _, ok := s.base(); ok {
		return event.ClockRealtime
	}
	return s.meta.Clock
}

// snapshots returns those of all inputs of a machine.
func (m *Merged) snapshots(machine int) (l []event.ClockSnapshot) {
	for _, s := range m.inputs {
		if s.machine == machine {
			l = append(l, s.meta.Snapshots...)
		}
	}
	return l
}

// choose picks the clock of the result: BOOTTIME if an input has it or leads
// to it, else that of the first input whose clock has a name, else the first's.
func (m *Merged) choose() {
	for _, s := range m.inputs {
		if s.meta.Clock == event.ClockBoottime {
			m.target = target{event.ClockBoottime, s.machine}
			return
		}
	}
	for _, s := range m.inputs {
		if _, _, ok := lead(m.snapshots(s.machine), s.clock(), event.ClockBoottime); ok {
			m.target = target{event.ClockBoottime, s.machine}
			return
		}
	}
	first := m.inputs[0]
	for _, s := range m.inputs {
		if named(s.clock()) {
			first = s
			break
		}
	}
	m.target = target{first.clock(), first.machine}
}

// lead finds the maps from one clock to another: directly, or through a third.
func lead(snaps []event.ClockSnapshot, from, to event.Clock) (maps []*clock.Map, through event.Clock, ok bool) {
	if from == to && named(from) {
		return nil, "", true
	}
	if m, err := clock.NewMap(snaps, from, to); err == nil {
		return []*clock.Map{m}, "", true
	}
	for _, mid := range []event.Clock{event.ClockMonotonic, event.ClockMonotonicRaw, event.ClockRealtime, event.ClockBoottime} {
		a, err1 := clock.NewMap(snaps, from, mid)
		b, err2 := clock.NewMap(snaps, mid, to)
		if err1 == nil && err2 == nil && mid != from && mid != to {
			return []*clock.Map{a, b}, mid, true
		}
	}
	return nil, "", false
}

// named reports whether two inputs of one machine that name this clock have
// the same one.
func named(c event.Clock) bool {
	switch c {
	case event.ClockBoottime, event.ClockMonotonic, event.ClockMonotonicRaw, event.ClockRealtime:
		return true
	}
	return false
}

// way finds how an input comes to the result's clock without looking at its
// events.
func (m *Merged) way(s *scanned) way {
	w := way{rule: RuleSame}
	if b, ok := s.base(); ok {
		w.base, w.rule = b, RuleBase
	}
	from, t := s.clock(), m.target
	snaps := m.snapshots(s.machine)
	if s.machine == t.machine || t.clock == event.ClockRealtime {
		maps, _, ok := lead(snaps, from, t.clock)
		if w.maps, w.ok = maps, ok; ok {
			if len(maps) > 0 && w.rule == RuleSame {
				w.rule = RuleSnapshots
			}
			if s.machine != t.machine {
				w.rule = RuleRealtime
			}
			return w
		}
		return way{rule: RuleNone}
	}
	here, _, ok1 := lead(snaps, from, event.ClockRealtime)
	there, _, ok2 := lead(m.snapshots(t.machine), event.ClockRealtime, t.clock)
	if !ok1 || !ok2 {
		return way{rule: RuleNone}
	}
	w.ok, w.rule = true, RuleRealtime
	w.maps = append(append(w.maps, here...), there...)
	return w
}

// align finds the way of every input.
func (m *Merged) align(o *Options) {
	m.choose()
	anchor := m.anchor()
	var todo []*scanned
	for i, s := range m.inputs {
		s.way = m.way(s)
		if off, ok := o.Offsets[i]; ok {
			s.way = way{ok: true, rule: RuleStated, base: off}
		} else if s == anchor {
			s.way.ok = true // its clock may have no name: it is the result's
			if s.way.rule == RuleNone {
				s.way.rule = RuleSame
			}
		} else if s.way.rule != RuleSame {
			todo = append(todo, s)
		}
	}
	// Those that have a way already come first: others may be fitted to them.
	for _, ok := range []bool{true, false} {
		for progress := true; progress; {
			progress = false
			for i, s := range todo {
				if s != nil && s.way.ok == ok && m.refine(s) {
					todo[i], progress = nil, !ok
				}
			}
		}
	}
	m.doubts()
}

// anchor is the input whose clock is the result's: all others are fitted to it.
func (m *Merged) anchor() *scanned {
	for _, s := range m.inputs {
		if s.machine == m.target.machine && s.clock() == m.target.clock {
			return s
		}
	}
	for _, s := range m.inputs {
		if s.machine == m.target.machine {
			return s
		}
	}
	return m.inputs[0]
}

var (
	anomalyUnaligned = &event.AnomalySpec{Name: "clock_unaligned", Severity: event.SeverityWarning,
		Doc:    "Nothing relates the clock of an input to the others': its times are kept as they are, and nothing of it is joined with them.",
		Remedy: "record with a clock that has a name (trace-cmd -C mono), name it with --clock, or give --offset INPUT=NS"}
	anomalyTwoHosts = &event.AnomalySpec{Name: "clock_of_other_machine", Severity: event.SeverityInfo,
		Doc:    "Two machines were aligned by their Unix times, which differ by as much as NTP leaves (often milliseconds).",
		Remedy: "do not compare times across machines below that"}
	anomalyDisagree = &event.AnomalySpec{Name: "clock_corrected_far", Severity: event.SeverityWarning,
		Doc:    "Calls that two inputs saw lie more than a millisecond from where the inputs' clocks put them; the calls were believed.",
		Remedy: "see align in the metadata; --offset INPUT=NS states another"}
)

// farCorrection is how much calls may correct a way before that is told.
const farCorrection = 1e6 // ns

// doubts counts what is unsure about the ways.
func (m *Merged) doubts() {
	for _, s := range m.inputs {
		w := &s.way
		switch {
		case !w.ok:
			m.count.AddAt(anomalyUnaligned, 1, fmt.Sprintf("%s: clock=%s, unaligned", s.name, s.meta.Clock))
		case w.rule == RuleRealtime:
			m.count.AddAt(anomalyTwoHosts, 1, s.name)
		case w.fit.n > 0 && w.rule != RuleCalls && math.Abs(float64(w.fit.offset)) > farCorrection:
			m.count.AddAt(anomalyDisagree, 1, s.name)
		}
	}
}
