package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

func fence(c, s uint64) string {
	return strconv.FormatUint(c, 10) + ":" + strconv.FormatUint(s, 10)
}

func lossText(l *correlate.Loss) string {
	s := "losses:" + strconv.FormatInt(int64(l.ID), 10)
	if l.Count.OK {
		s += ", " + strconv.FormatUint(l.Count.V, 10) + " events"
	}
	if l.Stream != "" {
		s += " of " + l.Stream
	}
	if l.CPU.OK {
		s += " on CPU " + strconv.FormatInt(l.CPU.V, 10)
	}
	return s
}

// facts are the columns that the text shows, in order; the times stand apart.
var facts = map[string][]string{
	"api_calls":      {"name", "api", "pid", "tid", "kernel_name", "stream", "bytes", "correlation_id", "result", "dur_ns", "end_kind"},
	"ioctls":         {"name", "role", "driver", "driver_rule", "pid", "tid", "fd", "result", "errno", "status", "dur_ns", "end_kind"},
	"jobs":           {"ring", "owner", "comm", "pid", "tid", "origin", "sched_job_id", "fence", "hw_fence", "low32", "client_id", "kernel_name", "queue_delay_ns", "hw_queue_ns", "device_time_ns", "elapsed_ns", "error", "runs", "fate", "fate_rule", "end_kind", "ring_rule", "device_rule"},
	"fences":         {"role", "driver", "timeline", "fence", "low32"},
	"fence_waits":    {"fence", "timeline", "pid", "tid", "driver", "wait_ns", "wake_ns", "timed_out", "end_kind"},
	"gpu_activities": {"kind", "name", "pid", "stream", "correlation_id", "bytes", "dur_ns"},
	"resets":         {"rule", "ring", "hw_fence", "log"},
}

// WriteText prints the chain for a person: a block a row with its facts, its
// moments since the first one, what leads to it, and what it misses.
func (c *Chain) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %d rows", c.Of, len(c.Rows))
	if c.ZeroNS != nil {
		fmt.Fprintf(b, "; times in µs since %d ns of the recording's clock", *c.ZeroNS)
	}
	b.WriteString("\n")
	for i := range c.Rows {
		c.row(b, &c.Rows[i])
	}
	if c.LeftOut > 0 {
		fmt.Fprintf(b, "\n%d more rows are left out; explain one of the jobs for its own chain\n", c.LeftOut)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Chain) row(b *strings.Builder, r *Row) {
	mark := ""
	if r.Row == c.Of {
		mark = "  ← asked for"
	}
	fmt.Fprintf(b, "\n%s%s\n", r.Row, mark)
	if s := r.facts(); s != "" {
		fmt.Fprintf(b, "    %s\n", s)
	}
	for _, m := range r.Moments {
		fmt.Fprintf(b, "    %14s  %s\n", micros(m.AtNS), strings.TrimSuffix(m.Column, "_ns"))
	}
	for i := range c.Links {
		l := &c.Links[i]
		if l.Dst != r.Row {
			continue
		}
		from := "from " + l.Src
		if l.Src == l.Dst {
			from = "itself"
		}
		fmt.Fprintf(b, "    %s by %s (%s%s)\n", from, l.Rule, l.Confidence, keyText(l))
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Row == r.Row {
			b.WriteString("    " + e.text() + "\n")
		}
	}
	for _, d := range c.Deps {
		if d.Job == r.Row || d.On == r.Row {
			b.WriteString("    " + d.text(r.Row) + "\n")
		}
	}
	for _, m := range c.Missing {
		if m.Row == r.Row {
			fmt.Fprintf(b, "    no %s: %s, %s", partner(m.Link), m.Reason, m.Meaning)
			if m.Loss != "" {
				fmt.Fprintf(b, " (%s)", m.Loss)
			}
			b.WriteString("\n")
		}
	}
}

// partners are the words for what a row can miss.
var partners = map[string]string{
	"api_call": "API call", "ioctl": "ioctl", "activity": "work on the device", "queue": "queueing", "run": "hand-over to the hardware",
	"done": "end on the hardware", "finished": "signal of its finished fence", "fence": "finished fence", "hw_fence": "hardware fence",
	"job": "job", "dependency": "job that it depends on", "enter": "begin", "exit": "end", "device": "device",
}

