package ftrace

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func FuzzParseFormat(f *testing.F) {
	f.Add([]byte(rtFormat))
	f.Add([]byte("name: x\nID: 1\nformat:\n\tfield:char a[;\toffset:0;\tsize:1;\n"))
	f.Add([]byte("name: print\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n\n\tfield:char buf[];\toffset:8;\tsize:0;\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseFormat("sched", text)
		if err != nil {
			return
		}
		d, err := NewDecoder(DefaultLayout(), []*Format{p}, DecoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rec := make([]byte, 64)
		binary.LittleEndian.PutUint16(rec, uint16(p.ID))
		for i := 2; i < len(rec); i++ {
			rec[i] = byte(i)
		}
		var b event.Batch
		for _, n := range []int{64, 20, 9, 0} {
			d.Record(0, 1, rec[:n], &b)
		}
		if len(b.Events) != 4 {
			t.Fatalf("%d events of 4 records", len(b.Events))
		}
		checkEvents(t, &b)
	})
}

func FuzzPage(f *testing.F) {
	p := &pageBuilder{order: binary.LittleEndian, long: 8, t: 1000, flags: missedEvents | missedStored}
	p.event(5, p.record(9, 77, 16, 3))
	p.header(30, 3)
	p.word(2)
	p.header(31, 3)
	p.word(2)
	p.bigEvent(1, p.record(8, 77, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	f.Add(p.bytes(7)[:160], false)
	f.Add([]byte{}, true)
	formats := []*Format{
		format(f, "syscalls", "sys_exit_ioctl", 9, exitFields),
		format(f, "gpu_scheduler", "drm_run_job", 8, "	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;\n	field:u64 id;	offset:16;	size:8;	signed:0;\n"),
		format(f, "ftrace", "print", 7, "	field:char buf[];	offset:8;	size:0;	signed:0;\n"),
	}
	f.Fuzz(func(t *testing.T, page []byte, big bool) {
		l := DefaultLayout()
		if big {
			l = pageLayout(binary.BigEndian, 4)
		}
		d, err := NewDecoder(l, formats, DecoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var b event.Batch
		d.Page(0, page, &b)
		if len(b.Events) > len(page)/4+1 {
			t.Fatalf("%d events in %d bytes", len(b.Events), len(page))
		}
		checkEvents(t, &b)
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"drm_run_job: sched_job=00000000a1b2c3d4, timeline=amd-scheduler, context=1, seqno=42, ring_name=gfx",
		"drm_sched_job: id=1, fence=(context:7914, seqno:920), ring=gfx, job count:0, hw job count:1, dependencies:{}",
		"drm_sched_job_add_dep: fence=401:1 depends on fence=402:8",
		"sched_switch: wl:11 [120] R ==> thr:12 [98]", "sched_switch: prev_comm=a b=c prev_pid=1 ==> next_comm=x next_pid=2",
		"sys_ioctl(fd: 3, cmd: c0306440, arg: 60e6d0)", "sys_ioctl -> 0x0", "sys_enter: NR 16 (3, c0306440, 60e6d0)", "sys_exit: NR 16 = -1",
		"tracing_mark_write: C|1|x|2", "print: tracing_mark_write: S|1|x|2", "x: a=1, b=2", "x: [FAILED TO PARSE] a=ARRAY[0, 1] b=\xff",
		"nvidia_dev_xid: Xid (PCI:0000:41:00): 79, GPU", "dma_fence_init: driver= timeline=gfx context=3 seqno=1", "<stack trace>", ": x", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c event.Counters
		m := NewTextMapper(&c, nil)
		var b event.Batch
		h := Head{Time: 1, CPU: event.NoID, PID: event.NoID, TID: 5}
		for range 2 {
			m.Map(&b, &h, text)
		}
		if len(b.Events) != 2 {
			t.Fatalf("%d events of two lines", len(b.Events))
		}
		if b.Events[0] != b.Events[1] {
			t.Errorf("the same line gave two events:\n%+v\n%+v", b.Events[0], b.Events[1])
		}
		checkEvents(t, &b)
	})
}

// checkEvents: what every event must hold: a kind, a source, valid JSON.
func checkEvents(t *testing.T, b *event.Batch) {
	t.Helper()
	for i := range b.Events {
		e := &b.Events[i]
		if e.Kind == event.KindUnknown || e.Kind >= event.NumKinds || e.Source == "" {
			t.Fatalf("kind %v source %q", e.Kind, e.Source)
		}
		if a := e.Str(event.FieldArgs); a != "" && !json.Valid([]byte(a)) {
			t.Fatalf("args are no JSON: %q", a)
		}
		if e.Kind == event.KindOther && e.Str(event.FieldName) == "" {
			t.Fatal("an other event without a name")
		}
	}
}
