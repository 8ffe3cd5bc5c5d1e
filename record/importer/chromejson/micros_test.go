package chromejson

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// checkMicros compares a time with rational arithmetic.
func checkMicros(t *testing.T, s string) {
	ns, st := parseMicros([]byte(s))
	if len(s) > 60 {
		return
	}
	if !decimal.MatchString(s) {
		if (st == timeExact || st == timeRounded) && !regexp.MustCompile(`[eE][+-]?[0-9]{4,}$`).MatchString(s) {
			t.Fatalf("%q was read as %d", s, ns)
		}
		return
	}
	v, ok := new(big.Rat).SetString(strings.TrimPrefix(s, "+"))
	if !ok {
		return
	}
	v.Mul(v, big.NewRat(1000, 1))
	if st == timeRange {
		if new(big.Rat).Abs(v).Cmp(big.NewRat(1<<62, 1)) < 0 {
			t.Fatalf("%q does not fit, it is said", s)
		}
		return
	}
	if (st == timeExact) != v.IsInt() {
		t.Fatalf("%q: state %d, whole nanoseconds %v", s, st, v.IsInt())
	}
	diff := new(big.Rat).Sub(v, new(big.Rat).SetInt64(ns))
	if diff.Abs(diff).Cmp(big.NewRat(1, 2)) > 0 {
		t.Fatalf("%q is %d ns, off by %s", s, ns, diff.FloatString(3))
	}
}

func TestMicros(t *testing.T) {
	for s, want := range map[string]event.Time{
		"0": 0, "1.001": 1001, "-3": -3000, "1712195495505582.988": 1712195495505582988, "1e15": 1e18,
		"9223372036854774": 9223372036854774000, "0.0005": 1, "0.0004": 0, "-0.0006": -1, "12.34567e2": 1234567, "5e-3": 5,
	} {
		if ns, st := parseMicros([]byte(s)); event.Time(ns) != want || st == timeBad || st == timeRange {
			t.Errorf("%s is %d ns (state %d), want %d", s, ns, st, want)
		}
		checkMicros(t, s)
	}
	for s, want := range map[string]timeState{"9223372036854775.808": timeRange, "1e99999999999": timeRange, "": timeBad, "-": timeBad, "1x": timeBad, "1e": timeBad, "NaN": timeBad, "0x10": timeBad} {
		if _, st := parseMicros([]byte(s)); st != want {
			t.Errorf("%q: state %d, want %d", s, st, want)
		}
	}
}
