// Package gpulog is the log file (.gpurec): writer, reader, index, repair and
// ordered reading. docs/format.md specifies every byte of it.
//
// A log is a row of blocks, each with a header, checksums and a compressed
// body of its own. Event blocks hold events as columns and need nothing from
// other blocks, so any prefix of a log is a log, and a damaged block costs its
// own events and no others. A [Writer] and a [Reader] work on pipes; [Open]
// gives a file that can be read more than once, or from a time on; [Sort] puts
// any source into order of time in bounded memory.
package gpulog

// Version of the format that this package writes. A reader takes every minor
// version of its major version.
const (
	Major = 1
	Minor = 0
)

// Suffix of the names of logs.
const Suffix = ".gpurec"
