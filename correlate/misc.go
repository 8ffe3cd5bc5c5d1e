package correlate

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// miscTracker gives the rows of events that stand alone.
type miscTracker struct {
	e    *engine
	open []Reset // whose end may still be told
}

func (x *miscTracker) event(ev *event.Event, t *thread) {
	r := &x.e.rows
	at := event.OptTime(ev.Time)
	switch ev.Kind {
	case event.KindCounter:
		v, ok := ev.Float(event.FieldValue)
		if !ok {
			x.other(ev, t)
			return
		}
		r.Counters = append(r.Counters, Counter{Name: ev.Str(event.FieldName), DeviceID: x.e.ids.deviceID(ev.Str(event.FieldDevice), ""),
			ProcessID: t.processID(), TSNS: at, Value: v, Unit: ev.Str(event.FieldUnit)})
	case event.KindMark:
		x.e.seq.mark++
		r.Marks = append(r.Marks, Mark{ID: x.e.seq.mark, ProcessID: t.processID(), PID: t.pid, TID: t.tid, TSNS: moment(ev),
			Category: ev.Str(event.FieldCategory), Name: ev.Str(event.FieldName), Args: ev.Str(event.FieldArgs)})
	case event.KindFlow:
		r.Flows = append(r.Flows, Flow{FlowID: optUint(ev, event.FieldFlowID), ProcessID: t.processID(), PID: t.pid, TID: t.tid, TSNS: at,
			Category: ev.Str(event.FieldCategory), Name: ev.Str(event.FieldName), Step: stepName(ev)})
	case event.KindSample:
		r.Samples = append(r.Samples, Sample{ProcessID: t.processID(), PID: t.pid, TID: t.tid, CPU: optTask(ev.CPU), TSNS: at,
			Name: ev.Str(event.FieldName), Period: optUint(ev, event.FieldPeriod), Stack: ev.Str(event.FieldStack)})
	case event.KindLogLine:
		dev := x.e.ids.deviceID(ev.Str(event.FieldDevice), "")
		pid := xidProcess(ev)
		r.LogLines = append(r.LogLines, LogLine{TSNS: at, DeviceID: dev, Text: ev.Str(event.FieldName), Code: optInt(ev, event.FieldCode),
			PID: pid, ProcessID: x.xid(pid, ev.Time)})
		x.logged(ev, dev)
	case event.KindReset:
		x.named(ev)
		return
	case event.KindMemMap, event.KindMemUnmap:
		x.memMap(ev, t)
	default:
		x.other(ev, t)
		return
	}
	x.e.n++
}

func stepName(ev *event.Event) string {
	v, ok := ev.Uint(event.FieldStep)
	if !ok || v > 2 {
		return ""
	}
	return [...]string{"start", "step", "end"}[v]
}

func (x *miscTracker) memMap(ev *event.Event, t *thread) {
	x.e.seq.memMap++
	op := "map"
	if ev.Kind == event.KindMemUnmap {
		op = "unmap"
	}
	x.e.rows.MemMaps = append(x.e.rows.MemMaps, MemMap{ID: x.e.seq.memMap, DeviceID: x.e.ids.deviceID(ev.Str(event.FieldDevice), ""),
		ProcessID: t.processID(), PID: t.pid, TID: t.tid, Op: op, TSNS: event.OptTime(ev.Time),
		Address: optUint(ev, event.FieldAddress), Bytes: optUint(ev, event.FieldBytes), ObjectPtr: optUint(ev, event.FieldObjectPtr)})
}

// other keeps an event that has no table of its own, with all its fields.
func (x *miscTracker) other(ev *event.Event, t *thread) {
	x.e.seq.other++
	row := Other{ID: x.e.seq.other, ProcessID: t.processID(), PID: t.pid, TID: t.tid, CPU: optTask(ev.CPU),
		TSNS: event.OptTime(ev.Time), Name: ev.Kind.String(), Fields: fieldsJSON(ev)}
	if ev.Kind == event.KindJobNote && ev.Source != "" {
		row.Name = ev.Source
	}
	if ev.Kind == event.KindOther {
		row.Name, row.Fields = ev.Str(event.FieldName), ev.Str(event.FieldArgs)
	}
	x.e.rows.Others = append(x.e.rows.Others, row)
	x.e.n++
}

