package perfscript

import (
	"bufio"
	"errors"
	"io"
	"strconv"
)

// maxLine bounds a line.
const maxLine = 64 << 10

// lineReader gives lines without their ends. Its memory is bounded.
type lineReader struct {
	r      *bufio.Reader
	name   string
	number int64 // of the line given last, from 1
	cut    bool  // it is longer than maxLine: this is its beginning
}

func (l *lineReader) init(r io.Reader) { l.r = bufio.NewReaderSize(r, maxLine) }

// place names the line in work.
func (l *lineReader) place() string { return "line " + strconv.FormatInt(l.number, 10) }

// next returns the next line; it stays valid until the call after.
func (l *lineReader) next() ([]byte, error) {
	if l.cut {
		l.cut = false
		for {
			_, err := l.r.ReadSlice('\n')
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
	}
	line, err := l.r.ReadSlice('\n')
	switch {
	case err == nil:
		line = line[:len(line)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		l.cut = true
	case len(line) == 0 || !errors.Is(err, io.EOF):
		return nil, err
	}
	l.number++
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}
