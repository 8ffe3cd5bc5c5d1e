package event

import (
	"math"
	"testing"
)

func TestSizeText(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 100 << 10: "100 KiB",
		1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 12_345_678: "11.8 MiB", 474 << 20: "474 MiB", 1<<30 - 1: "1.0 GiB",
		5 << 29: "2.5 GiB", 1 << 40: "1.0 TiB", math.MaxUint64: "16.0 EiB",
	} {
		if got := SizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	// A rate may be a fraction.
	if got := SizeText(0.4); got != "0 B" {
		t.Error(got)
	}
	if got := SizeText(1023.7); got != "1.0 KiB" {
		t.Error(got)
	}
}
