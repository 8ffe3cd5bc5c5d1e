package bpf

import (
	"reflect"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// flatten lists the leaves of a struct as C has them: name is not compared,
// since C and Go spell differently; offset, size and order are.
type leaf struct{ offset, size uint32 }

func goLeaves(t reflect.Type, base uintptr, out []leaf) []leaf {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Struct {
			out = goLeaves(f.Type, base+f.Offset, out)
			continue
		}
		out = append(out, leaf{uint32(base + f.Offset), uint32(f.Type.Size())})
	}
	return out
}

func btfLeaves(t *testing.T, s *btf.Struct, base uint32, out []leaf) []leaf {
	for _, m := range s.Members {
		typ := btf.UnderlyingType(m.Type)
		if sub, ok := typ.(*btf.Struct); ok {
			out = btfLeaves(t, sub, base+m.Offset.Bytes(), out)
			continue
		}
		n, err := btf.Sizeof(typ)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, leaf{base + m.Offset.Bytes(), uint32(n)})
	}
	return out
}

func TestRecordLayouts(t *testing.T) {
	spec, err := LoadGpurec()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"rec_head": Head{}, "rec_api_enter": APIEnter{}, "rec_api_enter_x": APIEnterX{},
		"rec_api": API{}, "rec_api_x": APIX{}, "rec_api_exit": APIExit{}, "rec_api_name": APIName{},
		"rec_ioctl_enter": IoctlEnter{}, "rec_ioctl_exit": IoctlExit{}, "rec_task": Task{}, "rec_lib": Lib{},
		"rec_job": Job{}, "rec_dep": Dep{}, "rec_fence": Fence{}, "loss": Loss{}, "frame": Frame{}, "thread": Thread{},
		"fn_desc": Desc{}, "lib_prefix": Prefix{}, "file_id": FileID{},
	} {
		var s *btf.Struct
		if err := spec.Types.TypeByName(name, &s); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rt := reflect.TypeOf(v)
		if uint32(rt.Size()) != s.Size {
			t.Errorf("%s: C has %d bytes, Go %d", name, s.Size, rt.Size())
		}
		c, g := btfLeaves(t, s, 0, nil), goLeaves(rt, 0, nil)
		if !reflect.DeepEqual(c, g) {
			t.Errorf("%s: C members (offset, size) %v, Go %v", name, c, g)
		}
	}
}

func TestEnums(t *testing.T) {
	spec, err := LoadGpurec()
	if err != nil {
		t.Fatal(err)
	}
	c := map[string]uint64{}
	for typ, err := range spec.Types.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := typ.(*btf.Enum); ok {
			for _, v := range e.Values {
				c[v.Name] = v.Value
			}
		}
	}
	for name, v := range map[string]uint64{
		"REC_API_ENTER": uint64(RecAPIEnter), "REC_API_ENTER_X": uint64(RecAPIEnterX), "REC_API": uint64(RecAPI),
		"REC_API_X": uint64(RecAPIX), "REC_API_EXIT": uint64(RecAPIExit), "REC_API_NAME": uint64(RecAPIName),
		"REC_IOCTL_ENTER": uint64(RecIoctlEnter), "REC_IOCTL_EXIT": uint64(RecIoctlExit), "REC_TASK": uint64(RecTask),
		"REC_LIB": uint64(RecLib), "REC_JOB": uint64(RecJob), "REC_DEP": uint64(RecDep), "REC_FENCE": uint64(RecFence),
		"RF_EXTRA": FlagExtra, "RF_OUT": FlagOut, "RF_NAME": FlagName, "RF_OPEN": FlagOpen, "RF_ENTRY": FlagEntry,
		"RF_STATUS": FlagStatus, "RF_STOPPED": FlagStopped,
		"JF_SCHED_ID": JobSchedID, "JF_HW": JobHW, "JF_CLIENT": JobClient, "JF_COUNTS": JobCounts, "JF_ENTITY": JobEntity,
		"CF_BLOCKS": CookieBlocks, "CF_ENTRY_ONLY": CookieEntryOnly, "CF_DESC": CookieDesc,
		"DESC_WINDOW": DescWindow, "DESC_REFS": DescRefs, "DESC_OUT": DescOut, "DESC_NAME": DescName,
		"TASK_FORK": TaskFork, "TASK_EXEC": TaskExec, "TASK_EXIT": TaskExit, "TASK_RENAME": TaskRename,
		"GROUP_API": uint64(GroupAPI), "GROUP_IOCTL": uint64(GroupIoctl), "GROUP_TASK": uint64(GroupTask),
		"GROUP_SCHED": uint64(GroupSched), "GROUP_FENCE": uint64(GroupFence), "NR_GROUPS": uint64(NumGroups),
		"ID_IOCTL_ENTER": uint64(IDIoctlEnter), "ID_IOCTL_EXIT": uint64(IDIoctlExit), "ID_FORK": uint64(IDFork),
		"ID_MMAP": uint64(IDMmap), "ID_JOB_QUEUE_OLD": uint64(IDJobQueueOld), "ID_JOB_DEP_OLD": uint64(IDJobDepOld),
		"ID_JOB_QUEUE": uint64(IDJobQueue), "ID_JOB_UNSCHEDULABLE": uint64(IDJobUnschedulable),
		"ID_FENCE_INIT": uint64(IDFenceInit), "ID_FENCE_DESTROY": uint64(IDFenceDestroy), "ID_FIRST_SYMBOL": IDFirstSymbol,
	} {
		if got, ok := c[name]; !ok || got != v {
			t.Errorf("%s: C has %d (found: %v), Go %d", name, got, ok, v)
		}
	}
}

func TestMapSizes(t *testing.T) {
	spec, err := LoadGpurec()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{
		GpurecMapHits: MaxIDs, GpurecMapFnDescs: MaxIDs, GpurecMapPrefixes: MaxPrefixes, GpurecMapLosses: uint32(NumGroups),
	} {
		if got := spec.Maps[name].MaxEntries; got != want {
			t.Errorf("map %s has %d entries, Go says %d", name, got, want)
		}
	}
}

func TestEverythingIsGPL(t *testing.T) {
	spec, err := LoadGpurec()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range spec.Programs {
		if p.License != "GPL" {
			t.Errorf("program %s: license %q", name, p.License)
		}
	}
}
