// Package merge makes one stream of events of several inputs, logs and foreign
// traces alike, on one clock. docs/merge.md says by which rules.
package merge

import (
	"errors"
	"fmt"
	"io"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

// The algorithm, once:
//
//  1. Every input is read to its end, since what relates its clock to others
//     may stand there: its calls, pids and devices are noted, and its events
//     spooled to a temporary log unless it can be read again.
//  2. Pids of containers become those of the host, where a recording tells
//     both; inputs are put on machines: what contradicts one another is apart.
//  3. The clock of the result is chosen, and each input's way to it: the same
//     clock, snapshots, a declared base, then calls that two inputs saw.
//  4. The inputs are read again, each in order of time, converted, and merged.

// Source is an input's events and what it says of itself, which is complete
// once Next has returned io.EOF.
type Source = gpulog.Source

// Input is one log or trace.
type Input struct {
	Name   string // for messages and metadata, without directories
	Source Source // read once, to its end
	// Again opens the same events anew; its closer may be nil. If Again is
	// nil the events are spooled to a temporary file.
	Again func() (Source, io.Closer, error)
}

// Options tune merging. The zero value is the default.
type Options struct {
	// MaxMemory is how many bytes of events all inputs together hold to put
	// them in order (0: 256 MiB); see gpulog.SortOptions.
	MaxMemory int64
	// TempDir is where temporary files are made ("": os.TempDir()).
	TempDir string
	// Offsets are stated by the user, by the place of the input from 0: what
	// is added to its times, in ns, for the clock of the result.
	Offsets map[int]int64
}

// Merged gives the events of all inputs in order of their converted times.
// Close must be called; it does not close the inputs.
type Merged struct {
	inputs []*scanned
	target target
	meta   event.Meta
	count  event.Counters
	close  []io.Closer
	first  []event.Event // identities, before all else
	once   bool          // inputs share tracepoints
	twice  twice
	copies copies
	err    error
}

// Open reads all inputs once and relates them. An error names the input.
func Open(inputs []Input, o Options) (*Merged, error) {
	if o.MaxMemory <= 0 {
		o.MaxMemory = 256 << 20
	}
	m := &Merged{}
	for i := range inputs {
		s, err := scan(&inputs[i], &o)
		if s != nil {
			m.close = append(m.close, s)
		}
		if err != nil {
			m.Close()
			return nil, fmt.Errorf("%s: %w", inputs[i].Name, err)
		}
		m.inputs = append(m.inputs, s)
	}
	m.namespaces()
	m.machines()
	m.align(&o)
	m.domains()
	m.devices()
	m.witnesses()
	m.comparesCopies()
	m.identities()
	m.describe()
	for _, s := range m.inputs {
		if err := s.rewind(o.MaxMemory/int64(len(m.inputs)), o.TempDir); err != nil {
			m.Close()
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return m, nil
}

// Meta describes the result; it is complete from the beginning.
func (m *Merged) Meta() *event.Meta { return &m.meta }

// Counters holds what was doubtful about merging. What the inputs counted
// stands in Meta.
func (m *Merged) Counters() *event.Counters { return &m.count }

// Close releases temporary files. The first error counts.
func (m *Merged) Close() error {
	var err error
	for _, c := range m.close {
		err = errors.Join(err, c.Close())
	}
	m.close = nil
	if m.err == nil {
		m.err = errors.New("merge is closed")
	}
	return err
}

// Bound returns the time before which no event can come any more.
func (m *Merged) Bound() event.Time {
	least := event.Time(1<<63 - 1)
	for _, s := range m.inputs {
		if !s.ended {
			least = min(least, s.place)
		}
	}
	if len(m.twice.queue) > 0 {
		least = min(least, m.twice.queue[0].at)
	}
	return least
}

// Next gives the next events in order of time, or io.EOF. Events without a
// time follow the event that they followed in their input. Where inputs share
// a tracepoint, an event that only a lesser witness has comes up to 5 µs late.
func (m *Merged) Next(b *event.Batch) error {
	b.Reset()
	if m.err != nil {
		return m.err
	}
	if len(m.first) > 0 {
		b.Events = append(b.Events, m.first...)
		m.first = nil
		return nil
	}
	for len(b.Events) < event.DefaultBatch {
		s, until := m.least()
		if s == nil {
			break
		}
		for len(b.Events) < event.DefaultBatch && !s.ended && s.place <= until {
			if m.once {
				m.twice.release(b, s.place)
			}
			if (!m.once || m.twice.take(m, s, &s.cur)) && m.copies.take(m, s, &s.cur) {
				b.Events = append(b.Events, s.cur)
			}
			if err := s.advance(); err != nil {
				m.err = fmt.Errorf("%s: %w", s.name, err)
				return m.err
			}
		}
	}
	if len(b.Events) == 0 {
		m.twice.release(b, 1<<63-1)
	}
	if len(b.Events) == 0 {
		m.err = io.EOF
	}
	return m.err
}

// least returns the input whose next event comes first, the earlier one of
// equals, and the place up to which it may give events; nil at the end.
func (m *Merged) least() (first *scanned, until event.Time) {
	until = event.Time(1<<63 - 1)
	for _, s := range m.inputs {
		if s.ended {
			continue
		}
		switch {
		case first == nil:
			first = s
		case s.place < first.place:
			// What stood first before gives way at its own place; the new one
			// comes after it in the order of inputs.
			until = min(until, first.place-1)
			first = s
		default:
			until = min(until, s.place)
		}
	}
	return first, until
}
