package gpulog

import (
	"fmt"
	"io"
	"os"

	"github.com/gpurec/gpurec/record/event"
)

const (
	// runBlock is the number of events of a block of a run: that much of
	// every run is in memory while runs are merged.
	runBlock = 512
	// runFan is how many runs are merged into one when so many of a size are there.
	runFan = 32
)

// run is a sorted stretch of a source in a temporary file: blocks of a log
// without metadata, in which each event has its place.
type run struct {
	f     *os.File
	w     *Writer // nil once it is being read
	level int     // how often its events were merged
	n     uint64  // events
	first event.Time
	last  event.Time

	r     *Reader
	batch event.Batch
	pos   int
	done  bool
}

func newRun(dir string, level int) (*run, error) {
	f, err := os.CreateTemp(dir, "gpurec-sort-*")
	if err != nil {
		return nil, fmt.Errorf("sort needs a temporary file: %w", err)
	}
	// Without its name the file goes when the process ends, however it does.
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("sort: %w", err)
	}
	w, err := newBlockWriter(f, WriterOptions{BlockEvents: runBlock})
	if err != nil {
		f.Close()
		return nil, err
	}
	return &run{f: f, w: w, level: level, last: event.NoTime}, nil
}

// add appends an event; places must not decrease.
func (r *run) add(e *event.Event, place event.Time) error {
	mode := timeKnown
	if !e.Time.Known() {
		mode = timePlace
	}
	if r.n == 0 {
		r.first = place
	}
	r.n++
	r.last = place
	if err := r.w.add(e, mode, place); err != nil {
		return fmt.Errorf("sort: temporary file: %w", err)
	}
	return nil
}

// open ends writing and begins reading, unless that was done.
func (r *run) open() error {
	if r.w == nil {
		return nil
	}
	if err := r.w.flush(); err != nil {
		return fmt.Errorf("sort: temporary file: %w", err)
	}
	r.w.zstd.Close()
	r.w = nil
	if _, err := r.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("sort: temporary file: %w", err)
	}
	var err error
	if r.r, err = newReader(newScanner(r.f), ReaderOptions{Name: "temporary file"}); err != nil {
		return err
	}
	r.r.wantPlaces = true
	return r.next()
}

// next reads the next events.
func (r *run) next() error {
	r.pos = 0
	err := r.r.Next(&r.batch)
	if err == io.EOF {
		r.done = true
		err = nil
		// A run has no trailer: anything else is a fault of the disk.
		if r.r.counters.Get(AnomalyBlockDamaged)+r.r.counters.Get(AnomalyBlockUnreadable)+r.r.counters.Get(AnomalyCut) > 0 {
			err = fmt.Errorf("sort: temporary file is damaged: check the disk of %s", r.f.Name())
		}
	}
	return err
}

// least is the place of the next event; done says whether there is one.
func (r *run) least() event.Time {
	switch {
	case r.r == nil:
		return r.first
	case r.done:
		return r.last
	}
	return r.r.places[r.pos]
}

// pop appends the next event to b.
func (r *run) pop(b *event.Batch) error {
	b.Events = append(b.Events, r.batch.Events[r.pos])
	if r.pos++; r.pos == len(r.batch.Events) {
		return r.next()
	}
	return nil
}

func (r *run) close() error {
	if r.f == nil {
		return nil
	}
	if r.r != nil {
		r.r.Close()
	}
	err := r.f.Close()
	r.f, r.batch = nil, event.Batch{}
	return err
}

// spill moves what is held to a run: to the last one, if it continues that.
func (s *Sorter) spill() error {
	s.held.sort()
	items := s.held.items
	var r *run
	if n := len(s.runs); n > 0 && s.runs[n-1].w != nil && s.runs[n-1].last <= items[0].place {
		r = s.runs[n-1]
	} else {
		var err error
		if r, err = newRun(s.o.TempDir, 0); err != nil {
			return err
		}
		s.runs = append(s.runs, r)
	}
	for _, it := range items {
		if err := r.add(&s.held.batches[it.batch].events[it.index], it.place); err != nil {
			return err
		}
	}
	s.held.clear()
	return s.compact()
}

// compact merges the newest runs into one while runFan of a level are there,
// so that few files are open and read at once.
func (s *Sorter) compact() error {
	for {
		n := len(s.runs) - runFan
		if n < 0 {
			return nil
		}
		level := s.runs[n].level
		for _, r := range s.runs[n:] {
			if r.level != level || r.r != nil {
				return nil
			}
		}
		m, err := mergeRuns(s.runs[n:], s.o.TempDir, level+1)
		if err != nil {
			return err
		}
		s.runs = append(s.runs[:n], m)
	}
}

// mergeRuns makes one run of several, and closes them.
func mergeRuns(runs []*run, dir string, level int) (*run, error) {
	m, err := newRun(dir, level)
	if err != nil {
		return nil, err
	}
	if err := m.merge(runs); err != nil {
		m.close()
		return nil, err
	}
	for _, r := range runs {
		if err := r.close(); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// merge adds the events of all runs.
func (r *run) merge(runs []*run) error {
	var heads mergeHeap
	for i, o := range runs {
		if err := o.open(); err != nil {
			return err
		}
		heads.add(mergeHead{o.least(), i}, endOfTime)
	}
	var b event.Batch
	for len(heads) > 0 {
		h := &heads[0]
		o := runs[h.from]
		b.Reset()
		if err := o.pop(&b); err != nil {
			return err
		}
		if err := r.add(&b.Events[0], h.place); err != nil {
			return err
		}
		heads.advance(o.least(), !o.done, endOfTime)
	}
	return nil
}

// fromMemory is the origin of what is held in memory, which came after all runs.
const fromMemory = int(^uint(0) >> 1)

// mergeHead is the next event of a run, or of memory.
type mergeHead struct {
	place event.Time
	from  int
}

func (a mergeHead) before(b mergeHead) bool {
	return a.place < b.place || a.place == b.place && a.from < b.from
}

// mergeHeap is a heap: the first of all heads is at its top.
type mergeHeap []mergeHead

// add adds a head that is not beyond limit.
func (h *mergeHeap) add(m mergeHead, limit event.Time) {
	if m.place > limit {
		return
	}
	*h = append(*h, m)
	for i := len(*h) - 1; i > 0; {
		p := (i - 1) / 2
		if !(*h)[i].before((*h)[p]) {
			return
		}
		(*h)[i], (*h)[p] = (*h)[p], (*h)[i]
		i = p
	}
}

// advance gives the top its next place, or drops it if there is none up to limit.
func (h *mergeHeap) advance(next event.Time, more bool, limit event.Time) {
	if more && next <= limit {
		(*h)[0].place = next
	} else {
		n := len(*h) - 1
		(*h)[0] = (*h)[n]
		*h = (*h)[:n]
	}
	h.down()
}

func (h *mergeHeap) down() {
	s := *h
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(s) {
			return
		}
		if c+1 < len(s) && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(s[i]) {
			return
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}
