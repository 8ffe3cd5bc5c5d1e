package perfetto

import (
	"encoding/binary"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Sequences: track descriptors must not share one with events, else Perfetto
// ties later events of the sequence to the thread described last.
const (
	seqClock  = 1 // clocks, system, GPUs, processes
	seqEvents = 2
	seqFtrace = 4
	seqTracks = 5
)

// Fields of TracePacket.
const (
	fieldFtrace         = 1
	fieldProcessTree    = 2
	fieldClockSnapshot  = 6
	fieldTimestamp      = 8
	fieldSequence       = 10
	fieldTrackEvent     = 11
	fieldInterned       = 12
	fieldFlags          = 13
	fieldSystemInfo     = 45
	fieldTimestampClock = 58
	fieldDefaults       = 59
	fieldDescriptor     = 60
	fieldGPUInfo        = 128
)

const (
	flagCleared = 1 // the interned data of the sequence begins anew
	flagNeeds   = 2 // the packet needs what was interned
)

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3)
	return binary.AppendUvarint(b, v)
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	return appendUint(b, field, uint64(v))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendBytes(b []byte, field protowire.Number, s []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendFixed64(b []byte, field protowire.Number, v uint64) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|1)
	return binary.LittleEndian.AppendUint64(b, v)
}

// packets writes TracePackets to w. Its first error sticks: later calls do nothing.
type packets struct {
	w    io.Writer
	base int64  // added to every time, so that none is negative
	out  []byte // packets not yet written
	buf  []byte // packet under construction
	err  error
	n    int64       // bytes written, before compression
	z    *compressor // nil writes packets as they are
	next *compressor // z once the prologue is written: by that readers know the format
}

// flushBytes is how much is written at once.
const flushBytes = 256 << 10

func newPackets(w io.Writer) *packets {
	return &packets{w: w, out: make([]byte, 0, flushBytes+64<<10)}
}

// ts returns a time as the trace holds it.
func (p *packets) ts(t int64) uint64 { return uint64(t + p.base) }

// appendHead begins a packet.
func (p *packets) appendHead(b []byte, seq, flags byte, t int64) []byte {
	b = append(b, fieldSequence<<3, seq)
	if flags != 0 {
		b = append(b, fieldFlags<<3, flags)
	}
	return binary.AppendUvarint(append(b, fieldTimestamp<<3), p.ts(t))
}

// head begins a packet in p.buf.
func (p *packets) head(seq, flags byte, t int64) { p.buf = p.appendHead(p.buf[:0], seq, flags, t) }

// send writes the packet in p.buf.
func (p *packets) send() {
	p.out = binary.AppendUvarint(append(p.out, 1<<3|2), uint64(len(p.buf)))
	p.out = append(p.out, p.buf...)
	p.sent()
}

// sent writes what has gathered, if it is enough.
func (p *packets) sent() {
	if len(p.out) >= flushBytes {
		p.flush()
	}
}

func (p *packets) flush() error {
	if p.err == nil && len(p.out) > 0 {
		if p.z != nil {
			p.err = p.z.write(p.w, p.out)
		} else {
			_, p.err = p.w.Write(p.out)
		}
		p.n += int64(len(p.out))
	}
	p.out = p.out[:0]
	return p.err
}
