package merge

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Two inputs that saw the same calls tell how their clocks lie to each other.
//
//  1. Candidates: a stretch of consecutive calls of the one is compared with
//     all calls of the same functions on the same threads of the other; the
//     differences that many of them share are candidates, and so is none, where
//     the clocks are related already.
//  2. A candidate grows: from the stretch outwards, twice as far each time,
//     calls that lie where the line so far puts them are matched one to one,
//     and the line (offset and drift, both medians) is drawn anew.
//  3. The candidate with the most matches counts, if it has enough of them and
//     no other place has nearly as many.

// Bounds of matching.
const (
	stretch     = 64      // consecutive calls that candidates are taken from
	maxDeltas   = 1 << 20 // differences looked at for one stretch
	candidates  = 4       // of each width
	window      = 100e3   // ns: matched calls differ by no more
	searchNear  = 50e6    // ns: how far related clocks may be apart
	firstHalf   = 50e6    // ns: half of the time that a candidate begins with
	minMatches  = 8
	minShare    = 0.7   // of the calls that both could have seen
	maxResidual = 50e3  // ns
	driftGain   = 0.8   // of the residual without drift: what it must be with
	maxDrift    = 1e-3  // ns per ns
	rivalShare  = 0.9   // of the matches: a candidate as good as this is a rival
	farApart    = 500e3 // ns: candidates nearer than this are one
)

// fit is a correction: offset at the time zero, growing by drift.
type fit struct {
	n        int // calls matched; 0: none was found
	possible int // calls that could have been
	zero     event.Time
	offset   int64
	drift    float64 // ns per ns
	residual int64   // median distance of a matched call, ns
}

// at returns what is added at t, in ns.
func (f *fit) at(t event.Time) int64 {
	if f.drift == 0 {
		return f.offset
	}
	return f.offset + int64(math.Round(f.drift*float64(t-f.zero)))
}

// pair is the same calls as two inputs saw them, in order of time: a on the
// result's clock, b on what is to become that.
type pair struct{ a, b []event.Time }

// call is a call of a pair.
type call struct {
	at   event.Time
	pair int
}

// matcher compares one input with those that are aligned.
type matcher struct {
	pairs []pair
	calls []call // all b, in order of time
	near  bool   // the clocks are related: look near by
}

// refine fits an input to those that have a way already. It reports whether
// enough calls agree; then the input's way holds the correction.
func (m *Merged) refine(s *scanned) bool {
	x := matcher{near: s.way.ok}
	for _, k := range s.keys() {
		if p := m.pair(s, k); len(p.a) > 0 {
			for _, t := range p.b {
				x.calls = append(x.calls, call{t, len(x.pairs)})
			}
			x.pairs = append(x.pairs, p)
		}
	}
	f, ok := x.best()
	if !ok {
		return false
	}
	s.way.fit = f
	if s.way.ok {
		s.way.rule += refined
	} else {
		s.way.ok, s.way.rule = true, RuleCalls
	}
	return true
}

// keys returns the series of an input in an order that does not change.
func (s *scanned) keys() []seriesKey {
	l := make([]seriesKey, 0, len(s.calls))
	for k := range s.calls {
		l = append(l, k)
	}
	slices.SortFunc(l, func(a, b seriesKey) int {
		return cmp.Or(cmp.Compare(a.tid, b.tid), strings.Compare(a.name, b.name))
	})
	return l
}

// pair returns one series as s and as the aligned inputs of its machine saw it.
func (m *Merged) pair(s *scanned, k seriesKey) (p pair) {
	own := s.calls[k]
	for _, o := range m.inputs {
		c := o.calls[k]
		if o == s || c == nil || !o.way.ok || o.machine != s.machine || c.pid > 0 && own.pid > 0 && c.pid != own.pid {
			continue
		}
		for _, t := range c.times {
			p.a = append(p.a, o.way.convert(t))
		}
	}
	if len(p.a) == 0 {
		return p
	}
	slices.Sort(p.a)
	for _, t := range own.times {
		p.b = append(p.b, s.way.before(t))
	}
	slices.Sort(p.b)
	return p
}

