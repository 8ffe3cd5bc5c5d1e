package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// command is the recorded program, at first held before its execve.
type command struct {
	argv    []string
	path    string
	proc    *os.Process
	start   uint64 // ticks since boot, with the pid its identity
	goPipe  *os.File
	status  *os.File // the starter's report: empty if execve worked
	running bool

	ended chan struct{} // closed when the command has ended; state is set then
	state *os.ProcessState
}

// findCommand looks argv[0] up as a shell does.
func findCommand(name string) (string, error) {
	notFound := &CommandError{name, 127, errors.New("not found")}
	if name == "" {
		return "", notFound
	}
	if strings.Contains(name, "/") {
		st, err := os.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
			return "", notFound
		case err != nil:
			return "", &CommandError{name, 126, plainError(err)}
		case st.IsDir():
			return "", &CommandError{name, 126, unix.EISDIR}
		case unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, unix.AT_EACCESS) != nil:
			return "", &CommandError{name, 126, unix.EACCES}
		}
		return name, nil
	}
	found := notFound
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		p := filepath.Join(dir, name)
		if dir == "" || dir == "." {
			p = "./" + name
		}
		st, err := os.Stat(p)
		if err != nil || st.IsDir() {
			continue // not here, as a shell goes on too
		}
		if unix.Faccessat(unix.AT_FDCWD, p, unix.X_OK, unix.AT_EACCESS) == nil {
			return p, nil
		}
		found = &CommandError{name, 126, unix.EACCES}
	}
	return "", found
}

// startCommand starts the starter: a process that has the command's pid and
// waits. Its standard streams and everything else it inherits are the
// command's; the pipes to it keep their numbers high, so that descriptors
// that the caller passes on (a make jobserver) keep theirs.
func startCommand(argv []string, path string, ids string, env []string, stdout *os.File) (*command, error) {
	c := &command{argv: argv, path: path, ended: make(chan struct{})}
	goR, goW, err := pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to the command: %w", err)
	}
	defer unix.Close(goR)
	stR, stW, err := pipe()
	if err != nil {
		unix.Close(goW)
		return nil, fmt.Errorf("make a pipe from the command: %w", err)
	}
	defer unix.Close(stW)
	args := append([]string{starterName, strconv.Itoa(goR), strconv.Itoa(stW), ids, path}, argv...)
	attr := &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, stdout, os.Stderr}}
	c.proc, err = startInheriting(args, attr, goR, stW)
	if err != nil {
		unix.Close(goW)
		unix.Close(stR)
		return nil, fmt.Errorf("start a helper for the command: %w", err)
	}
	c.goPipe, c.status = os.NewFile(uintptr(goW), "go"), os.NewFile(uintptr(stR), "status")
	c.start, _ = startTicks(c.proc.Pid) // it cannot have been reaped: nobody waited yet
	return c, nil
}

// pipe makes a blocking pipe: one end of it goes to a process that uses plain
// system calls.
func pipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// startInheriting runs this program with args; the child has also the given
// descriptors, under the numbers that they have here.
func startInheriting(args []string, attr *os.ProcAttr, fds ...int) (*os.Process, error) {
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return nil, err
		}
		defer unix.CloseOnExec(fd)
	}
	return os.StartProcess("/proc/self/exe", args, attr)
}

// pid is the command's pid, from its birth on.
func (c *command) pid() int { return c.proc.Pid }

// run lets the command go and waits until its execve is done. A
// *CommandError says that it failed; the process is gone then.
func (c *command) run() error {
	_, err := c.goPipe.Write([]byte{'g'})
	c.goPipe.Close()
	msg, rerr := io.ReadAll(c.status)
	c.status.Close()
	go c.wait()
	if errors.Is(err, unix.EPIPE) {
		err = nil // a signal, from a terminal say, has ended it before it began: wait tells
	}
	if err != nil || rerr != nil {
		c.kill()
		return fmt.Errorf("start the command: %w", errors.Join(err, rerr))
	}
	if len(msg) > 0 {
		<-c.ended
		code, text, _ := strings.Cut(string(msg), " ")
		n, err := strconv.Atoi(code)
		if err != nil {
			n = 126
		}
		return &CommandError{c.argv[0], n, errors.New(text)}
	}
	c.running = true
	return nil
}

func (c *command) wait() {
	st, err := c.proc.Wait()
	if err == nil {
		c.state = st
	}
	close(c.ended)
}

// abandon ends a command that never ran.
func (c *command) abandon() {
	if c.running {
		return
	}
	c.goPipe.Close()
	c.status.Close()
	_, _ = c.proc.Wait() // the starter ends by itself when its pipe is closed
}

func (c *command) kill() { _ = c.proc.Kill() } // it may have ended already

// signal passes a signal on; the command may have ended already.
func (c *command) signal(s os.Signal) { _ = c.proc.Signal(s) }

// exitStatus is the command's status as a shell gives it.
func (c *command) exitStatus() (int, bool) {
	if c.state == nil {
		return 0, false
	}
	ws, ok := c.state.Sys().(syscall.WaitStatus)
	if !ok {
		return 0, false
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal()), true
	}
	return ws.ExitStatus(), true
}

// asUser returns what makes a command run as a user: the ids for the starter,
// and the environment with the variables that name the user.
func asUser(name string, env []string) (string, []string, error) {
	if name == "" {
		return "", env, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return "", nil, &UsageError{fmt.Sprintf("no user %s on this machine", name)}
		}
	}
	if os.Geteuid() != 0 && strconv.Itoa(os.Geteuid()) != u.Uid {
		return "", nil, &UsageError{fmt.Sprintf("running the command as %s needs root", name)}
	}
	groups, err := u.GroupIds()
	if err != nil {
		return "", nil, fmt.Errorf("groups of user %s: %w", name, err)
	}
	ids := u.Uid + ":" + u.Gid + ":" + strings.Join(groups, ",")
	set := map[string]string{"HOME": u.HomeDir, "USER": u.Username, "LOGNAME": u.Username}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		k, _, _ := strings.Cut(kv, "=")
		if _, ok := set[k]; !ok {
			out = append(out, kv)
		}
	}
	for _, k := range []string{"HOME", "LOGNAME", "USER"} {
		out = append(out, k+"="+set[k])
	}
	return ids, out, nil
}
