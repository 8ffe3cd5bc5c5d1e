// Package tracefs records tracepoints through ftrace: an instance of its own
// in tracefs, whose ring-buffer pages are spliced out whole. The top instance
// and the instances of others are never written to.
package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/live"
)

// FS is an open tracefs.
type FS struct {
	*live.Tracefs
}

// UnavailableError says why tracefs cannot be used, and what helps.
type UnavailableError struct {
	Err    error
	Remedy string
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("tracefs: %v; %s", e.Err, e.Remedy) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Open finds tracefs where it is mounted, or else mounts it for this process
// alone, and checks that an instance can be made there.
func Open() (*FS, error) {
	t, err := live.OpenTracefs()
	if err != nil {
		return nil, unavailable(err)
	}
	return newFS(t)
}

func newFS(t *live.Tracefs) (*FS, error) {
	fs := &FS{t}
	// access(2) would ask about the real user; an instance needs the effective one.
	if err := unix.Faccessat(unix.AT_FDCWD, fs.path("instances"), unix.W_OK, unix.AT_EACCESS); err != nil {
		fs.Close()
		return nil, unavailable(fmt.Errorf("write to instances: %w", err))
	}
	return fs, nil
}

func unavailable(err error) error {
	e := &UnavailableError{Err: err}
	switch {
	case errors.Is(err, unix.ENODEV):
		e.Remedy = "the kernel has no tracefs: it needs CONFIG_FTRACE and CONFIG_EVENT_TRACING"
	case errors.Is(err, unix.ENOENT):
		e.Remedy = "the kernel has no trace instances: it needs Linux 3.10 or newer"
	case errors.Is(err, unix.ENOSYS):
		e.Remedy = "mount it: mount -t tracefs nodev /sys/kernel/tracing (this kernel is older than 5.2 and cannot mount it out of sight)"
	case errors.Is(err, unix.EPERM) && lockedDown():
		e.Remedy = "the kernel is locked down (confidentiality): ftrace cannot be used until it is booted without lockdown"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		e.Remedy = "run as root, or with CAP_DAC_OVERRIDE and tracefs mounted (CAP_SYS_ADMIN if it is not)"
	case errors.Is(err, unix.EROFS):
		e.Remedy = "tracefs is mounted read-only: remount it, or leave the container"
	default:
		e.Remedy = "events of ftrace cannot be recorded"
	}
	return e
}

func lockedDown() bool {
	b, err := os.ReadFile("/sys/kernel/security/lockdown")
	return err == nil && strings.Contains(string(b), "[confidentiality]")
}

func (fs *FS) path(elem ...string) string {
	return filepath.Join(append([]string{fs.Dir}, elem...)...)
}

func (fs *FS) read(elem ...string) (string, error) {
	b, err := os.ReadFile(fs.path(elem...))
	if err != nil {
		return "", fmt.Errorf("read tracefs %s: %w", filepath.Join(elem...), cause(err))
	}
	return string(b), nil
}

// write sets a control file. It never creates one.
func (fs *FS) write(value string, elem ...string) error {
	name := filepath.Join(elem...)
	f, err := os.OpenFile(fs.path(elem...), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write tracefs %s: %w", name, cause(err))
	}
	_, err = f.WriteString(value)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %q to tracefs %s: %w", value, name, cause(err))
	}
	return nil
}

// cause takes the path off an error: the ones here say nothing to the user.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
