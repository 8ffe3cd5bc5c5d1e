package perfetto

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export/perfetto/check"
	"github.com/gpurec/gpurec/export/picture/picturetest"
	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// twoJobs is the chain with a second job queued while the first one is, a
// gap between them, and a thread on a CPU.
func twoJobs() *correlate.Rows {
	rows := chain()
	rows.Jobs = append(rows.Jobs, correlate.Job{ID: 2, DeviceID: 1, Ring: "gfx", Owner: "user", ProcessID: 1, PID: num(7), TID: num(7), SchedJobID: unum(55),
		QueuedNS: at(130), RunNS: at(720), DeviceStartNS: at(720), DoneNS: at(820), EndKind: "done", Comm: "train",
		QueueDelayNS: num(590), HWQueueNS: num(0), DeviceTimeNS: num(100)})
	rows.Links = append(rows.Links, correlate.Link{SrcTable: "jobs", SrcID: 2, DstTable: "jobs", DstID: 2, Rule: "job-run", Confidence: "exact"})
	rows.IdleGaps = []correlate.IdleGap{{DeviceID: 1, Ring: "gfx", StartNS: at(700), EndNS: at(720), Cause: "scheduling_latency", JobID: 2}}
	rows.Sched = []correlate.Sched{{CPU: 0, StartNS: at(100), EndNS: at(300), TID: num(7), Comm: "train", EndState: "S"}}
	return rows
}

type trace []*pb.TracePacket

// load returns a trace with times in BOOTTIME: packets can be moved.
func load(t *testing.T) trace {
	t.Helper()
	return absolute(loadAsIs(t))
}

func absolute(p trace) trace {
	now := uint64(0)
	for _, x := range p {
		switch {
		case x.TracePacketDefaults != nil:
			now, x.TracePacketDefaults = x.ClockSnapshot.Clocks[0].GetTimestamp(), nil
		case x.TrackEvent != nil:
			now += x.GetTimestamp()
			x.Timestamp = proto.Uint64(now)
		}
	}
	return p
}

func isStart(x *pb.TracePacket) bool {
	return x.GetTrustedPacketSequenceId() == seqEvents && x.GetSequenceFlags() == flagCleared
}

