package gpulog

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// fuzzRead reads all of data, and fails if a reader gives more than the bytes
// can tell.
func fuzzRead(t *testing.T, data []byte) {
	r, err := NewReader(bytes.NewReader(data), ReaderOptions{})
	if err != nil {
		return
	}
	defer r.Close()
	var b event.Batch
	n, text := 0, 0
	for {
		err := r.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			if len(b.Events) > 0 {
				t.Fatal("events with an error")
			}
			break
		}
		if len(b.Events) == 0 || len(b.Events) > event.DefaultBatch {
			t.Fatalf("%d events at once", len(b.Events))
		}
		n += len(b.Events)
		size := 0
		for i := range b.Events {
			e := &b.Events[i]
			if e.Kind == event.KindUnknown || e.Kind >= event.NumKinds {
				t.Fatalf("kind %d", e.Kind)
			}
			if e.Kind == event.KindOther {
				size += len(e.Str(event.FieldArgs))
			}
			var places uint32
			for _, f := range e.Kind.Spec().Fields {
				places |= e.Kind.Place(f).Mask()
			}
			if odd := e.Mask() &^ places; odd != 0 {
				t.Fatalf("%v carries fields %#x that its kind does not have", e.Kind, odd)
			}
		}
		text = max(text, size)
	}
	if limit := len(data)/HeaderSize*(MaxBlockEvents+2) + 2; n > limit {
		t.Fatalf("%d events from %d bytes", n, len(data))
	}
}

// FuzzReader gives the reader any bytes.
func FuzzReader(f *testing.F) {
	log, _ := smallLog(f)
	f.Add(log)
	f.Add(log[:len(log)/2])
	f.Add(cat(log, log))
	f.Add([]byte(Marker))
	f.Fuzz(fuzzRead)
}

// FuzzBody gives the reader any body under right checksums.
func FuzzBody(f *testing.F) {
	e := newEncoder()
	for i, ev := range randomEvents(3, 40) {
		if !e.add(&ev, timeKnown, ev.Time) {
			f.Fatal("full")
		}
		if i%13 == 12 {
			f.Add(bytes.Clone(e.encode()), uint8(BlockEvents), uint16(e.events()))
			e.reset()
		}
	}
	meta, _, err := encodeMeta(fullMeta())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte{1, 0, 0, 0, 0, 0, 1, 0}, meta...), uint8(BlockMeta), uint16(0))
	if s, err := encodeSchema(); err == nil {
		f.Add(s, uint8(BlockSchema), uint16(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, typ uint8, events uint16) {
		if len(body) > MaxBody {
			return
		}
		var buf bytes.Buffer
		w, err := newBlockWriter(&buf, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.zstd.Close()
		good := randomEvents(1, 3)
		for range 2 {
			if err := w.Write(good); err != nil {
				t.Fatal(err)
			}
			if err := w.flush(); err != nil {
				t.Fatal(err)
			}
			if err := w.block(BlockType(typ), CodecNone, body, int(events), 1, 2); err != nil {
				t.Fatal(err)
			}
		}
		fuzzRead(t, buf.Bytes())
	})
}

// FuzzIndex gives a log any index: it must not change what is read, whatever
// it says, though order of time may suffer.
func FuzzIndex(f *testing.F) {
	var x indexWriter
	x.add(100, 1, 2, 3)
	x.add(900, -5, 7, 2)
	body, err := marshal(x.take(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, uint64(5))
	f.Add([]byte{}, uint64(6))
	evs := marked(6, func(i int) event.Time { return event.Time(10 - i) })
	f.Fuzz(func(t *testing.T, body []byte, events uint64) {
		if len(body) > MaxBody {
			return
		}
		var buf bytes.Buffer
		w, err := NewWriter(&buf, &event.Meta{}, WriterOptions{BlockEvents: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(evs); err != nil {
			t.Fatal(err)
		}
		metaAt, indexAt := w.offset, uint64(0)
		if err := w.generation(); err != nil {
			t.Fatal(err)
		}
		indexAt = w.offset
		if err := w.block(BlockIndex, CodecNone, body, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		trailer := binary.LittleEndian.AppendUint64(nil, indexAt)
		trailer = binary.LittleEndian.AppendUint64(trailer, metaAt)
		trailer = binary.LittleEndian.AppendUint64(trailer, events)
		if err := w.block(BlockTrailer, CodecNone, trailer, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		l := &Log{name: "fuzz", at: bytes.NewReader(buf.Bytes()), size: int64(buf.Len())}
		if err := l.load(); err != nil {
			t.Fatal(err)
		}
		r, err := l.Reader()
		if err != nil {
			t.Fatal(err)
		}
		compare(t, drain(t, r), evs)
		if r, err = l.Reader(); err != nil {
			t.Fatal(err)
		}
		s := Sort(r, SortOptions{})
		if got := drain(t, s); len(got) != len(evs) {
			t.Fatalf("%d events, want %d", len(got), len(evs))
		}
		if r, err = l.ReaderBetween(5, 8); err == nil {
			drain(t, r)
		}
	})
}
