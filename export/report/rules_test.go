package report

import (
	"os"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

func ns(v int64) correlate.OptDur    { return event.Some(v) }
func at(v int64) correlate.OptTime   { return event.Some(event.Time(v)) }
func names(r *Report) (out []string) { return ruleNames(r, func(*Finding) bool { return true }) }
func problems(r *Report) (out []string) {
	return ruleNames(r, func(f *Finding) bool { return f.Level == levelProblem })
}

func ruleNames(r *Report, want func(*Finding) bool) (out []string) {
	for i := range r.Findings {
		if want(&r.Findings[i]) {
			out = append(out, r.Findings[i].Rule)
		}
	}
	return out
}

// run builds the report of a run from 0 to 1 s.
func run(t *testing.T, rows *correlate.Rows) *Report {
	t.Helper()
	b := NewBuilder("test")
	sum := &correlate.Summary{Start: 0, End: 1e9, Rows: map[string]uint64{}}
	for _, tab := range correlate.Tables {
		sum.Rows[tab.Name] = uint64(tab.Len(rows))
	}
	if err := b.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := b.End(sum); err != nil {
		t.Fatal(err)
	}
	return b.Report()
}

// each rule: rows that just reach its threshold, and rows that just do not.
var ruleCases = []struct {
	rule     string
	yes, no  *correlate.Rows
	text     string // in the finding
	from, to int64
}{
	{"ring_idle",
		// 20 of 100 ms idle.
		&correlate.Rows{Rings: []correlate.Ring{{DeviceID: 1, Ring: "gfx", Jobs: 3, BusyNS: ns(80e6), IdleNS: ns(20e6)}},
			IdleGaps: []correlate.IdleGap{{DeviceID: 1, Ring: "gfx", StartNS: at(1e6), EndNS: at(16e6), Cause: "dependency", JobID: 7}, {DeviceID: 1, Ring: "gfx", StartNS: at(30e6), EndNS: at(35e6), Cause: "nothing_submitted"}}},
		&correlate.Rows{Rings: []correlate.Ring{{DeviceID: 1, Ring: "gfx", Jobs: 3, BusyNS: ns(81e6), IdleNS: ns(20e6)}},
			IdleGaps: []correlate.IdleGap{{DeviceID: 1, Ring: "gfx", StartNS: at(1e6), EndNS: at(16e6), Cause: "dependency"}}},
		"20.00 ms of 100.00 ms (20.0 %) between its work, 75.0 % of that because its queued jobs waited", 1e6, 16e6},
	{"ring_idle", // of the other ring of a GPU only the time in which jobs were queued
		&correlate.Rows{Rings: []correlate.Ring{{DeviceID: 1, Ring: "gfx", Jobs: 3, BusyNS: ns(90e6)}, {DeviceID: 1, Ring: "sdma", Jobs: 3, BusyNS: ns(10e6), IdleNS: ns(90e6)}},
			IdleGaps: []correlate.IdleGap{{DeviceID: 1, Ring: "sdma", StartNS: at(10e6), EndNS: at(80e6), Cause: "nothing_submitted"}, {DeviceID: 1, Ring: "sdma", StartNS: at(80e6), EndNS: at(100e6), Cause: "scheduling_latency"}}},
		&correlate.Rows{Rings: []correlate.Ring{{DeviceID: 1, Ring: "gfx", Jobs: 3, BusyNS: ns(90e6)}, {DeviceID: 1, Ring: "sdma", Jobs: 3, BusyNS: ns(10e6), IdleNS: ns(90e6)}},
			IdleGaps: []correlate.IdleGap{{DeviceID: 1, Ring: "sdma", StartNS: at(10e6), EndNS: at(80e6 + 1), Cause: "nothing_submitted"}, {DeviceID: 1, Ring: "sdma", StartNS: at(80e6 + 1), EndNS: at(100e6), Cause: "scheduling_latency"}}},
		"90.00 ms of 100.00 ms (90.0 %)", 10e6, 80e6},
	{"jobs_failed",
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", QueuedNS: at(5), DoneNS: at(9), Error: ns(-125), EndKind: "done"}}},
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", QueuedNS: at(5), DoneNS: at(9), Error: ns(0), EndKind: "done"}}},
		"1 job ended with an error, the first with -125", 5, 9},
	{"jobs_never_ran", // queued 100 ms before the end, in a log that has run events
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", RunNS: at(1), EndKind: "done"}, {ID: 2, Ring: "gfx", QueuedNS: at(9e8), EndKind: "open"}}},
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", RunNS: at(1), EndKind: "done"}, {ID: 2, Ring: "gfx", QueuedNS: at(9e8 + 1), EndKind: "open"}}},
		"1 job was queued and never ran", 9e8, -1},
	{"jobs_unfinished",
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", DoneNS: at(1), EndKind: "done"}, {ID: 2, Ring: "gfx", RunNS: at(0), EndKind: "open"}}},
		&correlate.Rows{Jobs: []correlate.Job{{ID: 1, Ring: "gfx", DoneNS: at(1), EndKind: "done"}, {ID: 2, Ring: "gfx", RunNS: at(1), EndKind: "open"}}},
		"on the hardware for 1.000 s", 0, 1e9},
	{"waits_timed_out",
		&correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 4, StartNS: at(100), EndNS: at(1_000_100), WaitNS: ns(1e6), TimedOut: event.Some(true)}}},
		&correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 4, StartNS: at(100), EndNS: at(1_000_099), WaitNS: ns(999_999), TimedOut: event.Some(true)}, {ID: 5, WaitNS: ns(5e6), TimedOut: event.Some(false)}}},
		"1 wait for a fence ended before it had signalled", 100, 1_000_100},
	{"waits_timed_out", // an ioctl that waits
		&correlate.Rows{Ioctls: []correlate.Ioctl{{ID: 1, Name: "WAIT", Role: "wait", StartNS: at(7), DurNS: ns(2e6), Errno: ns(62)}}},
		&correlate.Rows{Ioctls: []correlate.Ioctl{{ID: 1, Name: "WAIT", Role: "wait", StartNS: at(7), DurNS: ns(2e5), Errno: ns(62)}}},
		"WAIT waited in vain once", 7, 7},
	{"failed_ioctls",
		&correlate.Rows{Ioctls: []correlate.Ioctl{{ID: 1, Name: "CS", Role: "submit", StartNS: at(7), Errno: ns(12)}, {ID: 2, Name: "CS", Role: "submit", StartNS: at(9), Errno: ns(12)}, {ID: 3, Name: "CS", Role: "submit", Errno: ns(4)}}},
		&correlate.Rows{Ioctls: []correlate.Ioctl{{ID: 1, Name: "CS", Role: "submit", Errno: ns(4)}, {ID: 2, Name: "CS", Role: "submit", Errno: ns(11)}, {ID: 3, Name: "W", Role: "wait", Errno: ns(16)}}},
		"2 ioctls failed, most often CS (cannot allocate memory): 2 times", 7, 9},
	{"failed_calls",
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, Name: "cuInit", StartNS: at(5), EndNS: at(6), Result: ns(100), EndKind: "returned"}}},
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, Name: "cuStreamQuery", Result: ns(600), EndKind: "returned"}}},
		"1 API call returned an error, the first cuInit with 100", 5, 6},
	{"blocking_call", // half of the second
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, BaseName: "cuStreamSynchronize", Blocking: event.Some(true), StartNS: at(100), EndNS: at(5e8 + 100), DurNS: ns(5e8), TID: ns(12), EndKind: "returned"}}},
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, BaseName: "cuStreamSynchronize", Blocking: event.Some(true), DurNS: ns(5e8 - 1), TID: ns(12), EndKind: "returned"}, {ID: 4, BaseName: "cuStreamSynchronize", Blocking: event.Some(true), DurNS: ns(5e8), TID: ns(12), ParentID: 9, EndKind: "returned"}}},
		"thread 12, was in cuStreamSynchronize for 500.00 ms of the 1.000 s recorded (50.0 %)", 100, 5e8 + 100},
	{"slow_enqueue", // 5 % of the second
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, Name: "cuLaunchKernel", Class: "launch", Blocking: event.Some(false), StartNS: at(0), EndNS: at(5e7), DurNS: ns(5e7), EndKind: "returned"}}},
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 3, Name: "cuLaunchKernel", Class: "launch", Blocking: event.Some(false), DurNS: ns(5e7 - 1), EndKind: "returned"}, {ID: 4, Class: "launch", DurNS: ns(999_999), EndKind: "returned"}}},
		"1 call that only put work on the GPU took 1 ms or more", 0, 5e7},
	{"slow_wakeup",
		&correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 1, SignalNS: at(10), EndNS: at(2_000_010), WakeNS: ns(2e6)}}},
		&correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 1, WakeNS: ns(2e6 - 1)}}},
		"one took 2.00 ms or more", 10, 2_000_010},
	{"gpu_imbalance",
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{DeviceID: 1, Kind: "kernel", StartNS: at(0), EndNS: at(100), DurNS: ns(100)}, {DeviceID: 2, Kind: "kernel", StartNS: at(10), EndNS: at(90), DurNS: ns(80)}}},
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{DeviceID: 1, Kind: "kernel", StartNS: at(0), EndNS: at(100), DurNS: ns(100)}, {DeviceID: 2, Kind: "kernel", StartNS: at(10), EndNS: at(91), DurNS: ns(81)}}},
		"Of 2 GPUs", 10, 90},
	{"kernel_dominates",
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{ID: 1, Kind: "kernel", Name: "a", StartNS: at(0), EndNS: at(5e6), DurNS: ns(5e6)}, {ID: 2, Kind: "kernel", Name: "b", StartNS: at(0), EndNS: at(4e6), DurNS: ns(4e6)}, {ID: 3, Kind: "kernel", Name: "c", DurNS: ns(1e6)}}},
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{ID: 1, Kind: "kernel", Name: "a", DurNS: ns(5e6)}, {ID: 2, Kind: "kernel", Name: "b", DurNS: ns(4e6)}, {ID: 3, Kind: "kernel", Name: "c", DurNS: ns(2e6)}}},
		"GPU function a took 5.00 ms of the 10.00 ms of all kernels (50.0 %)", 0, 5e6},
	{"copies_dominate",
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{ID: 1, Kind: "kernel", DurNS: ns(5e6)}, {ID: 2, Kind: "memcpy", StartNS: at(0), EndNS: at(5e6), DurNS: ns(5e6)}}},
		&correlate.Rows{GPUActivities: []correlate.GPUActivity{{ID: 1, Kind: "kernel", DurNS: ns(6e6)}, {ID: 2, Kind: "memcpy", DurNS: ns(5e6)}}},
		"Copies took 5.00 ms of the 10.00 ms", 0, 5e6},
	{"resets",
		&correlate.Rows{Resets: []correlate.Reset{{ID: 1, Ring: "gfx", TSNS: at(3), Rule: "inferred", JobID: 7}, {ID: 2, Ring: "gfx", TSNS: at(8), Rule: "inferred", JobID: 9}}},
		&correlate.Rows{}, "Ring gfx was reset 2 times (inferred", 3, 8},
	{"kernel_messages", &correlate.Rows{LogLines: []correlate.LogLine{{TSNS: at(5), Text: "NVRM: Xid 31"}}}, &correlate.Rows{}, "Xid 31", 5, 5},
	{"lost_events", &correlate.Rows{Losses: []correlate.Loss{{StartNS: at(4), EndNS: at(6), Count: event.Some(uint64(9))}}, Unmatched: []correlate.Unmatched{{LossID: 1}}}, &correlate.Rows{}, "9 events lost in 1 gap", 4, 6},
	{"clocks_apart", &correlate.Rows{GPUActivities: []correlate.GPUActivity{{LaunchNS: ns(-1)}}}, &correlate.Rows{GPUActivities: []correlate.GPUActivity{{LaunchNS: ns(0)}}}, "1 piece of work", -1, -1},
	{"clock_unaligned", &correlate.Rows{Devices: []correlate.Device{{ID: 1, Unaligned: true}}}, &correlate.Rows{Devices: []correlate.Device{{ID: 1}}}, "1 GPU", -1, -1},
	{"launches_without_records",
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 1, Class: "launch", EndKind: "returned"}}, Unmatched: []correlate.Unmatched{{SrcTable: "api_calls", SrcID: 1, Link: "activity", Reason: "not_recorded"}}},
		&correlate.Rows{APICalls: []correlate.APICall{{ID: 1, Class: "launch", EndKind: "returned"}}}, "1 of 1 API call", -1, -1},
	{"queue_delay_tail", &correlate.Rows{Jobs: delays(20, 100, 50e6)}, &correlate.Rows{Jobs: delays(20, 100, 4e6)}, "the longest wait was 50.00 ms", 20, 50e6 + 20},
	{"memory_left", &correlate.Rows{MemMaps: mappings(16, 1<<16)}, &correlate.Rows{MemMaps: mappings(15, 1<<20)}, "1.0 MiB in 16 mappings", 0, 1e9},
}

