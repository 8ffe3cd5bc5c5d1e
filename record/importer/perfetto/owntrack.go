package perfetto

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// ownTrack knows the tracks that gpurec's export draws.
func (r *reader) ownTrack(t *track, description string) {
	switch {
	case t.name == "gpurec" && t.kind == trackPlain && t.parent == 0:
		t.ours = true
		if _, c, ok := strings.Cut(description, "clock="); ok {
			if c, ok := strings.CutSuffix(c, ", unaligned"); ok && len(c) < 64 {
				r.meta.Clock = event.Clock(c)
				r.clocks.axis = r.meta.Clock != event.ClockBoottime
			}
		}
	case t.kind == trackPlain && ownGPU(t.name, description) && t.parent == 0 && !t.counter:
		t.ours = true
		_, device := r.own.DeviceTrack(t.name, description)
		t.device = r.str([]byte(device))
	case t.counter:
		t.derived = description == "Jobs queued and not yet done." || strings.HasPrefix(description, "Share of each window in which ") ||
			strings.HasSuffix(t.name, " jobs in flight") && t.unit == "jobs" || t.name == "queued, not drawn" && t.unit == "jobs" ||
			t.name == "backlog" && t.unit == "activities"
	}
}

// ownGPU reports whether a track's name is that of a GPU: "GPU 0 (name)", or
// "GPU 0" where nothing but a number is known of it.
func ownGPU(name, description string) bool {
	n, ok := strings.CutPrefix(name, "GPU ")
	return ok && (strings.HasSuffix(n, ")") || n != "" && strings.Trim(n, "0123456789") == "" && strings.HasPrefix(description, "device "))
}
