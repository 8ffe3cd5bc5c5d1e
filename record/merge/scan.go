package merge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
	"github.com/gpurec/gpurec/record/gpulog"
)

// Bounds of what is noted of an input.
const (
	maxCalls   = 1 << 20 // times of calls
	maxSeries  = 1 << 14
	maxPIDs    = 1 << 16
	maxDevices = 1 << 10
)

// seriesKey names calls of one function on one thread.
type seriesKey struct {
	tid  int32
	name string
}

// series is when they began, on the input's own clock.
type series struct {
	pid   int32 // event.NoID if the input does not say
	times []event.Time
}

// scanned is an input after it was read once.
type scanned struct {
	name                string
	meta                event.Meta
	calls               map[seriesKey]*series
	n                   int // calls noted
	pids                map[int32]bool
	points              map[string]*tracepoint
	hashed, low32, fine bool            // how its tracepoints are told: see better
	devs                map[string]bool // names; true: a device event told its host or rank
	order               []string        // of devs, as they came
	host                string
	rank                event.Opt[int64]
	least               event.Time // NoTime if no event has one
	most                event.Time

	machine int
	domain  uint64
	domains map[uint64]uint64 // of a merged input: its domains but 0, to ours
	way     way
	ranks   bool       // devices are named after the rank
	copies  []*scanned // inputs that may hold the same events

	inside    insiders          // of a recording: what its processes are called in their containers
	outside   map[int32]outside // of a container's input: what its processes are called outside
	work      []work
	alias     map[string]string // devices that another input calls otherwise
	strangers map[int32]bool    // its threads that nothing tells outside
	count     *event.Counters

	again func() (Source, io.Closer, error)
	log   *gpulog.Log
	open  io.Closer
	sort  *gpulog.Sorter
	batch event.Batch
	at    int
	cur   event.Event // the next event, converted
	place event.Time  // of it in the order
	ended bool
}

// scan reads an input to its end. The result is nil only with an error.
func scan(in *Input, o *Options) (s *scanned, err error) {
	s = &scanned{name: in.Name, again: in.Again, calls: map[seriesKey]*series{}, pids: map[int32]bool{}, devs: map[string]bool{}, points: map[string]*tracepoint{},
		least: event.NoTime, most: event.NoTime}
	var w *gpulog.Writer
	if s.again == nil {
		f, err := os.CreateTemp(o.TempDir, "gpurec-merge-*")
		if err != nil {
			return s, fmt.Errorf("spool: %w", err)
		}
		defer os.Remove(f.Name()) // the open file stays
		defer f.Close()
		if w, err = gpulog.NewWriter(f, nil, gpulog.WriterOptions{}); err != nil {
			return s, fmt.Errorf("spool: %w", err)
		}
		defer func() {
			if err == nil {
				err = s.spooled(w, f.Name())
			}
		}()
	}
	var b event.Batch
	for {
		err := in.Source.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, err
		}
		for i := range b.Events {
			s.note(&b.Events[i])
		}
		if w != nil {
			if err := w.Write(b.Events); err != nil {
				return s, fmt.Errorf("spool: %w", err)
			}
		}
	}
	s.meta = *in.Source.Meta()
	s.whose()
	return s, nil
}

// spooled ends the temporary log, to be read from now on.
func (s *scanned) spooled(w *gpulog.Writer, path string) error {
	if err := w.Close(nil); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	l, err := gpulog.Open(path, gpulog.ReaderOptions{Name: "spool of " + s.name})
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.log = l
	s.again = func() (Source, io.Closer, error) {
		r, err := l.Reader()
		return r, r, err
	}
	return nil
}

// whose takes host and rank from the metadata.
func (s *scanned) whose() {
	s.host = s.meta.Host.Name
	for _, f := range s.meta.Facts {
		switch f.Key {
		case "host_name", "hostname":
			if s.host == "" {
				s.host = f.Value
			}
		case "rank":
			if n, err := strconv.ParseInt(f.Value, 10, 32); err == nil {
				s.rank = event.Some(n)
			}
		}
	}
}