// fieldsJSON writes the fields that an event carries as a JSON object.
func fieldsJSON(ev *event.Event) string {
	b := []byte{'{'}
	for _, f := range ev.Kind.Spec().Fields {
		if !ev.Has(f) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, f.String()...)
		b = append(b, '"', ':')
		v, _ := ev.Uint(f)
		switch f.Spec().Type {
		case event.TypeString, event.TypeText:
			b = appendJSONString(b, ev.Str(f))
		case event.TypeInt, event.TypeTime:
			b = strconv.AppendInt(b, int64(v), 10)
		case event.TypeFloat:
			n, _ := ev.Float(f)
			b = appendJSONFloat(b, n)
		case event.TypeBool:
			b = strconv.AppendBool(b, v != 0)
		case event.TypePointer:
			b = append(b, `"0x`...)
			b = strconv.AppendUint(b, v, 16)
			b = append(b, '"')
		default:
			b = strconv.AppendUint(b, v, 10)
		}
	}
	return string(append(b, '}'))
}

func appendJSONFloat(b []byte, v float64) []byte {
	if v != v || v > 1e308 || v < -1e308 { // JSON has no NaN and no infinity
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendJSONString quotes s; what is no UTF-8 becomes U+FFFD.
func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

// finish gives what is known of the run as a whole.
func (x *miscTracker) finish() {
	r, m := &x.e.rows, &x.e.sum.Meta
	for _, p := range m.Probes {
		r.Probes = append(r.Probes, ProbeRow{p.Name, p.Mechanism, p.State, p.Reason, p.Hits, p.Misses, p.Lost, p.RunTimeNS})
	}
	for _, l := range [][]event.Anomaly{m.Anomalies, x.e.sum.Counters.List()} {
		for _, a := range l {
			if a.AnomalySpec == nil {
				continue // a log may hold an anomaly without its description
			}
			r.Anomalies = append(r.Anomalies, AnomalyRow{a.Name, a.Severity.String(), a.Count, a.Remedy, a.Doc, a.Sample})
		}
	}
	x.metadata()
	x.e.n += len(r.Probes) + len(r.Anomalies) + len(r.Metadata)
}

func (x *miscTracker) metadata() {
	m := &x.e.sum.Meta
	add := func(k, v string) {
		if v != "" {
			x.e.rows.Metadata = append(x.e.rows.Metadata, Metadata{k, v})
		}
	}
	num := func(k string, v int64, known bool) {
		if known {
			add(k, strconv.FormatInt(v, 10))
		}
	}
	add("tool", m.Tool)
	add("tool_version", m.ToolVersion)
	add("format", m.Format)
	add("clock", string(m.Clock))
	add("host", m.Host.Name)
	add("kernel", m.Host.Kernel)
	add("machine", m.Host.Machine)
	add("boot_id", m.Host.BootID)
	num("cpus", int64(m.Host.CPUs), m.Host.CPUs > 0)
	add("command", strings.Join(m.Command, " "))
	num("exit_status", int64(m.ExitStatus.V), m.ExitStatus.OK)
	num("start_ns", int64(x.e.sum.Start), x.e.sum.Start.Known())
	num("end_ns", int64(x.e.sum.End), x.e.sum.End.Known())
	num("recorder_cpu_ns", int64(m.Cost.CPUTimeNS), m.Cost.CPUTimeNS > 0)
	num("recorder_bytes", int64(m.Cost.BytesWritten), m.Cost.BytesWritten > 0)
	for _, i := range m.Inputs {
		add("input", i)
	}
	for _, f := range m.Facts {
		add(f.Key, f.Value)
	}
}
