package report

import (
	"math/bits"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// exactMax is how many values a distribution keeps one by one. Beyond it they
// go into buckets, and its percentiles are marked approximate.
const exactMax = 1 << 20

// exactAll is how many values all distributions of a report keep one by one.
// Beyond it the largest of them goes into buckets.
const exactAll = 4 << 20

// subBits sets the width of a bucket: below 1/2^subBits of its value.
const subBits = 10

// row is where a value comes from: a row of a table, and its place in time.
type row struct {
	id         correlate.ID
	start, end correlate.OptTime
}

// dist gathers a distribution of non-negative integers in bounded memory.
// The zero value is ready to use. Negative values are counted as such only.
type dist struct {
	n        uint64
	sum      int64
	max      int64
	maxRow   row // of the rows with the greatest value, the one of the least id
	negative uint64
	unknown  uint64 // values that are not known, where the owner counts them
	exact    []int64
	buckets  map[int32]uint64 // once exact is full
	all      *dists           // whose budget it shares; nil: none
}

// dists are distributions that share a budget.
type dists struct {
	list  []*dist
	exact int
}

func (x *dists) get() *dist {
	d := &dist{all: x}
	x.list = append(x.list, d)
	return d
}

// spill puts the largest distribution into buckets.
func (x *dists) spill() {
	d := x.list[0]
	for _, o := range x.list {
		if len(o.exact) > len(d.exact) {
			d = o
		}
	}
	d.toBuckets()
}

func (d *dist) add(v int64) { d.addRow(v, row{}) }

// addOpt adds a value if it is known.
func (d *dist) addOpt(v correlate.OptDur, r row) {
	if v.OK {
		d.addRow(v.V, r)
	}
}

func (d *dist) addRow(v int64, r row) {
	if v < 0 {
		d.negative++
		return
	}
	if d.n == 0 || v > d.max || v == d.max && r.id < d.maxRow.id {
		d.max, d.maxRow = v, r
	}
	d.n++
	d.sum += v
	if d.buckets != nil {
		d.buckets[bucketOf(v)]++
		return
	}
	d.exact = append(d.exact, v)
	if len(d.exact) > exactMax {
		d.toBuckets()
	} else if d.all != nil {
		if d.all.exact++; d.all.exact > exactAll {
			d.all.spill()
		}
	}
}

func (d *dist) toBuckets() {
	d.buckets = make(map[int32]uint64)
	for _, x := range d.exact {
		d.buckets[bucketOf(x)]++
	}
	if d.all != nil {
		d.all.exact -= len(d.exact)
	}
	d.exact = nil
}

// bucketOf numbers buckets in the order of their values: exact below
// 2^subBits, then 2^subBits of them for each doubling.
func bucketOf(v int64) int32 {
	e := bits.Len64(uint64(v)) - 1 - subBits
	if e <= 0 {
		return int32(v)
	}
	return int32(e<<subBits) + int32(v>>e)
}

// bucketTop is the greatest value of a bucket.
func bucketTop(b int32) int64 {
	if b < 2<<subBits {
		return int64(b)
	}
	e := b>>subBits - 1
	return (int64(b)-int64(e)<<subBits+1)<<e - 1
}

// Stats describes a distribution. Percentiles are by nearest rank: the least
// value that at least so many percent of the values do not exceed.
type Stats struct {
	Count       uint64   `json:"count"`
	SumNS       int64    `json:"sum_ns"`
	P50NS       int64    `json:"p50_ns"`
	P90NS       int64    `json:"p90_ns"`
	P99NS       int64    `json:"p99_ns"`
	MaxNS       int64    `json:"max_ns"`
	MaxID       *int64   `json:"max_id,omitempty"`      // id of the row with the greatest value
	Negative    uint64   `json:"negative,omitempty"`    // values below zero, in none of the others
	Approximate bool     `json:"approximate,omitempty"` // percentiles are up to 0.1 % too high
	Histogram   []Bucket `json:"histogram,omitempty"`

	max row
}

// Bucket counts the values from FromNS up to, and without, ToNS: 0 alone, then
// doublings. Buckets without values are left out.
type Bucket struct {
	FromNS int64  `json:"from_ns"`
	ToNS   uint64 `json:"to_ns"`
	Count  uint64 `json:"count"`
}

func (d *dist) stats() Stats {
	s := Stats{Count: d.n, SumNS: d.sum, MaxNS: d.max, Negative: d.negative, Approximate: d.buckets != nil, max: d.maxRow}
	if d.n == 0 {
		return s
	}
	s.MaxID = idPtr(d.maxRow.id)
	at := d.ranker()
	s.P50NS, s.P90NS, s.P99NS = at(50), at(90), at(99)
	s.Histogram = d.histogram()
	return s
}

// histogram counts by doublings; the finer buckets never straddle one.
func (d *dist) histogram() []Bucket {
	var n [64]uint64
	for _, v := range d.exact {
		n[bits.Len64(uint64(v))]++
	}
	for b, c := range d.buckets {
		n[bits.Len64(uint64(bucketTop(b)))] += c
	}
	var out []Bucket
	for i, c := range n {
		if c == 0 {
			continue
		}
		b := Bucket{ToNS: 1, Count: c}
		if i > 0 {
			b.FromNS, b.ToNS = 1<<(i-1), 1<<i
		}
		out = append(out, b)
	}
	return out
}

func (d *dist) ranker() func(percent uint64) int64 {
	rank := func(p uint64) uint64 { return (d.n*p + 99) / 100 }
	if d.buckets == nil {
		slices.Sort(d.exact)
		return func(p uint64) int64 { return d.exact[rank(p)-1] }
	}
	keys := make([]int32, 0, len(d.buckets))
	for k := range d.buckets {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return func(p uint64) int64 {
		want, seen := rank(p), uint64(0)
		for _, k := range keys {
			if seen += d.buckets[k]; seen >= want {
				return min(bucketTop(k), d.max)
			}
		}
		return d.max
	}
}
