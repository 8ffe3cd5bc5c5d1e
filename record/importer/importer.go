// Package importer is the contract of foreign trace formats: how one is
// recognised by its content, and how its events are read.
package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gpurec/gpurec/record/event"
)

// SniffLen is how much of a file's beginning Sniff is given (less if the file is shorter).
const SniffLen = 64 << 10

// Format is a foreign format.
type Format struct {
	Name  string // as --format takes it: "ftrace-text"
	Title string // for people: "ftrace text (trace, trace_pipe, trace-cmd report)"
	// Sniff reports whether a file that begins with head is of this format.
	// It must claim no file of another format.
	Sniff func(head []byte) bool
	// SniffDir reports whether a folder is of this format; nil if none is.
	SniffDir func(dir fs.FS) bool
	// Open starts reading. It reads no more than it needs to know that the
	// input is of its format.
	Open func(in Input, o Options) (Reader, error)
	// Refused says that Open always fails: the format is recognised only to
	// say what to do.
	Refused bool
}

// Input is an open file or pipe, decompressed.
type Input struct {
	Name string    // for messages
	R    io.Reader // from the first byte on
	// At and Size give random access where the input is a plain file; At is nil otherwise.
	At   io.ReaderAt
	Size int64
	// Dir is the input if it is a folder; R then gives nothing but an error.
	Dir fs.FS
}

// Options tune reading. The zero value is the default.
type Options struct {
	// Clock names the clock of the input's times where the input itself does not say.
	Clock event.Clock
	// Passing says that the caller has taken what it needs of a batch before it
	// calls Next again: the texts of its events need not outlive that, and a
	// reader may use their memory again.
	Passing bool
}

// Reader yields the events of an input in the order in which they stand there.
type Reader interface {
	event.Source
	// Meta describes the input; it is complete once Next returned io.EOF.
	Meta() *event.Meta
	// Counters holds every anomaly so far. Nothing is dropped without one.
	Counters() *event.Counters
	Close() error
}

// ErrUnknownFormat is returned when no format claims an input.
var ErrUnknownFormat = errors.New("no known trace format")

// Error is a failure at a place of an input. What was read before it stands.
type Error struct {
	Name   string // file
	Line   int64  // 1-based; 0 if the format has no lines
	Offset int64  // byte offset; -1 if unknown
	Err    error
	Remedy string // what to do, "" if nothing helps
}

// Error gives one line: what, where, what to do.
func (e *Error) Error() string {
	s := e.Name
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	} else if e.Offset >= 0 {
		s = fmt.Sprintf("%s: byte %d", s, e.Offset)
	}
	s += ": " + e.Err.Error()
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
