package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// maxRows is how many lines a table of the text form shows; the JSON form has all.
const maxRows = 15

// WriteText prints the report for a person: tables fit on 120 columns.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.head(r)
	p.rings(r)
	p.idle(r)
	p.activities(r)
	p.calls(r)
	p.ioctls(r)
	p.waits(r)
	p.unmatched(r)
	p.trouble(r)
	return p.err
}

// printer keeps the first error of its writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// layout says how a table is printed.
type layout struct {
	title string
	text  int // columns of text, which stand first and to the left; numbers stand to the right
	head  []string
	max   int // rows shown; 0 for maxRows
}

// table prints rows, each with as many cells as the head.
func (p *printer) table(l layout, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	shown := rows[:min(len(rows), cmp.Or(l.max, maxRows))]
	width := make([]int, len(l.head))
	for _, row := range append([][]string{l.head}, shown...) {
		for c, s := range row {
			width[c] = max(width[c], utf8.RuneCountInString(s))
		}
	}
	p.f("\n%s\n", l.title)
	for _, row := range append([][]string{l.head}, shown...) {
		var b strings.Builder
		for c, s := range row {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(s))
			if c < l.text {
				b.WriteString("  " + s + pad)
			} else {
				b.WriteString("  " + pad + s)
			}
		}
		p.f("%s\n", strings.TrimRight(b.String(), " "))
	}
	if n := len(rows) - len(shown); n > 0 {
		p.f("  … and %d more (--json has all)\n", n)
	}
}

func (p *printer) head(r *Report) {
	if len(r.Command) > 0 {
		p.f("command   %s", clean(strings.Join(r.Command, " ")))
		if r.ExitStatus != nil {
			p.f("   (%s)", exitStatus(*r.ExitStatus))
		}
		p.f("\n")
	}
	if r.StartNS != nil {
		p.f("recorded  %s, clock %s\n", dur(*r.EndNS-*r.StartNS), r.Clock)
	} else {
		p.f("recorded  no event has a time, clock %s\n", r.Clock)
	}
	var parts []string
	for _, t := range happened {
		if n := r.Rows[t]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t))
		}
	}
	p.f("rows      %s\n", cmp.Or(strings.Join(parts, ", "), "none"))
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

func (p *printer) rings(r *Report) {
	var rings, stages [][]string
	for i := range r.Rings {
		x := &r.Rings[i]
		if x.Jobs == 0 {
			continue // a device without rings: it is here for its idle time
		}
		gpu, ring := orUnknown(x.GPU), orUnknown(x.Ring)
		rings = append(rings, []string{gpu, ring, num(x.Jobs), num(x.Done), num(x.MaxBacklog), dur(x.BusyNS), dur(x.IdleNS), percent(x.BusyNS, x.BusyNS+x.IdleNS)})
		if len(rings) > maxRows {
			continue
		}
		for _, s := range []struct {
			name string
			*Stats
		}{{"queue delay", &x.QueueDelay}, {"hw queue", &x.HWQueue}, {"device time", &x.DeviceTime}} {
			if s.Count > 0 {
				stages = append(stages, append([]string{gpu, ring, s.name, num(int64(s.Count))}, quantiles(s.Stats)...))
			}
		}
	}
	p.table(layout{title: "GPU rings (busy: a job is on the hardware; max backlog: most jobs queued and not done)", text: 2,
		head: []string{"GPU", "ring", "jobs", "done", "max backlog", "busy", "idle", "busy %"}}, rings)
	p.table(layout{title: "Stages of jobs (queue delay: queued to handed over; hw queue: to its start; device time: to done)", text: 3,
		head: []string{"GPU", "ring", "stage", "jobs", "p50", "p90", "p99", "max"}, max: 3 * maxRows}, stages)
}

func (p *printer) idle(r *Report) {
	var rows [][]string
	for i := range r.Rings {
		x := &r.Rings[i]
		ring := orUnknown(x.Ring)
		if x.Jobs == 0 && x.Ring == "" {
			ring = "-"
		}
		var sum int64
		for _, c := range x.IdleByCause {
			sum += c.SumNS
		}
		for _, c := range x.IdleByCause {
			rows = append(rows, []string{orUnknown(x.GPU), ring, words(c.Cause), num(c.Count), dur(c.SumNS), percent(c.SumNS, sum)})
		}
	}
	p.table(layout{title: "Why GPUs stood idle", text: 3, head: []string{"GPU", "ring", "cause", "gaps", "time", "of idle %"}}, rows)
}

func (p *printer) activities(r *Report) {
	var rows [][]string
	for i := range r.Activities {
		a := &r.Activities[i]
		rows = append(rows, append([]string{clean(a.Kind), num(int64(a.Time.Count)), dur(a.Time.SumNS)}, quantiles(&a.Time)...))
	}
	p.table(layout{title: "Work on the device", text: 1, head: []string{"kind", "count", "time", "p50", "p90", "p99", "max"}}, rows)
}

