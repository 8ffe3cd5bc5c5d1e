package ftrace

import (
	"bytes"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// engines are the names that i915 gives to the classes of I915_ENGINE_CLASS_*.
var engines = [...]string{"rcs", "bcs", "vcs", "vecs", "ccs"}

// i915Tracepoints (drivers/gpu/drm/i915/i915_trace.h since 4.17): context and
// number are those of the request's own fence. Queue and add fire in the
// submitting thread; submit (its dependencies are met), execute, in and out (on
// and off the hardware) only with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS. Retire
// comes any time later, and tells no end. Up to 4.20 there were ring (engine id)
// for engine, hw_id, and global, the number on the engine, which
// intel_engine_notify shows when an interrupt has completed it.
func i915Tracepoints() []tracepoint {
	binds := i915Binds(bind{key: "ctx", field: event.FieldFenceContext, conv: convUint},
		bind{key: "seqno", field: event.FieldFenceSeqno, conv: convUint})
	job := func(name string, k event.Kind, called string, fix func(*event.Event, *scratch)) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, origin: "i915", called: called, comma: true, binds: binds, fix: fix}
	}
	wait := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, driver: "i915", comma: true, binds: []bind{
			{key: "dev", conv: convIgnore}, {key: "engine", conv: convIgnore}, {key: "ring", conv: convIgnore}, {key: "class", conv: convIgnore},
			{key: "instance", conv: convIgnore}, {key: "hw_id", conv: convIgnore}, {key: "global", conv: convIgnore}, {key: "flags", conv: convIgnore},
			{key: "blocking", conv: convIgnore}, {key: "tail", conv: convIgnore},
			{key: "ctx", field: event.FieldFenceContext, conv: convUint}, {key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
		}}
	}
	return []tracepoint{
		job("i915_request_queue", event.KindJobQueue, "", fixEngine),
		job("i915_request_add", event.KindJobQueue, "", fixEngine),
		job("i915_request_submit", event.KindJobNote, event.NoteReady, fixEngine),
		job("i915_request_execute", event.KindJobNote, "execute", fixEngine),
		job("i915_request_guc_submit", event.KindJobNote, "guc_submit", fixEngine),
		job("i915_request_in", event.KindJobRun, "", fixEngine),
		job("i915_request_out", event.KindJobDone, "", fixRequestOut),
		job("i915_request_retire", event.KindJobNote, event.NoteRetired, fixEngine),
		wait("i915_request_wait_begin", event.KindFenceWaitStart),
		wait("i915_request_wait_end", event.KindFenceWaitEnd),
		{system: "i915", name: "intel_engine_notify", kind: event.KindJobNote, origin: "i915", called: event.NoteCompleted, comma: true,
			binds: i915Binds(bind{key: "ctx", conv: convIgnore}, bind{key: "seqno", field: event.FieldHWFenceSeqno, conv: convUint}), fix: fixEngine},
	}
}

func i915Binds(ctx, seqno bind) []bind {
	return []bind{
		{key: "dev", conv: convUint, tmp: tmpCard},
		{key: "engine", conv: convPair, tmp: tmpA},
		{key: "ring", conv: convUint, tmp: tmpA},
		{key: "class", conv: convUint, tmp: tmpA},
		{key: "instance", conv: convUint, tmp: tmpB},
		ctx, seqno,
		{key: "global", field: event.FieldHWFenceSeqno, conv: convUint},
		{key: "global_seqno", field: event.FieldHWFenceSeqno, conv: convUint},
		{key: "completed?", conv: convUint, tmp: tmpC},
		{key: "completed", conv: convUint, tmp: tmpC},
	}
}

func fixEngine(e *event.Event, s *scratch) {
	fixCard(e, s)
	class, ok1 := s.get(tmpA)
	inst, ok2 := s.get(tmpB)
	switch {
	case !ok1:
	case !ok2: // the engine's id, which means another engine from version to version
		e.SetStr(event.FieldRing, "ring"+smallNumber(class))
	case class < uint64(len(engines)):
		e.SetStr(event.FieldRing, engines[class]+smallNumber(inst))
	default:
		e.SetStr(event.FieldRing, "class"+strconv.FormatUint(class, 10)+"_"+smallNumber(inst))
	}
	if n, ok := e.Uint(event.FieldHWFenceSeqno); ok && n == 0 {
		e.Clear(event.FieldHWFenceSeqno) // not on the engine yet
	}
}