// best tries the candidates of several stretches.
func (x *matcher) best() (fit, bool) {
	if len(x.calls) < minMatches {
		return fit{}, false
	}
	slices.SortFunc(x.calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.pair, b.pair)) })
	var found []fit
	for _, part := range []int{2, 1, 3, 0, 4} { // the middle first
		i := (len(x.calls) - stretch) * part / 4
		run := x.calls[max(i, 0):min(max(i, 0)+stretch, len(x.calls))]
		zero := run[len(run)/2].at
		list := x.candidates(run)
		if x.near {
			list = append(list, 0)
		}
		for _, d := range list {
			if f := x.grow(fit{zero: zero, offset: d}); x.enough(&f) {
				found = append(found, f)
			}
		}
		if slices.ContainsFunc(found, func(f fit) bool { return float64(f.n) > rivalShare*float64(len(x.calls)) }) {
			break
		}
	}
	if len(found) == 0 {
		return fit{}, false
	}
	slices.SortStableFunc(found, func(a, b fit) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.residual, b.residual))
	})
	return found[0], !slices.ContainsFunc(found[1:], func(f fit) bool { return x.rivals(&found[0], &f) })
}

// rivals reports whether f is as good as the best: a program that repeats
// itself fits in many places. Where the clocks are related already, the best
// stands if it is also the nearer one to what they say.
func (x *matcher) rivals(best, f *fit) bool {
	at := f.at(best.zero)
	if math.Abs(float64(at-best.offset)) <= farApart || float64(f.n) < rivalShare*float64(best.n) || f.residual >= 2*max(best.residual, 1000) {
		return false
	}
	return !x.near || max(best.offset, -best.offset) > max(at, -at)
}

func (x *matcher) enough(f *fit) bool {
	return f.n >= minMatches && float64(f.n) >= minShare*float64(f.possible) && f.residual <= maxResidual
}

// candidates returns the differences that most calls of a stretch share.
func (x *matcher) candidates(run []call) (list []int64) {
	budget := maxDeltas / len(run)
	var d []int64
	for _, c := range run {
		a := x.pairs[c.pair].a
		if x.near {
			i, _ := slices.BinarySearch(a, c.at-searchNear)
			k, _ := slices.BinarySearch(a, c.at+searchNear)
			a = a[i:k]
		}
		if len(a) > budget {
			a = a[:budget]
		}
		for _, t := range a {
			d = append(d, int64(t-c.at))
		}
	}
	slices.Sort(d)
	// Calls that follow each other closely share many differences within a wide
	// window, at any place; calls far apart share none within a narrow one, as
	// clocks drift.
	for _, width := range []int64{5e3, 25e3, window} {
		list = append(list, crowded(slices.Clone(d), width, min(minMatches, len(run)))...)
	}
	slices.Sort(list)
	return slices.CompactFunc(list, func(a, b int64) bool { return max(a-b, b-a) < 1000 })
}

// crowded returns where most differences lie within a width, but no fewer than
// least. They are sorted, and used up.
func crowded(d []int64, width int64, least int) (list []int64) {
	for len(list) < candidates {
		best, from := 0, 0
		for i, k := 0, 0; k < len(d); k++ {
			for d[k]-d[i] > width {
				i++
			}
			if k-i+1 > best {
				best, from = k-i+1, i
			}
		}
		if best < least {
			break
		}
		mid := d[from+best/2]
		list = append(list, mid)
		d = slices.DeleteFunc(d, func(v int64) bool { return v > mid-10*width && v < mid+10*width })
	}
	return list
}

// match is a call and how far it lies from where the other input has it.
type match struct {
	at    event.Time
	delta int64
}

