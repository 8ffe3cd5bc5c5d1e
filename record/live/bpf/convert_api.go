package bpf

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// callRecord is an API record of any type, located for reading.
type callRecord struct {
	rec                []byte
	regs, extra        int // offsets in rec; 0 if the record has none or they could not be read
	start, result, out uint64
	name               []byte
	returned           bool
}

// Where registers and extra values lie in the records.
const (
	enterRegs  = int(unsafe.Offsetof(objects.APIEnterX{}.Regs))
	enterExtra = int(unsafe.Offsetof(objects.APIEnterX{}.Extra))
	callRegs   = int(unsafe.Offsetof(objects.APIX{}.Regs))
	callExtra  = int(unsafe.Offsetof(objects.APIX{}.Extra))
)

func readCall(h *objects.Head, rec []byte, r *callRecord) bool {
	r.rec = rec
	var size uintptr
	switch h.Type {
	case objects.RecAPIEnter:
		r.regs, size = enterRegs, unsafe.Sizeof(objects.APIEnter{})
	case objects.RecAPIEnterX:
		r.regs, r.extra, size = enterRegs, enterExtra, unsafe.Sizeof(objects.APIEnterX{})
	case objects.RecAPI:
		r.regs, size = callRegs, unsafe.Sizeof(objects.API{})
	case objects.RecAPIX:
		r.regs, r.extra, size = callRegs, callExtra, unsafe.Sizeof(objects.APIX{})
	case objects.RecAPIExit:
		size = unsafe.Sizeof(objects.APIExit{})
	case objects.RecAPIName:
		r.regs, size = callRegs, unsafe.Sizeof(objects.APIName{})
	}
	if uintptr(len(rec)) < size {
		return false
	}
	if h.Type != objects.RecAPIEnter && h.Type != objects.RecAPIEnterX {
		e := as[objects.APIExit](rec) // the members that all records of returns begin with
		r.start, r.result, r.out, r.returned = e.Start, e.Result, e.Out, true
	}
	if h.Type == objects.RecAPIName {
		r.name = as[objects.APIName](rec).Name[:]
	}
	return true
}

// load reads 4 or 8 bytes at an offset of the record.
func (r *callRecord) load(off int, width uint8) uint64 {
	if width == 4 {
		return uint64(binary.LittleEndian.Uint32(r.rec[off:]))
	}
	return binary.LittleEndian.Uint64(r.rec[off:])
}

// api converts the record of a call: its entry, its return, or both.
func (c *converter) api(h *objects.Head, rec []byte, b *event.Batch) bool {
	var r callRecord
	if !readCall(h, rec, &r) {
		return false
	}
	s := c.symbols.get(h.ID)
	if s == nil {
		c.anomalies.Add(anomalySymbol, 1)
		return true
	}
	kind := event.KindAPIEnter
	if r.returned {
		kind = event.KindAPI
		if s.plan.flags&objects.CookieBlocks != 0 || c.wasShown(h.TID, h.ID, r.start) {
			kind = event.KindAPIExit
		}
	}
	if kind == event.KindAPIEnter && h.Flags&objects.FlagOpen != 0 && c.isShown(h.TID, h.ID, h.TS) {
		return true // its thread ended; its entry is in the log
	}
	e := c.start(b, kind, h, s.source)
	e.SetUint(event.FieldAPI, uint64(s.api))
	e.SetStr(event.FieldName, s.name)
	if kind != event.KindAPIExit {
		e.SetStr(event.FieldLibrary, s.library)
		if s.dir != event.DirUnknown {
			e.SetUint(event.FieldDirection, uint64(s.dir))
		}
		if h.Flags&objects.FlagEntry != 0 {
			e.SetBool(event.FieldEntryOnly, true)
		}
	}
	if kind == event.KindAPI {
		e.SetTime(event.FieldStart, event.Time(r.start))
	}
	if r.returned && s.api != event.APIUnknown {
		e.SetInt(event.FieldResult, int64(int32(r.result)))
	}
	c.arguments(e, s, h, &r)
	c.kernelName(e, s, h, &r)
	return true
}

