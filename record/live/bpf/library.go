package bpf

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// libraryPrefixes are the beginnings of the file names of GPU libraries.
func libraryPrefixes() []string {
	return []string{
		"libcuda.so", "libcudart.so", "libcudart-", "libamdhip64.so",
		"libnccl.so", "librccl.so", "libOpenCL.so", "libvulkan.so", "libze_loader.so",
	}
}

// uprobeMode is how uprobes are attached, the best first.
type uprobeMode uint8

const (
	uprobeNone    uprobeMode = iota
	uprobeSession            // one link for entry and return (6.13)
	uprobeMulti              // a link for all entries, a link for all returns (6.6)
	uprobePerf               // two perf events a symbol: slow to detach
)

func (m uprobeMode) String() string {
	return [...]string{"none", "uprobe_session", "uprobe_multi", "uprobe"}[m]
}

// maxPerfSymbols bounds the symbols on kernels that detach each one by itself,
// at about 100 ms for each of its two probes.
const maxPerfSymbols = 64

type fileKey struct{ dev, ino uint64 }

// library is a file whose functions are probed.
type library struct {
	path    string
	first   uint16 // id of its first symbol
	symbols []*symbol
	aliases [][]string
	left    int    // functions that were left out, see reason
	reason  string // why nothing or not all is probed
	links   []io.Closer
}

// AttachLibrary probes the functions of a library or program. It can be
// called before and after Attach and while recording; a file that is probed
// already is no error.
func (s *Source) AttachLibrary(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.attachFile(f, path)
	return err
}

// attachFile probes an open file, known to people under a path. It reports
// whether the file was new.
func (s *Source) attachFile(f *os.File, path string) (bool, error) {
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() {
		return false, fmt.Errorf("probe %s: not a regular file", path)
	}
	key := fileKey{uint64(sys.Dev), sys.Ino}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateRunning || !s.o.wants(GroupAPI) {
		return false, nil // stopped, or calls are not recorded
	}
	if _, ok := s.libs[key]; ok {
		return false, nil
	}
	lib := &library{path: path}
	s.libs[key] = lib
	s.libOrder = append(s.libOrder, lib)
	if err := s.attachSites(lib, f); err != nil {
		lib.reason = err.Error()
		return true, fmt.Errorf("probe %s: %w", path, err)
	}
	return true, nil
}

// attachSites finds the functions of a file and places the probes.
func (s *Source) attachSites(lib *library, f *os.File) error {
	if s.mode == uprobeNone {
		return errors.New(s.modeReason)
	}
	sites, err := findSites(f, s.wantFunction, s.nop5)
	if fe := (*elf.FormatError)(nil); errors.As(err, &fe) {
		return errors.New("the file is no ELF file, or a damaged one")
	}
	if err != nil {
		return err
	}
	if len(sites) == 0 {
		lib.reason = "it exports no function that gpurec knows"
		return nil
	}
	limit := s.symbols.room()
	if s.mode == uprobePerf {
		limit = min(limit, maxPerfSymbols-len(s.symbols.all()))
	}
	if len(sites) > limit {
		lib.left = len(sites) - max(limit, 0)
		sites = mostWanted(sites, max(limit, 0))
		lib.reason = fmt.Sprintf("%d of its functions are not probed: this kernel has no uprobe.multi (Linux 6.6), each probe takes 0.1 s to remove", lib.left)
	}
	for i := range sites {
		lib.symbols = append(lib.symbols, newSymbol(&sites[i], filepath.Base(lib.path), s.o.EntryOnly))
		lib.aliases = append(lib.aliases, sites[i].aliases)
	}
	lib.first = s.symbols.add(lib.symbols)
	for i, sym := range lib.symbols {
		if sym.plan.flags&objects.CookieDesc == 0 {
			continue // registers and stack are enough
		}
		if err := s.l.maps.Maps[objects.GpurecMapFnDescs].Put(uint32(lib.first)+uint32(i), &sym.plan.desc); err != nil {
			return fmt.Errorf("describe %s: %w", sym.name, err)
		}
	}
	return s.link(lib, sites, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())))
}

