package ftrace

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

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

// kgslTracepoints (adreno_trace.h, kgsl_trace.h of the vendors' kernels): a
// command batch is named by its context and its timestamp, which counts per
// context. start and retire are ticks of the GPU's counter. A wait ends under
// no name: it is the one that its thread began.
func kgslTracepoints() []tracepoint {
	binds := []bind{
		{key: "ctx", conv: convUint, tmp: tmpA},
		{key: "context_id", conv: convUint, tmp: tmpA},
		{key: "id", conv: convUint, tmp: tmpA},
		{key: "ts", field: event.FieldSchedJobID, conv: convUint},
		{key: "timestamp", field: event.FieldSchedJobID, conv: convUint},
		{key: "wait_ts", field: event.FieldSchedJobID, conv: convUint},
		{key: "rb_id", conv: convInt, tmp: tmpB},
	}
	batch := func(name string, k event.Kind, called string) tracepoint {
		return tracepoint{system: "kgsl", name: name, kind: k, origin: "kgsl", called: called, binds: binds, fix: fixKGSL}
	}
	waitBinds := append(binds[:len(binds)-1:len(binds)-1],
		bind{key: "d_name", conv: convIgnore}, bind{key: "device_name", conv: convIgnore}, bind{key: "curr_ts", conv: convIgnore},
		bind{key: "timeout", conv: convIgnore}, bind{key: "result", field: event.FieldError, conv: convInt})
	wait := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "kgsl", name: name, kind: k, driver: "kgsl", binds: waitBinds, fix: fixKGSLWait}
	}
	return []tracepoint{
		batch("adreno_cmdbatch_queued", event.KindJobQueue, ""),
		batch("adreno_cmdbatch_submitted", event.KindJobRun, ""),
		batch("adreno_cmdbatch_retired", event.KindJobDone, ""),
		batch("adreno_cmdbatch_fault", event.KindJobNote, event.NoteFault),
		batch("adreno_cmdbatch_recovery", event.KindJobNote, event.NoteRecovery),
		wait("kgsl_waittimestamp_entry", event.KindFenceWaitStart),
		wait("kgsl_waittimestamp_exit", event.KindFenceWaitEnd),
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

func fixKGSLWait(e *event.Event, s *scratch) {
	if n, ok := s.get(tmpA); ok {
		e.SetStr(event.FieldTimeline, "ctx "+smallNumber(n))
	}
	if v, ok := e.Int(event.FieldError); ok && v >= 0 {
		e.Clear(event.FieldError)
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

// kbaseTracepoints are those of Arm's driver for GPUs with a job manager
// (mali_kbase_debug_linux_ktrace_jm.h): a job is not named, its slot and its
// context are. A slot holds up to two, and ends them in the order in which it
// took them.
func kbaseTracepoints() []tracepoint {
	slot := func(name string, k event.Kind) tracepoint {
		return tracepoint{system: "mali", name: "mali_" + name, kind: k, origin: "mali_kbase", binds: []bind{
			{key: "kctx", field: event.FieldTimeline, conv: convWord},
			{key: "kctx_tgid", conv: convUint, tmp: tmpA},
			{key: "kctx_id", conv: convUint, tmp: tmpB},
			{key: "jobslot", conv: convUint, tmp: tmpC},
		}, fix: fixKbase}
	}
	begin, end := slot("JM_BEGIN_RESET_WORKER", event.KindReset), slot("JM_END_RESET_WORKER", event.KindReset)
	begin.called, end.called = "mali_JM_RESET", "mali_JM_RESET"
	begin.fix, end.fix = nil, func(e *event.Event, _ *scratch) { e.SetUint(event.FieldStep, resetOver) }
	return []tracepoint{slot("JM_SUBMIT", event.KindJobRun), slot("JM_JOB_DONE", event.KindJobDone), begin, end}
}

func fixKbase(e *event.Event, s *scratch) {
	tgid, ok1 := s.get(tmpA)
	id, ok2 := s.get(tmpB)
	if ok1 && ok2 { // text says it in one word: kctx=1234_5
		e.SetStr(event.FieldTimeline, strconv.FormatUint(tgid, 10)+"_"+strconv.FormatUint(id, 10))
	}
	if n, ok := s.get(tmpC); ok {
		e.SetStr(event.FieldRing, "job_slot_"+smallNumber(n))
	}
}
