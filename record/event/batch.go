package event

import "slices"

// Batch is a reusable run of events.
type Batch struct {
	Events []Event
}

// Reset empties b and keeps its memory.
func (b *Batch) Reset() { b.Events = b.Events[:0] }

// Add appends an event of kind k at t and returns it to be filled in. The
// pointer is valid until the next Add or Reset.
func (b *Batch) Add(k Kind, t Time) *Event {
	n := len(b.Events)
	if n < cap(b.Events) {
		b.Events = b.Events[:n+1]
	} else {
		b.Events = append(slices.Grow(b.Events, max(1, min(n, DefaultBatch))), Event{})
	}
	e := &b.Events[n]
	e.Reset(k, t)
	return e
}

// DefaultBatch is the number of events that sources aim to give at once.
const DefaultBatch = 2048

// Source yields events in their order of arrival.
type Source interface {
	// Next empties b and fills it with at least one event, or returns an
	// error: io.EOF at the end. Events are values and stay valid; b is the
	// caller's.
	Next(b *Batch) error
}
