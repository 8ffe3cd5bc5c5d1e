package correlate

// JobEvent is a row of job_events: what a driver told of a job beside its
// queueing, run and end.
type JobEvent struct {
	JobID  ID      `col:"job_id" doc:"jobs.id"`
	TSNS   OptTime `col:"ts_ns" unit:"ns" doc:"time"`
	What   string  `col:"what" doc:"ready (dependencies met), preempted, retired, completed, timed_out, fault, error, recovery, or the source's own word"`
	Error  OptInt  `col:"error" doc:"negative errno, where the event names one"`
	TID    OptInt  `col:"tid" doc:"thread that told it, which need not be the job's"`
	Args   string  `col:"args" doc:"further fields of the source, JSON"`
	Source string  `col:"source" doc:"tracepoint"`
}
