package record

import (
	"sort"
	"sync"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
)

// logWriter is what a session needs of the log's writer (gpulog.Writer).
type logWriter interface {
	Write([]event.Event) error
	WriteMeta(*event.Meta) error
	Flush() error
	Close(*event.Meta) error
}

var _ logWriter = (*gpulog.Writer)(nil)

// journal is the log as all streams of a session write it, with the account
// of what was written and what was not.
type journal struct {
	mu      sync.Mutex
	w       logWriter
	out     *output
	full    chan struct{} // closed when nothing more should be recorded
	written uint64        // events in the log
	lost    uint64        // events that the sources lost, as their losses say
	pending int           // events written since the log last grew
	size    int64         // of the log then
	closed  bool          // full is closed
	err     error         // of the log's writer
	cut     map[string]*cutoff

	// exec is told of each process that changed its program; it may be nil.
	exec func(pid int32)

	// starter is the command's pid until its execve: its threads are those of
	// gpurec's helper then, which the execve ends. 0 is none.
	starter int32
}

// starterThread is what threads of the helper that became the command are
// called in the log.
const starterThread = "gpurec starter"

// cutoff counts what came after the log was full, per stream.
type cutoff struct {
	count       uint64
	first, last event.Time
}

func newJournal(w logWriter, out *output) *journal {
	return &journal{w: w, out: out, full: make(chan struct{}), cut: make(map[string]*cutoff)}
}

// write puts events into the log. When the log is full they are counted as
// lost instead.
func (j *journal) write(stream string, events []event.Event) {
	if len(events) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		j.drop(stream, events)
		return
	}
	j.put(events)
	j.check()
}

// put hands events to the writer; mu is held.
func (j *journal) put(events []event.Event) {
	if j.err != nil {
		return
	}
	if j.starter != 0 {
		j.markStarter(events)
	}
	if err := j.w.Write(events); err != nil {
		j.err = err
		return
	}
	j.written += uint64(len(events))
	j.pending += len(events)
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case event.KindLoss:
			n, _ := e.Uint(event.FieldCount)
			j.lost += n
		case event.KindTask:
			if op, _ := e.Uint(event.FieldTaskOp); j.exec != nil && e.PID > 0 && event.TaskOp(op) == event.TaskExec {
				j.exec(e.PID)
			}
		}
	}
}

// markStarter names the threads that end before the command's execve.
func (j *journal) markStarter(events []event.Event) {
	for i := range events {
		e := &events[i]
		if e.Kind != event.KindTask || e.PID != j.starter {
			continue
		}
		switch op, _ := e.Uint(event.FieldTaskOp); {
		case event.TaskOp(op) == event.TaskExec:
			j.starter = 0
			return
		case event.TaskOp(op) == event.TaskExit && e.TID != e.PID:
			e.Comm = starterThread
		}
	}
}

// check ends the recording when there is no room; mu is held.
func (j *journal) check() {
	if j.out.size != j.size {
		j.size, j.pending = j.out.size, 0
	}
	if (j.err != nil || j.out.over(j.pending) != "") && !j.closed {
		j.closed = true
		close(j.full)
	}
}

func (j *journal) drop(stream string, events []event.Event) {
	c := j.cut[stream]
	if c == nil {
		c = &cutoff{first: event.NoTime, last: event.NoTime}
		j.cut[stream] = c
	}
	for i := range events {
		e := &events[i]
		if n, ok := e.Uint(event.FieldCount); ok && e.Kind == event.KindLoss {
			c.count += n
		} else {
			c.count++
		}
		if !e.Time.Known() {
			continue
		}
		if !c.first.Known() || e.Time < c.first {
			c.first = e.Time
		}
		c.last = max(c.last, e.Time)
	}
}

// flush writes out what is held back, and new metadata unless it is nil.
func (j *journal) flush(meta *event.Meta) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	var err error
	if meta != nil {
		err = j.w.WriteMeta(meta)
	} else {
		err = j.w.Flush()
	}
	if err != nil && j.err == nil {
		j.err = err
	}
	j.check()
}

// close ends the log: with the losses of what came too late, and the metadata.
func (j *journal) close(meta *event.Meta) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.put(j.cutoffs())
	meta.Cost.Events = j.written
	if err := j.w.Flush(); err != nil && j.err == nil {
		j.err = err
	}
	meta.Cost.BytesWritten = uint64(j.out.size) // all but this metadata and the index
	if err := j.w.Close(meta); err != nil && j.err == nil {
		j.err = err
	}
	j.closed = true
	if j.err != nil { // what the writer still held is in no file
		j.check()
		n := min(uint64(j.pending), j.written)
		j.written, j.lost = j.written-n, j.lost+n
	}
}

func (j *journal) cutoffs() []event.Event {
	var out []event.Event
	for stream, c := range j.cut {
		e := event.New(event.KindLoss, c.last)
		e.SetStr(event.FieldTrack, stream)
		e.SetUint(event.FieldCount, c.count)
		e.SetTime(event.FieldStart, c.first)
		e.SetStr(event.FieldName, "the log was full: allow a larger one, or more room on the disk")
		out = append(out, e)
	}
	sort.Slice(out, func(i, k int) bool { return out[i].Str(event.FieldTrack) < out[k].Str(event.FieldTrack) })
	return out
}

// maxSnapshots bounds the clock snapshots that metadata holds, so that it
// stays small however long a recording is. When there are more,
// every second one goes, and from then on they are kept at twice the distance.
const maxSnapshots = 4096

type snapshots struct {
	list []event.ClockSnapshot
	skip int // of so many + 1 taken, one is kept
	n    int
	warn func(string)
}

// take reads the clocks; always says that this one counts whatever the distance.
func (s *snapshots) take(always bool) {
	s.n++
	if !always && s.n%(s.skip+1) != 0 {
		return
	}
	r, err := clock.Now()
	if err != nil {
		s.warn("clock snapshot: " + err.Error())
		return
	}
	s.list = append(s.list, r.ClockSnapshot)
	if len(s.list) <= maxSnapshots {
		return
	}
	kept := s.list[:0]
	for i, c := range s.list {
		if i%2 == 0 {
			kept = append(kept, c)
		}
	}
	s.list, s.skip = kept, s.skip*2+1
}
