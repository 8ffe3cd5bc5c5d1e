package ftrace

import "github.com/gpurec/gpurec/record/event"

// jobBinds are the fields of every job event of gpu_scheduler and of amdgpu's
// bridge events, in all spellings: the legacy events (id, fence pointer), those
// from 6.17 on (dev, fence_context, fence_seqno, client_id), and what stood
// between them in patches and vendor kernels.
func jobBinds(fence conv, fenceHalf conv) []bind {
	return []bind{
		{key: "entity", field: event.FieldEntityPtr, conv: convPtr},
		{key: "dev", field: event.FieldDevice, conv: convNonEmpty},
		{key: "sched_job", conv: convJobID},
		{key: "sched_job_id", field: event.FieldSchedJobID, conv: convUint},
		{key: "id", field: event.FieldSchedJobID, conv: convUint},
		{key: "timeline", field: event.FieldTimeline, conv: convNonEmpty},
		{key: "fence", conv: fence},
		{key: "context", field: event.FieldFenceContext, conv: fenceHalf},
		{key: "seqno", field: event.FieldFenceSeqno, conv: fenceHalf},
		{key: "fence_context", field: event.FieldFenceContext, conv: convUint},
		{key: "fence_seqno", field: event.FieldFenceSeqno, conv: convUint},
		{key: "ring", field: event.FieldRing, conv: convNonEmpty},
		{key: "ring_name", field: event.FieldRing, conv: convNonEmpty},
		{key: "name", field: event.FieldRing, conv: convNonEmpty},
		{key: "job count", field: event.FieldJobCount, conv: convUint},
		{key: "hw job count", field: event.FieldHWJobCount, conv: convInt},
		{key: "job_count", field: event.FieldJobCount, conv: convUint},
		{key: "hw_job_count", field: event.FieldHWJobCount, conv: convInt},
		{key: "client_id", field: event.FieldClientID, conv: convUint},
	}
}

// depBinds: the first fence of a text is the job's, the second the one it
// waits for; the legacy event names only the latter ("depends fence=").
func depBinds(legacy bool) []bind {
	b := []bind{
		{key: "ring", field: event.FieldRing, conv: convNonEmpty},
		{key: "name", field: event.FieldRing, conv: convNonEmpty},
		{key: "dev", field: event.FieldDevice, conv: convNonEmpty},
		{key: "id", field: event.FieldSchedJobID, conv: convUint},
	}
	if !legacy {
		b = append(b,
			bind{key: "fence", conv: convFence},
			bind{key: "fence_context", field: event.FieldFenceContext, conv: convUint},
			bind{key: "fence_seqno", field: event.FieldFenceSeqno, conv: convUint},
			bind{key: "fence", conv: convOnFence},
			bind{key: "ctx", field: event.FieldOnFenceContext, conv: convUint},
			bind{key: "seqno", field: event.FieldOnFenceSeqno, conv: convUint},
		)
		return b
	}
	return append(b,
		bind{key: "fence", conv: convOnFence},
		bind{key: "context", field: event.FieldOnFenceContext, conv: convUint},
		bind{key: "ctx", field: event.FieldOnFenceContext, conv: convUint},
		bind{key: "seq", field: event.FieldOnFenceSeqno, conv: convNarrow},
		bind{key: "seqno", field: event.FieldOnFenceSeqno, conv: convNarrow},
	)
}

var fenceBinds = []bind{
	{key: "driver", field: event.FieldDriver, conv: convNonEmpty},
	{key: "timeline", field: event.FieldTimeline, conv: convNonEmpty},
	{key: "context", field: event.FieldFenceContext, conv: convLow32},
	{key: "seqno", field: event.FieldFenceSeqno, conv: convLow32},
}

var vmBinds = []bind{
	{key: "bo", field: event.FieldObjectPtr, conv: convPtr},
	{key: "start", conv: convHex, tmp: 0},
	{key: "last", conv: convHex, tmp: 1},
	{key: "offset", field: event.FieldOffset, conv: convHex},
	{key: "flags", field: event.FieldMemFlags, conv: convHex},
}

