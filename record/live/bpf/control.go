package bpf

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	objects "github.com/gpurec/gpurec/bpf"
)

// startControl begins to watch for libraries that processes in scope map.
// Their records have a ring and a goroutine of their own: the process is
// stopped until its library is probed, however busy the reader of events is.
func (s *Source) startControl() error {
	r, err := ringbuf.NewReader(s.l.maps.Maps[objects.GpurecMapControl])
	if err != nil {
		return explain("read the control ring", err)
	}
	p := s.l.attachTP(mmapProbe)
	s.mu.Lock()
	s.programs = append(s.programs, p)
	s.control = r
	s.mu.Unlock()
	go s.watchControl(r)
	return nil
}

func (s *Source) stopControl() {
	s.mu.Lock()
	r := s.control
	s.control = nil
	s.mu.Unlock()
	if r == nil {
		return
	}
	// What was reported before the detach may be a stopped process: Flush lets
	// the goroutine read it, then end.
	if err := r.Flush(); err != nil {
		s.note(err.Error())
	}
	<-s.controlDone
	if err := r.Close(); err != nil {
		s.note(err.Error())
	}
}

func (s *Source) watchControl(r *ringbuf.Reader) {
	defer close(s.controlDone)
	var rec ringbuf.Record
	for {
		if err := r.ReadInto(&rec); err != nil {
			if !errors.Is(err, ringbuf.ErrFlushed) && !errors.Is(err, os.ErrClosed) {
				s.note("control ring: " + err.Error())
			}
			return
		}
		if lib := as[objects.Lib](rec.RawSample); lib != nil && lib.Type == objects.RecLib {
			s.libraryMapped(lib)
		}
	}
}

// libraryMapped probes a library that a process is mapping, and continues the process.
func (s *Source) libraryMapped(lib *objects.Lib) {
	pid := int(lib.PID)
	stopped := lib.Flags&objects.FlagStopped != 0
	if stopped {
		if s.o.OnStop != nil {
			s.o.OnStop(pid, true)
		}
		defer func() {
			if err := unix.Kill(pid, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
				s.note(fmt.Sprintf("continue process %d: %v; send it SIGCONT", pid, err))
			}
			if s.o.OnStop != nil {
				s.o.OnStop(pid, false)
			}
		}()
	}
	name := cString(lib.Name[:])
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, lib.FD))
	if err != nil {
		// It was not stopped and has closed the file: the mapping is there.
		if err := s.scanProcess(pid); err != nil {
			s.note(fmt.Sprintf("probe %s of process %d: %v", name, pid, err))
		}
		return
	}
	defer f.Close()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, lib.FD))
	if err != nil {
		path = name
	}
	if _, err := s.attachFile(f, path); err != nil {
		s.note(err.Error())
	}
	s.markKnown(lib.Dev, lib.Ino) // not before: others that map it now must wait as well
}
