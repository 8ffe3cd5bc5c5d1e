package ftrace

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// plan is a format, compiled: what to do with each of its fields.
type plan struct {
	format  *Format
	source  string // "system:event"
	kind    event.Kind
	tp      *tracepoint // nil for other
	pidAt   *Field      // common_pid
	nrAt    *Field      // the number of the system call, where it decides the kind
	markAt  *Field      // the text of a print event
	ipAt    *Field      // and where it was printed
	printk  *printk     // of a print event without text
	ops     []op
	scratch bool // fix needs scratch
	extra   bool // fields that nothing claims go into args
	flags   []stateFlag
	plus    uint64   // bit that stands for "preempted": printed as +
	states  []string // names of the small ones
	more    map[uint64]string
	system  string // with text:
	text    []byte // a format that was not needed yet
}

// smallStates is how many states of a task a plan keeps in a slice.
const smallStates = 1025

// op sets one field of the event from one of the record.
type op struct {
	at    *Field
	field event.Field
	code  opcode
	tmp   uint8
}

type opcode uint8

const (
	opNumber opcode = iota
	opPointer
	opString
	opState
	opScratch
	opLow32 // a number of 32 bits that the kernel cut
	opInt32 // the low half, signed
	opUint32
	opExtra
)

// maxEventID bounds the table of formats: common_type has 16 bits.
const maxEventID = 1 << 16

// Add makes a format known; one of the same number replaces it.
func (d *Decoder) Add(f *Format) {
	if f == nil || f.ID < 0 || f.ID >= maxEventID {
		return
	}
	d.put(f.ID, d.compile(f))
	d.common(f)
}

// AddText is Add for the text of a format file. The text is read when the
// first record of its number comes, and belongs to d from now on: a trace.dat
// holds thousands of formats and uses a dozen.
func (d *Decoder) AddText(system string, text []byte) error {
	id, err := formatID(text)
	if err != nil {
		return err
	}
	if d.typeAt == nil {
		f, err := ParseFormat(system, text)
		if err != nil {
			return err
		}
		d.common(f)
	}
	d.put(id, &plan{system: system, text: text})
	return nil
}

func (d *Decoder) put(id int, p *plan) {
	for len(d.plans) <= id {
		d.plans = append(d.plans, nil)
	}
	d.plans[id] = p
}

// common takes what all formats have in common.
func (d *Decoder) common(f *Format) {
	if t := f.Field("common_type"); t != nil && d.typeAt == nil {
		d.typeAt = t
	}
}

// prepare reads the text of a format that is needed now. It returns nil if
// there is none in it.
func (d *Decoder) prepare(id uint64) *plan {
	p := d.plans[id]
	f, err := ParseFormat(p.system, p.text)
	if err != nil {
		d.count.AddAt(&AnomalyBadFormat, 1, p.system+": "+err.Error())
		d.plans[id] = nil
		return nil
	}
	d.plans[id] = d.compile(f)
	return d.plans[id]
}

func (d *Decoder) compile(f *Format) *plan {
	p := &plan{format: f, kind: event.KindOther, source: f.Name, pidAt: f.Field("common_pid")}
	if len(f.Skipped) > 0 {
		d.count.AddAt(&AnomalyBadFormat, uint64(len(f.Skipped)), f.Name+": "+f.Skipped[0])
	}
	tp := d.table.named(f.Name)
	if f.System != "" {
		p.source = f.System + ":" + f.Name
		if tp != nil && tp.system != f.System && (tp.also == "" || tp.also != f.System) {
			tp = nil // another subsystem's event of that name
		}
	}
	if tp == nil {
		return p
	}
	p.tp, p.kind = tp, tp.kind
	if f.System == "" {
		p.source = tp.system + ":" + tp.name
	}
	if tp.mark {
		if p.printk = printkOf(f); p.printk != nil {
			return p
		}
		p.markAt, p.ipAt = f.Field("buf"), f.Field("ip")
		if p.markAt == nil || !p.markAt.String {
			p.tp, p.kind = nil, event.KindOther
		}
		return p
	}
	if tp.ioctlNR != "" {
		if p.nrAt = f.Field(tp.ioctlNR); p.nrAt == nil {
			p.tp, p.kind = nil, event.KindOther
			return p
		}
	}
	if tp.name == "sys_enter" {
		p.rawArgs()
		return p
	}
	d.bindFields(p)
	return p
}

// rawArgs plans raw_syscalls:sys_enter: fd, cmd and arg are in an array of longs.
func (p *plan) rawArgs() {
	args := p.format.Field("args")
	if args == nil || !args.Array || args.Elem <= 0 || args.Size < 3*args.Elem {
		return
	}
	for i, o := range []op{
		{field: event.FieldFD, code: opInt32}, {field: event.FieldCmd, code: opUint32}, {field: event.FieldArg},
	} {
		o.at = &Field{Name: args.Name, Offset: args.Offset + i*args.Elem, Size: args.Elem, Elem: args.Elem}
		p.ops = append(p.ops, o)
	}
}

