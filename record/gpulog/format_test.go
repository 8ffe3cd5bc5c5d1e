package gpulog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gpurec/gpurec/protos/gpulog"
	"github.com/gpurec/gpurec/record/event"
)

func TestExtremeValues(t *testing.T) {
	long := strings.Repeat("\x00\xffé", 25000) // 100 kB, not UTF-8
	var evs []event.Event
	for _, v := range []uint64{0, 1, 127, 128, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		for _, tm := range []event.Time{event.NoTime, event.NoTime + 1, -1, 0, 1, math.MaxInt64} {
			e := event.New(event.KindAPI, tm)
			e.SetUint(event.FieldFunction, v)
			e.SetUint(event.FieldStream, v)
			e.SetUint(event.FieldStart, v)
			e.SetUint(event.FieldResult, v)
			e.CPU, e.PID, e.TID = int32(v), int32(v>>1), int32(v>>2)
			e.Flags = event.Flags(v)
			evs = append(evs, e)
			s := event.New(event.KindSchedSwitch, tm)
			s.TID = int32(v)
			s.SetUint(event.FieldPrevTID, v)
			evs = append(evs, s)
		}
	}
	for _, s := range []string{"", "\xff", "\x00", long, "a"} {
		e := event.New(event.KindOther, 5)
		e.Comm, e.Source = s, s
		e.SetStr(event.FieldName, s)
		e.SetStr(event.FieldArgs, s+s)
		evs = append(evs, e)
		p := event.New(event.KindSchedSwitch, 6)
		p.Comm = s
		p.SetStr(event.FieldPrevComm, s)
		p.SetStr(event.FieldNextComm, long+s)
		evs = append(evs, p)
	}
	for range 3 { // more than a block
		evs = append(evs, evs...)
	}
	got, r := readAll(t, write(t, evs, WriterOptions{}))
	compare(t, got, evs)
	if l := r.Counters().List(); len(l) > 0 {
		t.Fatalf("anomalies %+v", l)
	}
}

// Blocks stay within their bound however unlike the events are.
func TestBlockBounds(t *testing.T) {
	var evs []event.Event
	for i := range 3000 { // each with strings of its own
		e := event.New(event.KindOther, event.Time(i))
		e.SetStr(event.FieldName, fmt.Sprint(i, strings.Repeat("x", 700)))
		evs = append(evs, e)
	}
	evs = append(evs, randomEvents(8, 20000)...)
	log := write(t, evs, WriterOptions{BlockEvents: MaxBlockEvents})
	got, _ := readAll(t, log)
	compare(t, got, evs)
	n := 0
	for _, b := range blocksOf(t, log) {
		if b.typ == BlockEvents {
			n++
		}
	}
	if n < 4 {
		t.Fatalf("%d event blocks: the bound was not reached", n)
	}
}

// An event that is larger than a block loses the ends of its strings, and that is counted.
func TestEventLargerThanABlock(t *testing.T) {
	e := event.New(event.KindOther, 1)
	e.SetStr(event.FieldName, strings.Repeat("n", 700<<10))
	e.SetStr(event.FieldArgs, strings.Repeat("a", 700<<10))
	got, r := readAll(t, write(t, []event.Event{e, e}, WriterOptions{}))
	if len(got) != 2 || len(got[0].Str(event.FieldName)) != maxCutString || len(got[0].Str(event.FieldArgs)) != maxCutString {
		t.Fatalf("%d events", len(got))
	}
	a := r.Meta().Anomalies
	if len(a) != 1 || a[0].Name != AnomalyStringCut.Name || a[0].Count != 2 {
		t.Fatalf("anomalies in the metadata: %+v", a)
	}
	// A long string that was cleared does not count.
	e.Clear(event.FieldArgs)
	got, r = readAll(t, write(t, []event.Event{e}, WriterOptions{}))
	if len(got[0].Str(event.FieldName)) != 700<<10 || len(r.Meta().Anomalies) > 0 {
		t.Fatal("an event that fits was cut")
	}
}

