package ftracetext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// readAll imports a text.
func readAll(t testing.TB, in io.Reader) ([]event.Event, *reader) {
	t.Helper()
	r, err := open(importer.Input{Name: "test", R: in}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	var b event.Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return all, r.(*reader)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Events...)
	}
}

// show renders an event as the cases write it.
func show(e *event.Event) string {
	var w []string
	if e.Time.Known() {
		w = append(w, strconv.FormatInt(int64(e.Time), 10))
	} else {
		w = append(w, "notime")
	}
	if e.CPU != event.NoID {
		w = append(w, fmt.Sprintf("cpu%d", e.CPU))
	}
	if e.PID != event.NoID {
		w = append(w, fmt.Sprintf("pid=%d", e.PID))
	}
	if e.TID != event.NoID {
		w = append(w, fmt.Sprintf("tid=%d", e.TID))
	}
	if e.Comm != "" {
		w = append(w, "comm="+quote(e.Comm))
	}
	w = append(w, e.Kind.String(), e.Source)
	if e.Flags&event.FlagLow32 != 0 {
		w = append(w, "low32")
	}
	if e.Flags&event.FlagHashed != 0 {
		w = append(w, "hashed")
	}
	for _, f := range e.Kind.Spec().Fields {
		if !e.Has(f) || e.Kind == event.KindLoss && f == event.FieldName {
			continue // the remedy of a loss is prose
		}
		w = append(w, f.String()+"="+value(e, f))
	}
	return strings.Join(w, " ")
}

func value(e *event.Event, f event.Field) string {
	v, _ := e.Uint(f)
	switch f.Spec().Type {
	case event.TypeString, event.TypeText:
		return quote(e.Str(f))
	case event.TypePointer:
		return fmt.Sprintf("%#x", v)
	case event.TypeFloat:
		x, _ := e.Float(f)
		return strconv.FormatFloat(x, 'f', -1, 64)
	case event.TypeUint, event.TypeBool:
		return strconv.FormatUint(v, 10)
	}
	return strconv.FormatInt(int64(v), 10)
}

func quote(s string) string {
	if strings.ContainsAny(s, " \n\\") {
		return strconv.Quote(s)
	}
	return s
}

// words splits a line of a case at blanks outside of quotes.
func words(line string) []string {
	var l []string
	var w strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '"' && (i == 0 || line[i-1] != '\\') {
			quoted = quoted != (strings.HasSuffix(w.String(), "=") || quoted)
		}
		if c == ' ' && !quoted {
			l = append(l, w.String())
			w.Reset()
			continue
		}
		w.WriteByte(c)
	}
	return append(l, w.String())
}

// TestCases runs the cases of testdata/ftrace. Each begins with its story,
// then gives a trace, the events that a person read out of it (fields in any
// order), and the anomalies.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "ftrace", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, ok := bytes.Cut(text, []byte("-- trace --\n"))
			trace, rest, ok2 := bytes.Cut(rest, []byte("-- want --\n"))
			if !ok || !ok2 {
				t.Fatal("a case needs its parts trace and want")
			}
			want, anomalies, _ := bytes.Cut(rest, []byte("-- anomalies --\n"))
			if !sniff(trace) {
				t.Error("the format is not recognised")
			}
			for name, in := range map[string][]byte{
				"as it is":             trace,
				"with CRLF":            bytes.ReplaceAll(trace, []byte("\n"), []byte("\r\n")),
				"no newline at end":    bytes.TrimSuffix(trace, []byte("\n")),
				"read byte after byte": trace,
			} {
				var r io.Reader = bytes.NewReader(in)
				if name == "read byte after byte" {
					r = oneByte{r}
				}
				got, rd := readAll(t, r)
				compare(t, name, got, rd, string(want), string(anomalies))
			}
		})
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

func compare(t *testing.T, name string, got []event.Event, r *reader, want, anomalies string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	for i := range max(len(got), len(lines)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: missing\n  %s", name, lines[i])
		case i >= len(lines):
			t.Errorf("%s: unexpected\n  %s", name, show(&got[i]))
		default:
			g, w := words(show(&got[i])), words(lines[i])
			slices.Sort(g)
			slices.Sort(w)
			if !slices.Equal(g, w) {
				t.Errorf("%s: got\n  %s\nwant\n  %s", name, show(&got[i]), lines[i])
			}
		}
	}
	wantCounts, gotCounts := map[string]uint64{}, map[string]uint64{}
	for line := range strings.Lines(anomalies) {
		n, c, _ := strings.Cut(strings.TrimSpace(line), " ")
		wantCounts[n], _ = strconv.ParseUint(c, 10, 64)
	}
	for _, a := range r.Counters().List() {
		gotCounts[a.Name] = a.Count
	}
	if !maps.Equal(gotCounts, wantCounts) {
		t.Errorf("%s: anomalies %v, want %v", name, gotCounts, wantCounts)
	}
}
