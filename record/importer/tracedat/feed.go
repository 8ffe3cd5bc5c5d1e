package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// feed gives the pages of one CPU.
type feed interface{ next() ([]byte, error) }

// Bounds of the memory for reading all CPUs side by side.
const (
	feedMemory  = 64 << 20 // uncompressed: buffers of all CPUs
	chunkMemory = 64 << 20
	maxChunk    = maxPage
	bufferSize  = 256 << 10
)

// scratch is shared by the feeds of a file: compressed chunks.
type scratch struct{ packed []byte }

// feed returns the pages of c, of n CPUs in all.
func (f *file) feed(b *buffer, c cpu, page, n int, shared *scratch) feed {
	if c.size == 0 {
		return noPages{}
	}
	p := plainFeed{f: f, cpu: c, off: c.off, end: c.off + c.size, page: page,
		limit: max(min(feedMemory/n, bufferSize), page)}
	if !b.compressed {
		return &p
	}
	limit := uint32(min(chunkMemory/n, maxChunk))
	return &chunkFeed{f: f, cpu: c, page: page, shared: shared,
		off: c.off, limit: max(limit, uint32(page))}
}

type noPages struct{}

func (noPages) next() ([]byte, error) { return nil, io.EOF }

// plainFeed reads pages as they lie.
type plainFeed struct {
	f        *file
	cpu      cpu
	off, end int64
	page     int
	limit    int // bytes of buf
	buf      []byte
	lo, hi   int
	err      error
}

// next returns the next page. Where the file is cut, its last page is shorter.
func (p *plainFeed) next() ([]byte, error) {
	if p.hi-p.lo < p.page && p.err == nil {
		p.fill()
	}
	n := min(p.hi-p.lo, p.page)
	if n == 0 {
		return nil, p.err
	}
	b := p.buf[p.lo : p.lo+n]
	p.lo += n
	return b, nil
}

func (p *plainFeed) fill() {
	if p.buf == nil {
		size := max(p.limit-p.limit%p.page, p.page)
		p.buf = make([]byte, min(int64(size), p.end-p.off))
	}
	p.hi = copy(p.buf, p.buf[p.lo:p.hi])
	p.lo = 0
	want := min(int64(len(p.buf)-p.hi), p.end-p.off)
	if want == 0 {
		p.err = io.EOF
		return
	}
	n, err := p.f.at.ReadAt(p.buf[p.hi:p.hi+int(want)], p.off)
	p.hi += n
	p.off += int64(n)
	switch {
	case int64(n) == want:
	case err == nil || errors.Is(err, io.EOF):
		p.err = p.f.missing(p.cpu, p.off, p.end-p.off, errCut)
	default:
		p.err = p.f.missing(p.cpu, p.off, p.end-p.off, err)
	}
}

// missing is the error of pages that are not there.
func (f *file) missing(c cpu, off, n int64, err error) error {
	remedy := "all before it is kept; the file is cut: fetch or record it again"
	if !errors.Is(err, errCut) {
		remedy = "all before it is kept; the file is damaged: fetch or record it again"
	}
	name := fmt.Sprintf("CPU %d", c.id)
	if c.id < 0 {
		name = "a CPU"
	}
	if n > 0 && n < unknownSize/2 {
		return f.errorAt(off, fmt.Errorf("%d bytes of %s are missing: %w", n, name, err), remedy)
	}
	return f.errorAt(off, fmt.Errorf("pages of %s are missing: %w", name, err), remedy)
}

// chunkFeed reads pages that are compressed in chunks:
//
//	u32 number of chunks, then of each: u32 packed size, u32 size, data
//
// The size in the table of CPUs leaves some of these words out, so it says no
// more than whether there are any pages.
type chunkFeed struct {
	f      *file
	cpu    cpu
	off    int64
	begun  bool
	left   uint32
	page   int
	limit  uint32 // bytes of a chunk
	shared *scratch
	buf    []byte
	lo     int
}

func (c *chunkFeed) next() ([]byte, error) {
	for c.lo >= len(c.buf) {
		if err := c.chunk(); err != nil {
			return nil, err
		}
	}
	n := min(len(c.buf)-c.lo, c.page)
	b := c.buf[c.lo : c.lo+n]
	c.lo += n
	return b, nil
}

// chunk decompresses the next one.
func (c *chunkFeed) chunk() error {
	at := c.off
	var head [8]byte
	if !c.begun {
		c.begun = true
		if err := c.read(head[:4]); err != nil {
			return c.stop(at, err)
		}
		c.left = c.f.order.Uint32(head[:])
	}
	if c.left == 0 {
		c.buf, c.lo = nil, 0
		return io.EOF
	}
	c.left--
	at = c.off
	if err := c.read(head[:]); err != nil {
		return c.stop(at, err)
	}
	packed, size := c.f.order.Uint32(head[:]), c.f.order.Uint32(head[4:])
	if packed > c.limit+c.limit/8+1024 || size > c.limit {
		return c.stop(at, errBig)
	}
	if cap(c.shared.packed) < int(packed) {
		c.shared.packed = make([]byte, packed, packed+packed/8)
	}
	in := c.shared.packed[:packed]
	if err := c.read(in); err != nil {
		return c.stop(at, err)
	}
	out, err := c.f.codec.decode(c.buf, in, int(size))
	if err != nil {
		// The next chunk stands by itself.
		c.f.count.AddAt(&AnomalyBadChunk, 1, fmt.Sprintf("CPU %d, byte %d: %v", c.cpu.id, at, err))
		c.buf, c.lo = c.buf[:0], 0
		return nil
	}
	c.buf, c.lo = out, 0
	return nil
}

// read fills b.
func (c *chunkFeed) read(b []byte) error {
	n, err := c.f.at.ReadAt(b, c.off)
	c.off += int64(n)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return errCut
	}
	return err
}

func (c *chunkFeed) stop(at int64, err error) error {
	c.left = 0
	return c.f.missing(c.cpu, at, 0, err)
}
