package gpulog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// scanner finds the blocks of a log in a stream.
//
//  1. A header with the right checksum, and of this log, stands where the
//     block before ended; its body's checksum is right: a block.
//  2. Otherwise look for the next marker that begins such a block, byte by
//     byte: nothing that the damaged header says is believed.
//  3. At the end of the stream: what is left is the beginning of a block that
//     was cut, or damage.
type scanner struct {
	r     io.Reader
	buf   []byte
	begin int   // of what is not yet used in buf
	off   int64 // of buf[begin] in the stream
	eof   bool

	any    bool   // a block was found: log and nextSeq are known
	log    uint32 // of this log
	seq    uint32 // of the next block
	limit  int64  // the first block must begin before this
	damage *damage
	failed int64 // bytes of bodies whose checksum was wrong
}

// damage is a stretch of the stream that holds no sound block.
type damage struct {
	offset int64
	head   *header // of the first damaged block, if its header is sound
	marker bool    // it begins as a block does, as far as it goes
	end    int64   // where the next block begins, or the stream ends
	events uint64  // in it, if an index says so
}

// cut reports whether d is the beginning of a block that the stream's end cut off.
func (d *damage) cut() bool {
	if n := d.end - d.offset; n < HeaderSize {
		return d.marker
	}
	return d.head != nil && d.end < d.offset+HeaderSize+int64(d.head.stored)
}

// frame is a block as it stands in the stream.
type frame struct {
	header
	offset int64
	stored []byte  // valid until the next call
	before *damage // what was skipped to find it
	missed uint32  // blocks missing before it
}

// ErrNotLog is returned for input that is no log.
var ErrNotLog = errors.New("not a gpurec log")

// Sniff reports whether a file that begins with head is a log. A log whose
// first block is damaged is recognised if a later block begins in head.
func Sniff(head []byte) bool {
	for {
		i := bytes.Index(head, []byte(Marker))
		if i < 0 || len(head)-i < HeaderSize {
			return i == 0 // cut within its first header
		}
		head = head[i:]
		if _, ok := parseHeader(head); ok {
			return true
		}
		head = head[1:]
	}
}

const firstBlockLimit = 2 * (MaxBody + HeaderSize)

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, limit: firstBlockLimit}
}

// have reads until n bytes are there, or the stream ends.
func (s *scanner) have(n int) (bool, error) {
	for len(s.buf)-s.begin < n && !s.eof {
		if s.begin > 0 && s.begin+n > cap(s.buf) {
			s.buf = s.buf[:copy(s.buf, s.buf[s.begin:])]
			s.begin = 0
		}
		if cap(s.buf) < n {
			b := make([]byte, len(s.buf), max(1<<16, 2*n))
			copy(b, s.buf)
			s.buf = b
		}
		if len(s.buf) == cap(s.buf) {
			s.buf = s.buf[:copy(s.buf, s.buf[s.begin:])]
			s.begin = 0
		}
		m, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+m]
		if err == io.EOF {
			s.eof = true
		} else if err != nil {
			return false, fmt.Errorf("read log at byte %d: %w", s.off+int64(len(s.buf)-s.begin), err)
		}
	}
	return len(s.buf)-s.begin >= n, nil
}

func (s *scanner) rest() []byte { return s.buf[s.begin:] }

func (s *scanner) skip(n int) {
	s.begin += n
	s.off += int64(n)
}

// next returns the next block, or io.EOF; then damage is what the stream ends
// with, nil if it ends after a block.
func (s *scanner) next() (frame, error) {
	s.damage = nil
	for {
		f, found, err := s.try()
		if err != nil || found {
			return f, err
		}
		if s.damage == nil {
			if len(s.rest()) == 0 {
				return frame{}, io.EOF
			}
			b := s.rest()[:min(len(s.rest()), len(Marker))]
			s.damage = &damage{offset: s.off, head: s.sound(), marker: Marker[:len(b)] == string(b)}
		}
		if more, err := s.seek(); err != nil || !more {
			s.damage.end = s.off
			if err == nil {
				err = io.EOF
			}
			return frame{}, err
		}
	}
}

// try takes the block that begins here, if there is one.
func (s *scanner) try() (f frame, found bool, err error) {
	if ok, err := s.have(HeaderSize); !ok {
		return f, false, err
	}
	h := s.sound()
	if h == nil || s.any && h.seq < s.seq {
		return f, false, nil
	}
	// In a damaged log these bodies do not overlap. Headers made to overlap
	// must not make the reader check the same bytes again and again.
	if s.failed > 4*(s.off+MaxBody) {
		return f, false, nil
	}
	if ok, err := s.have(HeaderSize + int(h.stored)); !ok {
		return f, false, err
	}
	f = frame{header: *h, offset: s.off, stored: s.rest()[HeaderSize : HeaderSize+int(h.stored)], before: s.damage}
	if crc32.Checksum(f.stored, castagnoli) != h.bodyCRC {
		s.failed += int64(h.stored)
		return f, false, nil
	}
	f.missed = h.seq - s.seq
	if s.damage != nil {
		s.damage.end = s.off
	}
	s.any, s.log, s.seq = true, h.log, h.seq+1
	s.skip(HeaderSize + int(h.stored))
	return f, true, nil
}

// sound returns the header that begins here, nil if there is none of this log.
func (s *scanner) sound() *header {
	b := s.rest()
	if len(b) < HeaderSize {
		return nil
	}
	h, ok := parseHeader(b)
	if !ok || s.any && h.log != s.log {
		return nil
	}
	return &h
}

// seek goes on to the next marker.
func (s *scanner) seek() (bool, error) {
	from := 1
	for {
		if !s.any && s.off > s.limit {
			return false, ErrNotLog
		}
		if i := bytes.Index(s.rest()[min(from, len(s.rest())):], []byte(Marker)); i >= 0 {
			s.skip(from + i)
			return true, nil
		}
		// A marker may begin in the last bytes.
		from = max(len(s.rest())-len(Marker)+1, 0)
		s.skip(from)
		from = 0
		ok, err := s.have(len(s.rest()) + 1)
		if !ok {
			s.skip(len(s.rest()))
			return false, err
		}
	}
}
