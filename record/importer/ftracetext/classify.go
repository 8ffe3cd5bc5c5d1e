package ftracetext

import (
	"bytes"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

type lineClass uint8

const (
	lineUnread lineClass = iota
	lineBlank
	lineComment
	lineHeader
	lineBare // an event without task, CPU and time
	lineMore // a further line of the event before
)

// classify says what a line without a head is, and takes what header lines tell.
func (r *reader) classify(line []byte) lineClass {
	t := trimLeft(trimRight(line))
	switch {
	case len(t) == 0:
		return lineBlank
	case t[0] == '#':
		return lineComment
	case r.header(t):
		return lineHeader
	case !r.heads && isBare(t):
		return lineBare
	case ellipsis(t):
		return lineUnread
	case r.heads && r.lastAt >= 0:
		return lineMore
	}
	return lineUnread
}

// header reads the lines that trace-cmd and the kernel write between events.
func (r *reader) header(t []byte) bool {
	if v, ok := bytes.CutPrefix(t, []byte("cpus=")); ok {
		if n, ok := id(v); ok {
			r.meta.Host.CPUs = int(n)
			return true
		}
		return false
	}
	if v, ok := bytes.CutPrefix(t, []byte("version = ")); ok {
		r.fact("trace_dat_version", v)
		return true
	}
	if bytes.HasPrefix(t, []byte("CPU ")) && bytes.HasSuffix(t, []byte(" is empty")) {
		r.fact("empty_cpu", t[4:len(t)-len(" is empty")])
		return true
	}
	if bytes.HasPrefix(t, []byte("[LINE TOO BIG]")) {
		r.note(&AnomalyLineTooBig)
		return true
	}
	if r.loss.line(t, r.lines.place) {
		r.tally.losses++
		return true
	}
	return false
}

// maxFacts bounds what header lines may add.
const maxFacts = 4096

func (r *reader) fact(key string, val []byte) {
	if len(r.meta.Facts) < maxFacts && len(val) <= 256 {
		r.meta.Facts = append(r.meta.Facts, event.Fact{Key: key, Value: string(val)})
	}
}

// comment reads the kernel's header.
func (r *reader) comment(line []byte) {
	t := trimLeft(line)
	if v, ok := bytes.CutPrefix(t, []byte("# tracer: ")); ok {
		r.fact("tracer", trimRight(v))
		return
	}
	v, ok := bytes.CutPrefix(t, []byte("# entries-in-buffer/entries-written: "))
	if !ok {
		return
	}
	in, rest, ok := bytes.Cut(v, []byte("/"))
	if !ok {
		return
	}
	written, cpus, _ := bytes.Cut(rest, []byte(" "))
	if n, ok := bytes.CutPrefix(trimLeft(cpus), []byte("#P:")); ok {
		if c, ok := id(trimRight(n)); ok {
			r.meta.Host.CPUs = int(c)
		}
	}
	a, err1 := strconv.ParseUint(string(in), 10, 63)
	w, err2 := strconv.ParseUint(string(written), 10, 63)
	if err1 == nil && err2 == nil && w > a {
		r.loss.overwritten(w-a, r.lines.place())
	}
}

func ellipsis(t []byte) bool {
	for _, c := range t {
		if c != '.' {
			return false
		}
	}
	return len(t) >= 3
}

// isBare reports whether a text is an event's name, a colon, and a text with
// at least one key=value.
func isBare(t []byte) bool {
	i := 0
	for i < len(t) && (t[i] >= 'a' && t[i] <= 'z' || t[i] == '_' || i > 0 && t[i] >= '0' && t[i] <= '9') {
		i++
	}
	if i < 3 || i+1 >= len(t) || t[i] != ':' || t[i+1] != ' ' || bytes.IndexByte(t[:i], '_') < 0 {
		return false
	}
	return bytes.IndexByte(t[i:], '=') > 0
}
