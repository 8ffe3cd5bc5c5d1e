package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// The text form fits two screens: so many lines of so many columns.
const (
	maxLines   = 100
	maxColumns = 120
	maxRows    = 15 // of a table, if there is room
	minRows    = 2
	maxShown   = 8 // findings
)

// WriteText prints the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	var head []string
	tables := r.tables()
	shown, rows := maxShown, maxRows
	for {
		head = append(r.head(), r.findingLines(shown)...)
		head = append(head, r.notKnownLines()...)
		n := len(head) + len(r.tail())
		for _, t := range tables {
			n += t.lines(rows)
		}
		if n <= maxLines {
			break
		}
		if rows > minRows {
			rows--
		} else if shown > 3 {
			shown--
		} else if len(tables) > 1 {
			tables = tables[:len(tables)-1]
		} else {
			break
		}
	}
	for _, t := range tables {
		head = append(head, t.print(rows)...)
	}
	for _, l := range append(head, r.tail()...) {
		if _, err := fmt.Fprintf(w, "%s\n", strings.TrimRight(l, " ")); err != nil {
			return err
		}
	}
	return nil
}

// table is a table of the text form.
type table struct {
	title string
	text  int // columns of text, which stand first and to the left; numbers stand to the right
	head  []string
	rows  [][]string // each with as many cells as the head
}

// lines returns how many lines the table takes with at most so many rows.
func (t *table) lines(most int) int {
	switch n := len(t.rows); {
	case n == 0:
		return 0
	case n > most:
		return most + 4
	default:
		return n + 3
	}
}

// dropZeros takes out the columns about trouble in which there is none.
func (t *table) dropZeros() {
	for c := len(t.head) - 1; c >= 0; c-- {
		switch t.head[c] {
		case "failed", "no return", "timed out":
		default:
			continue
		}
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return r[c] != "0" && r[c] != "" }) {
			t.head = slices.Delete(slices.Clone(t.head), c, c+1)
			for i, r := range t.rows {
				t.rows[i] = slices.Delete(slices.Clone(r), c, c+1)
			}
		}
	}
}

// room is how wide a column may be: what the others leave of a line.
func (t *table) room(column int) int {
	n := maxColumns - 2
	for c := range t.head {
		if c == column {
			continue
		}
		w := utf8.RuneCountInString(t.head[c])
		for _, row := range t.rows[:min(len(t.rows), maxRows)] {
			w = max(w, utf8.RuneCountInString(row[c]))
		}
		n -= 2 + w
	}
	return n
}

func (t *table) print(most int) []string {
	if len(t.rows) == 0 {
		return nil
	}
	t.dropZeros()
	shown := t.rows[:min(len(t.rows), most)]
	width := make([]int, len(t.head))
	all := append([][]string{t.head}, shown...)
	for _, row := range all {
		for c, s := range row {
			width[c] = max(width[c], utf8.RuneCountInString(s))
		}
	}
	out := []string{"", t.title}
	for _, row := range all {
		var b strings.Builder
		for c, s := range row {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(s))
			if c < t.text || t.head[c] == barHead {
				b.WriteString("  " + s + pad)
			} else {
				b.WriteString("  " + pad + s)
			}
		}
		out = append(out, clipEnd(strings.TrimRight(b.String(), " "), maxColumns))
	}
	if n := len(t.rows) - len(shown); n > 0 {
		out = append(out, fmt.Sprintf("  … and %d more (--json has all)", n))
	}
	return out
}

func (r *Report) head() []string {
	var out []string
	if len(r.Command) > 0 {
		l := "command   " + clipTo(clean(strings.Join(r.Command, " ")), 80)
		if r.ExitStatus != nil {
			l += "   (" + exitStatus(*r.ExitStatus) + ")"
		}
		out = append(out, l)
	}
	clock := "clock " + cmp.Or(r.Clock, "unknown")
	if r.ResolutionNS > 1 {
		clock += ", times in whole µs"
	}
	if r.StartNS != nil && r.span() == 0 && *r.EndNS != *r.StartNS {
		out = append(out, "span      more than 292 years, if its times are right, "+clock)
	} else if r.StartNS != nil {
		out = append(out, fmt.Sprintf("span      %s from the first event to the last, %s; +times below count from the first", r.dur(*r.EndNS-*r.StartNS), clock))
	} else {
		out = append(out, "span      no event has a time, "+clock)
	}
	var parts []string
	for _, t := range happened {
		if n := r.Rows[t]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit(t, n)))
		}
	}
	out = append(out, wrap("holds     "+cmp.Or(strings.Join(parts, ", "), "nothing"), "          ")...)
	return append(out, r.workLines()...)
}

// workLines sums up what the GPUs and the processes did.
func (r *Report) workLines() []string {
	var out []string
	for i, d := range r.Devices {
		if i == 4 {
			return append(out, fmt.Sprintf("          … and %d more GPUs (--json has all)", len(r.Devices)-i))
		}
		name := "gpu       GPU " + orUnknown(d.GPU)
		what := count(d.Count, "job")
		if d.MeasuredBy == byActivities {
			what = count(d.Count, "piece") + " of work"
		}
		l := fmt.Sprintf("%s: busy %s of %s", name, r.dur(d.BusyNS), r.dur(*d.LastNS-*d.FirstNS))
		if d.BusyRatio != nil {
			l += fmt.Sprintf(" (%.1f %%)", 100**d.BusyRatio)
		}
		out = append(out, wrap(l+fmt.Sprintf(" from its first to its last work, %s", what), "          ")...)
	}
	return out
}

