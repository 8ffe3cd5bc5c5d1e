package ftracetext

import (
	"bytes"
	"io"
	"strconv"
)

// maxLine bounds a line: the kernel's are below 8 KiB, and an event must fit a
// block of the log with its text escaped.
const maxLine = 64 << 10

const firstBuffer = 256 << 10

// lineReader gives lines without their ends. Its memory is bounded.
type lineReader struct {
	r      io.Reader
	name   string
	buf    []byte
	lo, hi int
	next   int // where the line after the peeked one begins, 0 if none is peeked
	line   []byte
	number int64 // of the line peeked or taken last, from 1
	err    error
	skip   bool // in the rest of a line that was cut
	cut    bool // the line taken last was cut
}

func (l *lineReader) init(r io.Reader, name string) {
	l.r, l.name, l.buf = r, name, make([]byte, firstBuffer)
}

// place names the line in work.
func (l *lineReader) place() string { return "line " + strconv.FormatInt(l.number, 10) }

// peek returns the next line without its end; it stays valid until the next
// peek after a take.
func (l *lineReader) peek() ([]byte, error) {
	if l.next > 0 {
		return l.line, nil
	}
	from := l.lo
	for {
		if i := bytes.IndexByte(l.buf[from:l.hi], '\n'); i >= 0 {
			end := from + i
			if l.skip {
				l.lo, from, l.skip = end+1, end+1, false
				continue
			}
			return l.found(end, end+1), nil
		}
		from = l.hi
		switch {
		case l.skip:
			l.lo, l.hi, from = 0, 0, 0
		case l.hi-l.lo > maxLine:
			l.skip = true
			return l.found(l.hi, l.hi), nil
		}
		if l.err != nil {
			if l.lo < l.hi {
				return l.found(l.hi, l.hi), nil
			}
			return nil, l.err
		}
		from -= l.fill()
	}
}

// found is the line up to end, cut if it is too long; the next one begins at next.
func (l *lineReader) found(end, next int) []byte {
	l.cut = end-l.lo > maxLine
	line := l.buf[l.lo:min(end, l.lo+maxLine)]
	if n := len(line); n > 0 && line[n-1] == '\r' && !l.cut {
		line = line[:n-1]
	}
	l.line, l.next = line, next
	l.number++
	return line
}

// take moves past the line peeked.
func (l *lineReader) take() { l.lo, l.next = l.next, 0 }

// fill reads more; it returns by how much it moved what is in the buffer.
func (l *lineReader) fill() int {
	moved := 0
	if l.lo > 0 && l.hi == len(l.buf) {
		copy(l.buf, l.buf[l.lo:l.hi])
		moved = l.lo
		l.lo, l.hi = 0, l.hi-l.lo
	}
	if l.hi == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.hi:])
		l.hi += n
		l.err = err
		if n > 0 || err != nil {
			return moved
		}
	}
	l.err = io.ErrNoProgress
	return moved
}
