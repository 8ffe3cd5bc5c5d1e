package export

import (
	"fmt"
	"os"
	"slices"
	"unsafe"
)

// Sorter sorts rows in bounded memory. Rows are held until maxBytes are, then
// written to a temporary file as a sorted run; [Sorter.Each] merges the runs.
// Rows that are pushed in order are compared once each and never moved.
//
// T must be flat: integers, floats, bools, strings, and structs and arrays of
// them. A Sorter is not safe for concurrent use.
type Sorter[T any] struct {
	compare  func(a, b *T) int
	maxBytes int64
	spill    spiller[T]

	chunks [][]T // the rows held, in order of coming
	used   int   // chunks that hold rows
	held   int   // rows in them
	last   *T    // the last of them
	order  []*T  // all of them, sorted, where that is not the order of coming; else empty
	tmp    []*T
	bytes  int64
	n      int
	sorted bool // the order of coming is sorted, or order is
}

// NewSorter returns a sorter by compare, whose sort is stable: rows that
// compare equal keep the order in which they were pushed. It holds about
// maxBytes of rows, their strings included (0: 64 MiB), and spills to tmpDir
// ("": the system's). It panics if T is not flat, since the set of row types
// is closed.
func NewSorter[T any](compare func(a, b *T) int, maxBytes int64, tmpDir string) *Sorter[T] {
	if maxBytes <= 0 {
		maxBytes = 64 << 20
	}
	s := &Sorter[T]{compare: compare, maxBytes: maxBytes, sorted: true}
	s.spill = spiller[T]{codec: codecOf[T](), dir: tmpDir, compare: compare}
	return s
}

// Push adds a copy of *v. After an error the sorter can only be closed.
func (s *Sorter[T]) Push(v *T) error {
	size := s.spill.codec.sizeOf(unsafe.Pointer(v))
	if s.bytes+size > s.maxBytes && s.held > 0 {
		if err := s.Spill(); err != nil {
			return err
		}
	}
	c := s.chunk()
	*c = append(*c, *v)
	s.put(&(*c)[len(*c)-1])
	s.bytes += size
	s.n++
	return nil
}

// PushAll pushes all rows, in their order. It is quicker than to push each.
func (s *Sorter[T]) PushAll(rows []T) error {
	for len(rows) > 0 {
		c := s.chunk()
		used := len(*c)
		some := rows[:min(len(rows), cap(*c)-used)]
		rows = rows[len(some):]
		var size int64
		for i := range some {
			size += s.spill.codec.sizeOf(unsafe.Pointer(&some[i]))
		}
		if s.bytes+size > s.maxBytes { // somewhere among these
			for i := range some {
				if err := s.Push(&some[i]); err != nil {
					return err
				}
			}
			continue
		}
		*c = append(*c, some...)
		for i := range some {
			s.put(&(*c)[used+i])
		}
		s.bytes += size
		s.n += len(some)
	}
	return nil
}

// put counts a row of the last chunk as held.
func (s *Sorter[T]) put(p *T) {
	if s.sorted && s.held > 0 && (len(s.order) > 0 || s.compare(s.last, p) > 0) {
		s.sorted = false
	}
	s.last = p
	s.held++
}

// chunkBytes is how much storage is taken at once: small enough that many
// almost empty sorters cost nothing, large enough to be one allocation of many rows.
const chunkBytes = 64 << 10

// chunk returns storage with room for a row.
func (s *Sorter[T]) chunk() *[]T {
	if s.used > 0 {
		if c := &s.chunks[s.used-1]; len(*c) < cap(*c) {
			return c
		}
	}
	if s.used == len(s.chunks) {
		var zero T
		rows := max(chunkBytes/max(int(unsafe.Sizeof(zero)), 1), 4)
		if s.used == 0 {
			rows = min(rows, 16)
		}
		s.chunks = append(s.chunks, make([]T, 0, rows))
	}
	s.used++
	return &s.chunks[s.used-1]
}

// Len returns the number of rows pushed.
func (s *Sorter[T]) Len() int { return s.n }

// Bytes returns how much memory the rows held take, their strings included.
func (s *Sorter[T]) Bytes() int64 { return s.bytes }

// Spill writes the rows held to a sorted run now. It lets one owner of several
// sorters share one budget among them.
func (s *Sorter[T]) Spill() error {
	if s.held == 0 {
		return nil
	}
	if err := s.spill.add(s.pointers()); err != nil {
		return fmt.Errorf("sort rows in %s: %w", s.spill.where(), err)
	}
	// Several sorters share a budget, and which holds most changes: storage that
	// each kept for its next rows would add up to the most that each ever held.
	s.chunks, s.order, s.tmp = nil, nil, nil
	s.used, s.held, s.last, s.bytes, s.sorted = 0, 0, nil, 0, true
	return nil
}

