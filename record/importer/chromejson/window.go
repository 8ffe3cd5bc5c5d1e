package chromejson

import "io"

const (
	firstWindow  = 256 << 10
	maxWindow    = 16 << 20 // longest event
	maxIdleReads = 100      // that give nothing and no error
	padding      = 16       // zero bytes behind the window, so that the lexer may look ahead
)

// window is a piece of the input: buf[pos:end] is read and not yet taken.
type window struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the input
	err      error // of the input, io.EOF at its end
}

func (w *window) init(r io.Reader) {
	w.r = r
	w.buf = make([]byte, firstWindow+padding)
}

// offset returns the place of buf[i] in the input.
func (w *window) offset(i int) int64 { return w.base + int64(i) }

// bytes returns the window with its padding; the lexer must not read past it.
func (w *window) bytes() []byte { return w.buf[:w.end+padding] }

// more reads on: it moves what is left to the front, and doubles the buffer if
// that fills it. It reports whether there are more bytes; err says why not,
// and is nil if what is left is too long to be held.
func (w *window) more() bool {
	if w.err != nil {
		return false
	}
	if w.pos > 0 {
		copy(w.buf, w.buf[w.pos:w.end])
		w.base += int64(w.pos)
		w.end -= w.pos
		w.pos = 0
	}
	if w.end == len(w.buf)-padding {
		if w.end >= maxWindow {
			return false
		}
		grown := make([]byte, 2*w.end+padding)
		copy(grown, w.buf[:w.end])
		w.buf = grown
	}
	from := w.end
	w.fill()
	clear(w.buf[w.end : w.end+padding])
	return w.end > from
}

// fill reads until the buffer is full or the input ends. It is no io.ReadFull:
// that calls its own end what a cut decompressor gives as its error.
func (w *window) fill() {
	idle := 0
	for full := len(w.buf) - padding; w.end < full && w.err == nil; {
		n, err := w.r.Read(w.buf[w.end:full])
		w.end += n
		w.err = err
		if idle++; n > 0 {
			idle = 0
		} else if idle > maxIdleReads && err == nil {
			w.err = io.ErrNoProgress
		}
	}
}

// shrink gives a buffer back that one long event had made large.
func (w *window) shrink() {
	if len(w.buf) > 4*firstWindow && w.end-w.pos < firstWindow {
		small := make([]byte, firstWindow+padding)
		n := copy(small, w.buf[w.pos:w.end])
		w.base += int64(w.pos)
		w.buf, w.pos, w.end = small, 0, n
	}
}
