package export

import (
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// DetailStep is one step of what a size limit leaves out.
type DetailStep struct {
	Table string
	Minor bool   // only the rows that are of no consequence to the GPU's work
	Title string // for people
	// Weight is about how many bytes such a row takes, for comparison among
	// tables: the size of the first try tells how many it really is.
	Weight int64
}

// DetailSteps is the order in which a size limit leaves detail out: what tells
// least of the GPU's work for its bytes comes first. Jobs, activities, idle
// gaps, losses and resets are never left out.
var DetailSteps = []DetailStep{
	{Table: "others", Title: "events without a kind of their own", Weight: 100},
	{Table: "samples", Title: "stack samples", Weight: 60},
	{Table: "irqs", Title: "interrupts", Weight: 30},
	{Table: "flows", Title: "the source's arrows", Weight: 30},
	{Table: "sched", Title: "CPU scheduling", Weight: 90},
	{Table: "mem_maps", Title: "GPU address space changes", Weight: 30},
	{Table: "marks", Title: "instants of the source", Weight: 50},
	{Table: "slices", Title: "host ranges of the source", Weight: 70},
	{Table: "fences", Title: "fences", Weight: 30},
	{Table: "counters", Title: "sampled counters", Weight: 20},
	{Table: "ioctls", Minor: true, Title: "ioctls that neither submit nor wait", Weight: 90},
	{Table: "api_calls", Minor: true, Title: "API calls that neither launch, copy nor wait", Weight: 90},
	{Table: "links", Title: "arrows and join rules", Weight: 25},
	{Table: "fence_waits", Title: "fence waits", Weight: 120},
	{Table: "ioctls", Title: "ioctls", Weight: 90},
	{Table: "api_calls", Title: "API calls", Weight: 100},
}

// otherWeights are those of tables that are never left out.
var otherWeights = map[string]int64{"jobs": 350, "gpu_activities": 110, "idle_gaps": 90}

// majorRoles and majorClasses are the ioctls and API calls that the GPU's work
// hangs on. What is not known may be one.
var (
	majorRoles   = map[string]bool{"submit": true, "wait": true, "unknown": true, "": true}
	majorClasses = map[string]bool{"launch": true, "graph_launch": true, "memcpy": true, "memset": true, "sync": true, "collective": true, "submit": true, "": true}
)

// Dropped names what the size limit leaves out.
func (f *Filter) Dropped() string {
	var parts []string
	for _, s := range DetailSteps[:min(f.o.Detail, len(DetailSteps))] {
		parts = append(parts, s.Title)
	}
	return strings.Join(parts, ", ")
}

// NextDetail returns how many steps to leave out so that an output that took
// size bytes takes at most limit, by the weights of the rows that were passed;
// ok is false if nothing is left that could be left out.
func (f *Filter) NextDetail(size, limit int64) (detail int, ok bool) {
	total := 0.0
	for table, c := range f.plan {
		total += float64(c.passed[0])*weight(table, false) + float64(c.passed[1])*weight(table, true)
	}
	// A tenth less than allowed: weights are rough, and another try costs more.
	want := float64(limit) * 0.9 / float64(size) * total
	for detail = f.o.Detail; detail < len(DetailSteps); {
		s := DetailSteps[detail]
		detail++
		c := f.plan[s.Table]
		rows := c.passed[minorIndex(s.Minor)]
		total -= float64(rows) * weight(s.Table, s.Minor)
		if rows > 0 && total <= want {
			return detail, true
		}
	}
	// The weights may be wrong: all that can be left out is, before giving up.
	return len(DetailSteps), f.o.Detail < len(DetailSteps)
}

// weight is that of a table's rows, the lesser ones apart where a step is.
func weight(table string, minor bool) float64 {
	w := otherWeights[table]
	for _, s := range DetailSteps {
		if s.Table == table && (w == 0 || s.Minor == minor) {
			w = s.Weight
		}
	}
	return float64(w)
}

// TooLargeError says that an output is larger than was allowed. Nothing of it
// is left.
type TooLargeError struct {
	Name        string
	Size, Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s would take %s, and --max-output allows %s; give more, or a shorter window with --from-time and --to-time",
		e.Name, event.SizeText(e.Size), event.SizeText(e.Limit))
}
