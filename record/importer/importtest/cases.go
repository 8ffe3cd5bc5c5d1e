package importtest

import (
	"bytes"
	"errors"
	"fmt"
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

// Testdata returns a file of the repository's testdata.
func Testdata(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{Root(t), "testdata"}, parts...)...)
}

// Open opens a file, a folder or a compressed file as gpurec does.
func Open(t testing.TB, f importer.Format, path string) importer.Reader {
	t.Helper()
	s, err := importer.OpenStream(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r, err := s.OpenReader(&f, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// OpenBytes opens a text or the bytes of a file: as a file, or as a pipe.
func OpenBytes(f importer.Format, b []byte, pipe bool) (importer.Reader, error) {
	in := importer.Input{Name: "test", R: bytes.NewReader(b)}
	if !pipe {
		in.At, in.Size = bytes.NewReader(b), int64(len(b))
	}
	return f.Open(in, importer.Options{})
}

// CaseLine renders an event as [Case] writes it: in the order of a line of
// ftrace, with its source, numbers of enumerations as numbers.
func CaseLine(e *event.Event) string {
	w := []string{"notime"}
	if e.Time.Known() {
		w[0] = strconv.FormatInt(int64(e.Time), 10)
	}
	for _, id := range []struct {
		name string
		v    int32
	}{{"cpu", e.CPU}, {"pid=", e.PID}, {"tid=", e.TID}} {
		if id.v != event.NoID {
			w = append(w, id.name+strconv.Itoa(int(id.v)))
		}
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
		w = append(w, f.String()+"="+CaseValue(e, f))
	}
	return strings.Join(w, " ")
}

// CaseValue renders a field for [CaseLine].
func CaseValue(e *event.Event, f event.Field) string {
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

// Case is a file of cases' three parts.
type Case struct{ Trace, Want, Anomalies []byte }

// ReadCase reads a case: its story, then the parts trace, want and anomalies.
func ReadCase(t *testing.T, path string) Case {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(text, []byte("-- trace --\n"))
	trace, rest, ok2 := bytes.Cut(rest, []byte("-- want --\n"))
	if !ok || !ok2 {
		t.Fatalf("%s: a case needs its parts trace and want", path)
	}
	want, anomalies, _ := bytes.Cut(rest, []byte("-- anomalies --\n"))
	return Case{trace, want, anomalies}
}

// Compare checks events, in any order of their fields, and anomalies.
func Compare(t *testing.T, got []event.Event, c *event.Counters, want Case) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(want.Want), "\n"), "\n")
	for i := range max(len(got), len(lines)) {
		switch {
		case i >= len(got):
			t.Errorf("missing\n  %s", lines[i])
		case i >= len(lines):
			t.Errorf("unexpected\n  %s", CaseLine(&got[i]))
		case !sameWords(CaseLine(&got[i]), lines[i]):
			t.Errorf("got\n  %s\nwant\n  %s", CaseLine(&got[i]), lines[i])
		}
	}
	wantCounts, gotCounts := map[string]uint64{}, map[string]uint64{}
	for line := range strings.Lines(string(want.Anomalies)) {
		n, c, _ := strings.Cut(strings.TrimSpace(line), " ")
		wantCounts[n], _ = strconv.ParseUint(c, 10, 64)
	}
	for _, a := range c.List() {
		gotCounts[a.Name] = a.Count
	}
	if !maps.Equal(gotCounts, wantCounts) {
		t.Errorf("anomalies %v, want %v", gotCounts, wantCounts)
	}
}

func sameWords(a, b string) bool {
	x, y := words(a), words(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
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

// Cuts opens every prefix of a file, every fifth as a pipe too: none may panic,
// and each gives a beginning of the whole file's events (by CaseLine), one with an
// error unless it has all of them.
func Cuts(t *testing.T, f importer.Format, whole []byte, step int) {
	t.Helper()
	r, err := OpenBytes(f, whole, false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	seen := map[string]bool{}
	for i := range all {
		seen[CaseLine(&all[i])] = true
	}
	for n := 0; n < len(whole); n += step {
		for _, pipe := range []bool{false, true} {
			if pipe && n%5 != 0 {
				continue
			}
			r, err := OpenBytes(f, whole[:n], pipe)
			if err != nil {
				oneLine(t, err)
				continue
			}
			got, err := Read(r)
			r.Close()
			if err != nil {
				oneLine(t, err)
			}
			worst, any := r.Counters().Worst()
			if err == nil && len(got) < len(all) && !(any && worst == event.SeverityError) {
				t.Fatalf("cut at %d of %d: %d of %d events and no word about it", n, len(whole), len(got), len(all))
			}
			for i := range got {
				if s := CaseLine(&got[i]); !seen[s] && got[i].CPU != event.NoID && i+1 < len(got) {
					t.Fatalf("cut at %d: an event that the whole file does not have: %s", n, s)
				}
			}
		}
	}
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	var e *importer.Error
	if !errors.As(err, &e) || e.Remedy == "" || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error %q: want one line with a remedy", err)
	}
}
