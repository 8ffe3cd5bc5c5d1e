package perfetto

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// ftraceSpec says what an event of Perfetto's numbering is.
type ftraceSpec struct {
	name   string // as the kernel has it
	source string // "system:event"
	kind   event.Kind
	fields []string // by number, from 1
	// direct fills in an event of kind.
	direct func(r *reader, e *event.Event, m *message)
	// text puts the event as the kernel prints it, for package ftrace to read.
	text func(r *reader, b []byte, body []byte) []byte
}

// ftraceEvents are the events that are known, by their number in FtraceEvent.
// What is in none of the forms is kept as [event.KindOther] with its fields.
var ftraceEvents = sync.OnceValue(func() map[uint32]*ftraceSpec {
	m := map[uint32]*ftraceSpec{}
	direct := func(num uint32, system, name string, k event.Kind, f func(*reader, *event.Event, *message)) {
		m[num] = &ftraceSpec{name: name, source: system + ":" + name, kind: k, direct: f}
	}
	direct(4, "sched", "sched_switch", event.KindSchedSwitch, schedSwitch)
	direct(17, "sched", "sched_wakeup", event.KindSchedWakeup, schedWake)
	direct(20, "sched", "sched_waking", event.KindSchedWaking, schedWake)
	direct(114, "sched", "sched_wakeup_new", event.KindSchedWakeup, schedWake)
	direct(36, "irq", "irq_handler_entry", event.KindIRQEntry, irqEntry)
	direct(37, "irq", "irq_handler_exit", event.KindIRQExit, irqExit)
	const sched = "gpu_scheduler"
	direct(411, sched, "drm_sched_job", event.KindJobQueue, legacyJob)
	direct(412, sched, "drm_run_job", event.KindJobRun, legacyJob)
	direct(413, sched, "drm_sched_process_job", event.KindJobDone, legacyDone)
	direct(591, sched, "drm_sched_job_add_dep", event.KindJobDep, jobDep)
	direct(592, sched, "drm_sched_job_done", event.KindJobDone, jobDone)
	direct(593, sched, "drm_sched_job_queue", event.KindJobQueue, newJob)
	direct(594, sched, "drm_sched_job_run", event.KindJobRun, newJob)
	direct(595, sched, "drm_sched_job_unschedulable", event.KindJobDep, jobUnschedulable)
	for i, f := range []struct {
		name string
		kind event.Kind
	}{
		{"init", event.KindFenceInit}, {"emit", event.KindFenceEmit}, {"signaled", event.KindFenceSignal},
		{"wait_start", event.KindFenceWaitStart}, {"wait_end", event.KindFenceWaitEnd},
	} {
		direct(uint32(414+i), "dma_fence", "dma_fence_"+f.name, f.kind, fence)
	}
	for i, f := range []struct {
		name string
		kind event.Kind
	}{{"init", event.KindFenceInit}, {"destroy", event.KindFenceDestroy}, {"enable_signal", event.KindFenceEnable}, {"signaled", event.KindFenceSignal}} {
		direct(uint32(316+i), "fence", "fence_"+f.name, f.kind, fence)
	}
	for num, name := range map[uint32]string{3: "print", 80: "tracing_mark_write"} {
		m[num] = &ftraceSpec{name: "tracing_mark_write", source: "ftrace:" + name, text: printText}
	}
	texts(m)
	names(m)
	return m
})

// texts are events that package ftrace reads as the kernel prints them, in
// the order and with the names of Perfetto's fields.
func texts(m map[uint32]*ftraceSpec) {
	for num, s := range map[uint32]struct {
		name   string
		fields []string
	}{
		235: {"task_newtask", []string{"pid", "comm", "clone_flags:x", "oom_score_adj"}},
		236: {"task_rename", []string{"pid", "oldcomm", "newcomm", "oom_score_adj"}},
		237: {"sched_process_exec", []string{"filename", "pid", "old_pid"}},
		238: {"sched_process_exit", []string{"comm", "pid", "tgid", "prio"}},
		239: {"sched_process_fork", []string{"parent_comm", "parent_pid", "child_comm", "child_pid"}},
		332: {"gpu_frequency", []string{"gpu_id", "state"}},
		340: {"gpu_mem_total", []string{"gpu_id", "pid", "size"}},
		468: {"virtio_gpu_cmd_queue", virtioFields},
		469: {"virtio_gpu_cmd_response", virtioFields},
		488: {"gpu_work_period", []string{"gpu_id", "uid", "start_time_ns", "end_time_ns", "total_active_duration_ns"}},
		534: {"adreno_cmdbatch_queued", []string{"id", "timestamp", "queued", "flags", "prio:d"}},
		535: {"adreno_cmdbatch_submitted", []string{"id", "timestamp", "inflight:d", "flags", "ticks", "secs", "usecs", "prio:d"}},
		537: {"adreno_cmdbatch_retired", []string{"id", "timestamp", "inflight:d", "recovery", "flags", "start", "retire", "prio:d"}},
	} {
		fields := s.fields
		m[num] = &ftraceSpec{name: s.name, source: s.name, text: func(r *reader, b, body []byte) []byte { return r.pairText(b, s.name, fields, body) }}
	}
	m[409] = &ftraceSpec{name: "drm_vblank_event", source: "drm:drm_vblank_event", text: vblankText}
	m[329] = &ftraceSpec{name: "sys_enter", source: "raw_syscalls:sys_enter", text: sysEnterText}
	m[330] = &ftraceSpec{name: "sys_exit", source: "raw_syscalls:sys_exit", text: sysExitText}
}

