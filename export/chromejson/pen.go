package chromejson

import (
	"io"
	"math"
	"strconv"

	"github.com/gpurec/gpurec/export/picture"
)

// pen is a [picture.Pen]: an event is put together at the end of out, one part
// after the other, as the picture tells it.
type pen struct {
	w     io.Writer
	out   []byte // events not yet written
	err   error
	size  int64 // bytes written
	n     int64 // events
	scene *picture.Scene
	rows  rows
	cpus  cpus

	row   *row // of the event in work
	start int64
	point bool // the event in work has no length
	args  bool // its args have begun
	links bool // and the dictionary of links has an entry
	flows []picture.Flow
}

var _ picture.Pen = (*pen)(nil)

// flushBytes is how much is written at once.
const flushBytes = 256 << 10

const head = `{"traceEvents":[`

func newPen(w io.Writer) *pen {
	p := &pen{w: w, out: append(make([]byte, 0, flushBytes+64<<10), head...)}
	p.rows.pen = p
	return p
}

// Err implements [picture.Pen].
func (p *pen) Err() error { return p.err }

func (p *pen) flush() {
	if p.err == nil && len(p.out) > 0 {
		_, p.err = p.w.Write(p.out)
		p.size += int64(len(p.out))
	}
	p.out = p.out[:0]
}

// event begins one: the comma after the one before, and a new line.
func (p *pen) event(s string) {
	if p.n > 0 {
		p.out = append(p.out, ',')
	}
	p.n++
	p.out = append(append(p.out, '\n'), s...)
}

// closed is called after each event.
func (p *pen) closed() {
	p.out = append(p.out, '}')
	if len(p.out) >= flushBytes {
		p.flush()
	}
}

// micros appends a time, relative to the start of the trace.
func (p *pen) micros(t int64) {
	if t < p.scene.Start {
		p.out = append(p.out, '-')
		p.out = appendMicros(p.out, uint64(p.scene.Start)-uint64(t))
		return
	}
	p.out = appendMicros(p.out, uint64(t)-uint64(p.scene.Start))
}

// Start implements [picture.Pen].
func (p *pen) Start(s *picture.Scene) {
	p.scene = s
	p.rows.init(s)
}

// Begin implements [picture.Pen].
func (p *pen) Begin(t *picture.Track, start, end int64) {
	r := p.rows.of(t)
	if t.Parts != "" {
		if start < r.end {
			r = p.rows.parts(t)
		} else {
			r.end = end
		}
	}
	p.begin(r, start, end)
}

// begin starts a slice in a row.
func (p *pen) begin(r *row, start, end int64) {
	if r.at == start && r.flows > 0 {
		p.scene.Counters.Add(&AnomalyFlowBound, uint64(r.flows))
	}
	if r.at != start {
		r.point = false
	}
	r.at, r.flows = start, 0
	p.row, p.start, p.point = r, start, start == end
	p.event(r.slice)
	p.micros(start)
	p.out = append(p.out, `,"dur":`...)
	p.out = appendMicros(p.out, uint64(end)-uint64(start))
}

// Instant implements [picture.Pen].
func (p *pen) Instant(t *picture.Track, at int64) {
	r := p.rows.of(t)
	p.row, p.start, p.point = r, at, false
	p.event(`{"ph":"i","s":"t"`)
	p.out = append(p.out, r.ids...)
	p.micros(at)
}

// Done implements [picture.Pen].
func (p *pen) Done() {
	if p.args {
		p.args = false
		p.out = append(p.out, '}')
	}
	p.closed()
	r := p.row
	if len(p.flows) > 0 {
		if r.point && !p.point {
			// What has no length and stands at this start: readers take it for
			// the innermost slice.
			p.scene.Counters.Add(&AnomalyFlowBound, uint64(len(p.flows)))
		} else {
			r.flows = len(p.flows)
		}
		p.arrows(r)
	}
	r.point = r.point || p.point
}

// arrows writes the ends of arrows at the slice in work, at its start: readers
// tie them to the innermost slice of that time and thread.
func (p *pen) arrows(r *row) {
	for i := range p.flows {
		f := &p.flows[i]
		if f.Into {
			p.event(`{"ph":"f","bp":"e","cat":"flow","name":`)
		} else {
			p.event(`{"ph":"s","cat":"flow","name":`)
		}
		p.out = appendString(p.out, f.Rule.Text)
		p.out = append(p.out, `,"id":`...)
		p.out = strconv.AppendUint(p.out, f.ID, 10)
		p.out = append(p.out, r.ids...)
		p.micros(p.start)
		p.closed()
	}
	p.flows = p.flows[:0]
}

// End implements [picture.Pen]: the slice was written with its end.
func (p *pen) End(*picture.Track, int64) {}

// Count implements [picture.Pen].
func (p *pen) Count(t *picture.Track, at, v int64) {
	p.value(t, at)
	p.out = strconv.AppendInt(p.out, v, 10)
	p.out = append(p.out, '}')
	p.closed()
}

// CountReal implements [picture.Pen].
func (p *pen) CountReal(t *picture.Track, at int64, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.scene.Counters.Add(&AnomalyNotFinite, 1)
		return
	}
	p.value(t, at)
	p.out = strconv.AppendFloat(p.out, v, 'g', -1, 64)
	p.out = append(p.out, '}')
	p.closed()
}

func (p *pen) value(t *picture.Track, at int64) {
	r := p.rows.of(t)
	p.event(r.counter)
	p.micros(at)
	p.out = append(p.out, `,"args":{`...)
	p.out = append(p.out, r.unit...)
}
