package perfetto

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

// Fields of FtraceEventBundle.
const (
	fbCPU           = 1
	fbEvent         = 2
	fbLost          = 3
	fbCompact       = 4
	fbClock         = 5
	fbFtraceTime    = 6
	fbBootTime      = 7
	fbError         = 8
	fbLastRead      = 9
	fbPreviousEnd   = 10
	fbGenericFormat = 11
)

// Clocks of bundles (FtraceClock); 0 is boot time.
const (
	ftraceClockMonoRaw = 4
)

// bundle is a FtraceEventBundle in work.
type bundle struct {
	cpu     int32
	clock   uint64
	offset  int64 // from its clock to the trace's, if shifted
	shifted bool
	formats map[uint32]*genericFormat
}

// genericFormat is an event that describes itself.
type genericFormat struct {
	name   string // "group:event"
	fields map[uint32]string
	signed map[uint32]bool
}

// bundle reads the ftrace events of a CPU.
func (r *reader) bundle(h *head, m *message) {
	b := bundle{cpu: event.NoID}
	var ftraceTime, bootTime int64
	lost := false
	var gap gap
	var f field
	for first := *m; first.next(&f); {
		switch f.num {
		case fbEvent, fbCompact:
			gap.until(&f)
		case fbLastRead, fbPreviousEnd:
			gap.since(&f)
		case fbCPU:
			b.cpu = int32(f.v)
		case fbLost:
			lost = f.v != 0
		case fbClock:
			b.clock = f.v
		case fbFtraceTime:
			ftraceTime = int64(f.v)
		case fbBootTime:
			bootTime = int64(f.v)
		case fbGenericFormat:
			r.genericFormat(&b, f.b)
		}
	}
	if b.clock != 0 && b.clock != ftraceClockMonoRaw {
		b.shifted = ftraceTime != 0 && bootTime != 0
		b.offset = bootTime - ftraceTime
		if !b.shifted {
			r.note(&AnomalyFtraceClock, 1)
		}
	}
	if lost {
		r.ftraceLoss(h, &b, &gap)
	}
	for m.next(&f) {
		switch f.num {
		case fbEvent:
			if f.wire == wireBytes {
				r.ftraceEvent(h, &b, f.b)
			}
		case fbCompact:
			r.compactSched(h, &b, f.b)
		case fbError:
			r.ftraceError(h, &b, f.b)
		case fbCPU, fbLost, fbClock, fbFtraceTime, fbBootTime, fbGenericFormat, fbLastRead, fbPreviousEnd:
		default:
			r.noteAt(&AnomalyFieldNotKept, 1, "ftrace bundle field %d", f.num)
		}
	}
}

// time is a time of the bundle on the clock of the trace.
func (r *reader) ftraceTime(h *head, b *bundle, t uint64) event.Time {
	switch {
	case b.shifted:
		t = uint64(int64(t) + b.offset)
	case b.clock == ftraceClockMonoRaw:
		return r.clocks.convert(h.seq, clockMonotonicRaw, t)
	case b.clock != 0:
		return event.Time(t)
	}
	return r.clocks.convert(h.seq, clockBoottime, t)
}

