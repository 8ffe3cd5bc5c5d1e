// Package report is what a person reads first: what stands out in a run, then
// delays, backlog, idle causes, GPU time, API time, failures and losses, as
// text and as JSON. docs/report.md describes both.
package report

// Report is the whole report; its JSON form is stable. Every figure of it can
// be computed from the Parquet export: views.sql has the queries.
type Report struct {
	Tool         string            `json:"tool"`
	Command      []string          `json:"command,omitempty"`
	ExitStatus   *int              `json:"exit_status,omitempty"` // of the command
	Clock        string            `json:"clock"`
	StartNS      *int64            `json:"start_ns"`
	EndNS        *int64            `json:"end_ns"`
	ResolutionNS int64             `json:"time_resolution_ns"` // 1000 if every time is a multiple of it, else 1
	Rows         map[string]uint64 `json:"rows"`
	Findings     []Finding         `json:"findings"`
	NotKnown     []NotKnown        `json:"not_known"`
	Rings        []Ring            `json:"rings"`
	Submissions  []Submission      `json:"submissions"`
	Devices      []DeviceWork      `json:"gpu_devices"`
	Processes    []ProcessWork     `json:"gpu_processes"`
	Kernels      []Kernel          `json:"gpu_kernels"`
	Activities   []Activities      `json:"gpu_activities"`
	LaunchDelay  Stats             `json:"launch_delay"`
	API          []API             `json:"api_calls"`
	APIProcesses []APIProcess      `json:"api_processes"`
	Blocking     []BlockingThread  `json:"blocking_threads"`
	Ioctls       []Ioctl           `json:"ioctls"`
	FailedIoctls []FailedIoctl     `json:"failed_ioctls"`
	Interrupts   []Interrupts      `json:"interrupts"`
	FenceWaits   Stats             `json:"fence_waits"`
	WaitsTimeout uint64            `json:"fence_waits_timed_out"`
	Wake         Stats             `json:"fence_wake"`
	Resets       []Resets          `json:"resets"`
	Memory       []Memory          `json:"memory"`
	Unmatched    []Unmatched       `json:"unmatched"`
	Lost         Lost              `json:"lost"`
	Losses       []Loss            `json:"losses"` // the first 65,536
	Anomalies    []Anomaly         `json:"anomalies"`
	Capped       uint64            `json:"rows_without_own_line"` // of names beyond 65,536 (rings 8,192), summed up under an empty one

	// Input names the file in the commands that the text suggests.
	Input string `json:"-"`
}

// Ring is what happened on one ring. All times are nanoseconds.
type Ring struct {
	DeviceID      *int64      `json:"device_id"`
	GPU           string      `json:"gpu"` // "" if unknown
	Ring          string      `json:"ring"`
	Jobs          int64       `json:"jobs"`
	Done          int64       `json:"done"`
	NeverRan      int64       `json:"never_ran_jobs"`  // queued, and killed or still queued at the end
	Unfinished    int64       `json:"unfinished_jobs"` // handed over, and not done at the end
	Failed        int64       `json:"failed_jobs"`
	Rerun         int64       `json:"rerun_jobs"`
	Guilty        int64       `json:"guilty_jobs"`    // brought a reset, as the driver says
	Cancelled     int64       `json:"cancelled_jobs"` // by a reset
	MaxBacklog    int64       `json:"max_backlog_jobs"`
	MaxQueued     int64       `json:"max_queued_jobs"`
	MaxInFlight   int64       `json:"max_in_flight_jobs"`
	BusyNS        int64       `json:"busy_ns"`
	IdleNS        int64       `json:"idle_ns"`
	BusyRatio     *float64    `json:"busy_ratio"` // of busy and idle
	SubmitLatency Stats       `json:"submit_latency"`
	QueueDelay    Stats       `json:"queue_delay"`
	DepWait       Stats       `json:"dependency_wait"` // the part of queue_delay that the job waited for others; of jobs with known dependencies
	HWQueue       Stats       `json:"hw_queue"`
	DeviceTime    Stats       `json:"device_time"`
	SignalLatency Stats       `json:"signal_latency"`
	IdleByCause   []IdleCause `json:"idle_by_cause"`
	// BacklogTime is how long the ring had how many jobs queued or in flight.
	BacklogTime   []BacklogTime `json:"backlog_time"`
	BacklogApprox bool          `json:"backlog_approximate,omitempty"` // jobs ended too long after others that began later

	acc *ringAcc
}

