// Package export holds what all output formats share: the contract of a sink,
// and sorting in bounded memory.
package export

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Sink writes one output. Calls come from one goroutine: Begin once, Write any
// number of times, then End or Abort once.
//
// Files appear under their final name only in End, whole; Abort, and an error
// of End, leave nothing behind, or say what they had to leave.
type Sink interface {
	// Begin is given what is known before the first row. Meta may still lack
	// what a source tells only at its end.
	Begin(meta *event.Meta) error
	// Write takes finished rows: see [correlate.Rows] for their order and lifetime.
	Write(rows *correlate.Rows) error
	// End completes the output.
	End(sum *correlate.Summary) error
	// Abort removes what was written; after End it does nothing. Its error
	// names what could not be removed: [Undone] puts it behind the one that led
	// to Abort.
	Abort() error
}

// Format is an output format.
type Format struct {
	Name     string   // as --format takes it: "perfetto", "parquet"
	Title    string   // for people
	Suffixes []string // of output names; "/" means a directory
	// New returns a sink that will write to path.
	New func(path string, o Options) (Sink, error)
}

// Options are what all formats take. The zero value is the default.
type Options struct {
	TempDir   string // for sorted runs; "" is the output's directory
	MaxMemory int64  // bytes for sorting before runs are spilled; 0 is 256 MiB
	Tool      string // "gpurec 0.1.0", for the output's metadata
	// Interrupted is asked between pieces of work; its error ends a Begin, Write
	// or End, as any other does. nil never interrupts. It may be called from
	// several goroutines.
	Interrupted func() error
	// Window is the part of the trace that is drawn, by formats that draw: what
	// overlaps it is cut at its edges and says so. Rows outside of it are for
	// [Filter] to leave out. nil is the whole trace.
	Window *Window
	// MaxOutput is how many bytes the output may take; End fails with a
	// [TooLargeError] beyond it. 0 is no limit.
	MaxOutput int64
	// RenderStages and CompressPackets are for Perfetto, see docs/perfetto.md.
	RenderStages    bool
	CompressPackets bool
}
