package record

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
	"github.com/gpurec/gpurec/record/live/bpf"
	"github.com/gpurec/gpurec/record/live/tracefs"
)

// attach builds and attaches the sources. One that cannot be had is told and
// left out, unless it was asked for by name.
func (s *session) attach() error {
	if s.o.Sources == nil {
		if err := s.attachStandard(); err != nil {
			return err
		}
	} else {
		sources, err := s.o.Sources(s.target)
		if err != nil {
			return err
		}
		for _, src := range sources {
			_ = s.try(src) // it is in refused
		}
	}
	if len(s.streams) == 0 {
		if err := s.targetsEnded(); err != nil {
			return err
		}
		return fmt.Errorf("nothing can be recorded here: %w; gpurec doctor says what helps", oneLine(s.refused))
	}
	for _, err := range s.refused {
		s.warn(err.Error())
	}
	return nil
}

// oneLine joins errors; errors.Join would give each a line.
func oneLine(errs []error) error {
	if len(errs) == 0 {
		return errors.New("no source was asked for")
	}
	all := errs[0]
	for _, err := range errs[1:] {
		all = fmt.Errorf("%w; %w", all, err)
	}
	return all
}

// try attaches a source, or keeps what it tells about why it cannot be had.
func (s *session) try(src live.Source) error {
	err := src.Attach()
	if err == nil {
		s.streams = append(s.streams, &stream{src: src, done: make(chan struct{})})
		return nil
	}
	s.failed = append(s.failed, src.Probes()...)
	_ = src.Close() // its error would only repeat the first
	err = named(src.Name(), err)
	s.refused = append(s.refused, err)
	return err
}

