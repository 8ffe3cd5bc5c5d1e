package perfetto

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// input cuts a stream into packets.
type input struct {
	r   io.Reader
	buf []byte
	pos int
	end int
	off int64 // in the input, of buf[0]
	at  int64 // of the packet in work
	eof error // why no more comes
}

const firstBuffer = 256 << 10

// fill makes n bytes available at pos, if there are so many.
func (in *input) fill(n int) bool {
	for in.end-in.pos < n && in.eof == nil {
		if in.pos > 0 {
			copy(in.buf, in.buf[in.pos:in.end])
			in.off += int64(in.pos)
			in.end -= in.pos
			in.pos = 0
		}
		if in.end == len(in.buf) || len(in.buf) < n {
			// Grow with what really comes: a length alone allocates nothing.
			size := max(firstBuffer, min(2*len(in.buf), n))
			if size <= len(in.buf) {
				size = 2 * len(in.buf)
			}
			in.buf = append(make([]byte, 0, size), in.buf[:in.end]...)[:size]
		}
		m, err := in.r.Read(in.buf[in.end:])
		in.end += m
		if err != nil {
			in.eof = err
		}
	}
	return in.end-in.pos >= n
}

var errNoPacket = errors.New("here begins no packet")

// packet returns the next packet. It is valid until the next call.
func (in *input) packet() ([]byte, error) {
	for {
		in.at = in.off + int64(in.pos)
		if !in.fill(1) {
			if errors.Is(in.eof, io.EOF) {
				return nil, io.EOF
			}
			return nil, in.eof
		}
		in.fill(2 * binary.MaxVarintLen64)
		head := in.buf[in.pos:in.end]
		tag, n := binary.Uvarint(head)
		if n <= 0 {
			return nil, in.short()
		}
		size, m := uint64(0), 0
		switch tag & 7 {
		case wireBytes, wireVarint:
			if size, m = binary.Uvarint(head[n:]); m <= 0 {
				return nil, in.short()
			}
			if tag&7 == wireVarint {
				size = 0
			}
		case wireFixed64:
			size = 8
		case wireFixed32:
			size = 4
		default:
			return nil, fmt.Errorf("%w: wire type %d", errNoPacket, tag&7)
		}
		if tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return nil, errNoPacket
		}
		in.pos += n + m
		if tag != 1<<3|wireBytes || size > maxPacket {
			if err := in.skip(size); err != nil {
				return nil, err
			}
			if tag == 1<<3|wireBytes {
				return nil, nil
			}
			continue // a field of Trace that is no packet
		}
		if !in.fill(int(size)) {
			return nil, in.short()
		}
		p := in.buf[in.pos : in.pos+int(size)]
		in.pos += int(size)
		return p, nil
	}
}

// short is the error of an input that ends within a packet.
func (in *input) short() error {
	if in.eof != nil && !errors.Is(in.eof, io.EOF) {
		return in.eof
	}
	if in.end-in.pos >= 2*binary.MaxVarintLen64 {
		return errNoPacket
	}
	return errors.New("the trace ends within a packet")
}

// skip leaves out bytes, which need not fit in memory.
func (in *input) skip(n uint64) error {
	if have := uint64(in.end - in.pos); n <= have {
		in.pos += int(n)
		return nil
	}
	n -= uint64(in.end - in.pos)
	in.off += int64(in.end)
	in.pos, in.end = 0, 0
	if n > 1<<62 {
		return errNoPacket
	}
	m, err := io.CopyN(io.Discard, bufio.NewReader(in.r), int64(n))
	in.off += m
	if err != nil {
		in.eof = err
		return errors.New("the trace ends within a packet")
	}
	return nil
}
