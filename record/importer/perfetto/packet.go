package perfetto

import (
	"bytes"
	"io"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/klauspost/compress/zlib"
)

// Fields of TracePacket that are read.
const (
	pkFtrace        = 1
	pkProcessTree   = 2
	pkUID           = 3
	pkClockSnapshot = 6
	pkTimestamp     = 8
	pkSequence      = 10
	pkTrackEvent    = 11
	pkInterned      = 12
	pkFlags         = 13
	pkClearedOld    = 41
	pkDropped       = 42
	pkProcessDesc   = 43
	pkThreadDesc    = 44
	pkSystemInfo    = 45
	pkCompressed    = 50
	pkGPUCounter    = 52
	pkRenderStage   = 53
	pkClockID       = 58
	pkDefaults      = 59
	pkTrackDesc     = 60
	pkGPULog        = 63
	pkGPUMemTotal   = 71
	pkTrustedPID    = 79
	pkFirst         = 87
	pkMachine       = 98
	pkGPUInfo       = 128
	pkGPUFrequency  = 129
)

// packetNames are the kinds of packets: what a packet holds.
var packetNames = map[uint32]string{
	1: "ftrace_events", 2: "process_tree", 6: "clock_snapshot", 11: "track_event", 43: "process_descriptor", 44: "thread_descriptor", 45: "system_info",
	50: "compressed_packets", 52: "gpu_counter_event", 53: "gpu_render_stage_event", 60: "track_descriptor", 63: "gpu_log", 71: "gpu_mem_total_event",
	128: "gpu_info", 129: "generic_gpu_frequency_event",
	9: "process_stats", 33: "trace_config", 34: "ftrace_stats", 35: "trace_stats", 36: "synchronization_marker", 37: "profile_packet", 38: "battery",
	39: "packages_list", 40: "power_rails", 46: "trigger", 5: "chrome_events", 48: "chrome_benchmark_metadata", 49: "perfetto_metatrace", 51: "chrome_metadata", 54: "streaming_profile_packet",
	56: "module_symbols", 57: "graphics_frame_event", 61: "deobfuscation_mapping", 65: "vulkan_api_event", 66: "perf_sample", 67: "cpu_info",
	68: "smaps_packet", 69: "service_event", 70: "initial_display_state", 72: "extension_descriptor", 75: "streaming_allocation", 89: "trace_uuid",
}

// head is what a packet says beside its data.
type head struct {
	seq       *sequence
	time      event.Time
	timestamp uint64
	hasTime   bool
	clock     uint64
	flags     uint64
	dropped   bool
}

// packet reads a packet. depth counts compression.
func (r *reader) packet(p []byte, depth int) {
	if p == nil {
		r.note(&AnomalyLargePacket, 1)
		return
	}
	var h head
	data := r.head(p, &h)
	if depth == 0 {
		r.tally(&data)
	}
	if data == (dataFields{}) {
		return
	}
	s := h.seq
	if data.interned != nil {
		r.intern(s, data.interned)
	}
	if data.defaults != nil {
		s.setDefaults(data.defaults)
	}
	if h.clock == 0 && s != nil {
		h.clock = s.clock
	}
	if data.snapshot != nil {
		r.snapshot(s, data.snapshot)
	}
	h.time = event.NoTime
	if h.hasTime {
		h.time = r.clocks.convert(s, h.clock, h.timestamp)
	}
	if h.dropped {
		r.lost(&h)
	}
	r.data(&h, &data, depth)
}

// dataFields are the parts of a packet that must be read in this order,
// whatever order they stand in.
type dataFields struct {
	interned, defaults, snapshot *message
	field                        uint32 // what the packet holds
	last                         uint32 // the same, if it holds several: that of a oneof counts
	wire                         uint8
	v                            uint64
	body                         *message
}

// head reads the fields of the packet itself, then its data.
func (r *reader) head(p []byte, h *head) dataFields {
	var d dataFields
	var id uint64
	msg := message{b: p}
	var f field
	for msg.next(&f) {
		switch f.num {
		case pkTimestamp:
			h.timestamp, h.hasTime = f.v, true
		case pkSequence:
			id = f.v
		case pkFlags:
			h.flags = f.v
		case pkClearedOld:
			h.flags |= f.v & 1
		case pkDropped:
			h.dropped = f.v != 0
		case pkClockID:
			h.clock = f.v
		case pkInterned:
			d.interned = &message{b: f.b}
		case pkDefaults:
			d.defaults = &message{b: f.b}
		case pkClockSnapshot:
			d.snapshot = &message{b: f.b}
		case pkUID, pkTrustedPID, pkFirst, pkMachine, 88:
		default:
			d.last = f.num
			if d.field != 0 {
				r.noteAt(&AnomalyFieldNotKept, 1, "field %d of a packet of field %d", f.num, d.field)
				break
			}
			d.field, d.wire, d.v = f.num, f.wire, f.v
			if f.wire == wireBytes {
				d.body = &message{b: f.b}
			}
		}
	}
	if msg.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	h.seq = r.sequence(uint32(id), h.flags)
	return d
}

