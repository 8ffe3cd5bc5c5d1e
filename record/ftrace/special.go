package ftrace

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// textSwitch reads what trace-cmd's plugin makes of sched_switch:
// "wl:11463 [120] R ==> thr:11460 [120]".
func textSwitch(m *TextMapper, e *event.Event, p []byte) bool {
	if bytes.HasPrefix(p, []byte("prev_comm=")) {
		return false
	}
	left, right, ok := bytes.Cut(p, []byte(" ==> "))
	if !ok {
		return false
	}
	comm, tid, prio, rest, ok1 := taskForm(left)
	ncomm, ntid, nprio, _, ok2 := taskForm(right)
	if !ok1 || !ok2 {
		return false
	}
	e.SetStr(event.FieldPrevComm, m.Strings.Get(comm))
	e.SetInt(event.FieldPrevTID, tid)
	e.SetInt(event.FieldPrevPrio, prio)
	if s := m.state(trimBlanks(rest)); s != "" {
		e.SetStr(event.FieldPrevState, s)
	}
	e.SetStr(event.FieldNextComm, m.Strings.Get(ncomm))
	e.SetInt(event.FieldNextTID, ntid)
	e.SetInt(event.FieldNextPrio, nprio)
	return true
}

// taskForm reads "comm:tid [prio] rest"; the comm may hold colons and brackets.
func taskForm(p []byte) (comm []byte, tid, prio int64, rest []byte, ok bool) {
	open := bytes.LastIndex(p, []byte(" ["))
	if open < 0 {
		return
	}
	end := bytes.IndexByte(p[open:], ']')
	colon := bytes.LastIndexByte(p[:open], ':')
	if end < 0 || colon < 0 {
		return
	}
	t, ok1 := parseNumber(p[colon+1:open], false)
	pr, ok2 := parseNumber(p[open+2:open+end], false)
	return p[:colon], int64(t), int64(pr), p[open+end+1:], ok1 && ok2
}

// textWake reads trace-cmd's "thr:11457 [120] success=1 CPU:000".
func textWake(m *TextMapper, e *event.Event, p []byte) bool {
	if bytes.HasPrefix(p, []byte("comm=")) {
		return false
	}
	comm, tid, prio, rest, ok := taskForm(p)
	if !ok {
		return false
	}
	e.SetStr(event.FieldTargetComm, m.Strings.Get(comm))
	e.SetInt(event.FieldTargetTID, tid)
	e.SetInt(event.FieldPrio, prio)
	if i := bytes.Index(rest, []byte("CPU:")); i >= 0 {
		if cpu, ok := parseNumber(rest[i+4:], false); ok {
			e.SetUint(event.FieldTargetCPU, cpu)
		}
	}
	return true
}

// textIoctl reads "fd: 3, cmd: c0306440, arg: 7ffca70fb458": hexadecimal with
// or without 0x, in every spelling that kernels and trace-cmd have had.
func textIoctl(m *TextMapper, e *event.Event, p []byte) bool {
	for len(p) > 0 {
		var key, val []byte
		key, val, _, p = nextComma(p)
		v, ok := parseNumber(val, true)
		if key == nil || !ok {
			m.note(&AnomalyBadValue)
			continue
		}
		switch string(key) {
		case "fd":
			e.SetInt(event.FieldFD, int64(int32(v)))
		case "cmd":
			e.SetUint(event.FieldCmd, uint64(uint32(v)))
		case "arg":
			e.SetUint(event.FieldArg, v)
		default:
			m.note(&AnomalyFieldNotKept)
		}
	}
	return true
}

// textIoctlExit reads "0x0" or "0xfffffffffffffff4".
func textIoctlExit(m *TextMapper, e *event.Event, p []byte) bool {
	p = bytes.TrimPrefix(p, []byte("ret="))
	if v, ok := parseNumber(p, false); ok {
		e.SetInt(event.FieldResult, int64(v))
	} else {
		m.note(&AnomalyBadValue)
	}
	return true
}

// textSysEnter reads "NR 16 (3, c0306440, 60e6d0, 0, 0, 0)"; the arguments are
// hexadecimal. Other calls than ioctl have no kind of their own.
func textSysEnter(m *TextMapper, e *event.Event, p []byte) bool {
	nr, rest, ok := sysNR(p)
	if !ok || nr != ioctlNR {
		return m.otherCall(e, p, nr, ok, "args", bytes.Trim(rest, " ()"))
	}
	rest = bytes.Trim(rest, " ()")
	for i := 0; i < 3 && len(rest) > 0; i++ {
		v, n := parseHex(bytes.TrimPrefix(rest, []byte("0x")))
		if n == 0 {
			m.note(&AnomalyBadValue)
			break
		}
		switch i {
		case 0:
			e.SetInt(event.FieldFD, int64(int32(v)))
		case 1:
			e.SetUint(event.FieldCmd, uint64(uint32(v)))
		case 2:
			e.SetUint(event.FieldArg, v)
		}
		j := bytes.IndexByte(rest, ',')
		if j < 0 {
			break
		}
		rest = trimBlanks(rest[j+1:])
	}
	return true
}

