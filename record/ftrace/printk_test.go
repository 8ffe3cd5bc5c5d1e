package ftrace

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// bprintFormat is bprint's on a 64-bit machine.
const bprintFields = `	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:const char * fmt;	offset:16;	size:8;	signed:0;
	field:u32 buf[];	offset:24;	size:0;	signed:0;
`

func bprintDecoder(t testing.TB, text string) *Decoder {
	t.Helper()
	d, err := NewDecoder(DefaultLayout(), []*Format{format(t, "ftrace", "bprint", 6, bprintFields)}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.PrintkFormats([]byte("0xa0 : \"" + text + "\"\n"))
	d.Kallsyms(func() []byte {
		return []byte("0000000000001000 T foo\n0000000000001000 d data\n0000000000001800 t bar.isra.0\t[mod]\n0000000000000900 T early\n")
	})
	return d
}

func bprintRecord(ip uint64, args []byte) []byte {
	r := []byte{6, 0, 0, 0, 7, 0, 0, 0}
	r = binary.LittleEndian.AppendUint64(r, ip)
	r = binary.LittleEndian.AppendUint64(r, 0xa0)
	return append(r, args...)
}

// The conversions of vbin_printf, with arguments packed by hand.
func TestBinaryPrintf(t *testing.T) {
	u32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	join := func(l ...[]byte) []byte {
		var b []byte
		for _, x := range l {
			b = append(b, x...)
		}
		return b
	}
	for _, c := range []struct {
		text string
		args []byte
		want string
	}{
		{"plain", nil, "plain"},
		{"%d %u %x %X %#x %o", join(u32(0xffffffff), u32(0xffffffff), u32(0xabc), u32(0xabc), u32(16), u32(8)), "-1 4294967295 abc ABC 0x10 10"},
		{"[%5d|%-5d|%05d|%+d|% d|%.3d]", join(u32(42), u32(42), u32(0xffffffd6), u32(7), u32(7), u32(7)), "[   42|42   |-0042|+7| 7|007]"},
		{"%ld %llu %zu", join(u64(1<<63), u64(1<<64-1), u64(5)), "-9223372036854775808 18446744073709551615 5"},
		// A byte, then a word at a multiple of 4, a half at a multiple of 2.
		{"%hhd %hd %d", join([]byte{0xff, 0}, []byte{0xfe, 0xff}, u32(3)), "-1 -2 3"},
		// Strings lie where they are; the next number is aligned again.
		{"%s:%d %.2s|%4s|", join([]byte("ab\x00\x00"), u32(9), []byte("xyz\x00"), []byte("q\x00")), "ab:9 xy|   q|"},
		{"%c%c", []byte{'h', 'i'}, "hi"},
		{"%*d", join(u32(4), u32(1)), "   1"},
		{"%-*d|", join(u32(4), u32(1)), "1   |"},
		{"%p %px", join(u64(0x10), u64(0xffff888000000000)), "0x10 0xffff888000000000"},
		{"%ps %pS %ps", join(u64(0x1004), u64(0x1900), u64(0x100)), "foo bar.isra.0 0x100"},
		{"%pI4 done %d", join([]byte("10.0.0.1\x00\x00\x00\x00"), u32(2)), "10.0.0.1 done 2"},
		{"100%% %y", nil, "100% %y"},
	} {
		d := bprintDecoder(t, c.text)
		var b event.Batch
		e := d.Record(0, 1, bprintRecord(0x1004, c.args), &b)
		if e.Kind != event.KindMark || e.Str(event.FieldName) != c.want || e.Str(event.FieldArgs) != `{"function":"foo"}` {
			t.Errorf("%q: %v %q %s, want %q", c.text, e.Kind, e.Str(event.FieldName), e.Str(event.FieldArgs), c.want)
		}
		if l := d.Counters().List(); len(l) > 0 {
			t.Errorf("%q: anomalies %v", c.text, l)
		}
	}
}

// Missing arguments print as far as they go, and are counted.
func TestBinaryPrintfShort(t *testing.T) {
	d := bprintDecoder(t, "%d %s %d")
	var b event.Batch
	e := d.Record(0, 1, bprintRecord(0x5, []byte{1, 0, 0, 0, 'a', 'b'}), &b)
	if e.Str(event.FieldName) != "1 ab 0" || d.Counters().Get(&AnomalyShortRecord) != 1 {
		t.Errorf("%q, anomalies %v", e.Str(event.FieldName), d.Counters().List())
	}
	if e.Str(event.FieldArgs) != `{"function":"0x5"}` { // below every symbol
		t.Errorf("caller %s", e.Str(event.FieldArgs))
	}
}

func FuzzBinaryPrintf(f *testing.F) {
	f.Add("%d %s %pS %-08.*llx", []byte("\x01\x00\x00\x00ab\x00\x00\x05\x00\x00\x00"))
	f.Add("%*.*s", []byte("\xff\xff\xff\x7f\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, text string, args []byte) {
		d := bprintDecoder(t, text)
		var b event.Batch
		d.Record(0, 1, bprintRecord(0x1004, args), &b)
		checkEvents(t, &b)
		if n := len(b.Events[0].Str(event.FieldArgs)); n > 8*(len(text)+len(args)+4*maxPrintText)+1024 {
			t.Fatalf("%d bytes of a text of %d and arguments of %d", n, len(text), len(args))
		}
	})
}

func TestParseClock(t *testing.T) {
	for text, want := range map[string]event.Clock{
		"local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n": event.ClockMonotonic,
		"[local] global":                     event.ClockLocal,
		"local [boot]\x00":                   event.ClockBoottime,
		"mono_raw":                           event.ClockMonotonicRaw,
		"local [tai] x":                      "tai",
		"":                                   "",
		"none of them given":                 "",
		"[" + strings.Repeat("x", 100) + "]": "",
	} {
		if c, ns := ParseClock([]byte(text)); c != want || ns != (want != "") {
			t.Errorf("%q: %q %v, want %q", text, c, ns, want)
		}
	}
	if c, ns := ParseClock([]byte("local [x86-tsc]")); c != "x86-tsc" || ns {
		t.Errorf("x86-tsc: %q, nanoseconds %v", c, ns)
	}
}

func TestStatsLost(t *testing.T) {
	const stats = "entries: 3\noverrun: 16607\ncommit overrun: 2\nbytes: 0\noldest event ts:   956.384605\nnow ts:   956.601028\ndropped events: 5\nread events: 10755\n"
	if n := StatsLost([]byte(stats)); n != 16614 {
		t.Errorf("%d events lost, want 16614", n)
	}
}

// Formats given as text are read when they are needed, and then cost nothing more.
func TestAddText(t *testing.T) {
	d, err := NewDecoder(DefaultLayout(), nil, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	good := "name: sys_exit_ioctl\nID: 9\nformat:\n" + commonFields + "\n" + exitFields + "\nprint fmt: \"\"\n"
	if err := d.AddText("syscalls", []byte(good)); err != nil {
		t.Fatal(err)
	}
	if err := d.AddText("x", []byte("name: broken\nID: 10\n")); err != nil {
		t.Fatal(err) // found out when it is needed
	}
	if err := d.AddText("x", []byte("rubbish")); err == nil {
		t.Error("a text without an ID was taken")
	}
	p := &pageBuilder{order: binary.LittleEndian, long: 8}
	var b event.Batch
	for range 2 {
		if e := d.Record(0, 1, p.record(9, 1, 16, 0), &b); e.Kind != event.KindIoctlExit {
			t.Errorf("%+v", e)
		}
		if e := d.Record(0, 1, p.record(10, 1, 16, 0), &b); e.Kind != event.KindOther || e.Str(event.FieldName) != "event 10" {
			t.Errorf("%+v", e)
		}
	}
	if c := d.Counters(); c.Get(&AnomalyBadFormat) != 1 || c.Get(&AnomalyNoFormat) != 2 {
		t.Errorf("anomalies %v", c.List())
	}
}
