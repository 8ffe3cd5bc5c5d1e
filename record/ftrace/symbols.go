package ftrace

import (
	"bytes"
	"sort"
)

// symbols finds the function of an address. Most recordings need none, so the
// text is loaded and sorted when the first address is asked for.
type symbols struct {
	load  func() []byte
	text  []byte
	addrs []uint64
	at    []uint32 // where in text the name is
	cache map[uint64]string
	asked int
}

// manyAsked is how many addresses are looked up by going through the text;
// those of most recordings' prints are one or two.
const manyAsked = 8

// maxSymbols bounds the table; kernels have about 200,000.
const maxSymbols = 1 << 22

// Kallsyms gives the decoder the text of /proc/kallsyms, by which functions
// are named in trace_printk's events. load is called once, if it is needed.
func (d *Decoder) Kallsyms(load func() []byte) { d.syms = symbols{load: load} }

// find returns the name of the function that holds addr, "" if it is unknown.
func (s *symbols) find(addr uint64) string {
	if name, ok := s.cache[addr]; ok {
		return name
	}
	if s.load != nil {
		s.text = s.load()
		s.load = nil
	}
	s.asked++
	if s.asked == manyAsked {
		s.read()
	}
	name := ""
	if s.asked < manyAsked {
		name = s.scan(addr)
	} else {
		name = s.search(addr)
	}
	if s.cache == nil || len(s.cache) >= 4096 {
		s.cache = make(map[uint64]string)
	}
	s.cache[addr] = name
	return name
}

func (s *symbols) search(addr uint64) string {
	i := sort.Search(len(s.addrs), func(i int) bool { return s.addrs[i] > addr }) - 1
	if i < 0 {
		return ""
	}
	return s.name(int(s.at[i]))
}

// scan is search without the table: the last of the greatest addresses that
// are not above addr.
func (s *symbols) scan(addr uint64) string {
	best, at := uint64(0), -1
	s.each(func(v uint64, off int) {
		if v <= addr && v >= best {
			best, at = v, off
		}
	})
	if at < 0 {
		return ""
	}
	return s.name(at)
}

// name is the one at a place of the text, without the module behind it.
func (s *symbols) name(at int) string {
	name, _, _ := bytes.Cut(s.text[at:], []byte("\n"))
	name, _, _ = bytes.Cut(name, []byte("\t"))
	return clean(bytes.TrimSpace(name[:min(len(name), maxNameLen)]))
}

// read makes the table.
func (s *symbols) read() {
	sorted := true
	s.each(func(addr uint64, at int) {
		if k := len(s.addrs); k > 0 && s.addrs[k-1] > addr {
			sorted = false
		}
		s.addrs = append(s.addrs, addr)
		s.at = append(s.at, uint32(at))
	})
	if !sorted { // those of modules stand at the end
		sort.Stable(byAddr{s})
	}
}

// each gives every function of "ffffffff8100dead T name [module]": its address
// and where its name is.
func (s *symbols) each(f func(addr uint64, at int)) {
	text := s.text
	for off, n := 0, 0; off < len(text) && n < maxSymbols; n++ {
		end := bytes.IndexByte(text[off:], '\n')
		if end < 0 {
			end = len(text) - off
		}
		line := text[off : off+end]
		addr, n := parseHex(line)
		if n > 0 && addr != 0 && len(line) > n+3 && isFunction(line[n+1]) {
			f(addr, off+n+3)
		}
		off += end + 1
	}
}

func isFunction(c byte) bool { return c == 'T' || c == 't' || c == 'W' || c == 'w' }

type byAddr struct{ *symbols }

func (b byAddr) Len() int           { return len(b.addrs) }
func (b byAddr) Less(i, j int) bool { return b.addrs[i] < b.addrs[j] }
func (b byAddr) Swap(i, j int) {
	b.addrs[i], b.addrs[j] = b.addrs[j], b.addrs[i]
	b.at[i], b.at[j] = b.at[j], b.at[i]
}
