package chromejson

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// complete maps an event with a duration.
func (m *mapper) complete(b *event.Batch, r *record, ts event.Time) {
	end := m.endOf(r, ts)
	m.span(end)
	c := m.category(r)
	how := c.role
	if how == roleCall && c.api == event.APIUnknown && m.devices.of(m.who.get(r)) != nil {
		how = roleOnDevice // MTIA's waits for a device stand on its row
	}
	switch how {
	case roleCall:
		m.kineto = true
		m.call(b, r, c, ts, end)
		return
	case roleWork, roleMTIA:
		if m.kineto || m.hasDeviceArgs(r) {
			m.kineto = true
			m.work(b, r, c, ts, end)
			return
		}
	}
	e, w := m.add(b, event.KindSlice, end, r)
	e.SetTime(event.FieldStart, ts)
	m.label(e, r)
	taken := uint64(0)
	switch how {
	case roleHost:
		m.kineto = true
		m.devices.hostEvent(w, false)
		e.SetStr(event.FieldTrack, w.track)
		if w.oddPID && w.isPIDNum && w.pidNum == 0 { // a thread that the profiler could not name
			m.devices.owned(b)
		}
	case roleOnDevice:
		if w.isPIDNum {
			m.kineto = true
			m.onDevice(e, m.devices.get(w.pidNum), w)
			taken = m.correlation(e, r)
			m.devices.owned(b)
			break
		}
		fallthrough
	default:
		e.SetStr(event.FieldTrack, w.track)
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, taken))
}

// correlation sets the correlation id alone.
func (m *mapper) correlation(e *event.Event, r *record) uint64 {
	for i, a := range r.members {
		if i < 64 && string(m.lex.b[a.key.from:a.key.to]) == "correlation" && setNumber(e, event.FieldCorrelationID, m.lex.b[a.val.from:a.val.to]) {
			return 1 << i
		}
	}
	return 0
}

// hasDeviceArgs tells a GPU's kernel from what others call one.
func (m *mapper) hasDeviceArgs(r *record) bool {
	for _, a := range r.members {
		switch string(m.lex.b[a.key.from:a.key.to]) {
		case "stream", "correlation", "grid":
			return true
		}
	}
	return false
}

// call maps an API call.
func (m *mapper) call(b *event.Batch, r *record, c *category, ts, end event.Time) {
	e, w := m.add(b, event.KindAPI, end, r)
	e.Source = c.source
	name := m.text(r.name, r.nameFl)
	e.SetStr(event.FieldName, name)
	if api := c.family(name); api != event.APIUnknown {
		e.SetUint(event.FieldAPI, uint64(api))
	}
	e.SetTime(event.FieldStart, ts)
	taken, _ := m.fields(e, r)
	if w.oddPID {
		m.addToken("pid", &r.pid)
	}
	if w.oddTID {
		m.addToken("tid", &r.tid)
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, taken))
	m.devices.hostEvent(w, true)
	m.devices.call(e)
}

// work maps work of a device.
func (m *mapper) work(b *event.Batch, r *record, c *category, ts, end event.Time) {
	if ts == 0 && end == 0 {
		m.note(&AnomalyZeroTime)
		ts, end = event.NoTime, event.NoTime
	}
	e, w := m.add(b, event.KindGPUActivity, end, r)
	e.Source = c.source
	e.SetTime(event.FieldStart, ts)
	name := m.text(r.name, r.nameFl)
	e.SetStr(event.FieldName, name)
	taken, dev := m.fields(e, r)
	a := c.activity
	if c.role == roleMTIA {
		a = mtia(name)
	}
	e.SetUint(event.FieldActivity, uint64(a))
	if a == event.ActivityMemcpy && !e.Has(event.FieldDirection) && strings.HasPrefix(name, "Memcpy") {
		if d := copyDirection(name); d != event.DirUnknown {
			e.SetUint(event.FieldDirection, uint64(d))
		}
	}
	ordinal, known := w.pidNum, w.isPIDNum
	if dev.set() {
		ordinal, known = smallNumber(m.lex.b[dev.from:dev.to])
	}
	if known {
		d := m.devices.get(ordinal)
		d.worked = true
		e.SetStr(event.FieldDevice, d.id)
	} else {
		m.addToken("pid", &r.pid)
	}
	if !e.Has(event.FieldStream) && w.isTIDNum && w.tidNum >= 0 {
		e.SetInt(event.FieldStream, w.tidNum)
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, taken))
	m.devices.owned(b)
}
