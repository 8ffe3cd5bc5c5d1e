package ftrace

import (
	"bytes"
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
		i915Tracepoints(), i915GemTracepoints(), xeTracepoints(), virtioTracepoints(), msmTracepoints(), v3dTracepoints(),
		vc4Tracepoints(), limaTracepoints(), radeonTracepoints(), kgslTracepoints(), maliTracepoints(), kbaseTracepoints(),
		driverCounters(), syncTracepoints(), restTracepoints(),
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
		{system: system, name: "v3d_reset_end", kind: event.KindReset, called: "v3d_reset", comma: true,
			binds: []bind{{key: "dev", conv: convUint, tmp: tmpCard}}, fix: fixResetEnd},
	}
}

func fixResetEnd(e *event.Event, s *scratch) {
	fixCard(e, s)
	e.SetUint(event.FieldStep, resetOver)
}

// resetOver is the step of a reset's end.
const resetOver = 2

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

// vc4Tracepoints (drivers/gpu/drm/vc4/vc4_trace.h): one number counts
// submissions; the binner's part and the renderer's are a job each, on a list
// of the hardware's. There is no scheduler. A wait is for the renderer's.
func vc4Tracepoints() []tracepoint {
	const system = "vc4"
	num := []bind{
		{key: "dev", conv: convUint, tmp: tmpCard},
		{key: "is_render", conv: convUint, tmp: tmpA},
		{key: "seqno", field: event.FieldSchedJobID, conv: convUint},
		{key: "timeout", conv: convIgnore},
	}
	job := func(name string, k event.Kind, ring string) tracepoint {
		return tracepoint{system: system, name: name, kind: k, origin: "vc4", ring: ring, comma: true, binds: num, fix: fixVC4}
	}
	wait := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: system, name: name, kind: k, driver: "vc4", comma: true, binds: num, fix: fixVC4Wait}
	}
	cl := job("vc4_submit_cl", event.KindJobRun, "")
	cl.text = textVC4
	return []tracepoint{
		cl,
		job("vc4_bcl_end_irq", event.KindJobDone, vc4List(false)),
		job("vc4_rcl_end_irq", event.KindJobDone, vc4List(true)),
		wait("vc4_wait_for_seqno_begin", event.KindFenceWaitStart),
		wait("vc4_wait_for_seqno_end", event.KindFenceWaitEnd),
	}
}

func fixVC4(e *event.Event, s *scratch) {
	fixCard(e, s)
	if e.Has(event.FieldRing) {
		return
	}
	if render, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldRing, vc4List(render != 0))
	}
}

func fixVC4Wait(e *event.Event, s *scratch) {
	fixCard(e, s)
	e.SetStr(event.FieldTimeline, vc4List(true))
}

func vc4List(render bool) string {
	if render {
		return "vc4_render"
	}
	return "vc4_bin"
}

// textVC4 takes the list from "dev=0, RCL, seqno=4, 0x00010000..0x00010100".
func textVC4(m *TextMapper, e *event.Event, p []byte) bool {
	switch {
	case bytes.Contains(p, []byte(", BCL,")):
		e.SetStr(event.FieldRing, vc4List(false))
	case bytes.Contains(p, []byte(", RCL,")):
		e.SetStr(event.FieldRing, vc4List(true))
	}
	return false
}

// radeonTracepoints (drivers/gpu/drm/radeon/radeon_trace.h): a submission is
// given to the hardware in the ioctl, where its fence is made right before the
// event. No event tells its end: the signal of that fence does.
func radeonTracepoints() []tracepoint {
	fence := func(name string, k event.Kind, fix func(*event.Event, *scratch)) tracepoint {
		tp := tracepoint{system: "radeon", name: name, kind: k, comma: true, binds: []bind{
			{key: "dev", conv: convUint, tmp: tmpCard},
			{key: "ring", conv: convUint, tmp: tmpA},
			{key: "seqno", conv: convUint, tmp: tmpB},
		}, fix: fix}
		if k == event.KindJobQueue {
			tp.origin = "radeon"
		} else {
			tp.driver = "radeon"
		}
		return tp
	}
	return []tracepoint{
		fence("radeon_fence_emit", event.KindJobQueue, fixRadeonJob),
		fence("radeon_fence_wait_begin", event.KindFenceWaitStart, fixRadeonWait),
		fence("radeon_fence_wait_end", event.KindFenceWaitEnd, fixRadeonWait),
	}
}

func fixRadeonJob(e *event.Event, s *scratch) {
	fixCard(e, s)
	if n, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldRing, "ring"+smallNumber(n))
	}
	if n, ok := s.get(tmpB); ok {
		e.SetUint(event.FieldSchedJobID, n)
		e.SetUint(event.FieldFenceSeqno, n)
	}
}

func fixRadeonWait(e *event.Event, s *scratch) {
	fixCard(e, s)
	ring, ok1 := s.get(tmpA)
	n, ok2 := s.get(tmpB)
	if ok1 && ok2 {
		e.SetStr(event.FieldTimeline, "ring"+smallNumber(ring))
		e.SetUint(event.FieldSchedJobID, n)
	}
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
		{system: "kgsl", name: "kgsl_pwrlevel", kind: event.KindCounter, called: "gpu_frequency", unit: "Hz", binds: []bind{ // kgsl_trace.h
			{key: "d_name", field: event.FieldDevice, conv: convWord}, {key: "device_name", field: event.FieldDevice, conv: convWord},
			{key: "freq", conv: convUint, tmp: tmpA}, {key: "pwrlevel", conv: convIgnore}, {key: "prev_pwrlevel", conv: convIgnore}, {key: "prev_freq", conv: convIgnore},
		}, fix: fixValue},
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
