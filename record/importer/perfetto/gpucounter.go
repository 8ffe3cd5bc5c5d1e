package perfetto

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// counterSet are the counters that a descriptor names.
type counterSet struct {
	gpu    int64
	hasGPU bool
	specs  map[uint64]counterSpec
}

type counterSpec struct{ name, unit string }

// units by number (GpuCounterDescriptor.MeasureUnit).
var units = []string{"", "bit", "kbit", "Mbit", "Gbit", "Tbit", "Pbit", "bytes", "kB", "MB", "GB", "TB", "PB",
	"Hz", "kHz", "MHz", "GHz", "THz", "PHz", "ns", "us", "ms", "s", "min", "h", "vertices", "pixels", "triangles",
	"mW", "W", "kW", "J", "V", "A", "C", "F", "K", "%", "primitives", "fragments", "instructions"}

// readCounters reads a GpuCounterDescriptor.
func (r *reader) readCounters(b []byte) *counterSet {
	set := &counterSet{specs: map[uint64]counterSpec{}}
	var f, g field
	m := message{b: b}
	for m.next(&f) {
		if f.num != 1 {
			continue
		}
		var id uint64
		var spec counterSpec
		var over string
		sub := message{b: f.b}
		for sub.next(&g) {
			switch g.num {
			case 1:
				id = g.v
			case 2:
				spec.name = r.str(g.b)
			case 7:
				g.packed(func(v uint64) { spec.unit = joinUnit(spec.unit, v) })
			case 8:
				g.packed(func(v uint64) { over = joinUnit(over, v) })
			}
		}
		if over != "" {
			spec.unit += "/" + over
		}
		if len(set.specs) < 1<<14 {
			set.specs[id] = spec
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	return set
}

func joinUnit(s string, v uint64) string {
	if v == 0 || v >= uint64(len(units)) || len(s) > 64 {
		return s
	}
	if s != "" {
		s += "·"
	}
	return s + units[v]
}

func (r *reader) internCounters(s *sequence, b []byte) {
	var id uint64
	set := &counterSet{}
	var f field
	gpu, hasGPU := int64(0), false
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			id = f.v
		case 2:
			set = r.readCounters(f.b)
		case 3:
			gpu, hasGPU = int64(int32(f.v)), true
		}
	}
	set.gpu, set.hasGPU = gpu, hasGPU
	if s.counters == nil {
		s.counters = map[uint64]*counterSet{}
	}
	if r.hold(s, 128*len(set.specs)) {
		s.counters[id] = set
	}
}

// gpuCounters reads a GpuCounterEvent. Where the descriptor is not interned it
// comes once, and holds for the GPU from there on.
func (r *reader) gpuCounters(h *head, m *message) {
	var set *counterSet
	gpu, hasGPU, described := int64(0), false, false
	var f, g field
	for first := *m; first.next(&f); {
		switch f.num {
		case 1:
			set, described = r.readCounters(f.b), true
		case 3:
			gpu, hasGPU = int64(int32(f.v)), true
		case 4:
			if set = h.seq.counters[f.v]; set == nil {
				r.note(&AnomalyInterned, 1)
			} else if !hasGPU && set.hasGPU {
				gpu, hasGPU = set.gpu, true
			}
		}
	}
	if r.gpus.global == nil {
		r.gpus.global = map[int64]*counterSet{}
	}
	if set == nil {
		set = r.gpus.global[gpu]
	} else if described && (r.gpus.global[gpu] != nil || len(r.gpus.global) < maxGPUs) {
		r.gpus.global[gpu] = set
	}
	device := r.gpus.name(gpu)
	for m.next(&f) {
		if f.num != 2 {
			continue
		}
		var id uint64
		value, ok := 0.0, false
		sub := message{b: f.b}
		for sub.next(&g) {
			switch g.num {
			case 1:
				id = g.v
			case 2:
				value, ok = float64(int64(g.v)), true
			case 3:
				value, ok = g.float(), true
			}
		}
		if sub.bad {
			r.note(&AnomalyBadPacket, 1)
		}
		r.gpuCounter(h, set, id, device, value, ok)
	}
}

func (r *reader) gpuCounter(h *head, set *counterSet, id uint64, device string, v float64, ok bool) {
	e := r.add(event.KindCounter, h.time)
	e.Source = "perfetto:gpu_counter"
	var spec counterSpec
	if set != nil {
		spec = set.specs[id]
	}
	if spec.name == "" {
		spec.name = "counter " + strconv.FormatUint(id, 10)
		r.note(&AnomalyInterned, 1)
	}
	e.SetStr(event.FieldName, spec.name)
	e.SetStr(event.FieldUnit, spec.unit)
	e.SetStr(event.FieldDevice, device)
	if ok {
		e.SetFloat(event.FieldValue, v)
	}
}
