package ftrace

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// other keeps an event that has no kind of its own: its name, and its text as
// a JSON object. What stands outside of any key is under "text".
func (m *TextMapper) other(e *event.Event, n *textName, p []byte) {
	e.Kind = event.KindOther
	e.SetStr(event.FieldName, n.source)
	m.obj.reset()
	m.text = m.text[:0]
	p = bytes.TrimRight(p, " ")
	switch style := styleOf(p, n.form); style {
	case styleText:
		m.addText(p)
	case styleComma:
		for len(p) > 0 {
			var key, val, loose []byte
			key, val, loose, p = nextComma(p)
			m.addText(loose)
			if key != nil {
				m.obj.value(string(key), val)
			}
		}
	case styleBlank:
		m.blankFields(p)
	case styleRet:
		m.obj.value("ret", p)
	}
	if len(m.text) > 0 {
		m.obj.str("text", string(m.text))
	}
	if !m.obj.empty() {
		e.SetStr(event.FieldArgs, string(m.obj.bytes()))
	}
}

func (m *TextMapper) addText(p []byte) {
	if len(p) == 0 {
		return
	}
	if len(m.text) > 0 {
		m.text = append(m.text, ", "...)
	}
	m.text = append(m.text, p...)
}

// blankFields reads "key=value key=value" with keys that nobody knows.
func (m *TextMapper) blankFields(p []byte) {
	var key []byte
	start := 0
	for i := 0; ; {
		eq := bytes.IndexByte(p[i:], '=')
		if eq < 0 {
			break
		}
		eq += i
		i = eq + 1
		ks := keyStart(p, eq)
		if ks == eq {
			continue
		}
		m.addField(key, p[start:ks])
		key, start = p[ks:eq], eq+1
	}
	m.addField(key, p[start:])
}

func (m *TextMapper) addField(key, val []byte) {
	val = trimBrackets(val)
	if key == nil {
		m.addText(val)
		return
	}
	m.obj.value(string(key), val)
}

type style uint8

const (
	styleText style = iota
	styleBlank
	styleComma
	styleRet
)

// styleOf tells how the fields of a text are set apart: by ", " if each key
// but the first follows one, else by blanks.
func styleOf(p []byte, mode nameMode) style {
	switch mode {
	case modeSysEnter:
		return styleComma
	case modeSysExit:
		return styleRet
	case modeFunction, modeNoNameText, modeStack:
		return styleText
	}
	keys, comma := 0, true
	for i := 0; ; {
		eq := bytes.IndexByte(p[i:], '=')
		if eq < 0 {
			break
		}
		eq += i
		i = eq + 1
		ks := keyStart(p, eq)
		if ks == eq {
			continue
		}
		if keys > 0 && !(ks >= 2 && p[ks-2] == ',' && p[ks-1] == ' ') {
			comma = false
		}
		keys++
	}
	switch {
	case keys == 0:
		return styleText
	case comma && bytes.Contains(p, []byte(", ")):
		return styleComma
	}
	return styleBlank
}

// trimBrackets takes off what belongs to the brackets around a field, as in
// "vec=9 [action=RCU]", and not to its value.
func trimBrackets(val []byte) []byte {
	val = bytes.TrimRight(val, " ")
	for _, pair := range []string{"[]", "()", "{}"} {
		open := bytes.Count(val, []byte(pair[:1]))
		shut := bytes.Count(val, []byte(pair[1:]))
		switch {
		case open > shut && val[len(val)-1] == pair[0],
			shut > open && val[len(val)-1] == pair[1]:
			return bytes.TrimRight(val[:len(val)-1], " ")
		}
	}
	return val
}
