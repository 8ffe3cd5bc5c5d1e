package tracefs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ring is the buffer of one CPU, read through trace_pipe_raw.
type ring struct {
	cpu  int
	fd   int    // trace_pipe_raw, not blocking
	pipe [2]int // full pages go through it
	page int    // bytes of a sub-buffer
}

// openRing opens the buffer of a CPU. Pages are of page bytes.
func (fs *FS) openRing(instance string, cpu, page int) (*ring, error) {
	name := fs.path("instances", instance, "per_cpu", fmt.Sprintf("cpu%d", cpu), "trace_pipe_raw")
	r := &ring{cpu: cpu, fd: -1, pipe: [2]int{-1, -1}, page: page}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open trace_pipe_raw of CPU %d: %w", cpu, err)
	}
	r.fd = fd
	if err := unix.Pipe2(r.pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		r.close()
		return nil, fmt.Errorf("make a pipe for CPU %d: %w", cpu, err)
	}
	return r, nil
}

// full takes up to len(buf) bytes of full pages out of the ring and returns
// how many; 0 if no page is full. Unlike read(2), splicing never cuts a page
// that is being written short: such pages cost as much as full ones and hold
// a few events each.
func (r *ring) full(buf []byte) (int, error) {
	n, err := retry(func() (int, error) {
		n, err := unix.Splice(r.fd, nil, r.pipe[1], nil, len(buf), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		return int(n), err
	})
	if errors.Is(err, unix.EAGAIN) || err == nil && n == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("splice trace pages of CPU %d: %w", r.cpu, err)
	}
	for got := 0; got < n; {
		m, err := retry(func() (int, error) { return unix.Read(r.pipe[0], buf[got:n]) })
		if err == nil && m == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return got, fmt.Errorf("read spliced trace pages of CPU %d: %w", r.cpu, err)
		}
		got += m
	}
	return n, nil
}

// tail takes what is in the ring even if the page is not full: one page, cut
// short, its rest undefined. It returns false if there is nothing.
func (r *ring) tail(page []byte) (bool, error) {
	n, err := retry(func() (int, error) { return unix.Read(r.fd, page[:r.page]) })
	if errors.Is(err, unix.EAGAIN) || err == nil && n == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read trace page of CPU %d: %w", r.cpu, err)
	}
	clear(page[n:r.page])
	return true, nil
}

func (r *ring) close() error {
	var errs []error
	for _, fd := range []*int{&r.fd, &r.pipe[0], &r.pipe[1]} {
		if *fd >= 0 {
			if err := unix.Close(*fd); err != nil {
				errs = append(errs, os.NewSyscallError("close", err))
			}
			*fd = -1
		}
	}
	return errors.Join(errs...)
}

func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
