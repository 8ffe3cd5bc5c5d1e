package ftrace

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// conv says how a source's value becomes a field.
type conv uint8

const (
	convUint      conv = iota // unsigned: decimal or 0x… in text
	convInt                   // signed
	convHex                   // text without 0x is hexadecimal all the same
	convPtr                   // an address; hashed ones set FlagHashed, NULL is unknown
	convStr                   // a name; stays unknown when empty
	convNonEmpty              // a name that is never empty: an empty one is counted
	convWord                  // a name without blanks, never empty
	convState                 // task state
	convFence                 // text: address, C:S or (context:C, seqno:S); binary: address
	convFenceText             // as convFence, but the binary field is not set by the driver
	convOnFence               // as convFence, for the fence that a job depends on
	convLow32                 // a half of a fence key that may have only 32 bits
	convNarrow                // the same, 32 bits in every source
	convJobID                 // a number (job id) or an address (job pointer)
	convHandled               // irq_handler_exit: "handled" or "unhandled"; 1 or 0
	convPair                  // text: "A:B" or "A", into scratch tmp and tmp+1; binary: A alone
	convSeconds               // text: seconds with a fraction, into scratch in ns
	convIgnore                // known, has no place and needs none
)

// bind ties a source's key to a field. Several binds may give one field:
// spellings differ between text, format files and kernel generations.
type bind struct {
	key   string
	field event.Field // FieldNone: into scratch
	conv  conv
	tmp   uint8 // slot in scratch if field is FieldNone
}

// tracepoint says what one tracepoint means.
type tracepoint struct {
	system, name string
	also         string // another system in which the event is the same
	kind         event.Kind
	origin       string // for jobs and memory
	ring         string // that it is always about
	driver       string // of its fences
	called       string // name of its slice, counter or reset
	unit         string // of its counter
	bridge       bool
	unsignalled  bool
	task         event.TaskOp
	comma        bool   // text: fields stand between ", ", not blanks
	ioctlNR      string // the field that must hold ioctl's number; else the event is other
	binds        []bind
	fix          func(e *event.Event, s *scratch)
	// text reads payloads that are no list of key=value. It reports whether
	// it could; if not, the binds are tried.
	text func(m *TextMapper, e *event.Event, payload []byte) bool
	mark bool // the text is a print
}

// scratch holds values on their way into a field.
type scratch struct {
	num [4]uint64
	has uint8 // bit i: num[i] is set
}

func (s *scratch) set(i uint8, v uint64) {
	if int(i) < len(s.num) {
		s.num[i] = v
		s.has |= 1 << i
	}
}

func (s *scratch) get(i uint8) (uint64, bool) {
	return s.num[i], s.has&(1<<i) != 0
}

// find returns the bind of key, trying the one after the last hit first.
func (tp *tracepoint) find(key []byte, hint int) (int, bool) {
	b := tp.binds
	for i := hint; i < len(b); i++ {
		if b[i].key == string(key) {
			return i, true
		}
	}
	for i := 0; i < hint && i < len(b); i++ {
		if b[i].key == string(key) {
			return i, true
		}
	}
	return 0, false
}

// table maps the names of tracepoints to their meaning.
type table map[string]*tracepoint

func newTable() table {
	t := make(table)
	for _, l := range [][]tracepoint{gpuTracepoints(), driverTracepoints(), schedTracepoints(), systemTracepoints()} {
		for i := range l {
			t[l[i].name] = &l[i]
		}
	}
	return t
}

// named returns what is known of a tracepoint's name, nil if nothing is.
func (t table) named(name string) *tracepoint {
	if tp := t[name]; tp != nil {
		return tp
	}
	if strings.HasPrefix(name, maliCounter) {
		tp := *t[maliCounter]
		tp.name, tp.called = name, name
		return &tp
	}
	return nil
}

// begin fills in what a tracepoint says by being itself.
func (tp *tracepoint) begin(e *event.Event) {
	if tp.origin != "" {
		e.SetStr(event.FieldOrigin, tp.origin)
	}
	if tp.ring != "" {
		e.SetStr(event.FieldRing, tp.ring)
	}
	if tp.driver != "" {
		e.SetStr(event.FieldDriver, tp.driver)
	}
	if tp.called != "" {
		e.SetStr(event.FieldName, tp.called)
	}
	if tp.unit != "" {
		e.SetStr(event.FieldUnit, tp.unit)
	}
	if tp.bridge {
		e.SetBool(event.FieldBridge, true)
	}
	if tp.unsignalled {
		e.SetBool(event.FieldUnsignalled, true)
	}
	if tp.task != 0 {
		e.SetUint(event.FieldTaskOp, uint64(tp.task))
	}
}

// hasArgs reports whether events of the kind keep what else the source says.
func hasArgs(k event.Kind) bool {
	for _, f := range k.Spec().Fields {
		if f == event.FieldArgs {
			return true
		}
	}
	return false
}