// BacklogTime is how long a ring had so many jobs queued or in flight.
type BacklogTime struct {
	Jobs int64 `json:"jobs"` // 64: so many and more
	NS   int64 `json:"ns"`
}

// IdleCause sums the idle gaps of one cause.
type IdleCause struct {
	Cause        string         `json:"cause"`
	Count        int64          `json:"count"`
	SumNS        int64          `json:"sum_ns"`
	MaxNS        int64          `json:"max_ns"`
	SubmitterWas []SubmitterWas `json:"submitter_was,omitempty"`

	longest gapRef
}

// SubmitterWas sums the gaps of a cause in which the thread that then
// submitted did one thing.
type SubmitterWas struct {
	What  string `json:"what"` // "" if unknown
	Count int64  `json:"count"`
	SumNS int64  `json:"sum_ns"`
}

// Submission is how regularly a process submitted: jobs to a ring, or, in a log
// without jobs, work to GPUs by API calls (launches, copies, submits).
type Submission struct {
	MeasuredBy string `json:"measured_by"` // jobs, api_calls
	DeviceID   *int64 `json:"device_id"`
	GPU        string `json:"gpu"`
	Ring       string `json:"ring"`
	ProcessID  *int64 `json:"process_id"`
	PID        *int64 `json:"pid"`
	Process    string `json:"process"`
	Regularity
	// Bursts is the same of the begins of bursts, if more than a tenth of the
	// intervals are outliers, or if their median is below 1 ms: then an outlier
	// ends a burst of submissions (a frame, a step) and the next begins. null
	// otherwise.
	Bursts *Regularity `json:"bursts"`

	processID int64
}

// Regularity is how regularly something comes.
type Regularity struct {
	Intervals   Stats  `json:"intervals"`
	ThresholdNS int64  `json:"outlier_threshold_ns"` // max(1.5 × median, median + 1 ms)
	Outliers    uint64 `json:"outliers"`             // intervals of at least that
	ExcessNS    int64  `json:"outlier_excess_ns"`    // by how much they pass the median, summed up
	PeriodNS    *int64 `json:"outlier_period_ns"`    // median distance of their begins; null below three
	Periodic    bool   `json:"outlier_periodic"`     // two thirds of the distances are within 20 % of it

	list []interval // the outliers, in order of time
}

// DeviceWork is what a GPU did, as one source measured it.
type DeviceWork struct {
	DeviceID   *int64   `json:"device_id"`
	GPU        string   `json:"gpu"`
	MeasuredBy string   `json:"measured_by"` // gpu_activities, jobs
	Count      uint64   `json:"count"`
	SumNS      int64    `json:"sum_ns"`
	BusyNS     int64    `json:"busy_ns"`    // in which at least one ran: the union
	BusyRatio  *float64 `json:"busy_ratio"` // of first start to last end
	FirstNS    *int64   `json:"first_start_ns"`
	LastNS     *int64   `json:"last_end_ns"`
	Approx     bool     `json:"approximate,omitempty"` // the union is a lower bound
}

// ProcessWork is what one process did on a GPU.
type ProcessWork struct {
	ProcessID  *int64   `json:"process_id"`
	PID        *int64   `json:"pid"`
	Process    string   `json:"process"`
	DeviceID   *int64   `json:"device_id"`
	GPU        string   `json:"gpu"`
	MeasuredBy string   `json:"measured_by"`
	Count      uint64   `json:"count"`
	SumNS      int64    `json:"sum_ns"`
	Share      *float64 `json:"share_ratio"` // of the GPU's sum_ns
}

// Kernel sums the runs of one GPU function.
type Kernel struct {
	MeasuredBy string   `json:"measured_by"` // gpu_activities, jobs
	Name       string   `json:"name"`
	Launches   uint64   `json:"launches"`
	Time       Stats    `json:"time"`
	Share      *float64 `json:"share_ratio"` // of all kernels so measured
}

// API sums the calls of one function.
type API struct {
	API      string `json:"api"`
	Name     string `json:"name"` // base name
	Class    string `json:"class"`
	Blocking *bool  `json:"blocking"` // it waits by its nature; null if not known
	Calls    uint64 `json:"calls"`
	Open     uint64 `json:"not_returned"` // calls whose return was not seen although it was watched
	Failed   uint64 `json:"failed"`
	SelfNS   int64  `json:"self_ns"` // without the calls inside
	Time     Stats  `json:"time"`    // of the calls whose both ends were seen
}

