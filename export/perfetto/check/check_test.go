package check

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// minimal is the least trace that is right: a clock, a track, one slice.
func minimal() *pb.Trace {
	seq := func(id, flags uint32, ts uint64) *pb.TracePacket {
		return &pb.TracePacket{TrustedPacketSequenceId: &id, SequenceFlags: &flags, Timestamp: &ts}
	}
	clock := &pb.TracePacket{ClockSnapshot: &pb.ClockSnapshot{PrimaryTraceClock: proto.Uint32(6),
		Clocks: []*pb.ClockSnapshot_Clock{{ClockId: proto.Uint32(6), Timestamp: proto.Uint64(5)}}}}
	desc := seq(5, 1, 5)
	desc.TrackDescriptor = &pb.TrackDescriptor{Uuid: proto.Uint64(1), Name: proto.String("x")}
	begin := seq(2, 1, 10)
	begin.TrackEvent = &pb.TrackEvent{Type: pb.TrackEvent_TYPE_SLICE_BEGIN.Enum(), TrackUuid: proto.Uint64(1), NameIid: proto.Uint64(1)}
	begin.InternedData = &pb.InternedData{EventNames: []*pb.EventName{{Iid: proto.Uint64(1), Name: proto.String("s")}}}
	end := seq(2, 2, 20)
	end.TrackEvent = &pb.TrackEvent{Type: pb.TrackEvent_TYPE_SLICE_END.Enum(), TrackUuid: proto.Uint64(1)}
	return &pb.Trace{Packet: []*pb.TracePacket{clock, desc, begin, end}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestForms(t *testing.T) {
	plain := marshal(t, minimal())
	var z, d bytes.Buffer
	gz := gzip.NewWriter(&z)
	if _, err := gz.Write(plain); err != nil || gz.Close() != nil {
		t.Fatal("gzip", err)
	}
	m := minimal()
	fl := zlib.NewWriter(&d)
	if _, err := fl.Write(marshal(t, &pb.Trace{Packet: m.Packet[1:]})); err != nil || fl.Close() != nil {
		t.Fatal("zlib", err)
	}
	packed := &pb.Trace{Packet: []*pb.TracePacket{m.Packet[0], {CompressedPackets: d.Bytes()}}}
	for name, b := range map[string][]byte{"plain": plain, "gzip": z.Bytes(), "compressed packets": marshal(t, packed)} {
		rep, err := Trace(bytes.NewReader(b))
		if err != nil || rep.Err() != nil || len(rep.Slices) != 1 || rep.Slices[0].End != 20 {
			t.Errorf("%s: %v %v", name, err, rep)
		}
	}
}

// A file that is cut anywhere is an error, or lacks what was cut; it never reads as whole.
func TestCut(t *testing.T) {
	b := marshal(t, minimal())
	for n := range len(b) {
		rep, err := Trace(bytes.NewReader(b[:n]))
		if err == nil && rep.Err() == nil && len(rep.Slices) == 1 {
			t.Errorf("cut at %d of %d bytes: nothing is missed", n, len(b))
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(marshal(f, minimal()))
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{0x1f, 0x8b, 0x08})
	f.Fuzz(func(t *testing.T, b []byte) {
		if rep, err := Trace(bytes.NewReader(b)); err == nil {
			if text := rep.String(); text == "" {
				t.Error("a report without text")
			}
			if err := rep.Err(); (err != nil) != (len(rep.Problems) > 0) {
				t.Errorf("error %v with %d problems", err, len(rep.Problems))
			}
		}
	})
}
