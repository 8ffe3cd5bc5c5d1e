package ftrace

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// Decoder makes events of the kernel's binary records: pages of the ring
// buffer ([Decoder.Page]) and single records ([Decoder.Record]). It allocates
// nothing for events of known kinds once their names have been seen. It is not
// safe for concurrent use.
type Decoder struct {
	maker
	layout Layout
	big    bool
	nr     int64 // of the system call ioctl
	table  table
	plans  []*plan // by event id
	typeAt *Field  // common_type, the same in all formats
	tasks  tasks
	syms   symbols
	printk map[uint64][]byte // texts of trace_printk, by their address
	text   []byte            // of the print event in work
	last   []event.Time      // of each CPU
	page   int64             // pages read, for the samples of anomalies
	other  plan              // of records without a format
}

// DecoderOptions tune a Decoder. The zero value is the default.
type DecoderOptions struct {
	// IoctlNR is the number of the system call ioctl on the traced machine; 0
	// means 16, that of x86-64.
	IoctlNR int
	// Counters takes the anomalies; nil means the decoder's own.
	Counters *event.Counters
}

// NewDecoder returns a decoder for the pages and formats of one machine.
// Formats that come later are added by Add.
func NewDecoder(l Layout, formats []*Format, o DecoderOptions) (*Decoder, error) {
	if l.Order == nil {
		return nil, fmt.Errorf("%w: no byte order", ErrLayout)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	d := &Decoder{layout: l, nr: int64(o.IoctlNR), table: newTable()}
	d.other.kind = event.KindOther
	d.other.source = Stream
	d.big = l.Order.Uint16([]byte{0, 1}) == 1
	if d.nr == 0 {
		d.nr = ioctlNR
	}
	d.count = o.Counters
	if d.count == nil {
		d.count = new(event.Counters)
	}
	d.where = func() string { return "page " + strconv.FormatInt(d.page, 10) }
	for _, f := range formats {
		d.Add(f)
	}
	return d, nil
}

// Counters holds the anomalies so far.
func (d *Decoder) Counters() *event.Counters { return d.count }

// SetTask names a thread: its process (event.NoID if unknown) and its name.
// It holds for records decoded from then on.
func (d *Decoder) SetTask(tid, pid int32, comm string) { d.tasks.set(tid, pid, comm) }

// SavedCmdlines takes the text of tracefs's saved_cmdlines: "144 gpuload".
func (d *Decoder) SavedCmdlines(text []byte) {
	for line := range bytes.Lines(text) {
		num, name, ok := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(" "))
		tid, ok2 := parseNumber(num, false)
		if !ok || !ok2 || tid > math.MaxInt32 || string(name) == "<...>" {
			continue // not a task: nothing of the trace depends on it
		}
		t := d.tasks.get(int32(tid))
		d.tasks.set(int32(tid), t.pid, string(name))
	}
}

// SavedTGIDs takes the text of tracefs's saved_tgids: "145 144".
func (d *Decoder) SavedTGIDs(text []byte) {
	for line := range bytes.Lines(text) {
		a, b, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		tid, ok1 := parseNumber(a, false)
		pid, ok2 := parseNumber(b, false)
		if !ok || !ok1 || !ok2 || tid > math.MaxInt32 || pid > math.MaxInt32 || pid == 0 {
			continue // not a pair, or a thread whose process the kernel forgot
		}
		t := d.tasks.get(int32(tid))
		d.tasks.set(int32(tid), int32(pid), t.comm)
	}
}

// Record appends the event of one record (its bytes from common_type on) to b.
// It always appends exactly one; what cannot be read is counted and unknown.
// rec may be longer than the record. The event keeps no part of it.
func (d *Decoder) Record(cpu int32, t event.Time, rec []byte, b *event.Batch) *event.Event {
	p := d.planOf(rec)
	kind := p.kind
	if p.nrAt != nil {
		if nr, ok := d.number(rec, p.nrAt); !ok || int64(nr) != d.nr {
			kind = event.KindOther
		}
	}
	e := b.Add(kind, t)
	e.CPU, e.Source = cpu, p.source
	if p.pidAt != nil {
		if tid, ok := d.number(rec, p.pidAt); ok {
			e.TID = int32(tid)
			k := d.tasks.get(e.TID)
			e.PID, e.Comm = k.pid, k.comm
		}
	}
	switch {
	case kind == event.KindOther:
		d.whole(e, p, rec)
	case p.printk != nil:
		d.bprint(e, p, rec)
	case p.tp.mark:
		d.mark(e, bytes.TrimRight(d.textOf(rec, p.markAt), "\n"), d.callerOf(rec, p.ipAt, false))
	default:
		d.fill(e, p, rec)
	}
	return e
}

