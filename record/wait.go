package record

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// defaultGrace is how long a command may take to end after SIGTERM.
const defaultGrace = 5 * time.Second

// groupWait is how long the guardian may take to tell that it got a signal too.
const groupWait = 200 * time.Millisecond

// record does step 6 and says why the recording ended.
func (s *session) record(ctx context.Context) string {
	var limit <-chan time.Time
	if s.o.Duration > 0 {
		limit = time.After(s.o.Duration)
	}
	var grace <-chan time.Time
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	gone := make(chan struct{})
	stopped := make(chan struct{})
	defer close(stopped)
	if len(s.o.PIDs) > 0 {
		go watchTargets(s.o.PIDs, gone, stopped)
	}
	done := ctx.Done()
	for n := 0; ; {
		select {
		case <-s.commandEnd():
			return EndCommand
		case <-gone:
			return EndTargets
		case <-limit:
			return EndDuration
		case <-s.log.full:
			return s.fullReason()
		case <-grace:
			s.res.Status, s.res.Signal = 128+int(unix.SIGTERM), int(unix.SIGTERM)
			return EndSignal
		case <-done:
			if s.cmd == nil {
				return EndSignal
			}
			s.cmd.signal(unix.SIGTERM)
			grace, done = time.After(s.grace()), nil
		case sig := <-s.sigs:
			if s.onSignal(sig) {
				if s.cmd == nil {
					s.res.Signal = number(sig)
					return EndSignal
				}
				if grace == nil {
					grace = time.After(s.grace())
				}
			}
		case pid := <-s.execs:
			s.log.write("identity", s.known(int(pid)))
		case <-tick.C:
			n++
			s.tick(n%2 == 0)
		}
	}
}

// tick writes out what was recorded, once a second with a clock snapshot.
func (s *session) tick(snapshot bool) {
	if !snapshot {
		s.log.flush(nil)
		return
	}
	s.snaps.take(false)
	s.meta.Snapshots = s.snaps.list
	s.log.flush(&s.meta)
}

func (s *session) grace() time.Duration {
	if s.o.Grace > 0 {
		return s.o.Grace
	}
	return defaultGrace
}

// commandEnd is closed when the command has ended; without one it never is.
func (s *session) commandEnd() <-chan struct{} {
	if s.cmd == nil {
		return nil
	}
	return s.cmd.ended
}

func (s *session) fullReason() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.out.end != "" {
		return s.out.end
	}
	return EndOutput
}

// onSignal passes a signal on to the command and reports whether it asks for
// the recording to end.
func (s *session) onSignal(sig os.Signal) bool {
	if sig == unix.SIGPIPE {
		return false // the write that caused it fails by itself
	}
	if s.cmd != nil && !s.reachedCommand(sig) {
		s.cmd.signal(sig)
	}
	switch sig {
	case unix.SIGTERM, unix.SIGHUP:
		return true
	case unix.SIGINT, unix.SIGQUIT:
		// The command decides what they mean to it: an interpreter goes on.
		return s.cmd == nil
	}
	return false
}

// reachedCommand reports whether a signal went to the whole process group, as
// those of a terminal do, and so to the command as well: then the guardian,
// which is in the group, got it too. The same signal must not reach the
// command twice: many programs end hard at the second.
func (s *session) reachedCommand(sig os.Signal) bool {
	if s.guard == nil {
		return false
	}
	timeout := time.After(groupWait)
	for {
		select {
		case got, ok := <-s.guard.group:
			if !ok {
				return false // the guardian is gone
			}
			if got == sig {
				pgid, err := unix.Getpgid(s.cmd.pid())
				return err != nil || pgid == unix.Getpgrp()
			}
		case <-timeout:
			return false
		}
	}
}

// await does step 9.
func (s *session) await(ctx context.Context) {
	if s.cmd == nil || s.res.End == EndSignal {
		return
	}
	select {
	case <-s.cmd.ended:
	default:
		s.warn(fmt.Sprintf("%s: %s; the command runs on", s.o.outputName(), s.res.End))
	}
	var grace <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case <-s.cmd.ended:
			s.res.Status, _ = s.cmd.exitStatus()
			return
		case <-grace:
			s.res.Status, s.res.Signal = 128+int(unix.SIGTERM), int(unix.SIGTERM)
			return
		case <-done:
			s.cmd.signal(unix.SIGTERM)
			grace, done = time.After(s.grace()), nil
		case sig := <-s.sigs:
			if s.onSignal(sig) && grace == nil {
				grace = time.After(s.grace())
			}
		}
	}
}

// watchTargets closes gone when all of the processes have ended.
func watchTargets(pids []int, gone, stop chan struct{}) {
	var fds []unix.PollFd
	defer func() {
		for _, p := range fds {
			unix.Close(int(p.Fd))
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		} else if err != unix.ESRCH {
			return // before Linux 5.3: the user ends the recording
		}
	}
	for left := fds; len(left) > 0; {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := unix.Poll(left, 200); err != nil && err != unix.EINTR {
			return
		}
		keep := left[:0:0]
		for _, p := range left {
			if p.Revents == 0 {
				keep = append(keep, p)
			}
		}
		left = keep
	}
	close(gone)
}

func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}
