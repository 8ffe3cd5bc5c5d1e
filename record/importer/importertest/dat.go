package importertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Machine is the shape of a traced machine.
type Machine struct {
	Order binary.AppendByteOrder
	Long  int // sizeof(long) of its kernel
	Page  int
}

// Big reports whether the machine is big-endian.
func (m Machine) Big() bool { return m.Order.String() == binary.BigEndian.String() }

// HeaderPage is the machine's events/header_page.
func (m Machine) HeaderPage() string {
	off := 8 + m.Long
	return fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
		"\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"+
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"+
		"\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n", m.Long, off, m.Page-off)
}

// HeaderEvent is events/header_event.
const HeaderEvent = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n" +
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"

func (m Machine) long(b []byte, v uint64) []byte {
	if m.Long == 4 {
		return m.Order.AppendUint32(b, uint32(v))
	}
	return m.Order.AppendUint64(b, v)
}

// Dat is a recording in words, from which files of every kind are made:
//
//	common 12                      bytes of the common fields (8 if it is not given)
//	format SYSTEM NAME ID          then its fields, one a line, as in a format file
//	cmdline TID NAME | tgid TID PID | printk ADDR TEXT | symbol ADDR NAME
//	clock NAME | uname TEXT | text-option ID TEXT | raw-option ID WORDS
//	buffer NAME                    an instance ("" is the top one)
//	cpu N
//	page TIME [lost N]             N 0: not counted
//	rec DELTA ID TID FIELDS        u8:1 u16:2 u32:3 u64:4 str:abc bytes:0a0b
//	extend DELTA | stamp TIME | pad DELTA N
type Dat struct {
	t                testing.TB
	common           int
	formats          []*datFormat
	cmdlines, tgids  string
	printk, kallsyms string
	clock, uname     string
	options          []datOption
	buffers          []*datBuffer
}

type datFormat struct {
	system, name, id string
	fields           []string
	text             string // all of it, if it is not made
}

type datOption struct {
	id    uint16
	text  string
	words []string
}

type datBuffer struct {
	name string
	cpus []*datCPU
}

type datCPU struct {
	id    uint32
	pages []*datPage
	raw   []byte // of all pages, if they are not made
}

type datPage struct {
	time uint64
	lost string // "" none
	recs [][]string
}

// ParseDat reads a recording in words.
func ParseDat(t testing.TB, text string) *Dat {
	d := &Dat{t: t, common: 8}
	for n, line := range strings.Split(text, "\n") {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		if strings.HasPrefix(w[0], "field:") {
			f := d.formats[len(d.formats)-1]
			f.fields = append(f.fields, strings.TrimSpace(line))
			continue
		}
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), w[0]))
		if !d.word(w, rest) {
			t.Fatalf("line %d of the recording: %q", n+1, line)
		}
	}
	return d
}

func (d *Dat) word(w []string, rest string) bool {
	after := func(n int) string { return strings.Join(w[n:], " ") }
	switch w[0] {
	case "common":
		d.common = int(d.num(w[1]))
	case "format":
		d.formats = append(d.formats, &datFormat{system: w[1], name: w[2], id: w[3]})
	case "cmdline":
		d.cmdlines += rest + "\n"
	case "tgid":
		d.tgids += rest + "\n"
	case "printk":
		d.printk += w[1] + " : \"" + after(2) + "\"\n"
	case "symbol":
		d.kallsyms += w[1] + " t " + w[2] + "\n"
	case "clock":
		d.clock = rest
	case "uname":
		d.uname = rest
	case "text-option":
		d.options = append(d.options, datOption{id: uint16(d.num(w[1])), text: after(2) + "\x00"})
	case "raw-option":
		d.options = append(d.options, datOption{id: uint16(d.num(w[1])), words: w[2:]})
	case "buffer":
		d.buffers = append(d.buffers, &datBuffer{name: strings.Trim(w[1], `"`)})
	case "cpu":
		b := d.buffers[len(d.buffers)-1]
		b.cpus = append(b.cpus, &datCPU{id: uint32(d.num(w[1]))})
	case "page":
		c := d.lastCPU()
		p := &datPage{time: d.num(w[1])}
		if len(w) > 3 {
			p.lost = w[3]
		}
		c.pages = append(c.pages, p)
	case "rec", "extend", "stamp", "pad":
		c := d.lastCPU()
		p := c.pages[len(c.pages)-1]
		p.recs = append(p.recs, w)
	default:
		return false
	}
	return true
}

func (d *Dat) lastCPU() *datCPU {
	b := d.buffers[len(d.buffers)-1]
	return b.cpus[len(b.cpus)-1]
}

func (d *Dat) num(s string) uint64 {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v)
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		d.t.Fatalf("%q is no number", s)
	}
	return v
}