func (d *Decoder) planOf(rec []byte) *plan {
	if d.typeAt != nil {
		if id, ok := d.number(rec, d.typeAt); ok && id < uint64(len(d.plans)) && d.plans[id] != nil {
			p := d.plans[id]
			if p.text == nil {
				return p
			}
			if p = d.prepare(id); p != nil {
				return p
			}
		}
	}
	d.note(&AnomalyNoFormat)
	return &d.other
}

// fill runs the plan of a known event.
func (d *Decoder) fill(e *event.Event, p *plan, rec []byte) {
	p.tp.begin(e)
	if p.scratch {
		d.scr = scratch{}
	}
	if p.extra {
		d.obj.reset()
	}
	short := false
	for i := range p.ops {
		if !d.run(e, p, &p.ops[i], rec) {
			short = true
		}
	}
	if p.tp.fix != nil {
		p.tp.fix(e, &d.scr)
	}
	if p.extra && !d.obj.empty() {
		e.SetStr(event.FieldArgs, d.Strings.Get(d.obj.bytes()))
	}
	if short {
		d.note(&AnomalyShortRecord)
	}
}

// run sets one field; it reports false if the record is too short for it.
func (d *Decoder) run(e *event.Event, p *plan, o *op, rec []byte) bool {
	switch o.code {
	case opString:
		s, ok := d.bytesOf(rec, o.at)
		if !ok {
			return false
		}
		if s = cutNUL(s); len(s) > 0 {
			e.SetStr(o.field, d.Strings.Get(s))
		}
		return true
	case opExtra:
		d.addField(o.at, rec)
		return true
	}
	v, ok := d.number(rec, o.at)
	if !ok {
		return false
	}
	switch o.code {
	case opPointer:
		if v != 0 {
			e.SetUint(o.field, v)
		}
	case opState:
		e.SetStr(o.field, p.state(v))
	case opScratch:
		d.scr.set(o.tmp, v)
	case opLow32:
		e.Flags |= event.FlagLow32
		e.SetUint(o.field, v)
	case opInt32:
		e.SetInt(o.field, int64(int32(v)))
	case opUint32:
		e.SetUint(o.field, uint64(uint32(v)))
	default:
		e.SetUint(o.field, v)
	}
	return true
}

// number reads an integer field, extended to 64 bits.
func (d *Decoder) number(rec []byte, f *Field) (uint64, bool) {
	off := f.Offset
	if off+f.Size > len(rec) {
		return 0, false
	}
	b := rec[off : off+f.Size]
	var v uint64
	switch {
	case f.Size == 8 && !d.big:
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56, true
	case f.Size == 4 && !d.big:
		v = uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
	case f.Size > 8:
		return 0, false
	case d.big:
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
	default:
		for i := len(b) - 1; i >= 0; i-- {
			v = v<<8 | uint64(b[i])
		}
	}
	if f.Signed && f.Size < 8 && f.Size > 0 {
		shift := 64 - 8*uint(f.Size)
		v = uint64(int64(v<<shift) >> shift)
	}
	return v, true
}

// bytesOf returns the bytes of a field wherever they are.
func (d *Decoder) bytesOf(rec []byte, f *Field) ([]byte, bool) {
	if f.Loc == LocInline {
		if f.ToRecEnd {
			return rec[min(f.Offset, len(rec)):], f.Offset <= len(rec)
		}
		if f.Offset+f.Size > len(rec) {
			return nil, false
		}
		return rec[f.Offset : f.Offset+f.Size], true
	}
	if f.Offset+4 > len(rec) {
		return nil, false
	}
	w := d.layout.Order.Uint32(rec[f.Offset:])
	off, n := int(w&0xffff), int(w>>16)
	if f.Loc == LocRelData {
		off += f.Offset + 4
	}
	if off+n > len(rec) {
		return nil, false
	}
	return rec[off : off+n], true
}

// textOf is bytesOf up to the first NUL, nil if there is none of it.
func (d *Decoder) textOf(rec []byte, f *Field) []byte {
	s, ok := d.bytesOf(rec, f)
	if !ok {
		d.note(&AnomalyShortRecord)
	}
	return cutNUL(s)
}

func cutNUL(s []byte) []byte {
	if i := bytes.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}
