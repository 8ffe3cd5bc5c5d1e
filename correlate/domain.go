package correlate

import "github.com/gpurec/gpurec/record/event"

// A merged log holds events of several machines, or of inputs whose clocks
// nothing relates. Their pids, CPUs, fences and pointers mean different things,
// so each domain has trackers of its own: nothing is ever joined between two.
// Rows of all domains stand in the same tables and are numbered together.

// maxDomains bounds the domains of a log.
const maxDomains = 1 << 10

// trim lets go of what is beyond the caps, which a new domain has lowered.
func (e *engine) trim() {
	e.ids.trim()
	e.api.trim()
	e.ioctl.trim()
	e.job.trim()
	e.fence.trim()
	e.ring.trim()
	e.act.trim()
	e.slice.trim()
	e.unm.trim()
	e.flushFull()
}

// of returns the engine of the domain of an event.
func (e *engine) of(ev *event.Event) *engine {
	id, ok := ev.Uint(event.FieldDomain)
	if !ok || id == 0 {
		return e.all[0]
	}
	d := e.byID[id]
	if d == nil {
		if len(e.all) >= maxDomains {
			e.count(&anomalyDomains)
			return e.all[len(e.all)-1]
		}
		if e.byID == nil {
			e.byID = map[uint64]*engine{}
		}
		d = e.engine(id)
		e.byID[id] = d
		e.caps = e.o.Caps.share(len(e.all))
		for _, o := range e.all {
			o.trim()
		}
	}
	return d
}
