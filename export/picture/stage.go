package picture

import "github.com/gpurec/gpurec/correlate"

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
	Row        *correlate.GPUActivity
	Start, End int64  // as drawn
	Name       string // short
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
	d.stages, d.submits = p, map[correlate.ID][]correlate.ID{}
	return d.rows.activities.Each(func(r *correlate.GPUActivity) error {
		h := d.m.linkHead[tabActivity].get(r.ID)
		if h == nil || !p.Stages(d.m.device(r.DeviceID)) {
			return nil
		}
		for i := *h; i != 0; {
			l := &d.m.links[i-1]
			i = l.next
			if _, _, ok := d.m.flowEnds(l); ok && l.srcT == tabAPI {
				d.submits[l.src] = append(d.submits[l.src], r.ID)
				break
			}
		}
		return nil
	})
}

func (d *drawer) renderStage(r *correlate.GPUActivity, start, end int64) {
	if d.stages == nil {
		return
	}
	d.stages.Stage(&Stage{Row: r, Start: start, End: end, Name: firstOf(d.short(r.Name), r.Kind, "activity"),
		Device: d.m.device(r.DeviceID), Process: d.m.process(r.ProcessID, r.PID)})
}
