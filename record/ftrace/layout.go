package ftrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Layout is the shape of the ring buffer's pages: what events/header_page and
// events/header_event say, and the machine's byte order.
type Layout struct {
	Order         binary.ByteOrder // of the traced machine
	LongSize      int              // 4 or 8: sizeof(long) of its kernel, the size of the commit word
	TimeOffset    int              // of the page's time stamp, 8 bytes
	CommitOffset  int
	DataOffset    int // where the first event is
	DataSize      int // bytes of data in a sub-buffer of the size that header_page was read with
	TypeLenBits   int // 5
	TimeDeltaBits int // 27
	Padding       int // 29: type of padding
	TimeExtend    int // 30
	TimeStamp     int // 31
	MaxTypeLen    int // 28: greatest type_len that is a length
}

// DefaultLayout is that of a little-endian 64-bit kernel with 4 KiB sub-buffers.
func DefaultLayout() Layout {
	return Layout{
		Order: binary.LittleEndian, LongSize: 8, CommitOffset: 8, DataOffset: 16, DataSize: 4080,
		TypeLenBits: 5, TimeDeltaBits: 27, Padding: 29, TimeExtend: 30, TimeStamp: 31, MaxTypeLen: 28,
	}
}

// ErrLayout is wrapped by every error of ParseLayout.
var ErrLayout = errors.New("not a ring buffer layout")

// ParseLayout reads the texts of events/header_page and events/header_event;
// an empty headerEvent means the layout that every kernel has had so far.
func ParseLayout(headerPage, headerEvent []byte, order binary.ByteOrder) (Layout, error) {
	l := DefaultLayout()
	l.Order = order
	found := 0
	for line := range bytes.Lines(headerPage) {
		t := strings.TrimSpace(string(line))
		if !strings.HasPrefix(t, "field") {
			continue
		}
		fd, err := parseField(t)
		if err != nil {
			return l, fmt.Errorf("%w: header_page: %q", ErrLayout, t)
		}
		switch fd.Name {
		case "timestamp":
			l.TimeOffset = fd.Offset
			found |= 1
			if fd.Size != 8 {
				return l, fmt.Errorf("%w: header_page: timestamp of %d bytes", ErrLayout, fd.Size)
			}
		case "commit":
			l.CommitOffset, l.LongSize = fd.Offset, fd.Size
			found |= 2
		case "data":
			l.DataOffset, l.DataSize = fd.Offset, fd.Size
			found |= 4
		}
	}
	if found != 7 {
		return l, fmt.Errorf("%w: header_page needs timestamp, commit and data", ErrLayout)
	}
	if err := l.parseHeaderEvent(headerEvent); err != nil {
		return l, err
	}
	return l, l.check()
}

func (l *Layout) parseHeaderEvent(text []byte) error {
	for line := range bytes.Lines(text) {
		t := strings.Join(strings.Fields(string(line)), " ")
		if t == "" || strings.HasPrefix(t, "#") {
			continue
		}
		var dst *int
		switch {
		case strings.HasPrefix(t, "type_len :"):
			dst = &l.TypeLenBits
		case strings.HasPrefix(t, "time_delta :"):
			dst = &l.TimeDeltaBits
		case strings.HasPrefix(t, "padding : type =="):
			dst = &l.Padding
		case strings.HasPrefix(t, "time_extend : type =="):
			dst = &l.TimeExtend
		case strings.HasPrefix(t, "time_stamp : type =="):
			dst = &l.TimeStamp
		case strings.HasPrefix(t, "data max type_len =="):
			dst = &l.MaxTypeLen
		default:
			continue // "array", or something newer that needs no number
		}
		n, err := strconv.Atoi(firstNumber(t))
		if err != nil {
			return fmt.Errorf("%w: header_event: %q", ErrLayout, t)
		}
		*dst = n
	}
	return nil
}

func firstNumber(s string) string {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return ""
	}
	j := i
	for j < len(s) && s[j] >= '0' && s[j] <= '9' {
		j++
	}
	return s[i:j]
}

func (l *Layout) check() error {
	switch {
	case l.LongSize != 4 && l.LongSize != 8:
		return fmt.Errorf("%w: a commit word of %d bytes", ErrLayout, l.LongSize)
	case l.DataOffset < l.CommitOffset+l.LongSize || l.DataOffset < l.TimeOffset+8 || l.DataOffset > 4096:
		return fmt.Errorf("%w: data at byte %d", ErrLayout, l.DataOffset)
	case l.TypeLenBits != 5 || l.TimeDeltaBits != 27:
		return fmt.Errorf("%w: event header of %d+%d bits", ErrLayout, l.TypeLenBits, l.TimeDeltaBits)
	}
	return nil
}

// SubBufferSize is the size of a page, header included, that header_page describes.
func (l *Layout) SubBufferSize() int { return l.DataOffset + l.DataSize }
