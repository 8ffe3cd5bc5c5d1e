// Package rawpages imports a folder of raw ring buffer pages, as copied from
// tracefs:
//
//	header_page, header_event       or below events/
//	events/SYSTEM.EVENT.format      or events/SYSTEM/EVENT/format
//	cpu0.raw, cpu1.raw, …           or per_cpu/cpu0/trace_pipe_raw
//	saved_cmdlines, saved_tgids, trace_clock, printk_formats, kallsyms,
//	cpu0.stats or per_cpu/cpu0/stats, uname      if they are there
//
// Each file of pages is an ordered stream; the streams are merged by time.
package rawpages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/importer"
)

// Format returns the format.
func Format() importer.Format {
	return importer.Format{
		Name:     "raw-pages",
		Title:    "folder of raw ftrace pages (cpuN.raw with header_page and events)",
		Sniff:    func([]byte) bool { return false },
		SniffDir: sniffDir,
		Open:     open,
	}
}

// reader is an importer.Reader.
type reader struct {
	name  string
	dir   fs.FS
	merge *ftrace.Merger
	count event.Counters
	meta  event.Meta
	files []*pages
	eof   bool
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{name: in.Name, dir: in.Dir}
	if in.Dir == nil {
		return nil, r.fail("", errors.New("is no folder"), "name the folder that holds header_page and cpu0.raw")
	}
	f := list(in.Dir)
	if f.headerPage == "" || len(f.cpus) == 0 {
		return nil, r.fail("", errors.New("holds no raw pages"), "it needs header_page, events/*/*/format and cpu0.raw …")
	}
	if err := r.open(f, o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *reader) fail(file string, err error, remedy string) error {
	name := r.name
	if file != "" {
		name = strings.TrimSuffix(name, "/") + "/" + file
	}
	return &importer.Error{Name: name, Offset: -1, Err: err, Remedy: remedy}
}

func (r *reader) open(f *files, o importer.Options) error {
	if err := r.openPages(f); err != nil {
		return err
	}
	layout, err := r.layout(f)
	if err != nil {
		return err
	}
	r.describe(f, o)
	d, err := ftrace.NewDecoder(layout, nil, ftrace.DecoderOptions{
		Counters: &r.count, IoctlNR: ftrace.IoctlNR(r.meta.Host.Machine),
	})
	if err != nil {
		return r.fail(f.headerPage, err, "copy header_page from the traced machine")
	}
	r.formats(d, f)
	d.SavedTGIDs(r.text(f.tgids, maxText))
	d.SavedCmdlines(r.text(f.cmdlines, maxText))
	d.PrintkFormats(r.text(f.printk, maxText))
	if f.kallsyms != "" {
		d.Kallsyms(func() []byte { return r.text(f.kallsyms, maxKallsyms) })
	}
	if layout.SubBufferSize()*len(r.files) > 4*laneBuffers {
		return r.fail(f.headerPage, fmt.Errorf("pages of %d bytes on %d CPUs: too much to hold one of each", layout.SubBufferSize(), len(r.files)),
			"copy header_page from the traced machine")
	}
	lanes := make([]ftrace.Lane, len(r.files))
	for i, p := range r.files {
		p.prepare(layout.SubBufferSize(), len(r.files))
		lanes[i] = ftrace.Lane{CPU: p.cpu, Name: ftrace.Stream, Next: p.next}
	}
	r.merge = ftrace.NewMerger(d, lanes)
	return nil
}

func (r *reader) openPages(f *files) error {
	for _, c := range f.cpus {
		file, err := r.dir.Open(c.path)
		if err != nil {
			return r.fail(c.path, pathError(err), "check its owner and mode")
		}
		st, err := file.Stat()
		if err != nil {
			file.Close()
			return r.fail(c.path, pathError(err), "")
		}
		r.files = append(r.files, &pages{cpu: c.cpu, path: strings.TrimSuffix(r.name, "/") + "/" + c.path, file: file, size: st.Size(), left: st.Size()})
	}
	return nil
}

func pathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// layout reads header_page, and finds the byte order by the pages, of which
// nothing else tells.
func (r *reader) layout(f *files) (ftrace.Layout, error) {
	page, err := readFile(r.dir, f.headerPage, maxHeader)
	if err != nil {
		return ftrace.Layout{}, r.fail(f.headerPage, pathError(err), "")
	}
	l, err := ftrace.ParseLayout(page, r.text(f.headerEvent, maxHeader), binary.LittleEndian)
	if err != nil {
		return l, r.fail(f.headerPage, err, "copy header_page and header_event from the traced machine")
	}
	votes := 0
	for _, p := range r.files {
		votes += bigEndian(p.head(l.DataOffset+4), &l)
	}
	if votes > 0 {
		l.Order = binary.BigEndian
	}
	return l, nil
}

// bigEndian judges the byte order by the head of a first page: positive for
// big-endian, negative for little-endian. The commit word is at most the
// page's size, but for two flags, in the right order and far above it in the
// other; where both could be, the lesser time stamp is the likelier.
func bigEndian(head []byte, l *ftrace.Layout) int {
	if len(head) < l.DataOffset {
		return 0
	}
	const flags = 3 << 30
	le, be := orders(head[l.CommitOffset:][:l.LongSize])
	asLE, asBE := le&^flags <= uint64(l.DataSize), be&^flags <= uint64(l.DataSize)
	if asLE != asBE {
		if asBE {
			return 4
		}
		return -4
	}
	switch le, be := orders(head[l.TimeOffset:][:8]); {
	case le < be:
		return -1
	case le > be:
		return 1
	}
	return 0
}

// orders reads a word in both orders.
func orders(word []byte) (le, be uint64) {
	for i, c := range word {
		le |= uint64(c) << (8 * i)
		be = be<<8 | uint64(c)
	}
	return le, be
}

// formats gives the decoder every format of the folder.
func (r *reader) formats(d *ftrace.Decoder, f *files) {
	left := maxFormats
	for _, t := range f.formats {
		text, err := readFile(r.dir, t.path, maxHeader)
		if left -= len(text); err == nil && left < 0 {
			err = fmt.Errorf("formats of more than %d bytes", maxFormats)
		}
		if err == nil {
			err = d.AddText(t.system, text)
		}
		if err != nil {
			r.count.AddAt(&ftrace.AnomalyBadFormat, 1, t.path+": "+pathError(err).Error())
		}
	}
}

// describe fills in what the files say about the recording.
func (r *reader) describe(f *files, o importer.Options) {
	m := &r.meta
	m.Format, m.Clock = "raw-pages", o.Clock
	m.Host.CPUs = len(f.cpus)
	if c, ns := ftrace.ParseClock(r.text(f.clock, maxHeader)); c != "" {
		m.Clock = c
		if !ns {
			r.count.AddAt(&ftrace.AnomalyRawClock, 1, f.clock)
		}
	}
	if m.Clock == "" {
		m.Clock = event.ClockUnknown
	}
	// "Linux host 6.12.1-amd64 … x86_64", as uname -a and trace-cmd have it.
	if w := strings.Fields(string(r.text(f.uname, maxHeader))); len(w) >= 3 && len(w[1])+len(w[2]) < 512 {
		m.Host.Name, m.Host.Kernel = w[1], w[2]
		for _, x := range w[3:] {
			if ftrace.IoctlNR(x) != 0 {
				m.Host.Machine = x
			}
		}
	}
}

// text returns the text of a file that may be missing; one that is there but
// cannot be read is counted.
func (r *reader) text(path string, limit int) []byte {
	if path == "" {
		return nil
	}
	b, err := readFile(r.dir, path, limit)
	if err != nil {
		r.count.AddAt(&AnomalyUnreadFile, 1, path+": "+pathError(err).Error())
	}
	return b
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	err := r.merge.Next(b)
	if err == nil {
		return nil
	}
	if !r.eof {
		r.eof = true
		r.finish()
	}
	if f := r.merge.Failures(); len(f) > 0 {
		return f[0]
	}
	return err
}

func (r *reader) finish() {
	start, end := r.merge.Span()
	r.meta.Start, r.meta.End = event.OptTime(start), event.OptTime(end)
	f := list(r.dir)
	files := map[int32]int{}
	for _, p := range r.files {
		files[p.cpu]++
	}
	for i, p := range r.files {
		switch s := f.stats[p.cpu]; {
		case files[p.cpu] > 1:
			r.count.AddAt(&AnomalyCPUTwice, 1, p.path)
			delete(f.stats, p.cpu)
		case s != "" && p.given > 0:
			r.merge.CheckStats(i, r.text(s, maxHeader))
			delete(f.stats, p.cpu)
		}
	}
	for _, cpu := range slices.Sorted(maps.Keys(f.stats)) {
		if n := ftrace.StatsEvents(r.text(f.stats[cpu], maxHeader)); n > 0 {
			r.count.AddAt(&AnomalyMissingCPU, n, fmt.Sprintf("CPU %d: %s", cpu, f.stats[cpu]))
		}
	}
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close closes the files.
func (r *reader) Close() error {
	var first error
	for _, p := range r.files {
		if err := p.file.Close(); first == nil {
			first = err
		}
	}
	r.files = nil
	return first
}

// pages gives the pages of one file.
type pages struct {
	cpu  int32
	path string
	file fs.File
	size int64
	left int64 // not read yet
	page int
	buf  []byte
	lo   int
	hi   int
	err  error
	cut  bool // the page given last is not whole

	given int64 // pages
}

// laneBuffers bounds the memory for reading all files.
const laneBuffers = 32 << 20

// prepare sets the size of a page; n files are read side by side.
func (p *pages) prepare(page, n int) {
	p.page = page
	size := min(max(laneBuffers/n, page), max(256<<10, page))
	size -= size % page
	buf := make([]byte, min(int64(size), max(p.left+int64(p.hi-p.lo), 1)))
	p.hi = copy(buf, p.buf[p.lo:p.hi])
	p.lo, p.buf = 0, buf
}

// head returns the first n bytes without taking them.
func (p *pages) head(n int) []byte {
	p.buf = make([]byte, n)
	p.fill()
	return p.buf[:p.hi]
}

// fill reads until the buffer is full or the file ends.
func (p *pages) fill() {
	p.hi = copy(p.buf, p.buf[p.lo:p.hi])
	p.lo = 0
	for p.err == nil && p.left > 0 && p.hi < len(p.buf) {
		n, err := p.file.Read(p.buf[p.hi:min(len(p.buf), p.hi+int(min(p.left, 1<<30)))])
		p.hi += n
		p.left -= int64(n)
		if p.err = err; n == 0 && err == nil {
			p.err = io.ErrNoProgress
		}
	}
}

// next returns the next page; the last one may be cut.
func (p *pages) next() ([]byte, error) {
	if p.hi-p.lo < p.page {
		p.fill()
	}
	n := min(p.hi-p.lo, p.page)
	if n == 0 {
		if p.cut {
			return nil, &importer.Error{Name: p.path, Offset: p.size, Err: errors.New("ends in the middle of a page"),
				Remedy: "all before it is kept; copy the file again"}
		}
		if p.err != nil && !errors.Is(p.err, io.EOF) || p.left > 0 {
			return nil, &importer.Error{Name: p.path, Offset: p.size - p.left, Err: p.readError(), Remedy: "what was read up to here is kept"}
		}
		return nil, io.EOF
	}
	p.cut = n < p.page
	p.given++
	b := p.buf[p.lo : p.lo+n]
	p.lo += n
	return b, nil
}

func (p *pages) readError() error {
	if p.err == nil || errors.Is(p.err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return pathError(p.err)
}
