package gpulog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// blockInfo is a block of a sound log, found by going from header to header.
type blockInfo struct {
	header
	offset, end int
	first       int // number of its first event
}

func blocksOf(t testing.TB, log []byte) (l []blockInfo) {
	t.Helper()
	n := 0
	for off := 0; off < len(log); {
		h, ok := parseHeader(log[off:])
		if !ok {
			t.Fatalf("no header at byte %d", off)
		}
		end := off + HeaderSize + int(h.stored)
		l = append(l, blockInfo{h, off, end, n})
		n += int(h.events)
		off = end
	}
	return l
}

// smallLog has event blocks of 1 to 5 events, metadata amid them, and all that
// a closed log has.
func smallLog(t testing.TB) ([]byte, []event.Event) {
	t.Helper()
	var buf bytes.Buffer
	m := &event.Meta{Tool: "gpurec", Clock: event.ClockBoottime, Command: []string{"./train.py", "-v"}}
	w, err := NewWriter(&buf, m, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	evs := randomEvents(5, 15)
	rest := evs
	for n := 1; n <= 5; n++ {
		if err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
		if n == 3 {
			m.Probes = []event.Probe{{Name: "cuLaunchKernel", Hits: 7}}
			if err := w.WriteMeta(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.ExitStatus = event.Some(3)
	if err := w.Close(m); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), evs
}

// openBytes opens data as a file.
func openBytes(t testing.TB, data []byte) (*Log, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpurec")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path, ReaderOptions{})
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, err
}

func TestCutAtEveryByte(t *testing.T) {
	log, evs := smallLog(t)
	blocks := blocksOf(t, log)
	for cut := 0; cut < len(log); cut++ {
		whole, events, boundary := 0, 0, false
		for _, b := range blocks {
			if b.end <= cut {
				whole++
				events += int(b.events)
				boundary = b.end == cut
			}
		}
		r, err := NewReader(bytes.NewReader(log[:cut]), ReaderOptions{Name: "x.gpurec"})
		if whole == 0 {
			var ce *CutError
			if cut > 0 && !errors.As(err, &ce) || cut == 0 && !errors.Is(err, ErrNotLog) {
				t.Fatalf("cut at %d: error %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		compare(t, drain(t, r), evs[:events])
		want := AnomalyCut
		if boundary {
			want = AnomalyUnfinished
		}
		if l := r.Counters().List(); len(l) != 1 || l[0].AnomalySpec != want || l[0].Count != 1 {
			t.Fatalf("cut at %d: anomalies %+v, want one %s", cut, l, want.Name)
		}
		ce := r.Truncated()
		if ce == nil || ce.Offset != int64(blocks[whole-1].end) || strings.Count(ce.Error(), "\n") > 0 {
			t.Fatalf("cut at %d: %v", cut, ce)
		}
		if st := r.Stats(); int(st.Blocks) != whole || st.Complete {
			t.Fatalf("cut at %d: stats %+v, want %d blocks", cut, st, whole)
		}
		r.Close()
		if cut%61 == 0 || boundary {
			l, err := openBytes(t, log[:cut])
			if err != nil {
				t.Fatal(err)
			}
			lr, err := l.Reader()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, drain(t, lr), evs[:events])
			if l.Indexed() || l.Events() != uint64(events) {
				t.Fatalf("cut at %d: indexed %v, %d events, want %d", cut, l.Indexed(), l.Events(), events)
			}
			lr.Close()
		}
	}
}

// withoutLoss takes the events apart that the reader made for what is missing.
func withoutLoss(evs []event.Event) (kept []event.Event, lost uint64) {
	for _, e := range evs {
		if e.Kind == event.KindLoss && e.Str(event.FieldTrack) == "log" {
			n, _ := e.Uint(event.FieldCount)
			lost += n
			continue
		}
		kept = append(kept, e)
	}
	return kept, lost
}

func without(evs []event.Event, b blockInfo) []event.Event {
	out := append([]event.Event(nil), evs[:b.first]...)
	return append(out, evs[b.first+int(b.events):]...)
}

func TestEveryFlippedBit(t *testing.T) {
	log, evs := smallLog(t)
	step := 1
	if testing.Short() {
		step = 7
	}
	for i, b := range blocksOf(t, log) {
		t.Run(fmt.Sprint(i, b.typ), func(t *testing.T) {
			t.Parallel()
			flipped := bytes.Clone(log)
			for bit := b.offset * 8; bit < b.end*8; bit += step {
				flipped[bit/8] ^= 1 << (bit % 8)
				checkFlipped(t, flipped, without(evs, b), b, bit)
				if bit%499 == 0 {
					checkFlippedFile(t, flipped, without(evs, b), b)
				}
				flipped[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
}

// checkFlipped reads a log with a flipped bit in block b.
func checkFlipped(t *testing.T, log []byte, want []event.Event, b blockInfo, bit int) {
	r, err := NewReader(bytes.NewReader(log), ReaderOptions{})
	if err != nil {
		t.Fatalf("bit %d: %v", bit, err)
	}
	defer r.Close()
	got, lost := withoutLoss(drain(t, r))
	compare(t, got, want)
	if lost != uint64(b.events) || r.Counters().Get(AnomalyEventsLost) != lost {
		t.Fatalf("bit %d: %d lost, counted %d, want %d", bit, lost, r.Counters().Get(AnomalyEventsLost), b.events)
	}
	if n := r.Counters().Get(AnomalyBlockDamaged); n != 1 {
		t.Fatalf("bit %d: %d damaged blocks counted: %+v", bit, n, r.Counters().List())
	}
	if m := r.Meta(); m.Tool != "gpurec" || len(m.Command) != 2 {
		t.Fatalf("bit %d: metadata %+v", bit, m)
	}
}

// checkFlippedFile does the same with a log that is opened as a file.
func checkFlippedFile(t *testing.T, log []byte, want []event.Event, b blockInfo) {
	l, err := openBytes(t, log)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	got, lost := withoutLoss(drain(t, r))
	compare(t, got, want)
	if lost != uint64(b.events) {
		t.Fatalf("%d lost, want %d", lost, b.events)
	}
	r.Close()
	if r, err = l.ReaderBetween(event.NoTime+1, endOfTime); err != nil {
		t.Fatal(err)
	}
	got, _ = withoutLoss(drain(t, r))
	compare(t, got, want)
	r.Close()
	l.Close()
}

// Bytes that are missing from, or added to, the middle of a log cost the
// blocks that they touch.
func TestHolesAndInsertions(t *testing.T) {
	log, evs := smallLog(t)
	var events []blockInfo
	for _, b := range blocksOf(t, log) {
		if b.typ == BlockEvents {
			events = append(events, b)
		}
	}
	b, c := events[2], events[3]
	for name, tc := range map[string]struct {
		log  []byte
		want []event.Event
	}{
		"hole in a body":             {cat(log[:b.offset+HeaderSize+5], log[b.end-3:]), without(evs, b)},
		"hole over two":              {cat(log[:b.offset+10], log[c.offset+90:]), without(without(evs, c), b)},
		"whole block missing":        {cat(log[:b.offset], log[b.end:]), without(evs, b)},
		"zeros in a header":          {cat(log[:b.offset], make([]byte, 20), log[b.offset+20:]), without(evs, b)},
		"zeros between blocks":       {cat(log[:b.offset], make([]byte, 4096), log[b.offset:]), evs},
		"a block twice":              {cat(log[:b.end], log[b.offset:b.end], log[b.end:]), evs},
		"an old block amid":          {cat(log[:b.end], log[:b.end], log[b.end:]), evs},
		"markers amid":               {cat(log[:b.end], []byte(strings.Repeat(Marker, 50)), log[b.end:]), evs},
		"another log amid":           {cat(log[:b.end], write(t, evs[:7], WriterOptions{}), log[b.end:]), evs},
		"another log inside a body":  {cat(log[:b.offset+70], write(t, evs[:7], WriterOptions{}), log[b.offset+70:]), without(evs, b)},
		"its beginning missing":      {log[b.offset:], evs[b.first:]},
		"its beginning missing amid": {log[b.offset+9:], evs[c.first:]},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(tc.log), ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, lost := withoutLoss(drain(t, r))
			compare(t, got, tc.want)
			if want := len(evs) - len(tc.want); lost != uint64(want) {
				t.Errorf("%d lost, want %d", lost, want)
			}
			if n := r.Counters().Get(AnomalyBlockDamaged); n == 0 {
				t.Errorf("not counted: %+v", r.Counters().List())
			}
			l, err := openBytes(t, tc.log)
			if err != nil {
				t.Fatal(err)
			}
			lr, err := l.Reader()
			if err != nil {
				t.Fatal(err)
			}
			got, _ = withoutLoss(drain(t, lr))
			compare(t, got, tc.want)
		})
	}
}

func cat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// The loss event of a damaged body carries the block's own time range.
func TestLossInterval(t *testing.T) {
	evs := marked(30, func(i int) event.Time { return event.Time(1000 + i) })
	log := write(t, evs, WriterOptions{BlockEvents: 10})
	var b blockInfo
	for _, x := range blocksOf(t, log) {
		if x.typ == BlockEvents && x.first == 10 {
			b = x
		}
	}
	for _, tc := range []struct {
		at         int
		start, end event.Time
	}{{b.offset + HeaderSize + 3, 1010, 1019}, {b.offset + 20, 1009, 1020}} {
		log[tc.at] ^= 4
		got, _ := readAll(t, log)
		log[tc.at] ^= 4
		e := got[10]
		n, _ := e.Uint(event.FieldCount)
		if e.Kind != event.KindLoss || e.TimeOf(event.FieldStart) != tc.start || e.Time != tc.end || n != 10 {
			t.Errorf("damage at %d: %+v, want loss of 10 in %d to %d", tc.at, e, tc.start, tc.end)
		}
	}
}

func TestTrailingBytes(t *testing.T) {
	log, evs := smallLog(t)
	for _, tail := range [][]byte{{0}, log, []byte("more")} {
		got, r := readAll(t, cat(log, tail))
		compare(t, got, evs)
		if n := r.Counters().Get(AnomalyTrailingBytes); n != 1 {
			t.Fatalf("%d trailing counted", n)
		}
	}
}

func TestNotALog(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("# tracer: nop\n"), "zeros": make([]byte, 3<<20), "short": {1},
		"markers": []byte(strings.Repeat(Marker, 1<<18)), "long text": []byte(strings.Repeat("text\n", 1<<20)),
	} {
		if _, err := NewReader(bytes.NewReader(data), ReaderOptions{Name: "f"}); !errors.Is(err, ErrNotLog) || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := openBytes(t, data); !errors.Is(err, ErrNotLog) {
			t.Errorf("%s: open: %v", name, err)
		}
		if Sniff(data[:min(len(data), 1<<16)]) != (name == "markers" && false) {
			t.Errorf("%s: recognised as a log", name)
		}
	}
	log, _ := smallLog(t)
	if !Sniff(log) || !Sniff(log[:100]) || !Sniff(log[:20]) {
		t.Error("a log is not recognised")
	}
	log[3] ^= 1
	if !Sniff(log) {
		t.Error("a log with a damaged first block is not recognised")
	}
}

// Headers that are sound, of this log, and claim overlapping bodies must not
// make the reader check every byte thousands of times.
func TestOverlappingHeaders(t *testing.T) {
	log, _ := smallLog(t)
	first := blocksOf(t, log)[0]
	bad := bytes.Clone(log[:first.end])
	h := header{typ: BlockEvents, major: Major, stored: MaxBody, raw: MaxBody, seq: 1, log: first.log, events: 1}
	for range 2 * MaxBody / HeaderSize {
		var b [HeaderSize]byte
		h.put(b[:])
		bad = append(bad, b[:]...)
	}
	s := newScanner(bytes.NewReader(append(bad, log[first.end:]...)))
	for {
		if _, err := s.next(); err != nil {
			break
		}
	}
	if limit := 4*int64(len(bad)+2*MaxBody) + MaxBody; s.failed > limit {
		t.Fatalf("%d bytes checked of %d", s.failed, len(bad))
	}
}

// failingReader fails after its bytes.
type failingReader struct {
	r   io.Reader
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func TestReadError(t *testing.T) {
	log, evs := smallLog(t)
	bad := errors.New("bad cable")
	r, err := NewReader(&failingReader{bytes.NewReader(log[:len(log)/2]), bad}, ReaderOptions{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	n := 0
	for err = r.Next(&b); err == nil; err = r.Next(&b) {
		n += len(b.Events)
	}
	if !errors.Is(err, bad) || n == 0 || n >= len(evs) {
		t.Fatalf("error %v after %d events", err, n)
	}
}
