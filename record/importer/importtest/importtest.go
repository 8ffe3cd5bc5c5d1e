// Package importtest is what the tests of importers share: cases, reading an
// input to its end, showing events as text, recordings made of words (trace.dat,
// raw pages), and the shared data beside the checkout.
package importtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// Read reads an input to its end. The error is nil at a sound end.
func Read(r importer.Reader) ([]event.Event, error) {
	var all []event.Event
	var b event.Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if len(b.Events) == 0 {
			return all, errors.New("a batch without events and without an error")
		}
		all = append(all, b.Events...)
	}
}

// Show gives an event as a line: kind, time, what is known of CPU, process,
// thread and flags, then its fields in the order of its kind.
func Show(e *event.Event) string {
	var b strings.Builder
	b.WriteString(e.Kind.String() + " " + timeText(e.Time))
	for _, c := range []struct {
		key string
		v   int32
	}{{"cpu", e.CPU}, {"pid", e.PID}, {"tid", e.TID}} {
		if c.v != event.NoID {
			fmt.Fprintf(&b, " %s=%d", c.key, c.v)
		}
	}
	for i, n := range []string{"low32", "hashed", "pid_inferred", "ring_inferred"} {
		if e.Flags&(1<<i) != 0 {
			b.WriteString(" +" + n)
		}
	}
	if e.Comm != "" {
		fmt.Fprintf(&b, " comm=%q", e.Comm)
	}
	for _, f := range e.Kind.Spec().Fields {
		if e.Has(f) {
			b.WriteString(" " + f.String() + "=" + value(e, f))
		}
	}
	return b.String()
}

func timeText(t event.Time) string {
	if !t.Known() {
		return "-"
	}
	return strconv.FormatInt(int64(t), 10)
}

func value(e *event.Event, f event.Field) string {
	u, _ := e.Uint(f)
	switch f.Spec().Type {
	case event.TypeText, event.TypeString:
		return strconv.Quote(e.Str(f))
	case event.TypePointer:
		return "0x" + strconv.FormatUint(u, 16)
	case event.TypeFloat:
		v, _ := e.Float(f)
		return strconv.FormatFloat(v, 'f', -1, 64)
	case event.TypeUint:
		switch f {
		case event.FieldAPI:
			return event.API(u).String()
		case event.FieldActivity:
			return event.Activity(u).String()
		case event.FieldDirection:
			return event.Direction(u).String()
		case event.FieldRole:
			return event.Role(u).String()
		case event.FieldTaskOp:
			return event.TaskOp(u).String()
		}
		return strconv.FormatUint(u, 10)
	}
	return strconv.FormatInt(int64(u), 10)
}

// Root returns the folder of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no go.mod above the test")
		}
		dir = up
	}
}

// Shared returns a file of the shared data beside the checkout, or skips.
func Shared(t testing.TB, parts ...string) string {
	t.Helper()
	p := filepath.Join(append([]string{Root(t), "..", "shared"}, parts...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("shared data is absent: %v", err)
	}
	return p
}

// Rows returns the lines of a table of the shared traces (INDEX.tsv,
// TRUTHS.tsv) without its first, cut at tabs.
func Rows(t testing.TB, name string) [][]string {
	t.Helper()
	f, err := os.Open(Shared(t, "traces", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var l [][]string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		l = append(l, strings.Split(sc.Text(), "\t"))
	}
	if err := sc.Err(); err != nil || len(l) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	return l[1:]
}

// Truths returns the rows of TRUTHS.tsv of a file: what it holds, and how much.
func Truths(t testing.TB, file string) [][2]string {
	t.Helper()
	var l [][2]string
	for _, r := range Rows(t, "TRUTHS.tsv") {
		if r[0] == file && len(r) > 2 {
			l = append(l, [2]string{r[1], r[2]})
		}
	}
	return l
}

// captureKind names the kind of a file of the captures.
func captureKind(name string) string {
	switch name {
	case "trace.dat":
		return "trace.dat"
	case "trace.txt", "tracecmd-report.txt":
		return "ftrace"
	}
	return ""
}

// Claimed checks that a format claims exactly the shared traces and captures
// of the given kinds (as INDEX.tsv names them).
func Claimed(t *testing.T, f importer.Format, kinds ...string) {
	t.Helper()
	mine := map[string]bool{}
	for _, k := range kinds {
		mine[k] = true
	}
	n := 0
	check := func(path string, want bool) {
		s, err := importer.OpenStream(path)
		if err != nil {
			return // no trace at all
		}
		defer s.Close()
		if want {
			n++
		}
		if got := f.Sniff(s.Head); got != want {
			t.Errorf("%s: recognised as %s: %v", filepath.Base(path), f.Name, got)
		}
	}
	for _, r := range Rows(t, "INDEX.tsv") {
		check(Shared(t, "traces", r[1]), mine[r[2]])
	}
	err := filepath.WalkDir(Shared(t, "captures"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			check(p, mine[captureKind(filepath.Base(p))])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Errorf("no file of kind %v", kinds)
	}
}