// named puts a source's name before its error, if it does not stand there.
func named(name string, err error) error {
	if strings.HasPrefix(err.Error(), name+":") || strings.HasPrefix(err.Error(), "tracefs:") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// attachStandard attaches BPF probes, then ftrace for the events asked for and
// for what BPF could have but this kernel does not let it.
func (s *session) attachStandard() error {
	bpfWanted := s.o.Probes == nil || len(s.o.Probes) > 0
	if bpfWanted && s.foreign && !s.target.All {
		if s.refused = append(s.refused, errNamespace); len(s.o.Probes) > 0 {
			return errNamespace
		}
	} else if bpfWanted {
		err := s.try(bpf.New(bpf.Options{
			PIDs: s.roots(), All: s.target.All,
			Groups: s.o.Probes, Require: s.require(),
			RingBytes: s.o.RingBytes, NoStop: s.o.NoStop, OnStop: s.stoppedProcess,
			Libraries: s.o.Libraries, EntryOnly: s.o.EntryOnly, RunTime: s.o.RunTime,
		}))
		if err != nil && len(s.o.Probes) > 0 {
			return err
		}
	}
	if n := len(s.refused); n > 0 { // what the log will lack is said now, not found out later
		s.refused[n-1] = fmt.Errorf("%w; API calls and ioctls are not recorded", s.refused[n-1])
	}
	o := tracefs.Options{Events: s.o.Events, Optional: s.instead(), Exclude: s.covered(), BufferKB: s.o.FtraceKB}
	if len(o.Events)+len(o.Optional) == 0 {
		return nil
	}
	if s.o.EventsOfTarget && !s.target.All {
		o.PIDs, o.Follow = threads(s.target.PIDs), true
	}
	err := s.try(tracefs.New(o))
	if errors.Is(err, tracefs.ErrNothing) { // BPF has them all
		s.refused = s.refused[:len(s.refused)-1]
		return nil
	}
	if len(s.o.Events) > 0 {
		return err
	}
	return nil
}

// roots are the processes that BPF begins with. It finds their descendants
// itself, so that one which ends meanwhile is no error.
func (s *session) roots() []int {
	if s.target.Command {
		return s.target.PIDs
	}
	var out []int
	for _, pid := range s.o.PIDs {
		if _, err := readStat(pid); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// targetsEnded says so if none of the processes to record is left.
func (s *session) targetsEnded() error {
	if len(s.o.PIDs) == 0 || len(s.roots()) > 0 {
		return nil
	}
	return fmt.Errorf("record process %d: it has ended", s.o.PIDs[0])
}

// threads lists the threads of processes: ftrace filters by thread.
func threads(pids []int) []int {
	var out []int
	for _, pid := range pids {
		out = append(out, numericDir(fmt.Sprintf("/proc/%d/task", pid))...)
	}
	return out
}

// stoppedProcess has the guardian continue a process, should this one die
// before it does so itself.
func (s *session) stoppedProcess(pid int, stopped bool) {
	if stopped {
		start, _ := startTicks(pid) // 0: whatever has the pid then is continued
		s.protect(pid, start)
	}
}

// insteadOf are the tracepoints that ftrace reads where BPF cannot, by group.
var insteadOf = map[string]string{bpf.GroupSched: "gpu_scheduler", bpf.GroupFence: "dma_fence"}

// require lists the groups that only BPF can give and that were asked for by name.
func (s *session) require() []string {
	var out []string
	for _, group := range s.o.Probes {
		if system := insteadOf[group]; system != "" && !s.o.EventsOfTarget {
			if events, err := tracefs.Available(system + ":*"); err == nil && len(events) > 0 {
				continue // ftrace has it, if need be
			}
		}
		out = append(out, group)
	}
	return out
}

// instead returns the events that the options ask BPF for, that it does not
// have, and that ftrace has.
func (s *session) instead() []string {
	var patterns []string
	for _, group := range []string{bpf.GroupSched, bpf.GroupFence} {
		if s.wants(group) && !s.attached(insteadOf[group]+":*") {
			patterns = append(patterns, insteadOf[group]+":*")
		}
	}
	if len(patterns) == 0 || s.o.EventsOfTarget {
		return nil // limited to the target, they would tell nothing of execution
	}
	events, err := tracefs.Available(patterns...)
	if err != nil {
		return nil // if events were asked for, attaching says why
	}
	return events
}

func (s *session) wants(group string) bool {
	if s.o.Probes == nil {
		return true
	}
	for _, g := range s.o.Probes {
		if g == group {
			return true
		}
	}
	return false
}

// attached reports whether a probe that fits a pattern is at work.
func (s *session) attached(pattern string) bool {
	for _, p := range s.probes() {
		if ok, err := path.Match(pattern, p.Name); err == nil && ok && p.State == "attached" {
			return true
		}
	}
	return false
}

// oneSource are the tracepoints that BPF and ftrace both can tell of, as the
// same events: only one of them does.
var oneSource = []string{
	"gpu_scheduler:*", "dma_fence:*", "syscalls:sys_*_ioctl",
	"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit", "task:task_rename",
}

// covered lists the events that BPF already records, and those of the
// scheduler's other generation, which tell the same.
func (s *session) covered() []string {
	var out []string
	generations := [2][]string{live.OlderSched(), live.NewerSched()}
	for i, names := range generations {
		if !slices.ContainsFunc(names, func(n string) bool { return s.attached(live.SchedSystem + ":" + n) }) {
			continue
		}
		for _, n := range generations[1-i] {
			out = append(out, live.SchedSystem+":"+n)
		}
	}
	for _, p := range s.probes() {
		for _, pattern := range oneSource {
			if ok, err := path.Match(pattern, p.Name); err == nil && ok && p.State == "attached" {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// probes returns the plan, and at the end the account, of all sources.
func (s *session) probes() []event.Probe {
	out := append([]event.Probe(nil), s.failed...)
	for _, st := range s.streams {
		out = append(out, st.src.Probes()...)
	}
	return out
}

// anomalies returns what the sources met while they decoded.
func (s *session) anomalies() []event.Anomaly {
	var all event.Counters
	add := func(list []event.Anomaly) {
		for _, a := range list {
			all.AddAt(a.AnomalySpec, a.Count, a.Sample)
		}
	}
	for _, st := range s.streams {
		switch src := st.src.(type) {
		case interface{ Anomalies() []event.Anomaly }:
			add(src.Anomalies())
		case interface{ Counters() *event.Counters }:
			add(src.Counters().List())
		}
	}
	return all.List()
}
