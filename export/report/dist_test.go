package report

import (
	"math"
	"reflect"
	"testing"
)

func TestStatsByHand(t *testing.T) {
	var d dist
	for v := int64(1); v <= 10; v++ {
		d.add(v * 100)
	}
	d.add(-5)
	// Nearest rank of ten values: p50 is the 5th, p90 the 9th, p99 the 10th.
	want := Stats{Count: 10, SumNS: 5500, P50NS: 500, P90NS: 900, P99NS: 1000, MaxNS: 1000, Negative: 1,
		// 100; 200; 300…500; 600…1000.
		Histogram: []Bucket{{64, 128, 1}, {128, 256, 1}, {256, 512, 3}, {512, 1024, 5}}}
	if got := d.stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual((&dist{}).stats(), Stats{}) {
		t.Error("nothing has statistics")
	}
}

// A bucket's top is the greatest value that falls into it, and buckets are
// narrow: the error of a percentile stays below 1/1024.
func TestBuckets(t *testing.T) {
	for _, v := range []int64{0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 1e6, 1e9 + 7, 1 << 40, math.MaxInt64} {
		b := bucketOf(v)
		top := bucketTop(b)
		if top < v || float64(top-v) > float64(v)/1024 {
			t.Errorf("value %d: bucket %d ends at %d", v, b, top)
		}
		if bucketOf(top) != b {
			t.Errorf("top %d of bucket %d falls into %d", top, b, bucketOf(top))
		}
		if top < math.MaxInt64 && bucketOf(top+1) <= b {
			t.Errorf("bucket after %d is %d", b, bucketOf(top+1))
		}
	}
}

func TestManyValuesBecomeApproximate(t *testing.T) {
	var d dist
	n := int64(exactMax + 1000)
	for v := int64(1); v <= n; v++ {
		d.add(v)
	}
	s := d.stats()
	if !s.Approximate || s.Count != uint64(n) || s.MaxNS != n || s.SumNS != n*(n+1)/2 {
		t.Errorf("stats = %+v", s)
	}
	for _, c := range []struct{ got, want int64 }{{s.P50NS, n / 2}, {s.P90NS, n * 9 / 10}, {s.P99NS, n * 99 / 100}} {
		if math.Abs(float64(c.got-c.want)) > float64(c.want)/1000 {
			t.Errorf("percentile %d, want %d within 0.1 %%", c.got, c.want)
		}
	}
}
