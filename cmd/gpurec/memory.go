package main

import (
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

const (
	// outsideHeap is what the process takes beside what the Go runtime counts:
	// its program, mostly.
	outsideHeap = 32 << 20
	// leastLimit is what joining may need whatever --max-memory says: below
	// that the garbage collector would do nothing but collect.
	leastLimit = 128 << 20
)

// maxMemory is --max-memory in bytes.
func maxMemory(c *cli.Context) (int64, error) {
	n, err := parseBytes(c.String("max-memory"))
	if err != nil || n < 1<<20 {
		return 0, usageError("--max-memory %q is no size of at least 1M; write it as 256M or 2G", c.String("max-memory"))
	}
	return n, nil
}

// sortMemory is what one of the two sorts, of events and of rows, may hold of
// --max-memory: what is joined, and drawn, needs the rest.
func sortMemory(c *cli.Context) (int64, error) {
	n, err := maxMemory(c)
	return n / 4, err
}

// limitMemory makes the garbage collector work harder as the process comes
// near --max-memory, unless GOMEMLIMIT says less. It limits garbage only: what
// is in use is bounded by the sorts and by correlate's caps.
func limitMemory(c *cli.Context) error {
	n, err := maxMemory(c)
	if err != nil {
		return err
	}
	if n = max(n, leastLimit) - outsideHeap; n < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(n)
	}
	return nil
}
