package gpulog

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/gpurec/gpurec/record/event"
)

// ReaderOptions tune reading. The zero value is the default.
type ReaderOptions struct {
	Name string // of the log, for messages
	// At wraps the file of [Open] for what is read of it, to count that, say; nil for the file itself.
	At func(io.ReaderAt) io.ReaderAt
}

// ReaderStats is what a Reader has read so far.
type ReaderStats struct {
	Major, Minor uint8 // version of the log
	Bytes        int64 // of the stream, damage included
	Blocks       uint64
	BlocksByType map[string]uint64
	Events       uint64 // in event blocks
	EventBytes   int64  // event blocks as stored, headers included
	EventRaw     int64  // their bodies decompressed
	Complete     bool   // the log has been read to its own end
}

// CutError says that a log ends before its own end. Everything up to there was read.
type CutError struct {
	Name   string
	Offset int64 // where the part begins that could not be used; the log's length if there is none
	Reason string
}

// Error gives one line.
func (e *CutError) Error() string {
	return fmt.Sprintf("%s: byte %d: %s; all whole blocks before it were read", e.Name, e.Offset, e.Reason)
}

// VersionError says that a log is of a major version that this program cannot read.
type VersionError struct {
	Name  string
	Major uint8
}

// Error gives one line.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: log format %d.x; this gpurec reads %d.x: use a newer one", e.Name, e.Major, Major)
}

// Reader reads a log from front to back, from a file or a pipe, in the order
// in which it was written. It reads over damage, which [Reader.Counters] and,
// where events are missing, events of KindLoss on track "log" tell.
// It is not safe for concurrent use.
type Reader struct {
	name       string
	src        frames
	zstd       *zstd.Decoder
	raw        []byte
	dec        decoder
	schema     *schema
	meta       event.Meta
	metaR      metaReader
	fixed      bool // meta is the log's last already
	counters   event.Counters
	stats      ReaderStats
	err        error
	cut        *CutError
	ordinal    uint64 // of the next event, as the headers count
	gap        gap
	losses     []event.Event // come before the events of dec
	at         int64
	bound      func(blockOffset int64) event.Time // least time in the blocks after it; nil if unknown
	chosen     bool                               // not all blocks are read
	places     []event.Time                       // spilled runs: places of the events in the last batch
	wantPlaces bool
}

// frames gives blocks: a scanner, or a choice of a file's blocks.
type frames interface {
	next() (frame, error)
	tail() (*damage, int64) // how and where the stream ends, after io.EOF
}

func (s *scanner) tail() (*damage, int64) { return s.damage, s.off }

// NewReader begins to read a log. It reads up to the first block of events, so
// that Meta is there. An error means that nothing of r can be read as a log.
func NewReader(r io.Reader, o ReaderOptions) (*Reader, error) {
	lr, err := newReader(newScanner(r), o)
	if err != nil {
		return nil, err
	}
	if err := lr.start(); err != nil {
		lr.Close()
		return nil, err
	}
	return lr, nil
}

func newReader(src frames, o ReaderOptions) (*Reader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBody),
		zstd.WithDecoderMaxWindow(MaxBody), zstd.WithDecoderLowmem(true), zstd.IgnoreChecksum(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if o.Name == "" {
		o.Name = "log"
	}
	r := &Reader{name: o.Name, src: src, zstd: z, schema: new(schema)}
	r.dec.counters = &r.counters
	r.gap = noGap()
	r.stats.BlocksByType = make(map[string]uint64)
	return r, nil
}

// start reads up to the first events.
func (r *Reader) start() error {
	err := r.advance()
	if err == io.EOF {
		err = nil
		if r.stats.Blocks == 0 && !r.chosen {
			switch d, end := r.src.tail(); {
			case end == 0:
				return fmt.Errorf("%s: empty, %w", r.name, ErrNotLog)
			case d != nil && d.cut():
				return &CutError{r.name, 0, "the log ends inside its first block"}
			}
			return fmt.Errorf("%s: %w", r.name, ErrNotLog)
		}
		r.err = io.EOF
	}
	return err
}

