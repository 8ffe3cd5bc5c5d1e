package perfetto

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export/perfetto/check"
	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// Times that no trace can hold are taken as unknown and counted: between the
// first and the last would lie more than 2^63 nanoseconds.
func TestFarTimes(t *testing.T) {
	far := at(math.MaxInt64)
	rows := &correlate.Rows{
		Marks: []correlate.Mark{{ID: 1, TSNS: at(-math.MaxInt64), Name: "a", TID: num(3)}, {ID: 2, TSNS: far, Name: "b", TID: num(3)}, {ID: 3, TSNS: at(50), Name: "c", TID: num(3)}},
		Slices: []correlate.Slice{{ID: 1, TID: num(3), StartNS: at(-1), EndNS: at(40), Name: "s", Category: "x"},
			{ID: 2, TID: num(3), StartNS: at(-math.MaxInt64), EndNS: at(60), Name: "u", Category: "x"}},
		Jobs:     []correlate.Job{{ID: 1, Ring: "r", QueuedNS: at(10), RunNS: at(20), DeviceStartNS: at(20), DoneNS: far, EndKind: "done"}},
		Counters: []correlate.Counter{{TSNS: far, Value: 1}, {TSNS: at(5), Value: 2}},
	}
	rep := read(t, rows, summary(-math.MaxInt64, math.MaxInt64))
	if len(rep.Slices) != 5 || rep.Categories["x"] != 2 || rep.Categories["job.running"] != 1 || rep.Categories["job.queued"] != 1 { // and a stage
		t.Errorf("slices %v", rep.Categories)
	}
	counted := map[string]any{}
	for _, x := range rep.Instants {
		counted[x.Name] = x.Args["count"]
	}
	if counted["picture_far_time"] != int64(5) || counted["picture_no_time"] != int64(3) || counted["c"] != nil || rep.Categories["mark"] != 1 {
		t.Errorf("counted %v of %v", counted, rep.Categories)
	}
	for _, s := range rep.Slices {
		if s.Start < 0 || s.End > 100 {
			t.Errorf("%s at %d-%d", s.Name, s.Start, s.End)
		}
	}
}

// Of a job beyond the lanes of which no run was seen, nothing but an argument
// tells when it was queued. One that never ran is in the counters alone.
func TestHiddenWithoutRun(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 14; i++ {
		j := correlate.Job{ID: correlate.ID(i), Ring: "r", SchedJobID: unum(uint64(i)), Comm: "x", QueuedNS: at(i * 10), EndKind: "done",
			RunNS: at(1000 + i*10), DeviceStartNS: at(1000 + i*10), DoneNS: at(1010 + i*10), QueueDelayNS: num(1000), HWQueueNS: num(0), DeviceTimeNS: num(10)}
		switch i {
		case 13:
			j.RunNS, j.QueueDelayNS, j.HWQueueNS = correlate.OptTime{}, correlate.OptDur{}, correlate.OptDur{}
		case 14:
			j = correlate.Job{ID: 14, Ring: "r", SchedJobID: unum(14), Comm: "x", QueuedNS: at(140), EndKind: "open"}
		}
		rows.Jobs = append(rows.Jobs, j)
	}
	rep := read(t, rows, summary(0, 2000))
	for _, s := range rep.Slices {
		if s.Category == "job.running" {
			want := any(nil)
			if s.Name == "x #13" {
				want = int64(130)
			}
			if s.Args["queued_ns"] != want {
				t.Errorf("%s: queued_ns %v, not %v", s.Name, s.Args["queued_ns"], want)
			}
		}
	}
	for _, tr := range rep.Tracks {
		text := ""
		for _, s := range tr.Samples {
			text += fmt.Sprintf(" %d=%g", s.Time, s.Value)
		}
		if tr.Name == "queued, not drawn" && text != " 0=0 130=1 140=2 1130=1" {
			t.Errorf("%s:%s", tr.Path(), text)
		}
	}
}