func partner(link string) string {
	if s, ok := partners[link]; ok {
		return s
	}
	return link
}

func keyText(l *Link) string {
	s := ""
	if l.Key != "" {
		s = ", key " + clean(l.Key)
	}
	if l.Section > 0 {
		s += ", section " + strconv.Itoa(l.Section)
	}
	return s
}

func (e *Said) text() string {
	s := "the driver told"
	if e.AtNS != nil {
		s += " at " + micros(*e.AtNS)
	}
	s += ": " + strings.ReplaceAll(clean(e.What), "_", " ")
	if e.Error != nil {
		s += ", error " + strconv.FormatInt(*e.Error, 10)
	}
	if e.Args != "" {
		s += " " + clean(e.Args)
	}
	if e.Source != "" {
		s += " (" + clean(e.Source) + ")"
	}
	return s
}

func (d *Dep) text(me string) string {
	s := "depends on " + d.On
	switch {
	case d.Job != me:
		return d.Job + " depends on it (fence " + d.Fence + ")"
	case d.On == "":
		s = "depends on a fence of no job here"
	}
	s += " (fence " + d.Fence
	switch {
	case d.Waited == nil:
		s += ", not known whether it waited"
	case *d.Waited:
		s += ", not signalled when the scheduler looked"
	default:
		s += ", signalled already when the scheduler looked"
	}
	return s + ")"
}

func (r *Row) facts() string {
	var l []string
	for _, name := range facts[r.ref.Table] {
		if s := r.fact(name); s != "" {
			l = append(l, s)
		}
	}
	return strings.Join(l, ", ")
}

// fact is a column as the text shows it: names bare, numbers with their column.
func (r *Row) fact(name string) string {
	switch {
	case name == "fence" && r.ref.Table == "jobs":
		return r.pair("fence ", "fence_context", "fence_seqno")
	case name == "hw_fence" && r.ref.Table == "jobs":
		return r.pair("hardware fence ", "hw_fence_context", "hw_fence_seqno")
	case name == "fence":
		return r.pair("", "context", "seqno")
	case name == "runs" && (r.Columns[name] == int64(1) || r.Columns[name] == int64(0)):
		return "" // what is missing says so
	case strings.HasSuffix(name, "_rule") && r.Columns[name] == "source":
		return ""
	}
	v, ok := r.Columns[name]
	if !ok {
		return ""
	}
	switch x := v.(type) {
	case uint64:
		if name == "client_id" && x >= 1<<64-256 {
			return fmt.Sprintf("client id 2^64-%d (no client's: the driver's own job)", -x)
		}
	case string:
		switch name {
		case "comm", "name", "ring", "role", "kind", "driver", "timeline", "kernel_name", "api":
			return clean(x)
		}
		return strings.ReplaceAll(strings.TrimSuffix(name, "_kind"), "_", " ") + " " + clean(x)
	case int64:
		if base, isTime := strings.CutSuffix(name, "_ns"); isTime {
			return strings.ReplaceAll(base, "_", " ") + " " + strings.TrimPrefix(micros(x), "+") + " µs"
		}
		if name == "errno" {
			return "errno " + strconv.FormatInt(x, 10)
		}
	case bool:
		if !x {
			return ""
		}
		return strings.ReplaceAll(name, "_", " ")
	}
	return strings.ReplaceAll(name, "_", " ") + " " + fmt.Sprint(v)
}

func (r *Row) pair(title, c, s string) string {
	x, ok1 := number(r.Columns[c])
	y, ok2 := number(r.Columns[s])
	if !ok1 || !ok2 {
		return ""
	}
	return title + fence(x, y)
}

func number(v any) (uint64, bool) {
	x, ok := v.(uint64)
	return x, ok
}

// micros prints nanoseconds as signed microseconds, exactly.
func micros(ns int64) string {
	sign, u := "+", uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	return fmt.Sprintf("%s%d.%03d", sign, u/1000, u%1000)
}

// clean keeps control characters of a trace off the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}
