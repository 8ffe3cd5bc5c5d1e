package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// maxRows is how many lines a table of the text form shows; the JSON form has all.
const maxRows = 15

// WriteText prints the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.head(r)
	p.rings(r)
	p.calls(r)
	p.ioctls(r)
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

// table prints rows of equal length under a head, numbers to the right.
func (p *printer) table(title, head string, n int, row func(i int) string) {
	if n == 0 || p.err != nil {
		return
	}
	p.f("\n%s\n", title)
	tw := tabwriter.NewWriter(p.w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%s\t\n", head)
	for i := range min(n, maxRows) {
		fmt.Fprintf(tw, "%s\t\n", row(i))
	}
	if err := tw.Flush(); p.err == nil {
		p.err = err
	}
	if n > maxRows {
		p.f("  … and %d more (--json has all)\n", n-maxRows)
	}
}

func (p *printer) head(r *Report) {
	if len(r.Command) > 0 {
		p.f("command   %s", strings.Join(r.Command, " "))
		if r.ExitStatus != nil {
			p.f("   (exit status %d)", *r.ExitStatus)
		}
		p.f("\n")
	}
	if r.StartNS != nil {
		p.f("recorded  %s, clock %s\n", dur(*r.EndNS-*r.StartNS), r.Clock)
	} else {
		p.f("recorded  no event has a time, clock %s\n", r.Clock)
	}
	var parts []string
	for _, t := range []string{"api_calls", "ioctls", "jobs", "fence_waits", "gpu_activities", "slices", "sched"} {
		if n := r.Rows[t]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t))
		}
	}
	p.f("rows      %s\n", cmp.Or(strings.Join(parts, ", "), "none"))
}

func (p *printer) rings(r *Report) {
	p.table("GPU rings (queue delay: queued to handed to the hardware; device time: on the hardware)",
		"GPU\tring\tjobs\tdone\tbusy\tidle\tmax backlog\tqueue delay p50\tp90\tp99\tmax\tdevice time p50\tp90\tp99\tmax", len(r.Rings), func(i int) string {
			x := &r.Rings[i]
			return fmt.Sprintf("%s\t%s\t%d\t%d\t%s\t%s\t%d\t%s\t%s", cmp.Or(x.GPU, "unknown"), cmp.Or(x.Ring, "unknown"),
				x.Jobs, x.Done, dur(x.BusyNS), dur(x.IdleNS), x.MaxBacklog, quantiles(&x.QueueDelay), quantiles(&x.DeviceTime))
		})
	type gap struct {
		gpu, ring string
		IdleCause
	}
	var gaps []gap
	for i := range r.Rings {
		for _, c := range r.Rings[i].IdleByCause {
			gaps = append(gaps, gap{r.Rings[i].GPU, r.Rings[i].Ring, c})
		}
	}
	p.table("Why rings stood idle", "GPU\tring\tcause\tgaps\ttime", len(gaps), func(i int) string {
		g := gaps[i]
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%s", cmp.Or(g.gpu, "unknown"), cmp.Or(g.ring, "unknown"), strings.ReplaceAll(g.Cause, "_", " "), g.Count, dur(g.SumNS))
	})
	p.table("Work on the device", "kind\tcount\ttime\tp50\tp90\tp99\tmax", len(r.Activities), func(i int) string {
		a := &r.Activities[i]
		return fmt.Sprintf("%s\t%d\t%s\t%s", a.Kind, a.Time.Count, dur(a.Time.SumNS), quantiles(&a.Time))
	})
}

func (p *printer) calls(r *Report) {
	p.table("API calls by time", "function\tcalls\ttime\tp50\tp90\tp99\tmax\tfailed\tnot returned", len(r.API), func(i int) string {
		a := &r.API[i]
		return fmt.Sprintf("%s\t%d\t%s\t%s\t%d\t%d", a.Name, a.Calls, total(&a.Time), quantiles(&a.Time), a.Failed, a.Open)
	})
}

func (p *printer) ioctls(r *Report) {
	p.table("Ioctls by time", "driver\tname\trole\tcalls\ttime\tp50\tp90\tp99\tmax", len(r.Ioctls), func(i int) string {
		a := &r.Ioctls[i]
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", cmp.Or(a.Driver, "unknown"), a.Name, a.Role, a.Calls, total(&a.Time), quantiles(&a.Time))
	})
	p.table("Failed ioctls", "driver\tname\terror\tcount", len(r.FailedIoctls), func(i int) string {
		a := &r.FailedIoctls[i]
		return fmt.Sprintf("%s\t%s\t%s (%d)\t%d", cmp.Or(a.Driver, "unknown"), a.Name, a.Error, a.Errno, a.Count)
	})
}

func (p *printer) unmatched(r *Report) {
	p.table("Rows without a partner, and why", "table\tpartner\treason\tcount", len(r.Unmatched), func(i int) string {
		u := &r.Unmatched[i]
		return fmt.Sprintf("%s\t%s\t%s\t%d", u.Table, u.Link, strings.ReplaceAll(u.Reason, "_", " "), u.Count)
	})
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
	case len(r.Losses) == 0:
		p.f("\nlosses    none\n")
	case unknown > 0:
		p.f("\nlosses    %d events in %d gaps, and %d gaps of unknown size\n", lost, len(r.Losses)-unknown, unknown)
	default:
		p.f("\nlosses    %d events in %d gaps\n", lost, len(r.Losses))
	}
	if len(r.Losses) > 0 {
		p.f("          %s\n", r.Losses[0].Remedy)
	}
	for _, a := range r.Anomalies {
		p.f("%-9s %s: %d", a.Severity, a.Name, a.Count)
		if a.Sample != "" {
			p.f(" (first at %s)", a.Sample)
		}
		p.f("; %s\n", a.Remedy)
	}
}

func total(s *Stats) string {
	if s.Count == 0 {
		return "-"
	}
	return dur(s.SumNS)
}

func quantiles(s *Stats) string {
	if s.Count == 0 {
		return "-\t-\t-\t-"
	}
	return dur(s.P50NS) + "\t" + dur(s.P90NS) + "\t" + dur(s.P99NS) + "\t" + dur(s.MaxNS)
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
