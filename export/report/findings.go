package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// Finding is something that stands out: one sentence, its figure, when and
// where it was, and what shows it.
type Finding struct {
	Rule       string   `json:"rule"`  // name of the rule, see docs/report.md
	Level      string   `json:"level"` // problem, slow, doubt
	Text       string   `json:"text"`
	Value      float64  `json:"value"`
	Unit       string   `json:"unit"`    // ns, ratio, count, bytes
	CostNS     int64    `json:"cost_ns"` // time that it took, for the order; 0 if that is no time
	StartNS    *int64   `json:"start_ns"`
	EndNS      *int64   `json:"end_ns"`
	DeviceID   *int64   `json:"device_id"`
	GPU        string   `json:"gpu"`
	Ring       string   `json:"ring"`
	ProcessIDs []int64  `json:"process_ids"`
	Processes  []string `json:"processes"`                 // name and pid
	Search     string   `json:"perfetto_search,omitempty"` // what finds it in the Perfetto UI
	Explain    string   `json:"explain,omitempty"`         // what gpurec correlate --explain takes
	SQL        string   `json:"sql"`                       // over the Parquet export
}

// The levels, most urgent first.
const (
	levelProblem = "problem" // something went wrong
	levelSlow    = "slow"    // something took time
	levelDoubt   = "doubt"   // the figures themselves are in doubt
)

// RuleSpec describes a rule of the findings.
type RuleSpec struct {
	Name, Level, When string
}

// The thresholds of the rules.
const (
	longGone       = 100_000_000   // ns that a job waited when the log ended
	longRunning    = 1_000_000_000 // ns that a job ran when the log ended
	longTimeout    = 1_000_000     // ns of a wait that timed out
	idleRatio      = 0.2
	idleLeast      = 1_000_000 // ns
	stutterLeast   = 20        // intervals
	stutterShare   = 0.1       // of the intervals may be outliers
	stutterBursts  = 0.2       // of those between bursts
	stutterExcess  = 5_000_000 // ns
	tailLeast      = 5_000_000 // ns of the 99th percentile
	tailTimes      = 10        // that percentile over the median
	tailJobs       = 20
	extremeLeast   = 50_000_000 // ns of the greatest
	extremeTimes   = 50         // that over the median
	blockingRatio  = 0.5
	enqueueRatio   = 0.05
	wakeLeast      = 2_000_000 // ns
	imbalanceRatio = 0.2
	dominatesRatio = 0.5
	dominatesLeast = 10_000_000 // ns of all kernels
	memoryLeast    = 16         // mappings
	memoryBytes    = 1 << 20
)

// Rules lists the rules of the findings, in the order in which those of one
// level and cost stand. docs/report.md says the same; a test holds them together.
var Rules = []RuleSpec{
	{"command_failed", levelProblem, "the recorded command's exit status is not 0"},
	{"kernel_messages", levelProblem, "the log holds kernel messages about a GPU (Xid, ring timeout)"},
	{"resets", levelProblem, "a reset is named by the source, or a job was handed to the hardware a second time"},
	{"jobs_failed", levelProblem, "jobs ended with an error"},
	{"jobs_never_ran", levelProblem, "jobs were killed before they ran, or had waited for 100 ms and more when the log ended"},
	{"jobs_unfinished", levelProblem, "a job had run for 1 s and more, and for longer than any other of its ring, when the log ended"},
	{"waits_timed_out", levelProblem, "waits for a fence, or wait ioctls, of 1 ms and more ended without what they waited for"},
	{"failed_ioctls", levelProblem, "ioctls failed; EINTR and EAGAIN are left out, and EBUSY and timeouts of waits"},
	{"failed_calls", levelProblem, "API calls returned an error; \"not ready\" (600) is left out"},
	{"memory_left", levelProblem, "a process left 16 and more mappings or allocations, and 1 MiB and more, in place at the end"},
	{"ring_idle", levelSlow, "a ring, or a GPU without rings, was idle for 20 % of its time and 1 ms and more; of a ring beside a busier one of its GPU only the time counts in which jobs were queued"},
	{"stutter", levelSlow, "of 20 and more intervals between submissions (between bursts of them, if they come in bursts) up to 10 % (of bursts 20 %) reach max(1.5 × median, median + 1 ms), and they pass the median by 5 ms in sum"},
	{"queue_delay_tail", levelSlow, "of 20 and more queue delays the 99th percentile is 5 ms and more and 10 medians and more, or the greatest 50 ms and more and 50 medians and more"},
	{"blocking_call", levelSlow, "a thread was in outermost calls of one function that waits by its nature for half of the run and more"},
	{"slow_enqueue", levelSlow, "calls that should only enqueue took 1 ms and more each, and 5 % of the run in sum"},
	{"slow_wakeup", levelSlow, "of the threads that waited for a fence 1 % and more ran 2 ms and more after its signal"},
	{"gpu_imbalance", levelSlow, "the least busy of several GPUs was busy for 20 % less than the busiest"},
	{"kernel_dominates", levelSlow, "one of several GPU functions took half and more of 10 ms and more of kernel time"},
	{"copies_dominate", levelSlow, "copies took half and more of 10 ms and more of work on the devices"},
	{"lost_events", levelDoubt, "events were lost"},
	{"clock_unaligned", levelDoubt, "times of processes or GPUs are of another clock than the log's and could not be converted"},
	{"clocks_apart", levelDoubt, "work began on a device before the call that launched it"},
	{"launches_without_records", levelDoubt, "calls put work on a device, and neither a job nor a device record shows it"},
}

