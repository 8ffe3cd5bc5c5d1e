package chromejson

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// resync goes on after damage: at the next place from on where one object
// ends and the next begins with a key, as events in a list do.
func (r *reader) resync(b *event.Batch, from int) {
	w := &r.win
	w.pos = min(from, w.end)
	for {
		i, ok := nextObject(w.buf[w.pos:w.end])
		if ok {
			w.pos += i
			r.lost = true
			if r.place == placeObject || r.list != listEvents {
				r.place, r.list = placeList, listEvents
			}
			return
		}
		// A pattern may lie across the end of the window.
		keep := min(w.end-w.pos, 256)
		w.pos = w.end - keep
		if !w.more() {
			w.pos = w.end
			r.closing(w.buf[w.end-keep : w.end])
			r.finish(b)
			return
		}
	}
}

// closing looks whether the file that was damaged has its end: then it is not cut.
func (r *reader) closing(tail []byte) {
	t := bytes.TrimRight(tail, " \t\r\n")
	if n := len(t); n > 0 && (t[n-1] == '}' && !r.bare || t[n-1] == ']' && r.bare) {
		r.place = placeAfter
	}
}

// nextObject finds } , { " in s, with blanks between them, and returns the
// place of the opening brace.
func nextObject(s []byte) (int, bool) {
	for i := 0; ; {
		k := bytes.IndexByte(s[i:], '}')
		if k < 0 {
			return 0, false
		}
		i += k + 1
		j := skipBlanks(s, i)
		if j >= len(s) || s[j] != ',' {
			continue
		}
		j = skipBlanks(s, j+1)
		if j < len(s) && s[j] == '{' {
			if q := skipBlanks(s, j+1); q < len(s) && s[q] == '"' {
				return j, true
			}
		}
	}
}

func skipBlanks(s []byte, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

// tailHasEvents reports whether events stand in what is left of the input,
// inside of something that does not end.
func (r *reader) tailHasEvents() bool {
	i, ok := nextObject(r.win.buf[r.win.pos:r.win.end])
	if !ok {
		return false
	}
	var rec record
	x := lexer{b: r.lex.b, end: r.lex.end}
	return x.record(r.win.pos+i, &rec) > 0 && rec.hasPh
}