// APIProcess sums a process's time in calls, those inside others not twice.
type APIProcess struct {
	ProcessID  *int64 `json:"process_id"`
	PID        *int64 `json:"pid"`
	Process    string `json:"process"`
	Calls      uint64 `json:"calls"`
	SelfNS     int64  `json:"self_ns"`
	BlockingNS int64  `json:"blocking_self_ns"` // part of it in functions that wait by their nature
}

// BlockingThread sums the outermost calls of one thread to one function that
// waits by its nature.
type BlockingThread struct {
	ProcessID *int64   `json:"process_id"`
	PID       *int64   `json:"pid"`
	TID       *int64   `json:"tid"`
	Process   string   `json:"process"`
	API       string   `json:"api"`
	Name      string   `json:"name"`
	Calls     uint64   `json:"calls"`
	SumNS     int64    `json:"sum_ns"`
	Share     *float64 `json:"share_of_run_ratio"`

	longest row
	maxNS   int64
}

// Ioctl sums the ioctls of one name.
type Ioctl struct {
	Driver string `json:"driver"`
	Name   string `json:"name"`
	Role   string `json:"role"`
	Calls  uint64 `json:"calls"`
	Failed uint64 `json:"failed"` // errno or status is not 0
	Time   Stats  `json:"time"`
}

// FailedIoctl counts failures of one ioctl with one errno and one status of
// the driver.
type FailedIoctl struct {
	Driver  string  `json:"driver"`
	Name    string  `json:"name"`
	Role    string  `json:"role"`
	Errno   *int64  `json:"errno"`
	Error   string  `json:"error"`
	Status  *uint64 `json:"status"` // inside the ioctl's struct
	Count   uint64  `json:"count"`
	FirstNS *int64  `json:"first_ns"`
	LastNS  *int64  `json:"last_ns"`
	first   int64   // id of one
	longest int64   // ns
}

// Interrupts counts the interrupts of a GPU, by handler.
type Interrupts struct {
	DeviceID  *int64   `json:"device_id"`
	GPU       string   `json:"gpu"`
	Driver    string   `json:"driver"`
	Name      string   `json:"name"`
	Count     uint64   `json:"count"`
	PerSecond *float64 `json:"per_second"`
	Time      Stats    `json:"time"` // in the handler
}

// Activities sums the device's work of one kind.
type Activities struct {
	Kind string `json:"kind"`
	Time Stats  `json:"time"`
}

// Resets counts the resets of a ring.
type Resets struct {
	DeviceID *int64 `json:"device_id"`
	GPU      string `json:"gpu"`
	Ring     string `json:"ring"`
	Rule     string `json:"rule"` // source, inferred
	Count    uint64 `json:"count"`
	FirstNS  *int64 `json:"first_ns"`
	LastNS   *int64 `json:"last_ns"`
	job      int64
}

// Memory is what a process mapped or allocated on a GPU and what of it was
// there at the end.
type Memory struct {
	Source    string `json:"source"` // mem_maps, api_calls
	ProcessID *int64 `json:"process_id"`
	PID       *int64 `json:"pid"`
	Process   string `json:"process"`
	DeviceID  *int64 `json:"device_id"`
	Maps      uint64 `json:"maps"`
	Unmaps    uint64 `json:"unmaps"`
	Live      uint64 `json:"live_at_end"`
	LiveBytes uint64 `json:"live_at_end_bytes"`
	Approx    bool   `json:"approximate,omitempty"` // too many to follow all

	firstLive *int64
}

// Unmatched counts the rows of a table that lack a partner for one reason.
type Unmatched struct {
	Table  string `json:"table"`
	Link   string `json:"link"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Lost sums up the stretches of missing events.
type Lost struct {
	Gaps    uint64 `json:"gaps"`
	Events  uint64 `json:"events"` // in those whose count is known
	Unknown uint64 `json:"gaps_of_unknown_size"`
}

// Loss is a stretch of missing events.
type Loss struct {
	Stream string  `json:"stream"`
	CPU    *int64  `json:"cpu"`
	Count  *uint64 `json:"count"`
	Remedy string  `json:"remedy"`
}

// Anomaly is a counted anomaly.
type Anomaly struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Count    uint64 `json:"count"`
	Doc      string `json:"doc"` // what happened
	Remedy   string `json:"remedy"`
	Sample   string `json:"sample,omitempty"`
}
