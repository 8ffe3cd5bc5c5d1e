package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/live"
	"github.com/gpurec/gpurec/record/live/bpf"
	"github.com/gpurec/gpurec/record/live/tracefs"
)

// A session runs in these steps; whatever fails, the ones before are undone.
//
//  1. Remove what dead recorders left; start the guardian.
//  2. Start the command's process, held before its execve; or look up the targets.
//  3. Build the sources and attach them.
//  4. Create the log: from here on there is a file.
//  5. Let the command go. One goroutine per source moves events into the log.
//  6. Wait for the end: of the command, of a limit, by a signal.
//  7. Stop the sources, read what they still hold, close them.
//  8. Write losses, probes, cost and status; close the log.
//  9. If the command still runs, wait for it and pass signals on.
type session struct {
	o       *Options
	warn    func(string)
	begin   time.Time
	cpu     time.Duration // CPU time of this process before the session
	guard   *guard
	cmd     *command
	target  Target
	foreign bool // pids here are not those of the kernel's events
	streams []*stream
	out     *output
	log     *journal
	meta    event.Meta
	snaps   snapshots
	failed  []event.Probe // of sources that could not be attached
	refused []error       // why
	sigs    chan os.Signal
	execs   chan int32
	res     Result
}

// stream is a source at work.
type stream struct {
	src  live.Source
	err  error // why it ended before its time
	done chan struct{}
}

// readWait is how long a source may wait for events: the deadline by which
// events leave a ring buffer that wakes nobody.
const readWait = 10 * time.Millisecond

// maxRing bounds the buffers that are asked for: they are memory of the kernel,
// locked from the first moment on.
const maxRing = 1 << 30

// Below these a buffer holds less than what comes while its reader is woken.
const (
	minRing     = 64 << 10
	minFtraceKB = 16
)

// Run records until the command ends, a limit is reached, a signal arrives or
// ctx is done. An error means that there is no recording; what went wrong
// later is in the Result. Main must have called [RunHelper] first. While Run
// works, the signals that end or are passed on are its own: SIGINT, SIGTERM,
// SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &session{o: &o, warn: o.Warn, begin: time.Now(), cpu: cpuTime(), foreign: !ownPIDs()}
	if s.warn == nil {
		s.warn = func(string) {}
	}
	s.snaps.warn = s.warn
	defer s.cleanup()
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		var ce *CommandError
		if errors.As(err, &ce) {
			s.finish(ce.Status, true)
		}
		return nil, err
	}
	end := s.record(ctx)
	s.conclude(end)
	s.await(ctx)
	return &s.res, nil
}

func (o *Options) check() error {
	switch {
	case len(o.Command) == 0 && len(o.PIDs) == 0 && !o.All:
		return &UsageError{"say what to record: a command after --, or -p PID, or -a"}
	case len(o.PIDs) > 0 && o.All:
		return &UsageError{"-a records every process: leave -p out"}
	case o.User != "" && len(o.Command) == 0:
		return &UsageError{"--user is for a command"}
	case o.MaxSize != 0 && o.MaxSize < 1<<20:
		return &UsageError{fmt.Sprintf("a log of at most %s is too small: allow 1 MiB or more", event.SizeText(o.MaxSize))}
	case o.RingBytes != 0 && o.RingBytes < minRing:
		return &UsageError{fmt.Sprintf("a BPF ring of %s is too small: give at least %s, as in --ring 16M", event.SizeText(o.RingBytes), event.SizeText(minRing))}
	case o.FtraceKB != 0 && o.FtraceKB < minFtraceKB:
		return &UsageError{fmt.Sprintf("an ftrace buffer of %s for each CPU is too small: give at least %s", event.SizeText(o.FtraceKB<<10), event.SizeText(minFtraceKB<<10))}
	case o.RingBytes > maxRing:
		return &UsageError{fmt.Sprintf("a BPF ring of more than %s cannot be had: allow less, or record less at once", event.SizeText(maxRing))}
	case o.FtraceKB > maxRing>>10:
		return &UsageError{fmt.Sprintf("an ftrace buffer of more than %s for each CPU is refused: allow less", event.SizeText(maxRing))}
	case o.Duration < 0:
		return &UsageError{"a negative duration"}
	}
	for _, g := range o.Probes {
		if !slices.Contains(bpf.Groups(), g) {
			return &UsageError{fmt.Sprintf("no group of probes is called %s: there are %s", g, strings.Join(bpf.Groups(), ", "))}
		}
	}
	for _, lib := range o.Libraries {
		if _, err := os.Stat(lib); err != nil {
			return fmt.Errorf("probe library: %w", err)
		}
	}
	for _, pid := range o.PIDs {
		if pid <= 0 {
			return &UsageError{fmt.Sprintf("%d is no process id", pid)}
		}
		if _, err := readStat(pid); err != nil {
			return fmt.Errorf("record process %d: no such process", pid)
		}
		if p := processOf(pid); p != pid {
			return &UsageError{fmt.Sprintf("%d is a thread of process %d: record that with -p %d", pid, p, p)}
		}
	}
	return nil
}

