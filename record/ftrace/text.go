package ftrace

import (
	"bytes"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Head is what stands before the name of an event in a line of text.
type Head struct {
	Time event.Time // NoTime if the line has none
	CPU  int32      // event.NoID if unknown, like PID and TID
	PID  int32
	TID  int32
	Comm string // "" if unknown
}

// TextMapper makes events of the text that follows the time in a line of the
// kernel's trace files or of trace-cmd report. It is not safe for concurrent use.
type TextMapper struct {
	maker
	table table
	names [nameModes]map[string]*textName
	last  *textName
	hits  int    // fields read in the line in work
	text  []byte // what a payload says outside of its fields
}

// maker is what the text and the binary path have in common.
type maker struct {
	Strings Interner        // may be shared with the reader of the lines
	count   *event.Counters // where anomalies go
	where   func() string   // the place in work
	obj     object
	scr     scratch
}

// textName is what is known of an event's name.
type textName struct {
	name   string // as printed
	source string // "system:event" or "event"
	tp     *tracepoint
	mode   nameMode // how the name was written
	form   nameMode // how its text is to be read
}

type nameMode uint8

const (
	modePlain      nameMode = iota
	modeSysEnter            // sys_foo(a: 1, b: 2)
	modeSysExit             // sys_foo -> 0x0
	modeFunction            // foo <-bar
	modeStack               // <stack trace>
	modeNoNameText          // a payload without a name
	nameModes
)

// Bounds of the tables of names seen.
const (
	maxNames   = 4096
	maxNameLen = 128
)

// NewTextMapper returns a mapper that counts into c. where tells the place of
// the line in work, for the sample of an anomaly; it may be nil.
func NewTextMapper(c *event.Counters, where func() string) *TextMapper {
	if where == nil {
		where = func() string { return "" }
	}
	return &TextMapper{maker: maker{count: c, where: where}, table: newTable()}
}

// Map appends the event of a line's text ("drm_run_job: entity=…") to b and
// returns it; it always appends exactly one. What it cannot read is counted
// and left unknown; an event without a kind of its own keeps its whole text.
func (m *TextMapper) Map(b *event.Batch, h *Head, text []byte) *event.Event {
	name, payload, mode := splitName(text)
	n := m.lookup(name, mode)
	e := b.Add(event.KindOther, h.Time)
	e.CPU, e.PID, e.TID, e.Comm, e.Source = h.CPU, h.PID, h.TID, h.Comm, n.source
	if bytes.HasPrefix(payload, failedToParse) {
		m.note(&AnomalyFailedToParse)
		if n.tp != nil {
			payload = bytes.TrimLeft(payload[len(failedToParse):], " ")
		}
	}
	switch tp := n.tp; {
	case tp == nil:
		m.other(e, n, payload)
	case tp.mark:
		m.print(e, n, payload)
	default:
		m.known(e, n, payload)
	}
	return e
}

var failedToParse = []byte("[FAILED TO PARSE]")

func (m *maker) note(a *event.AnomalySpec) {
	m.count.AddAt(a, 1, m.sample(a))
}

// sample tells the place only where it will be kept: the first time.
func (m *maker) sample(a *event.AnomalySpec) string {
	if m.count.Get(a) > 0 {
		return ""
	}
	return m.where()
}

// splitName takes the event's name off a text.
func splitName(s []byte) (name, payload []byte, mode nameMode) {
	i := 0
	for i < len(s) && i < maxNameLen && isNameByte(s[i]) {
		i++
	}
	// "system:event: …", as perf and some tools write it.
	if i > 0 && i+1 < len(s) && s[i] == ':' && isNameByte(s[i+1]) {
		j := i + 1
		for j < len(s) && j-i < maxNameLen && isNameByte(s[j]) {
			j++
		}
		if j < len(s) && s[j] == ':' && (j+1 == len(s) || s[j+1] == ' ') {
			return s[i+1 : j], trimBlanks(s[j+1:]), modePlain
		}
	}
	switch {
	case i < len(s) && s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || i == 0):
		return s[:i], trimBlanks(s[i+1:]), modePlain
	case i > 4 && string(s[:4]) == "sys_":
		if i < len(s) && s[i] == '(' {
			p := bytes.TrimRight(s[i+1:], " )")
			return s[4:i], p, modeSysEnter
		}
		if bytes.HasPrefix(s[i:], []byte(" -> ")) {
			return s[4:i], s[i+4:], modeSysExit
		}
	case i > 0 && bytes.HasPrefix(bytes.TrimLeft(s[i:], " "), []byte("<-")):
		return nil, s, modeFunction
	}
	if bytes.HasPrefix(s, []byte("<stack trace")) {
		return nil, s, modeStack
	}
	if i > 0 && i+1 < len(s) && s[i] == ':' { // a payload that touches its name
		return s[:i], s[i+1:], modePlain
	}
	return nil, s, modeNoNameText
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '-' || c == '.' || c == '+' || c == '/' || c == '@'
}

