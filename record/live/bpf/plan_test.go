package bpf

import (
	"testing"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// Every argument that the tables describe must fit into a record.
func TestEveryFunctionFits(t *testing.T) {
	n := 0
	for _, fn := range gpu.Functions() {
		for _, v := range fn.Variants {
			n++
			p := makePlan(&fn, v.Symbol, false)
			if p.left != 0 {
				t.Errorf("%s: %d arguments are not read: %+v", v.Symbol, p.left, v.Args)
			}
			if fn.Blocks && !fn.Async && p.flags&objects.CookieBlocks == 0 {
				t.Errorf("%s may block, but its entry is not recorded", v.Symbol)
			}
			if p.flags&objects.CookieEntryOnly != 0 {
				t.Errorf("%s is probed at entry only", v.Symbol)
			}
			if e := makePlan(&fn, v.Symbol, true); (e.flags&objects.CookieEntryOnly != 0) != fn.Async {
				t.Errorf("%s: entry only %v, async %v", v.Symbol, !fn.Async, fn.Async)
			}
			for _, r := range p.readings {
				if r.place == inReg && int(r.index)+int(r.width) > 48 || r.place == inExtra && int(r.index)+int(r.width) > 64 {
					t.Errorf("%s: %v lies outside of the record", v.Symbol, r.field)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d spellings in the tables", n)
	}
}

func TestPlanOfLaunches(t *testing.T) {
	plan := func(name string) plan {
		fn, ok := gpu.Lookup(name)
		if !ok {
			t.Fatal(name)
		}
		return makePlan(fn, name, false)
	}
	// block z, shared memory and stream are the first three stack slots
	if p := plan("cuLaunchKernel"); p.stack != 3 || p.desc.Flags != 0 {
		t.Errorf("cuLaunchKernel: %d stack slots, descriptor %+v", p.stack, p.desc)
	}
	// all of a 40-byte stretch of the configuration, in one read
	if p := plan("cuLaunchKernelEx"); p.stack != 0 || p.desc.Flags != objects.DescWindow || p.desc.WindowSlot != 0 || p.desc.WindowOff != 0 || p.desc.WindowLen != 40 {
		t.Errorf("cuLaunchKernelEx: %d stack slots, descriptor %+v", p.stack, p.desc)
	}
	// fields of a 128-byte struct that lie 108 bytes apart: one by one
	if p := plan("cuMemcpy2D_v2"); p.desc.Flags != objects.DescRefs || p.desc.NRefs != 4 {
		t.Errorf("cuMemcpy2D_v2: descriptor %+v", p.desc)
	}
	if p := plan("cuModuleGetFunction"); p.desc.Flags != objects.DescOut|objects.DescName || p.desc.OutSlot != 0 || p.desc.NameSlot != 2 || p.flags&objects.CookieDesc == 0 {
		t.Errorf("cuModuleGetFunction: descriptor %+v, flags %d", p.desc, p.flags)
	}
	if p := plan("cuLaunchKernel"); p.cookie(0x1234)&0xffff != 0x1234 || p.cookie(1)>>24 != 3 {
		t.Errorf("cookie %#x", p.cookie(0x1234))
	}
}

// A stack argument beside fields of a struct: all become single values.
func TestPlanMixesStackAndStruct(t *testing.T) {
	fn := gpu.Function{Name: "f", Variants: []gpu.Variant{{Symbol: "f", Args: []gpu.Arg{
		{Field: event.FieldGridX, Slot: 0, How: gpu.ByRef, Width: 4, Offset: 8},
		{Field: event.FieldStream, Slot: 7, Width: 8},
		{Field: event.FieldGridY, Slot: 1, Width: 4, Shift: 32},
	}}}}
	p := makePlan(&fn, "f", false)
	if p.left != 0 || p.desc.NRefs != 2 || p.desc.RefSlot[1] != objects.SlotStack || p.desc.RefOff[1] != 8 {
		t.Fatalf("%+v", p)
	}
	if r := p.readings[1]; r.place != inExtra || r.index != 8 {
		t.Errorf("stream: %+v", r)
	}
	if r := p.readings[2]; r.place != inReg || r.index != 12 || r.width != 4 {
		t.Errorf("grid y: %+v", r)
	}
}
