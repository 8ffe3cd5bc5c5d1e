package perfetto

import (
	"github.com/gpurec/gpurec/record/event"
)

type flowID struct {
	id    uint64
	final bool
}

func (r *reader) flow(e *trackEvent, id uint64, final bool) {
	if e.nFlows == len(e.flows) {
		r.noteAt(&AnomalyFieldNotKept, 1, "more than %d flows of an event", len(e.flows))
		return
	}
	e.flows[e.nFlows] = flowID{id, final}
	e.nFlows++
}

const maxFlows = 1 << 19

// giveFlows adds the arrows of an event. The first event of an id is its
// source; Perfetto orders the rest by time.
func (r *reader) giveFlows(h *head, e *trackEvent) {
	for i := range e.nFlows {
		if r.args.Known() {
			r.note(&AnomalyDerived, 1)
			continue
		}
		f := e.flows[i]
		step := uint64(1)
		if _, ok := r.flows[f.id]; !ok {
			step = 0
			if len(r.flows) < maxFlows {
				r.flows[f.id] = struct{}{}
			}
		}
		if f.final {
			step = 2
			delete(r.flows, f.id)
		}
		ev := r.event(event.KindFlow, h, e)
		ev.SetStr(event.FieldName, e.name)
		ev.SetStr(event.FieldCategory, e.category)
		ev.SetStr(event.FieldTrack, e.label)
		ev.SetUint(event.FieldFlowID, f.id)
		ev.SetUint(event.FieldStep, step)
	}
}
