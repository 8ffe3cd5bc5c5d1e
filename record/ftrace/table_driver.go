package ftrace

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// Tracepoints of single drivers that tell the life of a job: queued, handed to
// the hardware, done. Their fields and moments are those of the kernel's
// drivers/gpu/drm/*/*_trace.h; kgsl's and Mali's are of the vendors' kernels.
// How they are joined, and merged with gpu_scheduler's events of the same job,
// is docs/correlation.md's.

// Slots of scratch that the fixes of this file share.
const (
	tmpCard = iota // number of the DRM card
	tmpA
	tmpB
	tmpC
)

func driverTracepoints() []tracepoint {
	l := []tracepoint{consoleTracepoint()}
	for _, t := range [][]tracepoint{
		i915Tracepoints(), xeTracepoints(), virtioTracepoints(), msmTracepoints(), v3dTracepoints(),
		limaTracepoints(), kgslTracepoints(), maliTracepoints(), driverCounters(),
	} {
		l = append(l, t...)
	}
	return l
}

var cards = [...]string{"card0", "card1", "card2", "card3", "card4", "card5", "card6", "card7"}

// fixCard names the device: dev=1 is the index of the DRM device's primary node.
func fixCard(e *event.Event, s *scratch) {
	n, ok := s.get(tmpCard)
	switch {
	case !ok:
	case n < uint64(len(cards)):
		e.SetStr(event.FieldDevice, cards[n])
	default:
		e.SetStr(event.FieldDevice, "card"+strconv.FormatUint(n, 10))
	}
}

// engines are the names that i915 gives to the classes of I915_ENGINE_CLASS_*.
var engines = [...]string{"rcs", "bcs", "vcs", "vecs", "ccs"}

// i915Tracepoints: context and number are those of the request's own fence.
// Queue and add fire in the submitting thread; in and out, on and off the
// hardware, only with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS. Retire comes any
// time later, and tells no end.
func i915Tracepoints() []tracepoint {
	const dev = "dev"
	binds := []bind{
		{key: dev, conv: convUint, tmp: tmpCard},
		{key: "engine", conv: convPair, tmp: tmpA},
		{key: "class", conv: convUint, tmp: tmpA},
		{key: "instance", conv: convUint, tmp: tmpB},
		{key: "ctx", field: event.FieldFenceContext, conv: convUint},
		{key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
		{key: "completed?", conv: convUint, tmp: tmpC},
		{key: "completed", conv: convUint, tmp: tmpC},
	}
	job := func(name string, k event.Kind, fix func(*event.Event, *scratch)) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, origin: "i915", comma: true, binds: binds, fix: fix}
	}
	wait := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, driver: "i915", comma: true, binds: append([]bind{
			{key: dev, conv: convIgnore}, {key: "engine", conv: convIgnore}, {key: "class", conv: convIgnore},
			{key: "instance", conv: convIgnore}, {key: "flags", conv: convIgnore}}, binds[4:6]...)}
	}
	return []tracepoint{
		job("i915_request_queue", event.KindJobQueue, fixEngine),
		job("i915_request_add", event.KindJobQueue, fixEngine),
		job("i915_request_in", event.KindJobRun, fixEngine),
		job("i915_request_out", event.KindJobDone, fixRequestOut),
		wait("i915_request_wait_begin", event.KindFenceWaitStart),
		wait("i915_request_wait_end", event.KindFenceWaitEnd),
	}
}

func fixEngine(e *event.Event, s *scratch) {
	fixCard(e, s)
	class, ok1 := s.get(tmpA)
	inst, ok2 := s.get(tmpB)
	if !ok1 || !ok2 {
		return
	}
	name := "class" + strconv.FormatUint(class, 10) + "_"
	if class < uint64(len(engines)) {
		name = engines[class]
	}
	e.SetStr(event.FieldRing, name+smallNumber(inst))
}

// fixRequestOut: a request that went off the hardware and is not complete was
// preempted: that is no end of it.
func fixRequestOut(e *event.Event, s *scratch) {
	fixEngine(e, s)
	if done, ok := s.get(tmpC); !ok || done != 0 {
		return
	}
	c, _ := e.Uint(event.FieldFenceContext)
	n, _ := e.Uint(event.FieldFenceSeqno)
	args := `{"engine":"` + e.Str(event.FieldRing) + `","ctx":` + strconv.FormatUint(c, 10) + `,"seqno":` + strconv.FormatUint(n, 10) + `,"completed":0}`
	becomeOther(e)
	e.SetStr(event.FieldName, "i915_request_out")
	e.SetStr(event.FieldArgs, args)
}

