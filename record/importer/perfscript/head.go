package perfscript

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// head is the first line of an event. Slices are parts of the line.
type head struct {
	comm       []byte
	cpu        int32
	pid, tid   int32
	time       event.Time
	timed      bool // there is a time, known or too large
	range_     bool // the time is too large
	period     uint64
	hasPeriod  bool
	event      []byte // "cycles:u", "sched:sched_switch"
	text       []byte // from the event's name on
	rest       []byte // what follows the name
	tracepoint bool
	record     bool // one of perf's own records: PERF_RECORD_COMM …
}

// maxComm bounds where the process may stand: a task's name has 15 bytes and
// is padded to 16; simpleperf's may be longer.
const maxComm = 80

// parseHead reads a head. A task's name may hold blanks and numbers: the number
// that counts is the first one with a time behind it. Where there is none, the
// line has no thread (perf script -F without pid and tid); a number with an
// event alone behind it is a thread's only if no time stands anywhere.
func parseHead(line []byte, h *head) bool {
	for _, f := range []form{{ids: true, timed: true}, {timed: true}, {ids: true}} {
		if parseForm(line, h, f) {
			return true
		}
	}
	return false
}

// isColumn reports whether a word is no part of a task's name but a column that
// stands behind it, "[003]" or "12/13": what follows is not understood then.
func isColumn(w []byte) bool {
	if n := len(w); w[0] == '[' && w[n-1] == ']' {
		_, cpu := number(w[1 : n-1])
		return cpu
	}
	var h head
	return bytes.IndexByte(w, '/') > 0 && h.ids(w)
}

// form is which columns a head has.
type form struct{ ids, timed bool }

func parseForm(line []byte, h *head, f form) bool {
	for at := skipBlanks(line, 0); at < len(line) && at < maxComm; {
		end := at
		for end < len(line) && !blank(line[end]) {
			end++
		}
		rest := line[end:]
		if !f.ids {
			h.pid, h.tid, rest = event.NoID, event.NoID, line[at:]
		}
		if (!f.ids || h.ids(line[at:end])) && h.behind(rest) && h.timed == f.timed {
			h.comm = trim(line[:at])
			if len(h.comm) > 0 && h.comm[0] == ':' { // ":1234": perf knew no name
				h.comm = nil
			}
			return true
		}
		if !f.ids && isColumn(line[at:end]) {
			return false
		}
		at = skipBlanks(line, end)
	}
	return false
}

// ids reads "PID/TID" or "TID".
func (h *head) ids(s []byte) bool {
	h.pid = event.NoID
	a, b, two := bytes.Cut(s, []byte("/"))
	n, ok := id(a)
	if !ok {
		return false
	}
	h.tid = n
	if two {
		h.pid = n
		h.tid, ok = id(b)
	}
	return ok
}

// id reads a task's number; -1 is the one of a task that perf saw ended.
func id(s []byte) (int32, bool) {
	if string(s) == "-1" {
		return event.NoID, true
	}
	if len(s) == 0 || len(s) > 10 {
		return 0, false
	}
	v := int64(0)
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return int32(v), v < 1<<31
}

// behind reads "[CPU] MODE TIME: PERIOD EVENT: REST".
func (h *head) behind(s []byte) bool {
	h.cpu, h.time, h.range_, h.hasPeriod = event.NoID, event.NoTime, false, false
	tok, rest := word(s)
	if n := len(tok); n > 2 && tok[0] == '[' && tok[n-1] == ']' {
		cpu, ok := id(tok[1 : n-1])
		if !ok {
			return false
		}
		h.cpu = cpu
		tok, rest = word(rest)
	}
	h.timed = h.clock(tok)
	if !h.timed && isMode(tok) {
		next, after := word(rest)
		if h.timed = h.clock(next); h.timed {
			tok, rest = next, after
		}
	}
	if h.timed {
		tok, rest = word(rest)
	}
	if n, ok := number(tok); ok {
		h.period, h.hasPeriod = n, true
		tok, rest = word(rest)
	}
	return h.name(tok, rest) && (h.timed || len(trim(rest)) == 0)
}