func loadAsIs(t *testing.T) trace {
	b, err := os.ReadFile(write(t, twoJobs(), summary(50, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	var m pb.Trace
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m.Packet
}

// first returns the index of the first packet that f likes.
func (p trace) first(t *testing.T, f func(*pb.TracePacket) bool) int {
	t.Helper()
	for i, x := range p {
		if f(x) {
			return i
		}
	}
	t.Fatal("no such packet")
	return 0
}

func (p trace) drop(i int) trace { return append(append(trace{}, p[:i]...), p[i+1:]...) }

func isBegin(ns uint64) func(*pb.TracePacket) bool {
	return func(x *pb.TracePacket) bool {
		return x.TrackEvent.GetType() == pb.TrackEvent_TYPE_SLICE_BEGIN && x.GetTimestamp() == ns
	}
}

func isEnd(ns uint64) func(*pb.TracePacket) bool {
	return func(x *pb.TracePacket) bool {
		return x.TrackEvent.GetType() == pb.TrackEvent_TYPE_SLICE_END && x.GetTimestamp() == ns
	}
}

func isTrack(name string, nth int) func(*pb.TracePacket) bool {
	return func(x *pb.TracePacket) bool {
		if x.TrackDescriptor.GetName() != name {
			return false
		}
		nth--
		return nth == 0
	}
}

// Each way in which Perfetto would silently lose or misplace something is
// found, under the rule that is meant for it.
func TestMutations(t *testing.T) {
	set := func(f func(*pb.TracePacket) bool, change func(*pb.TracePacket)) func(*testing.T, trace) trace {
		return func(t *testing.T, p trace) trace {
			change(p[p.first(t, f)])
			return p
		}
	}
	remove := func(f func(*pb.TracePacket) bool) func(*testing.T, trace) trace {
		return func(t *testing.T, p trace) trace { return p.drop(p.first(t, f)) }
	}
	isEvent := func(x *pb.TracePacket) bool { return x.TrackEvent != nil }
	for _, m := range []struct {
		name, rule string
		change     func(*testing.T, trace) trace
	}{
		{"no clock snapshot", "clock", func(_ *testing.T, p trace) trace { return p[1:] }},
		{"snapshot without BOOTTIME", "clock", func(_ *testing.T, p trace) trace {
			p[0].ClockSnapshot.Clocks[0].ClockId = proto.Uint32(3)
			return p
		}},
		{"clock without a snapshot", "clock", set(isEvent, func(x *pb.TracePacket) { x.TimestampClockId = proto.Uint32(65) })},
		{"no sequence flags", "flags", set(isBegin(300), func(x *pb.TracePacket) { x.SequenceFlags = nil })},
		{"sequence never begun", "flags", set(isStart, func(x *pb.TracePacket) { x.SequenceFlags = proto.Uint32(2) })},
		{"no sequence id", "sequence", set(isEvent, func(x *pb.TracePacket) { x.TrustedPacketSequenceId = nil })},
		{"descriptors among events", "sequence", set(isTrack("idle", 1), func(x *pb.TracePacket) { x.TrustedPacketSequenceId = proto.Uint32(2) })},
		{"END lost", "nesting", remove(isEnd(190))},
		{"END twice", "nesting", func(t *testing.T, p trace) trace {
			return append(p, p[p.first(t, isEnd(900))])
		}},
		{"BEGIN lost", "nesting", remove(isBegin(720))},
		{"ENDs out of order", "order", func(t *testing.T, p trace) trace {
			a, b := p.first(t, isEnd(190)), p.first(t, isEnd(200))
			p[a], p[b] = p[b], p[a]
			return p
		}},
		{"ENDs of two slices exchanged", "duration", func(t *testing.T, p trace) trace {
			// running (150-700) and its queued track: as if the wrong one were ended
			a := p.first(t, isEnd(700))
			p[a].Timestamp = proto.Uint64(705)
			return p
		}},
		{"name never defined", "iid", set(isBegin(100), func(x *pb.TracePacket) { x.InternedData.EventNames = nil })},
		{"category never defined", "iid", set(isBegin(110), func(x *pb.TracePacket) { x.InternedData.EventCategories = nil })},
		{"argument never defined", "iid", set(isBegin(110), func(x *pb.TracePacket) { x.InternedData.DebugAnnotationNames = nil })},
		{"string never defined", "iid", set(isBegin(110), func(x *pb.TracePacket) { x.InternedData.DebugAnnotationStringValues = nil })},
		{"iid 0", "iid", set(isBegin(100), func(x *pb.TracePacket) { x.InternedData.EventNames[0].Iid = proto.Uint64(0) })},
		{"flow with one end", "flow", set(isBegin(705), func(x *pb.TracePacket) { x.TrackEvent.FlowIds = nil })},
		{"flow with three ends", "flow", set(isBegin(300), func(x *pb.TracePacket) { x.TrackEvent.FlowIds = append(x.TrackEvent.FlowIds, 1) })},
		{"flow on an END", "flow", set(isEnd(800), func(x *pb.TracePacket) { x.TrackEvent.FlowIds = []uint64{1} })},
		{"terminating flow", "flow", set(isBegin(705), func(x *pb.TracePacket) {
			x.TrackEvent.TerminatingFlowIds, x.TrackEvent.FlowIds = x.TrackEvent.FlowIds, nil
		})},
		{"flow backwards", "flow", func(t *testing.T, p trace) trace {
			// The same two slices, the packet of the later one first.
			a, b := p.first(t, isBegin(150)), p.first(t, isBegin(705))
			p[a], p[b] = p[b], p[a]
			return p
		}},
		{"flow between strangers", "flow", func(t *testing.T, p trace) trace {
			a, b := p[p.first(t, isBegin(100))], p[p.first(t, isBegin(705))]
			a.TrackEvent.FlowIds, b.TrackEvent.FlowIds = append(a.TrackEvent.FlowIds, 7), append(b.TrackEvent.FlowIds, 7)
			return p
		}},
		{"track without descriptor", "track", remove(isTrack("ring gfx", 1))},
		{"two tracks of one uuid", "track", set(isTrack("queued", 2), func(x *pb.TracePacket) { x.TrackDescriptor.Uuid = proto.Uint64(1) })},
		{"pid 0", "track", set(func(x *pb.TracePacket) bool { return x.TrackDescriptor.GetProcess() != nil },
			func(x *pb.TracePacket) { x.TrackDescriptor.Process.Pid = proto.Int32(0) })},
		{"siblings of one name", "siblings", set(isTrack("idle", 1), func(x *pb.TracePacket) { x.TrackDescriptor.Name = proto.String("backlog") })},
		{"lanes of two ranks", "siblings", set(isTrack("queued", 2), func(x *pb.TracePacket) { x.TrackDescriptor.SiblingOrderRank = proto.Int32(9) })},
		{"overlapping lanes", "lane", func(t *testing.T, p trace) trace {
			a, b := p[p.first(t, isTrack("queued", 1))].TrackDescriptor.GetUuid(), p[p.first(t, isTrack("queued", 2))].TrackDescriptor.GetUuid()
			for _, x := range p {
				if x.TrackEvent.GetTrackUuid() == b {
					x.TrackEvent.TrackUuid = proto.Uint64(a)
				}
			}
			return p
		}},
		{"running jobs overlap", "ring", func(t *testing.T, p trace) trace {
			i, j := p.first(t, isEnd(700)), p.first(t, isBegin(720))
			e := p[i]
			e.Timestamp = proto.Uint64(720)
			out := append(trace{}, p[:i]...)
			out = append(out, p[i+1:j+1]...)
			return append(append(out, e), p[j+1:]...)
		}},
		{"gap in the idle row", "idle", func(t *testing.T, p trace) trace {
			idle := p[p.first(t, isTrack("idle", 1))].TrackDescriptor.GetUuid()
			var out trace
			for _, x := range p {
				if x.TrackEvent.GetTrackUuid() != idle {
					out = append(out, x)
				}
			}
			return out
		}},
		{"stages with a hole", "stages", set(func(x *pb.TracePacket) bool { return isEnd(150)(x) }, func(x *pb.TracePacket) { x.Timestamp = proto.Uint64(149) })},
		{"backlog wrong", "backlog", set(func(x *pb.TracePacket) bool { return x.TrackEvent.GetCounterValue() == 2 }, func(x *pb.TracePacket) { x.TrackEvent.CounterValue = proto.Int64(3) })},
		{"backlog negative", "backlog", set(func(x *pb.TracePacket) bool { return x.TrackEvent.GetCounterValue() == 2 }, func(x *pb.TracePacket) { x.TrackEvent.CounterValue = proto.Int64(-1) })},
		{"job runs twice", "job", func(t *testing.T, p trace) trace {
			x := p[p.first(t, isBegin(720))]
			id := x.TrackEvent.DebugAnnotations[0]
			id.IntValue = proto.Int64(1)
			return p
		}},
		{"queued does not reach running", "job", func(t *testing.T, p trace) trace {
			for _, x := range p {
				if isEnd(720)(x) || x.TrackEvent.GetType() == pb.TrackEvent_TYPE_SLICE_END && x.GetTimestamp() == 720 {
					x.Timestamp = proto.Uint64(719)
				}
			}
			return p
		}},
		{"woken outside of a wait", "place", set(isBegin(320), func(x *pb.TracePacket) { x.TrackEvent.CategoryIids[0] = 1 })}, // cuda_driver
		{"ioctl outside of its call", "place", set(isBegin(100), func(x *pb.TracePacket) { x.TrackEvent.DebugAnnotations[0].IntValue = proto.Int64(77) })},
		{"counter on a slice track", "counter", set(func(x *pb.TracePacket) bool { return x.TrackEvent.GetCounterValue() == 2 }, func(x *pb.TracePacket) { x.TrackEvent.TrackUuid = proto.Uint64(2) })},
		{"empty argument", "argument", set(isBegin(110), func(x *pb.TracePacket) {
			x.TrackEvent.DebugAnnotations = append(x.TrackEvent.DebugAnnotations, &pb.DebugAnnotation{Name: proto.String("x"), StringValue: proto.String("")})
		})},
		{"slice without a name", "name", set(isBegin(110), func(x *pb.TracePacket) { x.TrackEvent.NameIid = nil })},
		{"unknown field", "unknown field", set(isBegin(110), func(x *pb.TracePacket) {
			x.TrackEvent.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
		})},
		{"CPU beyond 1023", "ftrace", set(func(x *pb.TracePacket) bool { return x.FtraceEvents != nil }, func(x *pb.TracePacket) { x.FtraceEvents.Cpu = proto.Uint32(4096) })},
	} {
		t.Run(m.name, func(t *testing.T) {
			p := m.change(t, load(t))
			b, err := proto.Marshal(&pb.Trace{Packet: p})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := check.Trace(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if !rep.Has(m.rule) {
				t.Errorf("not found; problems: %v", rep.Problems)
			}
		})
	}
	for _, m := range []struct {
		name, rule string
		change     func(start *pb.TracePacket, events trace)
	}{
		{"no snapshot of the sequence's clock", "clock", func(s *pb.TracePacket, _ trace) { s.ClockSnapshot.Clocks = s.ClockSnapshot.Clocks[:1] }},
		{"a snapshot without sequence", "clock", func(s *pb.TracePacket, _ trace) { s.TrustedPacketSequenceId = nil }},
		{"a clock that is not incremental", "order", func(s *pb.TracePacket, _ trace) { s.ClockSnapshot.Clocks[1].IsIncremental = nil }},
		{"differences without their clock", "order", func(s *pb.TracePacket, _ trace) { s.TracePacketDefaults = nil }},
		{"a difference too large", "duration", func(_ *pb.TracePacket, e trace) { e[20].Timestamp = proto.Uint64(e[20].GetTimestamp() + 1) }},
		{"differences of two units", "duration", func(s *pb.TracePacket, _ trace) {
			s.ClockSnapshot.Clocks[1].UnitMultiplierNs = proto.Uint64(2)
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			p := loadAsIs(t)
			var events trace
			for _, x := range p {
				if x.TrackEvent != nil {
					events = append(events, x)
				}
			}
			m.change(p[p.first(t, isStart)], events)
			b, err := proto.Marshal(&pb.Trace{Packet: p})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := check.Trace(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if !rep.Has(m.rule) {
				t.Errorf("not found; problems: %v", rep.Problems)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		b, _ := proto.Marshal(&pb.Trace{Packet: load(t)})
		rep, err := check.Trace(bytes.NewReader(b))
		if err != nil || rep.Err() != nil {
			t.Errorf("%v %v", err, rep.Err())
		}
	})
}

// Whatever the rows say, Perfetto drops and misplaces nothing. (That jobs and
// gaps make sense is for the rows.)
func TestAnyRows(t *testing.T) {
	for seed := range 100 {
		rows := picturetest.Any(rand.New(rand.NewPCG(uint64(seed), 3)))
		rep, err := check.File(write(t, rows, summary(0, 250)))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{"clock", "flags", "iid", "sequence", "track", "nesting", "order", "flow", "ftrace", "argument", "name", "counter"} {
			if rep.Has(rule) {
				t.Errorf("seed %d: %s: %v", seed, rule, rep.Err())
			}
		}
	}
}
