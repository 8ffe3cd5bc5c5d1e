package perfetto

import "github.com/gpurec/gpurec/record/event"

// What can be wrong with a trace.
var (
	// AnomalyCut says that the file could not be read to its end.
	AnomalyCut = event.AnomalySpec{
		Name: "perfetto_cut", Severity: event.SeverityError,
		Doc:    "the trace ends within a packet, or is damaged from there on",
		Remedy: "copy the file again; what is whole of it is here",
	}
	// AnomalyBadPacket counts packets whose inside could not be read.
	AnomalyBadPacket = event.AnomalySpec{
		Name: "perfetto_bad_packet", Severity: event.SeverityError,
		Doc:    "a packet or a part of it is no valid protobuf: what stood before the damage in it was read",
		Remedy: "copy the file again, or check the program that wrote it",
	}
	// AnomalyLargePacket counts packets that are larger than a reader can hold.
	AnomalyLargePacket = event.AnomalySpec{
		Name: "perfetto_large_packet", Severity: event.SeverityError,
		Doc:    "a packet is larger than 32 MiB and was left out",
		Remedy: "check the program that wrote the trace: Perfetto keeps packets below 1 MiB",
	}
	// AnomalyNotRead counts packets of kinds that hold no events for gpurec.
	AnomalyNotRead = event.AnomalySpec{
		Name: "perfetto_packets_not_read", Severity: event.SeverityInfo,
		Doc:    "packets of kinds that hold no events of the event model: settings, statistics, other data sources",
		Remedy: "open the trace in ui.perfetto.dev for them",
	}
	// AnomalyFieldNotKept counts fields that have no place in the event model.
	AnomalyFieldNotKept = event.AnomalySpec{
		Name: "perfetto_field_not_kept", Severity: event.SeverityInfo,
		Doc:    "a field of a known event has no place in the event model and was left out (typed arguments of Chrome and Android)",
		Remedy: "open the trace in ui.perfetto.dev for them",
	}
	// AnomalyDerived counts what gpurec's own export draws beside its rows.
	AnomalyDerived = event.AnomalySpec{
		Name: "perfetto_derived_not_read", Severity: event.SeverityInfo,
		Doc:    "slices, counters and arrows of gpurec's own export that follow from its other events: computed again, not read",
		Remedy: "none needed",
	}
	// AnomalyNoClock counts times of clocks that nothing relates to the trace's.
	AnomalyNoClock = event.AnomalySpec{
		Name: "perfetto_clock_unknown", Severity: event.SeverityLoss,
		Doc:    "a packet's time is of a clock that no snapshot relates to the clock of the trace: its events are kept, their times are unknown",
		Remedy: "record clock snapshots (the data source of the tracing service does)",
	}
	// AnomalyNoState counts packets that need what was lost.
	AnomalyNoState = event.AnomalySpec{
		Name: "perfetto_state_missing", Severity: event.SeverityLoss,
		Doc:    "a packet refers to names of its sequence that the trace does not hold any more: names and tracks of its event may be unknown",
		Remedy: "record with a larger buffer, or set incremental_state_config.clear_period_ms",
	}
	// AnomalyInterned counts references that lead nowhere.
	AnomalyInterned = event.AnomalySpec{
		Name: "perfetto_interned_missing", Severity: event.SeverityWarning,
		Doc:    "an interned id has no entry in its sequence: the name is unknown",
		Remedy: "check the program that wrote the trace",
	}
	// AnomalyTooMuchState counts entries beyond what a reader holds.
	AnomalyTooMuchState = event.AnomalySpec{
		Name: "perfetto_state_too_large", Severity: event.SeverityLoss,
		Doc:    "interned names, tracks or open slices are more than a reader holds: further ones were left out",
		Remedy: "cut the trace into shorter ones",
	}
	// AnomalyNoTrack counts events on tracks that are not described.
	AnomalyNoTrack = event.AnomalySpec{
		Name: "perfetto_track_unknown", Severity: event.SeverityWarning,
		Doc:    "events on a track that no descriptor describes so far: kept under the track's number",
		Remedy: "check the program that wrote the trace",
	}
	// AnomalyDropped counts what Perfetto says that it lost.
	AnomalyDropped = event.AnomalySpec{
		Name: "perfetto_packets_lost", Severity: event.SeverityLoss,
		Doc:    "the trace says that packets or ftrace events before this place were lost",
		Remedy: "record with larger buffers",
	}
	// AnomalyFtraceClock counts bundles whose clock has no relation to the trace's.
	AnomalyFtraceClock = event.AnomalySpec{
		Name: "perfetto_ftrace_clock", Severity: event.SeverityWarning,
		Doc:    "ftrace events are of a clock (local, global or unknown) that the bundle does not relate to boot time: kept as they are",
		Remedy: "record with the boot trace clock",
	}
	// AnomalyFtraceError counts pieces of ring buffers that Perfetto could not read.
	AnomalyFtraceError = event.AnomalySpec{
		Name: "perfetto_ftrace_error", Severity: event.SeverityLoss,
		Doc:    "Perfetto could not read a piece of the kernel's ring buffer (FtraceEventBundle.error): ftrace events are missing there",
		Remedy: "record with a newer Perfetto, or with gpurec record",
	}
	// AnomalySeveralIDs counts calls that name several activities.
	AnomalySeveralIDs = event.AnomalySpec{
		Name: "perfetto_several_correlation_ids", Severity: event.SeverityInfo,
		Doc:    "a call names several activities on the device; only the first can be its correlation id, all stand in its arguments",
		Remedy: "none needed unless you miss a link",
	}
)
