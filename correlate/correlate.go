// Package correlate joins ordered events into rows: API calls, ioctls, jobs,
// fences, waits and activities, the links between them, and what stayed
// unmatched and why. Its rules are numbered in docs/correlation.md.
package correlate

import (
	"github.com/gpurec/gpurec/record/event"
)

// Confidence says how sure a link is.
type Confidence string

// The confidences.
const (
	Exact    Confidence = "exact"    // a key that only these two rows share
	Nested   Confidence = "nested"   // same thread, inside the interval
	Adjacent Confidence = "adjacent" // order on one CPU or thread
	Inferred Confidence = "inferred" // order within a queue
)

// Reason says why a row has no partner.
type Reason string

// The reasons, see docs/correlation.md.
const (
	NotRecorded    Reason = "not_recorded"    // this trace holds no such events
	NotPossible    Reason = "not_possible"    // this driver has none
	BeforeStart    Reason = "before_start"    // provably before the recording
	AfterStop      Reason = "after_stop"      // the recording ended first
	Open           Reason = "open"            // still running at the end
	Killed         Reason = "killed"          // its process or entity was killed
	KernelInternal Reason = "kernel_internal" // the driver's own work
	Lost           Reason = "lost"            // lost events, see losses
	Evicted        Reason = "evicted"         // dropped to stay within a cap
	Ambiguous      Reason = "ambiguous"       // more than one candidate
	Faulted        Reason = "faulted"         // still running at the end; its process had a fault meanwhile
)

// Options tune a run. The zero value is what exports use.
type Options struct {
	// Caps bound what is held.
	Caps Caps
	// MaxOpen, if it is not 0, lowers the caps of open jobs, waits and
	// activities, of fences and of correlation ids to itself.
	MaxOpen int
	// BatchRows is how many rows are gathered before they are given out (0: 4096).
	BatchRows int
}

// Summary is what is known at the end of a run.
type Summary struct {
	Meta     event.Meta
	Events   [event.NumKinds]uint64 // events read, by kind
	Rows     map[string]uint64      // rows given, by table
	Start    event.Time             // least time of any event; NoTime if none has one
	End      event.Time             // greatest
	Counters event.Counters
}

// MetaSource is a source that describes itself. Meta is complete once Next
// has returned io.EOF.
type MetaSource interface {
	event.Source
	Meta() *event.Meta
}

// Run reads ordered events to their end and gives finished rows to emit, in
// batches that are reused. It stops at the first error of src or emit.
// The same events give the same rows, in the same order, on any machine.
func Run(src MetaSource, o Options, emit func(*Rows) error) (*Summary, error) {
	e := newEngine(o, emit)
	return e.run(src)
}