// wantFunction says which of the known functions are probed.
func (s *Source) wantFunction(fn *gpu.Function) bool {
	if s.functions != nil {
		return s.functions[fn.Name]
	}
	// HSA is what HIP is built on: each of its calls would be seen twice, and
	// its signal stores by the million.
	return fn.API != event.APIHSA
}

// mostWanted keeps n sites, by what their functions do.
func mostWanted(sites []site, n int) []site {
	rank := map[gpu.Class]int{gpu.ClassLaunch: 0, gpu.ClassGraphLaunch: 1, gpu.ClassSync: 2, gpu.ClassMemcpy: 3,
		gpu.ClassGetFunction: 4, gpu.ClassCollective: 5, gpu.ClassSubmit: 6, gpu.ClassAlloc: 7, gpu.ClassFree: 8, gpu.ClassMemset: 9}
	of := func(st *site) int {
		if r, ok := rank[st.fn.Class]; ok {
			return r
		}
		return len(rank)
	}
	sort.SliceStable(sites, func(i, j int) bool { return of(&sites[i]) < of(&sites[j]) })
	return sites[:min(n, len(sites))]
}

// link attaches the uprobe programs to the sites of a library.
func (s *Source) link(lib *library, sites []site, path string) error {
	if len(sites) == 0 {
		return nil
	}
	all, rets := siteList{}, siteList{}
	both, entries := siteList{}, siteList{}
	for i := range sites {
		cookie := lib.symbols[i].plan.cookie(lib.first + uint16(i))
		all.add(sites[i].offset, cookie)
		if lib.symbols[i].plan.flags&objects.CookieEntryOnly != 0 {
			entries.add(sites[i].offset, cookie)
		} else {
			both.add(sites[i].offset, cookie)
			rets.add(sites[i].offset, cookie)
		}
	}
	switch s.mode {
	case uprobeSession:
		return errors.Join(
			lib.multi(s.session, attachUprobeSession, path, both, false),
			lib.multi(s.enter, ebpf.AttachTraceUprobeMulti, path, entries, false))
	case uprobeMulti:
		// returns first: a call that is seen at entry is then seen at its return
		return errors.Join(
			lib.multi(s.exit, ebpf.AttachTraceUprobeMulti, path, rets, true),
			lib.multi(s.enter, ebpf.AttachTraceUprobeMulti, path, all, false))
	}
	return lib.perf(s, path, all, rets)
}

type siteList struct{ offsets, cookies []uint64 }

func (l *siteList) add(off, cookie uint64) {
	l.offsets, l.cookies = append(l.offsets, off), append(l.cookies, cookie)
}

func (lib *library) multi(p *ebpf.Program, typ ebpf.AttachType, path string, l siteList, ret bool) error {
	if len(l.offsets) == 0 {
		return nil
	}
	ln, err := linkUprobes(p, typ, path, l.offsets, l.cookies, ret)
	if err != nil {
		return explain("attach uprobes", err)
	}
	lib.links = append(lib.links, ln)
	return nil
}

// perf attaches by perf events, for kernels without uprobe.multi.
func (lib *library) perf(s *Source, path string, all, rets siteList) error {
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	for i, off := range rets.offsets {
		ln, err := ex.Uretprobe("", s.exit, &link.UprobeOptions{Address: off, Cookie: rets.cookies[i]})
		if err != nil {
			return explain("attach a uretprobe", err)
		}
		lib.links = append(lib.links, ln)
	}
	for i, off := range all.offsets {
		ln, err := ex.Uprobe("", s.enter, &link.UprobeOptions{Address: off, Cookie: all.cookies[i]})
		if err != nil {
			return explain("attach a uprobe", err)
		}
		lib.links = append(lib.links, ln)
	}
	return nil
}

// detach removes the probes of a library.
func (lib *library) detach() error {
	var errs []error
	for _, l := range lib.links {
		errs = append(errs, l.Close())
	}
	lib.links = nil
	return errors.Join(errs...)
}
