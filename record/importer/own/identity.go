package own

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/gpurec/gpurec/record/event"
)

// ProcessName takes off the mark of a process that was deduced
// (docs/perfetto.md), and reports whether it was there.
func ProcessName(label string) (name string, inferred bool) {
	return strings.CutSuffix(label, " (tid)")
}

// CounterName is the name that a sampled counter had before its export: some
// names are those of gpurec's own counters.
func CounterName(name string) string {
	switch s, ok := strings.CutSuffix(name, " (sampled)"); s {
	case "utilisation", "backlog", "resets", "idle":
		if ok {
			return s
		}
	}
	return name
}

// DeviceTrack gives the event of a device, from the name of its track, "GPU 0
// (name)" or "GPU 0", and its description, "device 0000:04:00.0, driver x, version y". It
// returns its number, -1 if it has none, and what jobs call it, "" if nothing
// names it.
func (m *Mapper) DeviceTrack(title, description string) (number int64, device string) {
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
	label, name, _ := strings.Cut(title, "(")
	name = strings.TrimSuffix(name, ")")
	number, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(label, "GPU ")), 10, 32)
	if err != nil {
		number = -1
	}
	if v.device == "" { // as jobs and activities call it
		v.device = name
	}
	if v.device == "" || strings.HasPrefix(title, "GPU unknown") {
		return -1, ""
	}
	e := m.Add(event.KindDevice, event.NoTime)
	e.Source = m.Source
	e.SetStr(event.FieldDevice, v.device)
	if name != v.driver && name != v.device {
		e.SetStr(event.FieldName, name)
	}
	e.SetStr(event.FieldDriver, v.driver)
	e.SetStr(event.FieldVersion, v.version)
	e.SetStr(event.FieldHost, v.host)
	// A device that is known by its number alone is numbered by it again.
	if n, err := strconv.ParseInt(strings.TrimLeft(strings.TrimLeftFunc(v.device, unicode.IsLetter), " "), 10, 32); err == nil {
		e.SetInt(event.FieldOrdinal, n)
	}
	return number, v.device
}
