package tracedat

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// form is one way to write a recording.
type form struct {
	version int
	zip     string
	machine importtest.Machine
}

func (f form) String() string {
	return fmt.Sprintf("v%d-%s-long%d-big%v", f.version, f.zip, f.machine.Long, f.machine.Big())
}

func forms() []form {
	var l []form
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, long := range []int{4, 8} {
			m := importtest.Machine{Order: order, Long: long, Page: 512}
			l = append(l, form{6, "", m})
			for _, zip := range []string{"none", "zlib", "zstd"} {
				l = append(l, form{7, zip, m})
			}
		}
	}
	return l
}

func cases(t testing.TB) []string {
	files, err := filepath.Glob(importtest.Testdata(t, "tracedat", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return files
}

// TestCases writes each recording of testdata/tracedat in every form, and
// reads it as a file and as a pipe.
func TestCases(t *testing.T) {
	for _, path := range cases(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		c := importtest.ReadCase(t, path)
		d := importtest.ParseDat(t, string(c.Trace))
		for _, f := range forms() {
			file := d.File(f.version, f.machine, f.zip)
			for _, pipe := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/pipe%v", name, f, pipe), func(t *testing.T) {
					if !sniff(file) {
						t.Error("the format is not recognised")
					}
					r, err := importtest.OpenBytes(Format(), file, pipe)
					if err != nil {
						t.Fatal(err)
					}
					defer r.Close()
					got, err := importtest.Read(r)
					if err != nil {
						t.Fatal(err)
					}
					want := c
					if name == "formats" {
						want.Want = []byte(strings.Replace(string(c.Want), "args=BYTES", bytesOf(f), 1))
					}
					importtest.Compare(t, got, r.Counters(), want)
				})
			}
		}
	}
}

// bytesOf is the record 77 of thread 1, in the machine's byte order.
func bytesOf(f form) string {
	if f.machine.Big() {
		return `args={"bytes":"004d00000000000101020304"}`
	}
	return `args={"bytes":"4d0000000100000001020304"}`
}

// What the file says of the recording goes into the metadata.
func TestMeta(t *testing.T) {
	c := importtest.ReadCase(t, importtest.Testdata(t, "tracedat", "times.txt"))
	d := importtest.ParseDat(t, string(c.Trace)+"\nuname Linux box 6.1.0-rt aarch64\ntext-option 9 3.2\nraw-option 11 u64:0xabc\n"+
		"raw-option 13 str:guest u64:5 u32:1 u32:0 u32:900\n")
	for _, f := range forms() {
		r, err := importtest.OpenBytes(Format(), d.File(f.version, f.machine, f.zip), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := importtest.Read(r); err != nil {
			t.Fatal(err)
		}
		m := r.Meta()
		if m.Clock != event.ClockMonotonic || m.Host.Name != "box" || m.Host.Kernel != "6.1.0-rt" || m.Host.Machine != "aarch64" {
			t.Errorf("%v: clock %s, host %+v", f, m.Clock, m.Host)
		}
		if m.Start != event.Some(event.Time(1101)) || m.End != event.Some(event.Time(300001000)) {
			t.Errorf("%v: from %v to %v", f, m.Start, m.End)
		}
		// DATE is in µs: 0x10 of them.
		want := event.ClockSnapshot{Monotonic: 1101, Realtime: 1101 + 16000}
		if len(m.Snapshots) != 1 || m.Snapshots[0] != want {
			t.Errorf("%v: snapshots %+v", f, m.Snapshots)
		}
		facts := map[string]string{}
		for _, x := range m.Facts {
			facts[x.Key] = x.Value
		}
		for k, v := range map[string]string{"trace_dat_version": fmt.Sprint(f.version), "realtime_offset_ns": "16000", "ts_offset_ns": "1000",
			"trace_cmd_version": "3.2", "trace_id": "0xabc", "guest": "guest trace_id=0x5 cpu0=pid900"} {
			if facts[k] != v {
				t.Errorf("%v: fact %s is %q, want %q", f, k, facts[k], v)
			}
		}
	}
}

// The number of the system call ioctl depends on the machine: 29 on aarch64.
func TestIoctlOfOtherMachines(t *testing.T) {
	d := importtest.ParseDat(t, `uname Linux box 6.1.0 aarch64
format raw_syscalls sys_enter 30
	field:long id;	offset:8;	size:8;	signed:1;
	field:unsigned long args[6];	offset:16;	size:48;	signed:0;
buffer ""
cpu 0
page 1
rec 0 30 1 u64:29 u64:3 u64:0xc0306440 u64:0x7000 u64:0 u64:0 u64:0
rec 0 30 1 u64:16 u64:3 u64:0xc0306440 u64:0x7000 u64:0 u64:0 u64:0
`)
	r, err := importtest.OpenBytes(Format(), d.File(7, forms()[3].machine, "zstd"), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := importtest.Read(r)
	if err != nil || len(got) != 2 || got[0].Kind != event.KindIoctlEnter || got[1].Kind != event.KindOther {
		t.Fatalf("%v %v", got, err)
	}
}

// Times of a guest, from its clock to its host's; worked out by hand.
func TestTimeShift(t *testing.T) {
	two := sync{{time: 100, offset: 10, scaling: 1}, {time: 200, offset: 30, scaling: 1}}
	three := append(sync{}, two...)
	three = append(three, syncSample{time: 300, offset: -20, scaling: 3, fraction: 1})
	for _, c := range []struct {
		s           sync
		t           uint64
		interpolate bool
		want        uint64
	}{
		{nil, 5, false, 5},
		{sync{{offset: -3, scaling: 7}}, 5, true, 2}, // one sample is an offset
		{two, 150, false, 160},
		{two, 150, true, 170},   // 10 + 50*20/100
		{two, 50, true, 50},     // 10 - 10
		{two, 250, true, 290},   // 10 + 150*20/100
		{three, 250, true, 255}, // 30 + 50*-50/100
		{three, 199, false, 209},
		{three, 350, false, 380}, // the last two samples: 30
	} {
		if got := c.s.convert(c.t, c.interpolate); got != c.want {
			t.Errorf("%v at %d (%v): %d, want %d", c.s, c.t, c.interpolate, got, c.want)
		}
	}
	// 24 ticks of 2.4 GHz are 10 ns: mult/2^32 is 5/12, here 0x6aaaaaab/2^32.
	// 24e12 * 1789569707 >> 32, calculated with big numbers:
	if got := (&times{mult: 0x6aaaaaab, shift: 32}).of(0)(24_000_000_000_000); got != 10000000001862 {
		t.Errorf("ticks give %d", got)
	}
}

// trace.dat is told by its first bytes, whatever its name.
func TestSniff(t *testing.T) {
	importtest.Claimed(t, Format(), "trace.dat")
	for _, k := range []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"} {
		for name, want := range map[string]bool{"trace.dat": true, "trace.txt": false, "raw/cpu0.raw": false} {
			b, err := os.ReadFile(importtest.Shared(t, "captures", k, name))
			if err != nil {
				t.Fatal(err)
			}
			if sniff(b) != want {
				t.Errorf("%s %s: claimed %v", k, name, !want)
			}
		}
	}
}