// Meta describes the log. It grows while the log is read, and is complete once
// Next has returned io.EOF.
func (r *Reader) Meta() *event.Meta { return &r.meta }

// Counters holds what was wrong with the log so far.
func (r *Reader) Counters() *event.Counters { return &r.counters }

// Bound returns a time that no event still to come is before, or NoTime if
// none is known: as for streams, whose end has not been seen.
func (r *Reader) Bound() event.Time {
	if r.bound == nil {
		return event.NoTime
	}
	t := r.bound(r.at)
	if r.dec.left > 0 {
		t = min(t, r.dec.least())
	}
	return t
}

// Truncated tells where and why the log ends, if it ends before its own end;
// nil if it is complete, or not yet read to its end.
func (r *Reader) Truncated() *CutError { return r.cut }

// Stats returns what has been read.
func (r *Reader) Stats() ReaderStats { return r.stats }

// Close releases the reader's memory. It does not close the stream.
func (r *Reader) Close() error {
	r.zstd.Close()
	if r.err == nil {
		r.err = errClosed
	}
	return nil
}

// Next gives the next events, or io.EOF. Only an error of the stream, or a
// version that cannot be read, ends a log before its end.
func (r *Reader) Next(b *event.Batch) error {
	b.Reset()
	for {
		if len(r.losses) > 0 {
			b.Events = append(b.Events, r.losses...)
			r.losses = r.losses[:0]
			return nil
		}
		if r.dec.left > 0 {
			if err := r.read(b); err == nil {
				return nil
			}
			continue
		}
		if r.err != nil {
			return r.err
		}
		if err := r.advance(); err != nil {
			r.err = err
		}
	}
}

// read fills b from the current block.
func (r *Reader) read(b *event.Batch) error {
	n := min(r.dec.left, r.dec.batch)
	if cap(b.Events) < n {
		b.Events = make([]event.Event, n, max(n, min(2*cap(b.Events), event.DefaultBatch)))
	}
	b.Events = b.Events[:n]
	var places []event.Time
	if r.wantPlaces {
		r.places = growTimes(r.places, n)
		places = r.places
	}
	left := r.dec.left
	if err := r.dec.next(b.Events, places); err != nil {
		b.Reset()
		r.dec.left = 0
		r.unreadable(err, uint64(left))
		r.closeGap(event.NoTime)
		return err
	}
	return nil
}

func growTimes(s []event.Time, n int) []event.Time {
	if n > cap(s) {
		return make([]event.Time, n)
	}
	return s[:n]
}

