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
	event  string // without the system before it
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
			return s[:j], trimBlanks(s[j+1:]), modePlain
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
	n := &textName{name: name, event: name, source: name, mode: mode, form: mode}
	system, look, named := strings.Cut(name, ":")
	if !named {
		look = name
	}
	n.event = look
	switch mode {
	case modePlain: // trace-cmd prints system calls under the names of their tracepoints
		if strings.HasPrefix(look, "sys_enter_") {
			n.source, n.form = "syscalls:"+look, modeSysEnter
		} else if strings.HasPrefix(look, "sys_exit_") {
			n.source, n.form = "syscalls:"+look, modeSysExit
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
	if tp := m.table.named(look); tp != nil && (!named || tp.system == system || tp.also != "" && tp.also == system) {
		n.tp, n.source = tp, tp.system+":"+tp.name
		if named {
			n.source = name
		}
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
	if m.hits == 0 && len(payload) > 0 && len(tp.binds) > 0 { // not the text of this event as anybody knows it
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
