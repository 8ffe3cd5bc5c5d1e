package chromejson

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// outcome is all that reading a text gives: events, error, anomalies.
func outcome(text []byte, steps *steps) []string {
	r := newReader(bytes.NewReader(text), "in")
	r.lex.steps = steps
	var out []string
	var b event.Batch
	for {
		err := r.Next(&b)
		if err != nil {
			if err != io.EOF {
				out = append(out, err.Error())
			}
			break
		}
		for i := range b.Events {
			out = append(out, fmt.Sprintf("%+v", b.Events[i]))
		}
	}
	for _, a := range r.Counters().List() {
		out = append(out, fmt.Sprintf("%s %d %q", a.Name, a.Count, a.Sample))
	}
	return out
}

// patterned writes events of few patterns, as a profiler does: indented with
// any blanks, keys that are there in some, and arrays that come again.
func patterned(r *rand.Rand) []byte {
	nl := []string{"", " ", "\n", "\n  ", "\n        ", "\r\n\t"}[r.IntN(6)]
	in := []string{"", "", "\n  "}[r.IntN(3)] // in arrays
	colon := []string{":", ": ", " : "}[r.IntN(3)]
	var s strings.Builder
	s.WriteString(`{"deviceProperties":[{"id":0,"name":"A"},{"id":1,"name":"A"}],"traceEvents":[`)
	member := func(format string, a ...any) {
		if r.IntN(12) == 0 {
			return
		}
		key, val, _ := strings.Cut(fmt.Sprintf(format, a...), "=")
		fmt.Fprintf(&s, `,%s"%s"%s%s`, nl, key, colon, val)
	}
	for i := range 20 + r.IntN(60) {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, `{%s"ph"%s"X"`, nl, colon)
		member(`cat="%s"`, []string{"cpu_op", "kernel", "cuda_runtime", "python_function"}[r.IntN(4)])
		member(`name="%s"`, []string{"aten::mm", "aten::convolution", "x", `a\"b`}[r.IntN(4)])
		member(`pid=%d`, r.IntN(2)*700)
		member(`tid=%d`, 700+r.IntN(3))
		member(`ts=%d.%03d`, 5000+i, r.IntN(1000))
		member(`dur=%d`, r.IntN(90))
		if r.IntN(5) > 0 {
			fmt.Fprintf(&s, `,%s"args"%s{%s"External id"%s%d`, nl, colon, nl, colon, i)
			member(`stream=%d`, r.IntN(3))
			member(`correlation=%d`, i/2)
			member(`Input Dims=[[%d,%s2],%s[]]`, r.IntN(2), in, in)
			for range r.IntN(8) / 2 { // the same key again
				member(`Input type=["float",%s"",%s{"a":%s%d}]`, in, in, in, r.IntN(4))
			}
			if r.IntN(9) == 0 {
				member(`odd=[NaN,%s]`, in)
			}
			member(`grid=[%d, 1, 1]`, r.IntN(3))
			member(`a key that is longer than what is kept of one step=%d`, i)
			s.WriteString(nl + "}")
		}
		s.WriteString(nl + "}")
	}
	return []byte(s.String() + "\n]}")
}

// damage writes over, takes out and puts in a few bytes.
func damage(r *rand.Rand, text []byte) []byte {
	const odd = "{}[]\",:\\ \n\t0a-.\x01\xc3\xa9"
	for range r.IntN(5) {
		i := r.IntN(len(text))
		switch c := odd[r.IntN(len(odd))]; r.IntN(3) {
		case 0:
			text[i] = c
		case 1:
			text = append(text[:i], text[min(len(text), i+1+r.IntN(3)):]...)
		default:
			text = append(text[:i:i], append([]byte{c}, text[i:]...)...)
		}
	}
	return text
}

// Whether the lexer takes a piece of an event as one that it met before, or
// looks at each byte of it, is nothing that may be seen.
func TestStepsChangeNothing(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 600
	}
	taken := 0
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := damage(r, patterned(r))
		s := new(steps)
		got, want := outcome(text, s), outcome(text, nil)
		if len(s.all) > 20 && s.memos.sets != [memoSets][2]*memo{} {
			taken++
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("seed %d: %d lines, without steps %d; line %d:\n%s\nwithout steps\n%s\n%s", seed, len(got), len(want), i, at(got, i), at(want, i), text)
			}
		}
	}
	if taken < n/2 {
		t.Errorf("only %d of %d files had steps and arrays to remember", taken, n)
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}
