package export

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"unsafe"
)

// spiller holds sorted runs in temporary files, one file a level: maxRuns runs
// of a level are merged into one of the next, so that merging needs little
// memory and few files however many rows there are.
type spiller[T any] struct {
	codec   *rowCodec
	dir     string
	compare func(a, b *T) int
	runs    []run[T] // in the order of their rows' arrival, levels never rising
	levels  []*levelFile
	enc     *encoder // of the last run, while rows may follow it
	last    T        // last row of the last run
}

const (
	maxRuns = 64
	runRead = 64 << 10 // read buffer of a run
)

// run is one run. A merge reads it only from its first row on: runs that
// follow each other, as most do, are not open at once.
type run[T any] struct {
	level    int
	off, len int64
	first    T
}

type levelFile struct {
	f      *os.File
	remove string
	size   int64
}

func (s *spiller[T]) where() string {
	if s.dir == "" {
		return os.TempDir()
	}
	return s.dir
}

// add writes sorted rows: behind the last run if they follow it, else as a new one.
func (s *spiller[T]) add(rows []*T) error {
	if s.enc == nil || s.compare(&s.last, rows[0]) > 0 {
		if err := s.begin(0); err != nil {
			return err
		}
	}
	put, flush := s.writer()
	for _, p := range rows {
		if err := put(p); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s.last = *rows[len(rows)-1]
	for level := 0; ; level++ {
		first := len(s.runs)
		for first > 0 && s.runs[first-1].level == level {
			first--
		}
		if len(s.runs)-first < maxRuns {
			return nil
		}
		if err := s.compact(level, first); err != nil {
			return err
		}
	}
}

// compact merges the runs from first on, all of one level and all that it has,
// into one of the next level.
func (s *spiller[T]) compact(level, first int) error {
	old := slices.Clone(s.runs[first:])
	s.runs = s.runs[:first]
	if err := s.begin(level + 1); err != nil {
		return err
	}
	put, flush := s.writer()
	if err := s.merge(old, nil, put); err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	s.enc = nil // the next run begins in level 0
	lf := s.levels[level]
	lf.size = 0
	return lf.f.Truncate(0)
}

// begin begins a run at the end of a level's file.
func (s *spiller[T]) begin(level int) error {
	for len(s.levels) <= level {
		f, remove, err := TempFile(s.dir)
		if err != nil {
			return err
		}
		s.levels = append(s.levels, &levelFile{f: f, remove: remove})
	}
	s.enc = newEncoder(s.codec)
	s.runs = append(s.runs, run[T]{level: level, off: s.levels[level].size})
	return nil
}

// writer returns functions that add a row to the last run and that end adding.
func (s *spiller[T]) writer() (put func(*T) error, flush func() error) {
	r := &s.runs[len(s.runs)-1]
	lf := s.levels[r.level]
	w := bufio.NewWriterSize(io.NewOffsetWriter(lf.f, lf.size), 256<<10)
	var head [binary.MaxVarintLen64]byte
	put = func(p *T) error {
		if r.len == 0 {
			r.first = *p
		}
		b := s.enc.encode(unsafe.Pointer(p))
		h := binary.PutUvarint(head[:], uint64(len(b)))
		r.len += int64(h + len(b))
		lf.size += int64(h + len(b))
		w.Write(head[:h]) // an error stays in w
		_, err := w.Write(b)
		return err
	}
	return put, w.Flush
}

// rowSource is one input of a merge: a run, or rows held.
type rowSource[T any] struct {
	row  *T // current; nil at the end
	held []*T

	unread *io.SectionReader // a run of which only the first row was given
	r      *bufio.Reader
	d      decoder
	buf    []byte
	cur    T
}

func (s *rowSource[T]) next() error {
	if s.unread != nil {
		s.r, s.unread = bufio.NewReaderSize(s.unread, runRead), nil
		var zero T
		s.cur = zero // what the first row differs from
		if err := s.read(); err != nil {
			return err
		}
	}
	if s.r != nil {
		return s.read()
	}
	if len(s.held) == 0 {
		s.row = nil
		return nil
	}
	s.row, s.held = s.held[0], s.held[1:]
	return nil
}

// read reads a row of a run.
func (s *rowSource[T]) read() error {
	var err error
	s.buf, err = readRow(s.r, s.buf)
	if err == io.EOF {
		s.row = nil
		return nil
	}
	if err != nil {
		return err
	}
	s.row = &s.cur
	return s.d.decode(s.buf, unsafe.Pointer(&s.cur))
}

func (s *spiller[T]) open(r *run[T]) *rowSource[T] {
	src := &rowSource[T]{unread: io.NewSectionReader(s.levels[r.level].f, r.off, r.len), d: decoder{c: s.codec}, cur: r.first}
	src.row = &src.cur
	return src
}

// merge gives the rows of runs, and of held, which came last, in order.
func (s *spiller[T]) merge(runs []run[T], held []*T, f func(*T) error) error {
	m, err := s.merging(runs, held)
	if err != nil {
		return err
	}
	for {
		row, err := m.next()
		if err != nil || row == nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

// merging is a merge under way: of equal rows the one of the earlier source
// comes first.
type merging[T any] struct {
	h     mergeHeap[T]
	begun bool // the row of the first source was given
}

func (s *spiller[T]) merging(runs []run[T], held []*T) (*merging[T], error) {
	sources := make([]*rowSource[T], 0, len(runs)+1)
	for i := range runs {
		sources = append(sources, s.open(&runs[i]))
	}
	last := &rowSource[T]{held: held}
	if err := last.next(); err != nil {
		return nil, err
	}
	sources = append(sources, last)
	m := &merging[T]{h: mergeHeap[T]{compare: s.compare}}
	for i, src := range sources {
		if src.row != nil {
			m.h.items = append(m.h.items, mergeItem[T]{src, i})
		}
	}
	for i := len(m.h.items)/2 - 1; i >= 0; i-- {
		m.h.down(i)
	}
	return m, nil
}

// next returns the next row, valid until the call after, or nil at the end.
func (m *merging[T]) next() (*T, error) {
	h := &m.h
	if m.begun {
		src := h.items[0].src
		if err := src.next(); err != nil {
			return nil, err
		}
		if src.row == nil {
			last := len(h.items) - 1
			h.items[0], h.items[last] = h.items[last], mergeItem[T]{}
			h.items = h.items[:last]
		}
		h.down(0)
	}
	m.begun = len(h.items) > 0
	if !m.begun {
		return nil, nil
	}
	return h.items[0].src.row, nil
}

type mergeItem[T any] struct {
	src  *rowSource[T]
	rank int // of the source
}

// mergeHeap is a min-heap of sources by current row, then rank.
type mergeHeap[T any] struct {
	compare func(a, b *T) int
	items   []mergeItem[T]
}

func (h *mergeHeap[T]) less(i, j int) bool {
	a, b := &h.items[i], &h.items[j]
	c := h.compare(a.src.row, b.src.row)
	return c < 0 || c == 0 && a.rank < b.rank
}

func (h *mergeHeap[T]) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h.items) {
			return
		}
		if r := least + 1; r < len(h.items) && h.less(r, least) {
			least = r
		}
		if !h.less(least, i) {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}

func (s *spiller[T]) close() error {
	var first error
	for _, lf := range s.levels {
		if err := lf.f.Close(); err != nil && first == nil {
			first = err
		}
		if lf.remove != "" {
			os.Remove(lf.remove)
		}
	}
	s.levels, s.runs = nil, nil
	return first
}

// mergeSort sorts a, stably, and returns tmp grown to what it needed. It is
// nearly linear where rows are only a little out of place, as rows that come
// in the order of their ends are.
func mergeSort[T any](a, tmp []*T, compare func(a, b *T) int) []*T {
	const block = 16
	for lo := 0; lo < len(a); lo += block {
		insertionSort(a[lo:min(lo+block, len(a))], compare)
	}
	for width := block; width < len(a); width *= 2 {
		for mid := width; mid < len(a); mid += 2 * width {
			tmp = mergeHalves(a[mid-width:min(mid+width, len(a))], width, tmp, compare)
		}
	}
	return tmp
}

func insertionSort[T any](a []*T, compare func(a, b *T) int) {
	for i := 1; i < len(a); i++ {
		v, j := a[i], i
		for ; j > 0 && compare(a[j-1], v) > 0; j-- {
			a[j] = a[j-1]
		}
		a[j] = v
	}
}

// mergeHalves merges a[:mid] and a[mid:], moving only what overlaps.
func mergeHalves[T any](a []*T, mid int, tmp []*T, compare func(a, b *T) int) []*T {
	if compare(a[mid-1], a[mid]) <= 0 {
		return tmp
	}
	// All before lo stay: they are not greater than the least of the right half.
	lo := searchBack(mid, func(i int) bool { return compare(a[i], a[mid]) <= 0 })
	tmp = append(tmp[:0], a[lo:mid]...)
	l, r, w := tmp, a[mid:], lo
	for len(l) > 0 && len(r) > 0 {
		if compare(l[0], r[0]) <= 0 {
			a[w], l = l[0], l[1:]
		} else {
			a[w], r = r[0], r[1:]
		}
		w++
	}
	copy(a[w:], l) // what is left of the right half is in place
	return tmp
}

// searchBack returns the number of i in [0, n) for which low holds; it holds
// for none after the first for which it does not. It looks near n first.
func searchBack(n int, low func(int) bool) int {
	step, hi := 1, n
	for hi > 0 && !low(max(hi-step, 0)) {
		hi = max(hi-step, 0)
		step *= 2
	}
	lo := max(hi-step, 0)
	for lo < hi {
		if m := int(uint(lo+hi) / 2); low(m) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return hi
}
