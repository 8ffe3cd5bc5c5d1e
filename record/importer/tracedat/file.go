package tracedat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// Bounds of what is read whole. Real formats come to 2 MiB, symbols to 8.
const (
	maxHeader   = 64 << 10
	maxFormat   = 1 << 20
	maxFormats  = 32 << 20 // bytes of all formats
	maxKallsyms = 32 << 20
	maxTexts    = 16 << 20 // saved_cmdlines, printk_formats
	maxOptions  = 16 << 20 // bytes of a section of options
	maxName     = 4096
	maxPage     = 16 << 20
	maxLanes    = 8192
	maxEvents   = 1 << 16
)

// file is what the head of a trace.dat says.
type file struct {
	name  string
	at    io.ReaderAt
	size  int64 // unknownSize for a pipe
	count *event.Counters

	version   int
	order     binary.ByteOrder
	longSize  int // of user space
	pageSize  int
	algorithm string // of compression, "" in version 6
	codec     codec
	body      int64 // where the initial format ends

	headerPage, headerEvent []byte
	formats                 []formatText
	printk, cmdlines, tgids []byte
	symbols                 region
	buffers                 []buffer
	opt                     options
	stats                   map[statKey][]byte
	times                   times
}

// formatText is a format file.
type formatText struct {
	system string
	text   []byte
}

// region is a part of the file.
type region struct {
	off, size  int64
	compressed bool
}

// buffer is a tracing instance.
type buffer struct {
	name, clock string
	page        int // 0 if the file does not say
	compressed  bool
	cpus        []cpu
}

// cpu is the run of pages of one CPU.
type cpu struct {
	id int32 // event.NoID if unknown
	region
}

type statKey struct {
	buffer string
	cpu    int32
}

// errorAt is an error of this file; off is -1 where no place says more.
func (f *file) errorAt(off int64, err error, remedy string) error {
	return &importer.Error{Name: f.name, Offset: off, Err: err, Remedy: remedy}
}

// cutAt is the error of a scan that came to the end of the file, or to nonsense.
func (f *file) cutAt(s *scan, what string) error {
	remedy := "the file is damaged: fetch or record it again"
	if errors.Is(s.err, errCut) {
		remedy = "the file is cut: fetch or record it again"
	}
	return f.errorAt(s.off, fmt.Errorf("%s: %w", what, s.err), remedy)
}

// begin reads the initial format: magic, version, byte order, sizes, and in
// version 7 the compression.
func (f *file) begin() error {
	f.stats = make(map[statKey][]byte)
	s := &scan{at: f.at, order: binary.LittleEndian, off: int64(len(magic))}
	version := s.str(32)
	big := s.u8()
	if big == 1 {
		s.order = binary.BigEndian
	}
	f.order = s.order
	f.longSize = int(s.u8())
	page := s.u32()
	if s.err != nil {
		return f.cutAt(s, "the initial format")
	}
	switch version {
	case "6":
		f.version = 6
	case "7":
		f.version = 7
		if err := f.compression(s); err != nil {
			return err
		}
	default:
		return f.errorAt(int64(len(magic)), fmt.Errorf("is trace.dat of version %.16q; known are 6 and 7", version),
			"convert it: trace-cmd convert --file-version 7 -i FILE -o OUT")
	}
	if big > 1 || f.longSize != 4 && f.longSize != 8 || page < 64 || page > maxPage {
		return f.errorAt(s.off, fmt.Errorf("byte order %d, long of %d bytes, page of %d bytes", big, f.longSize, page),
			"the file is damaged: fetch or record it again")
	}
	f.pageSize = int(page)
	f.body = s.off
	return nil
}

// compression reads the name of the algorithm.
func (f *file) compression(s *scan) error {
	f.algorithm = s.str(64)
	version := s.str(64)
	if s.err != nil {
		return f.cutAt(s, "the name of the compression")
	}
	if f.codec = newCodec(f.algorithm); f.codec == nil {
		return f.errorAt(s.off, fmt.Errorf("is trace.dat version 7, compressed with %.32q %.32q, which is not known", f.algorithm, version),
			"decompress it: trace-cmd convert --compression none -i FILE -o OUT")
	}
	return nil
}

// headers reads header_page and header_event.
func (f *file) headers(s *scan) {
	for _, h := range []struct {
		name string
		to   *[]byte
	}{{"header_page", &f.headerPage}, {"header_event", &f.headerEvent}} {
		if name := s.str(16); s.err == nil && name != h.name {
			s.err = fmt.Errorf("%q where %s should be", name, h.name)
		}
		*h.to = s.bytes(s.u64(), maxHeader)
	}
}

// ftraceFormats reads the formats of ftrace's own events.
func (f *file) ftraceFormats(s *scan) { f.formatList(s, "ftrace") }

// eventFormats reads those of all other systems.
func (f *file) eventFormats(s *scan) {
	n := s.u32()
	for range min(n, maxEvents) {
		system := s.str(maxName)
		if s.err != nil {
			return
		}
		f.formatList(s, system)
	}
}

func (f *file) formatList(s *scan, system string) {
	n := s.u32()
	if n > maxEvents {
		s.err = errBig
	}
	for i := uint32(0); i < n && s.err == nil; i++ {
		text := s.bytes(s.u64(), maxFormat)
		if s.err == nil && len(f.formats) >= maxEvents {
			s.err = errBig
		}
		if s.err == nil {
			f.formats = append(f.formats, formatText{system, text})
		}
	}
}

// kallsyms loads the symbols; the decoder asks when it needs one.
func (f *file) kallsyms() []byte {
	if f.symbols.size == 0 {
		return nil
	}
	s, err := f.section(f.symbols, maxKallsyms)
	if err == nil {
		text := s.bytes(uint64(s.u32()), maxKallsyms)
		if err = s.err; err == nil {
			return text
		}
	}
	f.count.AddAt(&AnomalyBadSection, 1, "kallsyms: "+err.Error())
	return nil
}

// section gives a part of the file, decompressed if it is compressed.
func (f *file) section(r region, limit int) (*scan, error) {
	s := &scan{at: f.at, order: f.order, off: r.off}
	if !r.compressed {
		return s, nil
	}
	in, out := s.u32(), s.u32()
	packed := s.bytes(uint64(in), limit)
	if s.err != nil {
		return nil, s.err
	}
	if uint64(out) > uint64(limit) {
		return nil, errBig
	}
	b, err := f.codec.decode(nil, packed, int(out))
	if err != nil {
		return nil, err
	}
	return scanBytes(b, f.order), nil
}

func (f *file) close() {
	if f.codec != nil {
		f.codec.close()
	}
}
