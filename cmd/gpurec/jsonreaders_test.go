package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	jsoncheck "github.com/gpurec/gpurec/export/chromejson/check"
	"github.com/gpurec/gpurec/record/event"
)

// oddNames are names that some reader of JSON would stumble over.
var oddNames = []string{"\x00", "\"\\/\b", "\u2028\u2029", "</script><!--", "\xff\xc3\x28", "é😀\u200d", "constructor", "1e999", "__proto__"}

// jsonFiles are exports as JSON: the demo, a capture, and names of all kinds
// from times that doubles can hardly hold.
func jsonFiles(t *testing.T) map[string]string {
	t.Helper()
	var evs []event.Event
	for i, name := range oddNames {
		e := event.New(event.KindSlice, event.Time(7_000_000_000_000_000_001+i*10))
		e.PID, e.TID = 42, 43
		e.SetTime(event.FieldStart, e.Time-3)
		e.SetStr(event.FieldName, name)
		e.SetStr(event.FieldCategory, name)
		evs = append(evs, e)
	}
	evs[0].SetTime(event.FieldStart, evs[0].Time-7_000_000_000_000_000) // 81 days earlier
	in := map[string]string{
		"demo": demoLog,
		"odd":  writeLogFile(t, "odd.gpurec", &event.Meta{Tool: "gpurec\x80", Format: "live", Clock: event.ClockBoottime}, evs),
	}
	if p := filepath.Join("..", "..", "..", "shared", "captures", "6.12.117+deb12-amd64", "raw"); exists(p) {
		in["capture"] = p
	}
	dir := t.TempDir()
	for name, from := range in {
		in[name] = filepath.Join(dir, name+".json")
		must(t, "convert", "-q", from, in[name])
	}
	return in
}

// jsonSums is what a file adds up to: slices, their lengths and starts in ns,
// ends of arrows, and the characters of all names.
func jsonSums(t *testing.T, file string) string {
	t.Helper()
	rep, err := jsoncheck.File(file)
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep.Err())
	}
	dur, ts, names := int64(0), int64(0), 0
	for _, s := range rep.Slices {
		dur, ts = dur+s.End-s.Start, ts+s.Start
		names += len([]rune(s.Name))
	}
	return fmt.Sprintf("%d slices, %d ns long, starts %d, %d arrows, names of %d", len(rep.Slices), dur, ts, 2*len(rep.Flows), names)
}

// A browser's JSON.parse takes the file whole, and its doubles hold the times
// to the nanosecond.
func TestBrowserReadsJSON(t *testing.T) {
	browser := chromium(t)
	files := jsonFiles(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		http.ServeFile(w, r, files[r.URL.Query().Get("file")])
	}))
	defer srv.Close()
	list := make([]string, 0, len(files))
	for name := range files {
		list = append(list, name)
	}
	names, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, func() string {
		return fmt.Sprintf(`
  const out = [];
  for (const file of %s) {
    const r = await fetch(%q + "/?file=" + file);
    const text = new TextDecoder("utf-8", {fatal: true}).decode(await r.arrayBuffer());
    const trace = JSON.parse(text);
    let n = 0, dur = 0n, ts = 0n, arrows = 0, names = 0;
    const ns = (v) => { if (typeof v !== "number" || !isFinite(v)) throw "time " + v; return BigInt(Math.round(v * 1000)); };
    for (const e of trace.traceEvents) {
      if (typeof e.ph !== "string" || typeof e.name !== "string" || !(e.pid > 0)) throw "event " + JSON.stringify(e);
      if (e.ph === "s" || e.ph === "f") arrows++;
      if (e.ph !== "X") continue;
      if (!(e.tid > 0)) throw "thread " + JSON.stringify(e);
      n++; dur += ns(e.dur); ts += ns(e.ts); names += [...e.name].length;
    }
    out.push(file + ": " + n + " slices, " + dur + " ns long, starts " + ts + ", " + arrows + " arrows, names of " + names);
  }
  return out;`, names, srv.URL)
	})
	got := s.browse(t, browser)
	for i, name := range list {
		if want := name + ": " + jsonSums(t, files[name]); len(got) != len(list) || got[i] != want {
			t.Errorf("the browser reads %q, not %q", got, want)
		}
	}
}

// Python's reader, told to take nothing that JSON does not have.
func TestPythonReadsJSON(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	const script = `
import json, sys
from decimal import Decimal
def bad(x): raise ValueError(x)
def once(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)
d = json.load(open(sys.argv[1], encoding="utf-8"), parse_constant=bad, parse_float=Decimal, object_pairs_hook=once)
x = [e for e in d["traceEvents"] if e["ph"] == "X"]
dur, ts = sum(e["dur"] for e in x) * 1000, sum(e["ts"] for e in x) * 1000
assert dur == int(dur) and ts == int(ts)
print("%d slices, %d ns long, starts %d, %d arrows, names of %d" % (len(x), dur, ts, sum(e["ph"] in "sf" for e in d["traceEvents"]), sum(len(e["name"]) for e in x)))
`
	for name, file := range jsonFiles(t) {
		c := exec.Command(python, "-c", script, file)
		c.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8")
		var e bytes.Buffer
		c.Stderr = &e
		out, err := c.Output()
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, e.String())
			continue
		}
		if want := jsonSums(t, file) + "\n"; string(out) != want {
			t.Errorf("%s: Python reads %q, not %q", name, out, want)
		}
	}
}
