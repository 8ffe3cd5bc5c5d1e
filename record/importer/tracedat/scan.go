package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// errCut says that the file ends before what it announces.
var errCut = errors.New("ends before what it announces")

// errBig says that a length is beyond what such a thing can have.
var errBig = errors.New("has a length beyond all bounds")

// scan reads numbers and strings one after the other. Its error is sticky:
// after it everything reads as zero.
type scan struct {
	at    io.ReaderAt
	order binary.ByteOrder
	off   int64
	err   error

	buf   []byte // what is at start
	start int64
	mem   []byte // all of it, if it is in memory
}

// Windows of what is read at once: they grow while a scan goes on.
const (
	firstWindow = 512
	scanWindow  = 64 << 10
)

// scanBytes scans a text in memory.
func scanBytes(b []byte, order binary.ByteOrder) *scan {
	return &scan{at: bytes.NewReader(b), order: order, mem: b}
}

// peek returns up to n bytes at the place of s, n at most scanWindow; fewer at the end.
func (s *scan) peek(n int) []byte {
	if s.mem != nil {
		b := s.mem[min(s.off, int64(len(s.mem))):]
		return b[:min(n, len(b))]
	}
	if s.off < s.start || s.off+int64(n) > s.start+int64(len(s.buf)) {
		size := max(min(2*cap(s.buf), scanWindow), firstWindow, n)
		if cap(s.buf) < size {
			s.buf = make([]byte, size)
		}
		got, err := s.at.ReadAt(s.buf[:size], s.off)
		s.buf, s.start = s.buf[:got], s.off
		if got < n && err != nil && !errors.Is(err, io.EOF) && s.err == nil {
			s.err = err
		}
	}
	b := s.buf[s.off-s.start:]
	return b[:min(n, len(b))]
}

// take returns the next n bytes, n at most scanWindow; nil if they are not there.
func (s *scan) take(n int) []byte {
	if s.err != nil {
		return nil
	}
	b := s.peek(n)
	if len(b) < n {
		if s.err == nil {
			s.err = errCut
		}
		return nil
	}
	s.off += int64(n)
	return b
}

func (s *scan) u8() (v uint8) {
	if b := s.take(1); b != nil {
		v = b[0]
	}
	return v
}

func (s *scan) u16() (v uint16) {
	if b := s.take(2); b != nil {
		v = s.order.Uint16(b)
	}
	return v
}

func (s *scan) u32() (v uint32) {
	if b := s.take(4); b != nil {
		v = s.order.Uint32(b)
	}
	return v
}

func (s *scan) u64() (v uint64) {
	if b := s.take(8); b != nil {
		v = s.order.Uint64(b)
	}
	return v
}

// str reads a string and its NUL; max bounds it.
func (s *scan) str(max int) string {
	if s.err != nil {
		return ""
	}
	b := s.peek(max + 1)
	i := bytes.IndexByte(b, 0)
	switch {
	case i < 0 && len(b) <= max:
		if s.err == nil {
			s.err = errCut
		}
		return ""
	case i < 0:
		s.err = errBig
		return ""
	}
	v := string(b[:i])
	s.off += int64(i) + 1
	return v
}

// bytes reads n bytes: a copy, or a part of the text in memory; limit bounds n.
// What is there of a cut one is returned.
func (s *scan) bytes(n uint64, limit int) []byte {
	if s.err != nil {
		return nil
	}
	if n > uint64(limit) {
		s.err = errBig
		return nil
	}
	if s.mem != nil {
		b := s.mem[min(s.off, int64(len(s.mem))):]
		if uint64(len(b)) < n {
			s.off, s.err = int64(len(s.mem)), errCut
			return b
		}
		s.off += int64(n)
		return b[:n:n]
	}
	// Grow as the input proves to be there: a length alone allocates nothing.
	var out []byte
	for left := int(n); left > 0; {
		step := min(left, max(len(out), scanWindow))
		old := len(out)
		out = append(out, make([]byte, step)...)
		got, err := s.at.ReadAt(out[old:], s.off)
		out = out[:old+got]
		s.off += int64(got)
		left -= got
		if got < step {
			if err == nil || errors.Is(err, io.EOF) {
				err = errCut
			}
			s.err = err
			return out
		}
	}
	return out
}

// skip passes over n bytes.
func (s *scan) skip(n uint64) {
	if n > 1<<62 || s.off > 1<<62 {
		s.err = errBig
		return
	}
	s.off += int64(n)
}
