package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/merge"
)

// origin takes what is known of where, when and of what a trace was made.
func (i *info) origin(m *event.Meta) {
	i.Command, i.ExitStatus, i.Host = m.Command, optPtr(m.ExitStatus), infoHost(m.Host)
	i.Source = m.Format
	i.Inputs = append(i.Inputs, m.Inputs...)
	if m.Tool != "" {
		i.WrittenBy = strings.TrimSpace(m.Tool + " " + m.ToolVersion)
	}
	start := m.Start
	if !start.OK && i.StartNS != nil {
		start = event.Some(event.Time(*i.StartNS))
	}
	if start.OK {
		i.RecordedNS = unixTime(m, start.V)
	}
}

// leastUnix is a time before which no GPU was traced (9 September 2001): a
// clock that is called realtime and shows less counts from something else.
const leastUnix = int64(1e18)

// unixTime converts a time of a trace's clock to Unix time, nil if nothing
// relates the two.
func unixTime(m *event.Meta, t event.Time) *int64 {
	if base, ok := merge.UnixBase(m); ok {
		t += event.Time(base)
	} else if c, err := clock.NewMap(m.Snapshots, m.Clock, event.ClockRealtime); err == nil {
		t = c.Convert(t)
	} else {
		return nil
	}
	if int64(t) < leastUnix {
		return nil
	}
	return new(int64(t))
}

// writeOrigin writes a line for each thing that is known; what is not has none.
func (i *info) writeOrigin(w io.Writer) {
	line := func(key, text string) {
		if text = oneLine(text); text != "" {
			fmt.Fprintf(w, "%s\t%s\n", key, text)
		}
	}
	if len(i.Inputs) > 0 {
		line("source", i.Source+": "+strings.Join(i.Inputs, ", "))
	}
	if len(i.Command) > 0 {
		s := shellWords(i.Command)
		if i.ExitStatus != nil {
			s += fmt.Sprintf(" (exit status %d)", *i.ExitStatus)
		}
		line("command", s)
	}
	if i.RecordedNS != nil {
		line("recorded", time.Unix(0, *i.RecordedNS).UTC().Format("2006-01-02 15:04:05.000 UTC"))
	}
	line("host", i.Host.text())
	for _, d := range slices.SortedStableFunc(slices.Values(i.Devices), func(a, b infoDevice) int { return cmp.Compare(a.GPU, b.GPU) }) {
		line(fmt.Sprintf("GPU %d", d.GPU), d.text())
	}
}

// formatText is the input's format and, of a log, what wrote it.
func (i *info) formatText() string {
	if i.WrittenBy == "" {
		return i.Format
	}
	return oneLine(i.Format + ", written by " + i.WrittenBy)
}

func (h *infoHost) text() string {
	var more []string
	add := func(s string) {
		if s != "" {
			more = append(more, s)
		}
	}
	kernel := h.Kernel
	if kernel != "" && kernel[0] >= '0' && kernel[0] <= '9' { // else a profiler's own words
		kernel = "Linux " + kernel
	}
	add(strings.TrimSpace(kernel + " " + h.Machine))
	if h.CPUs > 0 {
		add(fmt.Sprintf("%d CPUs", h.CPUs))
	}
	if h.BootID != "" {
		add("boot " + h.BootID)
	}
	if len(more) == 0 {
		return h.Name
	}
	name := h.Name
	if name == "" || name == "(none)" { // what the kernel calls a machine without a name
		name = "unnamed"
	}
	return name + " (" + strings.Join(more, ", ") + ")"
}

// text says what is known of a device besides its number.
func (d *infoDevice) text() string {
	driver := strings.TrimSpace(d.Driver + " " + d.Version)
	if d.Rule != "source" && driver != "" {
		driver += ", inferred"
	}
	identity := (&correlate.Device{Device: d.Device}).Identity()
	more := strings.Trim(identity+", "+driver, ", ")
	switch name := cmp.Or(d.Name, identity); {
	case name == "":
		return cmp.Or(driver, "unnamed")
	case name == identity:
		more = driver
		fallthrough
	default:
		return strings.TrimSuffix(name+" ("+more+")", " ()")
	}
}

// shellWords writes a command so that a shell would read the same words.
func shellWords(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`&|;<>()*?[]{}!#~") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
