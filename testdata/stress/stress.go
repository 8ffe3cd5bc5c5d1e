// Package stress makes streams of events of any length, for tests and
// benchmarks of bounded memory: one as of a real machine, and hostile ones in
// which something grows for ever. A stream is a function of its name and its
// length: it holds a few thousand names at most and reads no file.
package stress

import (
	"fmt"
	"io"

	"github.com/gpurec/gpurec/record/event"
)

// Steady is the name of the stream of a real machine.
const Steady = "steady"

// Source is a stream of events, in order of time.
type Source struct {
	b    *event.Batch
	n    int        // events to give at least
	done int        // events given
	step int        // groups of events given
	at   event.Time // of the last event
	make func(s *Source)
	meta event.Meta

	machine *machine
}

// New returns the stream of a variant. It ends with the first whole step after
// n events.
func New(variant string, n int) (*Source, error) {
	f, ok := variants[variant]
	if !ok {
		return nil, fmt.Errorf("no stream %q: there are %v", variant, Variants())
	}
	return &Source{n: n, at: 1e9, make: f, machine: newMachine(),
		meta: event.Meta{Tool: "gpurec", Format: "stress-" + variant, Clock: event.ClockBoottime}}, nil
}

// Meta describes the stream.
func (s *Source) Meta() *event.Meta { return &s.meta }

// Events returns how many events were given.
func (s *Source) Events() int { return s.done }

// Next gives the next events, or io.EOF.
func (s *Source) Next(b *event.Batch) error {
	b.Reset()
	if s.done >= s.n {
		return io.EOF
	}
	s.b = b
	for len(b.Events) < event.DefaultBatch && s.done+len(b.Events) < s.n {
		s.make(s)
		s.step++
	}
	s.done += len(b.Events)
	return nil
}

// add begins an event of a thread, 1 µs after the last one.
func (s *Source) add(k event.Kind, w who) *event.Event {
	s.at += 1000
	e := s.b.Add(k, s.at)
	e.CPU, e.PID, e.TID, e.Comm = w.cpu, w.pid, w.tid, w.comm
	return e
}

// who is where an event happens.
type who struct {
	cpu, pid, tid int32
	comm          string
}
