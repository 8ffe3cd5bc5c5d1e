package ftrace

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// blankPairs reads "key=value key=value": a value runs to the next key. After
// a name only a key of the table ends it, so that names may hold " x=".
func (m *TextMapper) blankPairs(e *event.Event, tp *tracepoint, p []byte) {
	cur, hint := -1, 0
	var curKey []byte
	start, i := 0, 0
	for {
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
		at, ok := tp.find(p[ks:eq], hint)
		if !ok && cur >= 0 && isName(tp.binds[cur].conv) {
			continue
		}
		m.close(e, tp, cur, curKey, p[start:ks])
		curKey = p[ks:eq]
		if cur = -1; ok {
			cur, hint = at, at+1
		}
		start = eq + 1
	}
	m.close(e, tp, cur, curKey, p[start:])
}

func isName(c conv) bool { return c == convStr || c == convNonEmpty }

// close gives a value to its field.
func (m *TextMapper) close(e *event.Event, tp *tracepoint, at int, key, val []byte) {
	val = bytes.TrimRight(val, " \t")
	switch {
	case at >= 0:
		m.hits++
		m.set(e, &tp.binds[at], val)
	case len(key) > 0:
		m.extra(e, key, val)
	}
}

// keyStart returns where the key before the '=' at eq begins, or eq if what
// stands there is no key.
func keyStart(p []byte, eq int) int {
	ks := eq
	for ks > 0 && isKeyByte(p[ks-1]) {
		ks--
	}
	if ks == eq || p[ks] >= '0' && p[ks] <= '9' {
		return eq
	}
	if ks > 0 {
		switch p[ks-1] {
		case ' ', ',', '{', '(', '[', '\n', '\t':
		default:
			return eq
		}
	}
	return ks
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '_' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '?' || c == '-'
}

// commaPairs reads "key=value, key=value, some key:value". Brackets may hold commas.
func (m *TextMapper) commaPairs(e *event.Event, tp *tracepoint, p []byte) {
	hint := 0
	for len(p) > 0 {
		var key, val []byte
		var loose []byte
		key, val, loose, p = nextComma(p)
		if len(loose) > 0 {
			m.loose(e, loose)
		}
		if key == nil {
			continue
		}
		if at, ok := tp.find(key, hint); ok {
			hint = at + 1
			m.hits++
			m.set(e, &tp.binds[at], val)
		} else {
			m.extra(e, key, val)
		}
	}
}

// loose keeps text that belongs to no key.
func (m *TextMapper) loose(e *event.Event, s []byte) {
	switch string(s) {
	case "job", "depends", "...": // words of known print formats
		return
	}
	m.extra(e, []byte("text"), s)
}

// nextComma takes the next segment off p: its key and value, or loose text.
// A word before the key ("job ring=") comes as loose text too.
func nextComma(p []byte) (key, val, loose, rest []byte) {
	p = trimBlanks(p)
	i := 0
	for i < len(p) && p[i] != '=' && p[i] != ':' && !endsSegment(p, i) {
		i++
	}
	if i == len(p) || endsSegment(p, i) || p[i] == ':' && !isLetter(p[0]) {
		end := segmentEnd(p, i)
		return nil, nil, bytes.TrimRight(p[:end], " "), afterComma(p, end)
	}
	key = p[:i]
	if p[i] == '=' {
		ks := keyStart(p, i)
		if ks == i {
			end := segmentEnd(p, i)
			return nil, nil, bytes.TrimRight(p[:end], " "), afterComma(p, end)
		}
		key, loose = p[ks:i], bytes.TrimRight(p[:ks], " ")
	}
	end := segmentEnd(p, i+1)
	return key, bytes.Trim(p[i+1:end], " \t"), loose, afterComma(p, end)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// endsSegment reports whether a comma at i ends a segment: one before a blank
// or the end does, one inside a number or a mask does not.
func endsSegment(p []byte, i int) bool {
	return p[i] == ',' && (i+1 == len(p) || p[i+1] == ' ' || p[i+1] == '\t')
}

// maxBracket is how far a bracket may close behind the beginning of its value:
// the kernel prints no more than TRACE_SEQ_SIZE bytes of an event.
const maxBracket = 8 << 10

// segmentEnd returns where the segment that goes on at i ends. A bracket in its
// value must close first; one that never does is part of a name.
func segmentEnd(p []byte, from int) int {
	depth := 0
	for i := from; i < len(p) && (depth == 0 || i < from+maxBracket); i++ {
		switch p[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case ',':
			if depth == 0 && endsSegment(p, i) {
				return i
			}
		}
	}
	for i := from; depth > 0 && i < len(p); i++ {
		if endsSegment(p, i) {
			return i
		}
	}
	return len(p)
}

func afterComma(p []byte, end int) []byte {
	if end >= len(p) {
		return nil
	}
	return p[end+1:]
}