// note takes what relates an event to other inputs.
func (s *scanned) note(e *event.Event) {
	if d, ok := e.Uint(event.FieldDomain); ok && d != 0 {
		if s.domains == nil {
			s.domains = map[uint64]uint64{}
		}
		s.domains[d] = 0
		return // placed already when that log was merged
	}
	if e.Time.Known() && e.Flags&event.FlagUnaligned == 0 {
		if !s.least.Known() || e.Time < s.least {
			s.least = e.Time
		}
		s.most = max(s.most, e.Time)
	}
	if e.PID > 0 && len(s.pids) < maxPIDs {
		s.pids[e.PID] = true
	}
	if d := e.Str(event.FieldDevice); d != "" {
		told, known := s.devs[d]
		if !known && len(s.devs) < maxDevices {
			s.order = append(s.order, d)
		}
		if known || len(s.order) > len(s.devs) {
			s.devs[d] = told || e.Kind == event.KindDevice && (e.Has(event.FieldHost) || e.Has(event.FieldRank))
		}
	}
	if e.Kind == event.KindProcess || e.Kind == event.KindThread {
		s.noteInside(e)
	}
	if e.Kind == event.KindGPUActivity {
		s.noteWork(e)
	}
	s.noteCall(e)
	s.noteTracepoint(e)
}

// noteCall notes when a call or an ioctl began.
func (s *scanned) noteCall(e *event.Event) {
	at := e.Time
	switch e.Kind {
	case event.KindAPIEnter, event.KindIoctlEnter:
	case event.KindAPI, event.KindIoctl:
		at = e.TimeOf(event.FieldStart)
	default:
		return
	}
	if !at.Known() || e.TID <= 0 || s.n >= maxCalls {
		return
	}
	k := seriesKey{tid: e.TID}
	if e.Kind == event.KindIoctlEnter || e.Kind == event.KindIoctl {
		cmd, ok := e.Uint(event.FieldCmd)
		if !ok {
			return
		}
		k.name = "ioctl " + strconv.FormatUint(cmd&0xffffffff, 16)
	} else {
		k.name = gpu.BaseName(e.Str(event.FieldName))
	}
	c := s.calls[k]
	if c == nil {
		if len(s.calls) >= maxSeries {
			return
		}
		c = &series{pid: e.PID}
		s.calls[k] = c
	}
	if c.pid <= 0 {
		c.pid = e.PID
	}
	c.times = append(c.times, at)
	s.n++
}

// rewind begins the second reading, in order of time.
func (s *scanned) rewind(memory int64, dir string) error {
	src, c, err := s.again()
	if err != nil {
		return err
	}
	s.open = c
	s.calls = nil // the calls have served
	s.sort = gpulog.Sort(src, gpulog.SortOptions{MaxMemory: max(memory, 1<<20), TempDir: dir})
	s.place = event.NoTime
	return s.advance()
}

// advance makes the next event the current one.
func (s *scanned) advance() error {
	if s.at >= len(s.batch.Events) {
		if err := s.sort.Next(&s.batch); err != nil {
			s.ended = true
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.at = 0
	}
	s.cur = s.batch.Events[s.at]
	s.at++
	s.convert(&s.cur)
	if s.cur.Time.Known() {
		s.place = s.cur.Time
	}
	return nil
}

// convert makes an event of the input one of the result.
func (s *scanned) convert(e *event.Event) {
	if d, ok := e.Uint(event.FieldDomain); ok && d != 0 {
		e.SetUint(event.FieldDomain, s.domains[d])
	} else if s.domain != 0 {
		e.SetUint(event.FieldDomain, s.domain)
	}
	switch {
	case e.Flags&event.FlagUnaligned != 0:
	case !s.way.ok:
		e.Flags |= event.FlagUnaligned
	case !s.way.identity():
		e.Time = s.way.convert(e.Time)
		if t := e.TimeOf(event.FieldStart); t.Known() {
			e.SetTime(event.FieldStart, s.way.convert(t))
		}
	}
	if len(s.outside) > 0 {
		s.toOutside(e)
	}
	if s.ranks || s.alias != nil {
		if d := e.Str(event.FieldDevice); d != "" {
			e.SetStr(event.FieldDevice, s.deviceName(d))
		}
	}
	switch e.Kind {
	case event.KindLoss:
		track := s.name
		if t := e.Str(event.FieldTrack); t != "" {
			track += ": " + t
		}
		e.SetStr(event.FieldTrack, track)
	case event.KindProcess, event.KindDevice:
		if s.host != "" && !e.Has(event.FieldHost) {
			e.SetStr(event.FieldHost, s.host)
		}
	}
}

// Close releases what reading holds.
func (s *scanned) Close() error {
	var err error
	if s.sort != nil {
		err = s.sort.Close()
	}
	if s.open != nil {
		err = errors.Join(err, s.open.Close())
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	s.sort, s.open, s.log = nil, nil, nil
	return err
}
