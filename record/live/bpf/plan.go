package bpf

import (
	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// Where the value of an argument stands in a record.
type place uint8

const (
	inReg   place = iota // at byte offset index of the registers
	inExtra              // at byte offset index of extra
	inOut                // out
	inName               // name
)

// reading is an argument of the tables, located in a record.
type reading struct {
	field event.Field
	place place
	index uint8
	width uint8 // bytes, 4 or 8
	plain bool  // the value goes into the field as it is
	unit  gpu.Unit
	scale uint64
	at    event.Place // of the field in entries and whole calls
	atEnd event.Place // of the field in returns, if they have it
	mask  uint32      // of at
}

// plan says how a function is probed and how its records are read.
type plan struct {
	flags    uint8 // objects.Cookie*
	stack    uint8 // stack slots that BPF copies to extra
	desc     objects.Desc
	readings []reading
	left     int // arguments that do not fit into a record and are not read
}

// extraSlots is the number of 64-bit values in a record's extra.
const extraSlots = 8

// makePlan decides what BPF reads of a function's arguments. Registers are
// always recorded. Beyond them a record has room for 64 bytes: stack slots, or
// a window of one struct, or up to eight single values.
func makePlan(fn *gpu.Function, symbol string, entryOnly bool) plan {
	var p plan
	args := fn.ArgsFor(symbol)
	switch {
	case fn.Async && entryOnly:
		p.flags |= objects.CookieEntryOnly
	case fn.Blocks && !fn.Async:
		p.flags |= objects.CookieBlocks
	}
	var stack, refs []gpu.Arg
	for _, a := range args {
		switch {
		case a.How == gpu.ByRef:
			refs = append(refs, a)
		case a.How == gpu.ByValue && a.Slot >= 6, a.How == gpu.OutRef && a.Slot >= 6, a.How == gpu.CString && a.Slot >= 6:
			stack = append(stack, a)
		}
	}
	switch {
	case len(refs) == 0:
		p.planStack(stack)
	case len(stack) == 0 && p.planWindow(refs):
	default:
		p.planRefs(refs, stack)
	}
	for _, a := range args {
		p.locate(a)
	}
	if p.desc.Flags != 0 {
		p.flags |= objects.CookieDesc
	}
	return p
}

// planStack copies the stack slots up to the last that is needed.
func (p *plan) planStack(args []gpu.Arg) {
	for _, a := range args {
		if n := a.Slot - 6 + 1; n <= extraSlots {
			p.stack = max(p.stack, n)
		}
	}
}

// planWindow reads one stretch of a struct, if all fields are in it.
func (p *plan) planWindow(refs []gpu.Arg) bool {
	lo, hi := int(refs[0].Offset), 0
	for _, a := range refs {
		if a.Slot != refs[0].Slot {
			return false
		}
		lo, hi = min(lo, int(a.Offset)), max(hi, int(a.Offset)+int(a.Width))
	}
	if hi-lo > extraSlots*8 || refs[0].Slot >= 6 {
		return false
	}
	p.desc.Flags |= objects.DescWindow
	p.desc.WindowSlot, p.desc.WindowOff, p.desc.WindowLen = refs[0].Slot, uint16(lo), uint8(hi-lo)
	return true
}

// planRefs reads each value by itself.
func (p *plan) planRefs(refs, stack []gpu.Arg) {
	add := func(slot, width uint8, off uint16) {
		n := p.desc.NRefs
		if n == extraSlots {
			return // locate counts what is left out
		}
		p.desc.Flags |= objects.DescRefs
		p.desc.RefSlot[n], p.desc.RefWidth[n], p.desc.RefOff[n] = slot, width, off
		p.desc.NRefs++
	}
	for _, a := range refs {
		if a.Slot < 6 && p.findRef(a.Slot, a.Offset) < 0 {
			add(a.Slot, a.Width, a.Offset)
		}
	}
	for _, a := range stack {
		if off := uint16(a.Slot-6) * 8; p.findRef(objects.SlotStack, off) < 0 {
			add(objects.SlotStack, 8, off)
		}
	}
}

func (p *plan) findRef(slot uint8, off uint16) int {
	for i := range int(p.desc.NRefs) {
		if p.desc.RefSlot[i] == slot && p.desc.RefOff[i] == off {
			return i
		}
	}
	return -1
}

// locate adds the reading of an argument.
func (p *plan) locate(a gpu.Arg) {
	r := reading{field: a.Field, width: a.Width, unit: a.Unit, scale: max(uint64(a.Scale), 1)}
	r.plain = a.Unit == gpu.UnitPlain && a.Field != event.FieldBytes
	r.at, r.atEnd = event.KindAPI.Place(a.Field), event.KindAPIExit.Place(a.Field)
	r.mask = r.at.Mask()
	// entries and whole calls keep the same fields at the same places
	ok := r.at.OK() && r.at == event.KindAPIEnter.Place(a.Field)
	switch a.How {
	case gpu.ByValue:
		var found bool
		r.place, r.index, found = p.slot(a.Slot)
		// memory is little-endian: the upper half of a slot lies 4 bytes on
		r.index += a.Shift / 8
		ok = ok && found && a.Shift%8 == 0 && (a.Width == 4 || a.Width == 8) && a.Shift/8+a.Width <= 8
	case gpu.ByRef:
		r.place = inExtra
		if a.Width != 4 && a.Width != 8 {
			ok = false
		} else if p.desc.Flags&objects.DescWindow != 0 {
			r.index = uint8(a.Offset - p.desc.WindowOff)
		} else if i := p.findRef(a.Slot, a.Offset); i >= 0 {
			r.index = uint8(i) * 8
		} else {
			ok = false
		}
	case gpu.OutRef:
		r.place = inOut
		ok = ok && (a.Slot < 6 || a.Slot-6 < p.stack) && p.desc.Flags&objects.DescOut == 0
		if ok {
			p.desc.Flags |= objects.DescOut
			p.desc.OutSlot, p.desc.OutWidth, p.desc.OutOff = a.Slot, a.Width, a.Offset
		}
	case gpu.CString:
		r.place = inName
		ok = (a.Slot < 6 || a.Slot-6 < p.stack) && p.desc.Flags&objects.DescName == 0
		if ok {
			p.desc.Flags |= objects.DescName
			p.desc.NameSlot = a.Slot
		}
	}
	if !ok {
		p.left++
		return
	}
	p.readings = append(p.readings, r)
}

func (p *plan) slot(slot uint8) (place, uint8, bool) {
	if slot < 6 {
		return inReg, slot * 8, true
	}
	if n := slot - 6; n < p.stack {
		return inExtra, n * 8, true
	}
	if i := p.findRef(objects.SlotStack, uint16(slot-6)*8); i >= 0 {
		return inExtra, uint8(i) * 8, true
	}
	return 0, 0, false
}

// cookie packs the id of a symbol and how it is probed.
func (p *plan) cookie(id uint16) uint64 {
	return uint64(id) | uint64(p.flags)<<16 | uint64(p.stack)<<24
}
