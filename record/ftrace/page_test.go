package ftrace

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// pageBuilder writes a page by the kernel's rules, apart from the code under test.
type pageBuilder struct {
	order binary.AppendByteOrder
	long  int
	t     uint64
	flags uint64
	data  []byte
}

func (p *pageBuilder) word(v uint32) { p.data = p.order.AppendUint32(p.data, v) }

func (p *pageBuilder) header(typ, delta uint32) {
	if p.order == binary.AppendByteOrder(binary.BigEndian) {
		p.word(typ<<27 | delta)
	} else {
		p.word(delta<<5 | typ)
	}
}

// event adds a record with data of up to 112 bytes, its length in the type.
func (p *pageBuilder) event(delta uint32, data []byte) {
	for len(data)%4 != 0 {
		data = append(data, 0)
	}
	p.header(uint32(len(data)/4), delta)
	p.data = append(p.data, data...)
}

// long data have their length, with the word itself, in the next word.
func (p *pageBuilder) bigEvent(delta uint32, data []byte) {
	p.header(0, delta)
	p.word(uint32(len(data)) + 4)
	p.data = append(p.data, data...)
	for len(p.data)%4 != 0 {
		p.data = append(p.data, 0)
	}
}

func (p *pageBuilder) bytes(missed uint64) []byte {
	var b []byte
	b = p.order.AppendUint64(b, p.t)
	commit := p.flags | uint64(len(p.data))
	put := func(b []byte, v uint64) []byte {
		if p.long == 4 {
			return p.order.AppendUint32(b, uint32(v))
		}
		return p.order.AppendUint64(b, v)
	}
	b = put(b, commit)
	b = append(b, p.data...)
	if missed > 0 {
		b = put(b, missed)
	}
	return append(b, make([]byte, max(4096-len(b), 0))...)
}

func (p *pageBuilder) record(id uint16, pid uint32, rest ...uint32) []byte {
	b := append(p.order.AppendUint16(nil, id), 0, 0)
	b = p.order.AppendUint32(b, pid)
	for _, v := range rest {
		b = p.order.AppendUint32(b, v)
	}
	return b
}

const commonFields = `	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`

func format(t testing.TB, system, name string, id int, fields string) *Format {
	t.Helper()
	f, err := ParseFormat(system, fmt.Appendf(nil, "name: %s\nID: %d\nformat:\n%s%s\nprint fmt: \"\"\n", name, id, commonFields, fields))
	if err != nil || len(f.Skipped) > 0 {
		t.Fatalf("%v %q", err, f.Skipped)
	}
	return f
}

func pageLayout(order binary.ByteOrder, long int) Layout {
	l := DefaultLayout()
	l.Order, l.LongSize, l.DataOffset = order, long, 8+long
	return l
}

const exitFields = "	field:int __syscall_nr;	offset:8;	size:4;	signed:1;\n	field:int ret;	offset:12;	size:4;	signed:1;\n"