func trimBlanks(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

// lookup returns what is known of a name; it is asked once a line.
func (m *TextMapper) lookup(name []byte, mode nameMode) *textName {
	if l := m.last; l != nil && l.mode == mode && l.name == string(name) {
		return l
	}
	if n := m.names[mode][string(name)]; n != nil {
		m.last = n
		return n
	}
	n := m.describe(string(name), mode)
	if m.names[mode] == nil {
		m.names[mode] = make(map[string]*textName)
	}
	if len(m.names[mode]) < maxNames {
		m.names[mode][n.name] = n
	}
	m.last = n
	return n
}

func (m *TextMapper) describe(name string, mode nameMode) *textName {
	n := &textName{name: name, source: name, mode: mode, form: mode}
	look := name
	switch mode {
	case modePlain: // trace-cmd prints system calls under the names of their tracepoints
		if strings.HasPrefix(name, "sys_enter_") {
			n.source, n.form = "syscalls:"+name, modeSysEnter
		} else if strings.HasPrefix(name, "sys_exit_") {
			n.source, n.form = "syscalls:"+name, modeSysExit
		}
	case modeSysEnter:
		look = "sys_enter_" + name
		n.source = "syscalls:" + look
	case modeSysExit:
		look = "sys_exit_" + name
		n.source = "syscalls:" + look
	case modeFunction:
		look, n.source = "", "function"
	case modeStack:
		look, n.source = "", "kernel_stack"
	case modeNoNameText:
		look, n.source = "", "text"
	}
	if look == "" && mode == modePlain {
		n.source = "unnamed"
	}
	if tp := m.table[look]; tp != nil {
		n.tp, n.source = tp, tp.system+":"+tp.name
	}
	return n
}

// known fills in an event of the table.
func (m *TextMapper) known(e *event.Event, n *textName, payload []byte) {
	tp := n.tp
	e.Kind = tp.kind
	m.scr = scratch{}
	m.obj.reset()
	m.hits = 0
	tp.begin(e)
	if tp.text != nil && tp.text(m, e, payload) {
		return
	}
	if e.Kind != tp.kind { // the special form found that it is another event
		return
	}
	if tp.comma {
		m.commaPairs(e, tp, payload)
	} else {
		m.blankPairs(e, tp, payload)
	}
	if m.hits == 0 && len(payload) > 0 { // not the text of this event as anybody knows it
		m.note(&AnomalyBadValue)
		if hasArgs(e.Kind) {
			m.obj.value("text", payload)
		}
	}
	if tp.fix != nil {
		tp.fix(e, &m.scr)
	}
	if !m.obj.empty() {
		e.SetStr(event.FieldArgs, m.Strings.Get(m.obj.bytes()))
	}
}

// extra keeps a field that the table does not know.
func (m *TextMapper) extra(e *event.Event, key, val []byte) {
	if e.Kind == event.KindOther || hasArgs(e.Kind) {
		m.obj.value(string(key), val)
		return
	}
	m.note(&AnomalyFieldNotKept)
}

// blankPairs reads "key=value key=value": a value runs to the next key. After
// a name only a key of the table ends it, so that names may hold " x=".
func (m *TextMapper) blankPairs(e *event.Event, tp *tracepoint, p []byte) {
	cur, hint := -1, 0
	var curKey []byte
	start, i := 0, 0
	for {
		eq := bytes.IndexByte(p[i:], '=')
		if eq < 0 {
			break
		}
		eq += i
		i = eq + 1
		ks := keyStart(p, eq)
		if ks == eq {
			continue
		}
		at, ok := tp.find(p[ks:eq], hint)
		if !ok && cur >= 0 && isName(tp.binds[cur].conv) {
			continue
		}
		m.close(e, tp, cur, curKey, p[start:ks])
		curKey = p[ks:eq]
		if cur = -1; ok {
			cur, hint = at, at+1
		}
		start = eq + 1
	}
	m.close(e, tp, cur, curKey, p[start:])
}

func isName(c conv) bool { return c == convStr || c == convNonEmpty }

// close gives a value to its field.
func (m *TextMapper) close(e *event.Event, tp *tracepoint, at int, key, val []byte) {
	val = bytes.TrimRight(val, " ")
	switch {
	case at >= 0:
		m.hits++
		m.set(e, &tp.binds[at], val)
	case len(key) > 0:
		m.extra(e, key, val)
	}
}

// keyStart returns where the key before the '=' at eq begins, or eq if what
// stands there is no key.
func keyStart(p []byte, eq int) int {
	ks := eq
	for ks > 0 && isKeyByte(p[ks-1]) {
		ks--
	}
	if ks == eq || p[ks] >= '0' && p[ks] <= '9' {
		return eq
	}
	if ks > 0 {
		switch p[ks-1] {
		case ' ', ',', '{', '(', '[', '\n', '\t':
		default:
			return eq
		}
	}
	return ks
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '_' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '?' || c == '-'
}

// commaPairs reads "key=value, key=value, some key:value". Brackets may hold commas.
func (m *TextMapper) commaPairs(e *event.Event, tp *tracepoint, p []byte) {
	hint := 0
	for len(p) > 0 {
		var key, val []byte
		var loose []byte
		key, val, loose, p = nextComma(p)
		if len(loose) > 0 {
			m.loose(e, loose)
		}
		if key == nil {
			continue
		}
		if at, ok := tp.find(key, hint); ok {
			hint = at + 1
			m.hits++
			m.set(e, &tp.binds[at], val)
		} else {
			m.extra(e, key, val)
		}
	}
}

// loose keeps text that belongs to no key.
func (m *TextMapper) loose(e *event.Event, s []byte) {
	switch string(s) {
	case "job", "depends", "...": // words of known print formats
		return
	}
	m.extra(e, []byte("text"), s)
}

// nextComma takes the next segment off p: its key and value, or loose text.
// A word before the key ("job ring=") comes as loose text too.
func nextComma(p []byte) (key, val, loose, rest []byte) {
	p = trimBlanks(p)
	i := 0
	for i < len(p) && p[i] != '=' && p[i] != ':' && !endsSegment(p, i) {
		i++
	}
	if i == len(p) || endsSegment(p, i) || p[i] == ':' && !isLetter(p[0]) {
		end := segmentEnd(p, i)
		return nil, nil, bytes.TrimRight(p[:end], " "), afterComma(p, end)
	}
	key = p[:i]
	if p[i] == '=' {
		ks := keyStart(p, i)
		if ks == i {
			end := segmentEnd(p, i)
			return nil, nil, bytes.TrimRight(p[:end], " "), afterComma(p, end)
		}
		key, loose = p[ks:i], bytes.TrimRight(p[:ks], " ")
	}
	end := segmentEnd(p, i+1)
	return key, bytes.Trim(p[i+1:end], " "), loose, afterComma(p, end)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// endsSegment reports whether a comma at i ends a segment: one before a blank
// or the end does, one inside a number or a mask does not.
func endsSegment(p []byte, i int) bool {
	return p[i] == ',' && (i+1 == len(p) || p[i+1] == ' ')
}

// segmentEnd returns where the segment that goes on at i ends. A bracket at
// the beginning of its value must close first.
func segmentEnd(p []byte, i int) int {
	depth := 0
	for ; i < len(p); i++ {
		switch p[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case ',':
			if depth == 0 && endsSegment(p, i) {
				return i
			}
		}
	}
	return len(p)
}

func afterComma(p []byte, end int) []byte {
	if end >= len(p) {
		return nil
	}
	return p[end+1:]
}
