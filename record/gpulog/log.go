package gpulog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/protos/gpulog"
	"github.com/gpurec/gpurec/record/event"
)

// Log is a log in a file, which can be read more than once.
type Log struct {
	name    string
	f       *os.File
	at      io.ReaderAt
	size    int64
	index   []indexEntry // event blocks, in the order of the file
	bounds  []event.Time // bounds[i]: least time in blocks i and later; NoTime: none has one
	indexed bool         // the index is the log's own
	final   *Reader      // has read the last metadata and schema; nil if the log has no trailer
}

// Open opens a log file. Its index is used if it has one, else made by going
// from header to header. A log that is still written is taken as it is now.
// Standard input and other pipes cannot be opened so: see [NewReader].
func Open(path string, o ReaderOptions) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err // names the file
	}
	l, err := open(f, path, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func open(f *os.File, path string, o ReaderOptions) (*Log, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = path
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file; give it on standard input", o.Name)
	}
	l := &Log{name: o.Name, f: f, at: f, size: st.Size()}
	if o.At != nil {
		l.at = o.At(f)
	}
	if err := l.load(); err != nil {
		return nil, err
	}
	return l, nil
}

// load finds the event blocks.
func (l *Log) load() error {
	err := l.loadIndex()
	if err != nil {
		l.index, l.final = nil, nil
		if err := l.rebuild(); err != nil {
			return err
		}
	}
	l.indexed = err == nil
	l.bounds = make([]event.Time, len(l.index))
	least := event.NoTime
	for i := len(l.index) - 1; i >= 0; i-- {
		if m := l.index[i].min; m.Known() && (!least.Known() || m < least) {
			least = m
		}
		l.bounds[i] = least
	}
	return nil
}

// errNoIndex says that the index cannot be used; it is made anew then.
var errNoIndex = errors.New("no sound index")

// blockAt reads the block at an offset, if there is a sound one.
func (l *Log) blockAt(off int64) (frame, error) {
	var head [HeaderSize]byte
	if off < 0 || off > l.size-HeaderSize {
		return frame{}, errNoIndex
	}
	if _, err := l.at.ReadAt(head[:], off); err != nil {
		return frame{}, fmt.Errorf("%s: %w", l.name, err)
	}
	h, ok := parseHeader(head[:])
	if !ok || off+HeaderSize+int64(h.stored) > l.size {
		return frame{}, errNoIndex
	}
	s := newScanner(io.NewSectionReader(l.at, off, HeaderSize+int64(h.stored)))
	s.buf = make([]byte, 0, HeaderSize+int(h.stored))
	f, found, err := s.try()
	if err == nil && !found {
		err = errNoIndex
	}
	f.offset = off
	return f, err
}

// loadIndex reads the trailer, the index blocks from the last to the first,
// and the last metadata.
func (l *Log) loadIndex() error {
	f, err := l.blockAt(l.size - HeaderSize - TrailerSize)
	if err != nil {
		return err
	}
	if f.typ != BlockTrailer || f.codec != CodecNone || len(f.stored) < TrailerSize || f.major != Major {
		return errNoIndex
	}
	d := decbuf{b: f.stored}
	at, metaAt, events := int64(d.uint64()), int64(d.uint64()), d.uint64()
	var chain [][]indexEntry
	for before := l.size; at > 0; {
		if at >= before {
			return errNoIndex
		}
		before = at
		entries, prev, err := l.indexAt(at, f.log)
		if err != nil {
			return err
		}
		chain = append(chain, entries)
		at = prev
	}
	sum := uint64(0)
	for i := len(chain) - 1; i >= 0; i-- {
		for _, e := range chain[i] {
			if n := len(l.index); n > 0 && e.offset <= l.index[n-1].offset || e.offset > uint64(l.size) {
				return errNoIndex
			}
			sum += uint64(e.events)
			l.index = append(l.index, e)
		}
	}
	if sum != events {
		return errNoIndex
	}
	return l.loadFinal(metaAt)
}

// indexAt reads one index block.
func (l *Log) indexAt(at int64, log uint32) ([]indexEntry, int64, error) {
	f, err := l.blockAt(at)
	if err != nil {
		return nil, 0, err
	}
	r, err := newReader(nil, ReaderOptions{})
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	body, err := r.body(&f)
	if err != nil || f.typ != BlockIndex || f.log != log {
		return nil, 0, errNoIndex
	}
	p := new(gpulog.Index)
	if err := proto.Unmarshal(body, p); err != nil {
		return nil, 0, errNoIndex
	}
	n := len(p.OffsetDelta)
	if len(p.MinTime) != n || len(p.MaxTime) != n || len(p.Events) != n {
		return nil, 0, errNoIndex
	}
	entries := make([]indexEntry, n)
	off := uint64(0)
	for i := range entries {
		off += p.OffsetDelta[i]
		entries[i] = indexEntry{off, event.Time(p.MinTime[i]), event.Time(p.MaxTime[i]), p.Events[i]}
	}
	return entries, int64(p.Previous), nil
}

