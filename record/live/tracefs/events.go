package tracefs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/gpurec/gpurec/record/live"
)

// tracepoint is an event of the kernel: system:name.
type tracepoint struct{ system, name string }

func (t tracepoint) String() string { return t.system + ":" + t.name }

// NoEventError says that a pattern fits no event of this kernel.
type NoEventError struct{ Pattern string }

func (e *NoEventError) Error() string {
	return fmt.Sprintf("no event %s in this kernel: see available_events in tracefs, or load the driver that has it", e.Pattern)
}

// ErrNothing is returned by Attach if no event is left to record.
var ErrNothing = errors.New("no events are left to record through ftrace")

// Available lists the events of this kernel that fit any of the patterns, as
// "system:event".
func Available(patterns ...string) ([]string, error) {
	fs, err := Open()
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	all, err := fs.available()
	if err != nil {
		return nil, err
	}
	events, _, err := resolve(all, nil, patterns)
	var out []string
	for _, t := range events {
		out = append(out, t.String())
	}
	return out, err
}

// exclude splits events into those that no pattern fits, and the others.
func exclude(events []tracepoint, patterns []string) (kept, out []tracepoint) {
	for _, t := range events {
		fits := false
		for _, p := range patterns {
			ts, err := expand([]tracepoint{t}, p)
			fits = fits || err == nil && len(ts) > 0
		}
		if fits {
			out = append(out, t)
		} else {
			kept = append(kept, t)
		}
	}
	return kept, out
}

// oneGeneration leaves out the scheduler's older tracepoints where the newer
// ones tell of the same jobs.
func oneGeneration(events []tracepoint) (kept, out []tracepoint) {
	newer := func(t tracepoint) bool { return t.system == live.SchedSystem && t.name == "drm_sched_job_run" }
	if !slices.ContainsFunc(events, newer) {
		return events, nil
	}
	for _, t := range events {
		if t.system == live.SchedSystem && slices.Contains(live.OlderSched(), t.name) {
			out = append(out, t)
		} else {
			kept = append(kept, t)
		}
	}
	return kept, out
}

// available lists the kernel's events.
func (fs *FS) available() ([]tracepoint, error) {
	s, err := fs.read("available_events")
	if err != nil {
		return nil, err
	}
	var all []tracepoint
	for line := range strings.Lines(s) {
		sys, name, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			all = append(all, tracepoint{sys, name})
		}
	}
	return all, nil
}

// expand returns the events that fit a pattern: "system:event", "system/event",
// "system:" for all of a system, or "event" in any system; *, ? and [] as in a
// shell.
func expand(all []tracepoint, pattern string) ([]tracepoint, error) {
	sys, name, both := strings.Cut(strings.Replace(pattern, "/", ":", 1), ":")
	if !both {
		sys, name = "*", sys
	}
	if name == "" {
		name = "*"
	}
	var found []tracepoint
	for _, t := range all {
		s, err := path.Match(sys, t.system)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", pattern, err)
		}
		n, err := path.Match(name, t.name)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", pattern, err)
		}
		if s && n {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, &NoEventError{pattern}
	}
	return found, nil
}

// resolve expands all patterns, each event once, by name. Optional patterns
// that fit nothing are returned as missing; another is an error.
func resolve(all []tracepoint, patterns, optional []string) (events []tracepoint, missing []string, err error) {
	seen := make(map[tracepoint]bool)
	add := func(ts []tracepoint) {
		for _, t := range ts {
			if !seen[t] {
				seen[t] = true
				events = append(events, t)
			}
		}
	}
	for _, p := range patterns {
		ts, err := expand(all, p)
		if err != nil {
			return nil, nil, err
		}
		add(ts)
	}
	for _, p := range optional {
		ts, err := expand(all, p)
		if err != nil {
			missing = append(missing, p)
		}
		add(ts)
	}
	sort.Slice(events, func(i, j int) bool { return events[i].String() < events[j].String() })
	return events, missing, nil
}