var virtioFields = []string{"ctx_id", "dev", "fence_id:d", "flags:x", "name", "num_free", "seqno", "type:x", "vq"}

// names are events kept with their fields: those of GPUs and their power.
func names(m map[uint32]*ftraceSpec) {
	add := func(num uint32, source string, fields ...string) {
		name := source[bytes.IndexByte([]byte(source), ':')+1:]
		m[num] = &ftraceSpec{name: name, source: source, fields: fields}
	}
	add(11, "power:cpu_frequency", "state", "cpu_id")
	add(13, "power:cpu_idle", "state", "cpu_id")
	add(18, "sched:sched_blocked_reason", "pid", "caller", "io_wait", "caller_str")
	add(24, "irq:softirq_entry", "vec")
	add(25, "irq:softirq_exit", "vec")
	add(26, "irq:softirq_raise", "vec")
	add(113, "power:suspend_resume", "action", "val", "start")
	add(240, "sched:sched_process_free", "comm", "pid", "prio")
	add(313, "kmem:rss_stat", "member", "size", "curr", "mm_id")
	add(324, "signal:signal_deliver", "code", "sa_flags", "sig")
	add(325, "signal:signal_generate", "code", "comm", "group", "pid", "result", "sig")
	add(341, "thermal:thermal_temperature", "id", "temp", "temp_prev", "thermal_zone")
	add(410, "drm:drm_vblank_event_delivered", "crtc", "file", "seq")
	add(470, "mali:mali_KCPU_CQS_SET", "id", "info_val1", "info_val2", "kctx_id", "kctx_tgid")
	add(471, "mali:mali_KCPU_CQS_WAIT_START", "id", "info_val1", "info_val2", "kctx_id", "kctx_tgid")
	add(472, "mali:mali_KCPU_CQS_WAIT_END", "id", "info_val1", "info_val2", "kctx_id", "kctx_tgid")
	add(473, "mali:mali_KCPU_FENCE_SIGNAL", "info_val1", "info_val2", "kctx_tgid", "kctx_id", "id")
	add(474, "mali:mali_KCPU_FENCE_WAIT_START", "info_val1", "info_val2", "kctx_tgid", "kctx_id", "id")
	add(475, "mali:mali_KCPU_FENCE_WAIT_END", "info_val1", "info_val2", "kctx_tgid", "kctx_id", "id")
	add(491, "sched:sched_migrate_task", "comm", "pid", "prio", "orig_cpu", "dest_cpu")
	add(509, "kgsl:kgsl_gpu_frequency", "gpu_freq", "gpu_id")
	add(536, "kgsl:adreno_cmdbatch_sync", "id", "timestamp", "ticks", "prio")
}

// printText is the text of trace_marker: {ip 1, buf 2}, or {trace_name 2, trace_begin 3} of old.
func printText(_ *reader, b, body []byte) []byte {
	var f field
	for m := (message{b: body}); m.next(&f); {
		if f.num == 2 && f.wire == wireBytes {
			b = append(b, f.b...)
		}
	}
	return b
}

// pairText puts fields of an event as "name=value"; ":x" behind a name asks for hexadecimal.
func (r *reader) pairText(b []byte, event string, fields []string, body []byte) []byte {
	var f field
	n := 0
	for m := (message{b: body}); m.next(&f); {
		if int(f.num) > len(fields) {
			r.noteAt(&AnomalyFieldNotKept, 1, "field %d of %s", f.num, event)
			continue
		}
		name := fields[f.num-1]
		base, hex := bytes.CutSuffix([]byte(name), []byte(":x"))
		if hex && f.wire == wireVarint {
			if n > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendUint(append(append(b, base...), "=0x"...), f.v, 16)
		} else {
			b = appendPair(b, n, string(bytes.TrimSuffix(base, []byte(":d"))), &f, true)
		}
		n++
	}
	return b
}

// vblankText is "crtc=0, seq=1, time=2, high-prec=true" from {crtc 1, high_prec 2, seq 3, time 4}.
func vblankText(_ *reader, b, body []byte) []byte {
	var f field
	var v [5]uint64
	for m := (message{b: body}); m.next(&f); {
		if f.num < uint32(len(v)) && f.wire == wireVarint {
			v[f.num] = f.v
		}
	}
	b = strconv.AppendInt(append(b, "crtc="...), int64(v[1]), 10)
	b = strconv.AppendUint(append(b, ", seq="...), v[3], 10)
	b = strconv.AppendInt(append(b, ", time="...), int64(v[4]), 10)
	return strconv.AppendBool(append(b, ", high-prec="...), v[2] != 0)
}

// sysEnterText is "NR 16 (3, c0306440, …)" from {id 1, args 2}.
func sysEnterText(_ *reader, b, body []byte) []byte {
	var f field
	var list []byte
	for m := (message{b: body}); m.next(&f); {
		switch f.num {
		case 1:
			b = strconv.AppendInt(append(b, "NR "...), int64(f.v), 10)
		case 2:
			f.packed(func(v uint64) {
				if len(list) > 0 {
					list = append(list, ", "...)
				}
				list = strconv.AppendUint(list, v, 16)
			})
		}
	}
	return append(append(append(b, " ("...), list...), ')')
}

// sysExitText is "NR 16 = -11" from {id 1, ret 2}.
func sysExitText(_ *reader, b, body []byte) []byte {
	var f field
	for m := (message{b: body}); m.next(&f); {
		switch f.num {
		case 1:
			b = strconv.AppendInt(append(b, "NR "...), int64(f.v), 10)
		case 2:
			b = strconv.AppendInt(append(b, " = "...), int64(f.v), 10)
		}
	}
	return b
}
