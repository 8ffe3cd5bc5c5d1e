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
}

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
		s.read(s.load())
		s.load = nil
	}
	name := s.search(addr)
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
	name, _, _ := bytes.Cut(s.text[s.at[i]:], []byte("\n"))
	name, _, _ = bytes.Cut(name, []byte("\t")) // the module
	return clean(bytes.TrimSpace(name[:min(len(name), maxNameLen)]))
}

// read takes "ffffffff8100dead T name [module]"; only functions count.
func (s *symbols) read(text []byte) {
	s.text = text
	sorted := true
	for off := 0; off < len(text) && len(s.addrs) < maxSymbols; {
		end := bytes.IndexByte(text[off:], '\n')
		if end < 0 {
			end = len(text) - off
		}
		line := text[off : off+end]
		addr, n := parseHex(line)
		if n > 0 && addr != 0 && len(line) > n+3 && isFunction(line[n+1]) {
			if k := len(s.addrs); k > 0 && s.addrs[k-1] > addr {
				sorted = false
			}
			s.addrs = append(s.addrs, addr)
			s.at = append(s.at, uint32(off+n+3))
		}
		off += end + 1
	}
	if !sorted { // those of modules stand at the end
		sort.Stable(byAddr{s})
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
