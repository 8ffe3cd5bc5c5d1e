// Package check reads Perfetto traces strictly: it fails on everything that
// Perfetto itself would drop, misplace or join wrongly without a word, and on
// what breaks the layout of docs/perfetto.md. It knows the format, not the
// writer.
package check

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// Limits of what is read: a trace is not trusted.
const (
	maxPacket   = 64 << 20
	maxProblems = 100
	maxInflated = 256 << 20
)

// File checks the trace in a file, plain or gzip. The error says that it could
// not be read at all; what is wrong in it stands in the report.
func File(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Trace(f)
}

// Trace is [File] for a stream.
func Trace(r io.Reader) (*Report, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if head, _ := br.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("read gzip: %w", err)
		}
		br = bufio.NewReaderSize(z, 1<<16)
	}
	c := newChecker()
	if err := c.packets(br, false); err != nil {
		return nil, err
	}
	c.finish()
	return &c.rep, nil
}

// packets reads the packets of a Trace message.
func (c *checker) packets(r *bufio.Reader, inside bool) error {
	for {
		tag, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("packet %d: %w", c.rep.Packets+1, err)
		}
		if tag != 1<<3|2 {
			return fmt.Errorf("packet %d: tag %d is not that of a packet", c.rep.Packets+1, tag)
		}
		n, err := binary.ReadUvarint(r)
		if err != nil || n > maxPacket {
			return fmt.Errorf("packet %d: length %d: %v", c.rep.Packets+1, n, err)
		}
		var b bytes.Buffer // grows with what is there, not with what is claimed
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return fmt.Errorf("packet %d: cut off: %w", c.rep.Packets+1, err)
		}
		c.rep.Packets++
		p := new(pb.TracePacket)
		if err := proto.Unmarshal(b.Bytes(), p); err != nil {
			return fmt.Errorf("packet %d: %w", c.rep.Packets, err)
		}
		if z := p.GetCompressedPackets(); z != nil {
			if inside {
				return fmt.Errorf("packet %d: compressed packets inside compressed packets", c.rep.Packets)
			}
			if len(z) > 512<<10 {
				c.problem("size", "compressed packets of %d bytes", len(z))
			}
			inflate, err := zlib.NewReader(bytes.NewReader(z))
			if err != nil {
				return fmt.Errorf("compressed packets: %w", err)
			}
			raw, err := io.ReadAll(io.LimitReader(inflate, maxInflated))
			if err != nil {
				return fmt.Errorf("compressed packets: %w", err)
			}
			if len(raw) > 512<<10 {
				c.problem("size", "compressed packets that hold %d bytes", len(raw))
			}
			c.rep.Compressed++
			in := bufio.NewReader(bytes.NewReader(raw))
			if err := c.packets(in, true); err != nil {
				return fmt.Errorf("compressed packets: %w", err)
			}
			continue
		}
		c.packet(p)
	}
}

// unknownFields finds a field that the format does not have.
func unknownFields(m protoreflect.Message) (where string, found bool) {
	if b := m.GetUnknown(); len(b) > 0 {
		tag, _ := binary.Uvarint(b)
		return fmt.Sprintf("%s field %d", m.Descriptor().Name(), tag>>3), true
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() != protoreflect.MessageKind {
			return true
		}
		if f.IsList() {
			for i := range v.List().Len() {
				if where, found = unknownFields(v.List().Get(i).Message()); found {
					return false
				}
			}
			return true
		}
		where, found = unknownFields(v.Message())
		return !found
	})
	return where, found
}

// sequence is the state of one packet sequence.
type sequence struct {
	packets     int
	cleared     bool
	events      bool
	descriptors bool
	last        int64
	cats        map[uint64]string
	names       map[uint64]string
	argNames    map[uint64]string
	strs        map[uint64]string
	specs       map[uint64]string
	contexts    map[uint64]string
	kernels     map[uint64]string
	clocks      map[uint32]*seqClock // those of 64 and above belong to a sequence
	clock       uint32               // of packets that name none; 0: BOOTTIME
}

// seqClock is a clock of one sequence.
type seqClock struct {
	incremental bool
	unit        int64 // ns
	zero        int64 // what to add for BOOTTIME
	last        int64 // of an incremental one
}

