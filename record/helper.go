package record

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A session runs this program again in two roles, told by argv[0]:
//
//   - starter becomes the command. It waits until the session has attached its
//     probes, then calls execve, so that the command has the pid that the
//     probes were told. It is not a traced or stopped process: if the session
//     dies before, the starter reads the end of its pipe and ends.
//   - guardian outlives the session. It sits in the same process group and
//     tells the session which signals the whole group got; when the session
//     dies without a word, it continues what was left stopped and removes the
//     trace instance.
const (
	starterName  = "gpurec: starting"
	guardianName = "gpurec: guardian"
)

// RunHelper does the work of a session's helper process, and does not return,
// if this process was started as one. Main must call it before all else.
func RunHelper() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case starterName:
		os.Exit(starter(os.Args[1:]))
	case guardianName:
		os.Exit(guardian(os.Args[1:]))
	}
}

// starter: GOPIPE STATUSPIPE USER PATH ARGV0 [ARGS…]
func starter(args []string) int {
	// The first thread has to call execve: if another one does, the kernel ends
	// the first with the process's own pid, and watchers of task exits see the
	// process end before it began (de_thread in fs/exec.c).
	runtime.LockOSThread()
	if len(args) < 5 {
		return 125
	}
	goFD, err1 := strconv.Atoi(args[0])
	status, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		return 125
	}
	unix.CloseOnExec(goFD)
	unix.CloseOnExec(status)
	fail := func(code int, err error) int {
		_, _ = syscall.Write(status, []byte(strconv.Itoa(code)+" "+err.Error())) // nobody else could be told
		return code
	}
	if unix.Gettid() != os.Getpid() {
		return fail(125, again(goFD, status))
	}
	var b [1]byte
	n, err := retryRead(goFD, b[:])
	if err != nil || n == 0 {
		return 125 // the session is gone, or gave up: the command never starts
	}
	if err := becomeUser(args[2]); err != nil {
		return fail(125, err)
	}
	path, argv := args[3], args[4:]
	err = syscall.Exec(path, argv, os.Environ()) // it also restores the limit of open files that Go raised
	if errors.Is(err, unix.ENOEXEC) {
		// As execvp(3) does with a script that does not name its interpreter.
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), os.Environ())
	}
	return fail(126, err)
}

// again runs the starter anew when its goroutine did not get the first thread.
// It returns only if that failed.
func again(goFD, status int) error {
	for _, fd := range []int{goFD, status} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("start on the first thread: keep descriptor %d: %w", fd, err)
		}
	}
	return fmt.Errorf("start on the first thread: %w", syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

func retryRead(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// becomeUser takes "uid:gid:group,group,…"; "" changes nothing.
func becomeUser(s string) error {
	if s == "" {
		return nil
	}
	uid, gid, groups, err := parseIDs(s)
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("take the groups of user %d: %w", uid, err)
	}
	if err := syscall.Setgid(gid); err != nil {
		return fmt.Errorf("take group %d: %w", gid, err)
	}
	if err := syscall.Setuid(uid); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

func parseIDs(s string) (uid, gid int, groups []int, err error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return 0, 0, nil, fmt.Errorf("user %q is not uid:gid:groups", s)
	}
	if uid, err = strconv.Atoi(parts[0]); err != nil {
		return 0, 0, nil, fmt.Errorf("user %q: %w", s, err)
	}
	if gid, err = strconv.Atoi(parts[1]); err != nil {
		return 0, 0, nil, fmt.Errorf("user %q: %w", s, err)
	}
	for g := range strings.SplitSeq(parts[2], ",") {
		if g == "" {
			continue
		}
		n, err := strconv.Atoi(g)
		if err != nil {
			return 0, 0, nil, fmt.Errorf("user %q: %w", s, err)
		}
		groups = append(groups, n)
	}
	return uid, gid, groups, nil
}