// bindFields plans each field of the record by the table.
func (d *Decoder) bindFields(p *plan) {
	for i := range p.format.Fields {
		f := &p.format.Fields[i]
		at := p.tp.binary(f.Name)
		if at < 0 {
			if !hasArgs(p.kind) {
				d.count.AddAt(&AnomalyFieldNotKept, 1, p.source+": "+f.Name)
				continue
			}
			p.extra = true
			p.ops = append(p.ops, op{at: f, code: opExtra})
			continue
		}
		d.bindField(p, f, &p.tp.binds[at])
	}
	p.scratch = p.tp.fix != nil
}

// binary finds the bind of a field of a format file.
func (tp *tracepoint) binary(name string) int {
	for i := range tp.binds {
		if tp.binds[i].key == name {
			return i
		}
	}
	return -1
}

func (d *Decoder) bindField(p *plan, f *Field, b *bind) {
	o := op{at: f, field: b.field, tmp: b.tmp}
	switch b.conv {
	case convIgnore, convFenceText:
		return
	case convStr, convNonEmpty, convWord:
		if f.Pointer && f.Loc == LocInline {
			d.count.AddAt(&AnomalyStringPointer, 1, p.source+": "+f.Name)
			return
		}
		o.code = opString
	case convState:
		o.code = opState
		p.flags = stateFlags(p.format.Print)
		p.plus = plusBit(p.flags)
	case convPtr:
		o.code = opPointer
	case convFence:
		o.code, o.field = opPointer, event.FieldFencePtr
	case convOnFence:
		o.code, o.field = opPointer, event.FieldOnFencePtr
	case convJobID:
		o.field = event.FieldSchedJobID
		if f.Pointer {
			o.code, o.field = opPointer, event.FieldJobPtr
		}
	case convLow32, convNarrow:
		if f.Size == 4 {
			o.code = opLow32
		}
	}
	switch {
	case o.field == event.FieldNone:
		o.code = opScratch
	case o.field == event.FieldFD: // a register: the call takes its low half
		o.code = opInt32
	case o.field == event.FieldCmd:
		o.code = opUint32
	}
	p.ops = append(p.ops, o)
}

// stateFlag is a bit of a task's state and its letter.
type stateFlag struct {
	bit    uint64
	letter string
}

// whole keeps an event that has no kind of its own: all fields, as JSON.
func (d *Decoder) whole(e *event.Event, p *plan, rec []byte) {
	d.obj.reset()
	if p.format == nil {
		e.SetStr(event.FieldName, "unknown")
		if d.typeAt != nil {
			if id, ok := d.number(rec, d.typeAt); ok {
				e.SetStr(event.FieldName, "event "+strconv.FormatUint(id, 10))
			}
		}
		d.obj.str("bytes", hex.EncodeToString(rec[:min(len(rec), maxBytes)]))
	} else {
		e.SetStr(event.FieldName, p.source)
		for i := range p.format.Fields {
			d.addField(&p.format.Fields[i], rec)
		}
	}
	if !d.obj.empty() {
		e.SetStr(event.FieldArgs, string(d.obj.bytes()))
	}
}

// maxBytes bounds what is kept of a field that nobody understands.
const maxBytes = 4096

// addField adds a field of the record to the object in work, in the form that
// suits its type.
func (d *Decoder) addField(f *Field, rec []byte) {
	switch {
	case f.String:
		s, ok := d.bytesOf(rec, f)
		if !ok {
			d.note(&AnomalyShortRecord)
			return
		}
		d.obj.key(f.Name)
		d.obj.buf = appendJSON(d.obj.buf, cutNUL(s))
	case f.Array || f.Loc != LocInline:
		d.addArray(f, rec)
	default:
		v, ok := d.number(rec, f)
		switch {
		case !ok && f.Size > 8 && f.Offset+f.Size <= len(rec): // a struct
			d.obj.str(f.Name, hex.EncodeToString(rec[f.Offset : f.Offset+f.Size][:min(f.Size, maxBytes)]))
		case !ok:
			d.note(&AnomalyShortRecord)
		case f.Pointer:
			d.obj.hex(f.Name, v)
		case f.Signed:
			d.obj.int(f.Name, int64(v))
		default:
			d.obj.uint(f.Name, v)
		}
	}
}

func (d *Decoder) addArray(f *Field, rec []byte) {
	s, ok := d.bytesOf(rec, f)
	if !ok {
		d.note(&AnomalyShortRecord)
		return
	}
	s = s[:min(len(s), maxBytes)]
	size := f.Elem
	if size == 0 && strings.HasSuffix(f.Type, "long") {
		size = d.layout.LongSize
	}
	if size != 1 && size != 2 && size != 4 && size != 8 || strings.HasSuffix(f.Type, "char") {
		d.obj.str(f.Name, hex.EncodeToString(s))
		return
	}
	d.obj.key(f.Name)
	d.obj.buf = append(d.obj.buf, '[')
	el := Field{Size: size, Signed: f.Signed}
	for i := 0; i+size <= len(s); i += size {
		if i > 0 {
			d.obj.buf = append(d.obj.buf, ',')
		}
		el.Offset = i
		v, _ := d.number(s, &el)
		if el.Signed {
			d.obj.buf = strconv.AppendInt(d.obj.buf, int64(v), 10)
		} else {
			d.obj.buf = strconv.AppendUint(d.obj.buf, v, 10)
		}
	}
	d.obj.buf = append(d.obj.buf, ']')
}
