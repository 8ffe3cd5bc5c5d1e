package gpulog

// values are those of a column while its block is gathered. They lie in
// pieces, so that what was written need not move when more come.
type values struct {
	full [][]uint64
	tail []uint64
}

const (
	firstPiece = 16
	piece      = 256
	slabSize   = 32 * piece
)

// add appends v.
func (s *values) add(v uint64, from *slab) {
	if len(s.tail) == cap(s.tail) {
		s.more(from)
	}
	s.tail = append(s.tail, v)
}

func (s *values) more(from *slab) {
	switch len(s.tail) {
	case 0:
		s.tail = from.take(firstPiece)
		return
	case firstPiece:
		s.tail = append(from.take(piece), s.tail...)
		return
	}
	s.full = append(s.full, s.tail)
	s.tail = from.take(piece)
}

// reset empties s; its memory is the slab's.
func (s *values) reset() { s.full, s.tail = s.full[:0], nil }

func (s *values) len() int { return len(s.full)*piece + len(s.tail) }

// all returns the values behind one another, in scratch if they are not so already.
func (s *values) all(scratch *[]uint64) []uint64 {
	if len(s.full) == 0 {
		return s.tail
	}
	all := (*scratch)[:0]
	for _, p := range s.full {
		all = append(all, p...)
	}
	all = append(all, s.tail...)
	*scratch = all
	return all
}

// slab is the memory that the pieces of a block are cut from.
type slab struct {
	all  [][]uint64
	used int // of all
	free []uint64
}

// take returns an empty piece for n values.
func (s *slab) take(n int) []uint64 {
	if len(s.free) < n {
		if s.used == len(s.all) {
			s.all = append(s.all, make([]uint64, slabSize))
		}
		s.free = s.all[s.used]
		s.used++
	}
	p := s.free[:0:n]
	s.free = s.free[n:]
	return p
}

// reset takes all pieces back.
func (s *slab) reset() { s.used, s.free = 0, nil }
