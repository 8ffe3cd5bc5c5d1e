package correlate

// The names of the link rules. They are the same in every export.
const (
	RuleAPIIoctl     = "api-ioctl"
	RuleAPIJob       = "api-job"
	RuleIoctlJob     = "ioctl-job"
	RuleJobRun       = "job-run"
	RuleJobDone      = "job-done"
	RuleJobFence     = "job-fence"
	RuleJobScheduled = "job-scheduled-fence"
	RuleJobHWFence   = "job-hw-fence"
	RuleJobDep       = "job-dep"
	RuleFenceWait    = "fence-wait"
	RuleIoctlWait    = "ioctl-wait"
	RuleCorrelation  = "correlation-id"
	RuleResetJob     = "reset-job"
	RuleResetFate    = "reset-fate"
	RuleJobWake      = "job-wake"
	RuleSameCall     = "same-call"
	RuleSameActivity = "same-activity"
)

// RuleSpec describes a link rule.
type RuleSpec struct {
	Name        string
	Section     int // of docs/correlation.md
	Src, Dst    string
	Confidences []Confidence // that its links may have
	Doc         string
}

// Rules lists every rule that a link can carry. docs/correlation.md says the
// same at length, a section a rule; a test holds them together.
var Rules = []RuleSpec{
	{RuleAPIIoctl, 1, "api_calls", "ioctls", []Confidence{Nested}, "the innermost call open on the thread when the ioctl began"},
	{RuleIoctlJob, 2, "ioctls", "jobs", []Confidence{Nested}, "the ioctl open on the thread that queued the job"},
	{RuleAPIJob, 3, "api_calls", "jobs", []Confidence{Nested}, "the innermost call open on the thread that queued the job, where no ioctl was seen"},
	{RuleJobRun, 4, "jobs", "jobs", []Confidence{Exact}, "the run event names the job that was queued"},
	{RuleJobDone, 5, "jobs", "jobs", []Confidence{Exact, Inferred}, "the done event names the job; without done events, the signal of its fence"},
	{RuleJobFence, 6, "jobs", "fences", []Confidence{Exact, Adjacent}, "the finished fence of the job"},
	{RuleJobScheduled, 7, "jobs", "fences", []Confidence{Adjacent}, "the scheduled fence of the job"},
	{RuleJobHWFence, 8, "jobs", "fences", []Confidence{Exact, Adjacent}, "the hardware fence of the job"},
	{RuleJobDep, 9, "jobs", "jobs", []Confidence{Exact, Adjacent}, "the dependent job names the other job's fence"},
	{RuleFenceWait, 10, "jobs", "fence_waits", []Confidence{Exact}, "the wait names a fence of the job"},
	{RuleIoctlWait, 11, "ioctls", "fence_waits", []Confidence{Nested}, "the ioctl open on the thread that waits"},
	{RuleCorrelation, 12, "api_calls", "gpu_activities", []Confidence{Exact}, "equal correlation id in one process"},
	{RuleResetJob, 13, "resets", "jobs", []Confidence{Adjacent, Inferred}, "the job was handed to the hardware a second time"},
	{RuleResetFate, 14, "resets", "jobs", []Confidence{Exact, Inferred}, "the job brought the reset, or was ended or handed over again by it"},
	{RuleJobWake, 15, "jobs", "ioctls", []Confidence{Adjacent}, "the signal of the job's fence woke the thread that was in the ioctl"},
	{RuleSameCall, 16, "api_calls", "api_calls", []Confidence{Exact, Inferred}, "two sources told of the same call; dst is left out of sums"},
	{RuleSameActivity, 17, "gpu_activities", "gpu_activities", []Confidence{Exact, Inferred}, "two sources told of the same work; dst is left out of sums"},
}

// RuleByName returns the rule of a name, or nil.
func RuleByName(name string) *RuleSpec {
	for i := range Rules {
		if Rules[i].Name == name {
			return &Rules[i]
		}
	}
	return nil
}

// Reasons lists every reason that unmatched can carry.
var Reasons = []Reason{NotRecorded, NotPossible, BeforeStart, AfterStop, Open, Killed, KernelInternal, Lost, Evicted, Ambiguous, Faulted}

// The partners that a row of unmatched can miss.
const (
	missAPICall    = "api_call"
	missIoctl      = "ioctl"
	missActivity   = "activity"
	missQueue      = "queue"
	missRun        = "run"
	missDone       = "done"
	missFinished   = "finished"
	missFence      = "fence"
	missHWFence    = "hw_fence"
	missJob        = "job"
	missDependency = "dependency"
	missEnter      = "enter"
	missExit       = "exit"
	missDevice     = "device"
)

// Missing lists the partners that unmatched can name in its column link.
var Missing = []string{missAPICall, missIoctl, missActivity, missQueue, missRun, missDone, missFinished,
	missFence, missHWFence, missJob, missDependency, missEnter, missExit, missDevice}
