package ftracetext

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// parseLatency reads a head as the kernel prints it with the trace option
// latency-format, which latency tracers set, and trace-cmd report with -l
// (kernel/trace/trace_output.c, trace_print_lat_context):
//
//	TASK-PID CPU FLAGS TIMEus MARK: TEXT
//	  <idle>-0       0d.s2.   17us+: TEXT
//	 gpuload-239     1dNh2.   12.119189: TEXT
//
// CPU and flags touch. The mark says how long the next event took to come.
func parseLatency(line []byte, h *head) bool {
	for at := 0; at < len(line) && at < maxLatencyTask; {
		for at < len(line) && line[at] == ' ' {
			at++
		}
		end := at
		for end < len(line) && line[end] != ' ' {
			end++
		}
		cpu, ok := cpuAndFlags(line[at:end])
		if ok && parseTask(line[:at], h) && latencyTime(trimLeft(line[end:]), h) {
			h.cpu = cpu
			return true
		}
		at = end
	}
	return false
}

// maxLatencyTask bounds where the CPU may stand: behind a task's name, its
// number and blanks.
const maxLatencyTask = 64

// cpuAndFlags reads "0d.s2.": a CPU, then three to seven flags, of which the
// first, of interrupts, is a letter or a point.
func cpuAndFlags(s []byte) (cpu int32, ok bool) {
	i := 0
	for i < len(s) && i < 4 && s[i] >= '0' && s[i] <= '9' {
		cpu = cpu*10 + int32(s[i]-'0')
		i++
	}
	flags := s[i:]
	if i == 0 || len(flags) < 3 || len(flags) > 7 || bytes.IndexByte([]byte(".dDbBXf?"), flags[0]) < 0 {
		return 0, false
	}
	for _, c := range flags[1:] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && bytes.IndexByte([]byte(".#*?"), c) < 0 {
			return 0, false
		}
	}
	return cpu, true
}

// latencyTime reads "17us+: TEXT", "17us : TEXT", or a time as elsewhere.
func latencyTime(s []byte, h *head) bool {
	i := bytes.IndexByte(s, ':')
	if i < 0 {
		return false
	}
	t, text := s[:i], noDelta(s[i+1:])
	num, mark, us := bytes.Cut(t, []byte("us"))
	if !us {
		num = t
	} else if len(mark) != 1 || bytes.IndexByte([]byte(" +!#*@$"), mark[0]) < 0 {
		return false
	}
	if !clockValue(num, h, true) {
		return false
	}
	h.text = text
	if us {
		return h.micros()
	}
	return true
}

// micros takes the time read as a whole number of microseconds.
func (h *head) micros() bool {
	switch {
	case h.clock == clockSeconds:
		return false
	case h.clock == clockRaw && h.time <= (1<<63-1)/1000:
		h.time, h.clock = h.time*1000, clockMicros
	default:
		h.time, h.clock = event.NoTime, clockRange
	}
	return true
}

// noDelta gives the text behind a time, without the time since the event
// before that trace-cmd report --ts-diff puts before it: "(+134)   name: text".
func noDelta(s []byte) []byte {
	s = trimLeft(s)
	in, ok := bytes.CutPrefix(s, []byte("(+"))
	if !ok {
		return s
	}
	num, rest, ok := bytes.Cut(in, []byte(")"))
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return s
	}
	for _, c := range num {
		if (c < '0' || c > '9') && c != '.' {
			return s
		}
	}
	return trimLeft(rest)
}