// fields appends typed values.
func (d *Dat) fields(b []byte, m Machine, w []string) []byte {
	for _, f := range w {
		kind, val, _ := strings.Cut(f, ":")
		switch kind {
		case "u8":
			b = append(b, byte(d.num(val)))
		case "u16":
			b = m.Order.AppendUint16(b, uint16(d.num(val)))
		case "u32":
			b = m.Order.AppendUint32(b, uint32(d.num(val)))
		case "u64":
			b = m.Order.AppendUint64(b, d.num(val))
		case "long":
			b = m.long(b, d.num(val))
		case "str": // with its NUL; _ stands for a blank
			b = append(append(b, strings.ReplaceAll(val, "_", " ")...), 0)
		case "text": // without
			b = append(b, strings.ReplaceAll(val, "_", " ")...)
		case "zero":
			b = append(b, make([]byte, d.num(val))...)
		default:
			d.t.Fatalf("%q is no field", f)
		}
	}
	return b
}

// page makes a page by the kernel's rules (kernel/trace/ring_buffer.c).
func (d *Dat) page(m Machine, p *datPage) []byte {
	head := func(b []byte, typ, delta uint32) []byte {
		if m.Big() {
			return m.Order.AppendUint32(b, typ<<27|delta)
		}
		return m.Order.AppendUint32(b, delta<<5|typ)
	}
	var data []byte
	for _, w := range p.recs {
		n := d.num(w[1])
		switch w[0] {
		case "extend":
			data = m.Order.AppendUint32(head(data, 30, uint32(n&(1<<27-1))), uint32(n>>27))
		case "stamp":
			data = m.Order.AppendUint32(head(data, 31, uint32(n&(1<<27-1))), uint32(n>>27))
		case "pad":
			size := d.num(w[2])
			data = m.Order.AppendUint32(head(data, 29, uint32(n)), uint32(size))
			data = append(data, make([]byte, size-4)...)
		case "rec":
			rec := m.Order.AppendUint16(nil, uint16(d.num(w[2])))
			rec = m.Order.AppendUint32(append(rec, 0, 0), uint32(d.num(w[3])))
			rec = append(rec, make([]byte, d.common-8)...)
			rec = d.fields(rec, m, w[4:])
			for len(rec)%4 != 0 {
				rec = append(rec, 0)
			}
			if len(rec) > 112 {
				data = m.Order.AppendUint32(head(data, 0, uint32(n)), uint32(len(rec))+4)
			} else {
				data = head(data, uint32(len(rec)/4), uint32(n))
			}
			data = append(data, rec...)
		}
	}
	commit, lost := uint64(len(data)), uint64(0)
	if p.lost != "" {
		commit |= 1 << 31
		if lost = d.num(p.lost); lost > 0 {
			commit |= 1 << 30
		}
	}
	b := m.long(m.Order.AppendUint64(nil, p.time), commit)
	b = append(b, data...)
	if lost > 0 {
		b = m.long(b, lost)
	}
	if len(b) > m.Page {
		d.t.Fatalf("a page of %d bytes does not fit %d", len(b), m.Page)
	}
	return append(b, make([]byte, m.Page-len(b))...)
}

// AddFormat adds a format by its text.
func (d *Dat) AddFormat(system, text string) {
	d.formats = append(d.formats, &datFormat{system: system, text: text})
}

// AddPages adds a CPU with pages as they are to the last buffer.
func (d *Dat) AddPages(cpu uint32, pages []byte) {
	b := d.buffers[len(d.buffers)-1]
	b.cpus = append(b.cpus, &datCPU{id: cpu, raw: pages})
}

func (d *Dat) pages(m Machine, c *datCPU) []byte {
	if c.raw != nil {
		return c.raw
	}
	var b []byte
	for _, p := range c.pages {
		b = append(b, d.page(m, p)...)
	}
	return b
}

// format is the text of a format file.
func (d *Dat) format(f *datFormat) string {
	if f.text != "" {
		return f.text
	}
	s := "name: " + f.name + "\nID: " + f.id + "\nformat:\n" +
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" +
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" +
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	if d.common > 8 {
		s += "\tfield:unsigned char common_preempt_lazy_count;\toffset:8;\tsize:1;\tsigned:0;\n"
	}
	s += "\n"
	for _, x := range f.fields {
		s += "\t" + x + "\n"
	}
	return s + "\nprint fmt: \"%s\", \"\"\n"
}

// writer builds a file.
type writer struct {
	m    Machine
	b    []byte
	zip  string
	test testing.TB
}

func (w *writer) u16(v uint16)  { w.b = w.m.Order.AppendUint16(w.b, v) }
func (w *writer) u32(v uint32)  { w.b = w.m.Order.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64)  { w.b = w.m.Order.AppendUint64(w.b, v) }
func (w *writer) str(s string)  { w.b = append(append(w.b, s...), 0) }
func (w *writer) text(s string) { w.b = append(w.b, s...) }