// wasShown reports whether the entry of a call was written already, and forgets it.
func (c *converter) wasShown(tid uint32, id uint16, start uint64) bool {
	calls := c.shown[tid]
	for i, s := range calls {
		if s.id == id && s.start == start {
			c.shown[tid] = append(calls[:i:i], calls[i+1:]...)
			if len(c.shown[tid]) == 0 {
				delete(c.shown, tid)
			}
			return true
		}
	}
	return false
}

// isShown reports whether the entry of a call was written before its return.
func (c *converter) isShown(tid uint32, id uint16, start uint64) bool {
	for _, s := range c.shown[tid] {
		if s.id == id && s.start == start {
			return true
		}
	}
	return false
}

// show writes the entry of a call that is still open.
func (c *converter) show(b *event.Batch, t *objects.Thread, f *objects.Frame) {
	rec := objects.APIEnterX{Regs: f.Regs, Extra: f.Extra}
	rec.Head = objects.Head{TS: f.TS, PID: t.PID, TID: t.TID, Comm: t.Comm, ID: uint16(f.Cookie), Type: objects.RecAPIEnter, Flags: objects.FlagOpen}
	if f.Flags&objects.FlagExtra != 0 {
		rec.Type = objects.RecAPIEnterX
		rec.Flags |= objects.FlagExtra
	}
	n := len(b.Events)
	c.convert(unsafe.Slice((*byte)(unsafe.Pointer(&rec)), unsafe.Sizeof(rec)), b)
	if len(b.Events) > n {
		b.Events[n].CPU = event.NoID // it may have moved since
		c.shown[t.TID] = append(c.shown[t.TID], shownCall{f.TS, uint16(f.Cookie)})
	}
}

// arguments fills in what the plan of the function reads from the record.
func (c *converter) arguments(e *event.Event, s *symbol, h *objects.Head, r *callRecord) {
	if e.Kind == event.KindAPIExit {
		for i := range s.plan.readings {
			a := &s.plan.readings[i]
			if v, ok := value(a, h, r); ok && a.plain && a.atEnd.OK() {
				e.SetUint(a.field, v*a.scale)
			}
		}
		return
	}
	special, missed := false, false
	mask := e.Mask()
	for i := range s.plan.readings {
		a := &s.plan.readings[i]
		if !a.plain {
			special = true
			continue // below
		}
		base := r.regs
		if a.place == inExtra {
			base = r.extra
		}
		if base == 0 || a.place > inExtra {
			missed = missed || a.place == inExtra
			if v, ok := value(a, h, r); ok {
				e.PutNum(a.at, v*a.scale)
				mask |= a.mask
			}
			continue
		}
		e.PutNum(a.at, r.load(base+int(a.index), a.width)*a.scale)
		mask |= a.mask
	}
	e.SetMask(mask)
	if special {
		c.combined(e, s, h, r)
	}
	if missed && r.name == nil {
		c.anomalies.AddAt(anomalyArgument, 1, s.name)
	}
}

// combined fills in the fields that are made of several arguments, or need a
// table to understand. Exits have none of them.
func (c *converter) combined(e *event.Event, s *symbol, h *objects.Head, r *callRecord) {
	var srcType, dstType uint64
	var product, elem uint64 = 1, 1
	var haveProduct, haveTypes, threads bool
	for i := range s.plan.readings {
		a := &s.plan.readings[i]
		if a.plain {
			continue // done
		}
		v, ok := value(a, h, r)
		if !ok {
			c.anomalies.AddAt(anomalyArgument, 1, s.name)
			if a.field == event.FieldBytes {
				elem = 0 // a factor is unknown, so the product is
			}
			continue
		}
		switch a.unit {
		case gpu.UnitCopyKind:
			if d := gpu.CopyKind(v); d != event.DirUnknown {
				e.SetUint(event.FieldDirection, uint64(d))
			}
		case gpu.UnitSrcMemType:
			srcType, haveTypes = v, true
		case gpu.UnitDstMemType:
			dstType, haveTypes = v, true
		case gpu.UnitNCCLType:
			n, _ := gpu.NCCLTypeSize(v)
			elem = uint64(n) // 0: unknown, so the product is
		case gpu.UnitThreads:
			threads = true
			e.SetUint(a.field, v)
		default:
			product *= v * a.scale
			haveProduct = true
		}
	}
	if haveProduct && elem != 0 {
		e.SetUint(event.FieldBytes, product*elem)
	}
	if haveTypes {
		if d := gpu.CopyTypes(srcType, dstType); d != event.DirUnknown {
			e.SetUint(event.FieldDirection, uint64(d))
		}
	}
	if threads {
		threadsToBlocks(e, event.FieldGridX, event.FieldBlockX)
		threadsToBlocks(e, event.FieldGridY, event.FieldBlockY)
		threadsToBlocks(e, event.FieldGridZ, event.FieldBlockZ)
	}
}

