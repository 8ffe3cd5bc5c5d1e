package perfetto

import (
	"encoding/json"

	"github.com/gpurec/gpurec/record/importer/args"
	"github.com/gpurec/gpurec/record/importer/own"
)

// Fields of DebugAnnotation.
const (
	daNameID   = 1
	daBool     = 2
	daUint     = 3
	daInt      = 4
	daDouble   = 5
	daString   = 6
	daPointer  = 7
	daNested   = 8
	daJSON     = 9
	daName     = 10
	daDict     = 11
	daArray    = 12
	daStringID = 17
)

// Bounds of nested arguments.
const (
	maxArgDepth = 32
	maxArgBytes = 1 << 20
)

// annotation adds an argument of a track event; those that gpurec's own
// export writes are also kept by themselves.
func (r *reader) annotation(s *sequence, e *trackEvent, b []byte) {
	if r.obj.Len() > maxArgBytes {
		r.noteAt(&AnomalyFieldNotKept, 1, "arguments beyond 1 MiB")
		return
	}
	name, f, ok := r.annotationHead(s, b)
	if !ok {
		return
	}
	e.hasArgs = true
	r.obj.Key(name)
	r.annotationValue(s, b, &f, 0)
	if a, ok := r.args.Meet(name); ok {
		r.ownArg(s, a, &f)
	}
}

// ownArg keeps the value of an argument of gpurec's own export.
func (r *reader) ownArg(s *sequence, a own.Arg, f *field) {
	switch f.num {
	case daString:
		r.args.SetStr(a, r.str(f.b))
	case daStringID:
		v, _ := s.strings.get(f.v)
		r.args.SetStr(a, v)
	case daUint, daInt, daBool, daPointer:
		r.args.SetUint(a, f.v)
	}
}

// annotationHead reads the name, and which field holds the value.
func (r *reader) annotationHead(s *sequence, b []byte) (name string, value field, ok bool) {
	var f field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case daNameID:
			name = r.lookup(&s.annotations, f.v)
		case daName:
			name = r.str(f.b)
		default:
			value = f
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
		return "", value, false
	}
	return name, value, true
}

// annotationValue adds the value to the object in work.
func (r *reader) annotationValue(s *sequence, b []byte, f *field, depth int) {
	if depth > maxArgDepth {
		r.obj.StrValue("nested too deep")
		r.noteAt(&AnomalyFieldNotKept, 1, "arguments nested more than %d deep", maxArgDepth)
		return
	}
	o := &r.obj
	switch f.num {
	case daBool:
		o.BoolValue(f.v != 0)
	case daUint:
		o.UintValue(f.v)
	case daInt:
		o.IntValue(int64(f.v))
	case daDouble:
		o.FloatValue(f.float())
	case daString:
		o.StrValue(r.str(f.b))
	case daStringID:
		o.StrValue(r.lookup(&s.strings, f.v))
	case daPointer:
		o.HexValue(f.v)
	case daJSON:
		if json.Valid(f.b) {
			o.RawValue(f.b)
		} else {
			o.StrValue(r.str(f.b))
		}
	case daDict, daArray:
		r.children(s, b, f.num, depth)
	case daNested:
		r.nestedValue(f.b, depth)
	default:
		o.StrValue("")
		r.noteAt(&AnomalyFieldNotKept, 1, "argument of type %d", f.num)
	}
}

// children adds the entries of a dictionary or array, which stand in the
// annotation itself.
func (r *reader) children(s *sequence, b []byte, kind uint32, depth int) {
	o := &r.obj
	begin, end := byte('{'), byte('}')
	if kind == daArray {
		begin, end = '[', ']'
	}
	o.Open(begin)
	var f field
	for m := (message{b: b}); m.next(&f); {
		if f.num != kind || f.wire != wireBytes {
			continue
		}
		name, v, ok := r.annotationHead(s, f.b)
		if !ok {
			continue
		}
		if kind == daDict {
			o.Key(name)
		}
		r.annotationValue(s, f.b, &v, depth+1)
	}
	o.Close(end)
}

// nestedValue adds the older form of dictionaries and arrays.
func (r *reader) nestedValue(b []byte, depth int) {
	o := &r.obj
	if depth > maxArgDepth {
		o.StrValue("nested too deep")
		return
	}
	var typ uint64
	var keys, values [][]byte
	var f, leaf field
	for m := (message{b: b}); m.next(&f); {
		switch f.num {
		case 1:
			typ = f.v
		case 2:
			keys = append(keys, f.b)
		case 3, 4:
			values = append(values, f.b)
		default:
			leaf = f
		}
	}
	switch typ {
	case 1:
		o.Open('{')
		for i, v := range values {
			key := ""
			if i < len(keys) {
				key = r.str(keys[i])
			}
			o.Key(key)
			r.nestedValue(v, depth+1)
		}
		o.Close('}')
	case 2:
		o.Open('[')
		for _, v := range values {
			r.nestedValue(v, depth+1)
		}
		o.Close(']')
	default:
		r.leaf(o, &leaf)
	}
}

func (r *reader) leaf(o *args.Object, f *field) {
	switch f.num {
	case 5:
		o.IntValue(int64(f.v))
	case 6:
		o.FloatValue(f.float())
	case 7:
		o.BoolValue(f.v != 0)
	case 8:
		o.StrValue(r.str(f.b))
	default:
		o.StrValue("")
	}
}