func (s *sequence) clear() {
	s.cleared, s.clock = true, 0
	s.cats, s.names = map[uint64]string{}, map[uint64]string{}
	s.argNames, s.strs = map[uint64]string{}, map[uint64]string{}
	s.specs, s.contexts, s.kernels = map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
}

func (c *checker) sequence(id uint32) *sequence {
	s := c.seqs[id]
	if s == nil {
		s = &sequence{clocks: map[uint32]*seqClock{}}
		c.seqs[id] = s
	}
	return s
}

func (c *checker) packet(p *pb.TracePacket) {
	if where, found := unknownFields(p.ProtoReflect()); found {
		c.problem("unknown field", "packet %d: %s", c.rep.Packets, where)
	}
	if c.rep.Packets == 1 && p.GetClockSnapshot() == nil {
		c.problem("clock", "the first packet is no ClockSnapshot")
	}
	s := c.sequence(p.GetTrustedPacketSequenceId())
	c.flags(p, s)
	if d := p.TracePacketDefaults; d != nil && d.TimestampClockId != nil {
		s.clock = d.GetTimestampClockId()
	}
	if x := p.GetClockSnapshot(); x != nil {
		c.snapshot(p, x, s)
		return
	}
	if p.TrustedPacketSequenceId == nil {
		c.problem("sequence", "packet %d has no sequence id", c.rep.Packets)
	}
	if p.InternedData != nil {
		c.interned(p.InternedData, s)
	}
	if p.Timestamp == nil && p.FtraceEvents == nil { // the events of a bundle have their own
		c.problem("time", "packet %d has no timestamp", c.rep.Packets)
	}
	at := c.time(p, s)
	switch {
	case p.TrackDescriptor != nil:
		s.descriptors = true
		c.descriptor(p.TrackDescriptor)
	case p.TrackEvent != nil:
		s.events = true
		if at < s.last {
			c.problem("order", "packet %d: time %d after %d", c.rep.Packets, at, s.last)
		}
		s.last = at
		c.event(at, p.TrackEvent, s)
	case p.FtraceEvents != nil:
		c.ftrace(p.FtraceEvents)
	case p.GpuRenderStageEvent != nil:
		c.stage(at, p.GpuRenderStageEvent, s)
	case p.GpuInfo != nil:
		c.gpus = len(p.GpuInfo.Gpus)
	case p.SystemInfo != nil:
		c.linux = p.SystemInfo.GetUtsname().GetSysname() == "Linux"
	case p.ProcessTree != nil:
		c.processTree(p.ProcessTree)
	}
	if s.descriptors && s.events {
		c.problem("sequence", "sequence %d holds descriptors and events", p.GetTrustedPacketSequenceId())
	}
}

// time is the packet's time in BOOTTIME.
func (c *checker) time(p *pb.TracePacket, s *sequence) int64 {
	at, id := int64(p.GetTimestamp()), s.clock
	if p.TimestampClockId != nil {
		id = p.GetTimestampClockId()
	}
	if p.Timestamp == nil || id == 0 {
		return at
	}
	k := s.clocks[id]
	switch {
	case id < 64:
		if !c.clocks[id] {
			c.problem("clock", "packet %d: clock %d has no snapshot", c.rep.Packets, id)
		}
		return at
	case k == nil:
		c.problem("clock", "packet %d: clock %d has no snapshot on its sequence", c.rep.Packets, id)
		return at
	case k.incremental:
		k.last += at * k.unit
		return k.zero + k.last
	}
	return k.zero + at*k.unit
}

func (c *checker) snapshot(p *pb.TracePacket, s *pb.ClockSnapshot, seq *sequence) {
	boot, zero := false, int64(0)
	for _, k := range s.Clocks {
		if k.GetTimestamp() == 0 {
			c.problem("clock", "clock %d of a snapshot reads 0", k.GetClockId())
		}
		c.clocks[k.GetClockId()] = true
		if k.GetClockId() == 6 {
			boot, zero = true, int64(k.GetTimestamp())
		}
	}
	for _, k := range s.Clocks {
		if k.GetClockId() < 64 {
			continue
		}
		if p.TrustedPacketSequenceId == nil {
			c.problem("clock", "a snapshot of clock %d has no sequence", k.GetClockId())
		}
		x := &seqClock{incremental: k.GetIsIncremental(), unit: max(int64(k.GetUnitMultiplierNs()), 1)}
		x.last = int64(k.GetTimestamp()) * x.unit
		x.zero = zero - x.last
		seq.clocks[k.GetClockId()] = x
	}
	if !boot {
		c.problem("clock", "a snapshot has no BOOTTIME")
	}
	if s.GetPrimaryTraceClock() != 6 {
		c.problem("clock", "primary_trace_clock is %d, not 6", s.GetPrimaryTraceClock())
	}
	if p.TrackEvent != nil || p.TrackDescriptor != nil || p.FtraceEvents != nil {
		c.problem("clock", "a ClockSnapshot does not stand alone in its packet")
	}
}

