package chromejson

import (
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
	own     ownTrace
	kineto  bool       // the file is Kineto's
	base    event.Time // what its times count from

	scr    []byte // text in work
	scr2   []byte
	more   []byte // members to add to the arguments: `"id":"0x5"`
	phases [256]uint64
	start  event.Time
	end    event.Time
	held   int // bytes of arguments in the batch in work
}

func (m *mapper) init(x *lexer, c *event.Counters, where func() string) {
	m.lex, m.count, m.where = x, c, where
	m.start, m.end = event.NoTime, event.NoTime
	m.who.init(m)
	m.devices.init(m)
	m.own.init(m)
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
	case (st == timeExact || st == timeRounded) && m.fits(ns):
		ts = event.Time(ns) + m.base
	case r.ph == 'M': // metadata needs none
	case st == timeRange, st == timeExact, st == timeRounded:
		m.note(&AnomalyTimeRange)
		m.addToken("ts", &r.ts)
	default:
		m.note(&AnomalyNoTime)
		m.addToken("ts", &r.ts)
	}
	return ts
}

// fits reports whether a time, counted from the base, is one.
func (m *mapper) fits(ns int64) bool {
	t := event.Time(ns) + m.base
	return m.base == 0 || (t > event.Time(ns)) == (m.base > 0)
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
		if !m.own.metadata(b, r) {
			m.metadata(b, r)
		}
		return
	}
	ts := m.times(r)
	if m.own.on && m.own.event(b, r, ts) {
		return
	}
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
