package perfetto

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/gpurec/gpurec/export/picture"
)

// Event types.
const (
	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4
)

// Fields of TrackEvent.
const (
	teCategories  = 3
	teAnnotations = 4
	teType        = 9
	teName        = 10
	teTrack       = 11
	teCounter     = 30
	teDouble      = 44
	teFlows       = 47
	teNameText0   = 23<<3&0x7f | 2 | 0x80 // tag of the name in place, first byte
	teNameText1   = 23 << 3 >> 7
)

// pen is a [picture.Pen]: it writes the TrackEvents of sequence 2, one at a
// time, and before each what it needs: descriptors and interned strings. Times of
// the sequence are the differences to the packet before, on a clock of its own
// (docs/adr/007-incremental-clock.md).
type pen struct {
	out      *packets
	tracks   trackWriter
	cpus     bundles
	stages   stageWriter
	scene    *picture.Scene
	cats     [picture.NumCategories]uint64
	args     [picture.NumArgs]uint64
	words    [256]uint64
	catNames table
	names    table
	strs     table
	nextCat  uint64
	nextArg  uint64
	links    [128]linkBytes
	interned int // strings held
	bytes    int // their bytes
	fresh    bool
	ev       []byte // TrackEvent under construction
	in       []byte // InternedData of the packet
	dict     []byte
	sub      []byte
	t        int64
	last     int64 // time of the last packet of the sequence
}

var _ picture.StagePen = (*pen)(nil)

func newPen(out *packets) *pen {
	w := &pen{out: out, tracks: trackWriter{out: out}, cpus: bundles{out: out, cpu: -1}, stages: stageWriter{out: out}}
	w.catNames.field, w.names.field, w.strs.field = 1, 2, 29
	w.forget()
	return w
}

// start begins an event on a track.
func (w *pen) start(typ byte, track uint64, t int64) {
	if w.interned > maxInterned || w.bytes > maxInternedBytes {
		w.forget()
	}
	if w.fresh {
		w.restart(t)
	}
	w.t = t
	w.in = w.in[:0]
	w.ev = append(w.ev[:0], teType<<3, typ, teTrack<<3)
	w.ev = appendVarint(w.ev, track)
}

// clockDelta is the clock of the events' sequence: a time is what to add to the
// time before.
const clockDelta = 64

// restart begins the sequence, or begins it anew: its clock, and that packets
// without a word go by it.
func (w *pen) restart(t int64) {
	p := w.out
	at := max(p.ts(t), 1) // a clock that reads 0 is none
	w.fresh, w.last = false, int64(at)-p.base
	clock := func(id uint64) []byte { return appendUint(appendUint(nil, 1, id), 2, at) }
	snap := appendBytes(nil, 1, clock(clockBoottime))
	snap = appendBytes(snap, 1, appendUint(clock(clockDelta), 3, 1))
	snap = appendUint(snap, 2, clockBoottime)
	p.buf = append(p.buf[:0], fieldSequence<<3, seqEvents, fieldFlags<<3, flagCleared)
	p.buf = appendBytes(p.buf, fieldClockSnapshot, snap)
	p.buf = appendBytes(p.buf, fieldDefaults, appendUint(nil, fieldTimestampClock, clockDelta))
	p.send()
}

// appendTime ends a packet: its time is the last field, so that what events of
// a track have in common stands together, which compresses better.
func (w *pen) appendTime(b []byte, t int64) []byte {
	if t < w.last { // not on a clock that only rises
		b = binary.AppendUvarint(append(b, fieldTimestamp<<3), w.out.ts(t))
		return appendUint(b, fieldTimestampClock, clockBoottime)
	}
	d := uint64(t - w.last)
	w.last = t
	return binary.AppendUvarint(append(b, fieldTimestamp<<3), d)
}

// eventHead is what all packets of the sequence begin with.
const eventHead = "\x50\x02\x68\x02" // sequence, flags: see [seqEvents], [flagNeeds]

