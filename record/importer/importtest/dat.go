package importtest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