// future writes a log as a later minor version would: some of its kinds and
// fields, and one of its block types, are not known here.
func future(t *testing.T, evs []event.Event, renamed map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, &event.Meta{}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var p gpulog.Schema
	for n, name := range wireKinds {
		if r, ok := renamed[name]; ok {
			p.Kinds = append(p.Kinds, &gpulog.Schema_Kind{Number: uint32(n), Name: r})
		}
	}
	for n, name := range wireFields {
		if r, ok := renamed[name]; ok {
			p.Fields = append(p.Fields, &gpulog.Schema_Field{Number: uint32(n), Name: r})
		}
	}
	body, err := marshal(&p)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.block(BlockSchema, CodecZstd, body, 0, event.NoTime, event.NoTime); err != nil {
		t.Fatal(err)
	}
	if err := w.block(99, CodecZstd, []byte("what a later version may want"), 0, event.NoTime, event.NoTime); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(evs); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUnknownKind(t *testing.T) {
	e := event.New(event.KindSchedSwitch, 100)
	e.PID, e.TID, e.CPU, e.Comm, e.Source, e.Flags = 1, 2, 3, "comm", "src", event.FlagHashed
	e.SetInt(event.FieldPrevTID, 2)
	e.SetStr(event.FieldPrevComm, "comm")
	e.SetStr(event.FieldNextComm, "q\"\n")
	e.SetInt(event.FieldNextPrio, -20)
	c := event.New(event.KindCounter, 101)
	c.SetFloat(event.FieldValue, 1.5)
	c.SetStr(event.FieldUnit, "W")
	a := event.New(event.KindAPIEnter, event.NoTime)
	a.SetUint(event.FieldFunction, math.MaxUint64)
	a.SetUint(event.FieldBytes, math.MaxUint64)
	a.SetBool(event.FieldEntryOnly, true)
	log := future(t, []event.Event{e, c, a, event.New(event.KindMark, 5)}, map[string]string{
		"sched_switch": "cpu_change", "counter": "gauge", "api_enter": "call", "next_prio": "next_niceness", "mark": "ping",
	})
	got, r := readAll(t, log)
	want := []struct{ name, args string }{
		{"cpu_change", `{"prev_tid":2,"prev_comm":"comm","next_comm":"q\"\n","next_niceness":-20}`},
		{"gauge", `{"unit":"W","value":1.5}`},
		{"call", `{"function":"0xffffffffffffffff","bytes":18446744073709551615,"entry_only":true}`},
		{"ping", ""},
	}
	for i, w := range want {
		g := got[i]
		if g.Kind != event.KindOther || g.Str(event.FieldName) != w.name || g.Str(event.FieldArgs) != w.args {
			t.Errorf("event %d: %v %q %s, want %+v", i, g.Kind, g.Str(event.FieldName), g.Str(event.FieldArgs), w)
		}
	}
	if g := got[0]; g.PID != 1 || g.TID != 2 || g.CPU != 3 || g.Comm != "comm" || g.Source != "src" || g.Time != 100 || g.Flags != event.FlagHashed {
		t.Errorf("%+v", g)
	}
	if n := r.Counters().Get(AnomalyKindUnknown); n != 4 {
		t.Errorf("%d of unknown kind counted", n)
	}
	if n := r.Counters().Get(AnomalyBlockUnknown); n != 1 {
		t.Errorf("%d unknown blocks counted", n)
	}
}

func TestUnknownField(t *testing.T) {
	j := event.New(event.KindJobQueue, 1)
	j.SetUint(event.FieldJobCount, 7)
	j.SetStr(event.FieldRing, "gfx")
	j2 := j
	j2.SetStr(event.FieldArgs, ` {"a":1} `)
	j3 := j
	j3.SetStr(event.FieldArgs, "no JSON")
	i := event.New(event.KindIoctlEnter, 2)
	i.SetUint(event.FieldCmd, 9)
	i.SetInt(event.FieldFD, 3)
	log := future(t, []event.Event{j, j2, j3, i}, map[string]string{"job_count": "depth", "cmd": "command"})
	got, r := readAll(t, log)
	for n, want := range []string{`{"depth":7}`, `{"a":1,"depth":7}`, `{"args":"no JSON","depth":7}`} {
		g := got[n]
		if g.Kind != event.KindJobQueue || g.Str(event.FieldRing) != "gfx" || g.Has(event.FieldJobCount) || g.Str(event.FieldArgs) != want {
			t.Errorf("event %d: args %s, want %s", n, g.Str(event.FieldArgs), want)
		}
		if !json.Valid([]byte(g.Str(event.FieldArgs))) {
			t.Error("no JSON")
		}
	}
	if fd, ok := got[3].Int(event.FieldFD); !ok || fd != 3 || got[3].Has(event.FieldCmd) {
		t.Errorf("ioctl %+v", got[3])
	}
	if r.Counters().Get(AnomalyFieldUnknown) != 3 || r.Counters().Get(AnomalyFieldLost) != 1 {
		t.Errorf("%+v", r.Counters().List())
	}
}

// A log of a later minor version reads; one of another major version says so.
func TestVersions(t *testing.T) {
	evs := randomEvents(1, 10)
	for _, v := range []struct{ major, minor uint8 }{{1, 9}, {2, 0}, {0, 1}} {
		log := write(t, evs, WriterOptions{})
		for _, b := range blocksOf(t, log) {
			h := b.header
			h.major, h.minor = v.major, v.minor
			h.put(log[b.offset:])
		}
		r, err := NewReader(bytes.NewReader(log), ReaderOptions{Name: "f"})
		if v.major != Major {
			var ve *VersionError
			if !errors.As(err, &ve) || ve.Major != v.major {
				t.Errorf("version %+v: %v", v, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		compare(t, drain(t, r), evs)
		if r.Stats().Minor != v.minor {
			t.Errorf("minor %d", r.Stats().Minor)
		}
	}
}

// Body content that is not as the format says, under right checksums, is
// counted with its events, and other blocks are not touched.
func TestUnreadableBody(t *testing.T) {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, &event.Meta{}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	evs := randomEvents(2, 20)
	for i, body := range [][]byte{nil, []byte("\xff\xff\xff\xff\xff\xff\xff\xff"), make([]byte, 1000), nil} {
		if err := w.Write(evs[5*i : 5*i+5]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := w.block(BlockEvents, CodecNone, body, 3, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	got, r := readAll(t, buf.Bytes())
	kept, lost := withoutLoss(got)
	compare(t, kept, evs)
	if lost != 12 || r.Counters().Get(AnomalyEventsLost) != 12 || r.Counters().Get(AnomalyBlockUnreadable) != 4 {
		t.Errorf("%d lost, %+v", lost, r.Counters().List())
	}
}

func TestGenerations(t *testing.T) {
	evs := randomEvents(3, 5000)
	log := write(t, evs, WriterOptions{BlockEvents: 100, GenerationBytes: 20000})
	n := 0
	for _, b := range blocksOf(t, log) {
		if b.typ == BlockMeta {
			n++
		}
	}
	if n < 5 {
		t.Fatalf("%d copies of the metadata", n)
	}
	got, _ := readAll(t, log)
	compare(t, got, evs)
}

type failAfter struct{ n int }

func (f *failAfter) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	w, err := NewWriter(&failAfter{4000}, &event.Meta{}, WriterOptions{BlockEvents: 10})
	if err != nil {
		t.Fatal(err)
	}
	evs := randomEvents(1, 1000)
	err = w.Write(evs)
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "byte ") {
		t.Fatalf("error %v", err)
	}
	for _, again := range []error{w.Write(evs), w.Flush(), w.WriteMeta(&event.Meta{}), w.Close(nil)} {
		if again == nil || again.Error() != err.Error() {
			t.Fatalf("then %v", again)
		}
	}
	ok, err := NewWriter(new(bytes.Buffer), nil, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ok.Write([]event.Event{{}}); err == nil {
		t.Fatal("an event without a kind was written")
	}
	if err := ok.Close(nil); err != nil {
		t.Fatal(err)
	}
	if err := ok.Write(evs); !errors.Is(err, errClosed) {
		t.Fatalf("write after close: %v", err)
	}
}

func TestWriterFromManyGoroutines(t *testing.T) {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, &event.Meta{}, WriterOptions{BlockEvents: 50})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				e := event.New(event.KindMark, event.Time(i))
				e.TID = int32(g)
				if err := w.Write([]event.Event{e}); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					if err := w.Flush(); err != nil {
						t.Error(err)
					}
					w.Stats()
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	got, _ := readAll(t, buf.Bytes())
	next := make(map[int32]event.Time)
	for _, e := range got {
		if e.Time != next[e.TID] {
			t.Fatalf("thread %d: %d, want %d", e.TID, e.Time, next[e.TID])
		}
		next[e.TID]++
	}
	if len(got) != 800 || w.Stats().Events != 800 || w.Stats().Bytes != uint64(buf.Len()) {
		t.Fatalf("%d events, %+v", len(got), w.Stats())
	}
}
