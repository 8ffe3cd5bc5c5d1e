package picture

import "github.com/gpurec/gpurec/record/event"

// What a picture cannot show as it is.
var (
	AnomalyNoTime = event.AnomalySpec{Name: "picture_no_time", Severity: event.SeverityWarning,
		Doc:    "Rows without any time: they cannot be drawn.",
		Remedy: "they are in the Parquet export"}
	AnomalyFarTime = event.AnomalySpec{Name: "picture_far_time", Severity: event.SeverityWarning,
		Doc:    "Times more than 146 years from the clock's 0: taken as unknown, since traces cannot hold them.",
		Remedy: "look at the clocks of the source; they are in the Parquet export"}
	AnomalyNoThread = event.AnomalySpec{Name: "picture_no_thread", Severity: event.SeverityInfo,
		Doc:    "Rows that name neither thread nor process: drawn under gpurec, no thread.",
		Remedy: "record with thread ids (ftrace: the task column)"}
	AnomalyOverlap = event.AnomalySpec{Name: "picture_overlapping", Severity: event.SeverityWarning,
		Doc:    "Slices that do not lie inside the one around them: drawn on the track overlapping.",
		Remedy: "look for lost return probes in losses"}
	AnomalyBackwards = event.AnomalySpec{Name: "picture_link_backwards", Severity: event.SeverityWarning,
		Doc:    "Links whose effect begins before its cause: no arrow is drawn.",
		Remedy: "look at the clocks of the sources"}
	AnomalyRingOverlap = event.AnomalySpec{Name: "picture_ring_overlap", Severity: event.SeverityWarning,
		Doc:    "Jobs that would run at the same time as another of their ring: drawn as queued only, with end lost.",
		Remedy: "their done events were lost: record with larger buffers"}
	AnomalyRingsGrouped = event.AnomalySpec{Name: "picture_rings_grouped", Severity: event.SeverityWarning,
		Doc:    "Jobs and gaps of rings beyond the first 8,192: drawn on one ring of their device, those that overlap there not as running or idle.",
		Remedy: "they are in the Parquet export; look at the names of the rings in the source"}
	AnomalyDevicesGrouped = event.AnomalySpec{Name: "picture_devices_grouped", Severity: event.SeverityWarning,
		Doc:    "What happened on devices beyond the first 4,096: drawn under one, without their counters.",
		Remedy: "it is in the Parquet export; look at the names of the devices in the source"}
	AnomalyJobNotDrawn = event.AnomalySpec{Name: "picture_job_not_drawn", Severity: event.SeverityWarning,
		Doc:    "Jobs of which too few times are known to draw a slice.",
		Remedy: "they are in the Parquet export, with what is known"}
	AnomalyIdleOverlap = event.AnomalySpec{Name: "picture_idle_overlap", Severity: event.SeverityError,
		Doc:    "Idle gaps of one ring that overlap: the later one is not drawn.",
		Remedy: "report it: the gaps should be disjoint"}
	AnomalyDisorder = event.AnomalySpec{Name: "picture_end_before_start", Severity: event.SeverityWarning,
		Doc:    "Rows that end before they start: drawn with length 0.",
		Remedy: "look at the clocks of the sources"}
	AnomalyNotDrawn = event.AnomalySpec{Name: "picture_not_drawn", Severity: event.SeverityInfo,
		Doc:    "Rows of tables that have no place in the picture (irqs, flows of the source).",
		Remedy: "they are in the Parquet export"}
)
