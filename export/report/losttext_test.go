package report

import (
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// An unknown number of lost events is not 0.
func TestLostOfUnknownNumber(t *testing.T) {
	gap := func(n ...uint64) (l correlate.Loss) {
		if l.StartNS, l.EndNS = at(4), at(6); len(n) > 0 {
			l.Count = event.Some(n[0])
		}
		return l
	}
	for _, c := range []struct {
		losses        []correlate.Loss
		finding, tail string
	}{
		{[]correlate.Loss{gap()}, "An unknown number of events was lost in 1 gap; ", "losses    an unknown number of events in 1 gap"},
		{[]correlate.Loss{gap(), gap()}, "An unknown number of events was lost in 2 gaps; ", "losses    an unknown number of events in 2 gaps"},
		{[]correlate.Loss{gap(9), gap()}, "9 events lost in 1 gap, and an unknown number in 1 gap more; ", "losses    9 events in 1 gap, and 1 gap of unknown size"},
		{[]correlate.Loss{gap(9), gap(1)}, "10 events lost in 2 gaps; ", "losses    10 events in 2 gaps"},
	} {
		r := build(t, &correlate.Rows{Losses: c.losses})
		if len(r.Findings) != 1 || !strings.HasPrefix(r.Findings[0].Text, c.finding) {
			t.Errorf("%+v, want %s", r.Findings, c.finding)
		}
		if got := strings.Join(r.tail(), "\n") + "\n"; !strings.Contains(got, c.tail+"\n") {
			t.Errorf("%s\nwant %s", got, c.tail)
		}
	}
}

func TestDuration(t *testing.T) {
	const s = 1_000_000_000
	for ns, want := range map[int64]string{
		140_360: "140.36 µs", 599*s + 999_000_000: "599.999 s", 600 * s: "10 min 0 s", 3599 * s: "59 min 59 s",
		3600 * s: "1 h 0 min", 86399 * s: "23 h 59 min", 499*86400*s + 7300*s: "499 d 2 h", -90000 * s: "-1 d 1 h", -1 << 63: "-106751 d 23 h",
	} {
		if got := duration(ns, 1); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
}
