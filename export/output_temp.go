package export

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// Linux's numbers, which package syscall lacks (include/uapi/asm-generic/fcntl.h,
// include/uapi/linux/fcntl.h).
const (
	oTmpfile        = 0x400000 | syscall.O_DIRECTORY
	atFDCWD         = ^uintptr(99) // -100
	atSymlinkFollow = 0x400
)

// createBeside makes a file in path's directory: without a name, so that
// nothing is left behind however this process ends, or where the file system
// has no such files, with the name temp.
func createBeside(path string) (f *os.File, temp string, err error) {
	if _, err := os.Stat("/proc/self/fd"); err == nil { // linkBeside needs it
		if f, err = os.OpenFile(filepath.Dir(path), oTmpfile|os.O_WRONLY, 0o666); err == nil {
			return f, "", nil
		}
	}
	// Not supported: EOPNOTSUPP, or EISDIR before Linux 3.11, or whatever a
	// file system in user space says. Where nothing can be made this one fails too.
	for range 100 {
		temp = Beside(path, "tmp", rand.Uint32())
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, temp, err
}

// linkBeside gives a file without a name one beside path.
func linkBeside(f *os.File, path string) (string, error) {
	from, err := syscall.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", err
	}
	for range 100 {
		temp := Beside(path, "tmp", rand.Uint32())
		to, err := syscall.BytePtrFromString(temp)
		if err != nil {
			return "", err
		}
		_, _, e := syscall.Syscall6(syscall.SYS_LINKAT, atFDCWD, uintptr(unsafe.Pointer(from)),
			atFDCWD, uintptr(unsafe.Pointer(to)), atSymlinkFollow, 0)
		switch e {
		case 0:
			return temp, nil
		case syscall.EEXIST, syscall.EINTR:
		default:
			return "", e
		}
	}
	return "", fs.ErrExist
}