// lost tells of packets of the sequence that were overwritten before they
// were read. The first packet of a sequence always says so.
func (r *reader) lost(h *head) {
	if h.seq.packets <= 1 {
		return
	}
	r.count.AddAt(&AnomalyDropped, 1, r.place())
	e := r.add(event.KindLoss, h.time)
	e.SetStr(event.FieldTrack, "perfetto sequence "+strconv.FormatUint(uint64(h.seq.id), 10))
	e.SetStr(event.FieldName, AnomalyDropped.Remedy)
	e.Source = "perfetto"
}

// data reads what the packet holds.
func (r *reader) data(h *head, d *dataFields, depth int) {
	if d.field == 0 {
		return
	}
	if d.body == nil {
		r.notRead(d.field)
		return
	}
	if h.flags&flagNeeds != 0 && !h.seq.valid {
		r.note(&AnomalyNoState, 1)
	}
	m := d.body
	switch d.field {
	case pkTrackEvent:
		r.trackEvent(h, m)
	case pkTrackDesc:
		r.trackDescriptor(h, m)
	case pkFtrace:
		r.bundle(h, m)
	case pkProcessTree:
		r.processTree(h, m)
	case pkProcessDesc:
		r.oldProcess(h, m)
	case pkThreadDesc:
		r.oldThread(h, m)
	case pkSystemInfo:
		r.systemInfo(m)
	case pkGPUCounter:
		r.gpuCounters(h, m)
	case pkRenderStage:
		r.renderStage(h, m)
	case pkGPUInfo:
		r.gpuInfo(m)
	case pkGPUMemTotal:
		r.gpuMemory(h, m)
	case pkGPUFrequency:
		r.gpuFrequency(h, m)
	case pkGPULog:
		r.gpuLog(h, m)
	case pkCompressed:
		r.compressed(m.b, depth)
	default:
		r.notRead(d.field)
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
}

func (r *reader) notRead(num uint32) {
	name, ok := packetNames[num]
	if !ok {
		name = "field " + strconv.Itoa(int(num))
	}
	r.noteAt(&AnomalyNotRead, 1, "%s", name)
}

// maxInflated bounds the packets that come out of one compressed packet.
const maxInflated = 64 << 20

// compressed reads packets that are deflated within one.
func (r *reader) compressed(b []byte, depth int) {
	if depth > 0 {
		r.note(&AnomalyBadPacket, 1)
		return
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		r.note(&AnomalyBadPacket, 1)
		return
	}
	defer z.Close()
	limited := &io.LimitedReader{R: z, N: maxInflated}
	sub := input{r: limited}
	for !r.stopped {
		p, err := sub.packet()
		if err == io.EOF {
			break
		}
		if err != nil {
			r.note(&AnomalyBadPacket, 1)
			return
		}
		r.packet(p, depth+1)
	}
	if limited.N == 0 {
		r.note(&AnomalyLargePacket, 1)
	}
}

// systemInfo names the machine.
func (r *reader) systemInfo(m *message) {
	var f, u field
	for m.next(&f) {
		if f.num != 1 {
			continue
		}
		for s := (message{b: f.b}); s.next(&u); {
			switch u.num {
			case 3:
				r.meta.Host.Kernel = r.str(u.b)
			case 4:
				r.meta.Host.Machine = r.str(u.b)
			}
		}
	}
}

// maxKinds is how many kinds of packets are counted apart: all there are.
const maxKinds = 256

// tally counts the packets of the file by what they hold; those inside of a
// compressed one are that one.
func (r *reader) tally(d *dataFields) {
	num := d.last
	if num == 0 && d.snapshot != nil {
		num = pkClockSnapshot
	}
	r.packets[min(num, maxKinds-1)]++
}

// finish is called behind the last packet.
func (r *reader) finish() {
	r.cutOwn()
	r.clocks.finish()
	total := uint64(0)
	for num, n := range r.packets {
		if total += n; n == 0 {
			continue
		}
		name, ok := packetNames[uint32(num)]
		switch {
		case num == 0:
			name = "None" // only names, defaults or flags
		case !ok:
			name = "field_" + strconv.Itoa(num)
		}
		r.fact("packets."+name, strconv.FormatUint(n, 10))
	}
	r.fact("packets", strconv.FormatUint(total, 10))
}