// Done writes the event. All lengths are known: the packet is put together in
// the output, with one copy.
func (w *pen) Done() {
	p := w.out
	var tail [24]byte
	end := w.appendTime(tail[:0], w.t)
	n := len(eventHead) + 1 + uvarintLen(uint64(len(w.ev))) + len(w.ev) + len(end)
	if len(w.in) > 0 {
		n += 1 + uvarintLen(uint64(len(w.in))) + len(w.in)
	}
	b := binary.AppendUvarint(append(p.out, 1<<3|2), uint64(n))
	b = append(b, eventHead...)
	if len(w.in) > 0 {
		b = binary.AppendUvarint(append(b, fieldInterned<<3|2), uint64(len(w.in)))
		b = append(b, w.in...)
	}
	b = binary.AppendUvarint(append(b, fieldTrackEvent<<3|2), uint64(len(w.ev)))
	b = append(b, w.ev...)
	p.out = append(b, end...)
	p.sent()
}

func (w *pen) Name(s string) {
	w.ev = append(w.ev, teName<<3)
	w.ev = appendVarint(w.ev, w.intern(&w.names, s))
}

// maxOnce is the length up to which a name that comes once or twice is
// shorter in place than interned.
const maxOnce = 40

// NameOnce is name for one that hardly comes again.
func (w *pen) NameOnce(s []byte) {
	if len(s) > maxOnce || !utf8.Valid(s) {
		w.ev = binary.AppendUvarint(append(w.ev, teName<<3), w.internBytes(&w.names, s))
		return
	}
	w.ev = append(append(w.ev, teNameText0, teNameText1, byte(len(s))), s...)
}

func (w *pen) Category(c picture.Category) {
	if w.cats[c] == 0 {
		w.cats[c] = w.intern(&w.catNames, c.String())
	}
	w.ev = append(w.ev, teCategories<<3)
	w.ev = appendVarint(w.ev, w.cats[c])
}

// CategoryText is category for one that the source names.
func (w *pen) CategoryText(s string) {
	if s == "" {
		return
	}
	w.ev = append(w.ev, teCategories<<3)
	w.ev = appendVarint(w.ev, w.intern(&w.catNames, s))
}

func (w *pen) argID(a picture.Arg) uint64 {
	if w.args[a] == 0 {
		w.nextArg++
		w.args[a] = w.nextArg
		w.define(3, w.nextArg, a.String())
	}
	return w.args[a]
}

// annotate adds an argument whose value is a varint: at most 23 bytes.
func (w *pen) annotate(a picture.Arg, tag uint64, v uint64) {
	id := w.argID(a)
	i := len(w.ev)
	b := append(w.ev, teAnnotations<<3|2, 0, 1<<3)
	b = appendVarint(b, id)
	b = appendVarint(b, tag<<3)
	b = appendVarint(b, v)
	b[i+1] = byte(len(b) - i - 2)
	w.ev = b
}

// appendVarint is [binary.AppendUvarint], inlined for small numbers.
func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, v)
}

func (w *pen) Int(a picture.Arg, v int64) { w.annotate(a, 4, uint64(v)) }

// Uint writes v as int_value where it fits, as all numbers of a trace are.
func (w *pen) Uint(a picture.Arg, v uint64) {
	if v > math.MaxInt64 {
		w.annotate(a, 3, v)
		return
	}
	w.annotate(a, 4, v)
}

func (w *pen) True(a picture.Arg) { w.annotate(a, 2, 1) }

// Str writes a string; "" is unknown and not written.
func (w *pen) Str(a picture.Arg, s string) {
	if s != "" {
		w.annotate(a, 17, w.intern(&w.strs, s))
	}
}

func (w *pen) Bytes(a picture.Arg, s []byte) { w.annotate(a, 17, w.internBytes(&w.strs, s)) }

// Pair writes "context:seqno", in place: it is shorter than what interning takes.
func (w *pen) Pair(a picture.Arg, context, seqno uint64) {
	id := w.argID(a)
	i := len(w.ev)
	b := binary.AppendUvarint(append(w.ev, teAnnotations<<3|2, 0, 1<<3), id)
	b = append(b, 6<<3|2, 0)
	j := len(b)
	b = picture.AppendPair(b, context, seqno)
	b[j-1] = byte(len(b) - j)
	b[i+1] = byte(len(b) - i - 2)
	w.ev = b
}

// Text writes a string that will hardly come again: it is not interned.
func (w *pen) Text(a picture.Arg, s string) {
	if s == "" {
		return
	}
	id := w.argID(a)
	w.sub = appendUint(w.sub[:0], 1, id)
	w.sub = appendString(w.sub, 6, valid(s))
	w.ev = appendBytes(w.ev, teAnnotations, w.sub)
}

