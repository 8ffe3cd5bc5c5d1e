package ftrace

import "github.com/gpurec/gpurec/record/event"

// What can go wrong while events are decoded.
var (
	// AnomalyEmptyFirstString: see its Doc.
	AnomalyEmptyFirstString = event.AnomalySpec{
		Name: "ftrace_empty_first_string", Severity: event.SeverityWarning,
		Doc:    "a string that is never empty was printed empty: kernels such as 6.1.192 do that to the first string of a line with hash-ptr off",
		Remedy: "record raw pages (gpurec record, trace-cmd), or set the trace option hash-ptr",
	}
	// AnomalyBadValue counts values that are not what their key promises.
	AnomalyBadValue = event.AnomalySpec{
		Name: "ftrace_bad_value", Severity: event.SeverityWarning,
		Doc:    "a field's value could not be read and is unknown in the event",
		Remedy: "compare the line with the tracepoint's print format; report it",
	}
	// AnomalyFieldNotKept counts fields of known events that have no place in the event model.
	AnomalyFieldNotKept = event.AnomalySpec{
		Name: "ftrace_field_not_kept", Severity: event.SeverityInfo,
		Doc:    "a field of a known event has no place in the event model and was left out",
		Remedy: "none needed unless you miss the field; report it then",
	}
	// AnomalyFailedToParse counts events that trace-cmd could only print as raw fields.
	AnomalyFailedToParse = event.AnomalySpec{
		Name: "ftrace_failed_to_parse", Severity: event.SeverityInfo,
		Doc:    "trace-cmd could not apply the event's print format and printed its raw fields",
		Remedy: "none: the raw fields are kept as they are",
	}
	// AnomalyUnknownMark counts lines in trace_marker that look like a mark of a type that is not known.
	AnomalyUnknownMark = event.AnomalySpec{
		Name: "ftrace_unknown_mark", Severity: event.SeverityInfo,
		Doc:    "a line in trace_marker has the shape of an atrace mark of a type that is not known; kept as a mark",
		Remedy: "none: the text is kept",
	}
	// AnomalyLost counts events that the kernel or trace-cmd says were lost.
	AnomalyLost = event.AnomalySpec{
		Name: "ftrace_lost_events", Severity: event.SeverityLoss,
		Doc:    "the ring buffer overflowed: events are missing from the trace",
		Remedy: "use a larger buffer, fewer events, or read the buffer while recording",
	}
	// AnomalyLostUncounted counts losses whose size nobody knows.
	AnomalyLostUncounted = event.AnomalySpec{
		Name: "ftrace_losses_of_unknown_size", Severity: event.SeverityLoss,
		Doc:    "events are missing, and the source does not say how many",
		Remedy: "use a larger buffer, fewer events, or read the buffer while recording",
	}
	// AnomalyBadPage counts pages of a ring buffer that could not be read to their end.
	AnomalyBadPage = event.AnomalySpec{
		Name: "ftrace_bad_page", Severity: event.SeverityError,
		Doc:    "a page of the ring buffer is damaged: its events from the damage on are missing",
		Remedy: "check that the file was copied whole and that header_page belongs to it",
	}
	// AnomalyShortRecord counts records that are shorter than their format.
	AnomalyShortRecord = event.AnomalySpec{
		Name: "ftrace_short_record", Severity: event.SeverityError,
		Doc:    "a record is shorter than its format says: its missing fields are unknown",
		Remedy: "check that the format files belong to this recording",
	}
	// AnomalyNoFormat counts records of events whose format is not known.
	AnomalyNoFormat = event.AnomalySpec{
		Name: "ftrace_no_format", Severity: event.SeverityError,
		Doc:    "a record's event has no format file: kept as its number and bytes",
		Remedy: "copy events/*/*/format together with the pages",
	}
	// AnomalyBadFormat counts format files that could not be read.
	AnomalyBadFormat = event.AnomalySpec{
		Name: "ftrace_bad_format", Severity: event.SeverityWarning,
		Doc:    "a field of a format file could not be understood: events of that format keep their other fields",
		Remedy: "report the format file",
	}
	// AnomalyStringPointer counts fields that hold only the address of a string.
	AnomalyStringPointer = event.AnomalySpec{
		Name: "ftrace_string_is_pointer", Severity: event.SeverityWarning,
		Doc:    "this kernel stores only the address of a name (the ring of drm_sched_job up to Linux 5.18), which a reader cannot follow: the name is unknown",
		Remedy: "use the text of trace_pipe for this kernel, or a newer kernel",
	}
	// AnomalyNoPrintk counts binary prints whose format is not known.
	AnomalyNoPrintk = event.AnomalySpec{
		Name: "ftrace_no_printk_format", Severity: event.SeverityWarning,
		Doc:    "a trace_printk event names a format that printk_formats does not hold: kept with its raw arguments",
		Remedy: "copy printk_formats together with the pages",
	}
	// AnomalyTimeBack counts events that are older than the one before them on their CPU.
	AnomalyTimeBack = event.AnomalySpec{
		Name: "ftrace_time_goes_back", Severity: event.SeverityInfo,
		Doc:    "an event is older than the one before it in the same ring buffer: a clock that is not monotonic, or pages out of order",
		Remedy: "record with trace_clock set to boot or mono",
	}
	// AnomalyRawClock counts recordings whose times are not nanoseconds.
	AnomalyRawClock = event.AnomalySpec{
		Name: "ftrace_raw_clock", Severity: event.SeverityWarning,
		Doc:    "times count something else than nanoseconds (trace_clock counter, x86-tsc, …): kept as they are",
		Remedy: "record with trace_clock set to boot or mono",
	}
	// AnomalyLostByStats counts events that only the counters of a ring buffer know of.
	AnomalyLostByStats = event.AnomalySpec{
		Name: "ftrace_lost_by_stats", Severity: event.SeverityLoss,
		Doc:    "the ring buffer's counters say that events were overwritten or dropped, but no page says where",
		Remedy: "use a larger buffer, or read it while recording; events before the first one may be missing",
	}
)