// isMode reports whether a word is what perf script -F +misc prints before the
// time: K, U, H, G, g (kernel, user, hypervisor, guest), M, E, S, Sp.
func isMode(s []byte) bool {
	for _, c := range s {
		if bytes.IndexByte([]byte("KUHGgMESp"), c) < 0 {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 3
}

// name reads the event's name, which ends with a colon.
func (h *head) name(tok, rest []byte) bool {
	h.record = bytes.HasPrefix(tok, []byte("PERF_RECORD_"))
	if h.record {
		h.text = tok[:len(tok)+len(rest)] // word cuts the same line
		h.event, h.rest = tok, rest
		return true
	}
	n := len(tok) - 1
	if n < 1 || tok[n] != ':' || !nameByte(tok[0]) {
		return false
	}
	h.event, h.rest = tok[:n], rest
	h.text = tok[:len(tok)+len(rest)]
	h.tracepoint = isTracepoint(h.event)
	return true
}

// hasCPU reports whether a line has the column of an event's CPU: "[003]"
// between blanks.
func hasCPU(line []byte) bool {
	for {
		i := bytes.IndexByte(line, '[')
		if i < 0 {
			return false
		}
		before := i > 0 && blank(line[i-1])
		line = line[i+1:]
		if n := bytes.IndexByte(line, ']'); before && n > 0 && (n == len(line)-1 || blank(line[n+1])) {
			if _, ok := number(line[:n]); ok {
				return true
			}
		}
	}
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '{' || c >= '0' && c <= '9'
}

// isTracepoint reports whether a name is "system:event": what follows the colon
// of a counter are its modifiers (perf-list(1)): u, k, h, …
func isTracepoint(name []byte) bool {
	i := bytes.IndexByte(name, ':')
	if i <= 0 || i == len(name)-1 {
		return false
	}
	for _, c := range name[:i] {
		if !nameByte(c) && c != '-' {
			return false
		}
	}
	modifiers := true
	for _, c := range name[i+1:] {
		if bytes.IndexByte([]byte("ukhIGHpPSDWebRX"), c) < 0 {
			modifiers = false
		}
		if !nameByte(c) && c != '-' && c != '.' {
			return false
		}
	}
	return !modifiers
}

// clock reads "SECONDS.FRACTION:".
func (h *head) clock(tok []byte) bool {
	n := len(tok) - 1
	if n < 3 || tok[n] != ':' {
		return false
	}
	sec, frac, ok := bytes.Cut(tok[:n], []byte("."))
	if !ok || len(frac) == 0 || len(frac) > 9 {
		return false
	}
	s, ok1 := number(sec)
	f, ok2 := number(frac)
	if !ok1 || !ok2 {
		return false
	}
	for range 9 - len(frac) {
		f *= 10
	}
	if s >= (1<<63-1)/1_000_000_000 {
		h.range_ = true
		return true
	}
	h.time = event.Time(s*1_000_000_000 + f)
	return true
}

func number(s []byte) (v uint64, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || v >= 1<<60 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(s) > 0
}

// word cuts the next word off s; rest begins right behind it.
func word(s []byte) (w, rest []byte) {
	i := skipBlanks(s, 0)
	j := i
	for j < len(s) && !blank(s[j]) {
		j++
	}
	return s[i:j], s[j:]
}

func skipBlanks(s []byte, i int) int {
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func trim(s []byte) []byte { return bytes.TrimSpace(s) }

// surelyFrame reports whether a line can be no head: an address, then a word
// that is neither a CPU nor a number.
func surelyFrame(line []byte) bool {
	if !blank(line[0]) {
		return false
	}
	i := skipBlanks(line, 0)
	j := i
	for j < len(line) && (line[j] >= '0' && line[j] <= '9' || line[j] >= 'a' && line[j] <= 'f') {
		j++
	}
	if j == i || j == len(line) || !blank(line[j]) {
		return false
	}
	j = skipBlanks(line, j)
	if j == len(line) || line[j] >= '0' && line[j] <= '9' {
		return false
	}
	return line[j] != '[' || j+1 == len(line) || line[j+1] < '0' || line[j+1] > '9'
}

// sniff reports whether head begins a text of perf script: comments and blank
// lines, then the head of an event, with a time or with frames behind it.
func sniff(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	var h head
	for n := 0; n < 500 && len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		switch {
		case len(trim(line)) == 0:
		case line[0] == '#':
			if bytes.HasPrefix(line, []byte("# tracer:")) {
				return false
			}
		case isTraceError(line):
			return true
		case parseHead(bytes.TrimSuffix(line, []byte("\r")), &h):
			if h.timed && h.tid == event.NoID && ftraceTask(h.comm) {
				continue
			}
			if h.timed {
				return true
			}
			next, _, _ := bytes.Cut(rest, []byte("\n"))
			return len(next) > 0 && (surelyFrame(next) || parseHead(next, &h))
		default:
			return false
		}
	}
	return false
}

// ftraceTask reports whether what stands before a time is the task of ftrace
// text, "NAME-NUMBER", alone or with columns behind it.
func ftraceTask(s []byte) bool {
	for w := range bytes.FieldsSeq(s) {
		i := bytes.LastIndexByte(w, '-')
		if _, ok := number(w[i+1:]); i >= 0 && ok {
			return true
		}
	}
	return false
}
