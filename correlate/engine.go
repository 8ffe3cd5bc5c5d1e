package correlate

import (
	"errors"
	"io"

	"github.com/gpurec/gpurec/record/event"
)

// engine runs the trackers over the events of one source.
type engine struct {
	o    Options
	emit func(*Rows) error
	rows Rows
}

func newEngine(o Options, emit func(*Rows) error) *engine {
	return &engine{o: o, emit: emit}
}

func (e *engine) run(src MetaSource) (*Summary, error) {
	sum := &Summary{Rows: map[string]uint64{}, Start: event.NoTime, End: event.NoTime}
	var b event.Batch
	for {
		if err := src.Next(&b); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		for i := range b.Events {
			sum.Events[b.Events[i].Kind]++
		}
	}
	sum.Meta = *src.Meta()
	return sum, e.emit(&e.rows)
}
