package chromejson

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// firstMadeID is from where on an export counts the numbers of processes and
// threads that it makes up.
const firstMadeID = 1 << 29

// ownProc is a process of an export: one of the trace, or what stands in place
// of one.
type ownProc struct {
	kind         procKind
	pid          int32 // of the trace, event.NoID if it is none
	name, labels string
	device       string // as jobs call it
	inferred     bool
	told         bool
}

type procKind uint8

const (
	procReal   procKind = iota
	procSelf            // gpurec
	procDevice          // a GPU
	procCPUs
	procOther // a group of tracks
)

// ownRow is a thread of an export: one of the trace, or another row.
type ownRow struct {
	key      whoKey
	pid, tid int32  // of the trace
	track    string // as the source called it
	beside   bool
	ours     bool
	cpu      *ownCPU
}

// number reads an argument that is a number as text.
func (m *mapper) number(r *record, key string) (int64, bool) {
	s, ok := m.argText(r, key)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// bare returns an argument that is a bare word.
func (m *mapper) bare(r *record, key string) (string, bool) {
	for _, a := range r.members {
		if v := m.lex.b[a.val.from:a.val.to]; string(m.lex.b[a.key.from:a.key.to]) == key && v[0] != '"' {
			return string(v), true
		}
	}
	return "", false
}

// mark looks whether a name of a process says that the file is an export.
func (o *ownTrace) mark(r *record) bool {
	m := o.m
	version, ok := m.bare(r, "export")
	start, isNumber := m.number(r, "start_ns")
	clock, named := m.argText(r, "clock")
	if name, _ := m.argText(r, "name"); !ok || !isNumber || !named || name != "gpurec" {
		return false
	}
	late := uint64(0)
	for ph, n := range m.phases {
		if ph != 'M' {
			late += n
		}
	}
	pid, isPID := smallNumber(m.lex.b[r.pid.from:r.pid.to])
	const farthest = 1 << 62
	if o.on || late > 0 || !isPID || version != strconv.Itoa(markVersion) || start > farthest || start < -farthest {
		m.note(&AnomalyOwnMark)
		return false
	}
	o.start(event.Clock(clock), event.Time(start))
	o.proc(pid).kind = procSelf
	return true
}

// metadata takes what is said of processes and threads. It reports false if it
// is none of an export.
func (o *ownTrace) metadata(b *event.Batch, r *record) bool {
	name := o.m.lex.b[r.name.from:r.name.to]
	if string(name) == "process_name" && o.mark(r) {
		return true
	}
	if !o.on {
		return false
	}
	o.batch = b
	pid, ok := smallNumber(o.m.lex.b[r.pid.from:r.pid.to])
	if !ok {
		return false
	}
	switch string(name) {
	case "process_name":
		o.processName(r, o.proc(pid))
	case "process_labels":
		o.proc(pid).labels, _ = o.m.argText(r, "labels")
	case "process_sort_index":
		o.tell(o.proc(pid))
	case "thread_name":
		return o.threadName(r)
	case "thread_sort_index":
		if row := o.row(r); row != nil && row.tid != event.NoID && !row.beside && !row.ours {
			o.thread(row, "") // its number tells whose it is
		}
	default:
		return false
	}
	return true
}

// proc returns a process by its number in the file.
func (o *ownTrace) proc(n int64) *ownProc {
	p := o.procs[n]
	if p == nil {
		p = &ownProc{pid: kernelID(n)}
		if len(o.procs) < maxWho {
			o.procs[n] = p
			o.order = append(o.order, p)
		}
	}
	return p
}

func (o *ownTrace) processName(r *record, p *ownProc) {
	m := o.m
	p.name, _ = m.argText(r, "name")
	if kind, ok := m.argText(r, "kind"); ok {
		p.pid = event.NoID
		switch kind {
		case "device":
			p.kind = procDevice
		case "cpus":
			p.kind = procCPUs
		default:
			p.kind = procOther
		}
		return
	}
	if s, ok := m.argText(r, "own_name"); ok {
		p.name = s
	}
	if n, ok := m.number(r, "pid"); ok && n >= 0 && n < firstMadeID {
		p.pid = int32(n)
	}
	p.name, p.inferred = own.ProcessName(p.name)
}

// tell gives the event of a process or a device, once all is said of it.
func (o *ownTrace) tell(p *ownProc) {
	if p.told {
		return
	}
	p.told = true
	switch {
	case p.kind == procDevice:
		number, device := o.own.DeviceTrack(p.name, p.labels)
		if p.device = device; number >= 0 && len(o.devices) < maxDevices {
			o.devices[number] = device
		}
	case p.kind == procReal && p.pid != event.NoID && (p.name != "" || p.labels != ""):
		e := o.batch.Add(event.KindProcess, event.NoTime)
		e.PID, e.Source = p.pid, o.own.Source
		e.SetStr(event.FieldName, p.name)
		e.SetStr(event.FieldCmdline, p.labels)
		if p.inferred {
			e.Flags |= event.FlagPIDInferred
			o.thread(&ownRow{pid: p.pid, tid: p.pid}, "") // one thread, of the process's number
		}
	}
}

// row returns the row of an event, nil if its numbers are none.
func (o *ownTrace) row(r *record) *ownRow {
	b := o.m.lex.b
	pid, ok1 := smallNumber(b[r.pid.from:r.pid.to])
	tid, ok2 := smallNumber(b[r.tid.from:r.tid.to])
	if !ok1 || !ok2 {
		return nil
	}
	k := whoKey{pid, tid}
	slot := &o.last[uint64(tid)%uint64(len(o.last))]
	if w := *slot; w != nil && w.key == k {
		return w
	}
	w := o.rows[k]
	if w == nil {
		w = &ownRow{key: k, tid: kernelID(tid)}
		p := o.proc(pid)
		w.pid = p.pid
		w.ours = p.kind == procSelf || p.kind == procDevice
		if tid >= firstMadeID || p.kind != procReal {
			w.tid = event.NoID
		}
		if len(o.rows) < maxWho {
			o.rows[k] = w
		}
	}
	*slot = w
	return w
}

// threadName takes the name of a row.
func (o *ownTrace) threadName(r *record) bool {
	m := o.m
	w := o.row(r)
	if w == nil {
		return false
	}
	name, _ := m.argText(r, "name")
	if s, ok := m.argText(r, "own_name"); ok {
		name = s
	}
	p := o.proc(w.key.pid)
	if cpu, ok := m.bare(r, "cpu"); ok && p.kind == procCPUs {
		w.cpu = o.cpu(cpu)
		return true
	}
	tid, ok := m.number(r, "tid")
	if ok {
		w.tid = kernelID(tid)
		if w.tid == event.NoID && tid == 0 {
			w.tid = 0
		}
	}
	if _, w.beside = m.bare(r, "beside"); w.beside {
		return true
	}
	if p.kind == procReal && (ok || w.key.tid < firstMadeID) {
		o.thread(w, name)
		return true
	}
	if p.kind != procSelf {
		w.track = name
	}
	return true
}

func (o *ownTrace) thread(w *ownRow, name string) {
	if w.tid == event.NoID {
		return
	}
	e := o.batch.Add(event.KindThread, event.NoTime)
	e.PID, e.TID, e.Source = w.pid, w.tid, o.own.Source
	if p := o.procs[w.key.pid]; p != nil && p.inferred || w.key == (whoKey{}) {
		e.Flags |= event.FlagPIDInferred
	}
	e.SetStr(event.FieldName, name)
}

// counter maps a counter's value.
func (o *ownTrace) counter(r *record, ts event.Time) bool {
	m := o.m
	pid, ok := smallNumber(m.lex.b[r.pid.from:r.pid.to])
	if !ok || len(r.members) != 1 || r.hasID {
		return false
	}
	v, ok := m.float(r.members[0].val)
	if !ok {
		return false
	}
	key := r.members[0].key
	name, unit := m.text(r.name, r.nameFl), m.text(key, textEscaped)
	p := o.proc(pid)
	if p.derived(name, unit) {
		o.derived()
		return true
	}
	m.span(ts)
	e := o.batch.Add(event.KindCounter, ts)
	e.PID, e.Source = p.pid, o.own.Source
	e.SetStr(event.FieldName, own.CounterName(name))
	if unit != "value" {
		e.SetStr(event.FieldUnit, unit)
	}
	e.SetStr(event.FieldDevice, p.device)
	e.SetFloat(event.FieldValue, v)
	return true
}

// derived reports whether a counter is one that the export makes of jobs and
// activities.
func (p *ownProc) derived(name, unit string) bool {
	switch unit {
	case "%":
		return p.kind == procDevice && name == "utilisation"
	case "activities":
		return p.kind == procDevice && name == "backlog"
	case "jobs":
		return p.kind == procReal && strings.HasSuffix(name, " jobs in flight") ||
			p.kind == procDevice && (strings.HasSuffix(name, " / backlog") || strings.HasSuffix(name, " / queued, not drawn"))
	}
	return false
}
