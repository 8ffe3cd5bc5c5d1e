package perfetto

import (
	"strconv"
	"strings"
	"unicode"

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
		r.ownDevice(t, description)
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

// ownDevice reads "GPU 0 (name)", or "GPU 0", and "device 0000:04:00.0, driver x, version y".
func (r *reader) ownDevice(t *track, description string) {
	var v struct{ device, driver, version, host string }
	for _, part := range strings.Split(description, ", ") {
		key, val, _ := strings.Cut(part, " ")
		switch key {
		case "device":
			v.device = val
		case "driver":
			v.driver = val
		case "version":
			v.version = val
		case "host":
			v.host = val
		}
	}
	_, name, _ := strings.Cut(t.name, "(")
	name = strings.TrimSuffix(name, ")")
	if v.device == "" { // as jobs and activities call it
		v.device = name
	}
	t.device = v.device
	if v.device == "" || strings.HasPrefix(t.name, "GPU unknown") {
		t.device = ""
		return
	}
	e := r.add(event.KindDevice, event.NoTime)
	e.Source = "perfetto:track"
	e.SetStr(event.FieldDevice, r.str([]byte(v.device)))
	if name != v.driver && name != v.device {
		e.SetStr(event.FieldName, name)
	}
	e.SetStr(event.FieldDriver, v.driver)
	e.SetStr(event.FieldVersion, v.version)
	e.SetStr(event.FieldHost, v.host)
	// A device that is known by its number alone is numbered by it again.
	number := strings.TrimLeft(strings.TrimLeftFunc(v.device, unicode.IsLetter), " ")
	if n, err := strconv.ParseInt(number, 10, 32); err == nil {
		e.SetInt(event.FieldOrdinal, n)
	}
}
