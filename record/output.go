package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Room that is kept free behind the log, in bytes, so that the end of a
// recording (what is buffered, losses, metadata, index) fits even on a full
// disk, and how much is reserved at a time.
const (
	tailRoom    = 2 << 20
	reserveStep = 4 << 20
)

// output is where a log goes. Its Write takes whole blocks; what a failed
// Write left behind is cut off again, so that the file always ends with one.
type output struct {
	f    *os.File
	name string // for messages
	file bool   // a plain file: it can be cut and reserved
	size int64  // bytes of whole writes

	limit    int64 // MaxSize, 0 for none
	reserved int64 // bytes of the file that have room for sure; -1: cannot be known
	end      string
	err      error // why nothing can be written any more
}

var _ io.Writer = (*output)(nil)

// openOutput opens the log of a recording.
func openOutput(o *Options) (*output, error) {
	if isStdout(o.Output) {
		f := o.Stdout
		if f == nil {
			f = os.Stdout
		}
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			return nil, &UsageError{"standard output is a terminal: redirect it, or name a file with -o"}
		}
		return &output{f: f, name: "standard output", limit: o.MaxSize, reserved: -1}, nil
	}
	path := o.Output
	if f, err := inherited(path); f != nil || err != nil {
		return &output{f: f, name: path, limit: o.MaxSize, reserved: -1}, err
	}
	if path == "" {
		path = DefaultOutput
	}
	f, err := createOutput(path)
	if err != nil {
		return nil, err
	}
	out := &output{f: f, name: path, limit: o.MaxSize, reserved: -1}
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		out.file, out.reserved = true, 0
	}
	return out, nil
}

// isStdout reports whether a path is a name of standard output. To open it by
// one of the latter would be to open anew what it leads to.
func isStdout(path string) bool {
	switch path {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return false
}

// inherited returns the open file of this process that a path such as
// /dev/fd/63 names (a shell's >(command)), nil if it names none of these.
func inherited(path string) (*os.File, error) {
	text, ok := strings.CutPrefix(path, "/dev/fd/")
	if !ok {
		text, ok = strings.CutPrefix(path, "/proc/self/fd/")
	}
	n, err := strconv.ParseUint(text, 10, 20)
	if !ok || err != nil {
		return nil, nil
	}
	// What this program opened itself is closed on exec: that is nobody's output.
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	mode, merr := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err != nil || merr != nil || flags&unix.FD_CLOEXEC != 0 || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, &UsageError{path + " is not open for writing: name a file, or - for standard output"}
	}
	unix.CloseOnExec(int(n)) // the command does not get it
	return os.NewFile(uintptr(n), path), nil
}

// Write writes p whole or, as far as can be, not at all.
func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	o.reserve(int64(len(p)))
	n, err := o.f.Write(p)
	if err == nil {
		o.size += int64(n)
		return n, nil
	}
	o.err = fmt.Errorf("write %s: %w", o.name, plainError(err))
	o.end = EndOutput
	if isFull(err) {
		o.end = EndDisk
	}
	if o.file && n > 0 {
		if terr := o.f.Truncate(o.size); terr == nil {
			_, _ = o.f.Seek(o.size, io.SeekStart) // a seek in a plain file to a place within it
		}
	}
	return 0, o.err
}

// reserve sees to it that n bytes and the tail fit. If they do not, the
// recording has to end; what is written now still fits into the tail.
func (o *output) reserve(n int64) {
	if o.reserved < 0 || o.end != "" {
		return
	}
	need := o.size + n + tailRoom
	if need <= o.reserved {
		return
	}
	for _, step := range []int64{reserveStep, 0} {
		err := unix.Fallocate(int(o.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, o.reserved, need+step-o.reserved)
		switch {
		case err == nil:
			o.reserved = need + step
			return
		case !isFull(err):
			o.reserved = -1 // this file system cannot reserve
			return
		}
	}
	o.end = EndDisk
}

// over says whether and why the recording has to end, pending being the
// number of events that the log's writer still holds.
func (o *output) over(pending int) string {
	if o.end == "" && o.limit > 0 && o.size+int64(pending)*maxEventBytes+min(tailRoom, o.limit/4) > o.limit {
		o.end = EndSize
	}
	return o.end
}

// maxEventBytes is a cautious guess of an event's size in the log.
const maxEventBytes = 24

// close closes a file, after giving back what was reserved.
func (o *output) close() error {
	if !o.file {
		return nil // standard output belongs to the caller; a device needs none
	}
	var errs []error
	if o.reserved > 0 {
		errs = append(errs, o.f.Truncate(o.size)) // frees blocks behind the end
	}
	errs = append(errs, o.f.Close())
	return errors.Join(errs...)
}

// isFull reports whether an error says that there is no more room: on the
// disk, in the quota, or under the limit of a file's size.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func plainError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// flushEvery is how often what was recorded is written out at the latest.
const flushEvery = 500 * time.Millisecond
