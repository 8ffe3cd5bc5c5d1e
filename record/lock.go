package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A recorder holds an flock on its log for as long as it writes, so that
// nobody moves the file away or replaces it meanwhile. The kernel lets go of
// it however the recorder ends.

var errInUse = errors.New("another gpurec record is writing it: name another file with -o, or end that recording first")

// Recording reports whether a recorder is writing the file at path.
func Recording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return locked(int(f.Fd())) != nil
}

// inUse returns errInUse if a recorder is writing the file base of dir. What
// cannot be opened cannot be asked: it passes for unused.
func inUse(dir int, base string) error {
	fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	return locked(fd)
}

// locked returns errInUse if somebody else holds the lock of an open file.
func locked(fd int) error {
	// Shared, since network file systems lock exclusively only what is open for
	// writing.
	if err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return errInUse
	}
	return nil
}

// hold locks a log that was just made as base of dir. Two recorders may have
// begun at once: only the one whose file has the name goes on. A file system
// without locks has none.
func hold(f *os.File, dir int, base string) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return errInUse
	}
	var mine, named unix.Stat_t
	if unix.Fstat(int(f.Fd()), &mine) != nil || unix.Fstatat(dir, base, &named, unix.AT_SYMLINK_NOFOLLOW) != nil ||
		mine.Ino != named.Ino || mine.Dev != named.Dev {
		return errInUse
	}
	return nil
}
