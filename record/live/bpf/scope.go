package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	objects "github.com/gpurec/gpurec/bpf"
)

// AddProcess puts a process and its present and future children into scope,
// and probes the GPU libraries that they have mapped. Call it after Attach.
func (s *Source) AddProcess(pid int) error {
	m := s.mapNamed(objects.GpurecMapTargets)
	if m == nil {
		return errClosed
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("record process %d: there is no such process", pid)
	}
	// Children are forked while we look: those of processes in scope are
	// followed by the kernel's side, so one look after each addition is enough.
	todo := []int{pid}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		var old uint32
		if m.Lookup(uint32(p), &old) == nil {
			continue // in scope already, and so are its children
		}
		if err := m.Put(uint32(p), uint32(1)); err != nil {
			return explain(fmt.Sprintf("record process %d", p), err)
		}
		todo = append(todo, children(p)...)
		if s.o.wants(GroupAPI) {
			if err := s.scanProcess(p); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
				s.note(err.Error())
			}
		}
	}
	return nil
}

// children lists the processes forked by any thread of a process.
func children(pid int) []int {
	var out []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the thread is gone
		}
		for _, w := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// Processes returns the processes in scope that are alive, in no order.
// Empty means that nothing more can be recorded of the targets.
func (s *Source) Processes() []int {
	m := s.mapNamed(objects.GpurecMapTargets)
	if m == nil {
		return nil
	}
	var out []int
	var cursor ebpf.MapBatchCursor
	keys, values := make([]uint32, 1024), make([]uint32, 1024)
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for _, k := range keys[:min(n, len(keys))] {
			out = append(out, int(k))
		}
		if err != nil {
			return out
		}
	}
}

// scanAll probes the GPU libraries of all processes.
func (s *Source) scanAll() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil {
			_ = s.scanProcess(pid) // it may be gone, or a kernel thread
		}
	}
}

// markKnown tells the programs not to report a file again.
func (s *Source) markKnown(dev uint32, ino uint64) {
	if m := s.mapNamed(objects.GpurecMapKnownFiles); m != nil {
		id := objects.FileID{Ino: ino, Dev: dev}
		if err := m.Put(&id, uint32(1)); err != nil {
			s.note("mark a library as known: " + err.Error())
		}
	}
}
