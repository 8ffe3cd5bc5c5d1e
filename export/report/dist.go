package report

import (
	"math/bits"
	"slices"
)

// exactMax is how many values a distribution keeps one by one. Beyond it they
// go into buckets, and its percentiles are marked approximate.
const exactMax = 1 << 20

// subBits sets the width of a bucket: below 1/2^subBits of its value.
const subBits = 10

// dist gathers a distribution of non-negative integers in bounded memory.
// The zero value is ready to use. Negative values are counted as such only.
type dist struct {
	n        uint64
	sum      int64
	max      int64
	negative uint64
	exact    []int64
	buckets  map[int32]uint64 // once exact is full
}

func (d *dist) add(v int64) {
	if v < 0 {
		d.negative++
		return
	}
	if d.n == 0 || v > d.max {
		d.max = v
	}
	d.n++
	d.sum += v
	if d.buckets != nil {
		d.buckets[bucketOf(v)]++
		return
	}
	d.exact = append(d.exact, v)
	if len(d.exact) > exactMax {
		d.buckets = make(map[int32]uint64)
		for _, x := range d.exact {
			d.buckets[bucketOf(x)]++
		}
		d.exact = nil
	}
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
	Count       uint64 `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	P50NS       int64  `json:"p50_ns"`
	P90NS       int64  `json:"p90_ns"`
	P99NS       int64  `json:"p99_ns"`
	MaxNS       int64  `json:"max_ns"`
	Negative    uint64 `json:"negative,omitempty"` // values below zero, in none of the others
	Approximate bool   `json:"approximate,omitempty"`
}

func (d *dist) stats() Stats {
	s := Stats{Count: d.n, SumNS: d.sum, MaxNS: d.max, Negative: d.negative, Approximate: d.buckets != nil}
	if d.n == 0 {
		return s
	}
	at := d.ranker()
	s.P50NS, s.P90NS, s.P99NS = at(50), at(90), at(99)
	return s
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
