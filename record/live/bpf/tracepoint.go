package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/live"
)

// attachTracepoint attaches a program to a tracepoint, whether or not anybody
// has mounted tracefs, where the tracepoint's number stands. It needs Linux
// 5.15 (BPF_LINK_TYPE_PERF_EVENT).
//
// The perf event that carries the program stays disabled: the program runs all
// the same, on every CPU, and perf makes no sample of ours for it.
func (l *loader) attachTracepoint(system, event string, prog *ebpf.Program) (link.Link, error) {
	open := live.OpenTracefs
	if l.mountTracefs {
		open = live.MountTracefs
	}
	fs, err := open()
	if err != nil {
		return nil, fmt.Errorf("tracefs: %w", err)
	}
	defer fs.Close()
	id, err := tracepointID(fs, system, event)
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Bits: unix.PerfBitDisabled}
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	ln, err := link.AttachRawLink(link.RawLinkOptions{Target: fd, Program: prog, Attach: ebpf.AttachPerfEvent})
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &perfLink{ln, fd}, nil
}

// tracepointID reads a tracepoint's number.
func tracepointID(fs *live.Tracefs, system, event string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(fs.Dir, "events", system, event, "id"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("tracepoint %s:%s: %w", system, event, errAbsent)
	}
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("number of tracepoint %s:%s: %w", system, event, err)
	}
	return id, nil
}

// perfLink is a link on a perf event of its own.
type perfLink struct {
	link.Link
	fd int
}

// Close detaches the program and closes the event.
func (l *perfLink) Close() error {
	return errors.Join(l.Link.Close(), unix.Close(l.fd))
}
