package bpf

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

const (
	attachNone      = ebpf.AttachType(^uint32(0)) // see load: the zero attach type
	bpfStatsRunTime = unix.BPF_STATS_RUN_TIME
)

// kallsyms is what is needed of /proc/kallsyms.
type kallsyms struct {
	drivers  map[uint64]string // address of a fence's get_driver_name → driver
	fenceOps [2]uint64         // drm_sched_fence_ops_{scheduled,finished}
}

// readKallsyms finds the functions that name fence drivers: BPF cannot call
// them, but their module is the driver. Unreadable or hidden addresses give an
// empty result.
func readKallsyms(path string) kallsyms {
	k := kallsyms{drivers: map[uint64]string{}}
	f, err := os.Open(path)
	if err != nil {
		return k // fences then have no driver name
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		k.line(sc.Text())
	}
	return k
}

func (k *kallsyms) line(line string) {
	if !strings.Contains(line, "driver_name") && !strings.Contains(line, "drm_sched_fence_ops_") && !strings.Contains(line, "dma_fence_stub_get_name") {
		return
	}
	f := strings.Fields(line)
	if len(f) < 3 {
		return
	}
	addr, err := strconv.ParseUint(f[0], 16, 64)
	if err != nil || addr == 0 {
		return
	}
	switch f[2] {
	case "drm_sched_fence_ops_scheduled":
		k.fenceOps[0] = addr
	case "drm_sched_fence_ops_finished":
		k.fenceOps[1] = addr
	default:
		module := ""
		if len(f) > 3 {
			module = strings.Trim(f[3], "[]")
		}
		k.drivers[addr] = fenceDriver(f[2], module)
	}
}

// fenceDriver is the driver of fences whose get_driver_name is a function of a module.
func fenceDriver(function, module string) string {
	switch {
	case strings.HasPrefix(function, "drm_sched_"):
		return "drm_sched"
	case function == "dma_fence_stub_get_name":
		return "stub"
	case module != "":
		return module
	}
	for _, cut := range []string{"_get_driver_name", "_get_get_driver_name"} {
		if s, ok := strings.CutSuffix(function, cut); ok {
			return strings.TrimSuffix(s, "_fence")
		}
	}
	return function
}

// kernelAtLeast reports whether the running kernel's version is at least major.minor.
func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var ma, mi int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &ma, &mi); n != 2 {
		return false
	}
	return ma > major || ma == major && mi >= minor
}

// unmappedFile makes a small ELF file that no process maps, to try uprobes
// on. The path is valid until release.
func unmappedFile() (path string, release func(), err error) {
	fd, err := unix.MemfdCreate("gpurec-trial", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("make a file to try probes on: %w", err)
	}
	if _, err := unix.Write(fd, trialELF()); err != nil {
		unix.Close(fd)
		return "", nil, fmt.Errorf("make a file to try probes on: %w", err)
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), func() { unix.Close(fd) }, nil
}

// trialCode is where the only instruction of the trial file lies: a push.
const trialCode = 0x100

// trialELF is an x86-64 shared object with one executable segment.
func trialELF() []byte {
	b := make([]byte, 4096)
	le := binary.LittleEndian
	copy(b, elf.ELFMAG)
	b[elf.EI_CLASS], b[elf.EI_DATA], b[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	le.PutUint16(b[16:], uint16(elf.ET_DYN))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint32(b[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint16(b[58:], 64) // size of a section header, of which there are none
	p := b[64:]
	le.PutUint32(p, uint32(elf.PT_LOAD))
	le.PutUint32(p[4:], uint32(elf.PF_R|elf.PF_X))
	le.PutUint64(p[32:], uint64(len(b)))
	le.PutUint64(p[40:], uint64(len(b)))
	le.PutUint64(p[48:], 4096)
	b[trialCode] = 0x55
	return b
}