func (s *Sorter[T]) sort() {
	if s.sorted {
		return
	}
	s.sorted = true
	s.tmp = mergeSort(s.list(), s.tmp, s.compare)
	clear(s.tmp)
}

// list puts the rows held into order as they came.
func (s *Sorter[T]) list() []*T {
	s.order = slices.Grow(s.order[:0], s.held)
	for _, c := range s.chunks[:s.used] {
		for i := range c {
			s.order = append(s.order, &c[i])
		}
	}
	return s.order
}

// pointers returns the rows held, sorted.
func (s *Sorter[T]) pointers() []*T {
	s.sort()
	if len(s.order) == 0 {
		s.list()
	}
	return s.order
}

// Each calls f for every row, in order, and stops at its first error. The row
// is valid until f returns and must not be changed. Each may be called again;
// f must not use the sorter.
func (s *Sorter[T]) Each(f func(*T) error) error {
	if len(s.spill.runs) > 0 {
		return s.spill.merge(s.spill.runs, s.pointers(), f)
	}
	c := s.rowsHeld()
	for p := c.nextHeld(); p != nil; p = c.nextHeld() {
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// EachBatch is [Sorter.Each] for up to n rows at once, in one slice that f may
// not keep.
func (s *Sorter[T]) EachBatch(n int, f func([]*T) error) error {
	if len(s.spill.runs) == 0 {
		for rows := s.pointers(); len(rows) > 0; {
			batch := rows[:min(len(rows), n)]
			rows = rows[len(batch):]
			if err := f(batch); err != nil {
				return err
			}
		}
		return nil
	}
	copies, batch := make([]T, n), make([]*T, 0, n)
	err := s.Each(func(v *T) error {
		p := &copies[len(batch)]
		*p = *v
		if batch = append(batch, p); len(batch) < n {
			return nil
		}
		err := f(batch)
		batch = batch[:0]
		return err
	})
	if err == nil && len(batch) > 0 {
		err = f(batch)
	}
	return err
}

// Cursor walks the rows of a [Sorter], for an owner that merges several.
type Cursor[T any] struct {
	held   []*T // sorted; else the rows of chunks as they came
	chunks [][]T
	runs   *merging[T]
}

// Rows returns a cursor before the first row. The sorter must not be used until
// the last call of its Next.
func (s *Sorter[T]) Rows() (*Cursor[T], error) {
	if len(s.spill.runs) == 0 {
		return s.rowsHeld(), nil
	}
	m, err := s.spill.merging(s.spill.runs, s.pointers())
	if err != nil {
		return nil, err
	}
	return &Cursor[T]{runs: m}, nil
}

// Next returns the next row, or nil at the end. The row is valid until the next
// call and must not be changed.
func (c *Cursor[T]) Next() (*T, error) {
	if c.runs != nil {
		return c.runs.next()
	}
	return c.nextHeld(), nil
}

// rowsHeld is a cursor on the rows held.
func (s *Sorter[T]) rowsHeld() *Cursor[T] {
	s.sort()
	if len(s.order) > 0 {
		return &Cursor[T]{held: s.order}
	}
	return &Cursor[T]{chunks: slices.Clone(s.chunks[:s.used])}
}

// nextHeld returns the next row held, or nil.
func (c *Cursor[T]) nextHeld() *T {
	if len(c.held) > 0 {
		row := c.held[0]
		c.held = c.held[1:]
		return row
	}
	for len(c.chunks) > 0 {
		first := &c.chunks[0]
		if len(*first) > 0 {
			row := &(*first)[0]
			*first = (*first)[1:]
			return row
		}
		c.chunks = c.chunks[1:]
	}
	return nil
}

// Close frees the rows and removes the temporary files, which have no name
// from their first byte where the system allows it. It may be called twice.
func (s *Sorter[T]) Close() error {
	err := s.spill.close()
	s.chunks, s.order, s.tmp, s.bytes, s.n, s.used, s.held, s.last = nil, nil, nil, 0, 0, 0, 0, nil
	s.sorted = true
	return err
}

// TempFile makes a file in dir ("": the system's) that only this process's user
// may read. It has no name where the system allows that, so that nothing is left
// behind however the process ends; else remove is its name, for its owner to remove.
func TempFile(dir string) (f *os.File, remove string, err error) {
	f, err = os.CreateTemp(dir, ".gpurec-sort-*")
	if err != nil {
		return nil, "", err
	}
	if os.Remove(f.Name()) != nil {
		remove = f.Name()
	}
	return f, remove, nil
}
