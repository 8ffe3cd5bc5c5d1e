package event

// Meta is what a source or a log says about itself as a whole. Unknown values
// are zero. It never holds an environment.
type Meta struct {
	Tool        string // what wrote the log, "gpurec"
	ToolVersion string
	Format      string // what the events were read from: "live", "ftrace-text", …
	Clock       Clock  // clock of every Time in the source
	Host        Host
	Command     []string // the recorded command
	ExitStatus  Opt[int] // of the command: 128+n after signal n
	Start, End  Opt[Time]
	Snapshots   []ClockSnapshot
	Probes      []Probe
	Cost        Cost
	Inputs      []string // names of imported files, without directories
	Anomalies   []Anomaly
	Facts       []Fact // anything else worth keeping, in order
}

// Host describes the machine that was traced.
type Host struct {
	Name, Kernel, Machine, BootID string
	CPUs                          int
}

// Fact is a free key and value.
type Fact struct{ Key, Value string }

// Probe is one thing that a recording watched, or could not.
type Probe struct {
	Name      string // "cuLaunchKernel", "gpu_scheduler:drm_sched_job"
	Mechanism string // "uprobe", "uprobe_multi", "tp_btf", "ftrace", …
	State     string // "attached", "missing", "failed"
	Reason    string // why not, and how to get it
	Hits      uint64
	Misses    uint64
	Lost      uint64
	RunTimeNS uint64 // BPF run time, ns
}

// Cost is what recording itself took.
type Cost struct {
	CPUTimeNS    uint64 // CPU time of the recorder, ns
	BytesWritten uint64
	Events       uint64
}

// Opt is a value that may be unknown. Its zero value is unknown.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// OptTime returns t as an Opt: NoTime is unknown.
func OptTime(t Time) Opt[Time] { return Opt[Time]{t, t.Known()} }
