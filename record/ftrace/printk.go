package ftrace

import (
	"bytes"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// printk is how the fields of trace_printk's binary events are found: bprint
// holds the address of a format and its arguments packed, bputs the address of
// a string.
type printk struct {
	ip, format, args *Field
}

// Bounds of printk_formats; a kernel full of trace_printk has some thousand.
const (
	maxPrintk    = 1 << 16
	maxPrintText = 8 << 10 // bytes of a text
)

// PrintkFormats takes the text of tracefs's printk_formats:
// 0xffffffff824d90db : "CPU_ON".
func (d *Decoder) PrintkFormats(text []byte) {
	if d.printk == nil {
		d.printk = make(map[uint64][]byte)
	}
	for line := range bytes.Lines(text) {
		addr, rest, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		v, n := parseHex(bytes.TrimPrefix(bytes.TrimSpace(addr), []byte("0x")))
		if !ok || n == 0 || len(d.printk) >= maxPrintk {
			continue // no format: an event that needs it is counted then
		}
		d.printk[v] = unquotePrintk(bytes.TrimSpace(rest))
	}
}

// unquotePrintk takes off the quotes and the escapes that the kernel puts on
// (t_show in kernel/trace/trace_printk.c): \n, \t, \\ and \".
func unquotePrintk(s []byte) []byte {
	s = bytes.TrimSuffix(bytes.TrimPrefix(s, []byte(`"`)), []byte(`"`))
	if bytes.IndexByte(s, '\\') < 0 {
		return bytes.Clone(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			switch c = s[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		out = append(out, c)
	}
	return out
}

// printkOf finds the fields of a binary print event, nil if they are not there.
func printkOf(f *Format) *printk {
	k := &printk{ip: f.Field("ip")}
	switch f.Name {
	case "bprint":
		k.format, k.args = f.Field("fmt"), f.Field("buf")
		if k.args == nil {
			return nil
		}
	case "bputs":
		k.format = f.Field("str")
	}
	if k.format == nil {
		return nil
	}
	return k
}

// bprint reads a binary print event.
func (d *Decoder) bprint(e *event.Event, p *plan, rec []byte) {
	k := p.printk
	addr, ok := d.number(rec, k.format)
	format, known := d.printk[addr]
	if !ok || !known {
		d.note(&AnomalyNoPrintk)
		becomeOther(e)
		d.whole(e, p, rec)
		return
	}
	d.text = d.text[:0]
	if k.args == nil {
		d.text = append(d.text, format...)
	} else {
		b := binPrinter{d: d, out: d.text}
		b.args, _ = d.bytesOf(rec, k.args)
		if !b.print(format) {
			d.note(&AnomalyShortRecord)
		}
		d.text = b.out
	}
	d.mark(e, bytes.TrimRight(d.text, " \n\x00"), d.callerOf(rec, k.ip, true))
}

// callerOf names the function that printed, "" if it is the one behind
// trace_marker. An address that no symbol is known for is given only if any is set.
func (d *Decoder) callerOf(rec []byte, ip *Field, any bool) string {
	if ip == nil {
		return ""
	}
	v, ok := d.number(rec, ip)
	if !ok {
		return ""
	}
	name := d.syms.find(v)
	switch {
	case name == markWriter:
		return ""
	case name == "" && any:
		return "0x" + strconv.FormatUint(v, 16)
	}
	return name
}
