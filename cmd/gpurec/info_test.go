package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Losses are told once per stream and CPU, however many gaps there are.
func TestInfoSumsLosses(t *testing.T) {
	var b strings.Builder
	b.WriteString(strings.SplitAfter(smallTrace, "\n")[0])
	want := map[int]uint64{}
	for i := range 3000 {
		cpu := i % 3
		mark := fmt.Sprintf("CPU:%d [LOST %d EVENTS]\n", cpu, i+1)
		if i%100 == 7 {
			mark = fmt.Sprintf("CPU:%d [LOST EVENTS]\n", cpu)
		} else {
			want[cpu] += uint64(i + 1)
		}
		b.WriteString(mark)
		fmt.Fprintf(&b, "           app-10    [%03d] .....     1.%06d: sched_waking: comm=a pid=1 prio=120 target_cpu=000\n", cpu, 100+i)
	}
	trace := writeFile(t, "lost.txt", b.String())
	var i info
	if err := json.Unmarshal([]byte(must(t, "info", "--json", trace)), &i); err != nil {
		t.Fatal(err)
	}
	if len(i.Losses) != 3 || i.Rows["losses"] != 3000 {
		t.Fatalf("%d losses of %d rows", len(i.Losses), i.Rows["losses"])
	}
	var uncounted uint64
	for _, l := range i.Losses {
		uncounted += l.Uncounted
		if l.CPU == nil || l.Count == nil || *l.Count != want[int(*l.CPU)] || l.Gaps != 1000 {
			t.Errorf("%+v, want %v", l, want)
		}
	}
	if uncounted != 30 {
		t.Errorf("%d uncounted", uncounted)
	}
	if out := must(t, "info", trace); strings.Count(out, "\nloss ") != 3 {
		t.Errorf("text: %s", out)
	}
}

func TestSeconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", -1: "-0.000000001", -1_500_000_000: "-1.500000000",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := seconds(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}
