package chromejson

import (
	"strconv"

	"github.com/gpurec/gpurec/export/picture"
)

// keys are the names of arguments as they stand in the file, with quotes and colon.
var keys = func() (k [picture.NumArgs]string) {
	for a := range picture.NumArgs {
		k[a] = string(append(appendString(nil, a.String()), ':'))
	}
	return k
}()

// Name implements [picture.Pen].
func (p *pen) Name(s string) {
	p.out = append(p.out, `,"name":`...)
	p.out = appendString(p.out, s)
}

// NameOnce implements [picture.Pen].
func (p *pen) NameOnce(s []byte) {
	p.out = append(p.out, `,"name":`...)
	p.out = appendString(p.out, s)
}

// Category implements [picture.Pen].
func (p *pen) Category(c picture.Category) { p.CategoryText(c.String()) }

// CategoryText implements [picture.Pen].
func (p *pen) CategoryText(s string) {
	if s == "" {
		return
	}
	p.out = append(p.out, `,"cat":`...)
	p.out = appendString(p.out, s)
}

// Colour implements [picture.Pen]: the format's colours are those of one
// browser, by name.
func (p *pen) Colour([]byte) {}

// key begins an argument.
func (p *pen) key(a picture.Arg) {
	if p.args {
		p.out = append(p.out, ',')
	} else {
		p.args = true
		p.out = append(p.out, `,"args":{`...)
	}
	p.out = append(p.out, keys[a]...)
}

// Int implements [picture.Pen].
func (p *pen) Int(a picture.Arg, v int64) {
	p.key(a)
	p.out = appendInt(p.out, v)
}

// Uint implements [picture.Pen].
func (p *pen) Uint(a picture.Arg, v uint64) {
	p.key(a)
	p.out = appendUint(p.out, v)
}

// True implements [picture.Pen].
func (p *pen) True(a picture.Arg) {
	p.key(a)
	p.out = append(p.out, "true"...)
}

// Str implements [picture.Pen].
func (p *pen) Str(a picture.Arg, s string) {
	if s == "" {
		return
	}
	p.key(a)
	p.out = appendString(p.out, s)
}

// Text implements [picture.Pen].
func (p *pen) Text(a picture.Arg, s string) { p.Str(a, s) }

// Bytes implements [picture.Pen].
func (p *pen) Bytes(a picture.Arg, s []byte) {
	p.key(a)
	p.out = appendString(p.out, s)
}

// Pair implements [picture.Pen].
func (p *pen) Pair(a picture.Arg, context, seqno uint64) {
	p.key(a)
	b := strconv.AppendUint(append(p.out, '"'), context, 10)
	b = strconv.AppendUint(append(b, ':'), seqno, 10)
	p.out = append(b, '"')
}

// LinksBegin implements [picture.Pen].
func (p *pen) LinksBegin() {
	p.key(picture.ArgLinks)
	p.out = append(p.out, '{')
	p.links = false
}

// Link implements [picture.Pen].
func (p *pen) Link(predecessor picture.Arg, rule, confidence picture.Word) {
	if p.links {
		p.out = append(p.out, ',')
	}
	p.links = true
	p.out = append(append(p.out, keys[predecessor]...), '{')
	p.out = append(p.out, keys[picture.ArgRule]...)
	p.out = append(appendString(p.out, rule.Text), ',')
	p.out = append(p.out, keys[picture.ArgConfidence]...)
	p.out = append(appendString(p.out, confidence.Text), '}')
}

// LinksEnd implements [picture.Pen].
func (p *pen) LinksEnd() { p.out = append(p.out, '}') }

// Flow implements [picture.Pen].
func (p *pen) Flow(f picture.Flow) { p.flows = append(p.flows, f) }