func (w *pen) wordID(x picture.Word) uint64 {
	if w.words[x.N] == 0 {
		w.words[x.N] = w.intern(&w.strs, x.Text)
	}
	return w.words[x.N]
}

// LinksBegin, Link and LinksEnd write the dictionary `links`.
func (w *pen) LinksBegin() { w.dict = appendUint(w.dict[:0], 1, w.argID(picture.ArgLinks)) }

func (w *pen) Link(key picture.Arg, rule, confidence picture.Word) {
	c := &w.links[(uint(key)*5+uint(rule.N)*3+uint(confidence.N))%uint(len(w.links))]
	if len(c.body) == 0 || c.key != key || c.rule != rule.N || c.confidence != confidence.N {
		b := appendUint(c.body[:0], 1, w.argID(key))
		b = w.linkPart(b, picture.ArgRule, rule)
		b = w.linkPart(b, picture.ArgConfidence, confidence)
		*c = linkBytes{key, rule.N, confidence.N, b}
	}
	w.dict = appendBytes(w.dict, 11, c.body)
}

// linkBytes is an entry of `links` as it was written: there are few, and all of
// its strings are interned.
type linkBytes struct {
	key              picture.Arg
	rule, confidence uint8
	body             []byte
}

func (w *pen) linkPart(b []byte, a picture.Arg, v picture.Word) []byte {
	id, iid := w.argID(a), w.wordID(v)
	i := len(b)
	b = append(b, 11<<3|2, 0, 1<<3)
	b = appendVarint(b, id)
	b = append(b, 0x88, 0x01) // field 17, varint
	b = appendVarint(b, iid)
	b[i+1] = byte(len(b) - i - 2)
	return b
}

func (w *pen) LinksEnd() { w.ev = appendBytes(w.ev, teAnnotations, w.dict) }

// Flow implements [picture.Pen]: Perfetto points the arrow by the starts.
func (w *pen) Flow(f picture.Flow) { w.ev = appendFixed64(w.ev, teFlows, f.ID) }

// Colour sets the text by which the UI picks the colour.
func (w *pen) Colour(s []byte) {
	w.ev = appendBytes(w.ev, 53, s)
}

// End implements [picture.Pen].
func (w *pen) End(t *picture.Track, at int64) {
	if w.fresh {
		w.restart(at)
	}
	// The commonest packet, at most 40 bytes, straight into the output.
	p := w.out
	i := len(p.out)
	b := append(append(p.out, 1<<3|2, 0), eventHead...)
	j := len(b)
	b = appendVarint(append(b, fieldTrackEvent<<3|2, 0, teType<<3, typeEnd, teTrack<<3), t.ID)
	b[j+1] = byte(len(b) - j - 2)
	b = w.appendTime(b, at)
	b[i+1] = byte(len(b) - i - 2)
	p.out = b
	p.sent()
}

// Begin implements [picture.Pen]. The end is told by End.
func (w *pen) Begin(t *picture.Track, start, _ int64) { w.start(typeBegin, w.tracks.id(t), start) }

// Instant implements [picture.Pen].
func (w *pen) Instant(t *picture.Track, at int64) { w.start(typeInstant, w.tracks.id(t), at) }

// Count implements [picture.Pen]. As an END, it goes straight into the output.
func (w *pen) Count(t *picture.Track, at, v int64) {
	if w.fresh {
		w.restart(at)
	}
	id := w.tracks.id(t)
	p := w.out
	i := len(p.out)
	b := append(append(p.out, 1<<3|2, 0), eventHead...)
	j := len(b)
	b = appendVarint(append(b, fieldTrackEvent<<3|2, 0, teType<<3, typeCounter, teTrack<<3), id)
	b = appendVarint(append(b, teCounter<<3&0x7f|0x80, teCounter<<3>>7), uint64(v))
	b[j+1] = byte(len(b) - j - 2)
	b = w.appendTime(b, at)
	b[i+1] = byte(len(b) - i - 2)
	p.out = b
	p.sent()
}

// CountReal implements [picture.Pen].
func (w *pen) CountReal(t *picture.Track, at int64, v float64) {
	w.start(typeCounter, w.tracks.id(t), at)
	w.ev = appendFixed64(w.ev, teDouble, math.Float64bits(v))
	w.Done()
}

// Err implements [picture.Pen].
func (w *pen) Err() error { return w.out.err }
