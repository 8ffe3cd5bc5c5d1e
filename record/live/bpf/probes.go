package bpf

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// taskProbes keep the set of processes in scope: without them nothing else works.
var taskProbes = []kernelProbe{
	{objects.GpurecProgTaskFork, "sched", "sched_process_fork", objects.IDFork, objects.GroupTask},
	{objects.GpurecProgTaskExec, "sched", "sched_process_exec", objects.IDExec, objects.GroupTask},
	{objects.GpurecProgTaskExit, "sched", "sched_process_exit", objects.IDExit, objects.GroupTask},
}

var renameProbe = kernelProbe{objects.GpurecProgTaskRename, "task", "task_rename", objects.IDRename, objects.GroupTask}

var mmapProbe = kernelProbe{objects.GpurecProgLibMmap, "syscalls", "sys_enter_mmap", objects.IDMmap, objects.GroupTask}

// The syscalls tracepoints cost a machine's other system calls 50 ns each,
// tp_btf on every system call 114 (docs/adr/002-bpf-probes.md).
var ioctlTP = []kernelProbe{
	{objects.GpurecProgTpIoctlEnter, "syscalls", "sys_enter_ioctl", objects.IDIoctlEnter, objects.GroupIoctl},
	{objects.GpurecProgTpIoctlExit, "syscalls", "sys_exit_ioctl", objects.IDIoctlExit, objects.GroupIoctl},
}

var ioctlBTF = []kernelProbe{
	{objects.GpurecProgBtfIoctlEnter, "raw_syscalls", "sys_enter", objects.IDIoctlEnter, objects.GroupIoctl},
	{objects.GpurecProgBtfIoctlExit, "raw_syscalls", "sys_exit", objects.IDIoctlExit, objects.GroupIoctl},
}

// olderSched and newerSched are the two generations: see live.OlderSched. The
// end of a job's life comes first, when probes are attached and when they are
// detached: what was seen at the start of a recording is then seen to its end,
// and what ends as it stops was seen from its begin.
var olderSched = []kernelProbe{
	{objects.GpurecProgOnDrmSchedProcessJob, "gpu_scheduler", "drm_sched_process_job", objects.IDJobDoneOld, objects.GroupSched},
	{objects.GpurecProgOnDrmRunJob, "gpu_scheduler", "drm_run_job", objects.IDJobRunOld, objects.GroupSched},
	{objects.GpurecProgOnDrmSchedJobWaitDep, "gpu_scheduler", "drm_sched_job_wait_dep", objects.IDJobDepOld, objects.GroupSched},
	{objects.GpurecProgOnDrmSchedJob, "gpu_scheduler", "drm_sched_job", objects.IDJobQueueOld, objects.GroupSched},
}

var newerSched = []kernelProbe{
	{objects.GpurecProgOnDrmSchedJobDone, "gpu_scheduler", "drm_sched_job_done", objects.IDJobDone, objects.GroupSched},
	{objects.GpurecProgOnDrmSchedJobRun, "gpu_scheduler", "drm_sched_job_run", objects.IDJobRun, objects.GroupSched},
	{objects.GpurecProgOnDrmSchedJobAddDep, "gpu_scheduler", "drm_sched_job_add_dep", objects.IDJobDep, objects.GroupSched},
	// The kernel's own tracepoint handler could crash on this one until late
	// 2025; a BPF program is given the bare pointers and reads them safely.
	{objects.GpurecProgOnDrmSchedJobUnschedulable, "gpu_scheduler", "drm_sched_job_unschedulable", objects.IDJobUnschedulable, objects.GroupSched},
	{objects.GpurecProgOnDrmSchedJobQueue, "gpu_scheduler", "drm_sched_job_queue", objects.IDJobQueue, objects.GroupSched},
}

var fenceKernelProbes = []kernelProbe{
	{objects.GpurecProgOnDmaFenceInit, "dma_fence", "dma_fence_init", objects.IDFenceInit, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceEmit, "dma_fence", "dma_fence_emit", objects.IDFenceEmit, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceEnableSignal, "dma_fence", "dma_fence_enable_signal", objects.IDFenceEnable, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceSignaled, "dma_fence", "dma_fence_signaled", objects.IDFenceSignal, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceWaitStart, "dma_fence", "dma_fence_wait_start", objects.IDFenceWaitStart, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceWaitEnd, "dma_fence", "dma_fence_wait_end", objects.IDFenceWaitEnd, objects.GroupFence},
	{objects.GpurecProgOnDmaFenceDestroy, "dma_fence", "dma_fence_destroy", objects.IDFenceDestroy, objects.GroupFence},
}

func (s *Source) attachList(list []kernelProbe) {
	for _, k := range list {
		s.programs = append(s.programs, s.l.attachBTF(k))
	}
}