// delays gives n jobs with one queue delay, the last with another.
func delays(n int, most, last int64) (out []correlate.Job) {
	for i := range n {
		d := most
		if i == n-1 {
			d = last
		}
		out = append(out, correlate.Job{ID: correlate.ID(i + 1), Ring: "gfx", QueuedNS: at(int64(i + 1)), RunNS: at(int64(i+1) + d), QueueDelayNS: ns(d), EndKind: "done"})
	}
	return out
}

func mappings(n int, bytes uint64) (out []correlate.MemMap) {
	for i := range n {
		out = append(out, correlate.MemMap{Op: "map", TSNS: at(int64(i)), Address: event.Some(uint64(4096 * (i + 1))), Bytes: event.Some(bytes)})
	}
	return out
}

func TestRules(t *testing.T) {
	tested := map[string]bool{"command_failed": true, "stutter": true} // see TestCommandFailed, TestStutterOfBursts
	for _, c := range ruleCases {
		tested[c.rule] = true
		var found *Finding
		r := run(t, c.yes)
		for i := range r.Findings {
			if r.Findings[i].Rule == c.rule {
				found = &r.Findings[i]
			}
		}
		if found == nil {
			t.Errorf("%s: not found, but %v", c.rule, names(r))
			continue
		}
		if !strings.Contains(found.Text, c.text) || found.SQL == "" || found.Unit == "" {
			t.Errorf("%s: %+v", c.rule, *found)
		}
		if !isAt(found.StartNS, c.from) || !isAt(found.EndNS, c.to) {
			t.Errorf("%s: not from %d to %d: %+v", c.rule, c.from, c.to, found)
		}
		for _, n := range names(run(t, c.no)) {
			if n == c.rule {
				t.Errorf("%s: found below its threshold", c.rule)
			}
		}
	}
	for _, s := range Rules {
		if !tested[s.Name] {
			t.Errorf("rule %s has no case", s.Name)
		}
	}
}