func gpuTracepoints() []tracepoint {
	const sched = "gpu_scheduler"
	job := func(system, name string, k event.Kind, origin string) tracepoint {
		return tracepoint{system: system, name: name, kind: k, origin: origin, comma: true, binds: jobBinds(convFence, convUint)}
	}
	bridge := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "amdgpu", name: name, kind: k, origin: "amdgpu", bridge: true, comma: true, binds: jobBinds(convFenceText, convLow32)}
	}
	done := func(system, name, origin string) tracepoint {
		return tracepoint{system: system, name: name, kind: event.KindJobDone, origin: origin, binds: jobBinds(convFence, convUint)}
	}
	l := []tracepoint{
		job("gpu_sched", "amd_sched_job", event.KindJobQueue, "drm_sched"),
		done("gpu_sched", "amd_sched_process_job", "drm_sched"),
		job(sched, "drm_sched_job", event.KindJobQueue, "drm_sched"),
		job(sched, "drm_run_job", event.KindJobRun, "drm_sched"),
		done(sched, "drm_sched_process_job", "drm_sched"),
		{system: sched, name: "drm_sched_job_wait_dep", kind: event.KindJobDep, origin: "drm_sched", comma: true, binds: depBinds(true)},
		job(sched, "drm_sched_job_queue", event.KindJobQueue, "drm_sched_617"),
		job(sched, "drm_sched_job_run", event.KindJobRun, "drm_sched_617"),
		done(sched, "drm_sched_job_done", "drm_sched_617"),
		{system: sched, name: "drm_sched_job_add_dep", kind: event.KindJobDep, origin: "drm_sched_617", binds: depBinds(false)},
		{system: sched, name: "drm_sched_job_unschedulable", kind: event.KindJobDep, origin: "drm_sched_617", unsignalled: true, binds: depBinds(false)},
		{system: "amdgpu", name: "amdgpu_ib_pipe_sync", kind: event.KindJobDep, origin: "amdgpu", comma: true, text: textPipeSync, binds: depBinds(true)},
		bridge("amdgpu_cs_ioctl", event.KindJobQueue),
		bridge("amdgpu_sched_run_job", event.KindJobRun),
		{system: "amdgpu", name: "amdgpu_vm_bo_map", kind: event.KindMemMap, origin: "amdgpu", comma: true, binds: vmBinds, fix: fixVM},
		{system: "amdgpu", name: "amdgpu_vm_bo_unmap", kind: event.KindMemUnmap, origin: "amdgpu", comma: true, binds: vmBinds, fix: fixVM},
		{system: "gpu_mem", name: "gpu_mem_total", kind: event.KindCounter, binds: []bind{
			{key: "gpu_id", conv: convUint, tmp: 0}, {key: "pid", conv: convUint, tmp: 1}, {key: "size", conv: convUint, tmp: 2},
		}, fix: fixGPUMem},
		{system: "nvidia", name: "nvidia_dev_xid", kind: event.KindLogLine, text: textXid, binds: []bind{
			{key: "dev", field: event.FieldDevice, conv: convStr}, {key: "error_code", field: event.FieldCode, conv: convUint},
			{key: "msg", field: event.FieldName, conv: convStr},
		}},
	}
	return append(l, fenceTracepoints()...)
}

func fenceTracepoints() []tracepoint {
	var l []tracepoint
	for _, f := range []struct {
		name string
		kind event.Kind
	}{
		{"init", event.KindFenceInit}, {"emit", event.KindFenceEmit}, {"enable_signal", event.KindFenceEnable},
		{"signaled", event.KindFenceSignal}, {"wait_start", event.KindFenceWaitStart},
		{"wait_end", event.KindFenceWaitEnd}, {"destroy", event.KindFenceDestroy},
	} {
		l = append(l,
			tracepoint{system: "dma_fence", name: "dma_fence_" + f.name, kind: f.kind, binds: fenceBinds},
			tracepoint{system: "fence", name: "fence_" + f.name, kind: f.kind, binds: fenceBinds}) // before 4.10
	}
	return l
}

// amdgpu's page numbers are of 4 KiB (AMDGPU_GPU_PAGE_SIZE) on every machine.
const amdgpuPage = 4096

func fixVM(e *event.Event, s *scratch) {
	start, ok := s.get(0)
	if !ok {
		return
	}
	e.SetUint(event.FieldAddress, start*amdgpuPage)
	if last, ok := s.get(1); ok && last >= start {
		e.SetUint(event.FieldBytes, (last-start+1)*amdgpuPage)
	}
}

// fixGPUMem: the counter belongs to the process that the event names, 0 being
// the device as a whole; the thread that happened to report it is of no interest.
func fixGPUMem(e *event.Event, s *scratch) {
	e.SetStr(event.FieldName, "gpu_mem_total")
	e.SetStr(event.FieldUnit, "bytes")
	if id, ok := s.get(0); ok {
		e.SetStr(event.FieldDevice, smallNumber(id))
	}
	e.PID, e.TID, e.Comm = event.NoID, event.NoID, ""
	if pid, ok := s.get(1); ok && pid > 0 && pid < 1<<31 {
		e.PID = int32(pid)
	}
	if v, ok := s.get(2); ok {
		e.SetFloat(event.FieldValue, float64(v))
	}
}
