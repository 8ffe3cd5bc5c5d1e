package perfscript

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// TestCases runs the cases of testdata/perfscript as they are, with other ends
// of lines, and read byte after byte.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(importtest.Testdata(t, "perfscript", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		c := importtest.ReadCase(t, f)
		if !sniff(c.Trace) {
			t.Errorf("%s: the format is not recognised", filepath.Base(f))
		}
		for name, in := range map[string]io.Reader{
			"as it is":             bytes.NewReader(c.Trace),
			"CRLF":                 bytes.NewReader(bytes.ReplaceAll(c.Trace, []byte("\n"), []byte("\r\n"))),
			"no newline at end":    bytes.NewReader(bytes.TrimSuffix(c.Trace, []byte("\n"))),
			"read byte after byte": oneByte{bytes.NewReader(c.Trace)},
		} {
			t.Run(strings.TrimSuffix(filepath.Base(f), ".txt")+"/"+name, func(t *testing.T) {
				r, err := open(importer.Input{Name: "test", R: in}, importer.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := importtest.Read(r)
				if err != nil {
					t.Fatal(err)
				}
				importtest.Compare(t, got, r.Counters(), c)
			})
		}
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

// Every prefix of a text is a text: it gives its whole events.
func TestCutAnywhere(t *testing.T) {
	c := importtest.ReadCase(t, importtest.Testdata(t, "perfscript", "records.txt"))
	for n := range c.Trace {
		r, err := importtest.OpenBytes(Format(), c.Trace[:n], true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := importtest.Read(r)
		// A line cut short may be one event, one anomaly, or nothing yet.
		if whole := bytes.Count(c.Trace[:n], []byte("\n")); err != nil || len(got) > whole+1 || len(got) < min(whole, 8) {
			t.Fatalf("cut at %d: %d events of %d whole lines, %v", n, len(got), whole, err)
		}
	}
}

// The header names the machine and the clock, and relates it to real time.
func TestHeader(t *testing.T) {
	text := "# ========\n# captured on    : Sun Nov 29 19:45:37 2026\n# hostname : box\n# os release : 6.1.0\n# arch : x86_64\n" +
		"# nrcpus online : 8\n# cmdline : /usr/bin/perf record -k mono \n# clockid: monotonic (1)\n" +
		"# reference time: 2026-11-29 19:45:36.298491 = 1795981536.298491 (TOD) = 4540.701133708 (monotonic)\n# ========\n#\n" +
		"a 1 [000] 4541.000000001: cycles:\n"
	r, err := importtest.OpenBytes(Format(), []byte(text), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importtest.Read(r); err != nil {
		t.Fatal(err)
	}
	m := r.Meta()
	if m.Host != (event.Host{Name: "box", Kernel: "6.1.0", Machine: "x86_64", CPUs: 8}) || m.Clock != event.ClockMonotonic {
		t.Errorf("host %+v, clock %s", m.Host, m.Clock)
	}
	want := event.ClockSnapshot{Monotonic: 4540701133708, Realtime: 1795981536298491000}
	if len(m.Snapshots) != 1 || m.Snapshots[0] != want {
		t.Errorf("snapshots %+v, want %+v", m.Snapshots, want)
	}
	if !m.Start.OK || m.Start.V != 4541000000001 {
		t.Errorf("start %+v", m.Start)
	}
}

// Long lines and endless call chains cost no more than their bounds.
func TestBounds(t *testing.T) {
	var w bytes.Buffer
	w.WriteString("a 1 [000] 1.000000: cycles:\n")
	for i := range 10000 {
		w.WriteString("\t" + strconv.FormatInt(int64(0x1000+i), 16) + " frame+0x0 (app)\n")
	}
	w.WriteString("\nb 2 [000] 2.000000: cycles: " + strings.Repeat("x", 1<<18) + "\nc 3 [000] 3.000000: cycles:\n")
	r, err := importtest.OpenBytes(Format(), w.Bytes(), true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := importtest.Read(r)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, e := range got {
		if n := len(e.Str(event.FieldStack)); n > maxStack {
			t.Errorf("event %d: a call chain of %d bytes", i, n)
		}
	}
	c := r.Counters()
	if c.Get(&AnomalyLongLine) != 1 || c.Get(&AnomalyLongStack) == 0 {
		t.Errorf("anomalies %+v", c.List())
	}
}

// Truths of TRUTHS.tsv that events can answer.
func TestTruths(t *testing.T) {
	truths := map[string][][]string{}
	for _, r := range importtest.Rows(t, "TRUTHS.tsv") {
		truths[r[0]] = append(truths[r[0]], r)
	}
	met, failed := 0, 0
	for _, row := range importtest.Rows(t, "INDEX.tsv") {
		if row[2] != "perf-script" {
			continue
		}
		rd := importtest.Open(t, Format(), importtest.Shared(t, "traces", row[1])).(*reader)
		events, err := importtest.Read(rd)
		if err != nil {
			t.Errorf("%s: %v", row[1], err)
		}
		a := answers(events, rd)
		for _, tr := range truths[row[1]] {
			got, ok := a[tr[1]]
			if !ok || got != tr[2] {
				t.Errorf("%s: %s: %q, want %s", row[1], tr[1], got, tr[2])
				failed++
				continue
			}
			met++
		}
	}
	t.Logf("truths: %d met, 0 not expressible, %d failed", met, failed)
}

func answers(events []event.Event, r *reader) map[string]string {
	a, count, comms, frames := map[string]string{}, map[string]int{}, map[string]bool{}, 0
	for i := range events {
		e := &events[i]
		if e.Kind != event.KindSample {
			continue
		}
		count["sample headers"]++
		count["event "+e.Str(event.FieldName)]++
		comms[e.Comm] = true
		if s := e.Str(event.FieldStack); s != "" && !strings.Contains(s, "=>") {
			frames += strings.Count(s, "\n") + 1
		}
	}
	for k, n := range count {
		a[k] = strconv.Itoa(n)
	}
	a["stack frames"] = strconv.Itoa(frames)
	a["distinct comm"] = strconv.Itoa(len(comms))
	a["lines of other kind"] = strconv.FormatInt(r.tally.other, 10)
	return a
}

func TestSniff(t *testing.T) { importtest.Claimed(t, Format(), "perf-script") }

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(importtest.Testdata(f, "perfscript", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sniff(text)
		r, err := importtest.OpenBytes(Format(), text, true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := importtest.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")) + 1; len(got) > 2*lines {
			t.Fatalf("%d events of %d lines", len(got), lines)
		}
	})
}

func BenchmarkImport(b *testing.B) {
	text, err := os.ReadFile(importtest.Shared(b, "traces", "097-speedscope-system-wide.perf.txt"))
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Count(text, []byte("\n"))
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		r, err := importtest.OpenBytes(Format(), text, true)
		if err != nil {
			b.Fatal(err)
		}
		var batch event.Batch
		for r.Next(&batch) == nil {
		}
		n += lines
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mlines/s")
}
