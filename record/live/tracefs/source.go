package tracefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
	"github.com/gpurec/gpurec/record/live"
)

// Options say what to record. Without Events and Optional nothing is.
type Options struct {
	// Events are the tracepoints to record: "system:event", "system:",
	// "event", with * ? [] as in a shell. One that fits nothing is an error.
	Events []string
	// Optional are more of them, that may be missing.
	Optional []string
	// Exclude are those of them that are not recorded here because another
	// source does: Probes says so.
	Exclude []string
	// PIDs limits the events to those raised by these processes and, with
	// Follow, by the children that they get. Empty is everything. An event that
	// is about a process but raised by another (a wakeup, an interrupt) counts
	// as the other's, but for sched_switch and sched_wakeup.
	PIDs   []int
	Follow bool
	// BufferKB is the size of each CPU's buffer, in KiB; 0 is [DefaultBufferKB].
	BufferKB int
	// SubBufferKB is the size of its pages, in KiB; 0 is 64. Kernels before 6.8
	// have pages of the machine's size only.
	SubBufferKB int
}

// DefaultBufferKB is the size of a CPU's buffer: 100 ms at one million events
// a second. On machines with more than 128 CPUs it is less.
const DefaultBufferKB = 4 << 10

const (
	defaultSubBufferKB = 64
	totalBufferKB      = 512 << 10 // of all CPUs, by default
	minBufferKB        = 256
	removePatience     = 3 * time.Second
	tailEvery          = 400 * time.Millisecond // how long an event may wait in a page that is not full
)

// Source records tracepoints through an instance of ftrace. It implements
// [live.Source].
type Source struct {
	o         Options
	fs        *FS
	instance  string
	events    []tracepoint
	missing   []string
	excluded  []tracepoint
	older     []tracepoint // of the scheduler, left out
	failed    map[tracepoint]error
	rings     []*ring
	states    []ringState
	polls     []unix.PollFd
	dec       *ftrace.Decoder
	counters  event.Counters
	names     names
	buf       []byte
	pending   []byte // pages in buf that are not decoded yet
	pendingOf int    // their ring
	next      int    // ring to read first, so that all have their turn
	tailed    time.Time
	started   event.Time
	stopped   atomic.Bool
	closed    bool
	hits      map[string]*uint64
	lastName  string
	lastHits  *uint64
	lost      uint64
}

var _ live.Source = (*Source)(nil)

// New returns a source that records nothing yet.
func New(o Options) *Source { return &Source{o: o} }

// Name is the stream's name in losses.
func (s *Source) Name() string { return ftrace.Stream }

// Instance is the name of the instance, "" before Attach and after Close.
func (s *Source) Instance() string { return s.instance }

// Attach makes the instance and starts recording in it.
func (s *Source) Attach() (err error) {
	if s.fs, err = Open(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	all, err := s.fs.available()
	if err != nil {
		return err
	}
	if s.events, s.missing, err = resolve(all, s.o.Events, s.o.Optional); err != nil {
		return err
	}
	s.events, s.excluded = exclude(s.events, s.o.Exclude)
	if s.events, s.older = oneGeneration(s.events); len(s.events) == 0 {
		return ErrNothing
	}
	if s.instance, err = s.fs.makeInstance(); err != nil {
		return err
	}
	if err = s.configure(); err != nil {
		return err
	}
	if err = s.openRings(); err != nil {
		return err
	}
	if err = s.enable(); err != nil {
		return err
	}
	s.started = boottime()
	return s.set("1", "tracing_on")
}

func (s *Source) in(elem ...string) []string {
	return append([]string{"instances", s.instance}, elem...)
}

func (s *Source) set(value string, elem ...string) error { return s.fs.write(value, s.in(elem...)...) }

// configure prepares the instance. A new one takes over the options of the top
// instance, so that each one that matters is set.
func (s *Source) configure() error {
	if err := s.set("0", "tracing_on"); err != nil {
		return err
	}
	// The clock first: a change empties the buffer.
	if err := s.set("boot", "trace_clock"); err != nil {
		return fmt.Errorf("%w: it needs Linux 4.10 or newer", err)
	}
	sub := s.o.SubBufferKB
	if sub == 0 {
		sub = defaultSubBufferKB
	}
	if err := s.set(strconv.Itoa(sub), "buffer_subbuf_size_kb"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := s.set(strconv.Itoa(s.bufferKB()), "buffer_size_kb"); err != nil {
		return err
	}
	// Keep the newest events: the kernel then says on each page how many are
	// missing before it.
	if err := s.set("1", "options", "overwrite"); err != nil {
		return err
	}
	if err := s.set("25", "buffer_percent"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it came with Linux 5.0
	}
	if len(s.o.PIDs) == 0 {
		return nil
	}
	fork := "0"
	if s.o.Follow {
		fork = "1"
	}
	if err := s.set(fork, "options", "event-fork"); err != nil {
		return err
	}
	pids := make([]string, len(s.o.PIDs))
	for i, p := range s.o.PIDs {
		pids[i] = strconv.Itoa(p)
	}
	return s.set(strings.Join(pids, " "), "set_event_pid")
}

func (s *Source) bufferKB() int {
	if s.o.BufferKB > 0 {
		return s.o.BufferKB
	}
	return max(minBufferKB, min(DefaultBufferKB, totalBufferKB/max(1, len(s.cpus()))))
}

// cpus lists the CPUs that the instance has buffers for.
func (s *Source) cpus() []int {
	entries, err := os.ReadDir(s.fs.path(s.in("per_cpu")...))
	if err != nil {
		return nil // openRings says so
	}
	var out []int
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), "cpu"); ok {
			if cpu, err := strconv.Atoi(n); err == nil {
				out = append(out, cpu)
			}
		}
	}
	sort.Ints(out)
	return out
}

