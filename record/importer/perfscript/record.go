package perfscript

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// record takes one of perf's own records (perf script --show-task-events and
// the like, tools/perf/util/event.c):
//
//	PERF_RECORD_COMM exec: sleep:1235/1235
//	PERF_RECORD_FORK(1235:1235):(1234:1234)
//	PERF_RECORD_EXIT(1235:1235):(1234:1234)
//	PERF_RECORD_LOST lost 12
//
// Those at time 0 are made up by perf when it begins: they tell what already
// was, and become identities.
func (r *reader) record(b *event.Batch, h *head, comm string) {
	text := trim(h.text)
	name := text
	if i := bytes.IndexAny(text, "(: "); i >= 0 {
		name = text[:i]
	}
	rest := trim(text[len(name):])
	var e *event.Event
	switch string(name) {
	case "PERF_RECORD_COMM":
		e = commRecord(b, h, rest)
	case "PERF_RECORD_FORK", "PERF_RECORD_EXIT":
		e = forkRecord(b, h, rest, string(name) == "PERF_RECORD_EXIT")
	case "PERF_RECORD_LOST", "PERF_RECORD_LOST_SAMPLES":
		e = r.lostRecord(b, h, rest)
	}
	if e == nil {
		e = b.Add(event.KindOther, h.time)
		e.PID, e.TID = h.pid, h.tid
		e.SetStr(event.FieldName, r.mapper.Strings.Get(name))
		if len(rest) > 0 {
			e.SetStr(event.FieldArgs, textArgs(rest))
		}
	}
	e.CPU, e.Source = h.cpu, "perf:"+string(name)
	if e.Comm == "" && e.Kind != event.KindProcess {
		e.Comm = comm
	}
}

// textArgs is a JSON object with the one field text.
func textArgs(s []byte) string {
	j, err := json.Marshal(map[string]string{"text": strings.ToValidUTF8(string(s), "\ufffd")})
	if err != nil { // no string fails to be JSON
		return ""
	}
	return string(j)
}

// commRecord reads "exec: sleep:1235/1235" or ": sleep:1235/1235".
func commRecord(b *event.Batch, h *head, s []byte) *event.Event {
	s, exec := bytes.CutPrefix(s, []byte("exec"))
	s = trim(bytes.TrimPrefix(s, []byte(":")))
	i := bytes.LastIndexByte(s, ':')
	if i <= 0 {
		return nil
	}
	p, t, ok := bytes.Cut(s[i+1:], []byte("/"))
	pid, ok1 := id(p)
	tid, ok2 := id(t)
	if !ok || !ok1 || !ok2 {
		return nil
	}
	comm := strings.ToValidUTF8(string(s[:i]), "\ufffd")
	if h.time == 0 {
		e := b.Add(event.KindThread, event.NoTime)
		e.PID, e.TID, e.Comm = pid, tid, comm
		e.SetStr(event.FieldName, comm)
		return e
	}
	e := b.Add(event.KindTask, h.time)
	e.PID, e.TID = pid, tid
	op := event.TaskRename
	if exec {
		op = event.TaskExec
	} else {
		e.SetInt(event.FieldTargetTID, int64(tid))
	}
	e.SetUint(event.FieldTaskOp, uint64(op))
	e.SetStr(event.FieldTargetComm, comm)
	return e
}

// forkRecord reads "(child:tid):(parent:tid)".
func forkRecord(b *event.Batch, h *head, s []byte, exit bool) *event.Event {
	child, parent, ok := bytes.Cut(s, []byte("):("))
	cp, ct, ok1 := pair(bytes.TrimPrefix(child, []byte("(")))
	pp, pt, ok2 := pair(bytes.TrimSuffix(parent, []byte(")")))
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if h.time == 0 && !exit {
		e := b.Add(event.KindProcess, event.NoTime)
		e.PID = cp
		if cp == ct {
			e.SetInt(event.FieldPPID, int64(pp))
		}
		return e
	}
	e := b.Add(event.KindTask, h.time)
	if exit {
		e.PID, e.TID = cp, ct
		e.SetUint(event.FieldTaskOp, uint64(event.TaskExit))
		return e
	}
	e.PID, e.TID = pp, pt
	e.SetUint(event.FieldTaskOp, uint64(event.TaskFork))
	e.SetInt(event.FieldTargetPID, int64(cp))
	e.SetInt(event.FieldTargetTID, int64(ct))
	return e
}

func pair(s []byte) (a, b int32, ok bool) {
	x, y, ok := bytes.Cut(s, []byte(":"))
	a, ok1 := id(x)
	b, ok2 := id(y)
	return a, b, ok && ok1 && ok2
}

// lostRecord reads "lost 12".
func (r *reader) lostRecord(b *event.Batch, h *head, s []byte) *event.Event {
	num, ok := bytes.CutPrefix(s, []byte("lost "))
	n, ok2 := number(trim(num))
	if !ok || !ok2 {
		return nil
	}
	e := r.loss(b, h.time)
	e.PID, e.TID = h.pid, h.tid
	e.SetUint(event.FieldCount, n)
	r.count.AddAt(&AnomalyLost, n, r.lines.place())
	return e
}

func (r *reader) loss(b *event.Batch, t event.Time) *event.Event {
	e := b.Add(event.KindLoss, t)
	e.SetStr(event.FieldTrack, stream)
	e.SetStr(event.FieldName, AnomalyLost.Remedy)
	return e
}

var traceErrorPrefix = []byte("instruction trace error")

func isTraceError(line []byte) bool { return bytes.HasPrefix(trim(line), traceErrorPrefix) }

// traceError reads what perf writes between events where it could not decode a
// hardware trace: "instruction trace error type 1 time 2.651 cpu -1 pid 4 tid 5
// ip 0x7f code 7: Overflow packet". What was lost, nobody knows.
func (r *reader) traceError(b *event.Batch, line []byte) bool {
	if !isTraceError(line) {
		return false
	}
	r.flush(b)
	r.count.AddAt(&AnomalyTraceError, 1, r.lines.place()+": "+strings.ToValidUTF8(string(trim(line)), "\ufffd"))
	var h head
	h.time = event.NoTime
	cpu, pid, tid := event.NoID, event.NoID, event.NoID
	words := bytes.Fields(line)
	for i := 0; i+1 < len(words); i++ {
		v := words[i+1]
		switch string(words[i]) {
		case "time":
			h.clock(append(bytes.Clone(v), ':'))
		case "cpu":
			cpu = idOr(v, cpu)
		case "pid":
			pid = idOr(v, pid)
		case "tid":
			tid = idOr(v, tid)
		}
	}
	e := r.loss(b, h.time)
	e.CPU, e.PID, e.TID, e.Source = cpu, pid, tid, "perf:instruction_trace_error"
	e.SetTime(event.FieldStart, r.last)
	e.SetStr(event.FieldName, AnomalyTraceError.Remedy)
	return true
}

func idOr(s []byte, or int32) int32 {
	if v, ok := id(s); ok {
		return v
	}
	return or
}
