package tracefs

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
)

// The cost of getting events out of the kernel, as CPU time of the reading
// thread: ns/event is what counts, ns/op is the whole round with its system calls.
func BenchmarkRead(b *testing.B) {
	const calls = 100_000
	b.Run("splice", func(b *testing.B) {
		benchRead(b, calls, func(s *Source) {
			for i := range s.rings {
				for {
					n, err := s.rings[i].full(s.buf)
					if err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						break
					}
				}
			}
		})
	})
	b.Run("read", func(b *testing.B) {
		benchRead(b, calls, func(s *Source) {
			for _, r := range s.rings {
				for {
					ok, err := r.tail(s.buf)
					if err != nil {
						b.Fatal(err)
					}
					if !ok {
						break
					}
				}
			}
		})
	})
	b.Run("splice+decode", func(b *testing.B) {
		var batch event.Batch
		benchRead(b, calls, func(s *Source) {
			for {
				err := s.Read(&batch, 0)
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func benchRead(b *testing.B, calls int, read func(*Source)) {
	needTracefs(b)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var cpu int64
	for b.Loop() {
		s := New(Options{Events: []string{"syscalls:sys_enter_getppid"}, PIDs: []int{unix.Gettid()}, BufferKB: 8 << 10})
		if err := s.Attach(); err != nil {
			b.Fatal(err)
		}
		for range calls {
			unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		before := threadCPU()
		read(s)
		cpu += threadCPU() - before
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu)/float64(b.N)/float64(calls), "ns/event")
}

func threadCPU() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
