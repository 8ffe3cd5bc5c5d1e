package chromejson

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// What stands in the file is JSON, UTF-8, and reads as the text: with U+FFFD
// for each byte that is none.
func checkString(t *testing.T, s string) {
	t.Helper()
	b := appendString(nil, s)
	if !utf8.Valid(b) || !json.Valid(b) {
		t.Fatalf("%q: not JSON: %q", s, b)
	}
	var got string
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	if want := string([]rune(s)); got != want {
		t.Fatalf("%q reads as %q", s, got)
	}
	if strings.ContainsAny(string(b), "\u2028\u2029\x7f") {
		t.Errorf("%q: line ends of JavaScript stand bare", s)
	}
	if c := appendString(nil, []byte(s)); string(c) != string(b) {
		t.Errorf("%q: bytes give %q", s, c)
	}
}

var odd = []string{
	"", "plain", `"`, `\`, "\"\\\x00\x01\x1f\x7f\n\r\t\b\f", "ü€𝄞", "\u2028\u2029\u202a\u2027", "\ufffd", "\xff", "a\xc3", "\xe2\x80", "\xed\xa0\x80",
	"\xf0\x9f\x92", "\xc0\xaf", "ok\xf5ok", strings.Repeat("0123456789", 10_000), strings.Repeat("\xfe\"", 50_000),
}

func TestString(t *testing.T) {
	for _, s := range odd {
		checkString(t, s)
	}
	if got := string(appendString(nil, "a\u2028\x01\"\xff")); got != `"a\u2028\u0001\"`+"\ufffd\"" {
		t.Errorf("got %s", got)
	}
}

func FuzzString(f *testing.F) {
	for _, s := range odd[:len(odd)-2] {
		f.Add(s)
	}
	f.Fuzz(checkString)
}

func TestMicros(t *testing.T) {
	for ns, want := range map[uint64]string{
		0: "0.000", 1: "0.001", 999: "0.999", 1000: "1.000", 1_234_567: "1234.567", 7_776_000_000_000_001: "7776000000000.001",
		math.MaxUint64: "18446744073709551.615",
	} {
		if got := string(appendMicros(nil, ns)); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	const exact = 1 << 53
	for v, want := range map[int64]string{
		0: "0", -1: "-1", exact: "9007199254740992", exact + 1: `"9007199254740993"`, -exact: "-9007199254740992", -exact - 1: `"-9007199254740993"`,
		math.MaxInt64: `"9223372036854775807"`, math.MinInt64: `"-9223372036854775808"`,
	} {
		if got := string(appendInt(nil, v)); got != want {
			t.Errorf("%d: %s, want %s", v, got, want)
		}
	}
	if got := string(appendUint(nil, math.MaxUint64)); got != `"18446744073709551615"` {
		t.Errorf("2^64-1: %s", got)
	}
}
