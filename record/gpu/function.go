package gpu

import (
	"strings"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// Class says what an API function is for.
type Class uint8

// The classes.
const (
	ClassOther       Class = iota
	ClassLaunch            // starts one kernel
	ClassGraphLaunch       // starts a graph: many kernels
	ClassMemcpy            // copies
	ClassMemset            // sets memory
	ClassAlloc             // allocates memory
	ClassFree              // frees it
	ClassMap               // reserves, maps, pins or advises on address ranges; no memory of its own
	ClassSync              // waits for the device
	ClassStream            // makes, ends, asks, orders streams
	ClassEvent             // makes, ends, records, asks events
	ClassModule            // loads or unloads code
	ClassGetFunction       // gives the handle of a GPU function for its name
	ClassContext           // contexts and devices
	ClassCollective        // NCCL collectives and point-to-point transfers
	ClassSubmit            // hands recorded work to a queue (Vulkan, OpenCL, Level Zero)
)

var classNames = []string{"other", "launch", "graph_launch", "memcpy", "memset", "alloc", "free", "map", "sync", "stream", "event", "module", "get_function", "context", "collective", "submit"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Function describes an API function.
type Function struct {
	Name  string // base name, see [BaseName]
	API   event.API
	Class Class
	// Blocks says that the call may wait for the device or for another
	// process. It must not be probed at return only: the call that hangs
	// would be missing from the log.
	Blocks bool
	// Async says that the call returns when its work is enqueued.
	Async bool
	// Direction is the direction of a copy where the name alone tells it.
	Direction event.Direction
	// Variants are the spellings that libraries may export; a library has
	// some of them. The first is the one that current programs call.
	Variants []Variant
}

// Variant is one exported spelling of a function.
type Variant struct {
	Symbol string
	Args   []Arg // what is worth reading; nil: nothing
}

// How says what a register or stack slot holds.
type How uint8

// The ways to read an argument.
const (
	ByValue How = iota // the slot holds the value: bits Shift and up, Width bytes of them
	ByRef              // at entry the slot points to a struct: Width bytes at Offset
	OutRef             // the slot points to a result: Width bytes at Offset, read at return. The pointer is only known at entry
	CString            // at entry the slot points to a NUL-terminated string
)

// Unit says how the value that was read becomes the field's value.
type Unit uint8

// The units.
const (
	UnitPlain      Unit = iota // the value times Scale
	UnitCopyKind               // cudaMemcpyKind, hipMemcpyKind: see [CopyKind]
	UnitSrcMemType             // CUmemorytype of the source: see [CopyTypes]
	UnitDstMemType             // CUmemorytype of the destination
	UnitNCCLType               // ncclDataType_t: the size of an element, see [NCCLTypeSize]
	UnitThreads                // threads over the whole grid; blocks are that divided by the block's size, rounded up
)

// Arg says where an argument stands at the function's first instruction, in
// the SysV x86-64 convention, and which field of the event it fills.
//
// Where several args of a function have the same field with UnitPlain or
// UnitNCCLType, the field is their product (width × height × element size).
type Arg struct {
	Field event.Field
	// Slot: 0–5 are rdi, rsi, rdx, rcx, r8, r9; slot n ≥ 6 is the 8 bytes at
	// [rsp + 8 + 8·(n−6)], where [rsp] is the return address.
	Slot   uint8
	How    How
	Width  uint8  // bytes to read, 4 or 8; 0 for strings. Above Width a register holds garbage
	Shift  uint8  // ByValue: bits to shift right first (32 for the y of a dim3)
	Offset uint16 // ByRef, OutRef
	Unit   Unit
	Scale  uint16 // UnitPlain: factor, 0 means 1 (element size of cuMemsetD16)
}

// StackOffset returns the distance of the arg's slot from rsp at the first
// instruction, and false for one in a register.
func (a Arg) StackOffset() (int, bool) {
	if a.Slot < 6 {
		return 0, false
	}
	return 8 + 8*(int(a.Slot)-6), true
}

// Symbols returns the spellings that libraries may export.
func (f *Function) Symbols() []string {
	s := make([]string, len(f.Variants))
	for i, v := range f.Variants {
		s[i] = v.Symbol
	}
	return s
}

// ArgsFor returns the args of one spelling ("cuMemcpyHtoD_v2_ptds", with or
// without "@@version"); those of the first variant if the spelling is none of
// the known ones. The result is shared and must not be changed.
func (f *Function) ArgsFor(symbol string) []Arg {
	symbol = cutVersion(symbol)
	for i := range f.Variants {
		if f.Variants[i].Symbol == symbol {
			return f.Variants[i].Args
		}
	}
	if len(f.Variants) == 0 {
		return nil
	}
	return f.Variants[0].Args
}

// Functions returns every function of the table, in the order of the
// families. The result is shared and must not be changed.
func Functions() []Function { return functions() }

// Lookup finds a function by any of its spellings: exported
// ("cuMemcpyHtoD_v2_ptds", "hipLaunchKernel@@hip_4.2"), as tools print it
// ("cudaLaunchKernel_v7000"), or its base name. The result is shared and must
// not be changed.
func Lookup(symbol string) (*Function, bool) {
	symbol = cutVersion(symbol)
	i, ok := functionIndex()[symbol]
	if !ok {
		i, ok = functionIndex()[BaseName(symbol)]
	}
	if !ok {
		return nil, false
	}
	return &functions()[i], true
}

// BaseName returns the name without what tells its spellings apart: the ELF
// symbol version ("@@hip_4.2"), "_vN" and "_v7000", "_ptsz", "_ptds" (streams
// per thread), and HIP's "_spt" (the same), in any order and number.
func BaseName(symbol string) string {
	symbol = cutVersion(symbol)
	for {
		s := cutSuffix(symbol)
		if s == symbol || s == "" {
			return symbol
		}
		symbol = s
	}
}

func cutVersion(s string) string {
	if i := strings.IndexByte(s, '@'); i > 0 {
		return s[:i]
	}
	return s
}

// cutSuffix takes one suffix off, if there is one.
func cutSuffix(s string) string {
	i := strings.LastIndexByte(s, '_')
	if i < 0 {
		return s
	}
	switch t := s[i+1:]; {
	case t == "ptsz", t == "ptds":
		return s[:i]
	case t == "spt" && strings.HasPrefix(s, "hip"):
		return s[:i]
	case len(t) > 1 && t[0] == 'v' && strings.Trim(t[1:], "0123456789") == "":
		return s[:i]
	}
	return s
}

// CopyKind returns the direction that a cudaMemcpyKind or hipMemcpyKind says;
// 4 (default) leaves it unknown.
func CopyKind(v uint64) event.Direction {
	switch uint32(v) {
	case 0:
		return event.DirHtoH
	case 1:
		return event.DirHtoD
	case 2:
		return event.DirDtoH
	case 3:
		return event.DirDtoD
	}
	return event.DirUnknown
}

// CopyTypes returns the direction of a copy between two CUmemorytypes
// (1 host, 2 device, 3 array, 4 unified: unknown). Arrays lie on the device.
func CopyTypes(src, dst uint64) event.Direction {
	const host, device, array = 1, 2, 3
	onDevice := func(t uint64) bool { return uint32(t) == device || uint32(t) == array }
	s, d := uint32(src), uint32(dst)
	switch {
	case s == host && d == host:
		return event.DirHtoH
	case s == host && onDevice(dst):
		return event.DirHtoD
	case onDevice(src) && d == host:
		return event.DirDtoH
	case onDevice(src) && onDevice(dst):
		return event.DirDtoD
	}
	return event.DirUnknown
}

var ncclTypes = []struct {
	name string
	size uint8
}{
	{"int8", 1}, {"uint8", 1}, {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8},
	{"float16", 2}, {"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1},
}

// NCCLTypeSize returns the bytes of an element of a ncclDataType_t.
func NCCLTypeSize(v uint64) (int, bool) {
	if t := uint32(v); int(t) < len(ncclTypes) {
		return int(ncclTypes[t].size), true
	}
	return 0, false
}

// NCCLTypeName returns the name of a ncclDataType_t ("bfloat16"), "" if unknown.
func NCCLTypeName(v uint64) string {
	if t := uint32(v); int(t) < len(ncclTypes) {
		return ncclTypes[t].name
	}
	return ""
}

// functionIndex finds functions by base name and by every variant.
var functionIndex = sync.OnceValue(func() map[string]int {
	functions := functions()
	m := make(map[string]int, 4*len(functions))
	for i := range functions {
		m[functions[i].Name] = i
		for _, v := range functions[i].Variants {
			m[v.Symbol] = i
		}
	}
	return m
})
