package correlate

import "github.com/gpurec/gpurec/record/event"

// maxActivityGaps bounds the gaps of a device that later work may still fill.
const maxActivityGaps = 1 << 12

const causeLaunch = "launch_latency"

// actDevice is what a device that shows activities did, and when it did nothing.
type actDevice struct {
	id   ID
	any  bool
	end  event.Time // greatest so far: activities come in the order of their ends
	gaps []actGap
}

// actGap is a time without any activity, ended by the work of key.
type actGap struct {
	start, end event.Time
	key        correlationKey
}

// busy takes an activity: it fills the gaps that it covers, as work of another
// stream may have begun before them, and opens the one before it.
func (x *activityTracker) busy(r *GPUActivity, key correlationKey) {
	if r.DeviceID == 0 || r.SameAsID != 0 || !r.StartNS.OK || !r.EndNS.OK || r.StartNS.V > r.EndNS.V || r.Kind == event.ActivityOther.String() {
		return
	}
	d := x.devs[r.DeviceID]
	if d == nil {
		d = &actDevice{id: r.DeviceID}
		x.devs[r.DeviceID] = d
		x.devOrder = append(x.devOrder, d)
	}
	s, e := r.StartNS.V, r.EndNS.V
	for n := len(d.gaps); n > 0 && d.gaps[n-1].end > s; n = len(d.gaps) {
		g := &d.gaps[n-1]
		if g.start < s {
			g.end, g.key = s, key
			break
		}
		d.gaps = d.gaps[:n-1]
	}
	if d.any && s > d.end {
		d.gaps = append(d.gaps, actGap{d.end, s, key})
	}
	d.end, d.any = max(d.end, e), true
	if len(d.gaps) > maxActivityGaps {
		h := maxActivityGaps / 2
		x.giveGaps(d, d.gaps[:h])
		d.gaps = append(d.gaps[:0], d.gaps[h:]...)
	}
}

// giveGaps gives gaps of a device that has no rings. Until the call that led
// to the next work began nothing was submitted; from then on it was on its way.
func (x *activityTracker) giveGaps(d *actDevice, gaps []actGap) {
	for _, r := range x.e.ring.rings {
		if r.dev != nil && r.dev.row.ID == d.id {
			return
		}
	}
	for _, g := range gaps {
		o := x.calls[g.key]
		if o == nil || !o.start.OK || o.ambiguous {
			x.e.count(&anomalyGapUnknown)
			continue // the time stays without a row: its cause is not known
		}
		c := min(max(o.start.V, g.start), g.end)
		x.gapRow(d, o, g.start, c, causeNothing)
		x.gapRow(d, o, c, g.end, causeLaunch)
		x.e.flushFull()
	}
}

func (x *activityTracker) gapRow(d *actDevice, o *correlation, start, end event.Time, cause string) {
	if start >= end {
		return
	}
	row := IdleGap{DeviceID: d.id, StartNS: event.Some(start), EndNS: event.Some(end), Cause: cause, SubmitterTID: o.tid, APICallID: o.apiID}
	if p := o.key.proc; p != nil {
		row.SubmitterID = p.row.ID
	}
	x.e.rows.IdleGaps = append(x.e.rows.IdleGaps, row)
	x.e.n++
}