// prepare does steps 1 to 3.
func (s *session) prepare() error {
	// Only signals that are not ignored are taken over: what nohup or a shell's
	// & set must hold for the command too.
	s.sigs = make(chan os.Signal, 16)
	for _, sig := range append([]os.Signal{unix.SIGPIPE}, passedOn...) {
		if !signal.Ignored(sig) {
			signal.Notify(s.sigs, sig)
		}
	}
	if removed, err := tracefs.Clean(0); err == nil && len(removed) > 0 {
		s.warn("removed what a recorder that was killed had left: " + strings.Join(removed, ", "))
	}
	var err error
	if s.guard, err = startGuardian(); err != nil {
		s.warn(err.Error() + ": if gpurec is killed, run gpurec doctor --clean")
	}
	if err := s.findTarget(); err != nil {
		return err
	}
	return s.attach()
}

func (s *session) findTarget() error {
	switch {
	case s.o.All:
		s.target = Target{All: true}
	case len(s.o.PIDs) > 0:
		var ts []target
		for _, pid := range s.o.PIDs {
			t := target{pid: pid}
			t.start, _ = startTicks(pid) // unknown: it has just ended, and is not found below
			ts = append(ts, t)
			s.protect(pid, t.start)
		}
		s.target = Target{PIDs: descendants(ts)}
		if len(s.target.PIDs) == 0 {
			return fmt.Errorf("record process %d: it has ended", s.o.PIDs[0])
		}
	}
	if len(s.o.Command) == 0 {
		return nil
	}
	if err := s.holdCommand(); err != nil {
		return err
	}
	if !s.target.All && len(s.target.PIDs) == 0 {
		s.target = Target{PIDs: []int{s.cmd.pid()}, Command: true}
	}
	return nil
}

// holdCommand starts the command's process, held before its execve.
func (s *session) holdCommand() error {
	path, err := findCommand(s.o.Command[0])
	if err != nil {
		return err
	}
	ids, env, err := asUser(s.o.User, os.Environ())
	if err != nil {
		return err
	}
	stdout := os.Stdout
	if isStdout(s.o.Output) {
		stdout = os.Stderr // standard output is the log's
	}
	if s.cmd, err = startCommand(s.o.Command, path, ids, env, stdout); err != nil {
		return err
	}
	s.protect(s.cmd.pid(), s.cmd.start)
	return nil
}

func (s *session) protect(pid int, start uint64) {
	if s.guard != nil {
		s.guard.watch(pid, start)
	}
}

