package chromejson

import "unsafe"

// interner gives one string for equal bytes. Its memory is bounded.
type interner struct {
	fast [2048]string // direct mapped, in front of the map
	all  map[string]string
	size int
}

const (
	maxInterned     = 1 << 16
	maxInternedSize = 16 << 20
)

// get returns the string of b, which is UTF-8.
func (in *interner) get(b []byte) string {
	n := len(b)
	if n == 0 {
		return ""
	}
	h := uint(n) * 0x9e37
	h ^= uint(b[0]) | uint(b[n-1])<<8 | uint(b[n/2])<<16 | uint(b[n/4])<<5 | uint(b[n-1-n/4])<<11
	h *= 0x9e3779b1
	slot := &in.fast[h>>12%uint(len(in.fast))]
	if *slot == string(b) {
		return *slot
	}
	s, ok := in.all[string(b)]
	if !ok {
		if in.all == nil || len(in.all) >= maxInterned || in.size > maxInternedSize {
			in.all, in.size = make(map[string]string), 0
		}
		s = string(b)
		in.all[s] = s
		in.size += n
	}
	*slot = s
	return s
}

const arenaChunk = 64 << 10

// arena holds many texts in few allocations. A chunk is never written again
// where a text lies, and lives as long as any of its texts; but for rewind.
type arena struct {
	buf     []byte
	kept    [][]byte // chunks, to be used again
	used    int      // of kept
	rewinds bool     // there will be a rewind
}

// begin makes room for n bytes and returns the free end of the chunk.
func (a *arena) begin(n int) []byte {
	if cap(a.buf)-len(a.buf) < n {
		a.buf = a.chunk(n)
	}
	return a.buf[len(a.buf):len(a.buf):cap(a.buf)]
}

func (a *arena) chunk(n int) []byte {
	if !a.rewinds || n > arenaChunk {
		return make([]byte, 0, max(arenaChunk, n))
	}
	if a.used == len(a.kept) {
		a.kept = append(a.kept, make([]byte, 0, arenaChunk))
	}
	a.used++
	return a.kept[a.used-1]
}

// rewind takes the memory of all texts for others.
func (a *arena) rewind() {
	if a.rewinds {
		a.used, a.buf = 0, nil
	}
}

// end makes a string of what was appended to the result of begin.
func (a *arena) end(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if free := cap(a.buf) - len(a.buf); len(b) <= free && unsafe.SliceData(b) == unsafe.SliceData(a.buf[len(a.buf):cap(a.buf)]) {
		a.buf = a.buf[:len(a.buf)+len(b)]
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}
