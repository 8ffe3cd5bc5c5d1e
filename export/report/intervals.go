package report

import (
	"cmp"
	"slices"
)

// Bounds of the times from which intervals are made: those of one ring and
// process, and those of all.
const (
	maxTimes    = 1 << 20
	maxAllTimes = 4 << 20
	maxLong     = 1 << 13 // long intervals kept with their times
)

// minExcess is how much longer than the median an interval must be to be an
// outlier, and outlierPercent how many percent.
const (
	minExcess      = 1_000_000 // ns
	outlierPercent = 150
)

// interval is the time between two submissions.
type interval struct{ start, end int64 }

func (i interval) dur() int64 { return i.end - i.start }

// intervals makes intervals from times that come nearly in order, in bounded
// memory. The zero value is ready to use.
type intervals struct {
	times   []int64
	first   int64 // least time
	last    int64 // greatest time that was made an interval of
	any     bool
	dist    dist
	long    []interval // of at least minExcess: the longest of them, if dropped
	dropped int64      // longest of those not kept
	late    bool       // a time came after a greater one had been used
}

// add takes a time and reports how many times are kept now.
func (x *intervals) add(t int64) int {
	x.times = append(x.times, t)
	if len(x.times) > maxTimes {
		x.flush(len(x.times) / 2)
	}
	return len(x.times)
}

// flush makes intervals of the least n times.
func (x *intervals) flush(n int) {
	slices.Sort(x.times)
	for _, t := range x.times[:n] {
		if x.any && t < x.last {
			x.late = true
			continue
		}
		if x.any {
			x.interval(interval{x.last, t})
		} else {
			x.first = t
		}
		x.last, x.any = t, true
	}
	x.times = append(x.times[:0], x.times[n:]...)
}

func (x *intervals) interval(i interval) {
	x.dist.addRow(i.dur(), row{start: optNS(i.start), end: optNS(i.end)})
	if i.dur() < minExcess {
		return
	}
	x.long = append(x.long, i)
	if len(x.long) < maxLong {
		return
	}
	slices.SortFunc(x.long, func(a, b interval) int {
		return cmp.Or(cmp.Compare(b.dur(), a.dur()), cmp.Compare(a.start, b.start))
	})
	x.dropped = max(x.dropped, x.long[maxLong/2].dur())
	x.long = x.long[:maxLong/2]
}

// outliers are the intervals of at least threshold.
type outliers struct {
	threshold int64
	list      []interval // in order of time
	excess    int64      // by how much they pass the median, summed up
	period    int64      // median distance of their begins; 0 if fewer than three
	periodic  bool       // two thirds of the distances are within a fifth of it
	some      bool       // there are more than list holds
}

// Bursts are told apart if more than one in burstShare intervals is an outlier,
// or if the median is below burstMedian: no frame or step is so short.
const (
	burstShare  = 10
	burstMedian = 1_000_000 // ns
)

// inBursts reports whether the outliers part bursts.
func (r *Regularity) inBursts() bool {
	return r.Outliers > 0 && (burstShare*r.Outliers > r.Intervals.Count || r.Intervals.P50NS < burstMedian)
}

// regularity describes the intervals.
func (x *intervals) regularity() Regularity {
	r := Regularity{Intervals: x.dist.stats()}
	r.Intervals.Approximate = r.Intervals.Approximate || x.late
	if r.Intervals.Count == 0 {
		return r
	}
	o := x.outliersOf(r.Intervals.P50NS)
	r.ThresholdNS, r.Outliers, r.ExcessNS, r.Periodic, r.list = o.threshold, uint64(len(o.list)), o.excess, o.periodic, o.list
	r.Intervals.Approximate = r.Intervals.Approximate || o.some
	if len(o.list) >= 3 {
		r.PeriodNS = &o.period
	}
	return r
}

// bursts returns the intervals between the begins of bursts, which the gaps part.
func (x *intervals) bursts(gaps []interval) *intervals {
	b := &intervals{}
	b.add(x.first)
	for _, g := range gaps {
		b.add(g.end)
	}
	b.flush(len(b.times))
	return b
}

// outliersOf finds the intervals that stick out.
func (x *intervals) outliersOf(median int64) outliers {
	o := outliers{threshold: max(median*outlierPercent/100, median+minExcess)}
	o.some = x.dropped >= o.threshold
	for _, i := range x.long {
		if i.dur() >= o.threshold {
			o.list = append(o.list, i)
			o.excess += i.dur() - median
		}
	}
	slices.SortFunc(o.list, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	if len(o.list) < 3 {
		return o
	}
	var d []int64
	for k := 1; k < len(o.list); k++ {
		d = append(d, o.list[k].start-o.list[k-1].start)
	}
	slices.Sort(d)
	o.period = d[(len(d)*50+99)/100-1]
	near := 0
	for _, v := range d {
		if 5*max(v-o.period, o.period-v) <= o.period {
			near++
		}
	}
	o.periodic = 3*near >= 2*len(d)
	return o
}
