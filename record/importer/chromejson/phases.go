package chromejson

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// half maps the beginning or end of a range.
func (m *mapper) half(b *event.Batch, r *record, ts event.Time) {
	k := event.KindSliceBegin
	if r.ph == 'E' {
		k = event.KindSliceEnd
	}
	e, w := m.add(b, k, ts, r)
	m.label(e, r)
	e.SetStr(event.FieldTrack, w.track)
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, 0))
}

// ids adds an id that has no meaning for the event to its arguments.
func (m *mapper) ids(r *record) {
	if r.hasID {
		m.addToken("id", &r.id)
	}
	if r.hasID2 {
		m.addKey("id2")
		m.more, _ = clean(m.more, m.lex.b, int(r.id2.from), int(r.id2.to), &m.scr2)
	}
	m.addToken("bp", &r.bp)
	m.addToken("s", &r.s)
}

// mark maps an instant.
func (m *mapper) mark(b *event.Batch, r *record, ts event.Time) {
	e, w := m.add(b, event.KindMark, ts, r)
	m.label(e, r)
	e.SetStr(event.FieldTrack, w.track)
	if r.s.kind == tokenText {
		e.SetStr(event.FieldScope, m.text(r.s.span, r.s.flags))
		r.s = token{}
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, 0))
}

// flow maps one end or step of an arrow.
func (m *mapper) flow(b *event.Batch, r *record, ts event.Time) {
	e, w := m.add(b, event.KindFlow, ts, r)
	m.label(e, r)
	step := uint64(0)
	switch r.ph {
	case 't':
		step = 1
	case 'f':
		step = 2
	}
	e.SetUint(event.FieldStep, step)
	if id, exact, ok := m.id(r, w); ok {
		e.SetUint(event.FieldFlowID, id)
		r.hasID = !exact
	}
	if d := m.devices.of(w); d != nil {
		m.onDevice(e, d, w)
		m.devices.owned(b)
	} else {
		e.SetStr(event.FieldTrack, w.track)
	}
	m.ids(r)
	e.SetStr(event.FieldArgs, m.args(r, 0))
}

// other keeps a record of which nothing more is known, with all it says.
func (m *mapper) other(b *event.Batch, r *record, ts event.Time) {
	e, w := m.add(b, event.KindOther, ts, r)
	e.SetStr(event.FieldName, m.text(r.name, r.nameFl))
	if !r.hasName {
		e.SetStr(event.FieldName, phaseSources[r.ph])
	}
	m.everything(r, w)
	e.SetStr(event.FieldArgs, m.args(r, 0))
}

// everything adds what an event without kind has no fields for.
func (m *mapper) everything(r *record, w *who) {
	m.addToken("ph", &r.phase)
	if c := m.category(r); c.name != "" {
		m.addText("cat", c.name)
	}
	if w.oddPID {
		m.addToken("pid", &r.pid)
	}
	if w.oddTID {
		m.addToken("tid", &r.tid)
	}
	m.ids(r)
	m.addToken("dur", &r.dur)
}

// counter maps a sample: an event for each of its series, or an other if none
// is a number.
func (m *mapper) counter(b *event.Batch, r *record, ts event.Time) {
	n := 0
	for i := range r.members {
		if _, ok := m.float(r.members[i].val); ok {
			n++
		}
	}
	if n < len(r.members) || n == 0 {
		m.other(b, r, ts)
		if n == 0 {
			return
		}
	}
	name := m.text(r.name, r.nameFl)
	for i := range r.members {
		v, ok := m.float(r.members[i].val)
		if !ok {
			continue
		}
		e, w := m.add(b, event.KindCounter, ts, r)
		e.SetStr(event.FieldName, m.series(name, r, i))
		e.SetFloat(event.FieldValue, v)
		track := w.track
		if r.hasID {
			m.scr = m.appendToken(append(append(m.scr[:0], track...), '#'), &r.id)
			track = m.strings.get(m.scr[:min(len(m.scr), maxName)])
		}
		e.SetStr(event.FieldTrack, track)
	}
}

// series names one of a counter's values: by the counter alone if it is the only one.
func (m *mapper) series(name string, r *record, i int) string {
	if len(r.members) == 1 {
		return name
	}
	k := r.members[i].key
	m.scr2, _ = unquote(append(append(m.scr2[:0], name...), ' '), m.lex.b[k.from:k.to])
	if len(m.scr2) > maxName {
		m.scr2 = cutRunes(m.scr2, maxName)
	}
	return m.strings.get(m.scr2)
}

// float reads a value that is a number, or a text that is one to the letter.
func (m *mapper) float(s span) (float64, bool) {
	b := m.lex.b[s.from:s.to]
	if len(b) > 2 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	if len(b) == 0 || len(b) > 64 || !validScalar(b) || b[0] == 't' || b[0] == 'f' || b[0] == 'n' {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil
}

// metadata maps names of processes and threads; all else is kept as other.
// It has no time: the format gives it none that means anything.
func (m *mapper) metadata(b *event.Batch, r *record) {
	name := m.text(r.name, r.nameFl)
	w := m.who.get(r)
	m.devices.hint(r, name, w)
	value, ok := m.argText(r, "name")
	device := m.devices.of(w) != nil
	switch {
	case name == "process_name" && ok && w.pid != event.NoID && !device && !m.devices.undecided(w):
		e := b.Add(event.KindProcess, event.NoTime)
		e.PID, e.Source = w.pid, phaseSources['M']
		e.SetStr(event.FieldName, value)
		return
	case name == "thread_name" && ok && w.tid != event.NoID && !device:
		e := b.Add(event.KindThread, event.NoTime)
		e.PID, e.TID, e.Source = w.pid, w.tid, phaseSources['M']
		e.SetStr(event.FieldName, value)
		return
	}
	e := event.New(event.KindOther, event.NoTime)
	e.PID, e.TID, e.Source = w.pid, w.tid, phaseSources['M']
	e.SetStr(event.FieldName, name)
	odd := *w
	if device || m.devices.undecided(w) {
		e.PID, e.TID, odd.oddPID, odd.oddTID = event.NoID, event.NoID, true, true
	}
	m.everything(r, &odd)
	e.SetStr(event.FieldArgs, m.args(r, 0))
	if name == "process_name" && ok && m.devices.undecided(w) && len(m.devices.named) < maxHosts {
		e.SetStr(event.FieldArgs, strings.Clone(e.Str(event.FieldArgs)))
		m.devices.named = append(m.devices.named, naming{w.pidNum, value, e})
		return
	}
	*b.Add(e.Kind, e.Time) = e
}

// argText returns the text of an argument.
func (m *mapper) argText(r *record, key string) (string, bool) {
	for _, a := range r.members {
		v := m.lex.b[a.val.from:a.val.to]
		if string(m.lex.b[a.key.from:a.key.to]) == key && len(v) >= 2 && v[0] == '"' {
			return m.text(span{a.val.from + 1, a.val.to - 1}, textControl|textEscaped), true
		}
	}
	return "", false
}