// isAt compares a time, -1 for none.
func isAt(p *int64, want int64) bool {
	if p == nil {
		return want == -1
	}
	return *p == want
}

func TestCommandFailed(t *testing.T) {
	b := NewBuilder("test")
	sum := &correlate.Summary{Start: 0, End: 5}
	sum.Meta.ExitStatus = event.Some(139)
	if err := b.End(sum); err != nil {
		t.Fatal(err)
	}
	if p := problems(b.Report()); len(p) != 1 || p[0] != "command_failed" || !strings.Contains(b.Report().Findings[0].Text, "segmentation fault") {
		t.Errorf("%+v", b.Report().Findings)
	}
}

// Problems come before what is slow, and what took more time before less.
func TestRank(t *testing.T) {
	r := run(t, &correlate.Rows{
		Losses:   []correlate.Loss{{ID: 1}},
		Ioctls:   []correlate.Ioctl{{ID: 1, Name: "CS", Role: "submit", Errno: ns(12)}},
		Rings:    []correlate.Ring{{Ring: "a", Jobs: 1, BusyNS: ns(1e6), IdleNS: ns(2e6)}, {Ring: "b", Jobs: 1, BusyNS: ns(1e6), IdleNS: ns(9e6)}},
		IdleGaps: []correlate.IdleGap{{Ring: "a", StartNS: at(0), EndNS: at(2e6), Cause: "dependency"}, {Ring: "b", StartNS: at(0), EndNS: at(9e6), Cause: "dependency"}},
	})
	if got := strings.Join(names(r), " "); got != "failed_ioctls ring_idle ring_idle lost_events" || r.Findings[1].Ring != "b" {
		t.Errorf("%s", got)
	}
}

