package record

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
)

// describe fills in the metadata that is known before the first event.
func (s *session) describe() {
	s.snaps.take(true)
	s.meta = event.Meta{
		Tool: "gpurec", ToolVersion: s.o.ToolVersion, Format: "live",
		Clock: event.ClockBoottime, Host: hostFacts(),
		Command:   s.o.Command,
		Start:     event.OptTime(clock.Boottime()),
		Snapshots: s.snaps.list,
		Probes:    s.probes(),
	}
	switch {
	case s.o.All:
		s.meta.Facts = append(s.meta.Facts, event.Fact{Key: "target", Value: "all processes"})
	case len(s.o.PIDs) > 0:
		s.meta.Facts = append(s.meta.Facts, event.Fact{Key: "target", Value: "pid " + strings.Trim(fmt.Sprint(s.o.PIDs), "[]")})
	}
}

func hostFacts() event.Host {
	h := event.Host{CPUs: possibleCPUs()}
	h.Name, _ = os.Hostname() // unknown stays ""
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel, h.Machine = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:])
	}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		h.BootID = strings.TrimSpace(string(b))
	}
	return h
}

// possibleCPUs counts the CPUs that are online; the affinity of this process
// does not matter.
func possibleCPUs() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return runtime.NumCPU()
	}
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		lo, hi := 0, 0
		if c, _ := fmt.Sscanf(part, "%d-%d", &lo, &hi); c == 1 {
			hi = lo
		} else if c != 2 || hi < lo {
			return runtime.NumCPU()
		}
		n += hi - lo + 1
	}
	return n
}

// identity returns who is there when the recording begins: GPUs and, unless
// the target is a command that has not started, processes with their threads.
func (s *session) identity() []event.Event {
	var out []event.Event
	now := clock.Boottime()
	for _, d := range findDevices("/") {
		out = append(out, d.event(now))
	}
	pids := s.target.PIDs
	if s.target.All && !s.foreign {
		pids = numericDir("/proc")
	}
	if !s.target.Command {
		for _, pid := range pids {
			if s.cmd != nil && pid == s.cmd.pid() {
				continue // it still runs gpurec: its own comes after its execve
			}
			out = append(out, s.known(pid)...)
		}
	}
	return out
}

// commandIdentity returns what the command is right after its execve. It may
// have ended already: then what is known of it without /proc.
//
// began is a time at which the process was there for sure.
func (s *session) commandIdentity(began event.Time) []event.Event {
	if evs := processEvents(s.cmd.pid()); len(evs) > 0 && evs[0].Str(event.FieldCmdline) != "" {
		return evs
	}
	e := event.New(event.KindProcess, began)
	e.PID, e.TID = int32(s.cmd.pid()), int32(s.cmd.pid())
	name := s.cmd.path[strings.LastIndexByte(s.cmd.path, '/')+1:]
	e.SetStr(event.FieldName, name[:min(len(name), 15)]) // as the kernel cuts it (TASK_COMM_LEN)
	e.SetStr(event.FieldCmdline, strings.Join(s.cmd.argv, " "))
	e.SetInt(event.FieldPPID, int64(os.Getpid()))
	if s.cmd.start > 0 {
		e.SetTime(event.FieldStart, event.Time(s.cmd.start*tickNS))
	}
	return []event.Event{e}
}

// maxCmdline bounds what is kept of a command line, in bytes.
const maxCmdline = 4096

// processEvents tells what /proc knows of a process and its threads; nothing
// if it has ended: a number seen again after its exit would be another process.
// The start is exact to the tick of /proc, 10 ms.
func processEvents(pid int) []event.Event {
	now := clock.Boottime() // before the look: who isn't exiting then has its exit event later
	st, err := readStat(pid)
	if err != nil {
		return nil
	}
	tids := numericDir(fmt.Sprintf("/proc/%d/task", pid))
	if st.exiting && len(tids) < 2 {
		return nil // with others, only its first thread has ended
	}
	p := event.New(event.KindProcess, now)
	p.PID, p.TID = int32(pid), int32(pid)
	p.SetStr(event.FieldName, st.comm)
	p.SetInt(event.FieldPPID, int64(st.ppid))
	p.SetTime(event.FieldStart, event.Time(st.start*tickNS))
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(b) > 0 {
		b = bytes.TrimRight(b[:min(len(b), maxCmdline)], "\x00")
		p.SetStr(event.FieldCmdline, string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
	}
	inner, contained := namespacePID(fmt.Sprintf("/proc/%d/status", pid))
	if contained {
		p.SetInt(event.FieldNSPID, int64(inner))
	}
	out := []event.Event{p}
	for _, tid := range tids {
		now := clock.Boottime()
		st, err := readStatFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
		if err != nil || st.exiting {
			continue // it has just ended
		}
		t := event.New(event.KindThread, now)
		t.PID, t.TID = int32(pid), int32(tid)
		t.SetStr(event.FieldName, st.comm)
		if contained {
			if inner, ok := namespacePID(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid)); ok {
				t.SetInt(event.FieldNSPID, int64(inner))
			}
		}
		out = append(out, t)
	}
	return out
}
