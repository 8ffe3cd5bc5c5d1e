package picture

// Category is a slice's category, by what it is.
type Category uint8

const (
	catAPI Category = iota // the family's own name stands in its place
	catIoctl
	catFenceWait
	catFenceWake
	catQueued
	catStageQueue
	catStageDependency
	catStageHWQueue
	catRunning
	catIdle
	catLoss
	catReset
	catAnomaly
	catLog
	catOther
	catSample
	catMemMap
	NumCategories // how many there are
)

var categoryNames = [NumCategories]string{
	"api", "ioctl", "fence_wait", "fence_wake", "job.queued", "job.stage.queue", "job.stage.dependency",
	"job.stage.hw_queue", "job.running", "gpu_idle", "loss", "reset", "anomaly", "log_line", "other", "sample", "mem_map",
}

// String returns the category as traces bear it.
func (c Category) String() string {
	if c < NumCategories {
		return categoryNames[c]
	}
	return "unknown"
}

// Arg is the name of an argument: the names of Parquet's columns.
type Arg uint8

const (
	argAPICallID Arg = iota
	argResult
	argKernelName
	argStream
	argGrid
	argBlock
	argBytes
	argCorrelationID
	argIoctlID
	argDevice
	argCmd
	argRole
	argErrno
	argEnd
	ArgLinks
	ArgRule
	ArgConfidence
	argFenceWaitID
	argFence
	argJobID
	argSchedJobID
	argRing
	argWaitNS
	argWakeNS
	argAlreadySignalled
	argUnmatchedReason
	argPID
	argTID
	argQueueDelayNS
	argHWQueueNS
	argDeviceTimeNS
	argDependsOnJobID
	argDependsOnRing
	argDependsOnFence
	argHWFence
	argError
	argQueuedHidden
	argCause
	argNextJobID
	argDurNS
	argSubmitter
	argSubmitterWas
	argWaitsForJobID
	argWaitsForRing
	argGPUActivityID
	argKind
	argContext
	argCPU
	argCount
	argRemedy
	argLog
	argPIDInferred
	argAPI
	argIoctl
	argRun
	argDone
	argJob
	argReset
	argSliceID
	argArgs
	argSeverity
	argDoc
	argSample
	argCode
	argMarkID
	argOtherID
	argFields
	argClipped
	argQueuedNS
	argDoneNS
	argFinishedNS
	argPeriod
	argStack
	argMemMapID
	argAddress
	argObjectPtr
	argAlsoIn
	argSampleID
	argLow32
	NumArgs // how many there are
)

// String returns the name.
func (a Arg) String() string {
	if a < NumArgs {
		return argNames[a]
	}
	return "unknown"
}

var argNames = [NumArgs]string{
	"api_call_id", "result", "kernel_name", "stream", "grid", "block", "bytes", "correlation_id",
	"ioctl_id", "device", "cmd", "role", "errno", "end", "links", "rule", "confidence",
	"fence_wait_id", "fence", "job_id", "sched_job_id", "ring", "wait_ns", "wake_ns", "already_signalled", "unmatched_reason",
	"pid", "tid", "queue_delay_ns", "hw_queue_ns", "device_time_ns",
	"depends_on_job_id", "depends_on_ring", "depends_on_fence", "hw_fence", "error", "queued_hidden",
	"cause", "next_job_id", "dur_ns", "submitter", "submitter_was", "waits_for_job_id", "waits_for_ring",
	"gpu_activity_id", "kind", "context", "cpu", "count", "remedy", "log", "pid_inferred",
	"api", "ioctl", "run", "done", "job", "reset", "slice_id", "args", "severity", "doc", "sample", "code",
	"mark_id", "other_id", "fields", "clipped", "queued_ns", "done_ns", "finished_ns",
	"period", "stack", "mem_map_id", "address", "object_ptr", "also_in", "sample_id", "low32",
}
