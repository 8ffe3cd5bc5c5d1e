package chromejson

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// testCase is a file of testdata: its story, a trace, and what becomes of it.
type testCase struct {
	name, trace           string
	want, anomalies, meta []string
	hasMeta               bool
}

func cases(t testing.TB) (all []testCase) {
	files, err := filepath.Glob(filepath.Join(importtest.Root(t), "testdata", "chromejson", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		c := testCase{name: strings.TrimSuffix(filepath.Base(f), ".txt")}
		for i, part := range strings.Split("\n"+string(text), "\n-- ") {
			if i == 0 {
				continue
			}
			head, body, ok := strings.Cut(part, " --\n")
			if !ok {
				head = strings.TrimSuffix(part, " --")
			}
			lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
			lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
			switch head {
			case "trace":
				c.trace = body + "\n"
			case "want":
				c.want = lines
			case "anomalies":
				c.anomalies = lines
			case "meta":
				c.meta, c.hasMeta = lines, true
			default:
				t.Fatalf("%s: section %q", f, head)
			}
		}
		all = append(all, c)
	}
	return all
}

// TestCases reads each case whole, and again byte after byte.
func TestCases(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			if f := sniff([]byte(c.trace)); f == flavourNone {
				t.Error("no format claims it")
			}
			evs, r, err := readAll(t, strings.NewReader(c.trace))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "events", shown(evs), c.want)
			compare(t, "anomalies", counted(r, c.anomalies), c.anomalies)
			if c.hasMeta {
				compare(t, "meta", described(r, c.meta), c.meta)
			}
			again, _, err := readAll(t, oneByte{bytes.NewReader([]byte(c.trace))})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "events read byte after byte", shown(again), c.want)
		})
	}
}

type oneByte struct{ r *bytes.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:min(1, len(b))]) }

func shown(evs []event.Event) (lines []string) {
	for i := range evs {
		lines = append(lines, importtest.Show(&evs[i]))
	}
	return lines
}

// counted shows the anomalies, with their places where the case tells them.
func counted(r *reader, want []string) (lines []string) {
	for _, a := range r.Counters().List() {
		lines = append(lines, fmt.Sprintf("%s %d", a.Name, a.Count))
	}
	slices.Sort(lines)
	for i := range lines {
		if i < len(want) && strings.Count(want[i], " ") > 1 {
			for _, a := range r.Counters().List() {
				if strings.HasPrefix(lines[i], a.Name+" ") {
					lines[i] += " " + a.Sample
				}
			}
		}
	}
	return lines
}

// described shows format, clock, and the facts that the case names.
func described(r *reader, want []string) []string {
	m := r.Meta()
	lines := []string{"format " + m.Format, "clock " + string(m.Clock)}
	for _, w := range want[min(2, len(want)):] {
		key, _, _ := strings.Cut(w, " ")
		for _, f := range m.Facts {
			if f.Key == key {
				lines = append(lines, f.Key+" "+f.Value)
			}
		}
	}
	return lines
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s, line %d:\n got %s\nwant %s", what, i+1, g, w)
		}
	}
}