// fixRequestOut: a request that went off the hardware and is not complete was
// preempted: that is no end of it.
func fixRequestOut(e *event.Event, s *scratch) {
	fixEngine(e, s)
	if done, ok := s.get(tmpC); !ok || done != 0 {
		return
	}
	becomeNote(e, event.NotePreempted)
}

// becomeNote makes a note of a job's event: both kinds have the same fields.
func becomeNote(e *event.Event, what string) {
	h := *e
	e.Reset(event.KindJobNote, h.Time)
	e.CPU, e.PID, e.TID, e.Comm, e.Source, e.Flags = h.CPU, h.PID, h.TID, h.Comm, h.Source, h.Flags
	for _, f := range h.Kind.Spec().Fields {
		switch {
		case !h.Has(f):
		case f.Spec().Type == event.TypeString || f.Spec().Type == event.TypeText:
			e.SetStr(f, h.Str(f))
		default:
			v, _ := h.Uint(f)
			e.SetUint(f, v)
		}
	}
	e.SetStr(event.FieldName, what)
}

// i915GemTracepoints are those before 4.17. The number counts per ring up to
// 4.8, without a context; then it is that of the request's fence, and ctx the
// number of the hardware's context (4.9 to 4.12) or of the fence's (from 4.13
// on): the text is the same, so that it names no fence. Up to 4.8 the interrupt
// (complete, later called notify) shows the number that its ring has completed,
// from then on the number on the engine, global.
func i915GemTracepoints() []tracepoint {
	binds := i915Binds(bind{key: "ctx", conv: convUint, tmp: tmpC}, bind{key: "seqno", field: event.FieldSchedJobID, conv: convUint})
	binds = append(binds[:len(binds)-2], bind{key: "flags", conv: convIgnore}, bind{key: "uniq", conv: convIgnore}) // completed came later
	job := func(name string, k event.Kind, called string) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, origin: i915Gem, called: called, comma: true, binds: binds, fix: fixGem}
	}
	wait := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "i915", name: name, kind: k, driver: i915Gem, comma: true, binds: []bind{
			{key: "dev", conv: convUint, tmp: tmpCard}, {key: "ring", conv: convUint, tmp: tmpA}, {key: "ctx", conv: convUint, tmp: tmpC},
			{key: "seqno", field: event.FieldSchedJobID, conv: convUint},
			{key: "global", conv: convIgnore}, {key: "blocking", conv: convIgnore}, {key: "flags", conv: convIgnore},
		}, fix: fixGem}
	}
	return []tracepoint{
		job("i915_gem_ring_dispatch", event.KindJobQueue, ""),
		job("i915_gem_request_queue", event.KindJobQueue, ""),
		job("i915_gem_request_add", event.KindJobQueue, ""),
		job("i915_gem_request_submit", event.KindJobNote, event.NoteReady),
		job("i915_gem_request_execute", event.KindJobNote, "execute"),
		job("i915_gem_request_in", event.KindJobRun, ""),
		job("i915_gem_request_out", event.KindJobDone, ""),
		job("i915_gem_request_retire", event.KindJobNote, event.NoteRetired),
		job("i915_gem_request_complete", event.KindJobNote, event.NoteCompleted),
		job("i915_gem_request_notify", event.KindJobNote, event.NoteCompleted),
		wait("i915_gem_request_wait_begin", event.KindFenceWaitStart),
		wait("i915_gem_request_wait_end", event.KindFenceWaitEnd),
	}
}

const i915Gem = "i915_gem"

func fixGem(e *event.Event, s *scratch) {
	fixCard(e, s)
	ring, ok := s.get(tmpA)
	if !ok {
		return
	}
	line := "ring" + smallNumber(ring)
	ctx, hasCtx := s.get(tmpC)
	if e.Kind != event.KindFenceWaitStart && e.Kind != event.KindFenceWaitEnd {
		e.SetStr(event.FieldRing, line)
		if n, ok := e.Uint(event.FieldHWFenceSeqno); ok && n == 0 {
			e.Clear(event.FieldHWFenceSeqno) // not on the engine yet
		}
		if hasCtx {
			e.SetUint(event.FieldFenceContext, ctx) // perhaps: without a number it names no fence
		}
	}
	if hasCtx {
		line += " ctx " + smallNumber(ctx)
	}
	e.SetStr(event.FieldTimeline, line)
}

