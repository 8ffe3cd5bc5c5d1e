package gpulog

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gpurec/gpurec/record/event"
)

// specReader reads event blocks by docs/format.md alone: it shares no code
// with the reader, takes the numbers of kinds, fields and types from the
// page, and is as simple as it can be.
type specReader struct {
	t      *testing.T
	kinds  map[uint64]string
	fields map[uint64]string
	b      []byte
}

func newSpecReader(t *testing.T) *specReader {
	names := func(heading string) map[uint64]string {
		m := make(map[uint64]string)
		for _, r := range tableOf(t, heading) {
			n, err := strconv.ParseUint(r[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			m[n] = r[1]
		}
		return m
	}
	return &specReader{t: t, kinds: names("### Kinds"), fields: names("### Fields")}
}

func (s *specReader) byte() uint64 { v := s.b[0]; s.b = s.b[1:]; return uint64(v) }

func (s *specReader) varint() (v uint64) {
	for shift := 0; ; shift += 7 {
		c := s.byte()
		v |= (c & 127) << shift
		if c < 128 {
			return v
		}
	}
}

func (s *specReader) zigzag() uint64 {
	v := s.varint()
	if v%2 == 1 {
		return ^(v / 2)
	}
	return v / 2
}

func (s *specReader) list(n uint64, f func() uint64) []uint64 {
	l := make([]uint64, n)
	for i := range l {
		l[i] = f()
	}
	return l
}

func (s *specReader) deltas(n uint64) []uint64 {
	prev := uint64(0)
	return s.list(n, func() uint64 { prev += s.zigzag(); return prev })
}

type specHead struct{ enc, base, key, length uint64 }

func (s *specReader) head() (h specHead) {
	b := s.byte()
	h.enc, h.base = b%16, b/16
	if h.enc == 5 {
		h.key = s.byte()
	}
	h.length = s.varint()
	return h
}

// column reads n values; the column's bytes must be used up.
func (s *specReader) column(h specHead, n uint64, pool, key []uint64) (vals []uint64) {
	rest := s.b[h.length:]
	s.b = s.b[:h.length]
	switch h.enc {
	case 0:
		var v uint64
		if h.length > 0 {
			v = s.varint()
		}
		vals = s.list(n, func() uint64 { return v })
	case 1:
		vals = s.list(n, s.varint)
	case 2:
		vals = s.deltas(n)
	case 3:
		dict := s.deltas(s.byte() + 1)
		vals = s.list(n, func() uint64 { return dict[s.byte()] })
	case 4:
		for _, p := range s.deltas(n) {
			vals = append(vals, pool[p])
		}
	case 5:
		var last [256]uint64
		for i := range n {
			slot := key[i] * 0x9E3779B97F4A7C15 >> 56
			last[slot] += s.zigzag()
			vals = append(vals, last[slot])
		}
	case 6:
		vals = s.list(n, func() uint64 { v := binary.LittleEndian.Uint64(s.b); s.b = s.b[8:]; return v })
	default:
		s.t.Fatalf("encoding %d", h.enc)
	}
	if len(s.b) > 0 {
		s.t.Fatalf("%d bytes are left of a column in encoding %d", len(s.b), h.enc)
	}
	s.b = rest
	return vals
}

type specShape struct {
	kind, flags, mode, source, events uint64
	fields, types                     []uint64
	heads                             []specHead
	vals                              [][]uint64
}

// block reads the body of an event block.
func (s *specReader) block(body []byte) (out []event.Event) {
	s.b = body
	strs := []string{""}
	for _, n := range s.list(s.varint(), s.varint) {
		strs = append(strs, string(s.b[:n]))
		s.b = s.b[n:]
	}
	return s.events(strs)
}

func (s *specReader) events(strs []string) (out []event.Event) {
	n := s.varint()
	cpu, pid, tid, comm := s.list(n, s.zigzag), s.list(n, s.zigzag), s.list(n, s.zigzag), s.list(n, s.varint)
	shapes := make([]specShape, s.varint())
	orderHead, whoHead, timeHead := s.head(), s.head(), s.head()
	total, timed := uint64(0), uint64(0)
	for i := range shapes {
		sh := &shapes[i]
		sh.kind, sh.flags, sh.mode, sh.source, sh.events = s.varint(), s.byte(), s.byte(), s.varint(), s.varint()
		for range s.byte() {
			sh.fields = append(sh.fields, s.varint())
			sh.types = append(sh.types, s.byte())
			sh.heads = append(sh.heads, s.head())
		}
		total += sh.events
		if sh.mode != 0 {
			timed += sh.events
		}
	}
	pool := s.deltas(s.varint())
	order, who, times := s.column(orderHead, total, nil, nil), s.column(whoHead, total, nil, nil), s.column(timeHead, timed, nil, nil)
	for i := range shapes {
		sh := &shapes[i]
		for j := range sh.heads {
			var key []uint64
			if sh.heads[j].enc == 5 {
				key = sh.vals[sh.heads[j].key]
			}
			sh.vals = append(sh.vals, s.column(sh.heads[j], sh.events, pool, key))
		}
	}
	if len(s.b) > 0 {
		s.t.Fatalf("%d bytes behind the columns", len(s.b))
	}
	for i := range order {
		sh, w := &shapes[order[i]], who[i]
		e := event.New(event.KindByName(s.kinds[sh.kind]), event.NoTime)
		e.Flags, e.CPU, e.PID, e.TID, e.Comm, e.Source = event.Flags(sh.flags), int32(cpu[w]), int32(pid[w]), int32(tid[w]), strs[comm[w]], strs[sh.source]
		if sh.mode == 1 {
			e.Time = event.Time(times[0])
		}
		if sh.mode != 0 {
			times = times[1:]
		}
		for j, f := range sh.fields {
			v := sh.vals[j][0]
			sh.vals[j] = sh.vals[j][1:]
			switch sh.heads[j].base {
			case 1:
				v = uint64(e.Time) - v
			case 2:
				v += uint64(int64(e.TID))
			case 3:
				v ^= comm[w]
			}
			field := event.FieldByName(s.fields[f])
			if sh.types[j] >= 7 {
				e.SetStr(field, strs[v])
			} else {
				e.SetUint(field, v)
			}
		}
		out = append(out, e)
	}
	return out
}

// log reads the event blocks of a sound log.
func (s *specReader) log(log []byte) (out []event.Event) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer z.Close()
	le := binary.LittleEndian
	var id uint32
	for seq := uint32(0); len(log) > 0; seq++ {
		h := log[:64]
		stored := log[64 : 64+le.Uint32(h[12:])]
		log = log[64+len(stored):]
		body := stored
		if h[9] == 1 {
			if body, err = z.DecodeAll(stored, nil); err != nil {
				s.t.Fatal(err)
			}
		}
		sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
		if seq == 0 {
			id = sum(body)
		}
		if sum(h[:60]) != le.Uint32(h[60:]) || sum(stored) != le.Uint32(h[56:]) || le.Uint32(h[16:]) != uint32(len(body)) ||
			le.Uint32(h[24:]) != seq || le.Uint32(h[28:]) != id || le.Uint64(h[32:]) != uint64(len(out)) {
			s.t.Fatalf("header of block %d: % x", seq, h)
		}
		if h[8] != 3 {
			continue
		}
		evs := s.block(body)
		if len(evs) != int(le.Uint32(h[20:])) {
			s.t.Fatalf("block %d has %d events", seq, len(evs))
		}
		lo, hi := event.NoTime, event.NoTime
		for _, e := range evs {
			if e.Time.Known() && (!lo.Known() || e.Time < lo) {
				lo = e.Time
			}
			hi = max(hi, e.Time)
		}
		if lo != event.Time(le.Uint64(h[40:])) || hi != event.Time(le.Uint64(h[48:])) {
			s.t.Fatalf("block %d: times %d to %d", seq, lo, hi)
		}
		out = append(out, evs...)
	}
	return out
}

// What is written reads as the page says.
func TestPageIsEnough(t *testing.T) {
	golden, err := os.ReadFile(goldenLog)
	if err != nil {
		t.Fatal(err)
	}
	tr := readTruth(t, goldenTruth)
	compare(t, newSpecReader(t).log(golden), tr.events())
	evs := randomEvents(11, 6000)
	compare(t, newSpecReader(t).log(write(t, evs, WriterOptions{BlockEvents: 4000})), evs)
	c := readCapture(t, captures[0])
	compare(t, newSpecReader(t).log(write(t, c.events, WriterOptions{})), c.events)
}
