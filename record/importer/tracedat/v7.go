package tracedat

import (
	"errors"
	"fmt"

	"github.com/gpurec/gpurec/record/event"
)

// Sections have the numbers of the options that point to them.
const (
	secOptions    = 0
	secBuffer     = 3
	secStrings    = 15
	secHeaders    = 16
	secFtrace     = 17
	secFormats    = 18
	secKallsyms   = 19
	secPrintk     = 20
	secCmdlines   = 21
	secBufferText = 22
)

const (
	sectionHead     = 16
	flagCompressed  = 1
	maxOptionChain  = 4096
	maxSectionsWalk = 1 << 16
)

// section7 is a section's place: its data, behind its head.
type section7 struct {
	id int
	region
}

// sectionAt reads the head of a section.
func (f *file) sectionAt(off int64) (section7, error) {
	s := &scan{at: f.at, order: f.order, off: off}
	id, flags := s.u16(), s.u16()
	s.u32() // its name, in a section of strings
	size := s.u64()
	if s.err == nil && size > 1<<60 {
		s.err = errBig
	}
	return section7{int(id), region{s.off, int64(size), flags&flagCompressed != 0}}, s.err
}

// read7 reads the head of version 7: a chain of sections of options, which say
// where the others are. Where the chain is broken, what it did not reach is
// looked for section by section.
func (f *file) read7() error {
	s := &scan{at: f.at, order: f.order, off: f.body}
	next := s.u64()
	if s.err != nil {
		return f.cutAt(s, "the place of the options")
	}
	f.opt.sections = make(map[int]int64)
	broken := f.chain(next)
	if broken != nil {
		f.walk(s.off)
	}
	for _, part := range []struct {
		id    int
		name  string
		limit int
		read  func(*scan)
	}{
		{secHeaders, "the page headers", maxTexts, f.headers},
		{secFtrace, "the formats of ftrace", maxFormats, f.ftraceFormats},
		{secFormats, "the event formats", maxFormats, f.eventFormats},
		{secPrintk, "printk_formats", maxTexts, func(s *scan) { f.printk = s.bytes(uint64(s.u32()), maxTexts) }},
		{secCmdlines, "saved_cmdlines", maxTexts, func(s *scan) { f.cmdlines = s.bytes(s.u64(), maxTexts) }},
	} {
		if err := f.part(part.id, part.limit, part.read); err != nil {
			f.count.AddAt(&AnomalyBadSection, 1, part.name+": "+err.Error())
		}
	}
	if off, ok := f.opt.sections[secKallsyms]; ok {
		if sec, err := f.sectionAt(off); err == nil && sec.id == secKallsyms {
			f.symbols = sec.region
		}
	}
	f.buffersDone()
	return broken
}

// part reads one section, if the file has it.
func (f *file) part(id, limit int, read func(*scan)) error {
	off, ok := f.opt.sections[id]
	if !ok {
		return nil
	}
	sec, err := f.sectionAt(off)
	if err != nil {
		return err
	}
	if sec.id != id {
		return fmt.Errorf("section %d where %d should be", sec.id, id)
	}
	s, err := f.section(sec.region, limit)
	if err != nil {
		return err
	}
	read(s)
	return s.err
}

// chain follows the sections of options.
func (f *file) chain(next uint64) error {
	seen := make(map[uint64]bool)
	for next != 0 {
		if seen[next] || len(seen) >= maxOptionChain || next > 1<<60 {
			return f.errorAt(int64(next&(1<<62-1)), errors.New("options lead in a circle or nowhere"), "the file is damaged: fetch or record it again")
		}
		seen[next] = true
		sec, err := f.sectionAt(int64(next))
		if err == nil && sec.id != secOptions {
			err = fmt.Errorf("section %d where options should be", sec.id)
		}
		if err == nil {
			next, err = f.options7(sec)
		}
		if err != nil {
			remedy := "the file is damaged: fetch or record it again"
			if errors.Is(err, errCut) {
				remedy = "the file is cut: fetch or record it again"
			}
			return f.errorAt(int64(next), fmt.Errorf("options: %w", err), remedy)
		}
	}
	return nil
}

