package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// drawnOnce is what a Chrome JSON export shows: slices by argument, arrows, and how
// many slices stand for another row too.
type drawnOnce struct {
	calls, work, also, arrows int
}

func drawnIn(t *testing.T, path string) (d drawnOnce) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		TraceEvents []struct {
			Ph   string         `json:"ph"`
			Cat  string         `json:"cat"`
			Args map[string]any `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all.TraceEvents {
		switch {
		case e.Ph == "s":
			d.arrows++
		case e.Args["gpu_activity_id"] != nil:
			d.work++
		case e.Args["api_call_id"] != nil:
			d.calls++
		}
		if e.Args["also_in"] != nil {
			d.also++
		}
	}
	return d
}

// What two sources told of one call or kernel is one slice, with the other row's
// number, and one arrow.
func TestTwinsAreDrawnOnce(t *testing.T) {
	const n = 40
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		in   func() (string, string)
		want drawnOnce
	}{
		{"two profilers", func() (string, string) { return twoProfilers(t, n) }, drawnOnce{calls: n, work: n, also: 2 * n, arrows: n}},
		{"probe and profiler", func() (string, string) { return launchedTwice(t, n) }, drawnOnce{calls: n, work: n, also: n, arrows: n}},
	} {
		a, b := c.in()
		out := filepath.Join(dir, "x.json")
		must(t, "convert", "-q", a, b, out)
		if got := drawnIn(t, out); got != c.want {
			t.Errorf("%s, Chrome JSON: %+v, want %+v", c.name, got, c.want)
		}
		// Perfetto's, read back: as many rows as slices.
		trace, log := filepath.Join(dir, "x.pftrace"), filepath.Join(dir, "x.gpurec")
		must(t, "convert", "-q", a, b, trace)
		must(t, "import", "-q", trace, "-o", log)
		var r joinsResult
		if err := json.Unmarshal([]byte(must(t, "correlate", "--json", log)), &r); err != nil {
			t.Fatal(err)
		}
		if r.Rows["api_calls"] != n || r.Rows["gpu_activities"] != n {
			t.Errorf("%s, Perfetto: rows %v", c.name, r.Rows)
		}
	}
}

// A copy of a file tells nothing new.
func TestCopyOfATrace(t *testing.T) {
	kineto, _ := twoProfilers(t, 40)
	b, err := os.ReadFile(kineto)
	if err != nil {
		t.Fatal(err)
	}
	var one, both joinsResult
	for _, c := range []struct {
		to *joinsResult
		in []string
	}{{&one, []string{kineto}}, {&both, []string{kineto, writeFile(t, "copy.json", string(b))}}} {
		if err := json.Unmarshal([]byte(must(t, append([]string{"correlate", "-q", "--json"}, c.in...)...)), c.to); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"api_calls", "gpu_activities", "links", "slices"} {
		if one.Rows[table] != both.Rows[table] {
			t.Errorf("%s: %d rows of one file, %d with its copy", table, one.Rows[table], both.Rows[table])
		}
	}
	if one.Rows["gpu_activities"] != 40 {
		t.Errorf("rows %v", one.Rows)
	}
}
