package gpu

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func TestBaseName(t *testing.T) {
	for in, want := range map[string]string{
		"cuLaunchKernel":                             "cuLaunchKernel",
		"cuLaunchKernel_ptsz":                        "cuLaunchKernel",
		"cuMemcpyHtoD_v2":                            "cuMemcpyHtoD",
		"cuMemcpyHtoD_v2_ptds":                       "cuMemcpyHtoD",
		"cuStreamBeginCapture_v2":                    "cuStreamBeginCapture",
		"cuStreamBeginCapture_v2_ptsz":               "cuStreamBeginCapture",
		"cudaLaunchKernel_v7000":                     "cudaLaunchKernel",
		"cudaLaunchKernel_ptsz_v7000":                "cudaLaunchKernel",
		"cudaGraphInstantiateWithParams_ptsz_v12000": "cudaGraphInstantiateWithParams",
		"hipLaunchKernel@@hip_4.2":                   "hipLaunchKernel",
		"hipMallocAsync@hip_5.1":                     "hipMallocAsync",
		"hipMemcpy_spt":                              "hipMemcpy",
		"cublasSgemm_v2":                             "cublasSgemm",
		"__cudaLaunchKernel":                         "__cudaLaunchKernel",
		"__cudaLaunchKernel_ptsz":                    "__cudaLaunchKernel",
		"cuMemsetD2D8_v2_ptds":                       "cuMemsetD2D8",
		"cuMemcpy3DPeer":                             "cuMemcpy3DPeer",
		"vkQueueSubmit2":                             "vkQueueSubmit2",
		"hipGetDevicePropertiesR0600":                "hipGetDevicePropertiesR0600",
		"hsa_signal_store_relaxed":                   "hsa_signal_store_relaxed",
		"foo_v":                                      "foo_v",   // no number
		"foo_v2x":                                    "foo_v2x", // not only a number
		"foo_spt":                                    "foo_spt", // HIP's only
		"_v2":                                        "_v2",     // nothing would be left
		"@@x":                                        "@@x",
		"":                                           "",
	} {
		if got := BaseName(in); got != want {
			t.Errorf("BaseName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for in, want := range map[string]string{
		"cuLaunchKernel":                     "cuLaunchKernel",
		"cuMemcpyHtoD_v2_ptds@@libcuda.so.1": "cuMemcpyHtoD",
		"cuMemAlloc":                         "cuMemAlloc", // the symbol of before 3.2, and the name tools print
		"cudaLaunchKernel_v7000":             "cudaLaunchKernel",
		"cudaStreamSynchronize_v3020":        "cudaStreamSynchronize",
		"hipLaunchKernel@@hip_4.2":           "hipLaunchKernel",
		"pncclAllReduce":                     "ncclAllReduce",
		"vkQueueSubmit2KHR":                  "vkQueueSubmit2",
		"cuCtxCreate_v4":                     "cuCtxCreate",
		"cuCtxCreate_v5":                     "cuCtxCreate", // of a later release
	} {
		f, ok := Lookup(in)
		if !ok || f.Name != want {
			t.Errorf("Lookup(%q) = %+v, %v", in, f, ok)
		}
	}
	for _, in := range []string{"", "main", "cuLaunch_", "cuda", "malloc", "@@"} {
		if f, ok := Lookup(in); ok {
			t.Errorf("Lookup(%q) = %s", in, f.Name)
		}
	}
}

// TestFunctionTable holds what every function must be.
func TestFunctionTable(t *testing.T) {
	symbols := map[string]string{}
	enter, exit := event.KindAPIEnter.Spec().Fields, event.KindAPIExit.Spec().Fields
	prefix := map[event.API]string{event.APICUDADriver: "cu", event.APICUDARuntime: "cuda", event.APIHIP: "hip", event.APINCCL: "nccl",
		event.APIHSA: "hsa_", event.APIOpenCL: "cl", event.APIVulkan: "vk", event.APILevelZero: "ze"}
	for i := range Functions() {
		f := &Functions()[i]
		if BaseName(f.Name) != f.Name || len(f.Variants) == 0 || !strings.HasPrefix(strings.TrimLeft(f.Name, "_"), prefix[f.API]) {
			t.Errorf("%s (%v): base %s, %d variants", f.Name, f.API, BaseName(f.Name), len(f.Variants))
		}
		for _, v := range f.Variants {
			if o := symbols[v.Symbol]; o != "" {
				t.Errorf("%s is a spelling of %s and of %s", v.Symbol, o, f.Name)
			}
			symbols[v.Symbol] = f.Name
			if g, ok := Lookup(v.Symbol); !ok || g != f {
				t.Errorf("Lookup(%s) does not give %s", v.Symbol, f.Name)
			}
			for _, a := range v.Args {
				if a.How == OutRef && !slices.Contains(exit, a.Field) || a.How != OutRef && !slices.Contains(enter, a.Field) {
					t.Errorf("%s: its event has no field %v", v.Symbol, a.Field)
				}
				if want := map[bool]uint8{true: 0, false: a.Width}[a.How == CString]; a.Width != want || a.How != CString && a.Width != 4 && a.Width != 8 {
					t.Errorf("%s: %v is %d wide", v.Symbol, a.Field, a.Width)
				}
			}
		}
		if f.Class == ClassSync && !f.Blocks {
			t.Errorf("%s waits and does not block", f.Name)
		}
		if f.Direction != event.DirUnknown && f.Class != ClassMemcpy {
			t.Errorf("%s is no copy and has a direction", f.Name)
		}
	}
}

// regs is a call's state at the function's first instruction: six registers,
// the stack above the return address, and what pointers lead to.
type regs struct {
	slots  [16]uint64
	memory map[uint64][]byte
}

// read fills the fields as a probe would, by the definition of Arg alone.
func (r regs) read(args []Arg) map[event.Field]uint64 {
	got := map[event.Field]uint64{}
	for _, a := range args {
		v := r.slots[a.Slot] >> a.Shift
		if a.How == ByRef || a.How == OutRef {
			v = 0
			for i := int(a.Width) - 1; i >= 0; i-- {
				v = v<<8 | uint64(r.memory[r.slots[a.Slot]][int(a.Offset)+i])
			}
		}
		if a.Width == 4 {
			v = uint64(uint32(v))
		}
		switch a.Unit {
		case UnitNCCLType:
			n, _ := NCCLTypeSize(v)
			v = uint64(n)
		case UnitPlain:
			v *= uint64(max(a.Scale, 1))
		case UnitCopyKind:
			v = uint64(CopyKind(v))
		}
		if old, ok := got[a.Field]; ok {
			v *= old
		}
		got[a.Field] = v
	}
	return got
}

// TestArgs checks slots against calls laid out by hand after the convention.
func TestArgs(t *testing.T) {
	const junk = 0xdeadbeef_00000000 // above a 32-bit argument
	F := func(f, gx, gy, gz, bx, by, bz, shmem, stream uint64) map[event.Field]uint64 {
		return map[event.Field]uint64{event.FieldFunction: f, event.FieldGridX: gx, event.FieldGridY: gy, event.FieldGridZ: gz,
			event.FieldBlockX: bx, event.FieldBlockY: by, event.FieldBlockZ: bz, event.FieldSharedMemBytes: shmem, event.FieldStream: stream}
	}
	cfg := make([]byte, 56)
	for i, v := range []byte{1, 2, 3, 32, 4, 5} {
		cfg[4*i] = v
	}
	cfg[24], cfg[32] = 96, 0x77
	cfg[28] = 1 // padding in the driver's struct, the upper half of the size in the runtime's
	copy2 := make([]byte, 128)
	copy2[112], copy2[120] = 100, 7
	parms := make([]byte, 160)
	parms[128], parms[136], parms[144], parms[152] = 10, 3, 2, 2
	for _, c := range []struct {
		symbol string
		regs   regs
		want   map[event.Field]uint64
	}{
		{"cuLaunchKernel", regs{slots: [16]uint64{0xf, junk | 1, junk | 2, junk | 3, junk | 32, junk | 4, junk | 5, junk | 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"cuLaunchKernel_ptsz", regs{slots: [16]uint64{0xf, 1, 2, 3, 32, 4, 5, 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"hipModuleLaunchKernel", regs{slots: [16]uint64{0xf, 1, 2, 3, 32, 4, 5, 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"cudaLaunchKernel", regs{slots: [16]uint64{0xf, 1 | 2<<32, junk | 3, 32 | 4<<32, junk | 5, 0xa, 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"__cudaLaunchKernel", regs{slots: [16]uint64{0xf, 1 | 2<<32, 3, 32 | 4<<32, 5, 0xa, 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"hipLaunchKernel_spt", regs{slots: [16]uint64{0xf, 1 | 2<<32, 3, 32 | 4<<32, 5, 0xa, 96, 0x77}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"cuLaunchKernelEx", regs{slots: [16]uint64{0xc0, 0xf}, memory: map[uint64][]byte{0xc0: cfg}}, F(0xf, 1, 2, 3, 32, 4, 5, 96, 0x77)},
		{"cudaLaunchKernelExC", regs{slots: [16]uint64{0xc0, 0xf}, memory: map[uint64][]byte{0xc0: cfg}}, F(0xf, 1, 2, 3, 32, 4, 5, 96+1<<32, 0x77)},
		{"cuMemcpyHtoD_v2", regs{slots: [16]uint64{0xd, 0x5, 1 << 33}}, map[event.Field]uint64{event.FieldBytes: 1 << 33}},
		{"cuMemcpyHtoD", regs{slots: [16]uint64{0xd, 0x5, junk | 4096}}, map[event.Field]uint64{event.FieldBytes: 4096}}, // 32 bits before 3.2
		{"cuMemcpyDtoHAsync_v2_ptsz", regs{slots: [16]uint64{0xd, 0x5, 512, 0x77}}, map[event.Field]uint64{event.FieldBytes: 512, event.FieldStream: 0x77}},
		{"cuMemcpyPeerAsync", regs{slots: [16]uint64{1, 2, 3, 4, 512, 0x77}}, map[event.Field]uint64{event.FieldBytes: 512, event.FieldStream: 0x77}},
		{"cuMemsetD32_v2", regs{slots: [16]uint64{1, junk, 256}}, map[event.Field]uint64{event.FieldBytes: 1024}},
		{"cuMemsetD16Async", regs{slots: [16]uint64{1, 0, 256, 0x77}}, map[event.Field]uint64{event.FieldBytes: 512, event.FieldStream: 0x77}},
		{"cuMemsetD2D16_v2", regs{slots: [16]uint64{1, 2, 3, 10, 20}}, map[event.Field]uint64{event.FieldBytes: 400}},
		{"cuMemsetD2D8Async", regs{slots: [16]uint64{1, 2, 3, 10, 20, 0x77}}, map[event.Field]uint64{event.FieldBytes: 200, event.FieldStream: 0x77}},
		{"cuMemAllocAsync", regs{slots: [16]uint64{0xc0, 512, 0x77}, memory: map[uint64][]byte{0xc0: {0x10, 0, 0, 0, 0, 0x7f, 0, 0}}},
			map[event.Field]uint64{event.FieldAddress: 0x7f_0000000010, event.FieldBytes: 512, event.FieldStream: 0x77}},
		{"cuMemPrefetchAsync", regs{slots: [16]uint64{9, 512, 0, 0x77, 0x88}}, map[event.Field]uint64{event.FieldAddress: 9, event.FieldBytes: 512, event.FieldStream: 0x77}},
		{"cuMemPrefetchAsync_v2", regs{slots: [16]uint64{9, 512, 0, 0x77, 0x88}}, map[event.Field]uint64{event.FieldAddress: 9, event.FieldBytes: 512, event.FieldStream: 0x88}},
		{"cudaMemcpyAsync", regs{slots: [16]uint64{1, 2, 512, junk | 1, 0x77}}, map[event.Field]uint64{event.FieldBytes: 512, event.FieldDirection: uint64(event.DirHtoD), event.FieldStream: 0x77}},
		{"cudaMemcpy2DAsync", regs{slots: [16]uint64{1, 2, 3, 4, 10, 20, junk | 2, 0x77}}, map[event.Field]uint64{event.FieldBytes: 200, event.FieldDirection: uint64(event.DirDtoH), event.FieldStream: 0x77}},
		{"cudaMemcpy3DAsync", regs{slots: [16]uint64{0xc0, 0x77}, memory: map[uint64][]byte{0xc0: parms}},
			map[event.Field]uint64{event.FieldBytes: 60, event.FieldDirection: uint64(event.DirDtoH), event.FieldStream: 0x77}},
		{"hipMemcpyParam2DAsync", regs{slots: [16]uint64{0xc0, 0x77}, memory: map[uint64][]byte{0xc0: copy2}}, map[event.Field]uint64{event.FieldBytes: 700, event.FieldStream: 0x77}},
		{"ncclAllReduce", regs{slots: [16]uint64{1, 2, 1000, junk | 9, 0, 0xc, 0x77}}, map[event.Field]uint64{event.FieldBytes: 2000, event.FieldStream: 0x77}},
		{"ncclReduce", regs{slots: [16]uint64{1, 2, 1000, 7, 0, 3, 0xc, 0x77}}, map[event.Field]uint64{event.FieldBytes: 4000, event.FieldStream: 0x77}},
		{"ncclAllGather", regs{slots: [16]uint64{1, 2, 1000, 8, 0xc, 0x77}}, map[event.Field]uint64{event.FieldBytes: 8000, event.FieldStream: 0x77}},
		{"ncclSend", regs{slots: [16]uint64{1, 1000, 0, 3, 0xc, 0x77}}, map[event.Field]uint64{event.FieldBytes: 1000, event.FieldStream: 0x77}},
		{"cuGraphLaunch", regs{slots: [16]uint64{0xe, 0x77}}, map[event.Field]uint64{event.FieldStream: 0x77}},
		{"cuLibraryUnload", regs{}, map[event.Field]uint64{}},
	} {
		f, ok := Lookup(c.symbol)
		if !ok {
			t.Errorf("no function %s", c.symbol)
			continue
		}
		got := c.regs.read(f.ArgsFor(c.symbol))
		for field, want := range c.want {
			if v, ok := got[field]; !ok || v != want {
				t.Errorf("%s: %v = %d (%v), want %d", c.symbol, field, v, ok, want)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: fields %v, want %v", c.symbol, got, c.want)
		}
	}
}

func TestStackOffset(t *testing.T) {
	if _, ok := (Arg{Slot: 5}).StackOffset(); ok {
		t.Error("r9 is on the stack")
	}
	for slot, want := range map[uint8]int{6: 8, 7: 16, 8: 24} {
		if o, ok := (Arg{Slot: slot}).StackOffset(); o != want || !ok {
			t.Errorf("slot %d is at rsp+%d, want %d", slot, o, want)
		}
	}
}

func TestNamesOfGetFunction(t *testing.T) {
	for symbol, slot := range map[string]uint8{"cuModuleGetFunction": 2, "cuLibraryGetKernel": 2, "hipModuleGetFunction": 2, "__cudaRegisterFunction": 3, "__hipRegisterFunction": 3} {
		f, _ := Lookup(symbol)
		if f == nil || f.Class != ClassGetFunction {
			t.Errorf("%s: %+v", symbol, f)
			continue
		}
		i := slices.IndexFunc(f.ArgsFor(symbol), func(a Arg) bool { return a.How == CString })
		if i < 0 || f.ArgsFor(symbol)[i].Slot != slot || f.ArgsFor(symbol)[i].Field != event.FieldKernelName {
			t.Errorf("%s: name not in slot %d", symbol, slot)
		}
	}
}

func TestCopyDirections(t *testing.T) {
	for kind, want := range map[uint64]event.Direction{0: event.DirHtoH, 1: event.DirHtoD, 2: event.DirDtoH, 3: event.DirDtoD, 4: event.DirUnknown, 9: event.DirUnknown, 1<<32 | 1: event.DirHtoD} {
		if d := CopyKind(kind); d != want {
			t.Errorf("CopyKind(%d) = %v, want %v", kind, d, want)
		}
	}
	for _, c := range []struct {
		src, dst uint64
		want     event.Direction
	}{
		{1, 1, event.DirHtoH}, {1, 2, event.DirHtoD}, {1, 3, event.DirHtoD}, {2, 1, event.DirDtoH}, {3, 1, event.DirDtoH},
		{2, 3, event.DirDtoD}, {4, 2, event.DirUnknown}, {0, 0, event.DirUnknown},
	} {
		if d := CopyTypes(c.src, c.dst); d != c.want {
			t.Errorf("CopyTypes(%d, %d) = %v, want %v", c.src, c.dst, d, c.want)
		}
	}
	f, _ := Lookup("cuMemcpyDtoH_v2")
	if f.Direction != event.DirDtoH || f.Async || !f.Blocks {
		t.Errorf("cuMemcpyDtoH: %+v", f)
	}
}

func TestNCCLTypes(t *testing.T) {
	sizes := []int{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}
	for v, want := range sizes {
		if n, ok := NCCLTypeSize(uint64(v)); n != want || !ok || NCCLTypeName(uint64(v)) == "" {
			t.Errorf("type %d: %d bytes (%v), want %d", v, n, ok, want)
		}
	}
	if n, ok := NCCLTypeSize(12); ok || NCCLTypeName(12) != "" {
		t.Errorf("type 12: %d", n)
	}
}
