package chromejson

import "github.com/gpurec/gpurec/record/event"

// What can be wrong with a file.
var (
	// AnomalyBadJSON counts events that are no JSON.
	AnomalyBadJSON = event.AnomalySpec{
		Name: "chrome_json_damaged", Severity: event.SeverityError,
		Doc:    "a stretch of the file is no JSON: the event in it was left out, reading went on at the next one",
		Remedy: "look at the place given; names with unescaped quotes come from old exporters: write the file again with a newer one",
	}
	// AnomalyNotEvent counts members of the array of events that are none.
	AnomalyNotEvent = event.AnomalySpec{
		Name: "chrome_json_not_an_event", Severity: event.SeverityWarning,
		Doc:    "a member of the array of events is no object with a phase (ph) and was left out",
		Remedy: "look at the place given; if it is an event, report it",
	}
	// AnomalyTooLong counts events that are larger than a reader can hold.
	AnomalyTooLong = event.AnomalySpec{
		Name: "chrome_json_event_too_long", Severity: event.SeverityError,
		Doc:    "an event is longer than 16 MiB and was left out",
		Remedy: "check what wrote it; no trace has such events",
	}
	// AnomalyMemberLong counts members beside the events that are too long to keep.
	AnomalyMemberLong = event.AnomalySpec{
		Name: "chrome_json_member_not_kept", Severity: event.SeverityWarning,
		Doc:    "a member of the file beside its events is longer than 64 KiB and was not kept",
		Remedy: "look it up in the file if you need it",
	}
	// AnomalyTextCut counts names and arguments that are too long to keep whole.
	AnomalyTextCut = event.AnomalySpec{
		Name: "chrome_json_text_cut", Severity: event.SeverityWarning,
		Doc:    "an event's name is longer than 16 KiB, or its arguments are longer than 120 KiB: only their beginning was kept",
		Remedy: "look the rest up in the file if you need it",
	}
	// AnomalyTextMended counts texts that are no JSON strings to the letter.
	AnomalyTextMended = event.AnomalySpec{
		Name: "chrome_json_text_mended", Severity: event.SeverityWarning,
		Doc:    "a text holds raw control bytes, bytes that are no UTF-8 or an unknown escape: they were kept escaped, or replaced by U+FFFD",
		Remedy: "none needed; other readers may refuse the file",
	}
	// AnomalyNoTime counts events without a time that should have one.
	AnomalyNoTime = event.AnomalySpec{
		Name: "chrome_json_no_time", Severity: event.SeverityWarning,
		Doc:    "an event has no ts, or one that is no number: its order is kept, its time is unknown",
		Remedy: "export the trace again",
	}
	// AnomalyNoDuration counts complete events without a usable duration.
	AnomalyNoDuration = event.AnomalySpec{
		Name: "chrome_json_no_duration", Severity: event.SeverityWarning,
		Doc:    "a complete event (ph X) has no dur, a negative one or one that is no number: its end is unknown",
		Remedy: "export the trace again",
	}
	// AnomalyZeroTime counts device work that was written without its times.
	AnomalyZeroTime = event.AnomalySpec{
		Name: "kineto_device_work_without_time", Severity: event.SeverityWarning,
		Doc:    "work of a device has ts 0 and dur 0: the profiler got no times for it; they are unknown",
		Remedy: "profile again with a newer profiler or driver",
	}
	// AnomalySubNS counts times that are finer than a nanosecond.
	AnomalySubNS = event.AnomalySpec{
		Name: "chrome_json_time_rounded", Severity: event.SeverityInfo,
		Doc:    "a time has more than three decimals and was rounded to a nanosecond",
		Remedy: "none needed",
	}
	// AnomalyTimeRange counts times that do not fit.
	AnomalyTimeRange = event.AnomalySpec{
		Name: "chrome_json_time_range", Severity: event.SeverityWarning,
		Doc:    "a time is too large for 64-bit nanoseconds and is unknown",
		Remedy: "times are microseconds in this format: check what wrote the file",
	}
	// AnomalySharedTID counts threads whose number several processes use.
	AnomalySharedTID = event.AnomalySpec{
		Name: "chrome_json_thread_id_shared", Severity: event.SeverityInfo,
		Doc:    "a thread number is used by several processes: the thread of all but the first is kept as a track",
		Remedy: "none needed; numbers of pid namespaces and of simple exporters are not unique",
	}
	// AnomalyNoOwner counts device work of files with several processes.
	AnomalyNoOwner = event.AnomalySpec{
		Name: "kineto_device_work_without_process", Severity: event.SeverityWarning,
		Doc:    "the file holds several processes, and no single one made the call of a device's work: its process is unknown",
		Remedy: "import the traces of the processes one by one, before they were put together",
	}
	// AnomalyUnknownPhase counts events with a phase that the format does not name.
	AnomalyUnknownPhase = event.AnomalySpec{
		Name: "chrome_json_unknown_phase", Severity: event.SeverityInfo,
		Doc:    "an event has a phase that is not known: it was kept with all its fields as other",
		Remedy: "none needed",
	}
	// AnomalyAsyncCapped counts async events whose nesting was not followed.
	AnomalyAsyncCapped = event.AnomalySpec{
		Name: "chrome_json_async_capped", Severity: event.SeverityWarning,
		Doc:    "more than 65,536 async ids are open at once, or more than 1,024 ranges of one: nesting of further ones is not followed",
		Remedy: "split the trace",
	}
	// AnomalySystemLine counts lines of ftrace text in the file that are none.
	AnomalySystemLine = event.AnomalySpec{
		Name: "chrome_json_system_trace_line", Severity: event.SeverityWarning,
		Doc:    "a line of systemTraceEvents is neither an event nor a header and was left out",
		Remedy: "look at the place given; if it is an event, report it",
	}
	// AnomalySystemClock counts files with two sources of time.
	AnomalySystemClock = event.AnomalySpec{
		Name: "chrome_json_system_trace_clock", Severity: event.SeverityWarning,
		Doc:    "the file holds ftrace text beside its own events: both keep their times, which may be of two clocks",
		Remedy: "compare an event that both hold before you trust delays between them",
	}
	// AnomalyOpenList counts arrays of events without their end.
	AnomalyOpenList = event.AnomalySpec{
		Name: "chrome_json_list_not_closed", Severity: event.SeverityInfo,
		Doc:    "the array of events has no closing bracket: the format allows that, but a cut file looks the same",
		Remedy: "if the program that wrote it did not end well, its last events are missing",
	}
	// AnomalyAfterEnd counts bytes behind the end of the trace.
	AnomalyAfterEnd = event.AnomalySpec{
		Name: "chrome_json_after_end", Severity: event.SeverityError,
		Doc:    "something stands behind the end of the trace and was not read",
		Remedy: "several traces in one file: split them and import them one by one",
	}
)

// AnomalyOwnerGuessed counts files in which device work came before it was
// clear that there are several processes.
var AnomalyOwnerGuessed = event.AnomalySpec{
	Name: "kineto_device_work_of_first_process", Severity: event.SeverityWarning,
	Doc:    "the file holds several processes that use devices: work that stands before the second of them was taken for the first one's",
	Remedy: "import the traces of the processes one by one, before they were put together",
}

// What can be odd with an export of gpurec's own.
var (
	// AnomalyOwnMark counts exports of gpurec's that are not read as such.
	AnomalyOwnMark = event.AnomalySpec{
		Name: "chrome_json_export_mark", Severity: event.SeverityWarning,
		Doc:    "the event that says that the file is an export of gpurec's stands behind others, comes twice or is of a version that is not known: what follows it is read as any other's",
		Remedy: "import the file as it was written, one at a time, with a gpurec that is no older than the one that wrote it",
	}
	// AnomalyDerived counts what an export of gpurec's draws beside its rows.
	AnomalyDerived = event.AnomalySpec{
		Name: "chrome_json_derived_not_read", Severity: event.SeverityInfo,
		Doc:    "slices, counters and arrows of gpurec's own export that follow from its other events: computed again, not read",
		Remedy: "none needed",
	}
)
