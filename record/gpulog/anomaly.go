package gpulog

import "github.com/gpurec/gpurec/record/event"

// What can be wrong with a log.
var (
	AnomalyBlockDamaged = &event.AnomalySpec{
		Name: "log_block_damaged", Severity: event.SeverityError,
		Doc:    "A part of the log is damaged (a checksum is wrong); the events of that block are missing, all others are there.",
		Remedy: "Copy the log again from where it was recorded; if it is damaged there, check the disk.",
	}
	AnomalyEventsLost = &event.AnomalySpec{
		Name: "log_events_lost", Severity: event.SeverityError,
		Doc:    "Events that stood in damaged parts of the log.",
		Remedy: "Joins that touch the interval are named lost; copy the log again, or record again.",
	}
	AnomalyCut = &event.AnomalySpec{
		Name: "log_cut", Severity: event.SeverityError,
		Doc:    "The log ends inside a block: its recorder was killed, the disk was full, or the file was copied before it was complete.",
		Remedy: "Everything up to there is whole and used; copy the log again if its original is longer.",
	}
	AnomalyUnfinished = &event.AnomalySpec{
		Name: "log_unfinished", Severity: event.SeverityWarning,
		Doc:    "The log ends after a whole block, but without the block that closes a log: its recorder did not end by itself, or is still running.",
		Remedy: "Everything in it is used; what the recorder would have written at its end (exit status, hits, losses) is missing.",
	}
	AnomalyTrailingBytes = &event.AnomalySpec{
		Name: "log_trailing_bytes", Severity: event.SeverityError,
		Doc:    "Bytes follow the end of the log; they were not read.",
		Remedy: "If logs were joined with cat, give them one by one.",
	}
	AnomalyBlockUnreadable = &event.AnomalySpec{
		Name: "log_block_unreadable", Severity: event.SeverityError,
		Doc:    "A block is whole but not as the format says; what could not be read of it is missing.",
		Remedy: "Read it with a newer gpurec; if that says the same, report it as a fault of the program that wrote the log.",
	}
	AnomalyMetaIncomplete = &event.AnomalySpec{
		Name: "log_meta_incomplete", Severity: event.SeverityWarning,
		Doc:    "A copy of the log's metadata is incomplete; the last whole one is used.",
		Remedy: "Facts that the recorder learnt later (hits, losses, exit status) may be missing.",
	}
	AnomalyBlockUnknown = &event.AnomalySpec{
		Name: "log_block_unknown", Severity: event.SeverityInfo,
		Doc:    "A newer gpurec wrote blocks of a type that this one does not know; they were skipped.",
		Remedy: "Read the log with a newer gpurec.",
	}
	AnomalyKindUnknown = &event.AnomalySpec{
		Name: "log_kind_unknown", Severity: event.SeverityInfo,
		Doc:    "Events of a kind that a newer gpurec knows; they are kept as other.",
		Remedy: "Read the log with a newer gpurec.",
	}
	AnomalyFieldUnknown = &event.AnomalySpec{
		Name: "log_field_unknown", Severity: event.SeverityInfo,
		Doc:    "Events with fields that a newer gpurec knows; they are kept in args.",
		Remedy: "Read the log with a newer gpurec.",
	}
	AnomalyFieldLost = &event.AnomalySpec{
		Name: "log_field_lost", Severity: event.SeverityWarning,
		Doc:    "Values of fields that a newer gpurec knows, in events that cannot hold them; they were left out or cut.",
		Remedy: "Read the log with a newer gpurec.",
	}
	AnomalyStringCut = &event.AnomalySpec{
		Name: "log_string_cut", Severity: event.SeverityLoss,
		Doc:    "The strings of one event were longer than a block; each was cut to 128 KiB.",
		Remedy: "Look the full text up in the source.",
	}
	AnomalyLate = &event.AnomalySpec{
		Name: "event_late", Severity: event.SeverityWarning,
		Doc:    "Events that came later than the source, or --window, had promised; they stand after events of a later time.",
		Remedy: "Sort again without a window.",
	}
)
