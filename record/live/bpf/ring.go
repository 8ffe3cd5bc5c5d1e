package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ring reads a BPF ring buffer (kernel/bpf/ringbuf.c) in place. Package
// ebpf/ringbuf copies each record and publishes its position after each; here
// a record is looked at where it lies, and the position is published once for
// many. Not safe for concurrent use.
type ring struct {
	consumer *uint64 // ours, shared with the kernel
	producer *uint64 // the kernel's
	data     []byte  // the buffer, mapped twice in a row
	mask     uint64
	pos      uint64 // next record
	maps     [2][]byte
}

const (
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30
	ringHeader  = 8
)

func openRing(m *ebpf.Map) (*ring, error) {
	size, page := int(m.MaxEntries()), os.Getpagesize()
	if size <= 0 || size&(size-1) != 0 {
		return nil, fmt.Errorf("ring buffer of %d bytes", size)
	}
	cons, err := unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the ring buffer: %w", err)
	}
	prod, err := unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the ring buffer: %w", err), unix.Munmap(cons))
	}
	r := &ring{
		consumer: (*uint64)(unsafe.Pointer(&cons[0])),
		producer: (*uint64)(unsafe.Pointer(&prod[0])),
		data:     prod[page:],
		mask:     uint64(size - 1),
		maps:     [2][]byte{cons, prod},
	}
	r.pos = atomic.LoadUint64(r.consumer)
	return r, nil
}

// next returns the next record, nil if there is none or its writer has not
// finished it. The bytes are valid until release.
func (r *ring) next() []byte {
	end := atomic.LoadUint64(r.producer)
	for r.pos < end {
		at := r.pos & r.mask
		head := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[at])))
		if head&ringBusy != 0 {
			return nil
		}
		n := uint64(head &^ (ringBusy | ringDiscard))
		r.pos += (n + ringHeader + 7) &^ 7
		if head&ringDiscard == 0 {
			return r.data[at+ringHeader : at+ringHeader+n]
		}
	}
	return nil
}

// release gives the room of all records returned so far back to the kernel.
func (r *ring) release() { atomic.StoreUint64(r.consumer, r.pos) }

// empty reports whether everything that was ever reserved has been read.
func (r *ring) empty() bool { return r.pos >= atomic.LoadUint64(r.producer) }

func (r *ring) close() error {
	var errs [2]error
	for i, m := range r.maps {
		if m != nil {
			errs[i] = unix.Munmap(m)
		}
	}
	r.maps, r.data = [2][]byte{}, nil
	return errors.Join(errs[:]...)
}