func (w *writer) put64(at int, v uint64) {
	copy(w.b[at:], w.m.Order.AppendUint64(nil, v))
}

func (w *writer) align() {
	for len(w.b)%w.m.Page != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *writer) begin(version string) {
	w.text("\x17\x08\x44tracing")
	w.str(version)
	big := byte(0)
	if w.m.Big() {
		big = 1
	}
	w.b = append(w.b, big, byte(w.m.Long))
	w.u32(uint32(w.m.Page))
}

func (w *writer) headers() {
	w.str("header_page")
	w.u64(uint64(len(w.m.HeaderPage())))
	w.text(w.m.HeaderPage())
	w.str("header_event")
	w.u64(uint64(len(HeaderEvent)))
	w.text(HeaderEvent)
}

func (d *Dat) formatsOf(w *writer, ftrace bool) {
	systems, by := []string{}, map[string][]*datFormat{}
	for _, f := range d.formats {
		if (f.system == "ftrace") != ftrace {
			continue
		}
		if by[f.system] == nil {
			systems = append(systems, f.system)
		}
		by[f.system] = append(by[f.system], f)
	}
	if ftrace {
		systems = []string{"ftrace"}
	} else {
		w.u32(uint32(len(systems)))
	}
	for _, s := range systems {
		if !ftrace {
			w.str(s)
		}
		w.u32(uint32(len(by[s])))
		for _, f := range by[s] {
			text := d.format(f)
			w.u64(uint64(len(text)))
			w.text(text)
		}
	}
}

func (w *writer) sized32(s string) {
	w.u32(uint32(len(s)))
	w.text(s)
}

func (w *writer) sized64(s string) {
	w.u64(uint64(len(s)))
	w.text(s)
}

func (w *writer) option(id uint16, data []byte) {
	w.u16(id)
	w.u32(uint32(len(data)))
	w.b = append(w.b, data...)
}

// common writes the options that both versions have.
func (d *Dat) commonOptions(w *writer) {
	if d.clock != "" {
		w.option(4, []byte("local ["+d.clock+"] boot\x00"))
	}
	if d.uname != "" {
		w.option(5, []byte(d.uname+"\x00"))
	}
	if d.tgids != "" { // as gpuvis's trace-cmd does
		w.option(8, []byte(d.tgids+"\x00"))
	}
	for _, o := range d.options {
		data := []byte(o.text)
		if o.words != nil {
			data = d.fields(nil, w.m, o.words)
		}
		w.option(o.id, data)
	}
}

// File makes a trace.dat. zip names the compression of version 7.
func (d *Dat) File(version int, m Machine, zip string) []byte {
	w := &writer{m: m, zip: zip, test: d.t}
	if version == 6 {
		d.file6(w)
	} else {
		d.file7(w)
	}
	return w.b
}

func (d *Dat) file6(w *writer) {
	w.begin("6")
	w.headers()
	d.formatsOf(w, true)
	d.formatsOf(w, false)
	w.sized32(d.kallsyms)
	w.sized32(d.printk)
	w.sized64(d.cmdlines)
	n := 0
	for _, b := range d.buffers {
		for _, c := range b.cpus {
			n = max(n, int(c.id)+1)
		}
	}
	w.u32(uint32(n))
	w.text("options  \x00")
	d.commonOptions(w)
	var at []int // where the places of instances are
	for _, b := range d.buffers {
		if b.name != "" {
			w.option(3, append(make([]byte, 8), b.name+"\x00"...))
			at = append(at, len(w.b)-len(b.name)-9)
		}
	}
	w.u16(0)
	top := &datBuffer{}
	for _, b := range d.buffers {
		if b.name == "" {
			top = b
		}
	}
	d.data6(w, top, n)
	for _, b := range d.buffers {
		if b.name != "" {
			w.put64(at[0], uint64(len(w.b)))
			at = at[1:]
			d.data6(w, b, n)
		}
	}
}

func (d *Dat) data6(w *writer, b *datBuffer, n int) {
	w.text("flyrecord\x00")
	at := len(w.b)
	w.b = append(w.b, make([]byte, 16*n)...)
	for i := range n {
		w.align()
		w.put64(at+16*i, uint64(len(w.b)))
		for _, c := range b.cpus {
			if int(c.id) == i {
				p := d.pages(w.m, c)
				w.put64(at+16*i+8, uint64(len(p)))
				w.b = append(w.b, p...)
			}
		}
	}
}

// section writes one, compressed if the file is.
func (w *writer) section(id uint16, fill func(*writer)) (at uint64) {
	at = uint64(len(w.b))
	in := &writer{m: w.m, test: w.test}
	fill(in)
	flags := uint16(0)
	data := in.b
	if w.zip != "none" {
		flags = 1
		data = w.pack(in.b)
	}
	w.u16(id)
	w.u16(flags)
	w.u32(0)
	w.u64(uint64(len(data)))
	w.b = append(w.b, data...)
	return at
}

