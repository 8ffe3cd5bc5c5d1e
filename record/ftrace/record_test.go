package ftrace

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// rec builds a little-endian record field by field.
type rec []byte

func newRec(id uint16, pid uint32) rec {
	return binary.LittleEndian.AppendUint32(append(binary.LittleEndian.AppendUint16(nil, id), 0, 0), pid)
}
func (r rec) u32(v uint32) rec { return binary.LittleEndian.AppendUint32(r, v) }
func (r rec) u64(v uint64) rec { return binary.LittleEndian.AppendUint64(r, v) }
func (r rec) str(s string) rec { return append(append(r, s...), 0) }

// loc is a __data_loc word: length and offset.
func loc(off, n int) uint32 { return uint32(n)<<16 | uint32(off) }

func decodeOne(t *testing.T, f *Format, r rec) event.Event {
	t.Helper()
	d, err := NewDecoder(DefaultLayout(), []*Format{f}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.SetTask(77, 70, "glx:cs0")
	var b event.Batch
	e := *d.Record(1, 123, r, &b)
	if e.TID != 77 || e.PID != 70 || e.Comm != "glx:cs0" || e.CPU != 1 || e.Time != 123 {
		t.Errorf("head: %+v", e)
	}
	return e
}

// want compares the set fields of an event: numbers as int64, strings, pointers.
func want(t *testing.T, e *event.Event, kind event.Kind, fields map[event.Field]any) {
	t.Helper()
	if e.Kind != kind {
		t.Fatalf("kind %v, want %v", e.Kind, kind)
	}
	for _, f := range kind.Spec().Fields {
		w, ok := fields[f]
		if e.Has(f) != ok {
			t.Errorf("%v: set %v, want %v", f, e.Has(f), ok)
			continue
		}
		switch w := w.(type) {
		case string:
			if e.Str(f) != w {
				t.Errorf("%v = %q, want %q", f, e.Str(f), w)
			}
		case int:
			if v, _ := e.Int(f); v != int64(w) {
				t.Errorf("%v = %d, want %d", f, v, w)
			}
		case uint64:
			if v, _ := e.Uint(f); v != w {
				t.Errorf("%v = %d, want %d", f, v, w)
			}
		}
	}
}

// Offsets of the RT kernel's longer common part.
func TestRecordLongCommonPart(t *testing.T) {
	f, err := ParseFormat("gpu_scheduler", []byte(rtFormat))
	if err != nil {
		t.Fatal(err)
	}
	r := newRec(700, 77).u64(0).u64(0xff11000004066800).u64(0xff11000004886340).u32(loc(56, 4)).u32(0).u64(9).u32(2).u32(0xffffffff).str("gfx")
	e := decodeOne(t, f, r)
	want(t, &e, event.KindJobRun, map[event.Field]any{
		event.FieldOrigin: "drm_sched", event.FieldEntityPtr: uint64(0xff11000004066800), event.FieldFencePtr: uint64(0xff11000004886340),
		event.FieldRing: "gfx", event.FieldSchedJobID: 9, event.FieldJobCount: 2, event.FieldHWJobCount: -1,
	})
}

// drm_sched_job_queue of 6.17: 64-bit fence, device, client; an unknown field goes into args.
func TestRecordJobQueue617(t *testing.T) {
	f := format(t, "gpu_scheduler", "drm_sched_job_queue", 5, `	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
	field:u32 job_count;	offset:12;	size:4;	signed:0;
	field:int hw_job_count;	offset:16;	size:4;	signed:1;
	field:__data_loc char[] dev;	offset:20;	size:4;	signed:0;
	field:u64 fence_context;	offset:24;	size:8;	signed:0;
	field:u64 fence_seqno;	offset:32;	size:8;	signed:0;
	field:u64 client_id;	offset:40;	size:8;	signed:0;
	field:int credits;	offset:48;	size:4;	signed:1;
`)
	r := newRec(5, 77).u32(loc(52, 4)).u32(3).u32(1).u32(loc(56, 13)).u64(401).u64(1<<32 + 1).u64(1<<64 - 1).u32(0xfffffffe).str("gfx").str("0000:04:00.0")
	e := decodeOne(t, f, r)
	want(t, &e, event.KindJobQueue, map[event.Field]any{
		event.FieldOrigin: "drm_sched_617", event.FieldRing: "gfx", event.FieldDevice: "0000:04:00.0", event.FieldFenceContext: 401,
		event.FieldFenceSeqno: uint64(1<<32 + 1), event.FieldClientID: uint64(1<<64 - 1), event.FieldJobCount: 3, event.FieldHWJobCount: 1,
		event.FieldArgs: `{"credits":-2}`,
	})
	if e.Flags != 0 {
		t.Errorf("flags %v", e.Flags)
	}
}

// The dependency of 6.17: the job's fence and the other one.
func TestRecordUnschedulable(t *testing.T) {
	f := format(t, "gpu_scheduler", "drm_sched_job_unschedulable", 6, `	field:u64 fence_context;	offset:8;	size:8;	signed:0;
	field:u64 fence_seqno;	offset:16;	size:8;	signed:0;
	field:u64 ctx;	offset:24;	size:8;	signed:0;
	field:u64 seqno;	offset:32;	size:8;	signed:0;
`)
	e := decodeOne(t, f, newRec(6, 77).u64(1).u64(2).u64(3).u64(4))
	want(t, &e, event.KindJobDep, map[event.Field]any{
		event.FieldOrigin: "drm_sched_617", event.FieldUnsignalled: 1, event.FieldFenceContext: 1, event.FieldFenceSeqno: 2,
		event.FieldOnFenceContext: 3, event.FieldOnFenceSeqno: 4,
	})
}

// amdgpu_cs_ioctl up to 6.16: 32-bit halves, and a fence field that the driver
// never sets: what is in it must not come out.
func TestRecordAmdgpuCS(t *testing.T) {
	f := format(t, "amdgpu", "amdgpu_cs_ioctl", 7, `	field:uint64_t sched_job_id;	offset:8;	size:8;	signed:0;
	field:__data_loc char[] timeline;	offset:16;	size:4;	signed:0;
	field:unsigned int context;	offset:20;	size:4;	signed:0;
	field:unsigned int seqno;	offset:24;	size:4;	signed:0;
	field:struct dma_fence * fence;	offset:32;	size:8;	signed:0;
	field:__data_loc char[] ring;	offset:40;	size:4;	signed:0;
	field:u32 num_ibs;	offset:44;	size:4;	signed:0;
`)
	r := newRec(7, 77).u64(328).u32(loc(48, 4)).u32(270).u32(73240).u32(0).u64(0xdeadbeefdeadbeef).u32(loc(52, 4)).u32(2).str("gfx").str("gfx")
	e := decodeOne(t, f, r)
	want(t, &e, event.KindJobQueue, map[event.Field]any{
		event.FieldOrigin: "amdgpu", event.FieldBridge: 1, event.FieldSchedJobID: 328, event.FieldTimeline: "gfx", event.FieldRing: "gfx",
		event.FieldFenceContext: 270, event.FieldFenceSeqno: 73240, event.FieldArgs: `{"num_ibs":2}`,
	})
	if e.Flags != event.FlagLow32 {
		t.Errorf("flags %v", e.Flags)
	}
}

// Up to 5.18 the ring's name is an address: unknown, and said so.
func TestRecordNameIsAddress(t *testing.T) {
	f := format(t, "gpu_scheduler", "drm_sched_job", 8, "	field:const char * name;	offset:8;	size:8;	signed:0;\n	field:uint64_t id;	offset:16;	size:8;	signed:0;\n")
	d, err := NewDecoder(DefaultLayout(), []*Format{f}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	e := d.Record(0, 1, newRec(8, 1).u64(0xffffffffc0a01234).u64(4), &b)
	want(t, e, event.KindJobQueue, map[event.Field]any{event.FieldOrigin: "drm_sched", event.FieldSchedJobID: 4})
	if d.Counters().Get(&AnomalyStringPointer) != 1 {
		t.Errorf("anomalies %v", d.Counters().List())
	}
}

func TestRecordSyscalls(t *testing.T) {
	f := format(t, "raw_syscalls", "sys_enter", 9, "	field:long id;	offset:8;	size:8;	signed:1;\n	field:unsigned long args[6];	offset:16;	size:48;	signed:0;\n")
	e := decodeOne(t, f, newRec(9, 77).u64(16).u64(3).u64(0xc0306440).u64(0x7ffc0).u64(1).u64(2).u64(3))
	want(t, &e, event.KindIoctlEnter, map[event.Field]any{event.FieldFD: 3, event.FieldCmd: 0xc0306440, event.FieldArg: 0x7ffc0})
	e = decodeOne(t, f, newRec(9, 77).u64(257).u64(3).u64(4).u64(5).u64(1).u64(2).u64(3))
	want(t, &e, event.KindOther, map[event.Field]any{event.FieldName: "raw_syscalls:sys_enter", event.FieldArgs: `{"id":257,"args":[3,4,5,1,2,3]}`})
}

// The states of a task come from the format itself.
func TestRecordSchedSwitch(t *testing.T) {
	f := format(t, "sched", "sched_switch", 10, `	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;
`)
	f.Print = `"%s", (REC->prev_state & ((0x1 | 0x2) + 1)) ? __print_flags(REC->prev_state & 0xf, "|", { 0x0001, "S" }, { 0x0002, "D" }, { 0x0004, "T" }) : "R", REC->prev_state & 8 ? "+" : "", REC->next_comm`
	for state, letters := range map[uint64]string{0: "R", 1: "S", 2: "D", 3: "S|D", 4: "T", 8: "R+", 9: "S+", 1 << 40: "R"} {
		r := newRec(10, 77)
		r = append(r, "a b\x00junk        "[:16]...)
		r = append(r.u32(77).u32(120).u64(state), "sixteen bytes ok"...)
		r = r.u32(12).u32(0xffffffff)
		e := decodeOne(t, f, r)
		want(t, &e, event.KindSchedSwitch, map[event.Field]any{event.FieldPrevComm: "a b", event.FieldPrevTID: 77, event.FieldPrevPrio: 120,
			event.FieldPrevState: letters, event.FieldNextComm: "sixteen bytes ok", event.FieldNextTID: 12, event.FieldNextPrio: -1})
	}
}

// A print event's text has size 0 in the format: it runs to the record's end.
func TestRecordPrint(t *testing.T) {
	f := format(t, "ftrace", "print", 11, "	field:unsigned long ip;	offset:8;	size:8;	signed:0;\n	field:char buf[];	offset:16;	size:0;	signed:0;\n")
	e := decodeOne(t, f, newRec(11, 77).u64(0x1234).str("B|70|draw\n"))
	want(t, &e, event.KindSliceBegin, map[event.Field]any{event.FieldName: "draw", event.FieldCategory: "atrace"})
	e = decodeOne(t, f, newRec(11, 77).u64(0x1234).str("hello"))
	want(t, &e, event.KindMark, map[event.Field]any{event.FieldName: "hello"})
}

// An event of no known kind keeps all of its fields; one field that has no
// simple type does not cost the others.
func TestRecordOther(t *testing.T) {
	f := format(t, "mod", "ev", 12, `	field:nid_t nid[3];	offset:8;	size:9;	signed:0;
	field:short s[2];	offset:18;	size:4;	signed:1;
	field:void * p;	offset:24;	size:8;	signed:0;
	field:__rel_loc char[] name;	offset:32;	size:4;	signed:0;
	field:u8 one;	offset:36;	size:1;	signed:0;
	field:s64 minus;	offset:40;	size:8;	signed:1;
`)
	r := newRec(12, 77)
	r = append(r, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0)
	r = append(r, 0xff, 0xff, 2, 0, 0, 0)
	r = r.u64(0xffff8000).u32(loc(12, 3)) // counted from byte 36: 48
	r = append(r, 200, 0, 0, 0)
	minus := int64(-5)
	r = r.u64(uint64(minus)).str(`a"`)
	e := decodeOne(t, f, r)
	want(t, &e, event.KindOther, map[event.Field]any{event.FieldName: "mod:ev",
		event.FieldArgs: `{"nid":"010203040506070809","s":[-1,2],"p":"0xffff8000","name":"a\"","one":200,"minus":-5}`})
}

// Another subsystem's event of a known name is not that event.
func TestRecordForeignSystem(t *testing.T) {
	f := format(t, "mymodule", "drm_run_job", 13, "	field:u32 id;	offset:8;	size:4;	signed:0;\n")
	e := decodeOne(t, f, newRec(13, 77).u32(5))
	want(t, &e, event.KindOther, map[event.Field]any{event.FieldName: "mymodule:drm_run_job", event.FieldArgs: `{"id":5}`})
}

// Records without a format, and records that are too short, are kept and counted.
func TestRecordDamage(t *testing.T) {
	d, err := NewDecoder(DefaultLayout(), []*Format{format(t, "syscalls", "sys_exit_ioctl", 9, exitFields)}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	e := d.Record(0, 1, rec{99, 0, 1, 2, 3}, &b)
	want(t, e, event.KindOther, map[event.Field]any{event.FieldName: "event 99", event.FieldArgs: `{"bytes":"6300010203"}`})
	e = d.Record(0, 2, newRec(9, 77), &b)
	want(t, e, event.KindIoctlExit, nil)
	d.Record(0, 3, nil, &b)
	var names []string
	for _, a := range d.Counters().List() {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"ftrace_no_format", "ftrace_short_record"}) || d.Counters().Get(&AnomalyNoFormat) != 2 {
		t.Errorf("anomalies %v", d.Counters().List())
	}
}
