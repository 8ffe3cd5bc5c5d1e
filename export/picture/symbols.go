package picture

import (
	"errors"
	"strings"
	"unsafe"
)

// symbol is the number of a string that rows name: 0 is "". Rows that hold
// numbers are small, need no scan for pointers, and spill as integers.
type symbol uint32

// symbols are the strings of a picture. Each of the first is kept once, in
// memory; what comes beyond their bounds goes to pages, anew each time.
type symbols struct {
	recent [512]recentSymbol
	ids    map[string]symbol
	texts  []string
	bytes  int64
	limit  int64 // of bytes
	far    list[[farBytes]byte]
}

// recentSymbol is a string as rows hold it. That it is kept makes its address
// tell which it is.
type recentSymbol struct {
	text string
	n    symbol
}

const (
	maxSymbols     = 1 << 17
	maxSymbolBytes = 16 << 20
	maxRecent      = 256 // longer strings are not kept as rows hold them

	farSymbol symbol = 1 << 31
	farBytes         = 64
	farHead          = 4 // bytes of the length before the text
)

func (s *symbols) init(p *pages) {
	s.ids, s.texts = map[string]symbol{"": 0}, []string{""}
	s.limit = min(maxSymbolBytes, max(p.budget/8, 64<<10))
	s.far.init(p)
}

// of returns the number of a string.
func (s *symbols) of(text string) symbol {
	if text == "" {
		return 0
	}
	c := &s.recent[addressHash(text)%uint64(len(s.recent))]
	if len(c.text) == len(text) && unsafe.StringData(c.text) == unsafe.StringData(text) {
		return c.n
	}
	n, ok := s.ids[text]
	if !ok {
		if len(s.texts) >= maxSymbols || s.bytes+int64(len(text)) > s.limit {
			return s.addFar(text)
		}
		n = symbol(len(s.texts))
		own := strings.Clone(text)
		s.texts, s.ids[own] = append(s.texts, own), n
		s.bytes += int64(len(text))
	}
	if len(text) <= maxRecent {
		*c = recentSymbol{text, n}
	}
	return n
}

func addressHash(s string) uint64 {
	p := uint64(uintptr(unsafe.Pointer(unsafe.StringData(s))))
	return p>>3 ^ p>>12 ^ uint64(len(s))
}

// addFar puts a string into pages.
func (s *symbols) addFar(text string) symbol {
	first := s.far.n + 1
	if uint64(first)+uint64(len(text)/farBytes) >= uint64(farSymbol) {
		s.far.s.fail(errors.New("more than 128 GiB of names: export less of the trace at once (--from, --to)"))
		return 0
	}
	var head [farBytes]byte
	n := uint32(len(text))
	head[0], head[1], head[2], head[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	rest := text[copy(head[farHead:], text):]
	s.far.add(head)
	for len(rest) > 0 {
		var part [farBytes]byte
		rest = rest[copy(part[:], rest):]
		s.far.add(part)
	}
	return farSymbol | symbol(first)
}

// text returns the string of a number.
func (s *symbols) text(n symbol) string {
	if n&farSymbol == 0 {
		return s.texts[n]
	}
	id := uint32(n &^ farSymbol)
	part := s.far.value(id)
	size := int(part[0]) | int(part[1])<<8 | int(part[2])<<16 | int(part[3])<<24
	var b strings.Builder
	b.Grow(size)
	b.Write(part[farHead : farHead+min(size, farBytes-farHead)])
	for b.Len() < size {
		id++
		part = s.far.value(id)
		b.Write(part[:min(size-b.Len(), farBytes)])
	}
	return b.String()
}
