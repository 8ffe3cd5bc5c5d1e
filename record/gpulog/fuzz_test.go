package gpulog

import (
	"bytes"
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
			_ = e.Mask()
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
			f.Add(e.encode(nil), uint8(BlockEvents), uint16(e.events()))
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
