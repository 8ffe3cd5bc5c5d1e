package ftrace

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

// The common part of an RT kernel is longer: no offset may be a constant.
const rtFormat = `name: drm_run_job
ID: 700
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
	field:unsigned char common_preempt_lazy_count;	offset:8;	size:1;	signed:0;

	field:struct drm_sched_entity * entity;	offset:16;	size:8;	signed:0;
	field:struct dma_fence * fence;	offset:24;	size:8;	signed:0;
	field:__data_loc char[] name;	offset:32;	size:4;	signed:1;
	field:uint64_t id;	offset:40;	size:8;	signed:0;
	field:u32 job_count;	offset:48;	size:4;	signed:0;
	field:int hw_job_count;	offset:52;	size:4;	signed:1;

print fmt: "entity=%p, id=%llu", REC->entity, REC->id
`

func TestParseFormat(t *testing.T) {
	f, err := ParseFormat("gpu_scheduler", []byte(rtFormat))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "drm_run_job" || f.ID != 700 || len(f.Common) != 5 || len(f.Fields) != 6 || len(f.Skipped) != 0 {
		t.Fatalf("got %+v", f)
	}
	want := Field{Name: "name", Type: "char", Offset: 32, Size: 4, Signed: true, Loc: LocData, Array: true, Elem: 1, String: true}
	if got := *f.Field("name"); got != want {
		t.Errorf("name: %+v", got)
	}
	want = Field{Name: "entity", Type: "struct drm_sched_entity *", Offset: 16, Size: 8, Elem: 8, Pointer: true}
	if got := *f.Field("entity"); got != want {
		t.Errorf("entity: %+v", got)
	}
	if !strings.HasPrefix(f.Print, `"entity=%p`) {
		t.Errorf("print fmt %q", f.Print)
	}
	if f.Field("nothing") != nil {
		t.Error("a field that is not there")
	}
}

func TestParseField(t *testing.T) {
	for line, want := range map[string]Field{
		"field:char comm[16];	offset:8;	size:16;	signed:0;":               {Name: "comm", Type: "char", Offset: 8, Size: 16, Array: true, Elem: 1, String: true},
		"field:unsigned long args[6];	offset:16;	size:48;	signed:0;":      {Name: "args", Type: "unsigned long", Offset: 16, Size: 48, Array: true, Elem: 8},
		"field:char buf[];	offset:16;	size:0;	signed:0;":                  {Name: "buf", Type: "char", Offset: 16, Array: true, Elem: 1, String: true, ToRecEnd: true},
		"field:__rel_loc char[] s;	offset:8;	size:4;	signed:0;":           {Name: "s", Type: "char", Offset: 8, Size: 4, Loc: LocRelData, Array: true, Elem: 1, String: true},
		"field:const char * name;	offset:8;	size:8;	signed:0;":            {Name: "name", Type: "const char *", Offset: 8, Size: 8, Elem: 8, Pointer: true},
		"field:unsigned seqno;	offset:40;	size:4;	signed:0;":              {Name: "seqno", Type: "unsigned", Offset: 40, Size: 4, Elem: 4},
		"field:__data_loc unsigned char[] d;	offset:8;	size:4;	signed:0;": {Name: "d", Type: "unsigned char", Offset: 8, Size: 4, Loc: LocData, Array: true, Elem: 1},
		"field:nid_t nid[3];	offset:8;	size:24;	signed:0;":                {Name: "nid", Type: "nid_t", Offset: 8, Size: 24, Array: true, Elem: 8},
		"field:bool *flag;	offset:8;	size:8;	signed:0;":                   {Name: "flag", Type: "bool *", Offset: 8, Size: 8, Elem: 8, Pointer: true},
	} {
		got, err := parseField(line)
		if err != nil || got != want {
			t.Errorf("%s\n got %+v %v\nwant %+v", line, got, err, want)
		}
	}
	for _, bad := range []string{"field", "field:x", "field:int x;	offset:-1;	size:4;", "field:int x;	offset:9999999999;	size:4;", "field:int;	offset:8;	size:4;", "field:__data_loc char[] x;	offset:8;	size:8;"} {
		if fd, err := parseField(bad); err == nil {
			t.Errorf("%q was taken: %+v", bad, fd)
		}
	}
}

// A field that cannot be understood costs itself only.
func TestBadFieldIsSkipped(t *testing.T) {
	text := strings.Replace(rtFormat, "field:uint64_t id;	offset:40;", "field:uint64_t id;	offset:x;", 1)
	f, err := ParseFormat("gpu_scheduler", []byte(text))
	if err != nil || len(f.Fields) != 5 || len(f.Skipped) != 1 {
		t.Fatalf("%+v %v", f, err)
	}
	d, err := NewDecoder(DefaultLayout(), []*Format{f}, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Counters().Get(&AnomalyBadFormat); n != 1 {
		t.Errorf("%d bad fields counted", n)
	}
}

func TestParseFormatErrors(t *testing.T) {
	for _, bad := range []string{"", "name: x\n", "name: x\nID: 99999999\nformat:\n", "name: x\nID: 5\n", "\x00\x01"} {
		if _, err := ParseFormat("", []byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAllFormats parses every format that was collected from kernels, and
// decodes a record of zeros and a short one by each.
func TestAllFormats(t *testing.T) {
	n := 0
	root := shared(t, "facts", "formats")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".format" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := ParseFormat(filepath.Base(filepath.Dir(path)), text)
		if err != nil || len(f.Skipped) > 0 || len(f.Fields)+1 < strings.Count(string(text), "field:")-len(f.Common) {
			t.Errorf("%s: %v, skipped %q", path, err, f.Skipped)
			return nil
		}
		d, err := NewDecoder(DefaultLayout(), []*Format{f}, DecoderOptions{})
		if err != nil {
			return err
		}
		rec := make([]byte, 4096)
		binary.LittleEndian.PutUint16(rec, uint16(f.ID))
		var b event.Batch
		d.Record(0, 1, rec, &b)
		d.Record(0, 2, rec[:9], &b)
		if len(b.Events) != 2 || b.Events[0].Source != f.System+":"+f.Name {
			t.Errorf("%s: %d events", path, len(b.Events))
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d formats", n)
}

const headerPage = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:4;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:12;	size:65524;	signed:1;
`

func TestParseLayout(t *testing.T) {
	l, err := ParseLayout([]byte(headerPage), nil, binary.BigEndian)
	if err != nil {
		t.Fatal(err)
	}
	if l.LongSize != 4 || l.DataOffset != 12 || l.SubBufferSize() != 65536 || l.Padding != 29 {
		t.Errorf("%+v", l)
	}
	for _, bad := range []string{"", "field: u64 timestamp;	offset:0;	size:8;	signed:0;", strings.Replace(headerPage, "size:4", "size:2", 1),
		strings.Replace(headerPage, "offset:12", "offset:9", 1)} {
		if _, err := ParseLayout([]byte(bad), nil, binary.LittleEndian); !errors.Is(err, ErrLayout) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseLayout([]byte(headerPage), []byte("	type_len    :    6 bits\n"), binary.LittleEndian); !errors.Is(err, ErrLayout) {
		t.Errorf("a type of 6 bits: %v", err)
	}
}
