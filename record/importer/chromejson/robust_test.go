package chromejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// TestCutAtEveryByte: of a file that was cut everything whole is kept, and it
// is said that it was cut, unless the format cannot tell.
func TestCutAtEveryByte(t *testing.T) {
	for _, c := range cases(t) {
		whole, _, _ := readAll(t, strings.NewReader(c.trace))
		damaged := strings.Contains(strings.Join(c.anomalies, " "), "damaged")
		last := 0
		for n := range len(strings.TrimRight(c.trace, "\n,")) {
			evs, r, err := readAll(t, strings.NewReader(c.trace[:n]))
			k := ownEvents(evs)
			if k < last && !damaged || len(evs) > len(whole)+2 {
				t.Fatalf("%s cut at %d: %d events, a shorter one gave %d, the whole %d", c.name, n, k, last, len(whole))
			}
			last = max(last, k)
			said := err != nil
			for _, a := range r.Counters().List() {
				said = said || a.Severity == event.SeverityError || a.AnomalySpec == &AnomalyOpenList
			}
			if !said {
				t.Fatalf("%s cut at %d: nothing says so: %v", c.name, n, r.Counters().List())
			}
			var e *importer.Error
			if err != nil && (!errors.As(err, &e) || strings.Contains(err.Error(), "\n")) {
				t.Fatalf("%s cut at %d: error %v is no importer.Error of one line", c.name, n, err)
			}
		}
	}
}

// ownEvents counts events but those that stand for the file as a whole.
func ownEvents(evs []event.Event) (n int) {
	for i := range evs {
		if !strings.HasPrefix(evs[i].Source, "kineto:d") {
			n++
		}
	}
	return n
}