func (p *printer) calls(r *Report) {
	var rows [][]string
	for i := range r.API {
		a := &r.API[i]
		row := append([]string{orUnknown(a.Name), num(int64(a.Calls)), total(&a.Time)}, quantiles(&a.Time)...)
		rows = append(rows, append(row, num(int64(a.Failed)), num(int64(a.Open))))
	}
	p.table(layout{title: "API calls by time", text: 1,
		head: []string{"function", "calls", "time", "p50", "p90", "p99", "max", "failed", "no return"}}, rows)
}

func (p *printer) ioctls(r *Report) {
	var rows [][]string
	for i := range r.Ioctls {
		a := &r.Ioctls[i]
		rows = append(rows, append([]string{orUnknown(a.Driver), orUnknown(a.Name), a.Role, num(int64(a.Calls)), total(&a.Time)}, quantiles(&a.Time)...))
	}
	p.table(layout{title: "Ioctls by time", text: 3, head: []string{"driver", "name", "role", "calls", "time", "p50", "p90", "p99", "max"}}, rows)
	rows = nil
	for i := range r.FailedIoctls {
		a := &r.FailedIoctls[i]
		rows = append(rows, []string{orUnknown(a.Driver), orUnknown(a.Name), fmt.Sprintf("%s (%d)", a.Error, a.Errno), num(int64(a.Count))})
	}
	p.table(layout{title: "Failed ioctls", text: 3, head: []string{"driver", "name", "error", "count"}}, rows)
}

func (p *printer) waits(r *Report) {
	if s := &r.FenceWaits; s.Count > 0 {
		p.table(layout{title: "Waits for fences", head: []string{"waits", "time", "p50", "p90", "p99", "max"}},
			[][]string{append([]string{num(int64(s.Count)), dur(s.SumNS)}, quantiles(s)...)})
	}
}

func (p *printer) unmatched(r *Report) {
	var rows [][]string
	for i := range r.Unmatched {
		u := &r.Unmatched[i]
		rows = append(rows, []string{u.Table, u.Link, words(u.Reason), num(int64(u.Count))})
	}
	p.table(layout{title: "Rows without a partner, and why", text: 3, head: []string{"rows of", "lack", "because", "count"}}, rows)
}

func (p *printer) trouble(r *Report) {
	var lost uint64
	unknown := 0
	for _, l := range r.Losses {
		if l.Count == nil {
			unknown++
			continue
		}
		lost += *l.Count
	}
	switch {
	case len(r.Losses) == 0 && slices.ContainsFunc(r.Anomalies, noEnd):
		p.f("\nlosses    none known: those of the last moments stand at the end of a log, and this one has none\n")
	case len(r.Losses) == 0:
		p.f("\nlosses    none\n")
	case unknown > 0:
		p.f("\nlosses    %d events in %d gaps, and %d gaps of unknown size\n", lost, len(r.Losses)-unknown, unknown)
	default:
		p.f("\nlosses    %d events in %d gaps\n", lost, len(r.Losses))
	}
	if len(r.Losses) > 0 {
		p.f("          %s\n", clean(r.Losses[0].Remedy))
	}
	for _, a := range r.Anomalies {
		p.f("%-9s %s: %d", a.Severity, a.Name, a.Count)
		if a.Sample != "" {
			p.f(" (first at %s)", clean(a.Sample))
		}
		if a.Remedy != "" && a.Remedy != "none" {
			p.f("\n          %s", clean(a.Remedy))
		}
		p.f("\n")
	}
}

// noEnd reports that the log's end, which completes the losses, was not read.
func noEnd(a Anomaly) bool { return a.Name == "log_unfinished" || a.Name == "log_cut" }

func total(s *Stats) string {
	if s.Count == 0 {
		return "-"
	}
	return dur(s.SumNS)
}

func quantiles(s *Stats) []string {
	if s.Count == 0 {
		return []string{"-", "-", "-", "-"}
	}
	return []string{dur(s.P50NS), dur(s.P90NS), dur(s.P99NS), dur(s.MaxNS)}
}

func num(n int64) string { return fmt.Sprint(n) }

// percent prints part of whole, "-" if there is no whole.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

func orUnknown(s string) string { return cmp.Or(clip(clean(s)), "unknown") }

// clip takes the middle out of a long name, so that lines fit.
func clip(s string) string {
	const most = 36
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// clean replaces what a terminal would obey: names come from files of others.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// dur prints nanoseconds with three to four significant digits.
func dur(ns int64) string {
	switch a := max(ns, -ns); {
	case a < 1_000:
		return fmt.Sprintf("%d ns", ns)
	case a < 1_000_000:
		return fmt.Sprintf("%.2f µs", float64(ns)/1e3)
	case a < 1_000_000_000:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	default:
		return fmt.Sprintf("%.3f s", float64(ns)/1e9)
	}
}