// happened are the tables of things that happened.
var happened = []string{
	"resets", "api_calls", "ioctls", "jobs", "fence_waits", "gpu_activities", "slices", "sched",
	"irqs", "mem_maps", "counters", "marks", "samples", "log_lines", "others",
}

// exitStatus names the signal that a status above 128 stands for.
func exitStatus(n int) string {
	if n > 128 && n <= 128+31 {
		return fmt.Sprintf("exit status %d: %v", n, syscall.Signal(n-128))
	}
	return fmt.Sprintf("exit status %d", n)
}

// findingLines prints what stands out.
func (r *Report) findingLines(most int) []string {
	out := []string{"", "What stands out"}
	if len(r.Findings) == 0 {
		return append(out, "  nothing: no rule of docs/report.md applies")
	}
	explain := false
	for i := range r.Findings {
		if i == most {
			out = append(out, fmt.Sprintf("  … and %d more (--json has all)", len(r.Findings)-i))
			break
		}
		f := &r.Findings[i]
		out = append(out, wrap(fmt.Sprintf("%3d. %s: %s", i+1, f.Level, f.Text), "     ")...)
		out = append(out, r.show(f)...)
		explain = explain || f.Explain != ""
	}
	if explain {
		out = append(out, wrap(fmt.Sprintf("     (--explain: gpurec correlate %s --explain ID shows the whole chain; gpurec open %[1]s opens Perfetto)", r.input()), "      ")...)
	}
	return out
}

// show says when and where a finding is and what shows it.
func (r *Report) show(f *Finding) []string {
	var parts []string
	if f.StartNS != nil {
		s := r.at(*f.StartNS)
		if f.EndNS != nil && *f.EndNS != *f.StartNS {
			s += " to " + r.at(*f.EndNS)
		}
		parts = append(parts, s)
	}
	if len(f.Processes) > 0 {
		s := f.Processes[0]
		if n := len(f.Processes); n > 1 {
			s += fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, s)
	}
	if f.Search != "" {
		parts = append(parts, fmt.Sprintf("Perfetto: search %q", f.Search))
	}
	if f.Explain != "" {
		parts = append(parts, "--explain "+f.Explain)
	}
	if len(parts) == 0 {
		return nil
	}
	return wrap("     → "+strings.Join(parts, " · "), "       ")
}

// clipEnd cuts what is too long for a line.
func clipEnd(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func (r *Report) notKnownLines() []string {
	if len(r.NotKnown) == 0 {
		return nil
	}
	out := []string{"", "What this log cannot tell"}
	for _, n := range r.NotKnown {
		l := "  - " + clean(n.What) + ": " + clean(n.Why)
		if n.Remedy != "" {
			l += ". Remedy: " + clean(n.Remedy)
		}
		out = append(out, wrap(l, "    ")...)
	}
	return out
}

// wrap breaks a text at blanks; the lines after the first begin with indent.
func wrap(s, indent string) []string {
	var out []string
	for {
		r := []rune(s)
		if len(r) <= maxColumns {
			return append(out, s)
		}
		at := maxColumns
		for at > len(indent)+1 && r[at] != ' ' {
			at--
		}
		if at <= len(indent)+1 {
			at = maxColumns
		}
		out = append(out, string(r[:at]))
		s = indent + strings.TrimLeft(string(r[at:]), " ")
	}
}

// tail prints losses and anomalies.
func (r *Report) tail() []string {
	out := []string{""}
	switch {
	case r.Lost.Gaps == 0 && slices.ContainsFunc(r.Anomalies, noEnd):
		out = append(out, "losses    none known: those of the last moments stand at the end of a log, and this one has none")
	case r.Lost.Gaps == 0:
		out = append(out, "losses    none")
	case r.Lost.Unknown == r.Lost.Gaps:
		out = append(out, "losses    an unknown number of events in "+count(r.Lost.Gaps, "gap"))
	case r.Lost.Unknown > 0:
		out = append(out, fmt.Sprintf("losses    %s in %s, and %s of unknown size", count(r.Lost.Events, "event"), count(r.Lost.Gaps-r.Lost.Unknown, "gap"), count(r.Lost.Unknown, "gap")))
	default:
		out = append(out, fmt.Sprintf("losses    %s in %s", count(r.Lost.Events, "event"), count(r.Lost.Gaps, "gap")))
	}
	if len(r.Losses) > 0 {
		out = append(out, wrap("          "+clean(r.Losses[0].Remedy), "          ")...)
	}
	return append(out, r.anomalyLines()...)
}

// maxAnomalies bounds the anomalies of the text form, gravest first.
const maxAnomalies = 6

func (r *Report) anomalyLines() []string {
	grave := map[string]int{"error": 0, "data_loss": 1, "warning": 2, "info": 3}
	list := slices.Clone(r.Anomalies)
	slices.SortStableFunc(list, func(x, y Anomaly) int { return cmp.Compare(grave[x.Severity], grave[y.Severity]) })
	var out []string
	for i, a := range list {
		if i == maxAnomalies {
			return append(out, fmt.Sprintf("          … and %d more kinds of oddities (--json has all)", len(list)-i))
		}
		l := fmt.Sprintf("%-9s %s × %d", words(a.Severity), a.Name, a.Count)
		if a.Sample != "" {
			l += fmt.Sprintf(" (first at %s)", clipTo(clean(a.Sample), 40))
		}
		if a.Doc != "" {
			l += ": " + strings.TrimSuffix(clean(a.Doc), ".")
		}
		if a.Severity != "info" && a.Remedy != "" && a.Remedy != "none" {
			l += "; remedy: " + clean(a.Remedy)
		}
		out = append(out, wrap(l, "          ")...)
	}
	return out
}