// start does steps 4 and 5.
func (s *session) start() error {
	s.describe()
	out, err := openOutput(s.o)
	if err != nil {
		return err
	}
	s.out = out
	w, err := gpulog.NewWriter(out, &s.meta, gpulog.WriterOptions{})
	if err != nil {
		return err
	}
	s.log = newJournal(w, out)
	s.execs = make(chan int32, 256)
	s.log.exec = func(pid int32) {
		select {
		case s.execs <- pid:
		default: // identity of very many at once is left to their exec events
		}
	}
	if s.cmd != nil {
		s.log.starter = int32(s.cmd.pid())
	}
	s.log.write("identity", s.identity())
	s.log.flush(nil)
	for _, st := range s.streams {
		go s.pump(st)
	}
	if s.cmd == nil {
		return nil
	}
	began := clock.Boottime()
	if err := s.cmd.run(); err != nil {
		return err
	}
	if s.target.Command || s.target.All && !s.foreign {
		s.log.write("identity", s.commandIdentity(began))
	}
	return nil
}

// pump moves a source's events into the log until it has no more.
func (s *session) pump(st *stream) {
	defer close(st.done)
	var b event.Batch
	for {
		err := st.src.Read(&b, readWait)
		s.log.write(st.src.Name(), b.Events)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				st.err = err
				s.warn(fmt.Sprintf("%s: %v; it records no more", st.src.Name(), err))
			}
			return
		}
	}
}

// conclude does steps 7 and 8.
func (s *session) conclude(end string) {
	s.res.End = end
	code, ended := 0, false
	if s.cmd != nil {
		select {
		case <-s.cmd.ended:
			code, ended = s.cmd.exitStatus()
		default: // it runs on
		}
	}
	s.finish(code, ended)
	if s.cmd == nil && s.res.Err != nil {
		s.res.Status = 125
	}
}

func (s *session) finish(status int, ended bool) {
	s.stop()
	s.meta.Probes, s.meta.Anomalies = s.probes(), s.anomalies()
	if ended {
		s.meta.ExitStatus = event.Some(status)
		s.res.Status = status
	}
	s.snaps.take(true)
	s.meta.Snapshots = s.snaps.list
	s.meta.End = event.OptTime(clock.Boottime())
	s.meta.Cost.CPUTimeNS = uint64(cpuTime() - s.cpu)
	s.log.close(&s.meta)
	cerr := s.out.close()
	s.res.File, s.res.Size = s.o.outputName(), s.out.size
	s.res.Events, s.res.Lost = s.log.written, s.log.lost
	s.res.Wall = time.Since(s.begin)
	s.res.Err = s.failure(cerr)
	s.out = nil
}

// failure names what went wrong, and corrects the reason of the end.
func (s *session) failure(closeErr error) error {
	switch err := errors.Join(s.log.err, closeErr); {
	case s.out.err != nil:
		s.res.End = s.out.end
		return s.out.err
	case err != nil:
		s.res.End = EndOutput
		return err
	}
	if s.out.end == EndDisk {
		s.res.End = EndDisk
		return fmt.Errorf("write %s: %w", s.out.name, unix.ENOSPC)
	}
	for _, st := range s.streams {
		if st.err != nil {
			return fmt.Errorf("%s: %w", st.src.Name(), st.err)
		}
	}
	return nil
}

// stop detaches every source and reads what is left in them.
func (s *session) stop() {
	var wg sync.WaitGroup
	for _, st := range s.streams {
		wg.Go(func() {
			if err := st.src.Stop(); err != nil {
				s.warn(fmt.Sprintf("%s: stop: %v", st.src.Name(), err))
			}
			<-st.done
		})
	}
	wg.Wait()
}

// cleanup releases everything, however the session ended.
func (s *session) cleanup() {
	for _, st := range s.streams {
		if err := st.src.Close(); err != nil {
			s.warn(fmt.Sprintf("%s: %v", st.src.Name(), err))
		}
	}
	if s.cmd != nil {
		s.cmd.abandon()
	}
	if s.out != nil {
		if err := s.out.close(); err != nil {
			s.warn(err.Error())
		}
	}
	if s.guard != nil {
		s.guard.end()
	}
	if s.sigs != nil {
		signal.Stop(s.sigs)
	}
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
