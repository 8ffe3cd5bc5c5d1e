package bpf

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// callRecord is an API record of any type, laid out for reading.
type callRecord struct {
	regs              *[6]uint64 // nil if the record has none
	extra             *[8]uint64 // nil if it has none or they could not be read
	start, result     uint64
	out               uint64
	name              []byte
	returned, hasArgs bool
}

func readCall(h *objects.Head, rec []byte) (r callRecord, ok bool) {
	switch h.Type {
	case objects.RecAPIEnter:
		if p := as[objects.APIEnter](rec); p != nil {
			return callRecord{regs: &p.Regs, hasArgs: true}, true
		}
	case objects.RecAPIEnterX:
		if p := as[objects.APIEnterX](rec); p != nil {
			return callRecord{regs: &p.Regs, extra: &p.Extra, hasArgs: true}, true
		}
	case objects.RecAPI:
		if p := as[objects.API](rec); p != nil {
			return callRecord{regs: &p.Regs, start: p.Start, result: p.Result, out: p.Out, returned: true, hasArgs: true}, true
		}
	case objects.RecAPIX:
		if p := as[objects.APIX](rec); p != nil {
			return callRecord{regs: &p.Regs, extra: &p.Extra, start: p.Start, result: p.Result, out: p.Out, returned: true, hasArgs: true}, true
		}
	case objects.RecAPIExit:
		if p := as[objects.APIExit](rec); p != nil {
			return callRecord{start: p.Start, result: p.Result, out: p.Out, returned: true}, true
		}
	case objects.RecAPIName:
		if p := as[objects.APIName](rec); p != nil {
			return callRecord{regs: &p.Regs, start: p.Start, result: p.Result, out: p.Out, name: p.Name[:], returned: true, hasArgs: true}, true
		}
	}
	return r, false
}

// api converts the record of a call: its entry, its return, or both.
func (c *converter) api(h *objects.Head, rec []byte, b *event.Batch) bool {
	r, ok := readCall(h, rec)
	if !ok {
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

// fieldSet is the fields that events of a kind can carry.
type fieldSet [event.NumFields]bool

func fieldsOf(k event.Kind) (s fieldSet) {
	for _, f := range k.Spec().Fields {
		s[f] = true
	}
	return s
}

var callFields, exitFields = fieldsOf(event.KindAPI), fieldsOf(event.KindAPIExit)

// arguments fills in what the plan of the function reads from the record.
func (c *converter) arguments(e *event.Event, s *symbol, h *objects.Head, r *callRecord) {
	var products, srcType, dstType uint64
	var elem uint64 = 1
	var haveProduct, haveTypes, missed, threads bool
	for i := range s.plan.readings {
		a := &s.plan.readings[i]
		v, ok := value(a, h, r)
		if !ok {
			missed = missed || a.place == inExtra && r.hasArgs && r.name == nil
			continue // not in this record, or unreadable: the field stays unknown
		}
		switch a.unit {
		case gpu.UnitCopyKind:
			if d := gpu.CopyKind(v); d != event.DirUnknown && e.Kind != event.KindAPIExit {
				e.SetUint(event.FieldDirection, uint64(d))
			}
		case gpu.UnitSrcMemType:
			srcType, haveTypes = v, true
		case gpu.UnitDstMemType:
			dstType, haveTypes = v, true
		case gpu.UnitNCCLType:
			if n, ok := gpu.NCCLTypeSize(v); ok {
				elem = uint64(n)
			} else {
				elem = 0 // unknown size: the product is unknown
			}
		case gpu.UnitThreads:
			threads = true
			set(e, a.field, v)
		default:
			if a.field == event.FieldBytes {
				if !haveProduct {
					products, haveProduct = 1, true
				}
				products *= v * a.scale
				break
			}
			set(e, a.field, v*a.scale)
		}
	}
	if haveProduct && elem != 0 && e.Kind != event.KindAPIExit {
		e.SetUint(event.FieldBytes, products*elem)
	}
	if haveTypes && e.Kind != event.KindAPIExit {
		if d := gpu.CopyTypes(srcType, dstType); d != event.DirUnknown {
			e.SetUint(event.FieldDirection, uint64(d))
		}
	}
	if threads {
		threadsToBlocks(e, event.FieldGridX, event.FieldBlockX)
		threadsToBlocks(e, event.FieldGridY, event.FieldBlockY)
		threadsToBlocks(e, event.FieldGridZ, event.FieldBlockZ)
	}
	if missed {
		c.anomalies.AddAt(anomalyArgument, 1, s.name)
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

// set sets a field if the event's kind has it: exits carry few of a call's fields.
func set(e *event.Event, f event.Field, v uint64) {
	fields := &callFields
	if e.Kind == event.KindAPIExit {
		fields = &exitFields
	}
	if fields[f] {
		e.SetUint(f, v)
	}
}

// value takes an argument out of a record.
func value(a *reading, h *objects.Head, r *callRecord) (uint64, bool) {
	var v uint64
	switch a.place {
	case inReg:
		if r.regs == nil || int(a.index) >= len(r.regs) {
			return 0, false
		}
		v = r.regs[a.index]
	case inExtra:
		if r.extra == nil || int(a.index)+int(a.width) > len(r.extra)*8 {
			return 0, false
		}
		v = extraAt(r.extra, int(a.index), int(a.width))
	case inOut:
		if !r.returned || h.Flags&objects.FlagOut == 0 || int32(r.result) != 0 {
			return 0, false // a failed call leaves its results undefined
		}
		v = r.out
	default:
		return 0, false
	}
	v >>= a.shift
	if a.width == 4 {
		v = uint64(uint32(v))
	}
	return v, true
}

// extraAt reads width bytes at a byte offset, which need not be aligned.
func extraAt(extra *[8]uint64, off, width int) uint64 {
	var buf [8]byte
	for i := range min(width, 8) {
		j := off + i
		buf[i] = byte(extra[j/8] >> (8 * (j % 8)))
	}
	return binary.LittleEndian.Uint64(buf[:])
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
