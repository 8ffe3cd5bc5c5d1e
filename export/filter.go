package export

import (
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// FilterOptions say which rows an export holds. The zero value is all.
type FilterOptions struct {
	Window    *Window
	Processes *Processes // nil is all
	Include   []Kind     // if there are any, only these
	Exclude   []Kind
	Detail    int    // this many of [DetailSteps] are left out
	Said      string // the options as the user gave them, for the metadata
	TempDir   string // as in [Options]
	MaxMemory int64
}

// Why a row is left out: counted under these, with the tables in the sample.
var (
	AnomalyOutOfWindow = event.AnomalySpec{Name: "left_out_time", Severity: event.SeverityInfo,
		Doc:    "Rows outside of the window of time that was asked for: left out.",
		Remedy: "export without --from-time and --to-time"}
	AnomalyOtherProcess = event.AnomalySpec{Name: "left_out_process", Severity: event.SeverityInfo,
		Doc:    "Rows of other processes than those asked for: left out.",
		Remedy: "export without --process"}
	AnomalyOtherKind = event.AnomalySpec{Name: "left_out_kind", Severity: event.SeverityInfo,
		Doc:    "Rows of kinds that were not asked for: left out.",
		Remedy: "export without --include and --exclude"}
	AnomalySizeLimit = event.AnomalySpec{Name: "left_out_size", Severity: event.SeverityWarning,
		Doc:    "Detail that would make the output larger than was allowed: left out.",
		Remedy: "give a larger --max-output, or a window with --from-time and --to-time"}
	AnomalyPartner = event.AnomalySpec{Name: "left_out_partner", Severity: event.SeverityInfo,
		Doc:    "Links, dependencies and reasons of rows that are left out: left out with them.",
		Remedy: "export without filters"}
)

type reason uint8

const (
	kept reason = iota
	outOfWindow
	otherProcess
	otherKind
	sizeLimit
	noPartner
	numReasons
)

var reasonSpecs = [numReasons]*event.AnomalySpec{nil, &AnomalyOutOfWindow, &AnomalyOtherProcess, &AnomalyOtherKind, &AnomalySizeLimit, &AnomalyPartner}

// Filter is a [Sink] that passes on the rows that options ask for, and counts
// the others. What is left out stands in the anomalies and the metadata of the
// output. Rows keep their ids. A row that overlaps the window is passed whole;
// links, dependencies, reasons and fences come at the end, those of rows that
// are left out not at all. Rows of the machine and of the run (losses, resets, idle
// gaps, scheduling, processes, devices …) belong to no process and are not
// thinned by process; the tables that say what the run was (processes, threads,
// devices, anomalies, probes, metadata, rings) are never left out, losses only by time.
type Filter struct {
	next   Sink
	o      FilterOptions
	plan   map[string]*choice
	from   int64
	to     int64
	begun  bool
	window bool

	out     correlate.Rows // what is passed on: tables of the input, or of own
	own     correlate.Rows // reused
	gone    map[string]*idSet
	late    *lateRows
	summary *correlate.Summary
}

// NewFilter returns a filter in front of a sink.
func NewFilter(next Sink, o FilterOptions) *Filter {
	f := &Filter{next: next, o: o, plan: planOf(&o), gone: map[string]*idSet{}}
	f.late = newLateRows(o.MaxMemory/8, o.TempDir)
	return f
}

// Starts tells the start of the trace, see [Window.Starts].
func (f *Filter) Starts(at event.Time) { f.o.Window.Starts(at) }

// Begin implements [Sink].
func (f *Filter) Begin(meta *event.Meta) error { return f.next.Begin(meta) }

// Abort implements [Sink].
func (f *Filter) Abort() error {
	return Undone(f.next.Abort(), f.late.close())
}

// Write implements [Sink].
func (f *Filter) Write(r *correlate.Rows) error {
	if !f.begun {
		f.begun = true
		f.from, f.to = f.o.Window.Bounds()
		f.window = f.o.Window != nil
	}
	f.sift(r)
	if err := f.late.add(r); err != nil {
		return err
	}
	return f.next.Write(&f.out)
}

// End implements [Sink].
func (f *Filter) End(sum *correlate.Summary) error {
	err := f.late.each(f)
	if err == nil {
		err = f.next.Write(f.told(sum))
	}
	if cerr := f.late.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return f.next.End(f.summary)
}

// Summary returns what the output holds: the run's summary with the rows that
// were passed on. It is complete after End.
func (f *Filter) Summary() *correlate.Summary { return f.summary }

// LeftOut returns the rows left out, by table.
func (f *Filter) LeftOut() map[string]uint64 {
	sum := map[string]uint64{}
	for t, c := range f.plan {
		for _, n := range c.left {
			if n > 0 {
				sum[t] += n
			}
		}
	}
	return sum
}

// told returns the rows that say what is left out, and makes the summary of the
// output.
func (f *Filter) told(sum *correlate.Summary) *correlate.Rows {
	out := &correlate.Rows{}
	for r, spec := range reasonSpecs {
		if spec == nil {
			continue
		}
		if n, what := f.listCounts(reason(r)); n > 0 {
			out.Anomalies = append(out.Anomalies, correlate.AnomalyRow{Name: spec.Name, Severity: spec.Severity.String(), Count: n,
				Doc: spec.Doc, Remedy: spec.Remedy, Sample: what})
		}
	}
	if f.o.Said != "" {
		out.Metadata = append(out.Metadata, correlate.Metadata{Key: "export.options", Value: f.o.Said})
	}
	if f.o.Detail > 0 {
		out.Metadata = append(out.Metadata, correlate.Metadata{Key: "export.size_limit", Value: "left out: " + f.Dropped()})
	}
	s := *sum
	s.Rows = map[string]uint64{}
	for t, n := range sum.Rows {
		s.Rows[t] = n
	}
	for t, n := range f.LeftOut() {
		s.Rows[t] -= min(n, s.Rows[t])
		out.Metadata = append(out.Metadata, correlate.Metadata{Key: "export.left_out." + t, Value: fmt.Sprint(n)})
	}
	sortMetadata(out.Metadata)
	s.Rows["anomalies"] += uint64(len(out.Anomalies))
	s.Rows["metadata"] += uint64(len(out.Metadata))
	f.summary = &s
	return out
}

// Text says in one line what is left out, or "".
func (f *Filter) Text() string {
	var parts []string
	for r, spec := range reasonSpecs {
		if spec == nil {
			continue
		}
		if n, what := f.listCounts(reason(r)); n > 0 {
			parts = append(parts, strings.TrimPrefix(spec.Name, "left_out_")+": "+what)
		}
	}
	return strings.Join(parts, "; ")
}

// listCounts sums what was left out by table and lists them in the order of the tables.
func (f *Filter) listCounts(r reason) (n uint64, text string) {
	var parts []string
	for _, t := range correlate.Tables {
		if c := f.plan[t.Name].left[r]; c > 0 {
			n += c
			parts = append(parts, fmt.Sprintf("%d %s", c, t.Name))
		}
	}
	return n, strings.Join(parts, ", ")
}
