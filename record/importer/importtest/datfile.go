package importtest

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

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
