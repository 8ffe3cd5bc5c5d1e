package chromejson

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Bounds of what stands beside the events.
const (
	maxFacts = 1 << 10
	maxFact  = 64 << 10
)

// facts are the members of the outermost object that are no events.
type facts struct {
	list  []event.Fact
	base  bool        // FactBase is known
	clock event.Clock // named by the file
}

func (f *facts) add(key, value string) {
	if len(f.list) < maxFacts && key != "" {
		f.list = append(f.list, event.Fact{Key: key, Value: value})
	}
}

// member takes the next token or member of the outermost object.
func (r *reader) member(b *event.Batch) {
	w := &r.win
	switch w.buf[w.pos] {
	case ',':
		w.pos++
		return
	case '}':
		w.pos++
		r.place = placeAfter
		return
	}
	if w.buf[w.pos] != '"' {
		r.lex.bad = w.pos
		r.cannot(b, badJSON)
		return
	}
	x := &r.lex
	q, fl := x.text(w.pos + 1)
	if q < 0 {
		r.cannot(b, q)
		return
	}
	i := x.blank(q + 1)
	if x.b[i] != ':' {
		r.cannot(b, x.fail(i))
		return
	}
	if i = x.blank(i + 1); i >= x.end {
		r.cannot(b, needMore)
		return
	}
	r.enter(b, r.m.text(span{int32(w.pos + 1), int32(q)}, fl), i)
}

// enter takes the member of a key; its value begins at i.
func (r *reader) enter(b *event.Batch, key string, i int) {
	c := r.lex.b[i]
	switch {
	case key == "traceEvents" && c == '[':
		r.enterAt(placeList, listEvents, i+1)
	case key == "samples" && c == '[':
		r.enterAt(placeList, listSamples, i+1)
	case key == "stackFrames" && c == '{':
		r.enterAt(placeList, listFrames, i+1)
	case key == "systemTraceEvents" && c == '"':
		r.enterAt(placeText, listEvents, i+1)
	default:
		r.fact(b, key, i)
	}
}

func (r *reader) enterAt(p place, l list, at int) {
	r.place, r.list = p, l
	r.win.pos = at
}

// fact keeps a member as a fact, and reads what it says of clock, devices,
// host and rank.
func (r *reader) fact(b *event.Batch, key string, i int) {
	x, w := &r.lex, &r.win
	n := x.value(i)
	if n < 0 {
		if n == needMore && w.err == nil && w.end-w.pos >= maxWindow {
			r.count.AddAt(&AnomalyMemberLong, 1, key)
			r.resync(b, w.pos+1)
			return
		}
		r.cannot(b, n)
		return
	}
	r.learn(key, i, n)
	w.pos = n
	w.shrink()
}

// learn reads the value b[i:n] of a member.
func (r *reader) learn(key string, i, n int) {
	x, m := &r.lex, &r.m
	t := token{}
	x.token(i, &t)
	value := string(m.appendToken(nil, &t))
	if t.kind == tokenNested {
		d, _ := clean(nil, x.b, i, n, &m.scr2)
		value = string(d)
	}
	switch key {
	case "schemaVersion":
		m.kineto = true
	case "baseTimeNanoseconds":
		m.kineto = true
		if v, ok := parseNumber([]byte(value)); ok && !v.neg {
			r.top.base = true
			r.top.add(FactBase, value)
		}
	case "deviceProperties":
		m.kineto = true
		r.eachObject(i, m.devices.property)
	case "distributedInfo":
		m.kineto = true
		r.distributed(i)
	case "otherData":
		if m.own.on {
			r.ownFacts(i)
			return
		}
	case "host_name", "hostname":
		m.devices.host = value
	case "metadata":
		if strings.Contains(value, `"clock-domain":"LINUX_CLOCK_MONOTONIC"`) {
			r.top.clock = event.ClockMonotonic
		}
	}
	if len(value) > maxFact {
		r.count.AddAt(&AnomalyMemberLong, 1, key)
		return
	}
	if value != "[]" {
		r.top.add(key, value)
	}
}

// eachObject calls f with the members of each object of the array at i.
func (r *reader) eachObject(i int, f func(*record)) {
	x := &r.lex
	if x.b[i] != '[' {
		return
	}
	for i = x.blank(i + 1); x.b[i] == '{'; {
		rec := record{}
		n := x.arguments(&rec, i)
		if n < 0 {
			return
		}
		f(&rec)
		if i = x.blank(n); x.b[i] != ',' {
			return
		}
		i = x.blank(i + 1)
	}
}

// distributed reads "distributedInfo".
func (r *reader) distributed(i int) {
	x := &r.lex
	for _, a := range x.members(i) {
		v := x.b[a.val.from:a.val.to]
		switch key := string(x.b[a.key.from:a.key.to]); key {
		case "rank", "world_size":
			n, ok := smallNumber(v)
			if !ok {
				break
			}
			r.top.add(key, string(v))
			if key == "rank" {
				r.m.devices.rank = event.Some(n)
			}
		}
	}
}

// frame keeps a member of "stackFrames" as an event without time.
func (r *reader) frame(b *event.Batch) {
	x, w := &r.lex, &r.win
	q, _ := x.text(w.pos + 1)
	if q < 0 {
		r.cannot(b, q)
		return
	}
	i := x.blank(q + 1)
	if x.b[i] != ':' {
		r.cannot(b, x.fail(i))
		return
	}
	i = x.blank(i + 1)
	r.rec = record{members: r.rec.members[:0]}
	n := x.arguments(&r.rec, i)
	if n < 0 {
		r.cannot(b, n)
		return
	}
	e := b.Add(event.KindOther, event.NoTime)
	e.Source = "chrome:stackFrames"
	e.SetStr(event.FieldName, "stack_frame")
	r.m.more = r.m.more[:0]
	id := token{span{int32(w.pos + 1), int32(q)}, tokenText, textEscaped}
	r.m.addToken("id", &id)
	e.SetStr(event.FieldArgs, r.m.args(&r.rec, 0))
	w.pos = n
}

// sample keeps a member of "samples" as an event.
func (r *reader) sample(b *event.Batch) {
	ts := r.m.times(&r.rec)
	r.m.span(ts)
	e, w := r.m.add(b, event.KindOther, ts, &r.rec)
	e.Source = "chrome:samples"
	e.SetStr(event.FieldName, "sample")
	if r.rec.hasName {
		r.m.addText("name", r.m.text(r.rec.name, r.rec.nameFl))
	}
	r.m.everything(&r.rec, w) // of which there is no phase
	e.SetStr(event.FieldArgs, r.m.args(&r.rec, 0))
}

// members are those of the object at i: none of another value, or of one that
// does not end, which its reader tells.
func (x *lexer) members(i int) []member {
	var rec record
	if x.b[i] != '{' || x.arguments(&rec, i) < 0 {
		return nil
	}
	return rec.members
}
