package tracedat

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gpurec/gpurec/record/event"
)

// The options (trace-cmd.dat.v7(5)).
const (
	optDone       = 0
	optDate       = 1
	optCPUStat    = 2
	optBuffer     = 3
	optTraceClock = 4
	optUname      = 5
	optHook       = 6
	optOffset     = 7
	optCPUCount   = 8
	optVersion    = 9
	optProcMaps   = 10
	optTraceID    = 11
	optTimeShift  = 12
	optGuest      = 13
	optTSC2NSec   = 14
	optBufferText = 22
)

// options is what the options say, as far as it is no part of file itself.
type options struct {
	cpus         uint32
	clock        []byte // text of trace_clock
	clockFollows bool   // version 6: it lies behind the table of CPUs
	uname        string
	date         []int64 // each DATE option, µs
	sections     map[int]int64
	buffers6     []bufferAt
	buffers7     []bufferAt
	statBuffer   string // the instance that the next CPUSTAT is of
	facts        []event.Fact
}

// bufferAt is a buffer and where its table or section is.
type bufferAt struct {
	buffer
	off int64
}

// maxFacts bounds what options may add to the metadata.
const maxFacts = 1024

func (f *file) fact(key, val string) {
	if len(f.opt.facts) >= maxFacts || len(val) > maxName {
		f.count.AddAt(&AnomalyBadOption, 1, key+": too many or too long")
		return
	}
	f.opt.facts = append(f.opt.facts, event.Fact{Key: key, Value: val})
}

// text takes the NUL and blanks off a string option.
func text(data []byte) string {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = data[:i]
	}
	s := string(bytes.TrimSpace(data))
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return s
}

// option takes one option. Its data belong to the caller no more.
func (f *file) option(id uint16, data []byte) {
	o := &f.opt
	if f.version == 7 && id >= secHeaders && id <= secCmdlines {
		f.pointer(id, data)
		return
	}
	switch id {
	case optDate:
		f.number(id, data, func(n int64) { o.date = append(o.date, n) })
	case optOffset:
		f.number(id, data, func(n int64) {
			f.times.offset += n
			f.fact("ts_offset_ns", strconv.FormatInt(n, 10))
		})
	case optCPUStat:
		f.cpuStat(data)
	case optBuffer:
		f.buffer(data)
	case optBufferText:
		f.count.AddAt(&AnomalyLatencyText, 1, "")
	case optTraceClock:
		o.clock = data
		o.clockFollows = f.version == 6 && len(data) == 0
	case optUname:
		o.uname = text(data)
		f.fact("uname", o.uname)
	case optHook:
		f.fact("hook", text(data))
	case optCPUCount:
		f.cpuCount(data)
	case optVersion:
		f.fact("trace_cmd_version", text(data))
	case optProcMaps:
		line, _, _ := strings.Cut(text(data), "\n")
		f.fact("procmap", line)
	case optTraceID:
		f.fixed(id, data, 8, func(s *scan) { f.fact("trace_id", fmt.Sprintf("%#x", s.u64())) })
	case optTimeShift:
		f.timeShift(data)
	case optGuest:
		f.guest(data)
	case optTSC2NSec:
		f.fixed(id, data, 16, func(s *scan) {
			f.times.mult, f.times.shift = s.u32(), s.u32()
			f.fact("tsc2nsec", fmt.Sprintf("mult=%d shift=%d offset=%d", f.times.mult, f.times.shift, s.u64()))
		})
	default:
		f.count.AddAt(&AnomalyUnknownOption, 1, "option "+strconv.Itoa(int(id)))
		f.fact("unknown_option", fmt.Sprintf("%d, %d bytes", id, len(data)))
	}
}

func (f *file) badOption(id uint16, why string) {
	f.count.AddAt(&AnomalyBadOption, 1, fmt.Sprintf("option %d: %s", id, why))
}

// fixed reads an option of at least n bytes.
func (f *file) fixed(id uint16, data []byte, n int, read func(*scan)) {
	if len(data) < n {
		f.badOption(id, fmt.Sprintf("%d bytes, not %d", len(data), n))
		return
	}
	read(scanBytes(data, f.order))
}