// advance reads blocks up to the next events, or to a loss.
func (r *Reader) advance() error {
	for r.dec.left == 0 && len(r.losses) == 0 {
		f, err := r.src.next()
		if err == io.EOF {
			return r.end()
		}
		if err != nil {
			if errors.Is(err, ErrNotLog) {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if f.major != Major {
			return &VersionError{r.name, f.major}
		}
		r.damaged(&f)
		if r.block(&f) {
			return r.trailing(f.offset + HeaderSize + int64(f.header.stored))
		}
	}
	return nil
}

// block takes one block, and reports whether it is the last.
func (r *Reader) block(f *frame) (last bool) {
	s := &r.stats
	if s.Blocks == 0 {
		s.Major, s.Minor = f.major, f.minor
	}
	s.Blocks++
	s.BlocksByType[f.typ.String()]++
	s.Bytes = f.offset + HeaderSize + int64(f.header.stored)
	r.at = f.offset
	if f.typ == BlockNone || f.typ >= numBlockTypes {
		r.counters.AddAt(AnomalyBlockUnknown, 1, r.where(f.offset))
		return false
	}
	body, err := r.body(f)
	if err != nil {
		r.unreadable(err, uint64(f.header.events))
		return f.typ == BlockTrailer
	}
	switch f.typ {
	case BlockMeta:
		r.addMeta(body)
	case BlockSchema:
		if err := r.schema.update(body); err != nil {
			r.unreadable(err, 0)
		}
	case BlockEvents:
		r.events(f, body)
	case BlockTrailer:
		s.Complete = true
		r.closeGap(event.NoTime)
		return true
	}
	return false
}

func (r *Reader) events(f *frame, body []byte) {
	r.stats.Events += uint64(f.header.events)
	r.stats.EventBytes += HeaderSize + int64(f.header.stored)
	r.stats.EventRaw += int64(f.raw)
	r.closeGap(f.min)
	if err := r.dec.load(body, int(f.header.events), r.schema); err != nil {
		r.dec.left = 0
		r.unreadable(err, uint64(f.header.events))
		r.gap.min, r.gap.max = f.min, f.max
		r.closeGap(f.min)
	}
	if f.max.Known() {
		r.gap.last = max(r.gap.last, f.max)
	}
}

func (r *Reader) addMeta(body []byte) {
	if r.fixed {
		return
	}
	changed, ok := r.metaR.add(body)
	if !ok {
		r.counters.AddAt(AnomalyMetaIncomplete, 1, r.where(r.at))
	}
	if changed {
		r.meta = decodeMeta(r.metaR.cur)
	}
}

var errBodySize = errors.New("its body has not the length that its header says")

// body returns the decompressed body of f.
func (r *Reader) body(f *frame) ([]byte, error) {
	switch f.codec {
	case CodecNone:
		if f.header.stored != f.raw {
			return nil, errBodySize
		}
		r.raw = append(r.raw[:0], f.stored...)
	case CodecZstd:
		if cap(r.raw) < int(f.raw) {
			r.raw = make([]byte, 0, f.raw)
		}
		b, err := r.zstd.DecodeAll(f.stored, r.raw[:0])
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		if len(b) != int(f.raw) {
			return nil, errBodySize
		}
		r.raw = b
	default:
		return nil, fmt.Errorf("unknown codec %d", f.codec)
	}
	return r.raw, nil
}

// trailing looks whether the log's own end is the end of the stream.
func (r *Reader) trailing(end int64) error {
	_, err := r.src.next()
	if d, _ := r.src.tail(); err == nil || d != nil {
		r.counters.AddAt(AnomalyTrailingBytes, 1, r.where(end))
	} else if err != io.EOF {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return io.EOF
}

// end closes a log that has no trailer.
func (r *Reader) end() error {
	d, size := r.src.tail()
	if r.chosen {
		if d != nil {
			r.counters.AddAt(AnomalyBlockDamaged, 1, r.where(d.offset))
			r.counters.AddAt(AnomalyEventsLost, d.events, r.where(d.offset))
			r.gap.lost += d.events
			r.closeGap(event.NoTime)
		}
		return io.EOF
	}
	if r.stats.Blocks == 0 {
		return io.EOF
	}
	r.stats.Bytes = size
	if d == nil {
		r.cut = &CutError{r.name, size, "the log ends without its closing block: its recorder was killed, or still runs"}
		r.counters.AddAt(AnomalyUnfinished, 1, r.where(size))
		return io.EOF
	}
	if d.cut() {
		r.cut = &CutError{r.name, d.offset, fmt.Sprintf("the log ends inside a block (%s of it): its recorder was killed, or the file was cut", event.SizeText(d.end-d.offset))}
		r.counters.AddAt(AnomalyCut, 1, r.where(d.offset))
		return io.EOF
	}
	r.cut = &CutError{r.name, d.offset, fmt.Sprintf("the last %s hold no whole block", event.SizeText(d.end-d.offset))}
	r.counters.AddAt(AnomalyBlockDamaged, 1, r.where(d.offset))
	if r.noteHead(d.head); r.gap.events > 0 {
		r.counters.AddAt(AnomalyEventsLost, uint64(r.gap.events), r.where(d.offset))
		r.gap.lost += uint64(r.gap.events)
	}
	r.closeGap(event.NoTime)
	return io.EOF
}
