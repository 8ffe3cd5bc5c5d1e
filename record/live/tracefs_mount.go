package live

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Tracefs is the kernel's tracing file system, found or mounted.
type Tracefs struct {
	Dir      string // path of its root, for this process
	detached bool   // mounted by us, as fd
	fd       int
}

// OpenTracefs finds tracefs where it is mounted, or else mounts it for this
// process alone: such a mount stands in no mount table, and ends with Close or
// with the process. It needs Linux 5.2 and CAP_SYS_ADMIN for that. The error
// is that of the system call, wrapped.
func OpenTracefs() (*Tracefs, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.TRACEFS_MAGIC {
			return &Tracefs{Dir: dir}, nil
		}
	}
	return MountTracefs()
}

// MountTracefs is OpenTracefs without looking for a mount.
func MountTracefs() (*Tracefs, error) {
	fsfd, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open the file system: %w", err)
	}
	defer unix.Close(fsfd)
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return nil, fmt.Errorf("create the mount: %w", err)
	}
	attrs := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	fd, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return &Tracefs{fmt.Sprintf("/proc/self/fd/%d", fd), true, fd}, nil
}

// Detached reports whether tracefs is mounted for this process only.
func (t *Tracefs) Detached() bool { return t.detached }

// Close ends a detached mount. It can be called twice.
func (t *Tracefs) Close() error {
	if !t.detached {
		return nil
	}
	t.detached = false
	return unix.Close(t.fd)
}
