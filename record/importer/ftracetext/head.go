package ftracetext

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// head is what stands before the text of an event. Slices are parts of the line.
type head struct {
	comm          []byte
	instance      []byte // trace-cmd's name of a buffer instance, before the task
	tid, pid, cpu int32
	time          event.Time
	clock         clockForm
	text          []byte
}

type clockForm uint8

const (
	clockSeconds clockForm = iota // sec.fraction
	clockRaw                      // a whole number
	clockMicros                   // microseconds since the trace began
	clockRange                    // too large
)

// parseHead reads "TASK-PID (TGID) [CPU] FLAGS TIME: ". Only the task and the
// time must be there. A task's name may hold blanks, colons, dashes, digits and
// brackets: the CPU column that counts is the first one that has a task before
// it and a time behind it.
func parseHead(line []byte, h *head) bool {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '[')
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		end, cpu, ok := cpuColumn(line, i)
		if ok && parseTask(line[:i], h) && parseTime(line[end:], h, true) {
			h.cpu = cpu
			return true
		}
	}
	return parseLatency(line, h) || parseNoCPU(line, h)
}

// hasCPU reports whether a line has the column of an event's CPU.
func hasCPU(line []byte) bool {
	for i := range line {
		if line[i] == '[' {
			if _, _, ok := cpuColumn(line, i); ok {
				return true
			}
		}
	}
	return false
}

// cpuColumn reads "[003]" at i and returns where it ends.
func cpuColumn(line []byte, i int) (end int, cpu int32, ok bool) {
	j := i + 1
	for j < len(line) && line[j] >= '0' && line[j] <= '9' && j-i <= 6 {
		cpu = cpu*10 + int32(line[j]-'0')
		j++
	}
	if j == i+1 || j >= len(line) || line[j] != ']' || i == 0 || line[i-1] != ' ' && line[i-1] != ')' && line[i-1] != '\t' {
		return 0, 0, false
	}
	return j + 1, cpu, true
}

// parseTask reads "TASK-PID (TGID) " from its end.
func parseTask(s []byte, h *head) bool {
	s = trimRight(s)
	h.pid = event.NoID
	tgid := int32(event.NoID)
	if n := len(s); n > 0 && s[n-1] == ')' {
		open := bytes.LastIndexByte(s, '(')
		if open < 0 {
			return false
		}
		in := trimLeft(s[open+1 : n-1])
		if v, ok := id(in); ok {
			tgid = v
		} else if !dashes(in) {
			return false
		}
		s = trimRight(s[:open])
	}
	dash := bytes.LastIndexByte(s, '-')
	if dash < 0 {
		return false
	}
	tid, ok := id(s[dash+1:])
	if !ok {
		return false
	}
	h.tid = tid
	// 0 stands where the kernel had forgotten the process of the thread.
	if tgid > 0 {
		h.pid = tgid
	}
	h.comm, h.instance = splitInstance(trimLeft(s[:dash]))
	return true
}

// splitInstance takes trace-cmd's "instance: " off a task: the task's name is
// padded on its left to 16 columns, so at least two blanks follow the colon.
func splitInstance(s []byte) (comm, instance []byte) {
	i := bytes.Index(s, []byte(":  "))
	if i <= 0 || bytes.IndexByte(s[:i], ' ') >= 0 {
		return s, nil
	}
	return trimLeft(s[i+1:]), s[:i]
}

// id reads a whole text as a task's number.
func id(s []byte) (int32, bool) {
	if len(s) == 0 || len(s) > 10 {
		return 0, false
	}
	var v int64
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return int32(v), v < 1<<31
}

func dashes(s []byte) bool {
	for _, c := range s {
		if c != '-' {
			return false
		}
	}
	return len(s) > 0
}

// parseTime reads "FLAGS TIME: TEXT"; the flags may be any word, or missing.
func parseTime(s []byte, h *head, rawToo bool) bool {
	for range 3 { // the flags may be two words where a column is blank
		s = trimLeft(s)
		end := 0
		for end < len(s) && s[end] != ' ' && s[end] != '\t' {
			end++
		}
		if end > 1 && s[end-1] == ':' && clockValue(s[:end-1], h, rawToo) {
			h.text = noDelta(s[end:])
			return true
		}
		if end == 0 || end > 32 {
			return false
		}
		s = s[end:]
	}
	return false
}

// clockValue reads a time: seconds with a fraction, or a whole number where
// the clock is a counter.
func clockValue(s []byte, h *head, rawToo bool) bool {
	var sec uint64
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if sec >= 1<<60 {
			return false
		}
		sec = sec*10 + uint64(s[i]-'0')
	}
	switch {
	case i == 0:
		return false
	case i == len(s):
		if !rawToo {
			return false
		}
		h.time, h.clock = event.Time(sec), clockRaw
		if sec > 1<<63-1 {
			h.time, h.clock = event.NoTime, clockRange
		}
		return true
	case s[i] != '.' || i+1 == len(s):
		return false
	}
	frac, scale := uint64(0), uint64(1e9)
	for i++; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		if scale > 1 { // digits below a nanosecond do not exist in any clock
			frac = frac*10 + uint64(s[i]-'0')
			scale /= 10
		}
	}
	h.clock = clockSeconds
	if sec > (1<<63-1)/1_000_000_000-1 {
		h.time, h.clock = event.NoTime, clockRange
		return true
	}
	h.time = event.Time(sec*1_000_000_000 + frac*scale)
	return true
}

// parseNoCPU reads a head without the CPU column: the first time with a task
// before it, and at most one word of flags between them.
func parseNoCPU(line []byte, h *head) bool {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], ':')
		if i < 0 {
			return false
		}
		i += from
		from = i + 1
		if i+1 < len(line) && line[i+1] != ' ' {
			continue
		}
		start := i
		for start > 0 && line[start-1] != ' ' {
			start--
		}
		if start == 0 || !clockValue(line[start:i], h, false) {
			continue
		}
		before := trimRight(line[:start])
		if !parseTask(before, h) {
			sp := bytes.LastIndexByte(before, ' ')
			if sp < 0 || !parseTask(before[:sp], h) {
				continue
			}
		}
		h.cpu, h.text = event.NoID, noDelta(line[i+1:])
		return true
	}
}

func trimLeft(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func trimRight(s []byte) []byte {
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}
