package picture

import (
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// StagePen is a [Pen] that can also write GPU activities in the trace format's
// own way. It is asked to if [export.Options.RenderStages] is set.
type StagePen interface {
	Pen
	// Stages reports whether activities of a device can be written so.
	Stages(v *Device) bool
	// Submits ties the API call that is being drawn to its activities; it stands
	// among the arguments.
	Submits(api string, activities []correlate.ID)
	// Stage comes after the activity's own slice.
	Stage(s *Stage)
}

// Stage is a GPU activity as a format of its own takes it.
type Stage struct {
	Row        *correlate.GPUActivity // id, kind, name, context, stream, bytes, correlation id, grid and block
	Start, End int64                  // as drawn
	Name       string                 // short
	Device     *Device
	Process    *Process // nil if it is not known
}

// planStages lists the activities of each API call: those that are drawn as
// stages, each under one call that is drawn before it.
func (d *drawer) planStages() error {
	p, ok := d.pen.(StagePen)
	if !ok || !d.o.o.RenderStages {
		return nil
	}
	d.stages = p
	d.submitted.init(&d.m.pages)
	d.submitHead.init(&d.m.pages)
	return d.rows.activities.Each(func(r *activityRow) error {
		if !p.Stages(d.m.deviceAt(r.device)) {
			return nil
		}
		list := d.m.linksOf(tabActivity, r.id).to
		for i := range list {
			l := &list[i]
			if l.flow != 0 && l.table == tabAPI {
				h := d.submitHead.put(l.id)
				next := *h
				*h = d.submitted.n + 1
				d.submitted.add(submitted{r.id, next})
				break
			}
		}
		return nil
	})
}

// submitted is an activity that an API call submits.
type submitted struct {
	id   correlate.ID
	next uint32 // number of the one before, of the same call
}

// submits lists the activities of an API call, in order of time.
func (d *drawer) submits(call correlate.ID) []correlate.ID {
	list := d.submitIDs[:0]
	for i := d.submitHead.get(call); i != 0; {
		s := d.submitted.value(i)
		list = append(list, s.id)
		i = s.next
	}
	slices.Reverse(list)
	d.submitIDs = list
	return list
}

func (d *drawer) renderStage(r *activityRow) {
	if d.stages == nil {
		return
	}
	d.stages.Stage(&Stage{Row: r.row(d.m), Start: r.start, End: r.end, Name: d.activityName(r),
		Device: d.m.deviceAt(r.device), Process: d.m.processAt(r.process)})
}
