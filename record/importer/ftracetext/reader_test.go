package ftracetext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

func TestMeta(t *testing.T) {
	const text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:8\n" +
		"a-1 [000] ..... 9.000001: sched_stat_x: v=1\na-1 [000] ..... 7.000001: sched_stat_x: v=1\n" +
		"rf:             a-1 [000] ..... 8.000001: sched_stat_x: v=1\n"
	r, err := open(importer.Input{R: strings.NewReader(text)}, importer.Options{Clock: event.ClockMonotonic})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	if err := r.Next(&b); err != nil || len(b.Events) != 3 {
		t.Fatalf("%d events, %v", len(b.Events), err)
	}
	if err := r.Next(&b); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
	m := r.Meta()
	if m.Clock != event.ClockMonotonic || m.Host.CPUs != 8 || m.Format != "ftrace-text" ||
		m.Start != event.Some(event.Time(7000001000)) || m.End != event.Some(event.Time(9000001000)) {
		t.Errorf("meta %+v", m)
	}
	if fmt.Sprint(m.Facts) != "[{tracer nop} {instance rf}]" {
		t.Errorf("facts %v", m.Facts)
	}
	r, _ = open(importer.Input{R: strings.NewReader(text)}, importer.Options{})
	if c := r.Meta().Clock; c != event.ClockUnknown {
		t.Errorf("clock %q without being told", c)
	}
}

// Batches end between events, never before a further line of one.
func TestBatches(t *testing.T) {
	var text strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&text, "a-1 [000] ..... 1.%06d: my_text: line %d\n  more %d\n", i, i, i)
	}
	r, err := open(importer.Input{R: strings.NewReader(text.String())}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	i := 0
	for {
		if err := r.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(b.Events) > event.DefaultBatch {
			t.Errorf("a batch of %d", len(b.Events))
		}
		for j := range b.Events {
			if want := fmt.Sprintf(`{"text":"line %d\n  more %d"}`, i, i); b.Events[j].Str(event.FieldArgs) != want {
				t.Fatalf("event %d: %s, want %s", i, b.Events[j].Str(event.FieldArgs), want)
			}
			i++
		}
	}
	if i != n {
		t.Errorf("%d events of %d", i, n)
	}
}

// A line without an end costs its rest only, and no more memory than a line may have.
func TestLongLine(t *testing.T) {
	text := "a-1 [000] ..... 1.000001: my_text: " + strings.Repeat("x", 10<<20) + "\na-1 [000] ..... 1.000002: sched_stat_x: v=1\n"
	events, r := readAll(t, strings.NewReader(text))
	if len(events) != 2 || len(events[0].Str(event.FieldArgs)) > maxLine+100 || events[1].Str(event.FieldArgs) != `{"v":1}` {
		t.Errorf("%d events", len(events))
	}
	if r.Counters().Get(&AnomalyLongLine) != 1 || len(r.lines.buf) > 2*firstBuffer {
		t.Errorf("anomalies %v, buffer %d", r.Counters().List(), len(r.lines.buf))
	}
}

// A text over endless lines is cut.
func TestLongText(t *testing.T) {
	text := "a-1 [000] ..... 1.000001: my_text: x\n" + strings.Repeat("another line of it\n", 10000)
	events, r := readAll(t, strings.NewReader(text))
	if len(events) != 1 || len(events[0].Str(event.FieldArgs)) > 2*maxText || r.Counters().Get(&AnomalyTruncatedText) == 0 {
		t.Errorf("%d events, anomalies %v", len(events), r.Counters().List())
	}
}

// An input that fails in the middle gives what came before, then one error with its line.
func TestReadError(t *testing.T) {
	broken := errors.New("input/output error")
	in := io.MultiReader(strings.NewReader("a-1 [000] ..... 1.000001: sched_stat_x: v=1\n"), failing{broken})
	r, err := open(importer.Input{Name: "trace.txt", R: in}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	if err := r.Next(&b); err != nil || len(b.Events) != 1 {
		t.Fatalf("%d events, %v", len(b.Events), err)
	}
	err = r.Next(&b)
	var e *importer.Error
	if !errors.Is(err, broken) || !errors.As(err, &e) || e.Line != 1 || e.Name != "trace.txt" || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Bytes that are no UTF-8 do not reach a string.
func TestInvalidUTF8(t *testing.T) {
	events, _ := readAll(t, strings.NewReader("a\xff-1 [000] ..... 1.000001: tracing_mark_write: B|1|\xfe\xfeb\n"))
	if len(events) != 1 || events[0].Comm != "a\ufffd" || events[0].Str(event.FieldName) != "\ufffdb" {
		t.Errorf("%+v", events)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"# tracer: nop\n# entries-in-buffer/entries-written: 4/19   #P:2\na-1 [000] ..... 1.000001: x: v=1\n",
		"cpus=2\nrf: CPU:0 [16 EVENTS DROPPED]\nrf:               b-2 (  2) [001] 1.000005: x: v=5\n more\n",
		"<!DOCTYPE html>\n<script class=\"trace-data\">\na-1 [000] .... 1.0: 0: E\n</script>\n",
		"<html>\n  var linuxPerfData = \"\\\na-1 [000] 1.0: 0: B|1|x\\n\\\n b-1 [000] 1.0: 0: E\";\n",
		"xe_sched_job_run: dev=0, fence=0xffff888276cc8540\n.....\n", "a-1 99999999999999999999.5: x: y\r\n", "CPU:1 [LOST EVENTS]\n", "[LINE TOO BIG]\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sniff(text)
		events, r := readAll(t, bytes.NewReader(text))
		again, _ := readAll(t, oneByte{bytes.NewReader(text)})
		if len(events) != len(again) {
			t.Fatalf("%d events, read byte after byte %d", len(events), len(again))
		}
		for i := range events {
			if events[i] != again[i] {
				t.Fatalf("event %d: %s, read byte after byte %s", i, importtest.CaseLine(&events[i]), importtest.CaseLine(&again[i]))
			}
		}
		lines := int64(bytes.Count(text, []byte("\n")) + 1)
		tl := &r.tally
		if n := tl.events + tl.bare + tl.headers + tl.comments + tl.blanks + tl.more + tl.unread + tl.markup; n > lines || n < lines-1 {
			t.Fatalf("%d lines accounted for, of %d: %+v", n, lines, *tl)
		}
	})
}
