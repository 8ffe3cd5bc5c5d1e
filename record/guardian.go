package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/live/tracefs"
)

// passedOn are the signals that a session gives to its command.
var passedOn = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// guard is the session's end of a guardian.
type guard struct {
	proc   *os.Process
	orders *os.File       // "+PID START\n" for what to watch over, "q\n" for a good end
	group  chan os.Signal // signals that the whole process group got
}

// startGuardian starts the guardian of this process and waits until no signal
// to the group can end it.
func startGuardian() (*guard, error) {
	fail := func(err error) (*guard, error) { return nil, fmt.Errorf("start the guardian: %w", err) }
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	defer null.Close()
	ordR, ordW, err := pipe()
	if err != nil {
		return fail(err)
	}
	defer unix.Close(ordR)
	sigR, sigW, err := pipe()
	if err != nil {
		unix.Close(ordW)
		return fail(err)
	}
	args := []string{guardianName, strconv.Itoa(ordR), strconv.Itoa(sigW)}
	attr := &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{null, null, null}}
	p, err := startInheriting(args, attr, ordR, sigW)
	unix.Close(sigW)
	orders, signals := os.NewFile(uintptr(ordW), "orders"), os.NewFile(uintptr(sigR), "signals")
	if err != nil {
		orders.Close()
		signals.Close()
		return fail(err)
	}
	g := &guard{proc: p, orders: orders, group: make(chan os.Signal, 16)}
	if n, err := signals.Read(make([]byte, 1)); err != nil || n == 0 {
		g.end()
		signals.Close()
		return fail(errors.New("it ended at once"))
	}
	go g.listen(signals)
	return g, nil
}

func (g *guard) listen(r *os.File) {
	defer r.Close()
	defer close(g.group)
	var b [1]byte
	for {
		if n, err := r.Read(b[:]); err != nil || n == 0 {
			return
		}
		select {
		case g.group <- unix.Signal(b[0]):
		default: // nobody has asked for the last ones
		}
	}
}

// watch puts a process, and all that descends from it, under protection.
func (g *guard) watch(pid int, start uint64) {
	_, _ = fmt.Fprintf(g.orders, "+%d %d\n", pid, start) // a dead guardian guards nothing
}

// end dismisses the guardian: all is well.
func (g *guard) end() {
	_, _ = g.orders.WriteString("q\n") // fails if the guardian is dead: then there is nobody to dismiss
	g.orders.Close()
	// Should somebody have stopped it. That fails only if it has ended already:
	// it is this process's child, and not yet waited for.
	_ = g.proc.Signal(unix.SIGCONT)
	_, _ = g.proc.Wait() // how it ended changes nothing: what it guards has ended well
}

// guardian: ORDERS SIGNALS
func guardian(args []string) int {
	if len(args) != 2 {
		return 125
	}
	orders, err1 := strconv.Atoi(args[0])
	signals, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		return 125
	}
	closeOthers(orders, signals)
	got := make(chan os.Signal, 16)
	signal.Notify(got, passedOn...)
	signal.Ignore(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE)
	_, _ = syscall.Write(signals, []byte{0}) // ready: from here on no signal ends it
	go func() {
		for s := range got {
			if s, ok := s.(syscall.Signal); ok {
				_, _ = syscall.Write(signals, []byte{byte(s)})
			}
		}
	}()
	targets, good := readOrders(orders)
	if good {
		return 0
	}
	rescue(targets)
	return 0
}

// closeOthers closes what was inherited: a guardian that held the caller's
// pipes would keep their readers waiting. What the runtime may have opened for
// itself stays.
func closeOthers(keep1, keep2 int) {
	for _, fd := range numericDir("/proc/self/fd") {
		if fd < 3 || fd == keep1 || fd == keep2 {
			continue // /dev/null, or one of the pipes
		}
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && !strings.HasPrefix(name, "anon_inode:[event") {
			_ = unix.Close(fd) // Linux has let go of fd whatever close returns (close(2))
		}
	}
}

type target struct {
	pid   int
	start uint64
}

// readOrders reads until the session says that all is well, or is gone.
func readOrders(fd int) (targets []target, good bool) {
	var buf []byte
	chunk := make([]byte, 4096)
	for {
		n, err := retryRead(fd, chunk)
		buf = append(buf, chunk[:max(n, 0)]...)
		for {
			line, rest, ok := bytes.Cut(buf, []byte{'\n'})
			if !ok {
				break
			}
			buf = rest
			var t target
			if string(line) == "q" {
				return targets, true
			}
			if _, err := fmt.Sscanf(string(line), "+%d %d", &t.pid, &t.start); err == nil {
				targets = append(targets, t)
			}
		}
		if err != nil || n == 0 {
			return targets, false
		}
	}
}

// rescue sets right what a dead session left: processes that it stopped to
// attach to their libraries, and its trace instance. Its probes end with its
// descriptors, a moment after it; a stop may still come until then.
func rescue(targets []target) {
	for range 10 {
		for _, p := range descendants(targets) {
			if state, _ := processState(p); state == 'T' {
				_ = unix.Kill(p, unix.SIGCONT) // fails if it ended meanwhile; what still stands is seen again
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, _ = tracefs.Clean(5 * time.Second) // what stays is removed by the next run
}
