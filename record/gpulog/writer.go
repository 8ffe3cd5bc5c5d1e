package gpulog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gpurec/gpurec/protos/gpulog"
	"github.com/gpurec/gpurec/record/event"
)

// WriterOptions tune writing. The zero value is the default.
type WriterOptions struct {
	// BlockEvents is how many events make a block (0: 16384). Fewer are lost
	// with a damaged block, more compress better.
	BlockEvents int
	// GenerationBytes is after how many bytes metadata and schema are
	// repeated (0: 64 MiB).
	GenerationBytes int64
}

// WriterStats is what a Writer has written so far.
type WriterStats struct {
	Bytes  uint64
	Blocks uint64
	Events uint64 // those that wait for a block to fill included
}

// Writer writes a log. All methods may be called from several goroutines at
// once. After an error of the underlying writer every call returns that error.
type Writer struct {
	mu       sync.Mutex
	w        io.Writer
	o        WriterOptions
	enc      *encoder
	zstd     *zstd.Encoder
	out      []byte
	hdr      header // of the next block: seq, ordinal
	offset   uint64
	genStart uint64 // offset at which metadata was last repeated
	meta     event.Meta
	metaW    metaWriter
	index    indexWriter
	counters event.Counters
	err      error
	closed   bool
}

// NewWriter begins a log on w, which it does not close: metadata and schema
// are written at once. Every block is one call of w.Write.
func NewWriter(w io.Writer, meta *event.Meta, o WriterOptions) (*Writer, error) {
	lw, err := newBlockWriter(w, o)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		meta = &event.Meta{}
	}
	lw.meta = *meta
	if err := lw.generation(); err != nil {
		return nil, err
	}
	return lw, nil
}

// window is how far back compression looks. What it looks at stays in a core's
// cache: a window of all of a body takes more time, and no fewer bytes.
const window = 128 << 10

// newBlockWriter is NewWriter without metadata and schema.
func newBlockWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if o.BlockEvents <= 0 {
		o.BlockEvents = 1 << 14
	}
	o.BlockEvents = min(o.BlockEvents, MaxBlockEvents)
	if o.GenerationBytes <= 0 {
		o.GenerationBytes = 64 << 20
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &Writer{w: w, o: o, enc: newEncoder(), zstd: z}, nil
}