// options7 reads a section of options; it returns where the next one is.
func (f *file) options7(sec section7) (next uint64, err error) {
	at := uint64(sec.off) - sectionHead
	s, err := f.section(sec.region, maxOptions)
	if err != nil {
		return at, err
	}
	for {
		id := s.u16()
		data := s.bytes(uint64(s.u32()), maxOptions)
		if s.err != nil {
			return at, s.err
		}
		if id == optDone {
			d := scanBytes(data, f.order)
			if next = d.u64(); d.err != nil {
				return at, d.err
			}
			return next, nil
		}
		f.option(id, data)
	}
}

// walk goes from section to section through a file whose options could not be
// followed to their end.
func (f *file) walk(off int64) {
	known := make(map[int64]bool)
	for _, b := range f.opt.buffers7 {
		known[b.off] = true
	}
	for range maxSectionsWalk {
		sec, err := f.sectionAt(off)
		if err != nil {
			return
		}
		switch {
		case sec.id > secBufferText:
			return
		case sec.id == secBuffer && !known[off]:
			// Its size is written last, and may be missing.
			if sec.size > 0 || !f.sectionFollows(sec.off) {
				f.found(off, sec)
				if sec.size == 0 {
					return
				}
			}
		case sec.id != secBuffer && sec.id != secOptions:
			if _, ok := f.opt.sections[sec.id]; !ok {
				f.opt.sections[sec.id] = off
			}
		}
		off = sec.off + sec.size
	}
}

// sectionFollows reports whether another section begins at off, as behind an
// empty buffer; where pages follow there are zeros first.
func (f *file) sectionFollows(off int64) bool {
	sec, err := f.sectionAt(off)
	return err == nil && sec.id <= secBufferText && sec.size > 0
}

// found makes a buffer of a section that no option describes: how its CPUs
// share the pages is known only where they are compressed, each behind the
// count of its chunks.
func (f *file) found(off int64, sec section7) {
	b := buffer{compressed: sec.compressed}
	end := int64(unknownSize)
	if sec.size > 0 {
		end = sec.off + sec.size
	}
	at := f.align(sec.off)
	if !sec.compressed {
		if at < end {
			b.cpus = append(b.cpus, cpu{event.NoID, region{off: at, size: end - at}})
		}
	} else {
		for len(b.cpus) < maxLanes && at < end {
			size, ok := f.chunksAt(at)
			if size > 0 {
				b.cpus = append(b.cpus, cpu{event.NoID, region{off: at, size: size}})
			}
			if !ok {
				break
			}
			at = f.align(at + size)
		}
	}
	if len(b.cpus) > 0 {
		f.count.AddAt(&AnomalyCPUUnknown, uint64(len(b.cpus)), fmt.Sprintf("byte %d", off))
		f.buffers = append(f.buffers, b)
	}
}

// chunksAt measures a run of chunks; ok tells that all of them are there.
func (f *file) chunksAt(off int64) (size int64, ok bool) {
	s := &scan{at: f.at, order: f.order, off: off}
	n := s.u32()
	if s.err != nil || n == 0 || n > 1<<24 {
		return 0, false
	}
	for range n {
		in, out := s.u32(), s.u32()
		if s.err != nil || in == 0 || out == 0 || int(out)%f.pageSize != 0 || out > maxChunk || in > maxChunk {
			return s.off - off, false
		}
		s.skip(uint64(in))
	}
	s.off-- // the last byte must be there
	return s.off + 1 - off, s.take(1) != nil
}

func (f *file) align(off int64) int64 {
	n := int64(f.pageSize)
	return (off + n - 1) / n * n
}

// buffersDone makes buffers of what the options said of them.
func (f *file) buffersDone() {
	var l []buffer
	for _, o := range f.opt.buffers7 {
		sec, err := f.sectionAt(o.off)
		if err == nil && sec.id != secBuffer {
			err = fmt.Errorf("section %d where a buffer should be", sec.id)
		}
		if err != nil {
			f.count.AddAt(&AnomalyBadSection, 1, fmt.Sprintf("buffer %.64q at byte %d: %v", o.name, o.off, err))
			continue
		}
		o.buffer.compressed = sec.compressed
		l = append(l, o.buffer)
	}
	f.buffers = append(l, f.buffers...)
}
