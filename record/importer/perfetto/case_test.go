package perfetto

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
	"github.com/klauspost/compress/zlib"
	"google.golang.org/protobuf/encoding/protowire"
)

// read gives the events of a trace as lines, what was counted, and the error.
func read(t testing.TB, data []byte) ([]string, []string, *reader, error) {
	t.Helper()
	ir, err := open(importer.Input{Name: "trace", R: bytes.NewReader(data)}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ir.Close()
	events, err := importtest.Read(ir)
	var l, counted []string
	for i := range events {
		l = append(l, importtest.Show(&events[i]))
	}
	for _, a := range ir.Counters().List() {
		counted = append(counted, fmt.Sprintf("%s %d", a.Name, a.Count))
	}
	slices.Sort(counted)
	return l, counted, ir.(*reader), err
}

func lines(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s %d\n got  %s\n want %s", what, i+1, g, w)
		}
	}
}

// cases are the files of testdata/perfettoimport: packets as protoc
// --decode_raw prints them, the events that they must give in their order, and
// what must be counted.
func cases(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(importtest.Root(t), "testdata", "perfettoimport", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	m := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[strings.TrimSuffix(filepath.Base(f), ".txt")] = string(text)
	}
	return m
}

func TestCases(t *testing.T) {
	for name, text := range cases(t) {
		t.Run(name, func(t *testing.T) {
			raw, rest, _ := strings.Cut(text, "-- want\n")
			want, counted, _ := strings.Cut(rest, "-- counted\n")
			data := encode(t, raw)
			got, gotCounted, _, err := read(t, data)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "event", got, lines(want))
			compare(t, "counter", gotCounted, lines(counted))
			if !sniff(data) {
				t.Error("not recognised")
			}
			squeezed, _, _, err := read(t, compress(t, data))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "compressed event", squeezed, lines(want))
		})
	}
}

// compress puts all packets of a trace into one, deflated.
func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal("zlib")
	}
	p := protowire.AppendBytes(protowire.AppendTag(nil, pkCompressed, protowire.BytesType), b.Bytes())
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), p)
}

// TestSnapshots: readings of the kernel's clocks are kept, each instant once.
func TestSnapshots(t *testing.T) {
	raw, _, _ := strings.Cut(cases(t)["clocks"], "-- want\n")
	_, _, r, err := read(t, encode(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	want := []event.ClockSnapshot{{Boottime: 5000, Monotonic: 4000, Realtime: 1000000000000005000}, {Boottime: 20000, Monotonic: 18990}}
	if !slices.Equal(r.Meta().Snapshots, want) || r.Meta().Clock != event.ClockBoottime {
		t.Errorf("clock %s, snapshots %+v", r.Meta().Clock, r.Meta().Snapshots)
	}
	if m := r.Meta(); m.Start != event.Some(event.Time(5001)) || m.End != event.Some(event.Time(20001)) {
		t.Errorf("from %v to %v", m.Start, m.End)
	}
}

// A trace whose own clock is another says so.
func TestPrimaryClock(t *testing.T) {
	got, _, r, err := read(t, encode(t, `1 { 10: 1 6 { 1 { 1: 3 2: 50 } 1 { 1: 6 2: 70 } 2: 3 } }
		1 { 10: 1 8: 51 11 { 9: 3 23: "own" } } 1 { 10: 1 8: 72 58: 6 11 { 9: 3 23: "boot" } }
		1 { 1 { 1: 0 2 { 1: 73 413 { 1: 1 } } } }`))
	if err != nil || r.Meta().Clock != event.ClockMonotonic {
		t.Errorf("clock %s, %v", r.Meta().Clock, err)
	}
	compare(t, "event", got, []string{`mark 51 name="own" track="global"`, `mark 52 name="boot" track="global"`, `job_done 53 cpu=0 origin="drm_sched" fence_ptr=0x1`})
}

// TestCut: a trace that ends at any byte gives its whole packets, then one
// line with the place; never an event that the whole trace has not.
func TestCut(t *testing.T) {
	for name, text := range cases(t) {
		raw, _, _ := strings.Cut(text, "-- want\n")
		data := encode(t, raw)
		whole, _, _, err := read(t, data)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[int]bool{0: true}
		for at := 0; at < len(data); {
			_, _, n := protowire.ConsumeField(data[at:])
			at += n
			ends[at] = true
		}
		for n := range data {
			got, _, _, err := read(t, data[:n])
			if (err == nil) != ends[n] || err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "byte ")) {
				t.Fatalf("%s cut at byte %d: error %v", name, n, err)
			}
			if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
				t.Fatalf("%s cut at byte %d: other events than those of the whole", name, n)
			}
		}
	}
}

