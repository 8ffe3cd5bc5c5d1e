package gpulog

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gpurec/gpurec/record/event"
)

func perEvent(b *testing.B, events, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	if bytes > 0 {
		b.ReportMetric(float64(bytes)/float64(events), "bytes/event")
	}
}

func eachCapture(b *testing.B, f func(b *testing.B, c *capture)) {
	for _, k := range captures {
		b.Run(k, func(b *testing.B) {
			c := readCapture(b, k)
			b.ReportAllocs()
			f(b, c)
		})
	}
}

type countWriter int

func (w *countWriter) Write(p []byte) (int, error) { *w += countWriter(len(p)); return len(p), nil }

// BenchmarkWrite writes the events of a capture, as columns.
func BenchmarkWrite(b *testing.B) {
	eachCapture(b, func(b *testing.B, c *capture) {
		var n countWriter
		w, err := NewWriter(&n, &event.Meta{}, WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		n = 0
		for b.Loop() {
			if err := w.Write(c.events); err != nil {
				b.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		perEvent(b, len(c.events), int(n)/b.N)
	})
}

// BenchmarkWriteFlushed writes a block for every 500 events, as a recording
// with few events does that flushes each second.
func BenchmarkWriteFlushed(b *testing.B) {
	eachCapture(b, func(b *testing.B, c *capture) {
		var n countWriter
		w, err := NewWriter(&n, &event.Meta{}, WriterOptions{BlockEvents: 500})
		if err != nil {
			b.Fatal(err)
		}
		n = 0
		for b.Loop() {
			if err := w.Write(c.events); err != nil {
				b.Fatal(err)
			}
		}
		perEvent(b, len(c.events), int(n)/b.N)
	})
}

// BenchmarkRead reads them.
func BenchmarkRead(b *testing.B) {
	eachCapture(b, func(b *testing.B, c *capture) {
		const copies = 20
		var buf bytes.Buffer
		w, err := NewWriter(&buf, &event.Meta{}, WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for range copies {
			if err := w.Write(c.events); err != nil {
				b.Fatal(err)
			}
			if err := w.Flush(); err != nil { // a block refers to nothing in the one before
				b.Fatal(err)
			}
		}
		if err := w.Close(nil); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			r, err := NewReader(bytes.NewReader(buf.Bytes()), ReaderOptions{})
			if err != nil {
				b.Fatal(err)
			}
			readThrough(b, r, copies*len(c.events))
			r.Close()
		}
		perEvent(b, copies*len(c.events), buf.Len())
	})
}

func readThrough(b *testing.B, s interface{ Next(*event.Batch) error }, want int) {
	b.Helper()
	var batch event.Batch
	n := 0
	for {
		err := s.Next(&batch)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		n += len(batch.Events)
	}
	if n != want {
		b.Fatalf("%d events, want %d", n, want)
	}
}

// rawPages is how many pages a block of them would hold.
const rawPages = MaxBody / 4096

// BenchmarkRawPagesWrite is the other way to store a capture: the kernel's
// pages, as many as a block may hold in a zstd frame.
func BenchmarkRawPagesWrite(b *testing.B) {
	eachCapture(b, func(b *testing.B, c *capture) {
		z := newZstd(b)
		var chunk, out []byte
		n := 0
		for b.Loop() {
			n = 0
			chunk = chunk[:0]
			for i, p := range c.pages {
				chunk = append(chunk, p...)
				if i%rawPages == rawPages-1 || i == len(c.pages)-1 {
					out = z.EncodeAll(chunk, out[:0])
					n += HeaderSize + len(out)
					chunk = chunk[:0]
				}
			}
		}
		perEvent(b, len(c.events), n)
	})
}

// BenchmarkRawPagesRead reads them, and decodes the events.
func BenchmarkRawPagesRead(b *testing.B) {
	eachCapture(b, func(b *testing.B, c *capture) {
		z := newZstd(b)
		var frames [][]byte
		for i := 0; i < len(c.pages); i += rawPages {
			var chunk []byte
			for _, p := range c.pages[i:min(i+rawPages, len(c.pages))] {
				chunk = append(chunk, p...)
			}
			frames = append(frames, z.EncodeAll(chunk, nil))
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			b.Fatal(err)
		}
		var raw []byte
		var batch event.Batch
		size := len(c.pages[0])
		for b.Loop() {
			i := 0
			for _, f := range frames {
				if raw, err = d.DecodeAll(f, raw[:0]); err != nil {
					b.Fatal(err)
				}
				for off := 0; off < len(raw); off += size {
					batch.Reset()
					c.decoder.Page(c.cpus[i], raw[off:off+size], &batch)
					i++
				}
			}
		}
		perEvent(b, len(c.events), 0)
	})
}

func newZstd(b *testing.B) *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}
	return z
}

// BenchmarkSort sorts 20 captures, one after another, each as its CPUs were drained.
func BenchmarkSort(b *testing.B) {
	run := func(name string, o SortOptions, source func(evs []event.Event) Source) {
		b.Run(name, func(b *testing.B) {
			evs := manyCaptures(b, 20)
			b.ReportAllocs()
			for b.Loop() {
				s := Sort(source(evs), o)
				readThrough(b, s, len(evs))
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, len(evs), 0)
		})
	}
	plain := func(evs []event.Event) Source { return &sliceSource{evs, event.DefaultBatch} }
	run("memory", SortOptions{}, plain)
	run("spill", SortOptions{MaxMemory: 16 << 20}, plain)
	run("bounded", SortOptions{}, func(evs []event.Event) Source { return bounded(evs, event.DefaultBatch) })
	var sorted []event.Event
	inOrder := func(evs []event.Event) Source {
		if sorted == nil {
			sorted = wantOrder(evs)
		}
		return bounded(sorted, event.DefaultBatch)
	}
	run("in order", SortOptions{}, inOrder)
}

// manyCaptures returns n captures, each later than the one before.
func manyCaptures(b *testing.B, n int) (evs []event.Event) {
	c := readCapture(b, captures[1])
	for i := range n {
		for _, e := range c.events {
			e.Time += event.Time(i) * 20e9
			evs = append(evs, e)
		}
	}
	return evs
}

// BenchmarkReadSorted opens a log of captures and reads it in order of time,
// as every export does.
func BenchmarkReadSorted(b *testing.B) {
	evs := manyCaptures(b, 20)
	path := filepath.Join(b.TempDir(), "a.gpurec")
	if err := os.WriteFile(path, write(b, evs, WriterOptions{}), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := Open(path, ReaderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		r, err := l.Reader()
		if err != nil {
			b.Fatal(err)
		}
		s := Sort(r, SortOptions{})
		readThrough(b, s, len(evs))
		s.Close()
		r.Close()
		l.Close()
	}
	perEvent(b, len(evs), 0)
}
