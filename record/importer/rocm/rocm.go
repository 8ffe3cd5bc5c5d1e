// Package rocm imports what ROCm's profilers write: the SQLite file of
// rpd_tracer (rocmProfileData), the SQLite database of rocprofv3 and rocprof-sys
// (rocpd, the default since ROCm 7), and the JSON results of rocprofv3
// (--output-format json).
package rocm

import (
	"bytes"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/sqlitefile"
)

// RPD returns the format of rpd_tracer.
func RPD() importer.Format {
	return importer.Format{
		Name:  "rpd",
		Title: "ROCm rpd_tracer SQLite file (.rpd)",
		Sniff: func(head []byte) bool {
			return sqlitefile.Sniff(head) && bytes.Contains(head, []byte("rocpd_")) && !bytes.Contains(head, []byte("rocpd_info_"))
		},
		Open: openRPD,
	}
}

// ROCPD returns the format of rocprofv3's and rocprof-sys's own database.
func ROCPD() importer.Format {
	return importer.Format{
		Name:  "rocpd",
		Title: "ROCm rocprofv3 and rocprof-sys database (rocpd)",
		Sniff: func(head []byte) bool {
			return sqlitefile.Sniff(head) && bytes.Contains(head, []byte("rocpd_info_"))
		},
		Open: openROCPD,
	}
}

// JSON returns the format of rocprofv3's JSON results.
func JSON() importer.Format {
	return importer.Format{
		Name:  "rocprofv3-json",
		Title: "ROCm rocprofv3 JSON results",
		Sniff: sniffJSON,
		Open:  openJSON,
	}
}

// sniffJSON: the first member of the outermost object names the tool.
func sniffJSON(head []byte) bool {
	b := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	b, ok := bytes.CutPrefix(b, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte(`"rocprofiler-sdk-tool"`))
}

// What can be wrong with such a file.
var (
	// AnomalyDamaged counts parts that could not be read to their end.
	AnomalyDamaged = event.AnomalySpec{
		Name: "rocm_damaged", Severity: event.SeverityError,
		Doc:    "a table or the file could not be read to its end: what lies behind is missing",
		Remedy: "copy the file again, or check that the program ended properly",
	}
	// AnomalyBadRecord counts records that are no such records.
	AnomalyBadRecord = event.AnomalySpec{
		Name: "rocm_bad_record", Severity: event.SeverityWarning,
		Doc:    "a record has a value of an unexpected type: what could be read of it was kept",
		Remedy: "report the record given",
	}
	// AnomalyNoTime counts records without a start.
	AnomalyNoTime = event.AnomalySpec{
		Name: "rocm_no_time", Severity: event.SeverityWarning,
		Doc:    "a record has no start: its event is kept, its time is unknown",
		Remedy: "record again with a newer version of the tool",
	}
	// AnomalyNoName counts names that lead nowhere.
	AnomalyNoName = event.AnomalySpec{
		Name: "rocm_name_missing", Severity: event.SeverityWarning,
		Doc:    "a name or kernel that a record refers to is not in the file (or stands behind it): given as its number",
		Remedy: "record again; names must stand before the records",
	}
	// AnomalyNotRead counts rows and records of which nothing is kept.
	AnomalyNotRead = event.AnomalySpec{
		Name: "rocm_not_read", Severity: event.SeverityInfo,
		Doc:    "rows or members that hold no events: code objects, counters' definitions, settings",
		Remedy: "none needed unless you miss them",
	}
	// AnomalyTooMany counts rows beyond what a reader holds.
	AnomalyTooMany = event.AnomalySpec{
		Name: "rocm_links_left_out", Severity: event.SeverityLoss,
		Doc:    "the file links more work on devices to calls than a reader holds: further work has no call",
		Remedy: "cut the recording into shorter ones",
	}
)

// family tells the API of a call by its name.
func family(name string) event.API {
	for _, p := range []struct {
		prefix string
		api    event.API
	}{
		{"hip", event.APIHIP}, {"__hip", event.APIHIP}, {"hsa_", event.APIHSA}, {"nccl", event.APINCCL}, {"rccl", event.APINCCL}, {"mscclpp", event.APINCCL},
	} {
		if strings.HasPrefix(name, p.prefix) {
			return p.api
		}
	}
	return event.APIUnknown
}

// direction reads the direction of a copy out of the name of an operation:
// "CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE".
func direction(op string) event.Direction {
	s := strings.ToLower(strings.ReplaceAll(op, "_", ""))
	switch {
	case strings.Contains(s, "hosttodevice"):
		return event.DirHtoD
	case strings.Contains(s, "devicetohost"):
		return event.DirDtoH
	case strings.Contains(s, "devicetodevice"):
		return event.DirDtoD
	case strings.Contains(s, "hosttohost"):
		return event.DirHtoH
	}
	return event.DirUnknown
}
