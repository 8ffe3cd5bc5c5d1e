package gpulog

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"github.com/gpurec/gpurec/record/event"
)

// What a writer was given may be written over: the texts of all events lie in
// the same memory here.
func TestWriterKeepsNoMemory(t *testing.T) {
	shared := make([]byte, 64)
	over := func(s string) string {
		return unsafe.String(&shared[0], copy(shared, s))
	}
	var buf bytes.Buffer
	w, err := NewWriter(&buf, nil, WriterOptions{BlockEvents: 700})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000 // more names than the table of strings begins with
	for i := range n {
		for _, f := range []event.Field{event.FieldName, event.FieldArgs} {
			e := event.New(event.KindSlice, event.Time(i))
			e.SetStr(f, over(fmt.Sprintf("%v %04d", f, i%1900)))
			if err := w.Write([]event.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&buf, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	var b event.Batch
	for r.Next(&b) == nil {
		for _, e := range b.Events {
			f := []event.Field{event.FieldName, event.FieldArgs}[i%2]
			if want := fmt.Sprintf("%v %04d", f, i/2%1900); e.Str(f) != want || e.Time != event.Time(i/2) {
				t.Fatalf("event %d at %d: %v is %q, want %q", i, e.Time, f, e.Str(f), want)
			}
			i++
		}
	}
	if i != 2*n {
		t.Errorf("%d events read, %d written", i, 2*n)
	}
}

// A body at its bounds: as many strings as a block may have, each of another
// length, and then as many bytes.
func TestStringTableFull(t *testing.T) {
	for _, c := range []struct {
		name    string
		str     func(i int) string
		strings int
	}{
		{"short", func(i int) string { return fmt.Sprint(i) }, MaxBlockTable},
		{"long", func(i int) string { return fmt.Sprintf("%0*d", 20000+i, i) }, 50},
	} {
		var s stringTable
		s.init()
		s.reset(1)
		want := []byte{}
		var lengths []int
		for i := range c.strings {
			v := c.str(i)
			if n, _ := s.intern(v); int(n) != i+1 {
				t.Fatalf("%s: string %d has number %d", c.name, i, n)
			}
			want, lengths = append(want, v...), append(lengths, len(v))
		}
		for i := range c.strings {
			if n, grown := s.intern(c.str(i)); int(n) != i+1 || grown != 0 {
				t.Fatalf("%s: string %d has number %d the second time", c.name, i, n)
			}
		}
		d := decbuf{b: s.encode()}
		if n := d.count(MaxBlockTable); n != c.strings {
			t.Fatalf("%s: %d strings, want %d", c.name, n, c.strings)
		}
		for i, l := range lengths {
			if n := d.count(MaxBody); n != l {
				t.Fatalf("%s: string %d has %d bytes, want %d", c.name, i, n, l)
			}
		}
		if d.bad || !bytes.Equal(d.b, want) {
			t.Errorf("%s: the bytes of the strings differ", c.name)
		}
	}
}
