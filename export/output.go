package export

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File is an output file that appears under its name whole or not at all: it
// is written beside, without a name where the file system allows that, and
// renamed by [File.Commit].
type File struct {
	f         *os.File
	name      string // as the caller gave it, for messages
	final     string // links resolved; "" for standard output
	temp      string // name that the file has until then, "" if none
	interrupt func() error
	max       int64 // bytes it may take; 0: any number
	n         int64 // bytes written, those beyond max counted only
}

// Create opens an output that will stand at path; "-" is standard output. A
// symbolic link at path stays, and what it points to is replaced, if root or
// this process's user owns the link. What cannot be replaced by a file is
// refused now, before the work.
func Create(path string, o Options) (*File, error) {
	f := &File{name: path, interrupt: o.Interrupted, max: o.MaxOutput}
	if path == "-" {
		f.f, f.name = os.Stdout, "standard output"
		return f, nil
	}
	err := f.open(path)
	if err != nil {
		return nil, f.wrap(err)
	}
	return f, nil
}

func (f *File) open(path string) (err error) {
	var old fs.FileInfo
	if f.final, old, err = target(path); err != nil {
		return err
	}
	if f.f, f.temp, err = createBeside(f.final); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return NoDirectory(filepath.Dir(path))
		}
		return err
	}
	if old != nil { // who could read the old one may read the new one, nobody else
		if err = f.f.Chmod(old.Mode().Perm()); err != nil {
			return Undone(err, f.Abort())
		}
		if err = f.keepOwner(old); err != nil {
			return Undone(err, f.Abort())
		}
	}
	return nil
}

// keepOwner gives the file the owner of the one that it replaces, if root
// writes. Where that cannot be (a file system without owners, an id that is not
// mapped in a container, root without CAP_CHOWN) it stays root's under the old
// one's mode, which lets nobody read it who could not read the old one.
func (f *File) keepOwner(old fs.FileInfo) error {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	err := f.f.Chown(int(st.Uid), int(st.Gid))
	for _, without := range []error{syscall.EPERM, syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS} {
		if errors.Is(err, without) {
			return nil
		}
	}
	return err
}

// NoDirectory is the error of an output whose directory is missing.
func NoDirectory(dir string) error {
	return fmt.Errorf("no such directory; make %s first", dir)
}

// maxLinks is the kernel's own bound (MAXSYMLINKS).
const maxLinks = 40

// target follows the links at path. old is nil where there is nothing yet.
func target(path string) (final string, old fs.FileInfo, err error) {
	final = path
	for range maxLinks {
		st, err := os.Lstat(final)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return final, nil, nil
		case err != nil:
			return "", nil, err
		case st.IsDir():
			return "", nil, errors.New("is a directory; name a file in it")
		case st.Mode().IsRegular():
			if err := syscall.Access(final, 2); errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS) {
				return "", nil, fmt.Errorf("%w: it may not be replaced", err)
			}
			return final, st, nil
		case st.Mode()&fs.ModeSymlink == 0:
			return "", nil, errors.New("is a device, pipe or socket; write to it through standard output: -o - >" + path)
		}
		if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
			return "", nil, fmt.Errorf("is a symbolic link of user %d: not followed", s.Uid)
		}
		link, err := os.Readlink(final)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(link) {
			// Not Join: it would take "..", which may lead elsewhere, away.
			link = filepath.Dir(final) + "/" + link
		}
		final = link
	}
	return "", nil, syscall.ELOOP
}

// Beside returns a name in path's directory that begins with a dot and tells
// what it is; n makes it unique.
func Beside(path, what string, n uint32) string {
	base := filepath.Base(path)
	if len(base) > 200 { // a name has 255 bytes at most
		base = base[:200]
	}
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%s-%08x", base, what, n))
}

// Name is what messages call the file: its path as it was given, or "standard output".
func (f *File) Name() string { return f.name }

// Write implements io.Writer. It fails once the work is interrupted.
func (f *File) Write(p []byte) (int, error) {
	if err := Interrupted(f.interrupt); err != nil {
		return 0, err
	}
	f.n += int64(len(p))
	if f.max > 0 && f.n > f.max {
		return len(p), nil // Commit will fail, and say how much it is
	}
	n, err := f.f.Write(p)
	return n, PlainError(err)
}

// Interrupted calls a function of [Options], which may be nil.
func Interrupted(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

// Commit gives the file its name.
func (f *File) Commit() error {
	if f.max > 0 && f.n > f.max {
		return Undone(&TooLargeError{f.name, f.n, f.max}, f.Abort())
	}
	if f.final == "" {
		return nil
	}
	err := f.commit()
	if err != nil {
		return Undone(f.wrap(err), f.Abort())
	}
	f.f = nil
	return nil
}

func (f *File) commit() error {
	if f.temp == "" {
		temp, err := linkBeside(f.f, f.final)
		if err != nil {
			return err
		}
		f.temp = temp
	}
	if err := f.f.Close(); err != nil {
		return err
	}
	return os.Rename(f.temp, f.final)
}

// Abort removes what was written; its error names what stays. After Commit it
// does nothing.
func (f *File) Abort() error {
	if f.final == "" || f.f == nil {
		return nil
	}
	err := f.f.Close()
	if errors.Is(err, os.ErrClosed) { // by a Commit that failed behind that
		err = nil
	}
	if f.temp != "" {
		if rerr := os.Remove(f.temp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = fmt.Errorf("%s stays behind: %w; remove it", f.temp, PlainError(rerr))
		}
	}
	f.f = nil
	return err
}

// Undone puts what undoing could not undo behind the error that led to it.
// Both or either may be nil.
func Undone(err, left error) error {
	if err == nil || left == nil {
		return cmp.Or(err, left)
	}
	return fmt.Errorf("%w; %w", err, left)
}

func (f *File) wrap(err error) error { return fmt.Errorf("write %s: %w", f.name, PlainError(err)) }

// PlainError takes the operation and the path, which users never gave, off an
// error of the file system, and says what helps where there is no room.
func PlainError(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	case errors.As(err, &se):
		err = se.Err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if _, bare := err.(syscall.Errno); bare {
			return fmt.Errorf("%w: make room, or write to another disk", err)
		}
	}
	return err
}
