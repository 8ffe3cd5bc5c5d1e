package chromejson

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// losses sums what is missing by stream and CPU.
type losses struct {
	sums map[lossKey]*lossSum
}

type lossKey struct {
	stream string
	cpu    correlate.OptInt
}

type lossSum struct {
	intervals uint64
	events    uint64
	unknown   bool // of some intervals nobody knows how much is missing
}

// maxLossKeys bounds what a damaged log may name; the rest goes to one sum.
const maxLossKeys = 1 << 14

func (l *losses) add(r *correlate.Loss) {
	if l.sums == nil {
		l.sums = map[lossKey]*lossSum{}
	}
	k := lossKey{r.Stream, r.CPU}
	s := l.sums[k]
	if s == nil {
		if len(l.sums) >= maxLossKeys {
			k = lossKey{stream: "other"}
			if s = l.sums[k]; s == nil {
				s = &lossSum{}
			}
		} else {
			s = &lossSum{}
		}
		l.sums[k] = s
	}
	s.intervals++
	s.events += r.Count.V
	s.unknown = s.unknown || !r.Count.OK
}

// object writes the members of a JSON object, one after the other.
type object struct {
	p     *pen
	begun bool
}

func (o *object) key(k string) {
	if o.begun {
		o.p.out = append(o.p.out, ',')
	}
	o.begun = true
	o.p.out = append(appendString(o.p.out, k), ':')
}

// str leaves out what is not known.
func (o *object) str(k, v string) {
	if v != "" {
		o.key(k)
		o.p.out = appendString(o.p.out, v)
	}
}

func (o *object) uint(k string, v uint64) {
	o.key(k)
	o.p.out = appendUint(o.p.out, v)
}

// text writes a number as text, which no reader rounds.
func (o *object) text(k string, v int64) { o.str(k, strconv.FormatInt(v, 10)) }

// list writes an array of n objects.
func (o *object) list(k string, n int, f func(i int, m *object)) {
	if n == 0 {
		return
	}
	o.key(k)
	p := o.p
	p.out = append(p.out, '[')
	for i := range n {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, '\n', '{')
		f(i, &object{p: p})
		p.out = append(p.out, '}')
	}
	p.out = append(p.out, ']')
}

// foot writes what stands after the events.
func (p *pen) foot(tool string, l *losses) {
	p.out = append(p.out, "\n],\"displayTimeUnit\":\"ns\",\n\"otherData\":{"...)
	m := p.scene.Meta
	o := &object{p: p}
	o.str("tool", tool)
	o.str("clock", cmp.Or(string(m.Clock), string(event.ClockUnknown)))
	o.text("start_ns", p.scene.Start)
	o.text("end_ns", p.scene.End)
	o.str("note", p.scene.ClockNote)
	o.str("recorded_by", joinWords(m.Tool, m.ToolVersion))
	o.str("read_from", m.Format)
	o.str("host", m.Host.Name)
	o.str("kernel", m.Host.Kernel)
	o.str("machine", m.Host.Machine)
	o.list("clocks", len(m.Snapshots), func(i int, c *object) {
		s := &m.Snapshots[i]
		c.time("boottime", s.Boottime)
		c.time("monotonic", s.Monotonic)
		c.time("monotonic_raw", s.MonotonicRaw)
		c.time("realtime", s.Realtime)
	})
	keys := l.keys()
	o.list("losses", len(keys), func(i int, x *object) {
		s := l.sums[keys[i]]
		x.str("stream", keys[i].stream)
		if keys[i].cpu.OK {
			x.text("cpu", keys[i].cpu.V)
		}
		x.uint("intervals", s.intervals)
		if s.unknown {
			x.uint("count_at_least", s.events)
		} else {
			x.uint("count", s.events)
		}
	})
	list := p.scene.Anomalies()
	o.list("anomalies", len(list), func(i int, x *object) {
		a := &list[i]
		x.str("name", a.Name)
		x.str("severity", a.Severity)
		if a.Count > 0 {
			x.uint("count", a.Count)
		}
		x.str("doc", a.Doc)
		x.str("remedy", a.Remedy)
		x.str("sample", a.Sample)
	})
	p.out = append(p.out, "}}\n"...)
}

func (o *object) time(k string, t event.Time) {
	if t > 0 {
		o.text(k, int64(t))
	}
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// keys lists the sums in an order that does not depend on chance.
func (l *losses) keys() []lossKey {
	keys := make([]lossKey, 0, len(l.sums))
	for k := range l.sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b lossKey) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(b2i(a.cpu.OK), b2i(b.cpu.OK)), cmp.Compare(a.cpu.V, b.cpu.V))
	})
	return keys
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
