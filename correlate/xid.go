package correlate

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Xids: what NVIDIA's driver says of a fault, "NVRM: Xid (PCI:0000:41:00): 31,
// pid=1234, name=python, …". The process stands in the line where it is known.

// xidProcess is the process that a line with an Xid names.
func xidProcess(ev *event.Event) OptInt {
	if !ev.Has(event.FieldCode) {
		return OptInt{}
	}
	s := ev.Str(event.FieldName)
	for {
		i := strings.Index(s, "pid=")
		if i < 0 {
			return OptInt{}
		}
		word := i == 0 || s[i-1] == ' ' || s[i-1] == ','
		s = s[i+len("pid="):]
		digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(s)
		}
		if pid, err := strconv.ParseInt(s[:digits], 10, 32); word && err == nil && pid > 0 {
			return event.Some(pid)
		}
	}
}

// xid notes a fault of a process that a line names. It returns the process's
// row, 0 if it is not known here.
func (x *miscTracker) xid(pid OptInt, at event.Time) ID {
	if !pid.OK {
		return 0
	}
	p := x.e.ids.procs[int32(pid.V)]
	if p == nil || p.ended {
		return 0
	}
	p.faulted = event.OptTime(at)
	return p.row.ID
}

// stillOpen is why what a process began at start did not return until the end.
func (p *process) stillOpen(start OptTime) Reason {
	if p != nil && p.faulted.OK && start.OK && p.faulted.V >= start.V {
		return Faulted
	}
	return Open
}