// xeTracepoints (drivers/gpu/drm/xe/xe_trace.h): the fence is the job's own, by
// its address; the scheduler's events name another one, the finished fence. exec
// comes right before the scheduler's queue event, run right after its run event,
// on the same thread. xe tells its hardware fences by address and key, when they
// are made and once they have signalled. A job names its queue by the number
// that the GuC knows it by; the queue's own events tell its class too.
func xeTracepoints() []tracepoint {
	job := func(name string, k event.Kind, called string) tracepoint {
		return tracepoint{system: "xe", name: name, kind: k, origin: "xe", called: called, comma: true, binds: []bind{
			{key: "dev", field: event.FieldDevice, conv: convStr},
			{key: "fence", conv: convFence},
			{key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
			{key: "error", field: event.FieldError, conv: convInt},
			{key: "guc_id", conv: convUint, tmp: tmpA},
		}, fix: fixXe}
	}
	fence := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "xe", name: name, kind: k, driver: "xe", comma: true, binds: []bind{
			{key: "dev", field: event.FieldDevice, conv: convStr},
			{key: "ctx", field: event.FieldFenceContext, conv: convHex},
			{key: "fence", field: event.FieldFencePtr, conv: convPtr},
			{key: "seqno", field: event.FieldFenceSeqno, conv: convUint},
		}}
	}
	l := []tracepoint{
		job("xe_sched_job_exec", event.KindJobQueue, ""),
		job("xe_sched_job_run", event.KindJobRun, ""),
		job("xe_sched_job_timedout", event.KindJobNote, event.NoteTimedOut),
		job("xe_sched_job_set_error", event.KindJobNote, event.NoteError),
		job("xe_sched_job_ban", event.KindJobNote, "ban"),
		job("xe_sched_job_free", event.KindJobNote, event.NoteRetired),
		fence("xe_hw_fence_create", event.KindFenceEmit),
		fence("xe_hw_fence_signal", event.KindFenceSignal),
	}
	for _, name := range []string{"create", "submit", "register", "scheduling_enable", "scheduling_disable", "scheduling_done",
		"deregister", "deregister_done", "close", "kill", "cleanup_entity", "destroy", "memory_cat_error", "stop", "resubmit", "lr_cleanup"} {
		l = append(l, xeQueue(name, event.KindJobNote))
	}
	return append(l, xeQueue("reset", event.KindReset))
}

// xeQueue is an event of an exec queue: its class and the engines that it may
// run on stand before the first key, as "3:0x1".
func xeQueue(name string, k event.Kind) tracepoint {
	return tracepoint{system: "xe", name: "xe_exec_queue_" + name, kind: k, origin: "xe", called: "xe_exec_queue_" + name, comma: true, binds: []bind{
		{key: "dev", field: event.FieldDevice, conv: convStr},
		{key: "class", conv: convUint, tmp: tmpB},
		{key: "guc_id", conv: convUint, tmp: tmpA},
	}, fix: fixXe, text: textXeQueue}
}

// xeEngines are the names of enum xe_engine_class (xe_hw_engine_types.h), which
// xe_exec_queue_assign_name in xe_exec_queue.c makes names of queues of.
var xeEngines = [...]string{"rcs", "vcs", "vecs", "bcs", "gsccs", "ccs"}

// fixXe names the queue by its number, and its ring as the scheduler does: by
// class and number.
func fixXe(e *event.Event, s *scratch) {
	id, ok := s.get(tmpA)
	if !ok {
		return
	}
	e.SetStr(event.FieldTimeline, "guc_id "+smallNumber(id))
	if class, ok := s.get(tmpB); ok && class < uint64(len(xeEngines)) {
		e.SetStr(event.FieldRing, xeEngines[class]+smallNumber(id))
	}
}

// textXeQueue takes "3:0x1" off a text, wherever it stands.
func textXeQueue(m *TextMapper, e *event.Event, p []byte) bool {
	for rest := p; len(rest) > 0; {
		var loose []byte
		_, _, loose, rest = nextComma(rest)
		class, mask, ok := bytes.Cut(loose, []byte(":0x"))
		if v, isNum := parseNumber(class, false); ok && isNum && len(mask) > 0 {
			m.scr.set(tmpB, v)
		}
	}
	return false
}