// attachSched takes the newer generation if the kernel has it, else the older.
func (s *Source) attachSched() {
	at := len(s.programs)
	s.attachList(newerSched)
	newer := false
	for _, p := range s.programs[at:] {
		newer = newer || p.state == stateAttached
	}
	if !newer {
		s.attachList(olderSched)
		return
	}
	for _, k := range olderSched {
		s.programs = append(s.programs, &program{name: k.prog, probe: k.system + ":" + k.event, mechanism: mechTPBTF,
			group: k.group, id: k.id, state: stateMissing, reason: live.OlderSchedLeftOut})
	}
}

func (s *Source) attachTasks() error {
	for _, k := range taskProbes {
		p := s.l.attachBTF(k)
		s.programs = append(s.programs, p)
		if p.state != stateAttached && !s.o.All {
			return fmt.Errorf("bpf: processes cannot be followed: %s", p.reason)
		}
	}
	if s.o.wants(GroupTask) || s.o.wants(GroupAPI) { // records of calls have the name that it keeps
		s.programs = append(s.programs, s.l.attachBTF(renameProbe))
	}
	return nil
}

// attachIoctl takes the syscalls tracepoints if tracefs lets us, else tp_btf on all.
func (s *Source) attachIoctl() {
	enter, exit := &program{}, &program{}
	if !s.o.noTracepoints {
		enter, exit = s.l.attachTP(ioctlTP[0]), s.l.attachTP(ioctlTP[1])
	}
	if enter.state == stateAttached && exit.state == stateAttached {
		s.programs = append(s.programs, enter, exit)
		return
	}
	e, x := s.l.attachBTF(ioctlBTF[0]), s.l.attachBTF(ioctlBTF[1])
	if e.state == stateAttached && x.state == stateAttached {
		for _, p := range []*program{enter, exit} {
			_ = p.close() // never attached
		}
		e.reason = "by tp_btf: " + enter.reason + enterOr(exit)
		s.programs = append(s.programs, e, x)
		return
	}
	for _, p := range []*program{e, x} {
		_ = p.close() // half a pair is not used
	}
	s.programs = append(s.programs, enter, exit)
}

func enterOr(exit *program) string {
	if exit.reason == "" {
		return ""
	}
	return " " + exit.reason
}

// chooseUprobes loads the uprobe programs in the best form that this kernel has.
func (s *Source) chooseUprobes() {
	mode, progs, err := s.l.tryUprobes(s.o.bestMode)
	if err != nil {
		s.modeReason = err.Error()
		return
	}
	s.mode = mode
	for _, p := range progs {
		s.programs = append(s.programs, p)
		switch p.name {
		case objects.GpurecProgApiSession:
			s.session = p.prog
		case objects.GpurecProgApiEnter:
			s.enter = p.prog
		case objects.GpurecProgApiExit:
			s.exit = p.prog
		}
	}
}

// tryUprobes finds the best way to attach uprobes by trying each on a file
// that no process maps. A best other than uprobeNone is an upper bound.
func (l *loader) tryUprobes(best uprobeMode) (uprobeMode, []*program, error) {
	path, release, err := unmappedFile()
	if err != nil {
		return uprobeNone, nil, err
	}
	defer release()
	trial := func(p *ebpf.Program, typ ebpf.AttachType) error {
		ln, err := linkUprobes(p, typ, path, []uint64{trialCode}, []uint64{0}, false)
		if err == nil {
			err = ln.Close()
		}
		return err
	}
	if best == uprobePerf {
		return l.tryPerfUprobes(errAbsent)
	}
	enter, err := l.load(objects.GpurecProgApiEnter, ebpf.AttachTraceUprobeMulti)
	if err == nil {
		if err = trial(enter, ebpf.AttachTraceUprobeMulti); err != nil {
			enter.Close()
		}
	}
	if err != nil {
		return l.tryPerfUprobes(err)
	}
	if session, err := l.load(objects.GpurecProgApiSession, attachUprobeSession); err == nil {
		if best != uprobeMulti && trial(session, attachUprobeSession) == nil {
			return uprobeSession, []*program{
				uprobeProgram(objects.GpurecProgApiSession, uprobeSession, session),
				uprobeProgram(objects.GpurecProgApiEnter, uprobeSession, enter)}, nil
		}
		session.Close()
	}
	exit, err := l.load(objects.GpurecProgApiExit, ebpf.AttachTraceUprobeMulti)
	if err != nil {
		enter.Close()
		return uprobeNone, nil, err
	}
	return uprobeMulti, []*program{
		uprobeProgram(objects.GpurecProgApiEnter, uprobeMulti, enter),
		uprobeProgram(objects.GpurecProgApiExit, uprobeMulti, exit)}, nil
}

