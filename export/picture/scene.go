package picture

import "github.com/gpurec/gpurec/record/event"

// scene tells the pen of the whole trace.
func (d *drawer) scene() *Scene {
	d.gpurec = &Track{Name: "gpurec", Ordered: true, Group: true, Description: d.about()}
	return &Scene{Start: d.start, End: d.end, Meta: &d.sum.Meta, About: d.gpurec.Description, ClockNote: d.clockNote(),
		Devices: d.devices, Processes: d.procs, Anomalies: d.listAnomalies, Counters: &d.m.counters}
}

func (d *drawer) about() string {
	s := "What gpurec itself has to say about the trace."
	if d.o.o.Tool != "" {
		s = d.o.o.Tool
	}
	if c := d.clockNote(); c != "" {
		s += "; " + c
	}
	return s
}

// clockNote says that the times are not BOOTTIME, or "".
func (d *drawer) clockNote() string {
	c := d.sum.Meta.Clock
	if c == event.ClockBoottime {
		return ""
	}
	if c == "" {
		c = event.ClockUnknown
	}
	return "clock=" + string(c) + ", unaligned"
}