// flags checks sequence_flags: 1 on the first packet of a sequence that has
// state, 2 later; 1 again forgets what was interned.
func (c *checker) flags(p *pb.TracePacket, s *sequence) {
	s.packets++
	f := p.GetSequenceFlags()
	stateful := p.TrackEvent != nil || p.TrackDescriptor != nil || p.InternedData != nil || p.FtraceEvents != nil || p.GpuRenderStageEvent != nil || p.TracePacketDefaults != nil
	switch {
	case f&1 != 0:
		s.clear()
	case !stateful:
	case f&2 == 0:
		c.problem("flags", "packet %d has no sequence_flags", c.rep.Packets)
	case !s.cleared:
		c.problem("flags", "packet %d needs state, but its sequence never began", c.rep.Packets)
	}
}

func (c *checker) interned(d *pb.InternedData, s *sequence) {
	if !s.cleared {
		s.clear()
	}
	def := func(m map[uint64]string, what string, id uint64, v string) {
		if id == 0 {
			c.problem("iid", "%s %q has iid 0", what, v)
		}
		if old, ok := m[id]; ok && old != v {
			c.problem("iid", "%s iid %d is both %q and %q", what, id, old, v)
		}
		m[id] = v
	}
	for _, x := range d.EventCategories {
		def(s.cats, "category", x.GetIid(), x.GetName())
	}
	for _, x := range d.EventNames {
		def(s.names, "name", x.GetIid(), x.GetName())
	}
	for _, x := range d.DebugAnnotationNames {
		def(s.argNames, "argument", x.GetIid(), x.GetName())
	}
	for _, x := range d.DebugAnnotationStringValues {
		def(s.strs, "string", x.GetIid(), string(x.GetStr()))
	}
	for _, x := range d.GpuSpecifications {
		def(s.specs, "specification", x.GetIid(), x.GetName())
	}
	for _, x := range d.GraphicsContexts {
		def(s.contexts, "context", x.GetIid(), fmt.Sprint(x.GetPid()))
	}
	for _, x := range d.ComputeKernels {
		def(s.kernels, "kernel", x.GetIid(), x.GetName())
	}
}

func (c *checker) ftrace(b *pb.FtraceEventBundle) {
	if b.Cpu == nil || b.GetCpu() > 1023 {
		c.problem("ftrace", "a bundle has CPU %d", b.GetCpu())
	}
	for _, e := range b.Event {
		switch {
		case e.Timestamp == nil || e.Pid == nil:
			c.problem("ftrace", "an event of CPU %d lacks time or pid", b.GetCpu())
		case e.SchedSwitch != nil:
			c.rep.Switches++
			if e.GetPid() != uint32(e.SchedSwitch.GetPrevPid()) {
				c.problem("ftrace", "switch at %d: pid %d is not prev_pid %d", e.GetTimestamp(), e.GetPid(), e.SchedSwitch.GetPrevPid())
			}
		case e.SchedWaking != nil:
			c.rep.Wakings++
		}
	}
}

func (c *checker) processTree(t *pb.ProcessTree) {
	known := map[int32]bool{0: true}
	for _, p := range t.Processes {
		known[p.GetPid()] = true
	}
	for _, p := range t.Processes {
		if p.GetPpid() == 2 && !known[2] {
			c.problem("process tree", "%d is a kernel thread, but 2 is not in the tree", p.GetPid())
		}
		if p.GetPpid() == 2 && !c.linux {
			c.problem("process tree", "kernel threads without SystemInfo that says Linux before")
		}
	}
}