// loadFinal reads the last metadata and schema.
func (l *Log) loadFinal(metaAt int64) error {
	if metaAt < 0 || metaAt >= l.size {
		return errNoIndex
	}
	r, err := newReader(newScanner(io.NewSectionReader(l.at, metaAt, l.size-metaAt)), ReaderOptions{Name: l.name})
	if err != nil {
		return err
	}
	defer r.Close()
	for err == nil {
		var f frame
		if f, err = r.src.next(); err == nil {
			r.block(&f)
		}
	}
	if err != io.EOF || !r.stats.Complete || r.metaR.cur == nil || len(r.counters.List()) > 0 {
		return errNoIndex
	}
	l.final = r
	return nil
}

// rebuild makes the index by going from header to header, and over damage
// from marker to marker.
func (l *Log) rebuild() error {
	s := newScanner(nil)
	var head [HeaderSize]byte
	for off := int64(0); off+HeaderSize <= l.size; {
		if _, err := l.at.ReadAt(head[:], off); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		h, ok := parseHeader(head[:])
		if ok && (!s.any || h.log == s.log && h.seq >= s.seq) {
			s.any, s.log, s.seq = true, h.log, h.seq+1
			if h.typ == BlockEvents && off+HeaderSize+int64(h.stored) <= l.size {
				l.index = append(l.index, indexEntry{uint64(off), h.min, h.max, h.events})
			}
			off += HeaderSize + int64(h.stored)
			continue
		}
		// The scanner checks bodies too.
		from := off
		s.r = io.NewSectionReader(l.at, from, l.size-from)
		s.buf, s.begin, s.off, s.eof = s.buf[:0], 0, from, false
		f, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		off = f.offset
		s.seq = f.seq // it is taken in the next round
	}
	if !s.any {
		if l.size == 0 {
			return fmt.Errorf("%s: empty, %w", l.name, ErrNotLog)
		}
		return fmt.Errorf("%s: %w", l.name, ErrNotLog)
	}
	return nil
}

// Close closes the file. No reader of the log can be used after it.
func (l *Log) Close() error { return l.f.Close() }

// Name is the name under which the log was opened.
func (l *Log) Name() string { return l.name }

// Size is the log's length in bytes when it was opened.
func (l *Log) Size() int64 { return l.size }

// Indexed reports whether the log has a sound index of its own, as those have
// that were closed.
func (l *Log) Indexed() bool { return l.indexed }

// Range returns the least and the greatest time of any event, NoTime if none has one.
func (l *Log) Range() (start, end event.Time) {
	start, end = event.NoTime, event.NoTime
	if len(l.bounds) > 0 {
		start = l.bounds[0]
	}
	for _, e := range l.index {
		end = max(end, e.max)
	}
	return start, end
}

// Events returns how many events the headers and the index count.
func (l *Log) Events() (n uint64) {
	for _, e := range l.index {
		n += uint64(e.events)
	}
	return n
}

// Reader reads the log from its beginning. Its Meta is the log's last from the
// first moment on, if the log is complete, and it knows its Bound. Several
// readers can be used at once.
func (l *Log) Reader() (*Reader, error) {
	r, err := newReader(newScanner(io.NewSectionReader(l.at, 0, l.size)), ReaderOptions{Name: l.name})
	if err != nil {
		return nil, err
	}
	return l.begin(r)
}

// ReaderBetween reads the blocks that may hold events from start to end. They
// may hold others too, and events without a time, which the caller drops.
func (l *Log) ReaderBetween(start, end event.Time) (*Reader, error) {
	var pick []indexEntry
	for _, e := range l.index {
		if !e.min.Known() || e.max >= start && e.min <= end {
			pick = append(pick, e)
		}
	}
	r, err := newReader(&picker{l: l, pick: pick}, ReaderOptions{Name: l.name})
	if err != nil {
		return nil, err
	}
	r.chosen = true
	if l.final == nil {
		if err := l.firstMeta(r); err != nil {
			return nil, err
		}
	}
	return l.begin(r)
}

// firstMeta takes metadata and schema from the log's beginning.
func (l *Log) firstMeta(r *Reader) error {
	first, err := l.Reader()
	if err != nil {
		return err
	}
	defer first.Close()
	r.meta, r.schema = first.meta, first.schema
	return nil
}

func (l *Log) begin(r *Reader) (*Reader, error) {
	if l.final != nil {
		r.meta, r.schema, r.fixed = decodeMeta(l.final.metaR.cur), l.final.schema.clone(), true
	}
	if l.bounds != nil {
		r.bound = l.boundAfter
	}
	if err := r.start(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// boundAfter returns the least time in blocks after the one at off.
func (l *Log) boundAfter(off int64) event.Time {
	i := sort.Search(len(l.index), func(i int) bool { return l.index[i].offset > uint64(off) })
	if i < len(l.bounds) {
		return l.bounds[i]
	}
	return endOfTime
}

// picker gives chosen blocks of a file.
type picker struct {
	l    *Log
	pick []indexEntry
	bad  *damage
}

func (p *picker) next() (frame, error) {
	p.bad = nil
	for len(p.pick) > 0 {
		e := p.pick[0]
		p.pick = p.pick[1:]
		f, err := p.l.blockAt(int64(e.offset))
		if err == nil {
			f.before, f.missed = p.bad, 0
			return f, nil
		}
		if !errors.Is(err, errNoIndex) {
			return frame{}, err
		}
		if p.bad == nil {
			p.bad = &damage{offset: int64(e.offset)}
		}
		p.bad.events += uint64(e.events)
	}
	return frame{}, io.EOF
}

func (p *picker) tail() (*damage, int64) { return p.bad, p.l.size }