// Each kind of record, on machines of both byte orders and word sizes.
func TestPageRecords(t *testing.T) {
	for _, m := range []struct {
		order interface {
			binary.ByteOrder
			binary.AppendByteOrder
		}
		long int
	}{{binary.LittleEndian, 8}, {binary.LittleEndian, 4}, {binary.BigEndian, 8}, {binary.BigEndian, 4}} {
		t.Run(fmt.Sprintf("%v long %d", m.order, m.long), func(t *testing.T) {
			d, err := NewDecoder(pageLayout(m.order, m.long), []*Format{format(t, "syscalls", "sys_exit_ioctl", 9, exitFields)}, DecoderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p := &pageBuilder{order: m.order, long: m.long, t: 1000}
			ret := func(v int32) []byte { return p.record(9, 77, 16, uint32(v)) }
			p.event(5, ret(1))            // 1005
			p.header(30, 3)               // time extend: 2<<27 + 3
			p.word(2)                     //
			p.event(1, ret(2))            // 1005 + 268435456 + 3 + 1
			p.header(29, 7)               // a discarded event of 12 bytes: the next counts from it, + 7
			p.word(8)                     //
			p.word(0xffffffff)            //
			p.header(29, 1)               // one of 8 bytes that had no delta: 1 says so, + 0
			p.word(4)                     //
			p.bigEvent(10, ret(-3))       // + 10
			p.header(31, 4)               // absolute: 100<<27 + 4
			p.word(100)                   //
			p.event(0, ret(4))            //
			p.header(29, 0)               // the rest is empty
			p.data = append(p.data, 1, 2) // and may hold anything
			var b event.Batch
			d.Page(3, p.bytes(0), &b)
			var times, results []int64
			for i := range b.Events {
				e := &b.Events[i]
				if e.Kind != event.KindIoctlExit || e.CPU != 3 || e.TID != 77 {
					t.Errorf("event %d: %+v", i, e)
				}
				times = append(times, int64(e.Time))
				r, _ := e.Int(event.FieldResult)
				results = append(results, r)
			}
			if want := []int64{1005, 268436465, 268436482, 13421772804}; !slices.Equal(times, want) {
				t.Errorf("times %v, want %v", times, want)
			}
			if want := []int64{1, 2, -3, 4}; !slices.Equal(results, want) {
				t.Errorf("results %v, want %v", results, want)
			}
			if l := d.Counters().List(); len(l) > 0 {
				t.Errorf("anomalies %v", l)
			}
		})
	}
}

// An absolute stamp has 59 bits; the rest comes from the time before it.
func TestAbsoluteTime(t *testing.T) {
	const top = uint64(3) << 59
	for _, c := range [][3]uint64{
		{5, 3, 5},
		{5, top | 3, top | 5},
		{5, top | 9, top + 1<<59 | 5}, // went over the 59 bits since
	} {
		if got := absolute(c[0], c[1]); got != c[2] {
			t.Errorf("absolute(%d, %#x) = %#x, want %#x", c[0], c[1], got, c[2])
		}
	}
}

// A page may say that events before it are missing, and how many.
func TestMissedEvents(t *testing.T) {
	d, err := NewDecoder(DefaultLayout(), []*Format{format(t, "syscalls", "sys_exit_ioctl", 9, exitFields)}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	page := func(at, flags, missed uint64) []byte {
		p := &pageBuilder{order: binary.LittleEndian, long: 8, t: at, flags: flags}
		p.event(1, p.record(9, 77, 16, 0))
		return p.bytes(missed)
	}
	var b event.Batch
	d.Page(0, page(100, 0, 0), &b)
	d.Page(0, page(500, 1<<31|1<<30, 42), &b)
	d.Page(1, page(900, 1<<31, 0), &b)
	if len(b.Events) != 5 {
		t.Fatalf("%d events", len(b.Events))
	}
	loss := &b.Events[1]
	if n, ok := loss.Uint(event.FieldCount); loss.Kind != event.KindLoss || !ok || n != 42 || loss.TimeOf(event.FieldStart) != 101 || loss.Time != 500 || loss.CPU != 0 {
		t.Errorf("first loss: %+v", loss)
	}
	loss = &b.Events[3]
	if loss.Kind != event.KindLoss || loss.Has(event.FieldCount) || loss.Has(event.FieldStart) || loss.Time != 900 || loss.CPU != 1 {
		t.Errorf("second loss: %+v", loss)
	}
	if n, m := d.Counters().Get(&AnomalyLost), d.Counters().Get(&AnomalyLostUncounted); n != 42 || m != 1 {
		t.Errorf("counted %d lost, %d of unknown size", n, m)
	}
}

// Damage costs what comes after it in its page, and is counted.
func TestDamagedPages(t *testing.T) {
	good := func() *pageBuilder {
		p := &pageBuilder{order: binary.LittleEndian, long: 8, t: 100}
		p.event(1, p.record(9, 77, 16, 0))
		return p
	}
	for name, c := range map[string]struct {
		page   []byte
		events int
	}{
		"too short":       {make([]byte, 15), 0},
		"commit too long": {func() []byte { p := good(); p.flags = 8000; return p.bytes(0) }(), 1},
		"record too long": {func() []byte { p := good(); p.header(28, 1); return p.bytes(0) }(), 1},
		"length of 0":     {func() []byte { p := good(); p.header(0, 1); p.word(0); return p.bytes(0) }(), 1},
		"huge length":     {func() []byte { p := good(); p.header(0, 1); p.word(0xffffffff); return p.bytes(0) }(), 1},
		"huge padding":    {func() []byte { p := good(); p.header(29, 1); p.word(0xfffffffe); return p.bytes(0) }(), 1},
		"cut time":        {func() []byte { p := good(); p.header(30, 1); return p.bytes(0) }(), 1},
	} {
		d, err := NewDecoder(DefaultLayout(), []*Format{format(t, "syscalls", "sys_exit_ioctl", 9, exitFields)}, DecoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var b event.Batch
		d.Page(0, c.page, &b)
		n := 0
		for i := range b.Events {
			if b.Events[i].Kind == event.KindIoctlExit {
				n++
			}
		}
		if n != c.events {
			t.Errorf("%s: %d events, want %d", name, n, c.events)
		}
		bad := d.Counters().Get(&AnomalyBadPage)
		if bad != 1 {
			t.Errorf("%s: counted %d times", name, bad)
		}
	}
}