// A job that would run while another of its ring does is drawn as queued alone.
// When it was done is known, and the backlog falls then.
func TestLostWithDone(t *testing.T) {
	rows := &correlate.Rows{Jobs: []correlate.Job{
		{ID: 1, Ring: "r", Comm: "x", QueuedNS: at(10), RunNS: at(20), DeviceStartNS: at(20), DoneNS: at(90), DeviceTimeNS: num(70), EndKind: "done"},
		{ID: 2, Ring: "r", Comm: "x", QueuedNS: at(15), RunNS: at(30), DeviceStartNS: at(30), DoneNS: at(60), DeviceTimeNS: num(30), EndKind: "done"},
	}}
	rep := read(t, rows, summary(0, 100))
	text := show(rep)
	for _, s := range rep.Slices {
		if id, _ := s.Int("job_id"); id == 2 && (s.Category != "job.queued" || s.Str("end") != "lost" || s.Args["done_ns"] != int64(60)) {
			t.Errorf("job 2 is %s, %v", s.Category, s.Args)
		}
	}
	for _, tr := range rep.Tracks {
		if tr.Name == "backlog" && fmt.Sprint(tr.Samples) != "[{0 0} {10 1} {15 2} {60 1} {90 0}]" {
			t.Errorf("backlog %v\n%s", tr.Samples, text)
		}
	}
}

// Of a job that ran before the recording began only the done is known: it is
// not drawn and counted so, and the gap behind it is drawn.
func TestEndAlone(t *testing.T) {
	rows := &correlate.Rows{
		Jobs: []correlate.Job{{ID: 1, Ring: "r", DoneNS: at(30), FinishedNS: at(35), EndKind: "done"},
			{ID: 2, Ring: "r", Comm: "x", QueuedNS: at(40), RunNS: at(50), DeviceStartNS: at(50), DoneNS: at(60), DeviceTimeNS: num(10), EndKind: "done"}},
		IdleGaps: []correlate.IdleGap{{Ring: "r", StartNS: at(30), EndNS: at(40), Cause: "nothing_submitted", JobID: 2}, {Ring: "r", StartNS: at(40), EndNS: at(50), Cause: "scheduling_latency", JobID: 2}},
	}
	rep := read(t, rows, summary(0, 100))
	names := map[string]int{}
	for _, x := range rep.Instants {
		names[x.Name]++
	}
	if names["picture_job_not_drawn"] != 1 || names["picture_no_time"] != 0 || rep.Categories["gpu_idle"] != 2 {
		t.Errorf("%v, %v", names, rep.Categories)
	}
}

// Stacks and maps of memory stand where the thread was.
func TestPoints(t *testing.T) {
	rows := &correlate.Rows{
		Slices: []correlate.Slice{{ID: 1, PID: num(3), TID: num(4), StartNS: at(10), EndNS: at(50), Name: "s", Category: "x"}},
		Samples: []correlate.Sample{
			{PID: num(3), TID: num(4), CPU: num(2), TSNS: at(20), Name: "cycles", Period: unum(1 << 63), Stack: "inner\nouter"},
			{TSNS: at(21), Stack: "a"},
			{PID: num(3), TID: num(4), Name: "no time"}},
		MemMaps: []correlate.MemMap{{ID: 7, DeviceID: 1, PID: num(3), TID: num(4), Op: "map", TSNS: at(30), Address: unum(0x7f00_0000_0000), Bytes: unum(4096), ObjectPtr: unum(0xffff888100004000)},
			{ID: 8, PID: num(3), TID: num(4), Op: "unmap", TSNS: at(40)}},
		Devices: []correlate.Device{{ID: 1, Index: 0, Device: "0000:c3:00.0", Driver: "amdgpu"}},
	}
	rep := read(t, rows, summary(0, 100))
	var b strings.Builder
	for _, x := range rep.Instants {
		if x.Category != "anomaly" {
			fmt.Fprintf(&b, "%s | %s | %s | %d | %v\n", x.Track.Path(), x.Category, x.Name, x.Start, x.Args)
		}
	}
	same(t, b.String(), `
process 3 > thread 4 | sample | cycles | 20 | map[cpu:2 period:9223372036854775808 sample_id:1 stack:inner
outer]
gpurec > events without a thread | sample | sample | 21 | map[sample_id:2 stack:a]
process 3 > thread 4 | mem_map | map | 30 | map[address:0x7f0000000000 bytes:4096 device:0000:c3:00.0 mem_map_id:7 object_ptr:0xffff888100004000]
process 3 > thread 4 | mem_map | unmap | 40 | map[mem_map_id:8]`)
}