// textSysExit reads "NR 16 = -11".
func textSysExit(m *TextMapper, e *event.Event, p []byte) bool {
	nr, rest, ok := sysNR(p)
	ret := bytes.TrimLeft(rest, " =")
	if !ok || nr != ioctlNR {
		return m.otherCall(e, p, nr, ok, "ret", ret)
	}
	if v, ok := parseNumber(ret, false); ok {
		e.SetInt(event.FieldResult, int64(v))
	} else {
		m.note(&AnomalyBadValue)
	}
	return true
}

func sysNR(p []byte) (nr uint64, rest []byte, ok bool) {
	p, ok = bytes.CutPrefix(p, []byte("NR "))
	if !ok {
		return 0, nil, false
	}
	i := bytes.IndexByte(p, ' ')
	if i < 0 {
		i = len(p)
	}
	nr, ok = parseNumber(p[:i], false)
	return nr, p[i:], ok
}

// otherCall makes e the event of a system call that is no ioctl.
func (m *TextMapper) otherCall(e *event.Event, p []byte, nr uint64, ok bool, key string, val []byte) bool {
	becomeOther(e)
	if ok {
		m.obj.uint("id", nr)
		m.obj.value(key, val)
	} else {
		m.obj.value("text", p)
	}
	e.SetStr(event.FieldName, e.Source)
	e.SetStr(event.FieldArgs, string(m.obj.bytes()))
	return true
}

// textXid reads "Xid (PCI:0000:41:00): 79, GPU has fallen off the bus".
func textXid(m *TextMapper, e *event.Event, p []byte) bool {
	rest, ok := bytes.CutPrefix(p, []byte("Xid (PCI:"))
	dev, rest, ok2 := bytes.Cut(rest, []byte("): "))
	num, msg, ok3 := bytes.Cut(rest, []byte(", "))
	code, ok4 := parseNumber(num, false)
	if !ok || !ok2 || !ok3 || !ok4 {
		m.note(&AnomalyBadValue)
		e.SetStr(event.FieldName, m.Strings.Get(p))
		return true
	}
	e.SetStr(event.FieldDevice, m.Strings.Get(dev))
	e.SetUint(event.FieldCode, code)
	e.SetStr(event.FieldName, m.Strings.Get(msg))
	return true
}

// textPipeSync reads "job ring=gfx, id=7, need pipe sync to fence=%p, context=1,
// seq=2" and, since 6.17, "job ring=gfx need pipe sync to fence=1:2".
func textPipeSync(m *TextMapper, e *event.Event, p []byte) bool {
	before, fence, ok := bytes.Cut(p, []byte("need pipe sync to fence="))
	if !ok {
		return false
	}
	ring := bytes.TrimPrefix(bytes.TrimRight(before, ", "), []byte("job ring="))
	ring, id, hasID := bytes.Cut(ring, []byte(", id="))
	e.SetStr(event.FieldRing, m.Strings.Get(ring))
	if hasID {
		m.setNumber(e, &bind{conv: convUint}, event.FieldSchedJobID, id)
	}
	fence, rest, _ := bytes.Cut(fence, []byte(", "))
	m.setFence(e, fence, event.FieldOnFencePtr, event.FieldOnFenceContext, event.FieldOnFenceSeqno)
	for len(rest) > 0 {
		var key, val []byte
		key, val, _, rest = nextComma(rest)
		switch string(key) {
		case "context":
			m.setNumber(e, &bind{conv: convUint}, event.FieldOnFenceContext, val)
		case "seq":
			m.setNumber(e, &bind{conv: convNarrow}, event.FieldOnFenceSeqno, val)
		}
	}
	return true
}

// textV3D takes the list from "dev=1, BCL, seqno=1, 0x00060000..0x0006000e".
func textV3D(m *TextMapper, e *event.Event, p []byte) bool {
	switch {
	case bytes.Contains(p, []byte(", BCL,")):
		e.SetStr(event.FieldRing, v3dList(false))
	case bytes.Contains(p, []byte(", RCL,")):
		e.SetStr(event.FieldRing, v3dList(true))
	}
	return false
}

// becomeOther changes an event's kind; what it said so far of its fields is gone.
func becomeOther(e *event.Event) {
	h := *e
	e.Reset(event.KindOther, h.Time)
	e.CPU, e.PID, e.TID, e.Comm, e.Source = h.CPU, h.PID, h.TID, h.Comm, h.Source
}
