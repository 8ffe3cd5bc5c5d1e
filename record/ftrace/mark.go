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
	caller := ""
	switch n.event {
	case "print":
		p, caller = m.cutCaller(p, false)
	case "bputs", "bprint":
		p, caller = m.cutCaller(p, true)
	}
	m.mark(e, bytes.TrimRight(p, " \n\x00"), caller)
}

// markWriter is the function behind trace_marker.
const markWriter = "tracing_mark_write"

// cutCaller takes off what trace-cmd puts before the text ("%ps: %s"): the
// function that printed it, or its address where the symbol is not known. The
// writer of trace_marker says nothing; an address counts only if any is set.
func (m *TextMapper) cutCaller(p []byte, any bool) (text []byte, caller string) {
	i := 0
	for i < len(p) && i < maxNameLen && (isLetter(p[i]) || p[i] >= '0' && p[i] <= '9' || p[i] == '.') {
		i++
	}
	if i == 0 || !bytes.HasPrefix(p[i:], []byte(": ")) {
		return p, ""
	}
	name, text := p[:i], p[i+2:]
	if hex, ok := bytes.CutPrefix(name, []byte("0x")); ok {
		_, n := parseHex(hex)
		if n == 0 {
			return p, ""
		}
		if !any {
			return text, ""
		}
		name = name[:n+2] // trace-cmd 2 writes an s behind it
	}
	if string(name) == markWriter {
		return text, ""
	}
	return text, m.Strings.Get(name)
}

const atraceCategory = "atrace"

// mark fills e from the text of a print event and the function that printed it.
func (m *maker) mark(e *event.Event, p []byte, caller string) {
	if (len(p) == 1 || len(p) > 1 && p[1] == '|') && m.atrace(e, p) {
		return
	}
	e.Kind = event.KindMark
	name := p
	m.obj.reset()
	if len(name) > maxMarkName {
		name = name[:maxMarkName]
		m.obj.str("text", string(p))
	}
	if caller != "" {
		m.obj.str("function", caller)
	}
	if !m.obj.empty() {
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
