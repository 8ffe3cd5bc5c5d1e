package bpf

import (
	"bytes"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

func (c *converter) ioctl(h *objects.Head, rec []byte, b *event.Batch) bool {
	if h.Type == objects.RecIoctlExit {
		r := as[objects.IoctlExit](rec)
		if r == nil {
			return false
		}
		e := c.start(b, event.KindIoctlExit, h, "syscalls:sys_exit_ioctl")
		e.SetInt(event.FieldFD, int64(r.FD))
		e.SetUint(event.FieldCmd, uint64(r.Cmd))
		e.SetInt(event.FieldResult, r.Result)
		if h.Flags&objects.FlagStatus != 0 {
			e.SetUint(event.FieldStatus, uint64(r.Status))
		}
		return true
	}
	r := as[objects.IoctlEnter](rec)
	if r == nil {
		return false
	}
	e := c.start(b, event.KindIoctlEnter, h, "syscalls:sys_enter_ioctl")
	e.SetInt(event.FieldFD, int64(r.FD))
	e.SetUint(event.FieldCmd, uint64(r.Cmd))
	e.SetUint(event.FieldArg, r.Arg)
	driver, device := "", ""
	if r.Rdev != 0 {
		driver, device = c.devices.lookup(r.Rdev)
	}
	e.SetStr(event.FieldDriver, driver)
	e.SetStr(event.FieldDevice, device)
	if i, ok := gpu.LookupIoctl(driver, r.Cmd); ok {
		e.SetStr(event.FieldName, i.Name)
		e.SetUint(event.FieldRole, uint64(i.Role))
	}
	return true
}

// exitCode is the status that a shell gives for the kernel's exit_code.
func exitCode(code uint32) int64 {
	if sig := code & 0x7f; sig != 0 {
		return 128 + int64(sig)
	}
	return int64(code >> 8 & 0xff)
}

func (c *converter) task(h *objects.Head, rec []byte, b *event.Batch) bool {
	r := as[objects.Task](rec)
	if r == nil {
		return false
	}
	source, op := "", event.TaskUnknown
	switch r.Op {
	case objects.TaskFork:
		source, op = "sched:sched_process_fork", event.TaskFork
		if r.TargetPID != h.PID {
			c.forked(h.PID, r.TargetPID)
		}
	case objects.TaskExec:
		source, op = "sched:sched_process_exec", event.TaskExec
		c.execed(h.PID) // a new program: nothing of the old memory is left
	case objects.TaskExit:
		source, op = "sched:sched_process_exit", event.TaskExit
		delete(c.shown, h.TID)
		if r.ProcessEnded != 0 {
			c.ended(h.PID)
		}
	case objects.TaskRename:
		source, op = "task:task_rename", event.TaskRename
	default:
		return false
	}
	if !c.tasks {
		return true
	}
	e := c.start(b, event.KindTask, h, source)
	e.SetUint(event.FieldTaskOp, uint64(op))
	e.SetInt(event.FieldTargetPID, int64(r.TargetPID))
	e.SetInt(event.FieldTargetTID, int64(r.TargetTID))
	switch op {
	case event.TaskExec:
		e.SetStr(event.FieldFilename, cString(r.Name[:]))
	case event.TaskExit:
		e.SetInt(event.FieldExitCode, exitCode(r.ExitCode))
	default:
		e.SetStr(event.FieldTargetComm, c.intern(r.Name[:16]))
	}
	return true
}

// jobProbes tells what each scheduler probe id means.
var jobProbes = map[uint16]struct {
	kind        event.Kind
	origin      string
	source      string
	unsignalled bool
}{
	objects.IDJobQueueOld:      {event.KindJobQueue, "drm_sched", "gpu_scheduler:drm_sched_job", false},
	objects.IDJobRunOld:        {event.KindJobRun, "drm_sched", "gpu_scheduler:drm_run_job", false},
	objects.IDJobDoneOld:       {event.KindJobDone, "drm_sched", "gpu_scheduler:drm_sched_process_job", false},
	objects.IDJobDepOld:        {event.KindJobDep, "drm_sched", "gpu_scheduler:drm_sched_job_wait_dep", false},
	objects.IDJobQueue:         {event.KindJobQueue, "drm_sched_617", "gpu_scheduler:drm_sched_job_queue", false},
	objects.IDJobRun:           {event.KindJobRun, "drm_sched_617", "gpu_scheduler:drm_sched_job_run", false},
	objects.IDJobDone:          {event.KindJobDone, "drm_sched_617", "gpu_scheduler:drm_sched_job_done", false},
	objects.IDJobDep:           {event.KindJobDep, "drm_sched_617", "gpu_scheduler:drm_sched_job_add_dep", false},
	objects.IDJobUnschedulable: {event.KindJobDep, "drm_sched_617", "gpu_scheduler:drm_sched_job_unschedulable", true},
}

func (c *converter) job(h *objects.Head, rec []byte, b *event.Batch) bool {
	r := as[objects.Job](rec)
	p, ok := jobProbes[h.ID]
	if r == nil || !ok || p.kind == event.KindJobDep {
		return false
	}
	e := c.start(b, p.kind, h, p.source)
	e.SetStr(event.FieldOrigin, p.origin)
	e.SetStr(event.FieldDevice, c.intern(r.Dev[:]))
	e.SetStr(event.FieldRing, c.intern(r.Ring[:]))
	if r.Job != 0 {
		e.SetUint(event.FieldJobPtr, r.Job)
	}
	if r.Known&objects.JobEntity != 0 {
		e.SetUint(event.FieldEntityPtr, r.Entity)
	}
	if r.Known&objects.JobSchedID != 0 {
		e.SetUint(event.FieldSchedJobID, r.SchedID)
	}
	if r.Fence != 0 {
		e.SetUint(event.FieldFencePtr, r.Fence)
		e.SetUint(event.FieldFenceContext, r.Context)
		e.SetUint(event.FieldFenceSeqno, r.Seqno)
	}
	if r.Known&objects.JobHW != 0 {
		e.SetUint(event.FieldHWFenceContext, r.HWContext)
		e.SetUint(event.FieldHWFenceSeqno, r.HWSeqno)
	}
	if r.Known&objects.JobClient != 0 {
		e.SetUint(event.FieldClientID, r.ClientID)
	}
	if r.Known&objects.JobCounts != 0 {
		e.SetUint(event.FieldJobCount, uint64(r.JobCount))
		e.SetInt(event.FieldHWJobCount, int64(r.HWJobCount))
	}
	if r.Error != 0 {
		e.SetInt(event.FieldError, int64(r.Error))
	}
	return true
}

func (c *converter) dep(h *objects.Head, rec []byte, b *event.Batch) bool {
	r := as[objects.Dep](rec)
	p, ok := jobProbes[h.ID]
	if r == nil || !ok || p.kind != event.KindJobDep {
		return false
	}
	e := c.start(b, event.KindJobDep, h, p.source)
	e.SetStr(event.FieldOrigin, p.origin)
	e.SetStr(event.FieldDevice, c.intern(r.Dev[:]))
	e.SetStr(event.FieldRing, c.intern(r.Ring[:]))
	if r.Known&objects.JobSchedID != 0 {
		e.SetUint(event.FieldSchedJobID, r.SchedID)
	}
	if r.Fence != 0 {
		e.SetUint(event.FieldFencePtr, r.Fence)
		e.SetUint(event.FieldFenceContext, r.Context)
		e.SetUint(event.FieldFenceSeqno, r.Seqno)
	}
	e.SetUint(event.FieldOnFencePtr, r.OnFence)
	e.SetUint(event.FieldOnFenceContext, r.OnContext)
	e.SetUint(event.FieldOnFenceSeqno, r.OnSeqno)
	if p.unsignalled {
		e.SetBool(event.FieldUnsignalled, true)
	}
	return true
}

var fenceProbes = map[uint16]struct {
	kind   event.Kind
	source string
}{
	objects.IDFenceInit:      {event.KindFenceInit, "dma_fence:dma_fence_init"},
	objects.IDFenceEmit:      {event.KindFenceEmit, "dma_fence:dma_fence_emit"},
	objects.IDFenceEnable:    {event.KindFenceEnable, "dma_fence:dma_fence_enable_signal"},
	objects.IDFenceSignal:    {event.KindFenceSignal, "dma_fence:dma_fence_signaled"},
	objects.IDFenceWaitStart: {event.KindFenceWaitStart, "dma_fence:dma_fence_wait_start"},
	objects.IDFenceWaitEnd:   {event.KindFenceWaitEnd, "dma_fence:dma_fence_wait_end"},
	objects.IDFenceDestroy:   {event.KindFenceDestroy, "dma_fence:dma_fence_destroy"},
}

func (c *converter) fence(h *objects.Head, rec []byte, b *event.Batch) bool {
	r := as[objects.Fence](rec)
	p, ok := fenceProbes[h.ID]
	if r == nil || !ok {
		return false
	}
	e := c.start(b, p.kind, h, p.source)
	e.SetStr(event.FieldDriver, c.drivers[r.DriverFunc])
	if r.Timeline[0] != 0 {
		e.SetStr(event.FieldTimeline, c.intern(r.Timeline[:]))
	}
	e.SetUint(event.FieldFenceContext, r.Context)
	e.SetUint(event.FieldFenceSeqno, r.Seqno)
	e.SetUint(event.FieldFencePtr, r.Fence)
	if r.Error != 0 && p.kind != event.KindFenceInit {
		e.SetInt(event.FieldError, int64(r.Error))
	}
	return true
}

// cString returns the text before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