// grow draws the line through ever more calls.
func (x *matcher) grow(f fit) fit {
	first, last := x.calls[0].at, x.calls[len(x.calls)-1].at
	tol := int64(window)
	for half := event.Time(firstHalf); ; half *= 2 {
		lo, hi := f.zero-half, f.zero+half
		l := x.matches(&f, lo, hi, tol)
		if len(l) < min(minMatches, len(x.calls)) {
			return fit{}
		}
		f.line(l)
		tol = max(20e3, min(window, 8*f.residual))
		if lo <= first && hi >= last || half >= 1<<61 {
			break
		}
	}
	l := x.matches(&f, first, last, tol)
	if len(l) == 0 {
		return fit{}
	}
	f.settle(l)
	if still := (fit{zero: f.zero}); f.drift != 0 {
		still.settle(l)
		if float64(f.residual) > driftGain*float64(still.residual) {
			f = still
		}
	}
	f.n, f.possible = len(l), x.possible(&f)
	return f
}

// matches pairs calls one to one: each with the nearest of the other input, if
// that has no nearer one.
func (x *matcher) matches(f *fit, lo, hi event.Time, tol int64) (l []match) {
	for i := range x.pairs {
		a, b := x.pairs[i].a, x.pairs[i].b
		from, _ := slices.BinarySearch(b, lo)
		to, _ := slices.BinarySearch(b, hi+1)
		j := 0
		if from < to {
			j, _ = slices.BinarySearch(a, b[from]+event.Time(f.at(b[from])-tol))
		}
		for n := from; n < to && j < len(a); n++ {
			p := b[n] + event.Time(f.at(b[n]))
			for j+1 < len(a) && distance(a[j+1], p) <= distance(a[j], p) {
				j++
			}
			if distance(a[j], p) > tol {
				continue
			}
			if n+1 < len(b) {
				if q := b[n+1] + event.Time(f.at(b[n+1])); distance(a[j], q) < distance(a[j], p) {
					continue // the next call is nearer to it
				}
			}
			l = append(l, match{b[n], int64(a[j] - b[n])})
			j++
		}
	}
	slices.SortFunc(l, func(a, b match) int { return cmp.Compare(a.at, b.at) })
	return l
}

func distance(a, b event.Time) int64 { return int64(max(a-b, b-a)) }

// possible counts the calls that the other input could have seen: those that
// lie, once converted, between the first and the last that it saw.
func (x *matcher) possible(f *fit) (n int) {
	for i := range x.pairs {
		p := &x.pairs[i]
		seen := 0
		for _, t := range p.b {
			if c := t + event.Time(f.at(t)); c >= p.a[0]-window && c <= p.a[len(p.a)-1]+window {
				seen++
			}
		}
		n += min(seen, len(p.a))
	}
	return n
}

// line draws offset and drift through matches, in order of time.
func (f *fit) line(l []match) {
	if h := len(l) / 2; h >= minMatches {
		slopes := make([]float64, 0, h)
		for i := range h {
			if dt := l[i+h].at - l[i].at; dt > 0 {
				slopes = append(slopes, float64(l[i+h].delta-l[i].delta)/float64(dt))
			}
		}
		slices.Sort(slopes)
		if k := len(slopes); k > 0 && math.Abs(slopes[k/2]) <= maxDrift && l[len(l)-1].at-l[0].at >= firstHalf {
			f.drift = slopes[k/2]
		}
	}
	f.settle(l)
}

// settle finds the offset and the residual for the drift.
func (f *fit) settle(l []match) {
	d := make([]int64, len(l))
	for i := range l {
		d[i] = l[i].delta - int64(math.Round(f.drift*float64(l[i].at-f.zero)))
	}
	slices.Sort(d)
	f.offset = d[len(d)/2]
	for i := range d {
		d[i] = max(d[i]-f.offset, f.offset-d[i])
	}
	slices.Sort(d)
	f.residual = d[len(d)/2]
}
