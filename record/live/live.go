// Package live is the contract of live sources: BPF probes, ftrace pages,
// counters. Package record runs them and writes what they give to one log.
package live

import (
	"time"

	"github.com/gpurec/gpurec/record/event"
)

// Source records by one mechanism. Attach is called once, then Read from one
// goroutine of its own until it returns io.EOF, which it does when Stop was
// called and everything recorded before has been read. Close releases
// whatever is held in the kernel and must be called however the session ends;
// it can be called twice.
type Source interface {
	// Name is the stream's name in losses and probes: "bpf", "ftrace".
	Name() string
	// Attach starts recording. An error means that nothing of this source is
	// recorded; parts that cannot be had are told by Probes instead.
	Attach() error
	// Read empties b and fills it with what was recorded, waiting at most so
	// long; b may stay empty. Losses come as events of KindLoss. The time of
	// every event is CLOCK_BOOTTIME.
	Read(b *event.Batch, wait time.Duration) error
	// Stop detaches every probe: no event is recorded after it returns.
	Stop() error
	// Probes tells what is and was watched, with counts; complete after Read gave io.EOF.
	Probes() []event.Probe
	Close() error
}
