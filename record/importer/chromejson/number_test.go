package chromejson

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// Digits that are looked at eight at a time, beside strconv: every length, with
// any byte in any place, whatever lies behind.
func TestDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200000 {
		b := make([]byte, 40)
		for i := range b {
			if b[i] = byte('0' + r.IntN(10)); r.IntN(12) == 0 {
				b[i] = byte(r.IntN(256))
			}
		}
		b[30] = '.'
		end := 0
		for b[end] >= '0' && b[end] <= '9' {
			end++
		}
		if got := endOfDigits(b, 0); got != end {
			t.Fatalf("%q: digits end at %d, not %d", b, got, end)
		}
		s := b[:r.IntN(10)]
		want, err := strconv.ParseUint(string(s), 10, 64)
		got, ok := shortNumber(s)
		if ok != (err == nil && len(s) <= 8) || ok && got != want {
			t.Fatalf("%q is %d, %v", s, got, ok)
		}
		if _, ok := shortNumber(s[:min(len(s), 7):7]); ok {
			t.Fatalf("%q: looked at what lies behind the memory", s)
		}
		us := strconv.FormatUint(r.Uint64()>>(10+r.IntN(54)), 10)
		ns, st := parseMicros([]byte(us + ".5"))
		whole, _ := strconv.ParseInt(us, 10, 64)
		if whole < 9e15 && (ns != whole*1000+500 || st != timeExact) {
			t.Fatalf("%s.5 µs are %d ns, %d", us, ns, st)
		}
	}
}
