package tracefs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Instances are named gpurec-PID-STARTTIME, with -N for a second of the same
// process: so that whoever finds one can tell whether its owner still lives.
const instancePrefix = "gpurec-"

// owner is a process: its id and its start time in clock ticks since boot.
type owner struct {
	pid   int
	start uint64
}

func self() (owner, error) {
	start, err := startTicks(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("own start time: %w", err)
	}
	return owner{os.Getpid(), start}, nil
}

// alive reports whether the process still runs; a zombie counts as dead: it
// has closed its files.
func (o owner) alive() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.pid))
	if err != nil {
		return false
	}
	f := statFields(string(b))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return false
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	return err == nil && start == o.start
}

// statFields are the fields of /proc/PID/stat from the third (state) on: the
// second, the name, may hold blanks and parentheses.
func statFields(s string) []string {
	return strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
}

func startTicks(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := statFields(string(b))
	if len(f) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has no start time", pid)
	}
	return strconv.ParseUint(f[19], 10, 64)
}

func (o owner) instance(n int) string {
	name := fmt.Sprintf("%s%d-%d", instancePrefix, o.pid, o.start)
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	return name
}

// instanceOwner takes the owner from an instance's name.
func instanceOwner(name string) (owner, bool) {
	rest, ok := strings.CutPrefix(name, instancePrefix)
	if !ok {
		return owner{}, false
	}
	parts := strings.Split(rest, "-")
	if len(parts) != 2 && len(parts) != 3 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return owner{}, false
	}
	start, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return owner{}, false
	}
	if len(parts) == 3 {
		if _, err := strconv.ParseUint(parts[2], 10, 16); err != nil {
			return owner{}, false
		}
	}
	return owner{pid, start}, true
}

// makeInstance creates an instance of this process and returns its name.
func (fs *FS) makeInstance() (string, error) {
	me, err := self()
	if err != nil {
		return "", err
	}
	for n := 1; n < 100; n++ {
		name := me.instance(n)
		err := os.Mkdir(fs.path("instances", name), 0o750)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("make trace instance %s: %w", name, cause(err))
		}
	}
	return "", errors.New("make trace instance: this process has 99 of them")
}

// removeInstance removes an instance. The kernel refuses while a file of it is
// open, which may take a moment to end after its owner died. One that another
// recorder removes in the same moment is gone too: ENODEV (instance_rmdir in
// kernel/trace/trace.c no longer finds it).
func (fs *FS) removeInstance(name string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := unix.Rmdir(fs.path("instances", name))
		if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || !time.Now().Before(deadline) {
			return fmt.Errorf("remove trace instance %s: %w", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// initialPIDNamespace is the inode of the initial pid namespace, the same on
// every kernel (PROC_PID_INIT_INO in linux/proc_ns.h).
const initialPIDNamespace = "pid:[4026531836]"

// stale lists the instances of dead recorders. Outside of the initial pid
// namespace nobody can tell: it lists none.
func (fs *FS) stale() ([]string, error) {
	if ns, err := os.Readlink("/proc/self/ns/pid"); err != nil || ns != initialPIDNamespace {
		return nil, nil
	}
	entries, err := os.ReadDir(fs.path("instances"))
	if err != nil {
		return nil, fmt.Errorf("read tracefs instances: %w", cause(err))
	}
	var names []string
	for _, e := range entries {
		if o, ok := instanceOwner(e.Name()); ok && !o.alive() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Stale lists what dead recorders left in tracefs.
func Stale() ([]string, error) {
	fs, err := Open()
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.stale()
}

// Clean removes what dead recorders left in tracefs, waiting at most patience
// for the kernel to close their files, and returns what it removed. What
// belongs to living processes stays.
func Clean(patience time.Duration) ([]string, error) {
	fs, err := Open()
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	names, err := fs.stale()
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, name := range names {
		if err := fs.removeInstance(name, patience); err != nil {
			errs = append(errs, err)
		} else {
			removed = append(removed, name)
		}
	}
	return removed, errors.Join(errs...)
}

// Try makes an instance, gives it the clock and buffers that a recording
// needs, and removes it again.
func Try() (err error) {
	s := New(Options{BufferKB: minBufferKB})
	if s.fs, err = Open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.instance, err = s.fs.makeInstance(); err != nil {
		return err
	}
	if err = s.configure(); err != nil {
		return err
	}
	return s.openRings()
}