// xeTracepoints: the fence is the job's own, by its address; the scheduler's
// events name another one, the finished fence. exec comes right before the
// scheduler's queue event, run right after its run event, on the same thread.
// xe tells its hardware fences by address and key, when they are made and once
// they have signalled.
func xeTracepoints() []tracepoint {
	job := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "xe", name: name, kind: k, origin: "xe", comma: true, binds: []bind{
			{key: "dev", field: event.FieldDevice, conv: convStr},
			{key: "fence", conv: convFence},
			{key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
			{key: "error", field: event.FieldError, conv: convInt},
		}}
	}
	fence := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "xe", name: name, kind: k, driver: "xe", comma: true, binds: []bind{
			{key: "dev", conv: convIgnore},
			{key: "ctx", field: event.FieldFenceContext, conv: convHex},
			{key: "fence", field: event.FieldFencePtr, conv: convPtr},
			{key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
		}}
	}
	return []tracepoint{
		job("xe_sched_job_exec", event.KindJobQueue),
		job("xe_sched_job_run", event.KindJobRun),
		fence("xe_hw_fence_create", event.KindFenceEmit),
		fence("xe_hw_fence_signal", event.KindFenceSignal),
		{system: "xe", name: "xe_exec_queue_reset", kind: event.KindReset, called: "xe_exec_queue_reset", comma: true,
			binds: []bind{{key: "dev", field: event.FieldDevice, conv: convStr}}},
	}
}

// virtioTracepoints: a command goes to the device as it is queued; there is no
// queue before that. It is named by its number on the virtqueue, in kernels
// without one by its fence, if it has one.
func virtioTracepoints() []tracepoint {
	cmd := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "virtio_gpu", name: name, kind: k, origin: "virtio_gpu", binds: []bind{
			{key: "vdev", conv: convUint, tmp: tmpCard},
			{key: "dev", conv: convUint, tmp: tmpCard},
			{key: "name", field: event.FieldRing, conv: convWord},
			{key: "fence_id", conv: convUint, tmp: tmpA},
			{key: "seqno", conv: convUint, tmp: tmpB},
		}, fix: fixVirtio}
	}
	return []tracepoint{
		cmd("virtio_gpu_cmd_queue", event.KindJobQueue),
		cmd("virtio_gpu_cmd_response", event.KindJobDone),
	}
}

func fixVirtio(e *event.Event, s *scratch) {
	if n, ok := s.get(tmpCard); ok {
		e.SetStr(event.FieldDevice, "virtio"+smallNumber(n)) // its name on the bus
	}
	f, ok := s.get(tmpA)
	if ok && f != 0 {
		e.SetUint(event.FieldFenceSeqno, f) // virtio_gpu_fence_emit: the fence's number is its id
	}
	if n, has := s.get(tmpB); has {
		e.SetUint(event.FieldSchedJobID, n)
	} else if ok && f != 0 {
		e.SetUint(event.FieldSchedJobID, f)
	}
}

// msmTracepoints: id names the submission; ring 0 is the ring "gpu-ring-0".
func msmTracepoints() []tracepoint {
	submit := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "drm_msm_gpu", name: name, kind: k, origin: "msm", binds: []bind{
			{key: "id", field: event.FieldSchedJobID, conv: convUint},
			{key: "ring", conv: convPair, tmp: tmpA},
			{key: "ringid", conv: convUint, tmp: tmpA},
			{key: "seqno", conv: convUint, tmp: tmpB},
			{key: "elapsed", field: event.FieldElapsed, conv: convUint},
		}, fix: fixMSM}
	}
	return []tracepoint{
		submit("msm_gpu_submit", event.KindJobQueue),
		submit("msm_gpu_submit_flush", event.KindJobRun),
		submit("msm_gpu_submit_retired", event.KindJobDone),
	}
}

var msmRings = [...]string{"gpu-ring-0", "gpu-ring-1", "gpu-ring-2", "gpu-ring-3"}

