package record

import (
	"errors"
	"os"

	"github.com/gpurec/gpurec/record/event"
)

// initialPIDNamespace is the inode of the initial pid namespace, the same on
// every kernel (PROC_PID_INIT_INO in linux/proc_ns.h).
const initialPIDNamespace = "pid:[4026531836]"

// errNamespace: in a container a pid is not what the kernel's events call the
// process, and may be what they call another one.
var errNamespace = errors.New("bpf: gpurec runs in a pid namespace of its own (a container), where it cannot tell which process is meant: run it on the host, in a container with --pid=host, or with -a")

// ownPIDs reports whether process ids here are those of the kernel's events.
func ownPIDs() bool {
	ns, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || ns == initialPIDNamespace // without /proc, assume the usual
}

// known is what /proc tells of a process that an event named.
func (s *session) known(pid int) []event.Event {
	if s.foreign {
		return nil // another process has this number here
	}
	return processEvents(pid)
}
