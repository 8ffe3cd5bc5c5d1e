package chromejson

import (
	"strconv"
	"unicode/utf8"

	"github.com/gpurec/gpurec/record/event"
)

// Bounds of texts.
const (
	maxName = 16 << 10
	maxArgs = 120 << 10 // a log cuts texts of 128 KiB
)

// mapper makes events of records.
type mapper struct {
	lex     *lexer
	count   *event.Counters
	where   func() string // place of the record in work
	strings interner
	arena   arena
	cats    categories
	who     people
	async   asyncRanges
	devices devices
	kineto  bool // the file is Kineto's

	scr    []byte // text in work
	scr2   []byte
	more   []byte // members to add to the arguments: `"id":"0x5"`
	phases [256]uint64
	start  event.Time
	end    event.Time
}

func (m *mapper) init(x *lexer, c *event.Counters, where func() string) {
	m.lex, m.count, m.where = x, c, where
	m.start, m.end = event.NoTime, event.NoTime
	m.who.init(m)
	m.devices.init(m)
}

func (m *mapper) note(a *event.AnomalySpec) {
	if m.count.Get(a) > 0 {
		m.count.Add(a, 1)
		return
	}
	m.count.AddAt(a, 1, m.where())
}

// text returns the text at s.
func (m *mapper) text(s span, fl uint8) string {
	b := m.lex.b[s.from:s.to]
	if fl != 0 && (fl != textHigh || !utf8.Valid(b)) {
		var ok bool
		if m.scr, ok = unquote(m.scr[:0], b); !ok {
			m.note(&AnomalyTextMended)
		}
		b = m.scr
	}
	if len(b) > maxName {
		m.note(&AnomalyTextCut)
		b = cutRunes(b, maxName)
	}
	return m.strings.get(b)
}

// cutRunes returns the first n bytes of b or less, never a part of a character.
func cutRunes(b []byte, n int) []byte {
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// appendToken appends what a token says, as UTF-8.
func (m *mapper) appendToken(dst []byte, t *token) []byte {
	b := m.lex.b[t.from:t.to]
	if t.kind == tokenText && t.flags == 0 {
		return append(dst, b...)
	}
	dst, _ = unquote(dst, b)
	return dst
}

// addToken adds a member with a token's value to the arguments.
func (m *mapper) addToken(key string, t *token) {
	if t.kind == tokenNone {
		return
	}
	m.addKey(key)
	b := m.lex.b[t.from:t.to]
	switch {
	case t.kind == tokenBare && validScalar(b):
		m.more = append(m.more, b...)
	case t.kind == tokenNested:
		m.more, _ = clean(m.more, m.lex.b, int(t.from), int(t.to), &m.scr2)
	default:
		m.scr2, _ = unquote(m.scr2[:0], b)
		m.more = appendQuoted(m.more, m.scr2)
	}
}

// addText adds a member to the arguments.
func (m *mapper) addText(key string, v string) {
	m.addKey(key)
	m.more = appendQuoted(m.more, []byte(v))
}

func (m *mapper) addKey(key string) {
	if len(m.more) > 0 {
		m.more = append(m.more, ',')
	}
	m.more = append(m.more, '"')
	m.more = append(m.more, key...)
	m.more = append(m.more, '"', ':')
}

// times reads ts and dur of a record. What can't be read becomes an argument.
func (m *mapper) times(r *record) (ts event.Time) {
	ts = event.NoTime
	ns, st := m.micros(&r.ts)
	switch {
	case st == timeExact || st == timeRounded:
		ts = event.Time(ns)
	case r.ph == 'M': // metadata needs none
	case st == timeRange:
		m.note(&AnomalyTimeRange)
		m.addToken("ts", &r.ts)
	default:
		m.note(&AnomalyNoTime)
		m.addToken("ts", &r.ts)
	}
	return ts
}

func (m *mapper) micros(t *token) (int64, timeState) {
	if t.kind != tokenText && t.kind != tokenBare {
		return 0, timeNone
	}
	ns, st := parseMicros(m.lex.b[t.from:t.to])
	if st == timeRounded {
		m.note(&AnomalySubNS)
	}
	return ns, st
}

// endOf returns the end of a complete event, or NoTime.
func (m *mapper) endOf(r *record, ts event.Time) event.Time {
	ns, st := m.micros(&r.dur)
	if st != timeExact && st != timeRounded || ns < 0 {
		m.note(&AnomalyNoDuration)
		m.addToken("dur", &r.dur)
		return event.NoTime
	}
	if !ts.Known() {
		m.addToken("dur", &r.dur)
		return event.NoTime
	}
	end := ts + event.Time(ns)
	if end < ts {
		m.note(&AnomalyTimeRange)
		m.addToken("dur", &r.dur)
		return event.NoTime
	}
	return end
}

// span widens the time range of the input.
func (m *mapper) span(t event.Time) {
	if !t.Known() {
		return
	}
	if t < m.start || m.start == event.NoTime {
		m.start = t
	}
	if t > m.end {
		m.end = t
	}
}

// event maps a record. It appends at least one event.
func (m *mapper) event(b *event.Batch, r *record) {
	m.more = m.more[:0]
	m.phases[r.ph]++
	if r.ph == 'M' {
		m.metadata(b, r)
		return
	}
	ts := m.times(r)
	m.span(ts)
	switch r.ph {
	case 'X':
		m.complete(b, r, ts)
	case 'B', 'E':
		m.half(b, r, ts)
	case 'b', 'e', 'S', 'F':
		m.asyncHalf(b, r, ts)
	case 'i', 'I', 'R', 'n', 'T', 'p':
		m.mark(b, r, ts)
	case 's', 't', 'f':
		m.flow(b, r, ts)
	case 'C':
		m.counter(b, r, ts)
	case 'O', 'N', 'D', 'P', 'V', 'v', 'c', '(', ')', '=':
		m.other(b, r, ts)
	default:
		m.note(&AnomalyUnknownPhase)
		m.other(b, r, ts)
	}
}

var phaseSources = func() (t [256]string) {
	for i := range t {
		t[i] = "chrome:" + string(rune(i))
	}
	return
}()

// add appends an event of a record and says whose it is.
func (m *mapper) add(b *event.Batch, k event.Kind, t event.Time, r *record) (*event.Event, *who) {
	w := m.who.get(r)
	e := b.Add(k, t)
	e.PID, e.TID = w.pid, w.tid
	e.Source = phaseSources[r.ph]
	return e, w
}

// label sets name and category.
func (m *mapper) label(e *event.Event, r *record) *category {
	c := m.category(r)
	e.SetStr(event.FieldCategory, c.name)
	e.SetStr(event.FieldName, m.text(r.name, r.nameFl))
	return c
}

func (m *mapper) category(r *record) *category {
	b := m.lex.b[r.cat.from:r.cat.to]
	if r.catFl != 0 {
		b = []byte(m.text(r.cat, r.catFl))
	}
	if len(b) > maxName {
		b = cutRunes(b, maxName)
	}
	return m.cats.get(b)
}

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
	m.addText("ph", string(rune(r.ph)))
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
