package report

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

func num(n int64) string { return fmt.Sprint(n) }

// count prints a number of things: "1 job", "3 jobs".
func count[N int | int64 | uint64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// percent prints part of whole, "-" if there is no whole.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

func orUnknown(s string) string { return cmp.Or(clip(clean(s)), "unknown") }

// clip takes the middle out of a long name, so that lines fit.
func clip(s string) string { return clipTo(s, 36) }

func clipTo(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-(most-most/2)+1:])
}

// prefix returns the begin of a name, to search for.
func prefix(s string) string {
	r := []rune(clean(s))
	return string(r[:min(len(r), 40)])
}

// unit names n rows of a table.
func unit(table string, n uint64) string {
	s := words(table)
	if table == "sched" {
		s = "turns of threads on CPUs"
	}
	if n != 1 {
		return s
	}
	if table == "sched" {
		return "turn of a thread on a CPU"
	}
	if strings.HasSuffix(s, "ies") {
		return strings.TrimSuffix(s, "ies") + "y"
	}
	return strings.TrimSuffix(s, "s")
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

// duration prints nanoseconds with three to four significant digits, and none
// that times of the resolution do not have.
func duration(ns, resolution int64) string {
	switch a := max(ns, -ns); {
	case a < 0: // the least number has no opposite
		return longTime(ns)
	case a < 1_000 && (resolution < 1_000 || a%1_000 != 0):
		return fmt.Sprintf("%d ns", ns)
	case a < 1_000_000 && resolution >= 1_000:
		return fmt.Sprintf("%d µs", ns/1_000)
	case a < 1_000_000:
		return fmt.Sprintf("%.2f µs", float64(ns)/1e3)
	case a < 1_000_000_000:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	case a < 600_000_000_000:
		return fmt.Sprintf("%.3f s", float64(ns)/1e9)
	}
	return longTime(ns)
}

// Duration prints nanoseconds for people, as the report does.
func Duration(ns int64) string { return duration(ns, 1) }

// longTime prints what takes ten minutes and more.
func longTime(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -max(ns, -1<<63+1)
	}
	switch s := ns / 1e9; {
	case s < 3600:
		return fmt.Sprintf("%s%d min %d s", sign, s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%s%d h %d min", sign, s/3600, s/60%60)
	default:
		return fmt.Sprintf("%s%d d %d h", sign, s/86400, s/3600%24)
	}
}

func (r *Report) dur(ns int64) string { return duration(ns, r.ResolutionNS) }

// at prints when something was, from the begin of the run.
func (r *Report) at(ns int64) string {
	if r.StartNS == nil {
		return r.dur(ns)
	}
	return "+" + r.dur(ns-*r.StartNS)
}

// causeWords says an idle cause in a sentence.
var causeWords = map[string]string{
	"nothing_submitted":  "because nothing was submitted to it",
	"dependency":         "because its queued jobs waited for other work (dependency)",
	"scheduling_latency": "although a job was ready: the scheduler had not handed it over yet (scheduling latency)",
	"in_reset":           "in a reset",
	"launch_latency":     "between the call that launched the next work and its start (launch latency)",
}

func ringName(gpu, ring string) string {
	switch {
	case ring == "" && gpu == "":
		return "The GPU"
	case ring == "":
		return "GPU " + clip(clean(gpu))
	case gpu == "":
		return "Ring " + clip(clean(ring))
	}
	return "Ring " + clip(clean(ring)) + " of GPU " + clip(clean(gpu))
}

// processName names a process: "python3 144".
func processName(name string, pid *int64) string {
	n := cmp.Or(clipTo(clean(name), 24), "process")
	if pid == nil {
		return n
	}
	return fmt.Sprintf("%s %d", n, *pid)
}