// Bytes that come one by one give the same.
func TestOneByte(t *testing.T) {
	raw, _, _ := strings.Cut(cases(t)["track-events"], "-- want\n")
	data := encode(t, raw)
	want, _, _, _ := read(t, data)
	r, err := open(importer.Input{R: iotest.OneByteReader(bytes.NewReader(data))}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := importtest.Read(r)
	if err != nil || len(events) != len(want) {
		t.Errorf("%d events of %d, %v", len(events), len(want), err)
	}
}

// A length that nothing follows allocates nothing.
func TestHugeLength(t *testing.T) {
	_, counted, r, err := read(t, []byte("\x0a\xff\xff\xff\x1f\x08"))
	if err == nil || len(r.in.buf) > 2*firstBuffer {
		t.Errorf("error %v, buffer of %d, %v", err, len(r.in.buf), counted)
	}
	big := append([]byte("\x0a\x81\x80\x80\x40"), make([]byte, 1<<27)...) // 128 MiB: too large, and cut
	if _, counted, _, err := read(t, big); err == nil || fmt.Sprint(counted) != "[perfetto_cut 1]" {
		t.Errorf("error %v, %v", err, counted)
	}
}

// Many events of one packet come in batches of bounded size.
func TestManyEventsOfOnePacket(t *testing.T) {
	var b strings.Builder
	const n = 20000
	b.WriteString("1 { 10: 1 1 { 1: 0 ")
	for i := range n {
		fmt.Fprintf(&b, "2 { 1: %d 413 { 1: 1 } }\n", i+1)
	}
	b.WriteString("} }")
	r, err := open(importer.Input{R: bytes.NewReader(encode(t, b.String()))}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var batch event.Batch
	total := 0
	for r.Next(&batch) == nil {
		if len(batch.Events) > event.DefaultBatch {
			t.Errorf("a batch of %d", len(batch.Events))
		}
		total += len(batch.Events)
	}
	if total != n {
		t.Errorf("%d events of %d", total, n)
	}
	// Closing in the middle of a packet ends it.
	r, _ = open(importer.Input{R: bytes.NewReader(encode(t, b.String()))}, importer.Options{})
	if err := r.Next(&batch); err != nil || r.Close() != nil {
		t.Errorf("%v", err)
	}
}

func TestSniff(t *testing.T) {
	importtest.Claimed(t, Format(), "perfetto", "perfetto-encoded")
	importtest.Claimed(t, Text(), "perfetto-textproto")
}

// The text form is refused in one line.
func TestTextForm(t *testing.T) {
	_, err := Text().Open(importer.Input{Name: "a.textproto"}, importer.Options{})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "protoc --encode") {
		t.Errorf("error %v", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range cases(f) {
		raw, _, _ := strings.Cut(text, "-- want\n")
		f.Add(encode(f, raw))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sniff(data)
		sniffText(data)
		got, _, _, err := read(t, data)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
		again, _, _, _ := read(t, data)
		if !slices.Equal(got, again) {
			t.Error("not the same twice")
		}
	})
}

// What sequences intern is bounded by what they really said, whatever numbers
// they gave it.
func TestStateIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "1 { 10: %d 13: 1 12 { 2 { 1: 16000 2: \"far\" } 2 { 1: 1 2: \"near\" } } 8: 1 11 { 9: 3 10: 16000 } }\n", i+1)
	}
	got, counted, r, err := read(t, encode(t, b.String()))
	if err != nil || len(got) != 3000 || got[2999] != `mark 1 name="far" track="global"` || len(counted) != 0 {
		t.Fatalf("%d events, %v, %v", len(got), counted, err)
	}
	for _, s := range r.seqs {
		if len(s.names.dense) > 64 {
			t.Fatalf("an id of 16000 takes room for %d", len(s.names.dense))
		}
	}
	if r.state > 3000*2*(perEntry+8) {
		t.Errorf("%d bytes held", r.state)
	}
}

// A trace that begins with a packet longer than what is looked at is recognised
// all the same: by the field that begins it.
func TestSniffLongFirstPacket(t *testing.T) {
	long := bytes.Repeat([]byte{1}, 200<<10)
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{
		"compressed packets":           {protowire.AppendBytes(protowire.AppendTag(nil, 50, protowire.BytesType), long), true},
		"ftrace events":                {protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), long), true},
		"a sequence, then events":      {protowire.AppendBytes(protowire.AppendTag([]byte{10 << 3, 1}, 1, protowire.BytesType), long), true},
		"a field that no packet has":   {protowire.AppendBytes(protowire.AppendTag(nil, 77, protowire.BytesType), long), false},
		"longer than its packet":       {append(protowire.AppendVarint(protowire.AppendTag(nil, 50, protowire.BytesType), 1<<30), long...), false},
		"a number where bytes must be": {append(protowire.AppendVarint(protowire.AppendTag(nil, 50, protowire.VarintType), 1), long...), false},
	} {
		data := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), c.packet)
		if got := sniff(data[:64<<10]); got != c.want {
			t.Errorf("%s: recognised: %v", name, got)
		}
	}
}
