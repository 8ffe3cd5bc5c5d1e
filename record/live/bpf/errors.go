package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// errAbsent marks what the running kernel does not have at all.
var errAbsent = errors.New("not in this kernel")

// kernelError says what could not be done and what helps. The library's own
// texts are not passed on: they blame RLIMIT_MEMLOCK for every EPERM.
type kernelError struct {
	what, why string
	err       error
}

func (e *kernelError) Error() string { return e.what + ": " + e.why }

// Unwrap returns the cause.
func (e *kernelError) Unwrap() error { return e.err }

// explain words an error of the BPF system call or of package ebpf.
func explain(what string, err error) error {
	var ve *ebpf.VerifierError
	switch {
	case errors.Is(err, btf.ErrNotFound), strings.Contains(err.Error(), "bad CO-RE relocation"):
		return &kernelError{what, "this kernel has no such tracepoint or struct (or no BTF for its module)", errors.Join(errAbsent, err)}
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, os.ErrNotExist):
		return &kernelError{what, "this kernel does not have it", errors.Join(errAbsent, err)}
	case errors.Is(err, unix.EPERM):
		return &kernelError{what, "not permitted: run as root or with CAP_BPF and CAP_PERFMON (and outside of a container that filters bpf(2))", err}
	case errors.Is(err, unix.EACCES) && !errors.As(err, &ve):
		return &kernelError{what, "no access: tracefs needs root or CAP_DAC_READ_SEARCH", err}
	case errors.Is(err, unix.ENOMEM):
		return &kernelError{what, "no memory: choose a smaller ring buffer or raise the memory limit of the cgroup", err}
	case errors.As(err, &ve):
		last := ""
		if n := len(ve.Log); n > 0 {
			last = ve.Log[max(n-2, 0)]
		}
		return &kernelError{what, fmt.Sprintf("the kernel's verifier refuses the program (%v: %s); report this with the output of uname -r", ve.Cause, last), err}
	}
	return &kernelError{what, err.Error(), err}
}
