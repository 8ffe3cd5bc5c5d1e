package ftrace

import (
	"bytes"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// maxMarkName bounds the name of a mark; a longer text is whole in args.
const maxMarkName = 256

// print reads the text of trace_marker and trace_printk: the marks of atrace
// (B|pid|name and the like, system/core libcutils trace.h), else a mark with
// the text as its name.
func (m *TextMapper) print(e *event.Event, n *textName, p []byte) {
	if n.name == "print" || n.name == "bputs" || n.name == "bprint" {
		p = trimCaller(p)
	}
	m.mark(e, bytes.TrimRight(p, " \n\x00"))
}

// trimCaller takes off what trace-cmd puts before the text: the function that
// printed it, where that is the writer of trace_marker or a bare address.
func trimCaller(p []byte) []byte {
	if s, ok := bytes.CutPrefix(p, []byte("tracing_mark_write: ")); ok {
		return s
	}
	if s, ok := bytes.CutPrefix(p, []byte("0x")); ok {
		if _, n := parseHex(s); n > 0 {
			s = bytes.TrimPrefix(s[n:], []byte("s"))
			if s, ok := bytes.CutPrefix(s, []byte(": ")); ok {
				return s
			}
		}
	}
	return p
}

const atraceCategory = "atrace"

// mark fills e from the text of a print event.
func (m *maker) mark(e *event.Event, p []byte) {
	if (len(p) == 1 || len(p) > 1 && p[1] == '|') && m.atrace(e, p) {
		return
	}
	e.Kind = event.KindMark
	name := p
	if len(name) > maxMarkName {
		name = name[:maxMarkName]
		m.obj.reset()
		m.obj.str("text", string(p))
		e.SetStr(event.FieldArgs, string(m.obj.bytes()))
	}
	e.SetStr(event.FieldName, m.Strings.Get(name))
}

// atrace reads a mark; it reports whether p is one.
func (m *maker) atrace(e *event.Event, p []byte) bool {
	var part [5][]byte
	rest, n := p, 0
	for n < len(part)-1 {
		var ok bool
		part[n], rest, ok = bytes.Cut(rest, []byte("|"))
		n++
		if !ok {
			rest = nil
			break
		}
	}
	if rest != nil {
		part[n] = rest
		n++
	}
	pid, hasPID := parseNumber(part[1], false)
	if n > 1 && !hasPID && len(part[1]) > 0 {
		return false
	}
	kind, ok := m.atraceKind(e, p[0], &part, n)
	if !ok {
		if n > 2 {
			m.note(&AnomalyUnknownMark)
		}
		return false
	}
	if kind != event.KindCounter {
		e.SetStr(event.FieldCategory, atraceCategory)
	}
	if hasPID && e.PID == event.NoID && pid > 0 && pid < 1<<31 {
		e.PID = int32(pid)
	}
	return true
}

// atraceKind sets the kind of a mark and what follows the process in it:
//
//	B|pid|name  E|pid  I|pid|name  C|pid|name|value
//	S|pid|name|cookie  F|pid|name|cookie  N|pid|track|name
//	G|pid|track|name|cookie  H|pid|track|cookie
func (m *maker) atraceKind(e *event.Event, c byte, part *[5][]byte, n int) (event.Kind, bool) {
	str := func(f event.Field, b []byte) { e.SetStr(f, m.Strings.Get(b)) }
	switch {
	case c == 'B' && n >= 3:
		e.Kind = event.KindSliceBegin
		str(event.FieldName, joinFrom(part, 2, n))
	case c == 'E':
		e.Kind = event.KindSliceEnd
	case c == 'I' && n >= 3:
		e.Kind = event.KindMark
		str(event.FieldName, joinFrom(part, 2, n))
	case c == 'N' && n >= 4:
		e.Kind = event.KindMark
		str(event.FieldTrack, part[2])
		str(event.FieldName, joinFrom(part, 3, n))
	case c == 'C' && n >= 4:
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(part[3])), 64)
		if err != nil {
			return 0, false
		}
		e.Kind = event.KindCounter
		str(event.FieldName, part[2])
		e.SetFloat(event.FieldValue, v)
	case (c == 'S' || c == 'F' || c == 'H') && n >= 4, c == 'G' && n >= 5:
		last := n - 1
		id, ok := parseNumber(part[last], false)
		if !ok {
			return 0, false
		}
		e.Kind = event.KindSliceBegin
		if c == 'F' || c == 'H' {
			e.Kind = event.KindSliceEnd
		}
		e.SetUint(event.FieldSliceID, id)
		switch c {
		case 'G':
			str(event.FieldTrack, part[2])
			str(event.FieldName, part[3])
		case 'H':
			str(event.FieldTrack, part[2])
		default:
			str(event.FieldName, part[2])
		}
	default:
		return 0, false
	}
	return e.Kind, true
}

// joinFrom gives back the text from part i on, bars included: parts lie one
// after the other in one text.
func joinFrom(part *[5][]byte, i, n int) []byte {
	b := part[i]
	for j := i + 1; j < n; j++ {
		b = b[:len(b)+1+len(part[j])]
	}
	return b
}
