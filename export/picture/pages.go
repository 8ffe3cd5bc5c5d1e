package picture

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// pages keeps the tables of a picture within a budget of memory: pages that
// were not used for long go to a temporary file. What is drawn next is mostly
// near what was drawn last, so few come back. Its first error sticks; what is
// read after it is zero.
type pages struct {
	dir      string
	budget   int64
	held     int64 // bytes in memory
	least    int   // pages that stay in memory however small the budget is
	resident []*page
	hand     int // next in resident to be looked at: a clock with a second chance
	f        *os.File
	remove   string // name of f, where a file in use cannot be unlinked
	size     int64
	err      error
}

type page struct {
	mem         []uint64 // nil: it is on file
	off         int64    // its place there; -1 if it was never written
	dirty, used bool
	spare       *[][]uint64 // where mem goes when it is dropped
}

const (
	pageBytes  = 32 << 10
	leastPages = 64 // more than there are tables
	maxSpare   = 2  // pages without content that a table keeps
)

func (p *page) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&p.mem[0])), len(p.mem)*8) }

// load brings a page into memory.
func (s *pages) load(p *page, words int) {
	n := int64(words) * 8
	for s.held+n > s.budget && len(s.resident) > s.least && s.err == nil {
		s.evict()
	}
	if last := len(*p.spare) - 1; last >= 0 {
		p.mem, *p.spare = (*p.spare)[last], (*p.spare)[:last]
		clear(p.mem)
	} else {
		p.mem = make([]uint64, words)
	}
	s.held += n
	s.resident = append(s.resident, p)
	if p.off < 0 || s.err != nil {
		return
	}
	if _, err := s.f.ReadAt(p.bytes(), p.off); err != nil {
		clear(p.mem)
		s.fail(err)
	}
}

// evict looks at one page, and drops it unless it was used since the last look.
func (s *pages) evict() {
	if s.hand >= len(s.resident) {
		s.hand = 0
	}
	p := s.resident[s.hand]
	if p.used {
		p.used = false
		s.hand++
		return
	}
	if p.dirty && !s.write(p) {
		return
	}
	s.held -= int64(len(p.mem)) * 8
	if len(*p.spare) < maxSpare {
		*p.spare = append(*p.spare, p.mem)
	}
	p.mem, p.dirty = nil, false
	last := len(s.resident) - 1
	s.resident[s.hand], s.resident[last] = s.resident[last], nil
	s.resident = s.resident[:last]
}

func (s *pages) write(p *page) bool {
	if s.f == nil {
		var err error
		if s.f, s.remove, err = export.TempFile(s.dir); err != nil {
			s.fail(err)
			return false
		}
	}
	b := p.bytes()
	if p.off < 0 {
		p.off = s.size
		s.size += int64(len(b))
	}
	if _, err := s.f.WriteAt(b, p.off); err != nil {
		s.fail(err)
		return false
	}
	return true
}

func (s *pages) fail(err error) {
	if s.err == nil {
		dir := s.dir
		if dir == "" {
			dir = os.TempDir()
		}
		s.err = fmt.Errorf("keep tables in %s: %w", dir, err)
	}
}

func (s *pages) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	if s.remove != "" {
		os.Remove(s.remove)
	}
	s.f = nil
	return err
}

// table holds a value for each row id. Ids are dense in a log, but need not be:
// a stray id costs one page. T must hold no pointers.
type table[T any] struct {
	s      *pages
	shift  uint8 // 1<<shift values are on a page
	byPage map[correlate.ID]*page
	last   *page
	at     correlate.ID // number of last
	spare  [][]uint64
}

func (t *table[T]) init(s *pages) {
	var zero T
	t.s, t.byPage = s, map[correlate.ID]*page{}
	for unsafe.Sizeof(zero)<<(t.shift+1) <= pageBytes {
		t.shift++
	}
}

// get returns the value of id: zero if it was never put.
func (t *table[T]) get(id correlate.ID) (v T) {
	if id <= 0 {
		return v
	}
	p := t.page(id>>t.shift, false)
	if p == nil {
		return v
	}
	return *t.slot(p, id)
}

// put returns the place of id's value, which is zero at first. It is valid until
// the next call of any table of these pages. What is put under 0, which is no
// row, is lost.
func (t *table[T]) put(id correlate.ID) *T {
	if id <= 0 {
		return new(T)
	}
	p := t.page(id>>t.shift, true)
	p.dirty = true
	return t.slot(p, id)
}

func (t *table[T]) slot(p *page, id correlate.ID) *T {
	var zero T
	i := uintptr(id) & (1<<t.shift - 1)
	return (*T)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.mem)), i*unsafe.Sizeof(zero)))
}

func (t *table[T]) page(n correlate.ID, create bool) *page {
	if t.last != nil && t.at == n && t.last.mem != nil {
		return t.last
	}
	p := t.byPage[n]
	if p == nil {
		if !create {
			return nil
		}
		p = &page{off: -1, spare: &t.spare}
		t.byPage[n] = p
	}
	if p.mem == nil {
		var zero T
		t.s.load(p, int((unsafe.Sizeof(zero)<<t.shift+7)/8))
	}
	p.used = true
	t.last, t.at = p, n
	return p
}

// list is a table whose ids are given in order, from 1.
type list[T any] struct {
	table[T]
	n uint32
}

// add adds a value and returns its id.
func (l *list[T]) add(v T) uint32 {
	l.n++
	*l.put(correlate.ID(l.n)) = v
	return l.n
}

// at returns the place of an id's value, valid until the next call of any
// table of these pages.
func (l *list[T]) at(id uint32) *T { return l.put(correlate.ID(id)) }

// look returns the place of an id's value for reading; it was added. It is valid
// until the next call of any table of these pages.
func (l *list[T]) look(id uint32) *T {
	p := l.page(correlate.ID(id)>>l.shift, true)
	return l.slot(p, correlate.ID(id))
}

// value returns the value of an id.
func (l *list[T]) value(id uint32) T { return l.get(correlate.ID(id)) }
