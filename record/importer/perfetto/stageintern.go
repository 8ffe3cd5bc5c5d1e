package perfetto

import (
	"github.com/gpurec/gpurec/record/event"
)

func (r *reader) internContext(s *sequence, b []byte) {
	var id uint64
	c := graphicsContext{pid: event.NoID}
	var f field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			id = f.v
		case 2:
			c.pid = int32(f.v)
		case 3:
			c.api = f.v
		}
	}
	if s.contexts == nil {
		s.contexts = map[uint64]graphicsContext{}
	}
	if r.hold(s, 0) {
		s.contexts[id] = c
	}
}

func (r *reader) internSpec(s *sequence, b []byte) {
	var id, category uint64
	var name []byte
	var f field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			id = f.v
		case 2:
			name = f.b
		case 4:
			category = f.v
		}
	}
	r.put(s, &s.specs, id, name)
	if s.specKinds == nil {
		s.specKinds = map[uint64]uint64{}
	}
	if r.hold(s, 0) {
		s.specKinds[id] = category
	}
}

// kernel is an interned compute kernel.
type kernel struct {
	name, demangled, arch string
	args                  []byte // ExtraComputeArg messages, each behind its length
}

func (r *reader) internKernel(s *sequence, b []byte) {
	var id uint64
	k := &kernel{}
	var f field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			id = f.v
		case 2:
			k.name = r.str(f.b)
		case 3:
			k.demangled = r.str(f.b)
		case 4:
			k.arch = r.str(f.b)
		case 5:
			if len(k.args)+len(f.b) < 4096 {
				k.args = appendBytes(k.args, f.b)
			}
		}
	}
	if s.kernels == nil {
		s.kernels = map[uint64]*kernel{}
	}
	if r.hold(s, len(k.name)+len(k.demangled)+len(k.args)) {
		s.kernels[id] = k
	}
}

// appendBytes adds a length-delimited field 5.
func appendBytes(b, v []byte) []byte {
	b = append(b, 5<<3|wireBytes)
	n := uint64(len(v))
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(append(b, byte(n)), v...)
}