// Write appends events in the order in which they are given, and keeps nothing
// of their memory. They are in the file when a block is full, or after Flush.
func (w *Writer) Write(evs []event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	for i := range evs {
		ev := &evs[i]
		mode := timeKnown
		if !ev.Time.Known() {
			mode = timeNone
		}
		if err := w.add(ev, mode, ev.Time); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("log is closed")

func (w *Writer) usable() error {
	if w.err == nil && w.closed {
		return errClosed
	}
	return w.err
}

func (w *Writer) add(ev *event.Event, mode timeMode, place event.Time) error {
	if ev.Kind == event.KindUnknown || ev.Kind >= event.NumKinds {
		return fmt.Errorf("write event without a kind (source %q)", ev.Source)
	}
	for !w.enc.add(ev, mode, place) {
		if w.enc.events() == 0 {
			short := cutStrings(*ev)
			w.counters.AddAt(AnomalyStringCut, 1, strings.Clone(ev.Source))
			ev = &short
			continue
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.enc.events() >= w.o.BlockEvents {
		return w.flush()
	}
	return nil
}

// maxCutString is what is left of each string of an event that is larger than a block.
const maxCutString = 128 << 10

func cutStrings(ev event.Event) event.Event {
	ev.Comm = ev.Comm[:min(len(ev.Comm), maxCutString)]
	ev.Source = ev.Source[:min(len(ev.Source), maxCutString)]
	for _, c := range layouts[ev.Kind] {
		if c.place.IsString() && ev.Mask()&c.place.Mask() != 0 {
			s := ev.StrAt(c.place)
			ev.PutStr(c.place, s[:min(len(s), maxCutString)])
		}
	}
	return ev
}

// WriteMeta brings new metadata into the log: whole if anything but its
// snapshots changed, else only the snapshots that were added. It flushes.
func (w *Writer) WriteMeta(m *event.Meta) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.meta = *m
	return w.writeMeta(false)
}

// Flush writes what has been gathered as a block, so that a reader of the
// file has every event given so far.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	return w.flush()
}

// Close ends the log: last events, metadata once more (final, or the last
// given if it is nil), schema, index, trailer. It does not close the
// underlying writer. A second call does nothing.
func (w *Writer) Close(final *event.Meta) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	defer w.zstd.Close()
	if w.err != nil {
		return w.err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if final != nil {
		w.meta = *final
	}
	w.meta.Anomalies = append(w.meta.Anomalies[:len(w.meta.Anomalies):len(w.meta.Anomalies)], w.counters.List()...)
	metaAt := w.offset
	if err := w.generation(); err != nil {
		return err
	}
	if err := w.writeIndex(); err != nil {
		return err
	}
	var b [TrailerSize]byte
	binary.LittleEndian.PutUint64(b[:], w.index.prev)
	binary.LittleEndian.PutUint64(b[8:], metaAt)
	binary.LittleEndian.PutUint64(b[16:], w.hdr.ordinal)
	return w.block(BlockTrailer, CodecNone, b[:], 0, event.NoTime, event.NoTime)
}

// Stats returns what has been written.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return WriterStats{Bytes: w.offset, Blocks: uint64(w.hdr.seq), Events: w.hdr.ordinal + uint64(w.enc.events())}
}

// flush writes the gathered events as a block.
func (w *Writer) flush() error {
	n := w.enc.events()
	if n == 0 {
		return nil
	}
	body := w.enc.encode()
	lo, hi := w.enc.min, w.enc.max
	w.enc.reset()
	at := w.offset
	if err := w.block(BlockEvents, CodecZstd, body, n, lo, hi); err != nil {
		return err
	}
	if w.index.add(at, lo, hi, n) {
		if err := w.writeIndex(); err != nil {
			return err
		}
	}
	if w.metaW.copy > 0 && w.offset-w.genStart >= uint64(w.o.GenerationBytes) {
		return w.generation()
	}
	return nil
}

// generation writes all metadata and the schema.
func (w *Writer) generation() error {
	if err := w.writeMeta(true); err != nil {
		return err
	}
	body, err := ownSchema()
	if err != nil {
		return err
	}
	w.genStart = w.offset
	return w.block(BlockSchema, CodecZstd, body, 0, event.NoTime, event.NoTime)
}

func (w *Writer) writeMeta(whole bool) error {
	bodies, err := w.metaW.bodies(&w.meta, whole)
	if err != nil {
		return err
	}
	for _, b := range bodies {
		if err := w.block(BlockMeta, CodecZstd, b, 0, event.NoTime, event.NoTime); err != nil {
			return err
		}
	}
	return nil
}

// writeIndex writes the entries since the last index block.
func (w *Writer) writeIndex() error {
	if w.index.len() == 0 {
		return nil
	}
	body, err := marshal(w.index.take(w.offset))
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return w.block(BlockIndex, CodecZstd, body, 0, event.NoTime, event.NoTime)
}

// block writes one block in one call.
func (w *Writer) block(t BlockType, c Codec, body []byte, events int, lo, hi event.Time) error {
	if len(body) > MaxBody {
		return fmt.Errorf("%v block of %d bytes: larger than a block can be", t, len(body))
	}
	var head [HeaderSize]byte
	w.out = append(w.out[:0], head[:]...)
	if c == CodecZstd {
		w.out = w.zstd.EncodeAll(body, w.out)
		if len(w.out)-HeaderSize >= len(body) {
			c = CodecNone
			w.out = w.out[:HeaderSize]
		}
	}
	if c == CodecNone {
		w.out = append(w.out, body...)
	}
	stored := w.out[HeaderSize:]
	h := &w.hdr
	if h.seq == 0 {
		h.log = crc32.Checksum(body, castagnoli)
	}
	h.typ, h.codec, h.major, h.minor = t, c, Major, Minor
	h.stored, h.raw, h.events = uint32(len(stored)), uint32(len(body)), uint32(events)
	h.min, h.max = lo, hi
	h.bodyCRC = crc32.Checksum(stored, castagnoli)
	h.put(w.out)
	if _, err := w.w.Write(w.out); err != nil {
		w.err = fmt.Errorf("write log at byte %d: %w", w.offset, err)
		return w.err
	}
	w.offset += uint64(len(w.out))
	h.seq++
	h.ordinal += uint64(events)
	return nil
}

// indexBlock is how many event blocks one index block lists.
const indexBlock = 1024

// indexWriter gathers where event blocks are.
type indexWriter struct {
	entries []indexEntry
	prev    uint64 // offset of the last index block, 0 if there is none
}

// indexEntry is an event block, as an index lists it.
type indexEntry struct {
	offset   uint64
	min, max event.Time
	events   uint32
}

// add lists a block, and reports whether it is time to write an index block.
func (x *indexWriter) add(offset uint64, lo, hi event.Time, n int) bool {
	x.entries = append(x.entries, indexEntry{offset, lo, hi, uint32(n)})
	return len(x.entries) >= indexBlock
}

func (x *indexWriter) len() int { return len(x.entries) }

// take returns what was gathered as the index block that will stand at offset.
func (x *indexWriter) take(offset uint64) *gpulog.Index {
	p := &gpulog.Index{Previous: x.prev}
	last := uint64(0)
	for _, e := range x.entries {
		p.OffsetDelta = append(p.OffsetDelta, e.offset-last)
		p.MinTime = append(p.MinTime, int64(e.min))
		p.MaxTime = append(p.MaxTime, int64(e.max))
		p.Events = append(p.Events, e.events)
		last = e.offset
	}
	x.entries = x.entries[:0]
	x.prev = offset
	return p
}