func fixMSM(e *event.Event, s *scratch) {
	if n, ok := s.get(tmpA); ok && n < uint64(len(msmRings)) {
		e.SetStr(event.FieldRing, msmRings[n])
	} else if ok {
		e.SetStr(event.FieldRing, "gpu-ring-"+strconv.FormatUint(n, 10))
	}
	if n, ok := s.get(tmpB); ok {
		e.SetUint(event.FieldHWFenceSeqno, n)
	}
}

// v3dTracepoints: the number counts per queue of v3d, of which each is a ring
// of the scheduler under the name given here. Its CPU jobs and cache cleans
// run in the scheduler's thread.
func v3dTracepoints() []tracepoint {
	const system = "v3d"
	job := func(name string, k event.Kind, ring string) tracepoint {
		return tracepoint{system: system, name: name, kind: k, origin: "v3d", ring: ring, comma: true, binds: []bind{
			{key: "dev", conv: convUint, tmp: tmpCard},
			{key: "is_render", conv: convUint, tmp: tmpA},
			{key: "seqno", field: event.FieldSchedJobID, conv: convUint},
		}, fix: fixV3D}
	}
	cl := job("v3d_submit_cl", event.KindJobRun, "")
	cl.text = textV3D
	span := func(name string, k event.Kind, called string) tracepoint {
		return tracepoint{system: system, name: name, kind: k, called: called, comma: true}
	}
	return []tracepoint{
		cl,
		job("v3d_submit_tfu", event.KindJobRun, "v3d_tfu"),
		job("v3d_submit_csd", event.KindJobRun, "v3d_csd"),
		job("v3d_bcl_irq", event.KindJobDone, "v3d_bin"),
		job("v3d_rcl_irq", event.KindJobDone, "v3d_render"),
		job("v3d_tfu_irq", event.KindJobDone, "v3d_tfu"),
		job("v3d_csd_irq", event.KindJobDone, "v3d_csd"),
		span("v3d_cache_clean_begin", event.KindSliceBegin, "v3d_cache_clean"),
		span("v3d_cache_clean_end", event.KindSliceEnd, "v3d_cache_clean"),
		span("v3d_cpu_job_begin", event.KindSliceBegin, "v3d_cpu_job"),
		span("v3d_cpu_job_end", event.KindSliceEnd, "v3d_cpu_job"),
		{system: system, name: "v3d_reset_begin", kind: event.KindReset, called: "v3d_reset", comma: true,
			binds: []bind{{key: "dev", conv: convUint, tmp: tmpCard}}, fix: fixCard},
	}
}

func fixV3D(e *event.Event, s *scratch) {
	fixCard(e, s)
	if e.Has(event.FieldRing) {
		return
	}
	if render, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldRing, v3dList(render != 0))
	}
}

func v3dList(render bool) string {
	if render {
		return "v3d_render"
	}
	return "v3d_bin"
}

// limaTracepoints: context and seqno are those of the job's finished fence, the
// task is the scheduler's number, the pipe its ring: a second witness.
func limaTracepoints() []tracepoint {
	task := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "lima", name: name, kind: k, origin: "lima", bridge: true, binds: []bind{
			{key: "task", field: event.FieldSchedJobID, conv: convHex},
			{key: "task_id", field: event.FieldSchedJobID, conv: convUint},
			{key: "context", field: event.FieldFenceContext, conv: convLow32},
			{key: "seqno", field: event.FieldFenceSeqno, conv: convLow32},
			{key: "pipe", field: event.FieldRing, conv: convNonEmpty},
		}}
	}
	return []tracepoint{task("lima_task_submit", event.KindJobQueue), task("lima_task_run", event.KindJobRun)}
}

// kgslTracepoints: a command batch is named by its context and its timestamp,
// which counts per context. start and retire are ticks of the GPU's counter.
func kgslTracepoints() []tracepoint {
	batch := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "kgsl", name: name, kind: k, origin: "kgsl", binds: []bind{
			{key: "ctx", conv: convUint, tmp: tmpA},
			{key: "id", conv: convUint, tmp: tmpA},
			{key: "ts", field: event.FieldSchedJobID, conv: convUint},
			{key: "timestamp", field: event.FieldSchedJobID, conv: convUint},
			{key: "rb_id", conv: convInt, tmp: tmpB},
		}, fix: fixKGSL}
	}
	return []tracepoint{
		batch("adreno_cmdbatch_queued", event.KindJobQueue),
		batch("adreno_cmdbatch_submitted", event.KindJobRun),
		batch("adreno_cmdbatch_retired", event.KindJobDone),
	}
}

