package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// caller is the user who called sudo.
type caller struct {
	uid, gid int
	groups   []uint32
}

// sudoCaller returns who called sudo, if this is root by sudo.
func sudoCaller() (caller, bool) {
	uid, err1 := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	gid, err2 := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31)
	if err1 != nil || err2 != nil || uid == 0 || os.Geteuid() != 0 {
		return caller{}, false
	}
	c := caller{uid: int(uid), gid: int(gid), groups: []uint32{uint32(gid)}}
	if u, err := user.LookupId(strconv.FormatUint(uid, 10)); err == nil {
		ids, _ := u.GroupIds() // without them fewer directories can be written to
		for _, id := range ids {
			if n, err := strconv.ParseUint(id, 10, 32); err == nil && n != gid {
				c.groups = append(c.groups, uint32(n))
			}
		}
	}
	return c, true
}

// createOutput creates the log. Under sudo it is made with the rights of the
// calling user: so it belongs to that user, and nobody can make root write
// where the user could not. Only where the user may not write, root does, and
// then follows no symbolic link but root's.
func createOutput(path string) (*os.File, error) {
	c, sudo := sudoCaller()
	if !sudo {
		return create(path, os.Geteuid())
	}
	var f *os.File
	err := c.do(func() (err error) { f, err = create(path, c.uid); return })
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return f, err
	}
	f, err = create(path, 0)
	if err != nil {
		return nil, err
	}
	if st, serr := f.Stat(); serr == nil && st.Mode().IsRegular() {
		if err := f.Chown(c.uid, c.gid); err != nil {
			f.Close()
			return nil, fmt.Errorf("give %s to user %d: %w", path, c.uid, plainError(err))
		}
	}
	return f, nil
}

// do runs f with the file-system rights of c: on a thread of its own, which
// ends with it, so that no other goroutine ever has them.
func (c caller) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine,
		if unix.Gettid() == os.Getpid() {
			done <- c.do(f) // but for the first one, which cannot end: so on another
			runtime.UnlockOSThread()
			return
		}
		done <- func() error {
			// The raw call changes this thread only; setgroups of the library changes all.
			_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(c.groups)), uintptr(unsafe.Pointer(&c.groups[0])), 0)
			if e != 0 {
				return fmt.Errorf("take the groups of user %d: %w", c.uid, e)
			}
			_, _ = unix.SetfsgidRetGid(c.gid) // these report nothing but the old id:
			_, _ = unix.SetfsuidRetUid(c.uid)
			if id, _ := unix.SetfsuidRetUid(-1); id != c.uid { // so ask
				return fmt.Errorf("take the rights of user %d: %w", c.uid, unix.EPERM)
			}
			return f()
		}()
	}()
	return <-done
}

// create makes a new file at path. What is there is renamed to path.old if it
// is a plain file that no recorder writes; a device or FIFO is opened. Symbolic links are followed
// only if root or the given user owns them.
func create(path string, uid int) (*os.File, error) {
	fail := func(err error) error { return fmt.Errorf("create %s: %w", path, err) }
	if strings.HasSuffix(path, "/") {
		return nil, fail(fmt.Errorf("%w: name a file in it", unix.EISDIR))
	}
	w := walker{uid: uint32(uid)}
	dir, base, err := w.walk(path)
	if errors.Is(err, unix.ENOENT) {
		return nil, fail(fmt.Errorf("%w: make its directory first, or name another file with -o", err))
	}
	if err != nil {
		return nil, fail(err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return nil, fail(err)
	default:
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			if err := cmp.Or(inUse(dir, base), inUse(dir, base+".old")); err != nil {
				return nil, fail(err)
			}
			if err := unix.Renameat(dir, base, dir, base+".old"); err != nil {
				return nil, fail(fmt.Errorf("rename the existing file to %s.old: %w", base, err))
			}
		case unix.S_IFCHR, unix.S_IFIFO:
			return openAt(dir, base, path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NOCTTY)
		case unix.S_IFDIR:
			return nil, fail(fmt.Errorf("%w: name a file in it", unix.EISDIR))
		default:
			return nil, fail(errors.New("something that is no file has this name"))
		}
	}
	f, err := openAt(dir, base, path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	if errors.Is(err, unix.EEXIST) {
		err = fail(errInUse) // made since it was looked for
	}
	if err != nil {
		return nil, err
	}
	if err := hold(f, dir, base); err != nil {
		f.Close()
		return nil, fail(err)
	}
	return f, nil
}

func openAt(dir int, base, path string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(dir, base, flags|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, unix.EINTR) {
			continue // a FIFO's other end is waited for
		}
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", path, err)
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// walker goes down a path component by component and looks at each link.
type walker struct {
	uid   uint32 // whose links are followed, beside root's
	links int
}

// maxLinks is the kernel's own bound (MAXSYMLINKS).
const maxLinks = 40

// walk opens the directory that holds the last component of path, links
// resolved, and returns it with that component, which is no link.
func (w *walker) walk(path string) (int, string, error) {
	dir, err := w.openStart(path)
	if err != nil {
		return -1, "", err
	}
	todo := components(path)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		link, err := w.link(dir, name)
		if err != nil && !(errors.Is(err, unix.ENOENT) && len(todo) == 0) {
			unix.Close(dir)
			return -1, "", err
		}
		if link != "" {
			todo = append(components(link), todo...)
			if strings.HasPrefix(link, "/") {
				unix.Close(dir)
				if dir, err = w.openStart(link); err != nil {
					return -1, "", err
				}
			}
			continue
		}
		if len(todo) == 0 && name != ".." {
			return dir, name, nil
		}
		next, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		if err != nil {
			return -1, "", err
		}
		dir = next
	}
	unix.Close(dir)
	return -1, "", fmt.Errorf("%w: name a file in it", unix.EISDIR)
}

func (w *walker) openStart(path string) (int, error) {
	start := "."
	if strings.HasPrefix(path, "/") {
		start = "/"
	}
	return unix.Open(start, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// link returns the target of a link, "" for anything else.
func (w *walker) link(dir int, name string) (string, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", nil
	}
	if st.Uid != 0 && st.Uid != w.uid {
		return "", fmt.Errorf("%s is a symbolic link of user %d: not followed", name, st.Uid)
	}
	if w.links++; w.links > maxLinks {
		return "", unix.ELOOP
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func components(path string) []string {
	parts := strings.Split(path, "/")
	out := parts[:0]
	for _, p := range parts {
		if p != "" && p != "." {
			out = append(out, p)
		}
	}
	return out
}
