package correlate

import (
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// maxActivityGaps bounds the gaps of a device that later work may still fill.
const maxActivityGaps = 1 << 12

// keptActivityGaps are those that a device keeps where all devices have too many.
const keptActivityGaps = 4

const causeLaunch = "launch_latency"

// actDevice is what a device that shows activities did, and when it did nothing.
type actDevice struct {
	dev  *device
	any  bool
	end  event.Time // greatest so far: activities come in the order of their ends
	gaps []actGap

	given event.Time // end of the last gap that was given; 0: none
}

// actGap is a time without any activity, ended by the work of key.
type actGap struct {
	start, end event.Time
	key        correlationKey
}

// busy takes an activity: it fills the gaps that it covers, as work of another
// stream may have begun before them, and opens the one before it.
func (x *activityTracker) busy(r *GPUActivity, dev *device, key correlationKey) {
	if r.DeviceID == 0 || r.SameAsID != 0 || !r.StartNS.OK || !r.EndNS.OK || r.StartNS.V > r.EndNS.V || r.Kind == event.ActivityOther.String() {
		return
	}
	d := x.devs[r.DeviceID]
	if d == nil {
		d = &actDevice{dev: dev}
		x.devs[r.DeviceID] = d
		x.devOrder = append(x.devOrder, d)
	}
	s, e := r.StartNS.V, r.EndNS.V
	if s < d.given {
		x.e.count(&anomalyGapEarly)
	}
	held := len(d.gaps)
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
	x.gaps += len(d.gaps) - held
	if len(d.gaps) > maxActivityGaps {
		x.giveOldGaps(d, maxActivityGaps/2)
	}
	x.trimGaps()
}

// trimGaps gives the gaps of all devices but the last few, where there are too many.
func (x *activityTracker) trimGaps() {
	if x.gaps <= x.e.caps.Gaps {
		return
	}
	for keep := keptActivityGaps; keep >= 0 && x.gaps > x.e.caps.Gaps/2; keep -= keptActivityGaps {
		for _, d := range x.devOrder {
			if n := len(d.gaps) - keep; n > 0 {
				x.giveOldGaps(d, n)
			}
		}
	}
}

// giveOldGaps gives the first n gaps of a device.
func (x *activityTracker) giveOldGaps(d *actDevice, n int) {
	d.given = d.gaps[n-1].end
	x.gaps -= n
	x.giveGaps(d, d.gaps[:n])
	d.gaps = append([]actGap(nil), d.gaps[n:]...)
}

// deviceGoes gives what is held of a device whose row is given.
func (x *activityTracker) deviceGoes(dev *device) {
	d := x.devs[dev.row.ID]
	if d == nil {
		return
	}
	delete(x.devs, dev.row.ID)
	x.gaps -= len(d.gaps)
	x.giveGaps(d, d.gaps)
}

// devicesWent drops the devices that have gone from the list.
func (x *activityTracker) devicesWent() {
	x.devOrder = slices.DeleteFunc(x.devOrder, func(d *actDevice) bool { return x.devs[d.dev.row.ID] != d })
}

// giveGaps gives gaps of a device that has no rings. Until the call that led
// to the next work began nothing was submitted; from then on it was on its way.
func (x *activityTracker) giveGaps(d *actDevice, gaps []actGap) {
	if d.dev.rings {
		return
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
	row := IdleGap{DeviceID: d.dev.row.ID, StartNS: event.Some(start), EndNS: event.Some(end), Cause: cause, SubmitterTID: o.tid, APICallID: o.apiID}
	if p := o.key.proc; p != nil {
		row.SubmitterID = p.row.ID
	}
	x.e.rows.IdleGaps = append(x.e.rows.IdleGaps, row)
	x.e.n++
}
