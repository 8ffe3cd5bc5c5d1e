package ftrace

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// ParseClock reads tracefs's trace_clock ("local global [mono] …") or the name
// alone. ns tells whether the clock counts nanoseconds; "" is returned if the
// text names none.
func ParseClock(text []byte) (c event.Clock, ns bool) {
	name := bytes.TrimSpace(bytes.TrimRight(text, "\x00"))
	if i := bytes.IndexByte(name, '['); i >= 0 {
		name = name[i+1:]
		j := bytes.IndexByte(name, ']')
		if j < 0 {
			return "", false
		}
		name = name[:j]
	}
	if len(name) > 64 || bytes.ContainsAny(name, " \n\x00") {
		return "", false
	}
	switch string(name) {
	case "":
		return "", false
	case "local", "global":
		return event.ClockLocal, true
	case "mono":
		return event.ClockMonotonic, true
	case "mono_raw":
		return event.ClockMonotonicRaw, true
	case "boot":
		return event.ClockBoottime, true
	case "counter", "x86-tsc", "ppc-tb", "x86_tsc":
		return event.Clock(clean(name)), false
	}
	return event.Clock(clean(name)), true // tai, perf, uptime, tsc2nsec, or a name of one of ours
}

// IoctlNR returns the number of the system call ioctl on a machine, as uname
// names it; 0 if that is not known.
func IoctlNR(machine string) int {
	switch machine {
	case "x86_64", "amd64":
		return ioctlNR
	case "aarch64", "riscv64", "riscv32", "loongarch64", "arc", "hexagon", "nios2", "openrisc", "csky", "arm64":
		return 29 // include/uapi/asm-generic/unistd.h
	case "mips":
		return 4054
	case "mips64":
		return 5015
	case "alpha", "i386", "i486", "i586", "i686", "arm", "armv6l", "armv7l", "armv8l", "ppc", "ppc64", "ppc64le", "s390", "s390x", "sparc", "sparc64", "m68k", "sh4", "parisc", "parisc64":
		return 54
	}
	return 0
}
