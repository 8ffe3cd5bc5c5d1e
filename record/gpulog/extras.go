package gpulog

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// extras are the fields of a shape that this program has no place for: a
// newer minor version knows more. They become JSON in the event's args.
type extras struct {
	kindName string // name of the log's kind, if that is unknown
	fields   []extraField
	name     event.Place // where kindName goes
	args     event.Place
	hadArgs  bool // the shape has args of its own
	buf      []byte
}

type extraField struct {
	col  int
	name string
	typ  event.FieldType
}

func (x *extras) add(col int, name string, typ event.FieldType) {
	x.fields = append(x.fields, extraField{col, name, typ})
}

// extraBatch is how many events of a block with extras are read at once, and
// maxExtraJSON what the strings in one event's JSON may take: the JSON of a
// block could be larger than the block by any factor.
const (
	extraBatch   = 16
	maxExtraJSON = 256 << 10
)

// put sets name and args of the shape's events; vals holds its columns. It
// returns how many strings were cut.
func (x *extras) put(s *dshape, vals []uint64, strs []string, dst []event.Event) (cut uint64) {
	n := len(s.rows)
	for i, r := range s.rows {
		e := &dst[r]
		if x.kindName != "" {
			e.PutStr(x.name, x.kindName)
		}
		if len(x.fields) == 0 {
			continue
		}
		b := x.open(e)
		for _, f := range x.fields {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = appendJSONString(b, f.name)
			b = append(b, ':')
			v := vals[f.col*n+i]
			if f.typ != event.TypeString && f.typ != event.TypeText {
				b = appendValue(b, f.typ, v)
				continue
			}
			t := strs[v]
			if room := max(0, maxExtraJSON-len(b)); len(t) > room {
				t = t[:room]
				cut++
			}
			b = appendJSONString(b, t)
		}
		x.buf = append(b, '}')
		e.PutStr(x.args, string(x.buf))
		e.SetMask(e.Mask() | x.args.Mask())
	}
	return cut
}

// open begins the object: with the members that the event's args already have.
func (x *extras) open(e *event.Event) []byte {
	b := append(x.buf[:0], '{')
	if !x.hadArgs {
		return b
	}
	a := strings.TrimSpace(e.StrAt(x.args))
	if strings.HasPrefix(a, "{") && json.Valid([]byte(a)) {
		return append(b, strings.TrimSpace(a[1:len(a)-1])...)
	}
	if a != "" {
		b = append(b, `"args":`...)
		b = appendJSONString(b, a)
	}
	return b
}

func appendJSONString(b []byte, s string) []byte {
	j, err := json.Marshal(s)
	if err != nil { // no string has one
		return append(b, `""`...)
	}
	return append(b, j...)
}

// appendValue appends a value that is not a string.
func appendValue(b []byte, t event.FieldType, v uint64) []byte {
	switch t {
	case event.TypeInt, event.TypeTime:
		return strconv.AppendInt(b, int64(v), 10)
	case event.TypePointer:
		b = append(b, `"0x`...)
		b = strconv.AppendUint(b, v, 16)
		return append(b, '"')
	case event.TypeFloat:
		f := math.Float64frombits(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return appendJSONString(b, strconv.FormatFloat(f, 'g', -1, 64))
		}
		return strconv.AppendFloat(b, f, 'g', -1, 64)
	case event.TypeBool:
		return strconv.AppendBool(b, v != 0)
	}
	return strconv.AppendUint(b, v, 10)
}
