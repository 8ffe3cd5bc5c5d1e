package tracedat

import (
	"errors"
	"fmt"
)

// read6 reads the head of version 6: everything one after the other.
func (f *file) read6() error {
	s := &scan{at: f.at, order: f.order, off: f.body}
	for _, part := range []struct {
		name string
		read func(*scan)
	}{
		{"the page headers", f.headers},
		{"the formats of ftrace", f.ftraceFormats},
		{"the event formats", f.eventFormats},
		{"kallsyms", func(s *scan) {
			f.symbols.off = s.off
			n := s.u32()
			f.symbols.size = int64(n)
			s.skip(uint64(n))
		}},
		{"printk_formats", func(s *scan) { f.printk = s.bytes(uint64(s.u32()), maxTexts) }},
		{"saved_cmdlines", func(s *scan) { f.cmdlines = s.bytes(s.u64(), maxTexts) }},
	} {
		if part.read(s); s.err != nil {
			return f.cutAt(s, part.name)
		}
	}
	cpus := s.u32()
	f.opt.cpus = cpus
	if s.err != nil {
		return f.cutAt(s, "the number of CPUs")
	}
	if err := f.flyrecord6(s, buffer{}); err != nil {
		return err
	}
	if f.opt.clockFollows { // the clock's text lies behind the table of CPUs
		if text := s.bytes(s.u64(), maxHeader); s.err == nil {
			f.opt.clock = text
		}
	}
	// The instances: each has a table of its own, at the place its option names.
	for _, b := range f.opt.buffers6 {
		at := &scan{at: f.at, order: f.order, off: b.off}
		if err := f.flyrecord6(at, buffer{name: b.name}); err != nil {
			return err
		}
	}
	return nil
}

// flyrecord6 reads options, if there are any, and the table of CPUs.
func (f *file) flyrecord6(s *scan, b buffer) error {
	kind := s.take(10)
	if string(kind) == "options  \x00" {
		f.options6(s)
		kind = s.take(10)
	}
	if s.err != nil {
		return f.cutAt(s, "the options")
	}
	switch string(kind) {
	case "flyrecord\x00":
	case "latency  \x00":
		f.count.AddAt(&AnomalyLatencyText, 1, "buffer "+b.name)
		if b.name == "" {
			return f.errorAt(s.off, errors.New("holds the text of a latency tracer, not ring buffer pages"), AnomalyLatencyText.Remedy)
		}
		return nil
	default:
		return f.errorAt(s.off-10, fmt.Errorf("%q where options or flyrecord should be", kind), "the file is damaged: fetch or record it again")
	}
	n := f.opt.cpus
	if n > maxLanes {
		return f.errorAt(s.off, fmt.Errorf("%d CPUs", n), "the file is damaged: fetch or record it again")
	}
	for i := range n {
		off, size := s.u64(), s.u64()
		if s.err != nil {
			break
		}
		if c, ok := f.run(off, size); ok {
			c.id = int32(i)
			b.cpus = append(b.cpus, c)
		} else {
			f.count.AddAt(&AnomalyBadSection, 1, fmt.Sprintf("CPU %d at byte %d, %d bytes", i, off, size))
		}
	}
	f.buffers = append(f.buffers, b)
	if s.err != nil {
		return f.cutAt(s, "the table of CPUs")
	}
	return nil
}

// run checks a place and a size.
func (f *file) run(off, size uint64) (cpu, bool) {
	if off > 1<<60 || size > 1<<60 {
		return cpu{}, false
	}
	return cpu{region: region{off: int64(off), size: int64(size)}}, true
}

// options6 reads options up to the one of number 0, which has no size.
func (f *file) options6(s *scan) {
	for {
		id := s.u16()
		if id == optDone || s.err != nil {
			return
		}
		n := s.u32()
		data := s.bytes(uint64(n), maxOptions)
		if s.err != nil {
			return
		}
		f.option(id, data)
	}
}