// ftraceEvent reads a FtraceEvent: its time, the thread that was running, and
// one of many messages.
func (r *reader) ftraceEvent(h *head, b *bundle, p []byte) {
	at := ftrace.Head{Time: event.NoTime, CPU: b.cpu, PID: event.NoID, TID: event.NoID}
	var body field
	found := false
	var f field
	m := message{b: p}
	for m.next(&f) {
		switch {
		case f.num == 1 && f.wire == wireVarint:
			at.Time = r.ftraceTime(h, b, f.v)
		case f.num == 2 && f.wire == wireVarint:
			at.TID = int32(f.v)
		case f.num == 5 && f.wire == wireVarint: // common_flags
		case f.wire == wireBytes && !found:
			body, found = f, true
		default:
			r.noteAt(&AnomalyFieldNotKept, 1, "ftrace event field %d", f.num)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	if !found {
		body.b = nil
		body.num = 0
	}
	if at.Time.Known() {
		r.span(at.Time)
	}
	r.room()
	spec := ftraceEvents()[body.num]
	switch {
	case spec != nil && spec.direct != nil:
		e := r.batch.Add(spec.kind, at.Time)
		e.CPU, e.TID, e.Source = at.CPU, at.TID, spec.source
		sub := message{b: body.b}
		spec.direct(r, e, &sub)
		if sub.bad {
			r.note(&AnomalyBadPacket, 1)
		}
	case body.num == genericNumber:
		r.generic(&at, body.b)
	case body.num >= firstSelfDescribed && b.formats[body.num] != nil:
		r.selfDescribed(&at, b.formats[body.num], body.b)
	case spec != nil && spec.text != nil:
		r.text = spec.text(r, append(append(r.text[:0], spec.name...), ": "...), body.b)
		r.mapper.Map(r.batch, &at, r.text)
	default:
		r.unknownEvent(&at, body.num, spec, body.b)
	}
}

// unknownEvent keeps an event by the names of its fields, or their numbers.
func (r *reader) unknownEvent(at *ftrace.Head, num uint32, spec *ftraceSpec, b []byte) {
	e := r.batch.Add(event.KindOther, at.Time)
	e.CPU, e.TID = at.CPU, at.TID
	name := "ftrace event " + strconv.Itoa(int(num))
	if spec != nil {
		name = spec.source
	}
	e.Source = name
	e.SetStr(event.FieldName, name)
	o := &r.obj
	o.Reset()
	var f field
	m := message{b: b}
	for m.next(&f) {
		key := ""
		if spec != nil && int(f.num) <= len(spec.fields) {
			key = spec.fields[f.num-1]
		}
		if key == "" {
			key = "field_" + strconv.Itoa(int(f.num))
		}
		switch f.wire {
		case wireBytes:
			o.Str(key, r.str(f.b))
		default:
			o.Uint(key, f.v)
		}
		if o.Len() > maxArgBytes && len(m.b) > 0 {
			r.noteAt(&AnomalyFieldNotKept, 1, "fields of %s beyond %d bytes", name, maxArgBytes)
			break
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	e.SetStr(event.FieldArgs, o.String())
}

const (
	genericNumber      = 327
	firstSelfDescribed = 65536
)

// generic reads a GenericFtraceEvent: {event_name 1, field 2 {name 1, str 3, int 4, uint 5}}.
// It is put as text, so that an event that gpurec knows becomes one.
func (r *reader) generic(at *ftrace.Head, b []byte) {
	var f, g field
	text := r.text[:0]
	for m := (message{b: b}); m.next(&f); {
		if f.num == 1 {
			text = append(append(text, f.b...), ": "...)
		}
	}
	n := 0
	for m := (message{b: b}); m.next(&f); {
		if f.num != 2 {
			continue
		}
		var name []byte
		var v field
		for s := (message{b: f.b}); s.next(&g); {
			if g.num == 1 {
				name = g.b
			} else {
				v = g
			}
		}
		text = appendPair(text, n, string(name), &v, v.num == 4)
		n++
	}
	r.text = text
	r.mapper.Map(r.batch, at, text)
}

// appendPair adds " name=value".
func appendPair(b []byte, n int, name string, v *field, signed bool) []byte {
	if n > 0 {
		b = append(b, ' ')
	}
	b = append(append(b, name...), '=')
	switch {
	case v.wire == wireBytes:
		return append(b, v.b...)
	case signed:
		return strconv.AppendInt(b, int64(v.v), 10)
	}
	return strconv.AppendUint(b, v.v, 10)
}

// genericFormat reads {field_id 1, event_descriptor 2, group_name 3}; the
// descriptor is a DescriptorProto: {name 1, field 2 {name 1, number 3, type 5}}.
func (r *reader) genericFormat(b *bundle, p []byte) {
	var id uint64
	var group string
	g := &genericFormat{fields: map[uint32]string{}, signed: map[uint32]bool{}}
	var f, d, x field
	for m := (message{b: p}); m.next(&f); {
		switch f.num {
		case 1:
			id = f.v
		case 3:
			group = r.str(f.b)
		case 2:
			for s := (message{b: f.b}); s.next(&d); {
				switch d.num {
				case 1:
					g.name = r.str(d.b)
				case 2:
					var name string
					var num, typ uint64
					for y := (message{b: d.b}); y.next(&x); {
						switch x.num {
						case 1:
							name = r.str(x.b)
						case 3:
							num = x.v
						case 5:
							typ = x.v
						}
					}
					if len(g.fields) < 256 {
						g.fields[uint32(num)] = name
						g.signed[uint32(num)] = typ == 3 || typ == 5 // int64, int32
					}
				}
			}
		}
	}
	if group != "" {
		g.name = group + ":" + g.name
	}
	if b.formats == nil {
		b.formats = map[uint32]*genericFormat{}
	}
	if len(b.formats) < 4096 {
		b.formats[uint32(id)] = g
	}
}

// selfDescribed reads an event by the format of its bundle.
func (r *reader) selfDescribed(at *ftrace.Head, g *genericFormat, b []byte) {
	text := append(append(r.text[:0], g.name...), ": "...)
	var f field
	n := 0
	for m := (message{b: b}); m.next(&f); n++ {
		name := g.fields[f.num]
		if name == "" {
			name = "field_" + strconv.Itoa(int(f.num))
		}
		text = appendPair(text, n, name, &f, g.signed[f.num])
	}
	r.text = text
	r.mapper.Map(r.batch, at, text)
}
