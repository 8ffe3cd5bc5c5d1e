package perfetto

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/correlate"
	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// Sampled counters stand under their GPU with their units, those of two GPUs
// apart; utilisation is the share of each window: 1 ms in a trace of 10 ms.
func TestCountersOfGPUs(t *testing.T) {
	const ms = 1_000_000
	rows := &correlate.Rows{
		Devices: []correlate.Device{{ID: 1, Index: 0, Name: "A"}, {ID: 2, Index: 10, Name: "B"}},
		Jobs: []correlate.Job{
			{ID: 1, DeviceID: 1, Ring: "gfx", Comm: "x", QueuedNS: at(0.25 * ms), RunNS: at(0.5 * ms), DeviceStartNS: at(0.5 * ms), DoneNS: at(2.25 * ms), DeviceTimeNS: num(1.75 * ms), EndKind: "done"},
			// On another ring, half of it at the same time.
			{ID: 2, DeviceID: 1, Ring: "compute", Comm: "x", QueuedNS: at(2 * ms), RunNS: at(2 * ms), DeviceStartNS: at(2 * ms), DoneNS: at(2.5 * ms), DeviceTimeNS: num(0.5 * ms), EndKind: "done"},
		},
		Counters: []correlate.Counter{
			{Name: "memory", DeviceID: 1, TSNS: at(1 * ms), Value: 1 << 33, Unit: "B"},
			{Name: "memory", DeviceID: 2, TSNS: at(1 * ms), Value: 7, Unit: "B"},
			{Name: "clock", DeviceID: 1, TSNS: at(1 * ms), Value: 1980e6, Unit: "Hz"},
			{Name: "power", DeviceID: 1, TSNS: at(1 * ms), Value: 312.5, Unit: "W"},
			{Name: "power", DeviceID: 1, TSNS: at(2 * ms), Value: 0, Unit: "W"},
			{Name: "utilisation", DeviceID: 1, TSNS: at(1 * ms), Value: 42, Unit: "%"}, // the driver's own
			{Name: "rss", ProcessID: 1, TSNS: at(3 * ms), Value: 5},
		},
		Processes: []correlate.Process{{ID: 1, PID: num(7), Name: "train"}},
	}
	rep := read(t, rows, summary(0, 10*ms))
	got := map[string]string{}
	for _, tr := range rep.Tracks {
		for _, s := range tr.Samples {
			got[tr.Path()] += fmt.Sprintf("%g ms %g%s; ", float64(s.Time)/ms, s.Value, tr.Unit)
		}
	}
	for path, want := range map[string]string{
		"GPU 00 (A) > utilisation":           "0 ms 50 %; 1 ms 100 %; 2 ms 50 %; 3 ms 0 %; ",
		"GPU 00 (A) > utilisation (sampled)": "1 ms 42 %; ",
		"GPU 00 (A) > memory":                "1 ms 8.589934592e+09 B; ",
		"GPU 10 (B) > memory":                "1 ms 7 B; ",
		"GPU 00 (A) > clock":                 "1 ms 1.98e+09 Hz; ",
		"GPU 00 (A) > power":                 "1 ms 312.5 W; 2 ms 0 W; ",
		"GPU 00 (A) > ring gfx > backlog":    "0 ms 0 jobs; 0.25 ms 1 jobs; 2.25 ms 0 jobs; ",
		"process 7 > rss":                    "3 ms 5; ",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, not %q", path, got[path], want)
		}
	}
	if got["GPU 10 (B) > utilisation"] != "" {
		t.Errorf("a GPU without work is used: %s", got["GPU 10 (B) > utilisation"])
	}
}

// An ioctl that waits by callback shows its wake, and the arrow says by which
// rule the job was found, and how sure that is.
func TestJobWake(t *testing.T) {
	rows := chain()
	rows.FenceWaits = nil
	rows.Links = append(rows.Links[:len(rows.Links)-1], // but the fence wait
		correlate.Link{SrcTable: "jobs", SrcID: 1, DstTable: "ioctls", DstID: 2, Rule: "job-wake", Confidence: "adjacent"})
	rep := read(t, rows, summary(50, 1000))
	found := false
	for _, s := range rep.Slices {
		if s.Category != "fence_wake" {
			continue
		}
		found = true
		if s.Start != 705 || s.End != 890 || s.Parent == nil || s.Parent.Args["ioctl_id"] != int64(2) || s.Args["wake_ns"] != int64(185) {
			t.Errorf("woken %d-%d in %v: %v", s.Start, s.End, s.Parent, s.Args)
		}
		if s.Str("links.job.rule") != "job-wake" || s.Str("links.job.confidence") != "adjacent" || len(s.Flows) != 1 {
			t.Errorf("links %v, flows %v", s.Args, s.Flows)
		}
	}
	if !found || rep.FlowPairs["job.running > fence_wake"] != 1 {
		t.Errorf("flows %v", rep.FlowPairs)
	}
}