func fixKGSL(e *event.Event, s *scratch) {
	if n, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldTimeline, "ctx "+smallNumber(n))
	}
	if n, ok := s.get(tmpB); ok && n < 1<<31 {
		e.SetStr(event.FieldRing, "rb"+smallNumber(n))
	}
}

// maliTracepoints: a job slot switches from one job to the next; job 0 is none.
// The event is written later than the switch, whose own time it gives too.
func maliTracepoints() []tracepoint {
	return []tracepoint{
		{system: "gpu", name: "gpu_job_enqueue", kind: event.KindJobQueue, origin: "mali", binds: []bind{
			{key: "ctx_id", conv: convUint, tmp: tmpA},
			{key: "job_id", field: event.FieldSchedJobID, conv: convUint},
		}, fix: fixMaliJob},
		{system: "gpu", name: "gpu_sched_switch", kind: event.KindJobRun, origin: "mali", binds: []bind{
			{key: "gpu_name", field: event.FieldRing, conv: convWord},
			{key: "ts", conv: convSeconds, tmp: tmpB},
			{key: "timestamp", conv: convUint, tmp: tmpB},
			{key: "next_ctx_id", conv: convUint, tmp: tmpA},
			{key: "next_prio", conv: convUint, tmp: tmpC},
			{key: "next_job_id", field: event.FieldSchedJobID, conv: convUint},
		}, fix: fixMaliSwitch},
	}
}

func fixMaliJob(e *event.Event, s *scratch) {
	if n, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldTimeline, "ctx "+smallNumber(n))
	}
}

// payloadReach is how far a time in a payload may lie from the line's own, in
// ns: one farther off is of another clock.
const payloadReach = 1e9

// fixMaliSwitch keeps both times: start is that of the switch.
func fixMaliSwitch(e *event.Event, s *scratch) {
	fixMaliJob(e, s)
	args := "{"
	if at, ok := s.get(tmpB); ok {
		if d := event.Time(at) - e.Time; e.Time.Known() && d <= payloadReach && d >= -payloadReach {
			e.SetTime(event.FieldStart, event.Time(at))
		} else {
			args += `"ts_ns":` + strconv.FormatUint(at, 10) + ","
		}
	}
	if prio, ok := s.get(tmpC); ok {
		args += `"next_prio":` + strconv.FormatInt(int64(prio), 10) + ","
	}
	if len(args) > 1 {
		e.SetStr(event.FieldArgs, args[:len(args)-1]+"}")
	}
	if n, ok := e.Uint(event.FieldSchedJobID); ok && n == 0 {
		// Nothing comes next. All kinds of job events have the same fields.
		e.Kind = event.KindJobDone
		e.Clear(event.FieldSchedJobID)
		e.Clear(event.FieldTimeline)
	}
}

// driverCounters are values that a driver tells when they change.
func driverCounters() []tracepoint {
	counter := func(system, name, called, unit string, keys ...string) tracepoint {
		tp := tracepoint{system: system, name: name, kind: event.KindCounter, called: called, unit: unit, fix: fixValue}
		for _, k := range keys {
			tp.binds = append(tp.binds, bind{key: k, conv: convInt, tmp: tmpA})
		}
		return tp
	}
	return []tracepoint{
		counter("drm_msm_gpu", "msm_gpu_freq_change", "gpu_frequency", "MHz", "new_freq", "freq"),
		counter("i915", "intel_gpu_freq_change", "gpu_frequency", "MHz", "new_freq", "freq"),
		counter("mali", "mali_dvfs_set_clock", "mali_dvfs_set_clock", "MHz", "frequency"),
		counter("mali", "mali_dvfs_set_voltage", "mali_dvfs_set_voltage", "uV", "voltage"),
		counter("mali", "mali_dvfs_event", "mali_dvfs_utilization", "%", "utilization"),
		counter("mali", maliCounter, "", "", "val"),
	}
}

// maliCounter begins the names of Mali's hardware counters, of which each is
// an event of its own.
const maliCounter = "mali_hwc_"

func fixValue(e *event.Event, s *scratch) {
	if v, ok := s.get(tmpA); ok {
		e.SetFloat(event.FieldValue, float64(int64(v)))
	}
}