// rule returns a finding of a rule.
func rule(name string) Finding {
	f := Finding{Rule: name, ProcessIDs: []int64{}, Processes: []string{}}
	for _, s := range Rules {
		if s.Name == name {
			f.Level = s.Level
		}
	}
	return f
}

// findings asks every rule and ranks what they say.
func (b *Builder) findings() {
	r := &b.rep
	for _, f := range []func() []Finding{
		b.commandFailed, b.kernelMessages, b.resetFindings, b.jobFindings, b.timedOut, b.failedIoctls, b.failedCalls, b.memoryLeft,
		b.idleFindings, b.stutter, b.queueTail, b.blockingCalls, b.slowEnqueue, b.slowWakeup, b.imbalance, b.dominates, b.copies,
		b.lostEvents, b.unaligned, b.clocksApart, b.withoutRecords,
	} {
		r.Findings = append(r.Findings, f()...)
	}
	level := map[string]int{levelProblem: 0, levelSlow: 1, levelDoubt: 2}
	slices.SortStableFunc(r.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(level[x.Level], level[y.Level]), cmp.Compare(y.CostNS, x.CostNS))
	})
}

// where says on which ring a finding is.
func (f *Finding) where(x *Ring) {
	f.DeviceID, f.GPU, f.Ring = x.DeviceID, x.GPU, x.Ring
}

// when sets the range of a finding.
func (f *Finding) when(start, end correlate.OptTime) {
	f.StartNS, f.EndNS = timePtr(start), timePtr(end)
}

func (b *Builder) who(f *Finding, ids ...correlate.ID) {
	for _, i := range ids {
		if i == 0 || slices.Contains(f.ProcessIDs, int64(i)) {
			continue
		}
		_, pid, name := b.process(i)
		f.ProcessIDs = append(f.ProcessIDs, int64(i))
		f.Processes = append(f.Processes, processName(name, pid))
	}
}

// job points a finding to a job.
func (f *Finding) job(id correlate.ID, sched correlate.OptUint) {
	if id == 0 {
		return
	}
	f.Explain = "jobs:" + strconv.FormatInt(int64(id), 10)
	if sched.OK {
		f.Search = "#" + strconv.FormatUint(sched.V, 10)
	}
}

// sqlText quotes a text for SQL, "IS NULL" for none.
func sqlText(s string) string {
	if s == "" {
		return "IS NULL"
	}
	q := "'"
	for _, r := range s {
		if r == '\'' {
			q += "'"
		}
		q += string(r)
	}
	return "= " + q + "'"
}

func sqlID(p *int64) string {
	if p == nil {
		return "IS NULL"
	}
	return "= " + strconv.FormatInt(*p, 10)
}

func ringSQL(x *Ring) string {
	return fmt.Sprintf("device_id %s AND ring %s", sqlID(x.DeviceID), sqlText(x.Ring))
}
