package ftrace

import "encoding/binary"

// walker goes through the records of a page.
type walker struct {
	l    *Layout
	big  bool
	data []byte
	off  int
	t    uint64 // time of rec
	rec  []byte // part of the page
	bad  bool   // the page is damaged from here on
}

// reset begins with data, the records of a page whose time stamp is t.
func (w *walker) reset(l *Layout, big bool, t uint64, data []byte) {
	*w = walker{l: l, big: big, data: data, t: t}
}

// next goes to the next record. It reports false at the end of the page, and
// where it is damaged.
func (w *walker) next() bool {
	l := w.l
	for w.off+4 <= len(w.data) {
		typ, delta := w.header()
		body := w.off + 4
		switch {
		case typ == l.Padding:
			if delta == 0 { // nothing after it in this page
				w.off = len(w.data)
				return false
			}
			// A discarded event. What follows counts from its time; a delta of
			// 1 stands where it had none (rb_event_discard, and check_buffer,
			// which counts as here; the kernel's own text leaves all of them out).
			if delta > 1 {
				w.t += delta
			}
			n, ok := w.word(body)
			if !ok || n < 4 || n > uint64(len(w.data)-body) {
				return w.stop()
			}
			w.off = body + align4(n)
		case typ == l.TimeExtend || typ == l.TimeStamp:
			n, ok := w.word(body)
			if !ok {
				return w.stop()
			}
			long := n<<l.TimeDeltaBits | delta
			if typ == l.TimeExtend {
				w.t += long
			} else {
				w.t = absolute(long, w.t)
			}
			w.off = body + 4
		default:
			w.t += delta
			size := uint64(typ) * 4
			if typ == 0 {
				n, ok := w.word(body)
				if !ok || n < 4 {
					return w.stop()
				}
				body, size = body+4, n-4
			}
			if typ > l.MaxTypeLen || size > uint64(len(w.data)-body) {
				return w.stop()
			}
			w.rec = w.data[body : body+int(size)]
			w.off = body + align4(size)
			return true
		}
	}
	return false
}

func (w *walker) stop() bool {
	w.bad, w.off = true, len(w.data)
	return false
}

// header splits the first word of a record: bit fields lie at the low end on
// little-endian machines, at the high end on others.
func (w *walker) header() (typ int, delta uint64) {
	if w.big {
		v := binary.BigEndian.Uint32(w.data[w.off:])
		return int(v >> w.l.TimeDeltaBits), uint64(v & (1<<w.l.TimeDeltaBits - 1))
	}
	v := binary.LittleEndian.Uint32(w.data[w.off:])
	return int(v & (1<<w.l.TypeLenBits - 1)), uint64(v >> w.l.TypeLenBits)
}

func (w *walker) word(off int) (uint64, bool) {
	if off+4 > len(w.data) {
		return 0, false
	}
	if w.big {
		return uint64(binary.BigEndian.Uint32(w.data[off:])), true
	}
	return uint64(binary.LittleEndian.Uint32(w.data[off:])), true
}

// absolute completes a time stamp of 59 bits by the top bits of the time
// before it, as rb_fix_abs_ts does.
func absolute(stamp, before uint64) uint64 {
	if before&topBits != 0 {
		stamp |= before & topBits
		if stamp < before {
			stamp += 1 << 59
		}
	}
	return stamp
}

func align4(n uint64) int { return int((n + 3) &^ 3) }
