package correlate

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// pool hands out zeroed records whose address is stable, and takes them back.
type pool[T any] struct {
	free  []*T
	chunk []T
	size  int // of the last chunk
	live  int
}

// A pool grows by chunks, from the first of this size.
const (
	firstChunk = 4
	lastChunk  = 256
)

func (p *pool[T]) get() *T {
	p.live++
	if n := len(p.free); n > 0 {
		v := p.free[n-1]
		p.free = p.free[:n-1]
		return v
	}
	if len(p.chunk) == 0 {
		p.size = min(max(2*p.size, firstChunk), lastChunk)
		p.chunk = make([]T, p.size)
	}
	v := &p.chunk[0]
	p.chunk = p.chunk[1:]
	return v
}

func (p *pool[T]) put(v *T) {
	var zero T
	*v = zero
	p.live--
	p.free = append(p.free, v)
}

// link gives a link. The rule must be one of Rules.
func (e *engine) link(rule, src string, srcID ID, dst string, dstID ID, c Confidence, key string) {
	if srcID == 0 || dstID == 0 {
		return
	}
	e.rows.Links = append(e.rows.Links, Link{src, srcID, dst, dstID, rule, string(c), key})
	e.n++
}

// fenceText returns "context:seqno".
func (e *engine) fenceText(k event.FenceKey) string {
	b := strconv.AppendUint(e.key[:0], k.Context, 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, k.Seqno, 10)
	e.key = b
	return string(b)
}

func (e *engine) hexText(prefix string, v uint64) string {
	b := append(e.key[:0], prefix...)
	b = append(b, '0', 'x')
	b = strconv.AppendUint(b, v, 16)
	e.key = b
	return string(b)
}

func (e *engine) intText(prefix string, v int64) string {
	b := append(e.key[:0], prefix...)
	b = strconv.AppendInt(b, v, 10)
	e.key = b
	return string(b)
}

// sub returns a - b if both are known.
func sub(a, b OptTime) OptDur {
	if !a.OK || !b.OK {
		return OptDur{}
	}
	return event.Some(int64(a.V - b.V))
}

func optUint(ev *event.Event, f event.Field) OptUint {
	v, ok := ev.Uint(f)
	return OptUint{V: v, OK: ok}
}

func optInt(ev *event.Event, f event.Field) OptInt {
	v, ok := ev.Int(f)
	return OptInt{V: v, OK: ok}
}

func optTask(v int32) OptInt {
	return OptInt{V: max(int64(v), 0), OK: v >= 0}
}

func directionName(ev *event.Event) string {
	v, ok := ev.Uint(event.FieldDirection)
	if !ok || event.Direction(v) == event.DirUnknown {
		return ""
	}
	return event.Direction(v).String()
}
