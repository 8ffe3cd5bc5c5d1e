package check

import (
	"fmt"
	"sort"
	"strings"
)

// Problem is one thing that is wrong.
type Problem struct {
	Rule string // what kind: "nesting", "flow", "iid", "backlog", …
	Text string
}

func (p Problem) String() string { return p.Rule + ": " + p.Text }

// Slice is a slice as Perfetto would show it.
type Slice struct {
	Track      *Track
	Start, End int64 // End is -1 while it is open
	Name       string
	Category   string
	Args       map[string]any // int64, uint64, bool, float64, string; dictionaries flattened with dots
	Flows      []uint64
	Parent     *Slice
	Children   []*Slice
	packet     int
}

// Int returns an integer argument.
func (s *Slice) Int(name string) (int64, bool) {
	v, ok := s.Args[name].(int64)
	return v, ok
}

// Str returns a string argument, "" if there is none.
func (s *Slice) Str(name string) string {
	v, _ := s.Args[name].(string)
	return v
}

// Sample is a value of a counter.
type Sample struct {
	Time  int64
	Value float64
}

// Track is a described track.
type Track struct {
	UUID, ParentUUID uint64
	Parent           *Track
	Name             string
	Called           string // the process or thread
	PID, TID         int32
	IsProcess        bool
	IsThread         bool
	IsCounter        bool
	Unit             string
	Rank             int32
	Ordering         uint32
	Description      string
	Slices           []*Slice // in order of their starts
	Instants         []*Slice
	Samples          []Sample
	children         int
	stack            []*Slice
}

// Path returns the names from the root, joined by " > ".
func (t *Track) Path() string {
	name := t.Name
	switch {
	case t.IsThread:
		name = fmt.Sprintf("thread %d", t.TID)
	case t.IsProcess:
		name = fmt.Sprintf("process %d", t.PID)
	}
	if t.Parent == nil {
		return name
	}
	return t.Parent.Path() + " > " + name
}

// Idle is the number and the sum of the idle gaps of one cause.
type Idle struct {
	Count int
	NS    int64
}

// Report is what a trace holds, and what is wrong with it.
type Report struct {
	Packets    int
	Slices     []*Slice // in order of their starts
	Instants   []*Slice
	Tracks     []*Track // in order of their descriptors
	Categories map[string]int
	FlowPairs  map[string]int // "ioctl > job.queued"
	Flows      int
	Samples    int // counter values
	Switches   int
	Wakings    int
	Stages     []*Stage                   // render stages
	Compressed int                        // packets that hold packets
	Busy       map[string]int64           // ns by "GPU 0 (x) > ring gfx"
	Idle       map[string]map[string]Idle // by ring, by cause
	MaxBacklog map[string]float64         // by ring
	Problems   []Problem
	more       int // problems beyond the limit
}

// Err returns nil, or an error that names the problems, one a line.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems", len(r.Problems)+r.more)
	for _, p := range r.Problems {
		b.WriteString("\n\t" + p.String())
	}
	return fmt.Errorf("%s", b.String())
}

// Has reports whether a problem of the rule was found.
func (r *Report) Has(rule string) bool {
	for _, p := range r.Problems {
		if p.Rule == rule {
			return true
		}
	}
	return false
}

// String lists the counts, for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d packets, %d tracks, %d slices, %d instants, %d counter values, %d flows, %d switches\n",
		r.Packets, len(r.Tracks), len(r.Slices), len(r.Instants), r.Samples, r.Flows, r.Switches)
	for _, m := range []map[string]int{r.Categories, r.FlowPairs} {
		for _, k := range sorted(m) {
			fmt.Fprintf(&b, "  %-32s %d\n", k, m[k])
		}
	}
	for _, ring := range sorted(r.Busy) {
		fmt.Fprintf(&b, "  %s: busy %d ns, backlog at most %g\n", ring, r.Busy[ring], r.MaxBacklog[ring])
		for _, c := range sorted(r.Idle[ring]) {
			fmt.Fprintf(&b, "    %-20s %d × %d ns\n", c, r.Idle[ring][c].Count, r.Idle[ring][c].NS)
		}
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
