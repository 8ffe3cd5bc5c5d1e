package bpf

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Attach types that package ebpf has no constants for.
const attachUprobeSession = ebpf.AttachType(57) // BPF_TRACE_UPROBE_SESSION, Linux 6.13

const (
	bpfLinkCreate         = 28 // enum bpf_cmd
	uprobeMultiReturn     = 1  // BPF_F_UPROBE_MULTI_RETURN
	maxUprobesPerLink     = 1 << 20
	pathAttrMaxLen    int = 4096
)

// fdLink is a link of which only the descriptor is kept.
type fdLink int

// Close removes the probes of the link; it returns when the programs run no more.
func (l fdLink) Close() error { return unix.Close(int(l)) }

// uprobeMultiAttr is union bpf_attr for BPF_LINK_CREATE with uprobe_multi.
type uprobeMultiAttr struct {
	progFD, targetFD, attachType, flags   uint32
	path, offsets, refCtrOffsets, cookies uint64
	count, multiFlags, pid, _             uint32
}

// linkUprobes attaches prog at file offsets of the file with a path, each
// with its cookie, in one call.
func linkUprobes(prog *ebpf.Program, typ ebpf.AttachType, path string, offsets, cookies []uint64, ret bool) (fdLink, error) {
	if len(offsets) == 0 || len(offsets) != len(cookies) || len(offsets) > maxUprobesPerLink || len(path) >= pathAttrMaxLen {
		return -1, errors.New("bpf: bad list of probes")
	}
	cpath, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	attr := uprobeMultiAttr{
		progFD:     uint32(prog.FD()),
		attachType: uint32(typ),
		count:      uint32(len(offsets)),
	}
	if ret {
		attr.multiFlags = uprobeMultiReturn
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(cpath)
	pin.Pin(&offsets[0])
	pin.Pin(&cookies[0])
	attr.path = uint64(uintptr(unsafe.Pointer(cpath)))
	attr.offsets = uint64(uintptr(unsafe.Pointer(&offsets[0])))
	attr.cookies = uint64(uintptr(unsafe.Pointer(&cookies[0])))
	fd, _, errno := unix.Syscall(unix.SYS_BPF, bpfLinkCreate, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return -1, fmt.Errorf("attach %d uprobes to %s: %w", len(offsets), path, errno)
	}
	return fdLink(fd), nil
}
