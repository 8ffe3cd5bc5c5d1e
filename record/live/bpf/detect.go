package bpf

import (
	"errors"
	"os"

	"github.com/cilium/ebpf/link"

	objects "github.com/gpurec/gpurec/bpf"
)

// Capability is one mechanism and whether it works here.
type Capability struct {
	Name   string // "uprobe_session", "tp_btf gpu_scheduler"
	OK     bool
	Reason string // why not, one line
	Effect string // what is lost without it, and what still works
	Remedy string // what to do about it
}

// Detect tries each mechanism and removes it again. It takes a few tenths of
// a second and changes nothing.
func Detect() []Capability {
	l, err := newLoader(settings{ringBytes: minRingBytes})
	maps := capability("bpf maps", err, "nothing can be recorded by BPF; ftrace and importing still work",
		"run as root, or give CAP_BPF and CAP_PERFMON; Linux 5.8 or later with CONFIG_BPF_SYSCALL")
	btf := capability("kernel BTF", btfError(), "no scheduler, fence or process events by BPF; nothing is recorded without them",
		"a kernel with CONFIG_DEBUG_INFO_BTF: every distribution kernel since 2021 has it")
	if err != nil {
		return []Capability{maps, btf}
	}
	defer l.close()
	out := []Capability{maps, btf}
	out = append(out, l.detectUprobes()...)
	out = append(out, l.detectKernel(taskProbes[0], "tp_btf", "processes cannot be followed: nothing is recorded by BPF",
		"root, or CAP_BPF and CAP_PERFMON, and kernel BTF"))
	out = append(out, l.detectIoctl()...)
	old, young := l.attachBTF(olderSched[0]), l.attachBTF(newerSched[0])
	sched := capability("tp_btf gpu_scheduler", old.err(),
		"no scheduler jobs by BPF; ftrace reads them if the tracepoints exist",
		"load the GPU's DRM driver (modprobe); NVIDIA's own driver does not use the DRM scheduler")
	sched.OK = old.state == stateAttached || young.state == stateAttached
	if sched.OK {
		sched.Reason, sched.Effect, sched.Remedy = "", "", ""
	}
	for _, p := range []*program{old, young} {
		_ = p.close() // a trial
	}
	out = append(out, sched)
	return append(out, l.detectKernel(fenceKernelProbes[0], "tp_btf dma_fence", "no fences by BPF",
		"load a DRM driver; a kernel with CONFIG_DMA_SHARED_BUFFER"))
}

func capability(name string, err error, effect, remedy string) Capability {
	if err == nil {
		return Capability{Name: name, OK: true}
	}
	return Capability{Name: name, Reason: err.Error(), Effect: effect, Remedy: remedy}
}

func btfError() error {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return errors.New("/sys/kernel/btf/vmlinux is missing")
	}
	return nil
}

func (p *program) err() error {
	if p.state == stateAttached {
		return nil
	}
	return errors.New(p.reason)
}

func (l *loader) detectKernel(k kernelProbe, name, effect, remedy string) Capability {
	p := l.attachBTF(k)
	defer func() { _ = p.close() }() // a trial
	return capability(name, p.err(), effect, remedy)
}

func (l *loader) detectIoctl() []Capability {
	tp := l.attachTP(ioctlTP[0])
	c := capability("tracepoint syscalls", tp.err(), "ioctls are recorded by tp_btf on all system calls: dearer for the rest of the machine; libraries loaded late are not noticed",
		"root or CAP_DAC_READ_SEARCH for tracefs; a kernel with CONFIG_FTRACE_SYSCALLS")
	_ = tp.close() // a trial
	return []Capability{c}
}

// detectUprobes tells the forms of uprobes apart.
func (l *loader) detectUprobes() []Capability {
	mode, progs, err := l.tryUprobes(uprobeNone)
	for _, p := range progs {
		_ = p.close() // a trial
	}
	if err == nil && mode == uprobePerf {
		err = l.tryPerfEvent()
	}
	if err != nil {
		mode = uprobeNone
	}
	missing := func(what string, err error) error {
		if err != nil {
			return err
		}
		return errors.New(what)
	}
	out := []Capability{capability("uprobe", err, "no API calls", "root, or CAP_BPF and CAP_PERFMON (before Linux 6.6: root); CONFIG_UPROBES")}
	var noMulti, noSession error
	if mode != uprobeMulti && mode != uprobeSession {
		noMulti = missing("this kernel has no uprobe.multi", err)
	}
	if mode != uprobeSession {
		noSession = missing("this kernel has no uprobe sessions", err)
	}
	return append(out,
		capability("uprobe_multi", noMulti, "uprobes are placed one by one: fewer functions, and detaching takes 0.1 s for each", "Linux 6.6 or later"),
		capability("uprobe_session", noSession, "entry and return are two probes: other processes with the same libraries pay for both", "Linux 6.13 or later"))
}

// tryPerfEvent places a uprobe by a perf event on a file that no process maps.
func (l *loader) tryPerfEvent() error {
	prog, err := l.load(objects.GpurecProgApiEnter, attachNone)
	if err != nil {
		return err
	}
	defer prog.Close()
	path, release, err := unmappedFile()
	if err != nil {
		return err
	}
	defer release()
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	ln, err := ex.Uprobe("", prog, &link.UprobeOptions{Address: trialCode})
	if err != nil {
		return explain("place a uprobe by a perf event", err)
	}
	return ln.Close()
}