// What the checker holds of jobs beyond the lanes, and of the layout of tracks,
// is found when it is broken.
func TestLayoutMutations(t *testing.T) {
	rows := &correlate.Rows{}
	for i := int64(1); i <= 14; i++ {
		rows.Jobs = append(rows.Jobs, correlate.Job{ID: correlate.ID(i), Ring: "r", SchedJobID: unum(uint64(i)), Comm: "x", QueuedNS: at(i * 10), EndKind: "done",
			RunNS: at(1000 + i*10), DeviceStartNS: at(1000 + i*10), DoneNS: at(1010 + i*10), QueueDelayNS: num(1000), HWQueueNS: num(0), DeviceTimeNS: num(10)})
	}
	rows.Slices = []correlate.Slice{{ID: 1, PID: num(3), TID: num(4), StartNS: at(10), EndNS: at(50), Name: "s", Category: "x"},
		{ID: 2, PID: num(5), TID: num(6), StartNS: at(20), EndNS: at(50), Name: "s", Category: "x"}}
	rows.Counters = []correlate.Counter{{Name: "power", Unit: "W", TSNS: at(5), Value: 1}}
	file := write(t, rows, summary(0, 2000))
	track := func(name string) func(*pb.TracePacket) bool {
		return func(x *pb.TracePacket) bool { return x.TrackDescriptor.GetName() == name }
	}
	for _, m := range []struct {
		name, rule string
		change     func(t *testing.T, p trace) trace
	}{
		{"none", "", func(_ *testing.T, p trace) trace { return p }},
		{"hidden job without a time", "backlog", func(t *testing.T, p trace) trace {
			x := p[p.first(t, isBegin(1130))].TrackEvent
			var keep []*pb.DebugAnnotation
			for _, a := range x.DebugAnnotations {
				if a.GetIntValue() != 1000 {
					keep = append(keep, a)
				}
			}
			x.DebugAnnotations = keep
			return p
		}},
		{"hidden jobs counted one short", "backlog", func(t *testing.T, p trace) trace {
			uuid := p[p.first(t, track("queued, not drawn"))].TrackDescriptor.GetUuid()
			return p.drop(p.first(t, func(x *pb.TracePacket) bool {
				return x.TrackEvent.GetTrackUuid() == uuid && x.GetTimestamp() == 140
			}))
		}},
		{"number left out", "layout", func(t *testing.T, p trace) trace {
			last := uint64(0)
			for _, x := range p {
				last = max(last, x.TrackDescriptor.GetUuid())
			}
			for _, x := range p {
				if x.TrackDescriptor.GetUuid() == last {
					x.TrackDescriptor.Uuid = proto.Uint64(last + 7)
				}
				if x.TrackEvent.GetTrackUuid() == last {
					x.TrackEvent.TrackUuid = proto.Uint64(last + 7)
				}
			}
			return p
		}},
		{"unit without a blank", "layout", func(t *testing.T, p trace) trace {
			p[p.first(t, track("power"))].TrackDescriptor.Counter.UnitName = proto.String("W")
			return p
		}},
		{"more than all of a GPU", "layout", func(t *testing.T, p trace) trace {
			p[p.first(t, func(x *pb.TracePacket) bool { return x.TrackEvent.GetDoubleCounterValue() > 5 })].TrackEvent.DoubleCounterValue = proto.Float64(101)
			return p
		}},
		{"process among others", "layout", func(t *testing.T, p trace) trace {
			p[p.first(t, func(x *pb.TracePacket) bool { return x.TrackDescriptor.GetProcess() != nil })].TrackDescriptor.SiblingOrderRank = nil
			return p
		}},
		{"two processes of one rank", "layout", func(t *testing.T, p trace) trace {
			for _, x := range p {
				if x.TrackDescriptor.GetProcess() != nil {
					x.TrackDescriptor.SiblingOrderRank = proto.Int32(-1000)
				}
			}
			return p
		}},
		{"idle below the backlog's rank", "layout", func(t *testing.T, p trace) trace {
			p[p.first(t, track("queued, not drawn"))].TrackDescriptor.SiblingOrderRank = proto.Int32(3)
			return p
		}},
		{"event on a group", "layout", func(t *testing.T, p trace) trace {
			uuid := p[p.first(t, func(x *pb.TracePacket) bool {
				return x.TrackDescriptor.GetParentUuid() == 0 && strings.HasPrefix(x.TrackDescriptor.GetName(), "GPU ")
			})].TrackDescriptor.GetUuid()
			for _, x := range p {
				if x.TrackEvent != nil && len(x.TrackEvent.CategoryIids) > 0 && x.GetTimestamp() == 10 {
					x.TrackEvent.TrackUuid = &uuid
				}
			}
			return p
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var tr pb.Trace
			if err := proto.Unmarshal(b, &tr); err != nil {
				t.Fatal(err)
			}
			if b, err = proto.Marshal(&pb.Trace{Packet: m.change(t, absolute(tr.Packet))}); err != nil {
				t.Fatal(err)
			}
			rep, err := check.Trace(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if m.rule == "" && rep.Err() != nil || m.rule != "" && !rep.Has(m.rule) {
				t.Errorf("problems: %v", rep.Problems)
			}
		})
	}
}
