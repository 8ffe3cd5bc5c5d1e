package chromejson

import "github.com/gpurec/gpurec/record/event"

// What this format cannot hold as the picture is.
var (
	AnomalyFlowBound = event.AnomalySpec{Name: "chrome_json_arrow_at_inner_slice", Severity: event.SeverityInfo,
		Doc:    "Ends of arrows at slices inside of which another one begins at the same nanosecond: readers let the arrow end at the inner one.",
		Remedy: "the Perfetto export ties arrows to slices without regard to time"}
	AnomalyWakings = event.AnomalySpec{Name: "chrome_json_waking_not_drawn", Severity: event.SeverityInfo,
		Doc:    "Wake-ups of threads that did not run after it: the slice that would tell of the wake-up is not there.",
		Remedy: "they are in the Perfetto and Parquet exports"}
	AnomalyNotFinite = event.AnomalySpec{Name: "chrome_json_value_not_finite", Severity: event.SeverityWarning,
		Doc:    "Values of counters that are infinite or no number: JSON has no such numbers, and they are not drawn.",
		Remedy: "they are in the Parquet export"}
	AnomalySameID = event.AnomalySpec{Name: "chrome_json_id_taken", Severity: event.SeverityInfo,
		Doc:    "Processes and threads whose number another one has: they are drawn under a number of their own.",
		Remedy: "none needed: their names say the number"}
)
