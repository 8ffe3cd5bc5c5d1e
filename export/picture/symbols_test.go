package picture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

// TestSymbols gives numbers to more strings than memory is allowed for: each
// reads back as it was, and one that is kept in memory has one number.
func TestSymbols(t *testing.T) {
	p := &pages{budget: 1 << 20, dir: t.TempDir(), least: 4}
	defer p.close()
	var s symbols
	s.init(p)
	var texts []string
	for i := range 3000 {
		texts = append(texts, fmt.Sprintf("kernel_%d%s", i, strings.Repeat("<x>", i%67)))
	}
	for _, n := range []int{1, farBytes - farHead - 1, farBytes - farHead, farBytes - farHead + 1, 2*farBytes - farHead, 100_000} {
		texts = append(texts, strings.Repeat("é\x00\xff", n)[:n])
	}
	numbers := make([]symbol, len(texts))
	far := 0
	for i, x := range texts {
		if numbers[i] = s.of(x); numbers[i]&farSymbol != 0 {
			far++
		}
	}
	if s.bytes > s.limit || far == 0 || far == len(texts) {
		t.Fatalf("%d of %d strings are far, %d bytes are in memory of %d", far, len(texts), s.bytes, s.limit)
	}
	for i, x := range texts {
		if got := s.text(numbers[i]); got != x {
			t.Fatalf("string %d of %d bytes reads back as %d bytes", i, len(x), len(got))
		}
		if n := s.of(strings.Clone(x)); numbers[i]&farSymbol == 0 && n != numbers[i] {
			t.Fatalf("%q is %d and %d", x, numbers[i], n)
		}
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
}

// TestSymbolsByAddress gives numbers to strings that begin at one address.
func TestSymbolsByAddress(t *testing.T) {
	p := &pages{budget: 1 << 20, least: 4}
	var s symbols
	s.init(p)
	long := "cuLaunchKernelEx"
	for range 2 {
		for n := range len(long) + 1 {
			if got := s.text(s.of(long[:n])); got != long[:n] {
				t.Errorf("%q reads back as %q", long[:n], got)
			}
		}
	}
	if s.of("") != 0 {
		t.Error("the empty string is not 0")
	}
}

// TestDims gives numbers to grids, of which some are in part unknown.
func TestDims(t *testing.T) {
	m := newModel(1<<20, t.TempDir())
	defer m.pages.close()
	for range 2 {
		for i := range uint64(1000) {
			x, y, z := optUint(i, i%7 != 0), optUint(1<<40|i, i%3 != 0), optUint(2, i%2 == 0)
			n := m.dims(x, y, z)
			if !x.OK {
				if n != 0 {
					t.Fatal("a grid without x has a number")
				}
				continue
			}
			want := fmt.Sprint(x.V)
			if y.OK {
				want += fmt.Sprint(",", y.V)
			}
			if z.OK {
				want += fmt.Sprint(",", z.V)
			}
			d := m.dimsAt(n)
			if got := m.symbols.text(d.text); got != want || d.opts() != [3]correlate.OptUint{x, y, z} {
				t.Fatalf("%v reads back as %q %v, want %q", i, got, d.opts(), want)
			}
		}
	}
}
