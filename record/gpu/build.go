package gpu

import (
	"strings"
	"sync"

	"github.com/gpurec/gpurec/record/event"
)

// family is the source form of a family's functions.
type family struct {
	api  event.API
	rows []row
}

// row is a Function in short form. spell lists its variants: "-" is the bare
// name, "_v2_ptds" a suffix, "v1" the bare name with the 32-bit sizes and
// device addresses of CUDA before 3.2, "v1b" the same with host addresses of
// 64 bits, "=name" another symbol altogether. "" means "-".
type row struct {
	name  string
	class Class
	flags flag
	spell string
	args  []Arg
}

type flag uint8

const (
	blocks flag = 1 << iota // Function.Blocks
	async                   // Function.Async
	htod                    // Function.Direction
	dtoh
	dtod
	ptop

	enq = blocks | async // enqueues work: waits when the queue is full, as it is behind a hung kernel
)

// extra are variants whose args differ from their row's.
type extra struct {
	symbol string
	args   []Arg
}

func build(fams []family, extras []extra) []Function {
	own := make(map[string][]Arg, len(extras))
	for _, x := range extras {
		own[x.symbol] = x.args
	}
	var out []Function
	for _, fam := range fams {
		for _, r := range fam.rows {
			f := Function{Name: r.name, API: fam.api, Class: r.class, Blocks: r.flags&blocks != 0, Async: r.flags&async != 0, Direction: r.flags.direction()}
			if r.spell == "" {
				r.spell = "-"
			}
			for _, s := range strings.Fields(r.spell) {
				v := Variant{r.name + s, r.args}
				switch {
				case s == "-":
					v.Symbol = r.name
				case s == "v1":
					v = Variant{r.name, narrow(r.args, event.FieldBytes, event.FieldAddress)}
				case s == "v1b":
					v = Variant{r.name, narrow(r.args, event.FieldBytes)}
				case s[0] == '=':
					v.Symbol = s[1:]
				}
				if a, ok := own[v.Symbol]; ok {
					v.Args = a
				}
				f.Variants = append(f.Variants, v)
			}
			out = append(out, f)
		}
	}
	return out
}

func (f flag) direction() event.Direction {
	switch {
	case f&htod != 0:
		return event.DirHtoD
	case f&dtoh != 0:
		return event.DirDtoH
	case f&dtod != 0:
		return event.DirDtoD
	case f&ptop != 0:
		return event.DirPtoP
	}
	return event.DirUnknown
}

// narrow returns args with the given fields read from 32 bits. A struct
// argument of the old form has another layout: it is left out.
func narrow(args []Arg, fields ...event.Field) []Arg {
	var out []Arg
	for _, a := range args {
		if a.How == ByRef {
			return nil
		}
		for _, f := range fields {
			if a.Field == f {
				a.Width = 4
			}
		}
		out = append(out, a)
	}
	return out
}

// Short forms of Arg.

func u64(f event.Field, slot uint8) Arg { return Arg{Field: f, Slot: slot, Width: 8} }
func u32(f event.Field, slot uint8) Arg { return Arg{Field: f, Slot: slot, Width: 4} }
func ref(f event.Field, slot uint8, width uint8, off uint16) Arg {
	return Arg{Field: f, Slot: slot, How: ByRef, Width: width, Offset: off}
}
func out(f event.Field, slot uint8) Arg { return Arg{Field: f, Slot: slot, How: OutRef, Width: 8} }
func text(slot uint8) Arg {
	return Arg{Field: event.FieldKernelName, Slot: slot, How: CString}
}
func stream(slot uint8) Arg { return u64(event.FieldStream, slot) }
func bytes(slot uint8) Arg  { return u64(event.FieldBytes, slot) }
func elems(slot uint8, size uint16) Arg {
	return Arg{Field: event.FieldBytes, Slot: slot, Width: 8, Scale: size}
}
func addr(slot uint8) Arg { return u64(event.FieldAddress, slot) }
func copyKind(slot uint8) Arg {
	return Arg{Field: event.FieldDirection, Slot: slot, Width: 4, Unit: UnitCopyKind}
}
func list(args ...Arg) []Arg { return args }

func join(lists ...[]Arg) []Arg {
	var out []Arg
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// dims3 are x, y, z in three slots of their own from slot on.
func dims3(x, y, z event.Field, slot uint8) []Arg {
	return list(u32(x, slot), u32(y, slot+1), u32(z, slot+2))
}

func grid3(slot uint8) []Arg {
	return dims3(event.FieldGridX, event.FieldGridY, event.FieldGridZ, slot)
}
func block3(slot uint8) []Arg {
	return dims3(event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ, slot)
}

// dim3 is a struct of three uint32 by value: x and y in one slot, z in the next.
func dim3(x, y, z event.Field, slot uint8) []Arg {
	return list(u32(x, slot), Arg{Field: y, Slot: slot, Width: 4, Shift: 32}, u32(z, slot+1))
}

func gridDim3(slot uint8) []Arg {
	return dim3(event.FieldGridX, event.FieldGridY, event.FieldGridZ, slot)
}
func blockDim3(slot uint8) []Arg {
	return dim3(event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ, slot)
}

// config is a launch configuration struct (CUlaunchConfig, cudaLaunchConfig_t)
// behind slot; its shared memory size is 4 bytes wide in the driver API, 8 in
// the runtime's.
func config(slot uint8, shmem uint8) []Arg {
	return list(
		ref(event.FieldGridX, slot, 4, 0), ref(event.FieldGridY, slot, 4, 4), ref(event.FieldGridZ, slot, 4, 8),
		ref(event.FieldBlockX, slot, 4, 12), ref(event.FieldBlockY, slot, 4, 16), ref(event.FieldBlockZ, slot, 4, 20),
		ref(event.FieldSharedMemBytes, slot, shmem, 24), ref(event.FieldStream, slot, 8, 32))
}

// memTypes are the memory types of a CUDA_MEMCPY2D or 3D behind slot 0.
func memTypes(src, dst uint16) []Arg {
	return list(
		Arg{Field: event.FieldDirection, How: ByRef, Width: 4, Offset: src, Unit: UnitSrcMemType},
		Arg{Field: event.FieldDirection, How: ByRef, Width: 4, Offset: dst, Unit: UnitDstMemType})
}

// extent is a width, height and depth of 8 bytes each behind slot 0: n of them.
func extent(off uint16, n int) []Arg {
	var a []Arg
	for i := range n {
		a = append(a, ref(event.FieldBytes, 0, 8, off+8*uint16(i)))
	}
	return a
}

// functions is the whole table. It is made when it is first asked for: most
// commands never do.
var functions = sync.OnceValue(func() []Function {
	return build([]family{
		{event.APICUDADriver, cudaDriver()},
		{event.APICUDARuntime, cudaRuntime()},
		{event.APIHIP, hip()},
		{event.APINCCL, nccl()},
		{event.APIHSA, hsa()},
		{event.APIOpenCL, openCL()},
		{event.APIVulkan, vulkan()},
		{event.APILevelZero, levelZero()},
	}, extras())
})
