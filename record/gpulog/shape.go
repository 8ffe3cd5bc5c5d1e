package gpulog

import "github.com/gpurec/gpurec/record/event"

// loader reads the directory of columns.
type loader struct {
	d        *decbuf
	sc       *schema
	strs     []string
	counters *event.Counters
	lengths  []int
	keyed    int
}

func (l *loader) common(c *cursor) {
	l.lengths = append(l.lengths, c.parseHead(l.d))
	if c.enc == encKeyed || c.enc == encPool || c.base != baseNone {
		l.d.fail()
	}
}

func (l *loader) shape() (s dshape) {
	d := l.d
	number := uint32(d.count(1 << 30))
	s.flags, s.mode = event.Flags(d.byte()), timeMode(d.byte())
	source := d.count(len(l.strs) - 1)
	s.left = d.count(MaxBlockEvents)
	nCols := int(d.byte())
	if d.bad || s.mode >= numTimeModes {
		d.fail()
		return s
	}
	s.source = l.strs[source]
	entry := l.sc.kind(number)
	s.kind = entry.kind
	if s.kind == event.KindUnknown {
		s.kind = event.KindOther
		s.extras = &extras{kindName: entry.name}
		l.counters.AddAt(AnomalyKindUnknown, uint64(s.left), entry.name)
	}
	s.cols = make([]dcolumn, 0, min(nCols, len(d.b)))
	for range nCols {
		c := dcolumn{}
		c.field = uint32(d.count(1 << 30))
		t := int(d.byte())
		if t < len(wireTypes) {
			c.typ = wireTypes[t]
		}
		l.lengths = append(l.lengths, c.parseHead(d))
		if c.enc == encKeyed {
			l.keyed++
		}
		if d.bad || c.typ == event.TypeNone || c.enc == encKeyed && c.key >= len(s.cols) || l.keyed > MaxBlockKeyed ||
			c.base == baseTime && s.mode != timeKnown {
			d.fail()
			return s
		}
		l.place(&s, &c)
		s.cols = append(s.cols, c)
	}
	if s.extras != nil {
		l.placeExtras(&s)
	}
	return s
}

// place finds out where a column's values go.
func (l *loader) place(s *dshape, c *dcolumn) {
	f := l.sc.field(c.field)
	isString := c.typ == event.TypeString || c.typ == event.TypeText
	if s.extras == nil || s.extras.kindName == "" {
		if p := s.kind.Place(f.field); p.OK() && p.IsString() == isString && s.mask&p.Mask() == 0 {
			c.place = p
			s.mask |= p.Mask()
			return
		}
	}
	if s.extras == nil {
		s.extras = &extras{}
	}
	s.extras.add(len(s.cols), f.name, c.typ)
}

// placeExtras decides where the fields without a place go: into args, if the
// kind has them.
func (l *loader) placeExtras(s *dshape) {
	x := s.extras
	x.args = s.kind.Place(event.FieldArgs)
	if x.kindName != "" {
		x.name = s.kind.Place(event.FieldName)
		s.mask = x.name.Mask()
		if len(x.fields) > 0 {
			s.mask |= x.args.Mask()
		}
		return
	}
	if x.args.OK() {
		x.hadArgs = s.mask&x.args.Mask() != 0
		s.mask |= x.args.Mask()
		l.counters.AddAt(AnomalyFieldUnknown, uint64(s.left), x.fields[0].name)
		return
	}
	l.counters.AddAt(AnomalyFieldLost, uint64(s.left*len(x.fields)), s.kind.String()+"."+x.fields[0].name)
	s.extras = nil
}
