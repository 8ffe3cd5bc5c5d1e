// Package perfetto imports Perfetto traces: the protobuf form, plain or
// compressed inside. The text form is recognised and refused.
//
// A trace is a list of packets, each of a writer's sequence. Packets are read
// in the order in which they stand, one at a time; what a sequence interned,
// its defaults and its clocks are kept while it lasts (see [sequence]). What a
// packet holds goes to:
//
//	track events          event.go, categories that gpurec itself writes own.go
//	descriptors of tracks track.go
//	ftrace bundles        ftrace.go, sched.go
//	GPU packets           gpu.go
//	clocks                clock.go
package perfetto

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/args"
	"github.com/gpurec/gpurec/record/importer/own"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:  "perfetto",
		Title: "Perfetto trace (.pftrace, protobuf)",
		Sniff: sniff,
		Open:  open,
	}
}

// Text returns the text form of the format, which is refused with what to do.
func Text() importer.Format {
	return importer.Format{
		Name:  "perfetto-text",
		Title: "Perfetto trace in text form (refused)", Refused: true,
		Sniff: sniffText,
		Open: func(in importer.Input, _ importer.Options) (importer.Reader, error) {
			return nil, &importer.Error{Name: in.Name, Offset: 0, Err: errors.New("is the text form of a Perfetto trace, which is not read"),
				Remedy: "turn it into the binary form: protoc --encode=perfetto.protos.Trace perfetto_trace.proto"}
		},
	}
}

// maxPacket bounds a packet. Perfetto's own writers keep them below 1 MiB.
const maxPacket = 32 << 20

// reader is an importer.Reader.
type reader struct {
	name     string
	in       input
	count    event.Counters
	meta     event.Meta
	mapper   *ftrace.TextMapper
	clocks   clocks
	state    int // bytes that sequences hold
	seqs     map[uint32]*sequence
	tracks   map[uint64]*track
	trackGen int // counts descriptors, which void what sequences remember of tracks
	names    trackNames
	gpus     gpus
	own      own.Mapper // of what gpurec's export draws
	args     own.Args   // arguments of it, of the event in work
	unkept   openSlice
	inferred map[int32]bool      // processes that gpurec's export says were deduced
	openAll  int                 // slices kept on tracks
	flows    map[uint64]struct{} // seen
	asyncs   map[asyncKey]int    // open ranges of an id
	obj      args.Object
	text     []byte
	packets  [maxKinds]uint64 // by what they hold

	batch   *event.Batch
	yield   func(struct{}) bool
	next    func() (struct{}, bool)
	stop    func()
	stopped bool
	failure error
	dummy   event.Batch
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{name: in.Name, seqs: map[uint32]*sequence{}, tracks: map[uint64]*track{},
		flows: map[uint64]struct{}{}, inferred: map[int32]bool{}}
	r.in.r = in.R
	r.mapper = ftrace.NewTextMapper(&r.count, r.place)
	r.meta = event.Meta{Format: "perfetto", Clock: event.ClockBoottime}
	r.clocks.init(r)
	r.initOwn()
	if o.Clock != "" {
		r.meta.Clock = o.Clock // unless a snapshot says
	}
	r.next, r.stop = iter.Pull(r.run)
	return r, nil
}

// run reads the whole input; it yields whenever the batch is full.
func (r *reader) run(yield func(struct{}) bool) {
	r.yield = yield
	for !r.stopped {
		p, err := r.in.packet()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.failure = &importer.Error{Name: r.name, Offset: r.in.at, Err: err, Remedy: "what was read up to here is kept; copy the file again for the rest"}
			r.count.AddAt(&AnomalyCut, 1, r.place())
			break
		}
		r.packet(p, 0)
	}
	r.finish()
	if !r.stopped && len(r.batch.Events) > 0 {
		yield(struct{}{})
	}
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	b.Reset()
	r.batch = b
	if _, ok := r.next(); ok {
		return nil
	}
	if r.failure != nil {
		return r.failure
	}
	return io.EOF
}

// add appends an event to the batch. The result is valid until the next add.
func (r *reader) add(k event.Kind, t event.Time) *event.Event {
	r.room()
	if t.Known() {
		r.span(t)
	}
	return r.batch.Add(k, t)
}

// room makes sure that the batch can take an event.
func (r *reader) room() {
	if r.stopped {
		r.dummy.Reset()
		return
	}
	if len(r.batch.Events) >= event.DefaultBatch && !r.yield(struct{}{}) {
		r.stopped = true
		r.batch = &r.dummy
		r.dummy.Reset()
	}
}

func (r *reader) span(t event.Time) {
	if m := &r.meta; !m.Start.OK || t < m.Start.V {
		m.Start = event.Some(t)
	}
	if m := &r.meta; !m.End.OK || t > m.End.V {
		m.End = event.Some(t)
	}
}

// place is where the packet in work begins.
func (r *reader) place() string { return "byte " + strconv.FormatInt(r.in.at, 10) }

func (r *reader) note(a *event.AnomalySpec, n uint64) {
	if r.count.Get(a) > 0 {
		r.count.Add(a, n)
		return
	}
	r.count.AddAt(a, n, r.place())
}

func (r *reader) noteAt(a *event.AnomalySpec, n uint64, format string, v ...any) {
	if r.count.Get(a) > 0 {
		r.count.Add(a, n)
		return
	}
	r.count.AddAt(a, n, fmt.Sprintf(format, v...)+", "+r.place())
}

func (r *reader) fact(key, value string) {
	if value != "" && len(r.meta.Facts) < 1000 {
		r.meta.Facts = append(r.meta.Facts, event.Fact{Key: key, Value: value})
	}
}

// str returns bytes as a string that is kept.
func (r *reader) str(b []byte) string { return r.mapper.Strings.Get(b) }

// Meta describes the input.
func (r *reader) Meta() *event.Meta {
	r.meta.Anomalies = r.own.Anomalies
	return &r.meta
}

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close ends reading.
func (r *reader) Close() error {
	r.stopped = true
	r.batch = &r.dummy
	r.stop()
	return nil
}
