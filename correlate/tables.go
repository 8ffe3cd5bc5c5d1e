package correlate

// Rows is a run of finished rows, by table. A row is given once, when nothing
// more can change it; rows of one table come in the order of their ends, not
// of their starts. Slices are valid until the receiver returns.
type Rows struct {
	APICalls      []APICall
	Ioctls        []Ioctl
	Jobs          []Job
	JobDeps       []JobDep
	JobEvents     []JobEvent
	Fences        []Fence
	FenceWaits    []FenceWait
	GPUActivities []GPUActivity
	Slices        []Slice
	Rings         []Ring
	IdleGaps      []IdleGap
	Counters      []Counter
	Links         []Link
	Unmatched     []Unmatched
	Losses        []Loss
	Sched         []Sched
	IRQs          []IRQ
	MemMaps       []MemMap
	Resets        []Reset
	Marks         []Mark
	Flows         []Flow
	Samples       []Sample
	LogLines      []LogLine
	Others        []Other
	Anomalies     []AnomalyRow
	Processes     []Process
	Threads       []Thread
	Devices       []Device
	FunctionNames []FunctionName
	Probes        []ProbeRow
	Metadata      []Metadata
}

// Reset empties every table and keeps the memory.
func (r *Rows) Reset() {
	for _, t := range Tables {
		t.reset(r)
	}
}

// Len returns the number of rows in all tables.
func (r *Rows) Len() int {
	n := 0
	for _, t := range Tables {
		n += t.Len(r)
	}
	return n
}

// Table describes one table of [Rows].
type Table struct {
	Name string
	Doc  string
	// Zero is a zero row (APICall{} …): its type gives the columns.
	Zero any
	// Len returns the number of its rows in r.
	Len   func(r *Rows) int
	reset func(r *Rows)
}

func table[T any](name, doc string, f func(*Rows) *[]T) *Table {
	var zero T
	return &Table{
		Name: name, Doc: doc, Zero: zero,
		Len:   func(r *Rows) int { return len(*f(r)) },
		reset: func(r *Rows) { s := f(r); *s = (*s)[:0] },
	}
}

// Tables lists all tables in the order in which they are documented.
var Tables = []*Table{
	table("api_calls", "Calls of GPU APIs.", func(r *Rows) *[]APICall { return &r.APICalls }),
	table("ioctls", "Device ioctls.", func(r *Rows) *[]Ioctl { return &r.Ioctls }),
	table("jobs", "Jobs of the GPU schedulers.", func(r *Rows) *[]Job { return &r.Jobs }),
	table("job_deps", "What a job depends on.", func(r *Rows) *[]JobDep { return &r.JobDeps }),
	table("job_events", "What drivers told of jobs beside queueing, run and end.", func(r *Rows) *[]JobEvent { return &r.JobEvents }),
	table("fences", "DMA fences.", func(r *Rows) *[]Fence { return &r.Fences }),
	table("fence_waits", "Threads that block on a fence.", func(r *Rows) *[]FenceWait { return &r.FenceWaits }),
	table("gpu_activities", "Work measured on the device.", func(r *Rows) *[]GPUActivity { return &r.GPUActivities }),
	table("slices", "Host ranges of the source.", func(r *Rows) *[]Slice { return &r.Slices }),
	table("rings", "Rings and their totals.", func(r *Rows) *[]Ring { return &r.Rings }),
	table("idle_gaps", "When a ring stood idle, and why.", func(r *Rows) *[]IdleGap { return &r.IdleGaps }),
	table("counters", "Sampled values.", func(r *Rows) *[]Counter { return &r.Counters }),
	table("links", "Joins: cause and effect, rule and confidence.", func(r *Rows) *[]Link { return &r.Links }),
	table("unmatched", "Rows without an expected partner, and why.", func(r *Rows) *[]Unmatched { return &r.Unmatched }),
	table("losses", "Events that are missing.", func(r *Rows) *[]Loss { return &r.Losses }),
	table("sched", "Threads on CPUs.", func(r *Rows) *[]Sched { return &r.Sched }),
	table("irqs", "Interrupt handlers.", func(r *Rows) *[]IRQ { return &r.IRQs }),
	table("mem_maps", "Maps and unmaps of GPU address spaces.", func(r *Rows) *[]MemMap { return &r.MemMaps }),
	table("resets", "GPU resets.", func(r *Rows) *[]Reset { return &r.Resets }),
	table("marks", "Instants.", func(r *Rows) *[]Mark { return &r.Marks }),
	table("flows", "Ends of the arrows that the source drew.", func(r *Rows) *[]Flow { return &r.Flows }),
	table("samples", "Stack samples.", func(r *Rows) *[]Sample { return &r.Samples }),
	table("log_lines", "Kernel messages that matter.", func(r *Rows) *[]LogLine { return &r.LogLines }),
	table("others", "Events without a kind of their own.", func(r *Rows) *[]Other { return &r.Others }),
	table("anomalies", "What was odd, doubtful or lost, counted.", func(r *Rows) *[]AnomalyRow { return &r.Anomalies }),
	table("processes", "Processes.", func(r *Rows) *[]Process { return &r.Processes }),
	table("threads", "Threads.", func(r *Rows) *[]Thread { return &r.Threads }),
	table("devices", "GPUs.", func(r *Rows) *[]Device { return &r.Devices }),
	table("function_names", "What the mangled names of GPU functions stand for.", func(r *Rows) *[]FunctionName { return &r.FunctionNames }),
	table("probes", "What the recording watched.", func(r *Rows) *[]ProbeRow { return &r.Probes }),
	table("metadata", "Facts of the run.", func(r *Rows) *[]Metadata { return &r.Metadata }),
}

// TableByName returns a table, or nil.
func TableByName(name string) *Table {
	for _, t := range Tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}
