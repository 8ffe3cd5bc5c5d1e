package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// told writes down all that the reader gives, batch by batch.
func told(t *testing.T, text []byte, o importer.Options) []string {
	t.Helper()
	r, err := open(importer.Input{Name: "t.json", R: bytes.NewReader(text)}, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var b event.Batch
	for {
		err := r.Next(&b)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return out
		}
		for i := range b.Events {
			e := &b.Events[i]
			line := fmt.Sprintf("%v %v %d %d %q %q", e.Time, e.Kind, e.PID, e.TID, e.Comm, e.Source)
			for _, f := range e.Kind.Spec().Fields {
				if v, ok := e.Uint(f); ok {
					line += fmt.Sprintf(" %v=%d", f, v)
				} else if s := e.Str(f); s != "" {
					line += fmt.Sprintf(" %v=%q", f, s)
				}
			}
			out = append(out, line)
		}
	}
}

// A caller that takes what it needs at once gets the same events, also where
// a text is given in a later batch than that in which it was read.
func TestPassing(t *testing.T) {
	var s strings.Builder
	s.WriteString(`{"schemaVersion":1,"deviceProperties":[{"id":1,"name":"NVIDIA X","totalGlobalMem":85}],"traceEvents":[`)
	s.WriteString(`{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"python","more":"kept"}}`)
	for i := range 5000 {
		fmt.Fprintf(&s, `,{"ph":"X","cat":"cpu_op","name":"op","pid":700,"tid":701,"ts":%d,"dur":1,"args":{"External id":%d,"what":"%s"}}`, i, i, strings.Repeat("ab", i%90))
		if i%500 == 250 {
			fmt.Fprintf(&s, `,{"ph":"X","cat":"kernel","name":"k","pid":3,"tid":7,"ts":%d,"dur":1,"args":{"stream":7,"long":"%s"}}`, i, strings.Repeat("c", 70000))
		}
	}
	s.WriteString(`]}`)
	text := []byte(s.String())
	want, got := told(t, text, importer.Options{}), told(t, text, importer.Options{Passing: true})
	if len(want) < 5011 || len(got) != len(want) {
		t.Fatalf("%d events, passing %d", len(want), len(got))
	}
	seen := strings.Join(got, "\n")
	for _, w := range []string{`"totalGlobalMem\":85`, `\"more\":\"kept\"`} {
		if !strings.Contains(seen, w) {
			t.Errorf("%s is not among the events", w)
		}
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("event %d:\n%s, passing\n%s", i, want[i], got[i])
		}
	}
}