// threadsToBlocks turns a grid that was given in threads into blocks.
func threadsToBlocks(e *event.Event, grid, block event.Field) {
	n, ok1 := e.Uint(grid)
	size, ok2 := e.Uint(block)
	if !ok1 || !ok2 || size == 0 {
		e.Clear(grid) // threads are not blocks
		return
	}
	e.SetUint(grid, (n+size-1)/size)
}

// value takes an argument out of a record; false if it is not there.
func value(a *reading, h *objects.Head, r *callRecord) (uint64, bool) {
	switch a.place {
	case inReg:
		if r.regs == 0 {
			return 0, false
		}
		return r.load(r.regs+int(a.index), a.width), true
	case inExtra:
		if r.extra == 0 || int(a.index)+int(a.width) > extraSlots*8 {
			return 0, false
		}
		return r.load(r.extra+int(a.index), a.width), true
	case inOut:
		if !r.returned || h.Flags&objects.FlagOut == 0 || int32(r.result) != 0 {
			return 0, false // a failed call leaves its results undefined
		}
		if a.width == 4 {
			return uint64(uint32(r.out)), true
		}
		return r.out, true
	}
	return 0, false
}

// kernelName learns the names of GPU functions where calls tell them, and
// tells them where calls use the functions.
func (c *converter) kernelName(e *event.Event, s *symbol, h *objects.Head, r *callRecord) {
	if s.class == gpu.ClassGetFunction {
		c.learn(e, h, r)
		return
	}
	if e.Kind == event.KindAPIExit {
		return
	}
	if fn, ok := e.Uint(event.FieldFunction); ok {
		if name, ok := c.nameOf(h.PID, fn); ok {
			e.SetStr(event.FieldKernelName, name)
		}
	}
}

// learn handles a call that gives a function's handle: for a name, or for
// another handle of the same function (in address).
func (c *converter) learn(e *event.Event, h *objects.Head, r *callRecord) {
	if !r.returned {
		return
	}
	var name string
	if r.name != nil && h.Flags&objects.FlagName != 0 {
		n := bytes.IndexByte(r.name, 0)
		if n < 0 {
			n = len(r.name)
		}
		if n >= len(r.name)-1 {
			c.anomalies.AddAt(anomalyName, 1, string(r.name[:64]))
		}
		name = c.intern(r.name[:n])
	} else if other, ok := e.Uint(event.FieldAddress); ok {
		name, _ = c.nameOf(h.PID, other)
	}
	if name == "" {
		return // the source does not tell
	}
	e.SetStr(event.FieldKernelName, name)
	if fn, ok := e.Uint(event.FieldFunction); ok && fn != 0 && int32(r.result) == 0 {
		p := c.process(h.PID)
		if p.names == nil {
			p.names = map[uint64]string{}
		}
		p.names[fn] = name
	}
}

func (c *converter) process(pid uint32) *process {
	p := c.procs[pid]
	if p == nil {
		p = &process{}
		c.procs[pid] = p
	}
	return p
}

// nameOf looks a handle up in a process and in those it was forked from.
func (c *converter) nameOf(pid uint32, fn uint64) (string, bool) {
	for p := c.procs[pid]; p != nil; p = p.parent {
		if n, ok := p.names[fn]; ok {
			return n, true
		}
	}
	return "", false
}

// forked, execed and ended keep procs to processes that are alive and may know names.
func (c *converter) forked(parent, child uint32) {
	if p := c.procs[parent]; p != nil {
		c.procs[child] = &process{parent: p}
	} else {
		delete(c.procs, child)
	}
}

func (c *converter) execed(pid uint32) { delete(c.procs, pid) }

func (c *converter) ended(pid uint32) { delete(c.procs, pid) }