// docs/report.md names every rule with its condition.
func TestDocsNameTheRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Rules {
		if line := "| `" + s.Name + "` | " + s.Level + " | " + s.When + " |\n"; !strings.Contains(string(page), line) {
			t.Errorf("docs/report.md lacks %s", line)
		}
	}
	if n := strings.Count(string(page), "\n| `"); n < len(Rules) {
		t.Errorf("%d rows", n)
	}
}

// Times in whole microseconds have no digits behind them.
func TestCoarseTimes(t *testing.T) {
	r := run(t, &correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 1, StartNS: at(5000), EndNS: at(12_000), WaitNS: ns(7000)}}})
	if r.ResolutionNS != 1000 || r.dur(7000) != "7 µs" || r.dur(0) != "0 µs" || r.dur(2_500_000) != "2.50 ms" {
		t.Errorf("%d %q %q", r.ResolutionNS, r.dur(7000), r.dur(0))
	}
	r = run(t, &correlate.Rows{FenceWaits: []correlate.FenceWait{{ID: 1, StartNS: at(5000), EndNS: at(12_001), WaitNS: ns(7001)}}})
	if r.ResolutionNS != 1 || r.dur(7001) != "7.00 µs" {
		t.Errorf("%d %q", r.ResolutionNS, r.dur(7001))
	}
}
