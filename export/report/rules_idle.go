package report

import (
	"fmt"

	"github.com/gpurec/gpurec/correlate"
)

func (b *Builder) idleFindings() []Finding {
	var out []Finding
	r := &b.rep
	busiest := b.busiestRings()
	for i := range r.Rings {
		x := &r.Rings[i]
		idle, busy := x.IdleNS, x.BusyNS
		if x.Ring == "" && x.Jobs == 0 { // a device known by its activities
			idle = 0
			for _, c := range x.IdleByCause {
				idle += c.SumNS
			}
			for _, d := range r.Devices {
				if d.MeasuredBy == byActivities && id(d.DeviceID) == x.acc.device {
					busy = d.BusyNS
				}
			}
		}
		// If another ring of the GPU was busy for longer, that nothing was
		// submitted to this one is no sign of a GPU that lacks work.
		asked := idle
		if busiest[x.acc.device] > x.BusyNS {
			asked = x.idleOfQueued()
		}
		if asked < idleLeast || float64(asked) < idleRatio*float64(idle+busy) || len(x.IdleByCause) == 0 {
			continue
		}
		out = append(out, b.idleFinding(x, idle, busy))
	}
	return out
}

// busiestRings is how long the busiest ring of each GPU was busy.
func (b *Builder) busiestRings() map[correlate.ID]int64 {
	m := map[correlate.ID]int64{}
	for i := range b.rep.Rings {
		x := &b.rep.Rings[i]
		m[x.acc.device] = max(m[x.acc.device], x.BusyNS)
	}
	return m
}

// idleOfQueued is how long the ring was idle although jobs were queued.
func (x *Ring) idleOfQueued() int64 {
	var n int64
	for _, c := range x.IdleByCause {
		if c.Cause != "nothing_submitted" {
			n += c.SumNS
		}
	}
	return n
}

func (b *Builder) idleFinding(x *Ring, idle, busy int64) Finding {
	r, c := &b.rep, &x.IdleByCause[0]
	f := rule("ring_idle")
	f.Value, f.Unit, f.CostNS = float64(idle)/float64(idle+busy), "ratio", idle
	f.where(x)
	b.who(&f, c.longest.process)
	b.who(&f, sortedIDs(x.acc.processes)...)
	start, end := c.longest.start, c.longest.end
	f.StartNS, f.EndNS = &start, &end
	apart := ","
	if untold := r.idleUntold(x, idle); untold > 0 {
		apart = fmt.Sprintf(" (not counting %s before work whose launch is not recorded);", r.dur(untold))
	}
	f.Text = fmt.Sprintf("%s stood idle for %s of %s (%s %%) between its work%s %s %% of that %s", ringName(x.GPU, x.Ring), r.dur(idle), r.dur(idle+busy),
		percent(idle, idle+busy), apart, percent(c.SumNS, idle), causeWords[c.Cause])
	if w := c.SubmitterWas; len(w) > 0 && w[0].What != "" {
		f.Text += fmt.Sprintf("; the submitter was mostly %s", clip(clean(w[0].What)))
	}
	f.Text += fmt.Sprintf("; the longest gap took %s.", r.dur(c.MaxNS))
	f.Search = words(c.Cause)
	switch l := &c.longest; {
	case l.job != 0:
		f.Explain = fmt.Sprintf("jobs:%d", l.job)
	case l.call != 0:
		f.Explain = fmt.Sprintf("api_calls:%d", l.call)
	}
	f.SQL = fmt.Sprintf("SELECT * FROM idle_gaps WHERE %s AND cause %s ORDER BY end_ns - start_ns DESC", ringSQL(x), sqlText(c.Cause))
	return f
}
