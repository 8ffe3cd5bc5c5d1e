// Package bpf records live through BPF: uprobes on the GPU libraries, the
// ioctl system call, the GPU scheduler's and dma_fence's tracepoints, and the
// processes that make them. It needs CAP_BPF and CAP_PERFMON (or root); what
// the kernel does not offer is left out and told by [Source.Probes].
//
// Nothing is pinned: however the process ends, the kernel removes every probe.
package bpf

import (
	"fmt"
	"strings"
)

// Groups of probes, as users name them.
const (
	GroupAPI   = "api"   // uprobes on the functions of GPU libraries
	GroupIoctl = "ioctl" // ioctl enter and exit
	GroupSched = "sched" // gpu_scheduler, every process
	GroupFence = "fence" // dma_fence, every process
	GroupTask  = "task"  // fork, exec, exit, rename
)

// Groups returns the names of all groups.
func Groups() []string {
	return []string{GroupAPI, GroupIoctl, GroupSched, GroupFence, GroupTask}
}

// Options say what to record.
type Options struct {
	// PIDs are the processes to record, with the children they have and get.
	// More can be added by [Source.AddProcess]. Scheduler and fence events are
	// of all processes, always.
	PIDs []int
	// All records every process.
	All bool
	// Groups to record; nil is all that can be had. Processes are followed
	// even if the group task is not asked for; its events are then left out.
	Groups []string
	// Require are groups without which Attach fails.
	Require []string
	// RingBytes is the size of the ring buffer, rounded up to a power of two;
	// 0 is [DefaultRingBytes]. A larger one bridges longer pauses of the reader.
	RingBytes int
	// Libraries are files to probe beside those that are found by name: a
	// program with a static CUDA runtime, a library of another name.
	Libraries []string
	// NoSystemLibraries leaves out the libraries that the dynamic linker's cache
	// names; they are then probed when a recorded process maps them.
	NoSystemLibraries bool
	// Functions limits the group api to functions with these base names; nil is all.
	Functions []string
	// EntryOnly records calls that only enqueue work at their entry alone:
	// cheaper (about a third), without their duration and result.
	EntryOnly bool
	// NoStop forbids stopping a process (SIGSTOP, some 10 ms) that maps a
	// library not seen before: its first calls may then be missed. Parents that
	// wait with WUNTRACED notice the stop.
	NoStop bool
	// OnStop is called when a process was stopped (true) and after it was
	// continued (false), from another goroutine; nil is not called. A guardian
	// needs it to continue the process if the recorder dies in between.
	OnStop func(pid int, stopped bool)
	// OnlyDevices records only ioctls on GPU device files. Otherwise those with
	// the type byte of DRM, NVIDIA or KFD and a direction are recorded on any file.
	OnlyDevices bool
	// RunTime has the kernel measure the run time of every BPF program. It
	// costs two clock readings a run, for all BPF programs of the machine.
	RunTime bool

	bestMode      uprobeMode // tests: nothing better than this
	noTracepoints bool       // tests: as without tracefs
	mountTracefs  bool       // tests: as if nobody had mounted it
}

// DefaultRingBytes is the default size of the ring buffer: 90 ms at two
// million calls a second.
const DefaultRingBytes = 16 << 20

const (
	minRingBytes = 1 << 16
	maxRingBytes = 1 << 30
)

// ringBytes returns n as a size that the kernel takes: a power of two of whole pages.
func ringBytes(n int) uint32 {
	if n == 0 {
		n = DefaultRingBytes
	}
	n = min(max(n, minRingBytes), maxRingBytes)
	size := minRingBytes
	for size < n {
		size <<= 1
	}
	return uint32(size)
}

// wants reports whether a group is to be recorded.
func (o *Options) wants(group string) bool {
	if o.Groups == nil {
		return true
	}
	for _, g := range o.Groups {
		if g == group {
			return true
		}
	}
	return false
}

func (o *Options) check() error {
	for _, list := range [][]string{o.Groups, o.Require} {
		for _, g := range list {
			if !isGroup(g) {
				return fmt.Errorf("bpf: no group of probes is called %q: there are %s", g, strings.Join(Groups(), ", "))
			}
		}
	}
	return nil
}

func isGroup(s string) bool {
	for _, g := range Groups() {
		if g == s {
			return true
		}
	}
	return false
}
