package ftracetext

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
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

// TestCases runs the cases of testdata/ftrace. Each begins with its story,
// then gives a trace, the events that a person read out of it (fields in any
// order), and the anomalies.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(importtest.Testdata(t, "ftrace", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			c := importtest.ReadCase(t, f)
			trace := c.Trace
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
				t.Log(name)
				got, rd := readAll(t, r)
				importtest.Compare(t, got, rd.Counters(), c)
			}
		})
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }
