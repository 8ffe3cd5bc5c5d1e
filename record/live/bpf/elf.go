package bpf

import (
	"debug/elf"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/gpurec/gpurec/record/gpu"
)

// site is a place to probe: a function of a file, under all of its names.
type site struct {
	symbol  string        // the spelling that is reported
	aliases []string      // other symbols at the same address
	fn      *gpu.Function // what the tables know of it
	offset  uint64        // file offset of the probe
	cost    stepCost
}

// codeBytes is how much of a function is read to place a probe in it.
const codeBytes = 32

// findSites lists the functions of the tables that an ELF file defines, those
// of dynamic symbols or else (a program with a static runtime) of its symbol
// table. Symbols at one address are one site.
func findSites(r io.ReaderAt, want func(*gpu.Function) bool, nop5 bool) ([]site, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("the file is for %v, the recorder knows the calling convention of x86-64 only", f.Machine)
	}
	syms, err := f.DynamicSymbols()
	if err != nil && err != elf.ErrNoSymbols {
		return nil, err
	}
	sites := sitesOf(f, syms, want)
	if len(sites) == 0 {
		if syms, err = f.Symbols(); err == nil {
			sites = sitesOf(f, syms, want)
		}
	}
	buf := make([]byte, codeBytes)
	for i := range sites {
		n, err := r.ReadAt(buf, int64(sites[i].offset))
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read the code of %s: %w", sites[i].symbol, err)
		}
		skip, cost := probeOffset(buf[:n], nop5)
		sites[i].offset += uint64(skip)
		sites[i].cost = cost
	}
	return sites, nil
}

func sitesOf(f *elf.File, syms []elf.Symbol, want func(*gpu.Function) bool) []site {
	byOffset := map[uint64]int{}
	var sites []site
	for i := range syms {
		s := &syms[i]
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue // data, or defined elsewhere
		}
		fn, ok := gpu.Lookup(s.Name)
		if !ok || !want(fn) {
			continue // no GPU function
		}
		off, ok := fileOffset(f, s.Value)
		if !ok {
			continue // its code is not in the file: nothing to probe
		}
		if j, ok := byOffset[off]; ok {
			sites[j].add(s.Name)
			continue // one probe for all names of an address
		}
		byOffset[off] = len(sites)
		sites = append(sites, site{symbol: s.Name, fn: fn, offset: off})
	}
	sort.Slice(sites, func(i, j int) bool { return sites[i].offset < sites[j].offset })
	return sites
}

// add notes another name of the site. Which of them a program called cannot be
// told: the spelling that programs of today call is reported, whatever the
// order of the symbol table.
func (s *site) add(name string) {
	if name == s.symbol {
		return
	}
	for _, a := range s.aliases {
		if a == name {
			return
		}
	}
	if a, b := spelling(name), spelling(s.symbol); a < b || a == b && name < s.symbol {
		name, s.symbol = s.symbol, name
		s.fn, _ = gpu.Lookup(s.symbol)
	}
	s.aliases = append(s.aliases, name)
	sort.Strings(s.aliases)
}

// spelling is the place of a symbol among those of its function: 0 is the one
// that the API's headers give today.
func spelling(symbol string) int {
	fn, ok := gpu.Lookup(symbol)
	if !ok {
		return math.MaxInt
	}
	for i := range fn.Variants {
		if fn.Variants[i].Symbol == symbol {
			return i
		}
	}
	return len(fn.Variants)
}

// fileOffset converts a virtual address of code to an offset in the file.
func fileOffset(f *elf.File, addr uint64) (uint64, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}