// Gaps say their cause, who would have submitted and what it did, or which job
// was waited for; resets, losses and kernel messages stand at their times.
func TestGapsAndEvents(t *testing.T) {
	rows := chain()
	rows.Jobs = append(rows.Jobs, correlate.Job{ID: 2, DeviceID: 1, Ring: "gfx", ProcessID: 1, PID: num(7), TID: num(7), SchedJobID: unum(55), Comm: "train",
		QueuedNS: at(750), RunNS: at(820), DeviceStartNS: at(820), DoneNS: at(850), DeviceTimeNS: num(30), EndKind: "done", Error: num(-125)})
	rows.IdleGaps = []correlate.IdleGap{
		{DeviceID: 1, Ring: "gfx", StartNS: at(700), EndNS: at(750), Cause: "nothing_submitted", JobID: 2, SubmitterWas: "waiting for fence 8:27"},
		{DeviceID: 1, Ring: "gfx", StartNS: at(750), EndNS: at(800), Cause: "dependency", JobID: 2, WaitsForID: 1},
		{DeviceID: 1, Ring: "gfx", StartNS: at(800), EndNS: at(820), Cause: "in_reset", JobID: 2},
	}
	rows.Resets = []correlate.Reset{{ID: 3, DeviceID: 1, Ring: "gfx", TSNS: at(805), Rule: "inferred", HWFence: "1:54"}, {ID: 4, DeviceID: 1, TSNS: at(806), Rule: "source", Log: "ring gfx timeout\nmore"}}
	rows.LogLines = []correlate.LogLine{{TSNS: at(804), DeviceID: 1, Text: "NVRM: Xid (PCI:0000:01:00): 31\nsecond line", Code: num(31)}}
	rows.Losses = []correlate.Loss{{ID: 1, Stream: "bpf", StartNS: at(860), EndNS: at(880), Count: unum(12), Remedy: "larger buffers"}, {ID: 2, Stream: "ftrace", CPU: num(1), StartNS: at(870), EndNS: at(875)}}
	rep := read(t, rows, summary(50, 1000))
	var b strings.Builder
	for _, s := range rep.Slices {
		switch s.Category {
		case "gpu_idle":
			fmt.Fprintf(&b, "%s %d-%d %s next %v, %s: %s, waits for %v on %s\n", s.Name, s.Start, s.End, s.Str("cause"), s.Args["next_job_id"], s.Str("submitter"), s.Str("submitter_was"), s.Args["waits_for_job_id"], s.Str("waits_for_ring"))
		case "loss":
			fmt.Fprintf(&b, "%s | %s %d-%d %s cpu %v: %v, %s\n", s.Track.Path(), s.Name, s.Start, s.End, s.Str("stream"), s.Args["cpu"], s.Args["count"], s.Str("remedy"))
		case "job.running":
			fmt.Fprintf(&b, "%s %d-%d error %v\n", s.Name, s.Start, s.End, s.Args["error"])
		}
	}
	for _, s := range rep.Instants {
		fmt.Fprintf(&b, "%s | %s %d %s\n", s.Track.Path(), s.Name, s.Start, strings.TrimSpace(s.Str("hw_fence")+" "+strings.ReplaceAll(s.Str("log"), "\n", "/")))
	}
	same(t, b.String(), `
gemm #54 150-700 error <nil>
nothing submitted 700-750 nothing_submitted next 2, train 7: waiting for fence 8:27, waits for <nil> on 
dependency 750-800 dependency next 2, : , waits for 1 on gfx
in reset 800-820 in_reset next 2, : , waits for <nil> on 
train #55 (ECANCELED) 820-850 error -125
gpurec > losses | lost 12 events 860-880 bpf cpu <nil>: 12, larger buffers
gpurec > losses | lost events 870-875 ftrace cpu 1: <nil>, 
gpurec > kernel log | NVRM: Xid (PCI:0000:01:00): 31 804 NVRM: Xid (PCI:0000:01:00): 31/second line
GPU 0 (mockgpu) > resets | reset (inferred) 805 1:54
GPU 0 (mockgpu) > resets | reset 806 ring gfx timeout/more`)
}

// Thread states are those that Perfetto knows from the kernel: bits of
// prev_state as in /proc, the letters of which sched_switch prints.
func TestThreadStates(t *testing.T) {
	rows := &correlate.Rows{}
	letters := []string{"R", "S", "D", "T", "t", "X", "Z", "P", "I", "R+", ""}
	bits := []int64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0}
	for i, l := range letters {
		rows.Sched = append(rows.Sched, correlate.Sched{CPU: 3, StartNS: at(int64(i)*100 + 10), EndNS: at(int64(i)*100 + 50), TID: num(int64(40 + i)), Comm: "t",
			Prio: num(100), EndState: l, WakeupNS: at(int64(i)*100 + 5), WakerTID: num(9)})
	}
	b, err := os.ReadFile(write(t, rows, summary(0, 2000)))
	if err != nil {
		t.Fatal(err)
	}
	var m pb.Trace
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	left, woken := 0, 0
	for _, p := range m.Packet {
		for _, e := range p.GetFtraceEvents().GetEvent() {
			if p.FtraceEvents.GetCpu() != 3 {
				t.Errorf("CPU %d", p.FtraceEvents.GetCpu())
			}
			if w := e.SchedWaking; w != nil {
				if e.GetPid() != 9 || w.GetPid() != int32(40+woken) || e.GetTimestamp() != uint64(woken*100+5) || w.GetTargetCpu() != 3 {
					t.Errorf("waking %v", e)
				}
				woken++
			}
			s := e.SchedSwitch
			if s == nil || s.GetPrevPid() == 0 {
				continue
			}
			if s.GetPrevPid() != int32(40+left) || s.GetNextPid() != 0 || s.GetPrevState() != bits[left] || e.GetTimestamp() != uint64(left*100+50) || s.GetPrevPrio() != 100 {
				t.Errorf("%q: %v", letters[left], e)
			}
			left++
		}
	}
	if left != len(letters) || woken != len(letters) {
		t.Errorf("%d left, %d woken, of %d", left, woken, len(letters))
	}
}