// tryPerfUprobes loads the programs for perf events; whether the kernel has
// those is seen when the first library is attached.
func (l *loader) tryPerfUprobes(cause error) (uprobeMode, []*program, error) {
	enter, err := l.load(objects.GpurecProgApiEnter, attachNone)
	if err != nil {
		return uprobeNone, nil, err
	}
	exit, err := l.load(objects.GpurecProgApiExit, attachNone)
	if err != nil {
		enter.Close()
		return uprobeNone, nil, err
	}
	p := uprobeProgram(objects.GpurecProgApiEnter, uprobePerf, enter)
	p.reason = "without uprobe.multi (" + explain("try it", cause).Error() + "): few functions, and 0.1 s to remove each"
	return uprobePerf, []*program{p, uprobeProgram(objects.GpurecProgApiExit, uprobePerf, exit)}, nil
}

func uprobeProgram(name string, mode uprobeMode, prog *ebpf.Program) *program {
	return &program{name: name, probe: "uprobes:" + strings.TrimPrefix(name, "api_"), mechanism: mode.String(), group: objects.GroupAPI, prog: prog, state: stateAttached}
}

// Probes tells every program, library and function that is or was watched, or
// could not be. Hits are calls or events seen, recorded or lost. Losses of a
// group, and the calls of all functions, stand at the group's first program. Run times are zero without [Options.RunTime].
func (s *Source) Probes() []event.Probe {
	s.mu.Lock()
	defer s.mu.Unlock()
	hits := s.read.hits
	if s.state != stateClosed {
		hits = s.readHits()
	}
	lost := s.lostByGroup()
	calls := uint64(0)
	for i := objects.IDFirstSymbol; i < len(hits); i++ {
		calls += hits[i]
	}
	var out []event.Probe
	for _, p := range s.programs {
		p.sample()
		e := event.Probe{Name: p.probe, Mechanism: p.mechanism, State: p.state, Reason: p.reason,
			Misses: p.misses, RunTimeNS: uint64(p.runTime), Lost: lost[p.group]}
		lost[p.group] = 0
		if p.id != 0 {
			e.Hits = at(hits, int(p.id))
		} else {
			e.Hits, calls = calls, 0
		}
		out = append(out, e)
	}
	if s.o.wants(GroupAPI) && s.mode == uprobeNone && s.modeReason != "" {
		out = append(out, event.Probe{Name: "uprobes", Mechanism: "uprobe", State: stateFailed, Reason: s.modeReason})
	}
	homes := symbolHomes(s.libOrder)
	for _, lib := range s.libOrder {
		out = append(out, s.libraryProbes(lib, hits, homes)...)
	}
	for _, n := range s.notes {
		out = append(out, event.Probe{Name: "note", Mechanism: "bpf", State: stateFailed, Reason: n})
	}
	return out
}

func at(l []uint64, i int) uint64 {
	if i < len(l) {
		return l[i]
	}
	return 0
}

// symbolHomes counts the libraries that a function is probed in.
func symbolHomes(libs []*library) map[string]int {
	n := map[string]int{}
	for _, lib := range libs {
		for _, sym := range lib.symbols {
			n[sym.name]++
		}
	}
	return n
}

// place tells one copy of a library from another: by its path, and by its
// number in the file system too if another one has that path (in a container).
func (s *Source) place(lib *library) string {
	for k, l := range s.libs {
		if l != lib {
			continue
		}
		for _, o := range s.libOrder {
			if o != lib && o.path == lib.path {
				return fmt.Sprintf("in %s (inode %d)", lib.path, k.ino)
			}
		}
	}
	return "in " + lib.path
}

func (s *Source) libraryProbes(lib *library, hits []uint64, homes map[string]int) []event.Probe {
	var out []event.Probe
	if lib.reason != "" || len(lib.symbols) == 0 {
		out = append(out, event.Probe{Name: filepath.Base(lib.path), Mechanism: s.mode.String(), State: stateFailed, Reason: lib.reason})
	}
	for i, sym := range lib.symbols {
		p := event.Probe{Name: sym.name, Mechanism: s.mode.String(), State: stateAttached, Hits: at(hits, int(lib.first)+i)}
		if sym.plan.flags&objects.CookieEntryOnly != 0 {
			p.Reason = "entry only"
		}
		if sym.cost == stepOutOfLine {
			p.Reason = join(p.Reason, "its first instruction is single-stepped: about 9 µs a call")
		}
		if len(lib.aliases[i]) > 0 {
			p.Reason = join(p.Reason, "also "+strings.Join(lib.aliases[i], ", "))
		}
		if homes[sym.name] > 1 {
			p.Reason = join(p.Reason, s.place(lib))
		}
		if s.mode != uprobeNone && len(lib.links) == 0 && s.state == stateRunning {
			p.State = stateFailed
		}
		out = append(out, p)
	}
	return out
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