func (s *Source) openRings() error {
	page, err := s.fs.read(s.in("events", "header_page")...)
	if err != nil {
		return err
	}
	head, err := s.fs.read(s.in("events", "header_event")...)
	if err != nil {
		return err
	}
	layout, err := ftrace.ParseLayout([]byte(page), []byte(head), nativeOrder())
	if err != nil {
		return fmt.Errorf("ring buffer of this kernel: %w", err)
	}
	if s.dec, err = ftrace.NewDecoder(layout, nil, ftrace.DecoderOptions{IoctlNR: unix.SYS_IOCTL, Counters: &s.counters}); err != nil {
		return err
	}
	s.names.dec, s.names.fs = s.dec, s.fs
	size := layout.DataOffset + layout.DataSize
	for _, cpu := range s.cpus() {
		r, err := s.fs.openRing(s.instance, cpu, size)
		if err != nil {
			return err
		}
		s.rings = append(s.rings, r)
		s.polls = append(s.polls, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	if len(s.rings) == 0 {
		return errors.New("the trace instance has no buffers (per_cpu)")
	}
	s.states = make([]ringState, len(s.rings))
	// As much as a pipe of 16 slots takes at once; at least one page.
	s.buf = make([]byte, 16*size)
	return nil
}

// enable switches the events on. One that cannot be enabled is told by Probes,
// or is an error if it was asked for and nothing else is recorded.
func (s *Source) enable() error {
	s.failed = make(map[tracepoint]error)
	s.hits = make(map[string]*uint64)
	var first error
	for _, t := range s.events {
		err := s.enableOne(t)
		if err != nil {
			s.failed[t] = err
			if first == nil {
				first = err
			}
		}
	}
	if len(s.failed) == len(s.events) {
		return first
	}
	return nil
}

func (s *Source) enableOne(t tracepoint) error {
	text, err := s.fs.read(s.in("events", t.system, t.name, "format")...)
	if err != nil {
		return err
	}
	f, err := ftrace.ParseFormat(t.system, []byte(text))
	if err != nil {
		return fmt.Errorf("format of %v: %w", t, err)
	}
	s.dec.Add(f)
	s.hits[t.String()] = new(uint64)
	return s.set("1", "events", t.system, t.name, "enable")
}

// Stop ends recording in the instance. What is in the buffers can still be read.
func (s *Source) Stop() error {
	if s.stopped.Load() || s.instance == "" {
		s.stopped.Store(true)
		return nil
	}
	err := s.set("0", "tracing_on")
	// A writer that was in the middle of an event leaves within microseconds;
	// disabling waits for all of them.
	err = errors.Join(err, s.set("0", "events", "enable"))
	s.stopped.Store(true)
	return err
}

// Close removes the instance, after closing every file of it.
func (s *Source) Close() error {
	if s.closed || s.fs == nil {
		s.closed = true
		return nil
	}
	s.closed = true
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.close())
	}
	s.rings = nil
	if s.instance != "" {
		errs = append(errs, s.fs.removeInstance(s.instance, removePatience))
		s.instance = ""
	}
	errs = append(errs, s.fs.Close())
	return errors.Join(errs...)
}

// Counters are the anomalies met while decoding; complete after Read gave io.EOF.
func (s *Source) Counters() *event.Counters { return &s.counters }

// Probes tells of each event whether it is recorded, and how often it was seen.
func (s *Source) Probes() []event.Probe {
	var out []event.Probe
	for _, t := range s.events {
		p := event.Probe{Name: t.String(), Mechanism: "ftrace", State: "attached"}
		if err := s.failed[t]; err != nil {
			p.State, p.Reason = "failed", err.Error()
		}
		if n := s.hits[t.String()]; n != nil {
			p.Hits = *n
		}
		if len(s.events) == 1 {
			p.Lost = s.lost // with more of them nobody knows which were lost
		}
		out = append(out, p)
	}
	for _, t := range s.excluded {
		out = append(out, event.Probe{Name: t.String(), Mechanism: "ftrace", State: "missing", Reason: "recorded by another source"})
	}
	for _, t := range s.older {
		out = append(out, event.Probe{Name: t.String(), Mechanism: "ftrace", State: "missing", Reason: live.OlderSchedLeftOut})
	}
	for _, m := range s.missing {
		out = append(out, event.Probe{Name: m, Mechanism: "ftrace", State: "missing", Reason: (&NoEventError{m}).Error()})
	}
	return out
}

func nativeOrder() binary.ByteOrder {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

func boottime() event.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return event.NoTime
	}
	return event.Time(ts.Nano())
}