// TestReadError: an input that fails gives what came before, then one error.
func TestReadError(t *testing.T) {
	broken := errors.New("input/output error")
	for _, err := range []error{broken, io.ErrUnexpectedEOF} {
		in := io.MultiReader(strings.NewReader(`[{"ph":"i","ts":1,"name":"a"},{"ph":"i","ts":`), failing{err})
		evs, _, got := readAll(t, in)
		var e *importer.Error
		if len(evs) != 1 || !errors.Is(got, err) || !errors.As(got, &e) || e.Name != "in" || e.Offset <= 0 {
			t.Errorf("%d events, %v", len(evs), got)
		}
	}
	if _, _, err := readAll(t, idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestHuge: texts and nesting without an end cost their event, and no memory
// beyond a window.
func TestHuge(t *testing.T) {
	after := `,{"ph":"i","ts":9,"name":"after"}]`
	deep := strings.Repeat("[", 1<<20)
	for name, in := range map[string]string{
		"name":        `[{"ph":"i","ts":1,"name":"` + strings.Repeat("x", 40<<20) + `"}` + after,
		"args":        `[{"ph":"i","ts":1,"name":"n","args":{"a":"` + strings.Repeat("y", 1<<20) + `","b":1}}` + after,
		"many args":   `[{"ph":"i","ts":1,"name":"n","args":{"a":0` + strings.Repeat(`,"b":[1,2]`, 100<<10) + `}}` + after,
		"deep":        `[{"ph":"i","ts":1,"name":"n","args":{"a":` + deep + `}}` + after,
		"no end":      `[` + strings.Repeat(`{"ph":"i","ts":1,"name":"x},`, 1<<20) + `""}` + after,
		"many extras": `[{"ph":"i","ts":1,"name":"n"` + strings.Repeat(`,"q":1`, 1000) + `}` + after,
	} {
		evs, r, err := readAll(t, strings.NewReader(in))
		if err != nil || len(evs) == 0 || evs[len(evs)-1].Str(event.FieldName) != "after" {
			t.Errorf("%s: %d events, %v", name, len(evs), err)
		}
		if len(r.Counters().List()) == 0 {
			t.Errorf("%s: nothing was counted", name)
		}
		if len(r.win.buf) > 2*maxWindow+padding {
			t.Errorf("%s: a window of %d bytes", name, len(r.win.buf))
		}
		for i := range evs {
			if a := evs[i].Str(event.FieldArgs); len(a) > maxArgs || a != "" && !json.Valid([]byte(a)) {
				t.Errorf("%s: %d bytes of arguments, valid %v", name, len(a), json.Valid([]byte(a)))
			}
		}
	}
}

// TestBatchBounds: a batch holds neither many events more than it should nor
// endless arguments, also while the process of device work is not known.
func TestBatchBounds(t *testing.T) {
	work := `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7,"a":"` + strings.Repeat("x", 1<<10) + `"}},`
	in := "[" + strings.Repeat(work, 40<<10)
	got, err := open(importer.Input{R: strings.NewReader(in)}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	n := 0
	for got.Next(&b) == nil {
		n += len(b.Events)
		text := 0
		for i := range b.Events {
			text += len(b.Events[i].Str(event.FieldArgs))
		}
		if len(b.Events) > maxHeld || text > maxHeldText+maxArgs {
			t.Fatalf("a batch of %d events with %d bytes", len(b.Events), text)
		}
	}
	if n != 40<<10+1 { // and the device
		t.Errorf("%d events", n)
	}
}

// TestMembers: what stands beside the events is read wherever it stands, and
// what is too long to keep is counted.
func TestMembers(t *testing.T) {
	long := strings.Repeat("z", maxFact+1)
	evs, r, err := readAll(t, strings.NewReader(`{"a":1,"b":"`+long+`","traceEvents":[{"ph":"i","ts":1,"name":"x"}],"c":[1,2],"baseTimeNanoseconds":5,"d":null}`))
	if err != nil || len(evs) != 1 || r.Counters().Get(&AnomalyMemberLong) != 1 {
		t.Errorf("%d events, %v, %v", len(evs), r.Counters().List(), err)
	}
	var got []string
	for _, f := range r.Meta().Facts {
		got = append(got, f.Key+"="+f.Value)
	}
	if want := "a=1 c=[1,2] realtime_base_ns=5 baseTimeNanoseconds=5 d="; strings.Join(got, " ") != want {
		t.Errorf("facts %q, want %q", got, want)
	}
}

// TestAfterEnd: what stands behind the trace is not read, and that is said.
func TestAfterEnd(t *testing.T) {
	_, r, err := readAll(t, strings.NewReader(`{"traceEvents":[]} {"traceEvents":[]}`))
	if err != nil || r.Counters().Get(&AnomalyAfterEnd) != 1 {
		t.Errorf("%v, %v", r.Counters().List(), err)
	}
	if _, r, err = readAll(t, strings.NewReader("[]\n;\n")); err != nil || len(r.Counters().List()) != 0 {
		t.Errorf("%v, %v", r.Counters().List(), err)
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range cases(f) {
		f.Add([]byte(c.trace))
	}
	f.Add([]byte(`[{"ph":"b","id2":{"local":"0x1"},"cat":"a","pid":1},{"ph":"X","cat":"kernel","args":{"grid":[1,2`))
	f.Add([]byte("\ufeff" + `{"stackFrames":{"1":[]},"samples":[{}],"systemTraceEvents":"a-1 [0] 1.0: x: \u00e9`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sniff(text)
		evs, _, err := readAll(t, bytes.NewReader(text))
		again, _, err2 := readAll(t, oneByte{bytes.NewReader(text)})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%v, read byte after byte %v", err, err2)
		}
		compare(t, "read byte after byte", shown(again), shown(evs))
		for i := range evs {
			if a := evs[i].Str(event.FieldArgs); a != "" && !json.Valid([]byte(a)) {
				t.Fatalf("arguments are no JSON: %q", a)
			}
		}
	})
}

// FuzzMicros compares times with an independent calculation.
func FuzzMicros(f *testing.F) {
	for _, s := range []string{"0", "-1.5", "1715583600123456.789", "1e3", "2.5e-3", "99999999999999999999", ".5", "1.", "1e", "0.0005", "0.00049999", "-0.0005"} {
		f.Add(s)
	}
	f.Fuzz(checkMicros)
}
