package ftrace

import (
	"strconv"
	"strings"
)

// stateFlags reads the letters of task states from the print format of
// sched_switch: they and their bits have changed often.
func stateFlags(print string) []stateFlag {
	var l []stateFlag
	_, rest, ok := strings.Cut(print, "__print_flags(")
	if !ok {
		return nil
	}
	end := strings.Index(rest, "})")
	if end < 0 {
		return nil
	}
	rest = rest[:end+1]
	for len(l) < 32 {
		var item string
		_, rest, ok = strings.Cut(rest, "{")
		if !ok {
			break
		}
		item, rest, _ = strings.Cut(rest, "}")
		num, name, ok := strings.Cut(item, ",")
		if !ok {
			break
		}
		v, err := strconv.ParseUint(strings.TrimSpace(num), 0, 64)
		if err != nil || v == 0 {
			break
		}
		l = append(l, stateFlag{v, strings.Trim(strings.TrimSpace(name), `"`)})
	}
	return l
}

// plusBit is the bit above the last state: TASK_REPORT_MAX, or TASK_STATE_MAX
// in old kernels, both of which mean "preempted".
func plusBit(flags []stateFlag) uint64 {
	var top uint64
	for _, f := range flags {
		top = max(top, f.bit)
	}
	return top << 1
}

// state gives the letters of a task's state as the kernel prints them: those of
// its bits joined by |, R if it has none, + if it was preempted.
func (p *plan) state(v uint64) string {
	if v < smallStates {
		if p.states == nil {
			p.states = make([]string, smallStates)
		}
		if p.states[v] == "" {
			p.states[v] = p.stateName(v)
		}
		return p.states[v]
	}
	s, ok := p.more[v]
	if !ok {
		s = p.stateName(v)
		if p.more == nil {
			p.more = make(map[uint64]string)
		}
		if len(p.more) < 1024 {
			p.more[v] = s
		}
	}
	return s
}

func (p *plan) stateName(v uint64) string {
	if len(p.flags) == 0 {
		return strconv.FormatInt(int64(v), 10)
	}
	var l []string
	for _, f := range p.flags {
		if v&f.bit == f.bit {
			l = append(l, f.letter)
		}
	}
	s := strings.Join(l, "|")
	if s == "" {
		s = "R"
	}
	if v&p.plus != 0 {
		s += "+"
	}
	return s
}
