package perfetto

import (
	"bufio"
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
	fieldFtrace        = 1
	fieldProcessTree   = 2
	fieldClockSnapshot = 6
	fieldTimestamp     = 8
	fieldSequence      = 10
	fieldTrackEvent    = 11
	fieldInterned      = 12
	fieldFlags         = 13
	fieldSystemInfo    = 45
	fieldDescriptor    = 60
	fieldGPUInfo       = 128
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
	w    *bufio.Writer
	base int64 // added to every time, so that none is negative
	buf  []byte
	err  error
	n    int64 // bytes written
}

func newPackets(w io.Writer) *packets {
	return &packets{w: bufio.NewWriterSize(w, 256<<10)}
}

// ts returns a time as the trace holds it.
func (p *packets) ts(t int64) uint64 { return uint64(t + p.base) }

// head begins a packet in p.buf.
func (p *packets) head(seq, flags uint64, t int64) {
	b := append(p.buf[:0], fieldSequence<<3, byte(seq))
	if flags != 0 {
		b = append(b, fieldFlags<<3, byte(flags))
	}
	b = append(b, fieldTimestamp<<3)
	p.buf = binary.AppendUvarint(b, p.ts(t))
}

// send writes the packet in p.buf.
func (p *packets) send() {
	if p.err != nil {
		return
	}
	var h [binary.MaxVarintLen64 + 1]byte
	h[0] = 1<<3 | 2
	n := 1 + binary.PutUvarint(h[1:], uint64(len(p.buf)))
	if _, p.err = p.w.Write(h[:n]); p.err != nil {
		return
	}
	_, p.err = p.w.Write(p.buf)
	p.n += int64(n + len(p.buf))
}

func (p *packets) flush() error {
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}