// pack compresses a block and puts its sizes before it.
func (w *writer) pack(b []byte) []byte {
	var z []byte
	switch w.zip {
	case "zstd":
		e, err := zstd.NewWriter(nil)
		if err != nil {
			w.test.Fatal(err)
		}
		z = e.EncodeAll(b, nil)
	case "zlib":
		var buf bytes.Buffer
		e := zlib.NewWriter(&buf)
		if _, err := e.Write(b); err != nil || e.Close() != nil {
			w.test.Fatal("zlib")
		}
		z = buf.Bytes()
	}
	out := w.m.Order.AppendUint32(nil, uint32(len(z)))
	return append(w.m.Order.AppendUint32(out, uint32(len(b))), z...)
}

func (d *Dat) file7(w *writer) {
	w.begin("7")
	w.str(w.zip)
	w.str("1")
	first := len(w.b)
	w.u64(0)
	places := map[uint16]uint64{
		16: w.section(16, (*writer).headers),
		17: w.section(17, func(w *writer) { d.formatsOf(w, true) }),
		18: w.section(18, func(w *writer) { d.formatsOf(w, false) }),
		19: w.section(19, func(w *writer) { w.sized32(d.kallsyms) }),
		20: w.section(20, func(w *writer) { w.sized32(d.printk) }),
		21: w.section(21, func(w *writer) { w.sized64(d.cmdlines) }),
	}
	zip := w.zip
	w.zip = "none" // as trace-cmd writes options
	w.put64(first, uint64(len(w.b)))
	var next int // the place of the place of the next options
	w.section(0, func(in *writer) {
		for id := uint16(16); id <= 21; id++ {
			in.option(id, w.m.Order.AppendUint64(nil, places[id]))
		}
		d.commonOptions(in)
		in.option(0, make([]byte, 8))
	})
	next = len(w.b) - 8
	for _, b := range d.buffers {
		w.zip = zip
		opt := d.data7(w, b)
		w.zip = "none"
		w.put64(next, uint64(len(w.b)))
		w.section(0, func(in *writer) {
			in.option(3, opt)
			in.option(0, make([]byte, 8))
		})
		next = len(w.b) - 8
	}
	w.section(15, func(in *writer) { in.str("strings") })
}

// data7 writes a buffer's section; it returns the option that describes it.
func (d *Dat) data7(w *writer, b *datBuffer) []byte {
	o := &writer{m: w.m}
	o.u64(uint64(len(w.b)))
	o.str(b.name)
	o.str(d.clock)
	o.u32(uint32(w.m.Page))
	o.u32(uint32(len(b.cpus)))
	w.u16(3)
	flags := uint16(0)
	if w.zip != "none" {
		flags = 1
	}
	w.u16(flags)
	w.u32(0)
	size := len(w.b)
	w.u64(0)
	for _, c := range b.cpus {
		w.align()
		o.u32(c.id)
		o.u64(uint64(len(w.b)))
		begin := len(w.b)
		if w.zip == "none" {
			w.b = append(w.b, d.pages(w.m, c)...)
		} else {
			all, step := d.pages(w.m, c), w.m.Page // a chunk a page
			if c.raw != nil {
				step *= 10 // as trace-cmd does
			}
			w.u32(uint32((len(all) + step - 1) / step))
			for i := 0; i < len(all); i += step {
				w.b = append(w.b, w.pack(all[i:min(i+step, len(all))])...)
			}
		}
		n := len(w.b) - begin
		if len(c.pages) == 0 && c.raw == nil {
			n = 0
		}
		o.u64(uint64(n))
	}
	w.put64(size, uint64(len(w.b)-size-8))
	return o.b
}

// Folder writes the top buffer as a folder of raw pages.
func (d *Dat) Folder(dir string, m Machine) {
	put := func(name string, b []byte) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	put("header_page", []byte(m.HeaderPage()))
	put("header_event", []byte(HeaderEvent))
	for _, f := range d.formats {
		put("events/"+f.system+"/"+f.name+"/format", []byte(d.format(f)))
	}
	for name, text := range map[string]string{
		"saved_cmdlines": d.cmdlines, "saved_tgids": d.tgids, "printk_formats": d.printk, "kallsyms": d.kallsyms, "uname": d.uname,
	} {
		if text != "" {
			put(name, []byte(text))
		}
	}
	if d.clock != "" {
		put("trace_clock", []byte("local ["+d.clock+"]\n"))
	}
	for _, c := range d.buffers[0].cpus {
		put(fmt.Sprintf("cpu%d.raw", c.id), d.pages(m, c))
	}
}
