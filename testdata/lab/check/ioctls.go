package check

import (
	"fmt"

	"github.com/gpurec/gpurec/correlate"
)

// ioctlNumbers are the numbers of the ioctls that clients tell of: the driver's
// (mockgpu_uapi.h, from DRM_COMMAND_BASE on) and DRM's own waits.
var ioctlNumbers = map[string]uint64{
	"submit": 0x40, "wait driver": 0x41, "map": 0x42, "unmap": 0x43, "alloc": 0x44,
	"wait syncobj": 0xc3, "wait timeline": 0xca,
}

// ioctls compares every ioctl that a client tells of with the product's: one is
// there, of that thread and number, begun and ended within the client's times,
// with its result. Restarted after a signal, it may be there more than once.
func (r *results) ioctls(p *product) []string {
	byTID := map[int64][]*correlate.Ioctl{}
	for i := range p.rows.Ioctls {
		o := &p.rows.Ioctls[i]
		if o.Cmd>>8&0xff == 'd' {
			byTID[o.TID.V] = append(byTID[o.TID.V], o)
		}
	}
	var problems []string
	for _, call := range r.calls {
		name := call.Name
		if name == "wait" {
			name += " " + call.Kind
		}
		number, ok := ioctlNumbers[name]
		if !ok {
			continue // a call of the API, or a mark
		}
		var last *correlate.Ioctl
		for _, o := range byTID[int64(call.TID)] {
			if o.Cmd&0xff == number && o.StartNS.OK && int64(o.StartNS.V) >= call.Enter && o.EndNS.OK && int64(o.EndNS.V) <= call.Exit {
				last = o
			}
		}
		switch {
		case last == nil:
			problems = append(problems, fmt.Sprintf("%s: no ioctl of thread %d for its %s at %d", p.what, call.TID, name, call.Enter))
		case last.Result.V != int64(call.Ret) || last.PID.OK && last.PID.V != int64(call.PID):
			problems = append(problems, fmt.Sprintf("%s: ioctl %d of %s: result %d of process %d, not %d of %d", p.what, last.ID, name, last.Result.V, last.PID.V, call.Ret, call.PID))
		}
	}
	return problems
}
