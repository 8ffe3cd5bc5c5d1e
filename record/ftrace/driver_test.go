package ftrace

import (
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// TestRecordDrivers: drivers' events as the kernel's ring buffer holds them,
// laid out as their TP_STRUCT__entry are.
func TestRecordDrivers(t *testing.T) {
	const (
		i915   = "	field:u32 dev;	offset:8;	size:4;	signed:0;\n	field:u64 ctx;	offset:16;	size:8;	signed:0;\n	field:u16 class;	offset:24;	size:2;	signed:0;\n	field:u16 instance;	offset:26;	size:2;	signed:0;\n	field:u32 seqno;	offset:28;	size:4;	signed:0;\n	field:u32 completed;	offset:32;	size:4;	signed:0;\n"
		msm    = "	field:pid_t pid;	offset:8;	size:4;	signed:1;\n	field:u32 id;	offset:12;	size:4;	signed:0;\n	field:u32 ringid;	offset:16;	size:4;	signed:0;\n	field:u32 seqno;	offset:20;	size:4;	signed:0;\n	field:u64 elapsed;	offset:24;	size:8;	signed:0;\n"
		v3d    = "	field:u32 dev;	offset:8;	size:4;	signed:0;\n	field:bool is_render;	offset:12;	size:1;	signed:0;\n	field:u64 seqno;	offset:16;	size:8;	signed:0;\n"
		sched  = "	field:__data_loc char[] gpu_name;	offset:8;	size:4;	signed:0;\n	field:u64 timestamp;	offset:16;	size:8;	signed:0;\n	field:u32 next_ctx_id;	offset:24;	size:4;	signed:0;\n	field:s32 next_prio;	offset:28;	size:4;	signed:1;\n	field:u32 next_job_id;	offset:32;	size:4;	signed:0;\n"
		gem    = "	field:u32 dev;	offset:8;	size:4;	signed:0;\n	field:u32 ring;	offset:12;	size:4;	signed:0;\n	field:u32 seqno;	offset:16;	size:4;	signed:0;\n	field:u32 global_seqno;	offset:20;	size:4;	signed:0;\n	field:u32 ctx;	offset:24;	size:4;	signed:0;\n	field:u32 port;	offset:28;	size:4;	signed:0;\n"
		queue  = "	field:__data_loc char[] dev;	offset:8;	size:4;	signed:0;\n	field:enum xe_engine_class class;	offset:12;	size:4;	signed:0;\n	field:u32 logical_mask;	offset:16;	size:4;	signed:0;\n	field:u16 guc_id;	offset:22;	size:2;	signed:0;\n"
		jobIRQ = "	field:__data_loc char[] dev_name;	offset:8;	size:4;	signed:0;\n	field:u32 events;	offset:12;	size:4;	signed:0;\n	field:u32 duration_ns;	offset:16;	size:4;	signed:0;\n"
	)
	out := func(completed uint32) rec {
		return newRec(1, 77).u32(1).u32(0).u64(1<<32 + 5).u32(1<<16 | 2).u32(9).u32(completed)
	}
	slot := func(job uint32) rec {
		return newRec(1, 77).u32(loc(36, 5)).u32(0).u64(100).u32(16).u32(0xffffffff).u32(job).str("slot")
	}
	for _, c := range []struct {
		system, name, fields string
		rec                  rec
		kind                 event.Kind
		want                 map[event.Field]any
	}{
		{"i915", "i915_request_out", i915, out(1), event.KindJobDone, map[event.Field]any{
			event.FieldOrigin: "i915", event.FieldDevice: "card1", event.FieldRing: "vcs1", event.FieldFenceContext: 1<<32 + 5, event.FieldFenceSeqno: 9}},
		{"i915", "i915_request_out", i915, out(0), event.KindJobNote, map[event.Field]any{
			event.FieldName: "preempted", event.FieldOrigin: "i915", event.FieldDevice: "card1", event.FieldRing: "vcs1", event.FieldFenceContext: 1<<32 + 5, event.FieldFenceSeqno: 9}},
		{"drm_msm_gpu", "msm_gpu_submit_retired", msm, newRec(1, 77).u32(70).u32(164270).u32(1).u32(164271).u64(11198437), event.KindJobDone, map[event.Field]any{
			event.FieldOrigin: "msm", event.FieldRing: "gpu-ring-1", event.FieldSchedJobID: 164270, event.FieldHWFenceSeqno: 164271, event.FieldElapsed: 11198437, event.FieldArgs: `{"pid":70}`}},
		{"v3d", "v3d_submit_cl", v3d, newRec(1, 77).u32(0).u32(1).u64(3), event.KindJobRun, map[event.Field]any{
			event.FieldOrigin: "v3d", event.FieldDevice: "card0", event.FieldRing: "v3d_render", event.FieldSchedJobID: 3}},
		{"gpu", "gpu_sched_switch", sched, slot(7), event.KindJobRun, map[event.Field]any{
			event.FieldOrigin: "mali", event.FieldRing: "slot", event.FieldTimeline: "ctx 16", event.FieldSchedJobID: 7, event.FieldStart: 100, event.FieldArgs: `{"next_prio":-1}`}},
		{"i915", "i915_gem_request_in", gem, newRec(1, 77).u32(0).u32(1).u32(41).u32(900).u32(26).u32(1), event.KindJobRun, map[event.Field]any{
			event.FieldOrigin: "i915_gem", event.FieldDevice: "card0", event.FieldRing: "ring1", event.FieldTimeline: "ring1 ctx 26", event.FieldFenceContext: 26,
			event.FieldSchedJobID: 41, event.FieldHWFenceSeqno: 900, event.FieldArgs: `{"port":1}`}},
		{"xe", "xe_exec_queue_reset", queue, newRec(1, 77).u32(loc(28, 4)).u32(5).u32(1).u32(3 << 16).u32(0).str("0:0"), event.KindReset, map[event.Field]any{
			event.FieldName: "xe_exec_queue_reset", event.FieldOrigin: "xe", event.FieldDevice: "0:0", event.FieldRing: "ccs3", event.FieldTimeline: "guc_id 3", event.FieldArgs: `{"logical_mask":1}`}},
		{"panthor", "gpu_job_irq", jobIRQ, newRec(1, 77).u32(loc(20, 4)).u32(3).u32(23).str("gpu"), event.KindIRQExit, map[event.Field]any{
			event.FieldName: "gpu_job_irq", event.FieldDriver: "panthor", event.FieldDevice: "gpu", event.FieldStart: 100, event.FieldArgs: `{"events":3}`}},
		{"gpu", "gpu_sched_switch", sched, slot(0), event.KindJobDone, map[event.Field]any{
			event.FieldOrigin: "mali", event.FieldRing: "slot", event.FieldStart: 100, event.FieldArgs: `{"next_prio":-1}`}},
	} {
		e := decodeOne(t, format(t, c.system, c.name, 1, c.fields), c.rec)
		want(t, &e, c.kind, c.want)
	}
}