// number reads an option that is a number in text, decimal or 0x.
func (f *file) number(id uint16, data []byte, set func(int64)) {
	t := text(data)
	n, err := strconv.ParseInt(t, 0, 64)
	if err != nil {
		f.badOption(id, fmt.Sprintf("%.32q is no number", t))
		return
	}
	set(n)
}

// pointer reads an option that says where a section is.
func (f *file) pointer(id uint16, data []byte) {
	f.fixed(id, data, 8, func(s *scan) {
		if off := s.u64(); off < 1<<60 {
			f.opt.sections[int(id)] = int64(off)
			return
		}
		f.badOption(id, "a place outside of the file")
	})
}

// cpuStat takes the counters of a ring buffer. Those of an instance come
// behind a text "Buffer: name".
func (f *file) cpuStat(data []byte) {
	t := text(data)
	if name, ok := strings.CutPrefix(t, "Buffer: "); ok {
		f.opt.statBuffer = strings.TrimSpace(name)
		return
	}
	line, rest, _ := strings.Cut(t, "\n")
	num, ok := strings.CutPrefix(line, "CPU: ")
	n, err := strconv.ParseUint(strings.TrimSpace(num), 10, 31)
	if !ok || err != nil || len(f.stats) >= maxLanes {
		f.badOption(optCPUStat, fmt.Sprintf("%.32q names no CPU", line))
		return
	}
	f.stats[statKey{f.opt.statBuffer, int32(n)}] = []byte(rest)
}

// cpuCount reads the number of CPUs. A file that gpuvis's branch of trace-cmd
// wrote has saved_tgids under the same number.
func (f *file) cpuCount(data []byte) {
	if len(data) != 4 {
		f.tgids = append(f.tgids, bytes.TrimRight(data, "\x00")...)
		return
	}
	f.fixed(optCPUCount, data, 4, func(s *scan) { f.opt.cpus = s.u32() })
}

// buffer reads the description of a tracing instance.
func (f *file) buffer(data []byte) {
	s := scanBytes(data, f.order)
	b := bufferAt{off: int64(s.u64() & (1<<60 - 1))}
	b.name = strings.ToValidUTF8(s.str(maxName), "\ufffd")
	if b.name != "" && s.err == nil {
		f.fact("instance", b.name)
	}
	if f.version == 6 {
		if s.err != nil || len(f.opt.buffers6) >= maxLanes {
			f.badOption(optBuffer, "no place and name")
			return
		}
		f.opt.buffers6 = append(f.opt.buffers6, b)
		return
	}
	b.clock = s.str(maxName)
	b.page = int(s.u32())
	n := s.u32()
	for i := uint32(0); i < n && s.err == nil && i < maxLanes; i++ {
		id, off, size := s.u32(), s.u64(), s.u64()
		c, ok := f.run(off, size)
		if s.err != nil {
			break
		}
		if c.id = int32(id); !ok || id >= maxLanes {
			f.badOption(optBuffer, fmt.Sprintf("CPU %d at byte %d, %d bytes", id, off, size))
			continue
		}
		b.cpus = append(b.cpus, c)
	}
	if s.err != nil {
		f.badOption(optBuffer, s.err.Error())
	}
	if len(f.opt.buffers7) < maxLanes {
		f.opt.buffers7 = append(f.opt.buffers7, b)
	}
}

// guest names a virtual machine that was traced along with its host.
func (f *file) guest(data []byte) {
	s := scanBytes(data, f.order)
	name, id, n := s.str(maxName), s.u64(), s.u32()
	var w strings.Builder
	fmt.Fprintf(&w, "%s trace_id=%#x", strings.ToValidUTF8(name, "\ufffd"), id)
	for i := uint32(0); i < n && s.err == nil && w.Len() < maxName/2; i++ {
		cpu, pid := s.u32(), s.u32()
		fmt.Fprintf(&w, " cpu%d=pid%d", cpu, int32(pid))
	}
	if s.err != nil {
		f.badOption(optGuest, s.err.Error())
		return
	}
	f.fact("guest", w.String())
}
