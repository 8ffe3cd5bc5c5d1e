package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// maxQueuedLanes bounds the rows of jobs that wait on one ring.
const maxQueuedLanes = 12

// plan decides what needs the whole trace: the time range, tracks and ranks,
// which jobs are drawn where, utilisation, and the flows.
func (d *drawer) plan() error {
	if err := d.settleJobs(); err != nil {
		return err
	}
	d.planDevices()
	d.planProcs()
	if err := d.planLanes(); err != nil {
		return err
	}
	if err := d.planActivities(); err != nil {
		return err
	}
	d.planWakes()
	d.planFlows()
	if err := d.planStages(); err != nil {
		return err
	}
	return d.m.pages.err
}

// settling is a job in the order in which jobs are settled.
type settling struct {
	Start, Done int64
	ID          correlate.ID
}

func compareSettling(a, b *settling) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Done, b.Done), cmp.Compare(a.ID, b.ID))
}

// settleJobs decides which jobs run and until when. Running intervals of one
// ring are disjoint, unless done events were lost.
func (d *drawer) settleJobs() error {
	d.window = windowOf(d.start, d.end)
	return d.rows.settle.Each(func(s *settling) error {
		j := d.m.jobs.put(s.ID)
		r := d.m.ringOf(j)
		if r == nil {
			return d.m.pages.err
		}
		d.settleJob(j, r)
		if j.flags&jobRunning != 0 {
			r.device.addBusy(d, j.start, j.end)
		}
		return nil
	})
}

func (d *drawer) settleJob(j *jobInfo, r *ring) {
	switch {
	case j.start == never: // never ran, or nobody saw it
		switch {
		case j.finished != never:
			j.end = j.finished
		case j.done != never:
			j.end, j.flags = j.done, j.flags|jobLost
		case j.flags&jobLost != 0:
			j.end = j.queued
		default:
			j.end, j.flags = d.end, j.flags|jobOpen
		}
	case j.done == never && j.finished != never && j.flags&jobOpen == 0:
		j.end = j.finished // killed while it ran
		d.tryRun(j, r)
	case j.done == never && (j.flags&jobLost != 0 || j.start < r.lastRun):
		j.end, j.flags = j.start, (j.flags|jobLost)&^jobOpen
		if j.queued == never {
			j.end = never
		}
	case j.done == never && r.open: // behind the job that runs at the end
		j.end, j.flags = d.end, j.flags|jobOpen
	case j.done == never:
		j.end, j.flags = d.end, j.flags|jobOpen
		d.tryRun(j, r)
		r.open = j.flags&jobRunning != 0
	default:
		j.end = j.done
		d.tryRun(j, r)
	}
	if j.flags&jobRunning == 0 && j.queued != never && j.end != never {
		j.end = max(j.end, j.queued)
	}
}

// tryRun draws job.running if its ring is free.
func (d *drawer) tryRun(j *jobInfo, r *ring) {
	if j.end < j.start {
		d.m.counters.Add(&AnomalyDisorder, 1)
		j.end = j.start
	}
	if j.start < r.busyTo {
		if !r.shared {
			d.m.counters.Add(&AnomalyRingOverlap, 1)
		}
		j.end, j.flags = max(j.start, j.queued), j.flags|jobLost
		return
	}
	r.busyTo = j.end
	j.flags |= jobRunning
}

// windowOf is the width of a window of utilisation: the least of 1, 2, 5 × 10^k
// milliseconds of which a trace has at most 200.
func windowOf(start, end int64) int64 {
	const ms = 1e6
	for w := int64(ms); ; w *= 10 {
		for _, f := range []int64{1, 2, 5} {
			if (end-start)/(w*f) < 200 || w > 1e17 {
				return w * f
			}
		}
	}
}

// addBusy adds a running interval to the union over the device's rings.
// Intervals come in order of their starts.
func (v *Device) addBusy(d *drawer, start, end int64) {
	start = max(start, v.busyTo)
	if end <= start {
		return
	}
	v.busyTo = end
	for t := start; t < end; {
		i := (t - d.start) / d.window
		next := min(end, d.start+(i+1)*d.window)
		if i < 0 || i > 4096 { // outside of the trace: its range was wrong
			return
		}
		for int64(len(v.busy)) <= i {
			v.busy = append(v.busy, 0)
		}
		v.busy[i] += float64(next - t)
		t = next
	}
}

// planDevices names and orders devices and rings.
func (d *drawer) planDevices() {
	for _, v := range d.m.devices {
		d.devices = append(d.devices, v)
	}
	slices.SortFunc(d.devices, func(a, b *Device) int {
		if a.Known != b.Known {
			if a.Known {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Row.Index, b.Row.Index), cmp.Compare(a.Row.ID, b.Row.ID))
	})
	width := 1
	for _, v := range d.devices {
		if v.Known {
			width = max(width, len(strconv.FormatInt(v.Row.Index, 10)))
		}
	}
	for _, v := range d.devices {
		d.planDevice(v, width)
	}
}

func (d *drawer) planDevice(v *Device, width int) {
	v.arg = firstOf(v.Row.Device, v.Row.Name, v.Row.Driver)
	v.label = "GPU unknown"
	name := "GPU unknown (no event names the device)"
	if v.Known {
		v.label = fmt.Sprintf("GPU %0*d", width, v.Row.Index)
		name = v.label
		if title := firstOf(v.Row.Name, v.Row.Driver, v.Row.Identity()); title != "" {
			name += " (" + title + ")"
		}
	}
	if v.Row.ID == furtherDevices {
		v.label, name = "GPUs (further)", "GPUs (further)"
	}
	v.track = &Track{Name: name, Ordered: true, Group: true, Description: deviceText(v)}
	v.util = v.track.childCounter("utilisation", " %", 1)
	v.util.Description = "Share of each window in which at least one ring runs a job."
	v.resets = v.track.child("resets", 2)
	v.idle = v.track.child("idle", 3)
	v.backlog = &counter{track: v.track.childCounter("backlog", " activities", 4)}
	slices.SortStableFunc(v.rings, func(a, b *ring) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.name, b.name))
	})
	for i, r := range v.rings {
		r.track = v.track.child("ring "+firstOf(r.name, "unknown"), int32(10+i))
		r.track.Ordered = true
		r.track.Description = "Running jobs: from max(run, previous done on this ring) to done."
		r.idle = r.track.child("idle", 1)
		r.idle.Description = "Time in which no job of this ring runs, by cause."
		b := r.track.childCounter("backlog", " jobs", 2)
		b.Ordered = true
		b.Description = "Jobs queued and not yet done."
		r.backlog = &counter{track: b}
		r.queued = lanes{parent: b, name: "queued", rank: 3, limit: maxQueuedLanes, parts: "stages"}
	}
}

func deviceText(v *Device) string {
	s := ""
	add := func(key, val string) {
		if val != "" {
			if s != "" {
				s += ", "
			}
			s += key + " " + val
		}
	}
	add("device", v.Row.Device)
	add("driver", v.Row.Driver)
	add("version", v.Row.Version)
	add("host", v.Row.Host)
	if v.Row.Rule == "inferred" {
		add("identity", "inferred")
	}
	return s
}

func firstOf(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

// planProcs ranks processes by their first GPU event and threads by their first event.
func (d *drawer) planProcs() {
	for _, p := range d.m.procs {
		d.procs = append(d.procs, p)
	}
	slices.SortFunc(d.procs, func(a, b *Process) int {
		if (a.first == never) != (b.first == never) {
			if a.first == never {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.ID, b.ID), cmp.Compare(a.PID, b.PID))
	})
	placeAll(d.procs)
	for i, p := range d.procs {
		p.rank = int32(min(-1000+i, -1))
		p.track = &Track{Process: p, Rank: p.rank}
		list := make([]*Thread, 0, len(p.Threads))
		for _, t := range p.Threads {
			if t.Name == "" && t.TID == p.PID {
				t.Name = p.Name
			}
			list = append(list, t)
		}
		slices.SortFunc(list, func(a, b *Thread) int {
			if (a.first == never) != (b.first == never) {
				if a.first == never {
					return 1
				}
				return -1
			}
			return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.TID, b.TID))
		})
		for k, t := range list {
			t.track = &Track{Parent: p.track, Thread: t, Rank: int32(1 + k)}
		}
	}
}

// planLanes gives each job its lane, in order of queued.
func (d *drawer) planLanes() error {
	return d.rows.jobs.Each(func(r *jobRow) error {
		j := d.m.jobs.put(r.id)
		ring := d.m.ringOf(j)
		if j.queued == never || ring == nil {
			return d.m.pages.err
		}
		if j.flags&jobRunning != 0 && j.start < j.queued {
			// It cannot be both: the queue event is out of place.
			d.m.counters.Add(&AnomalyDisorder, 1)
			return nil
		}
		d.countsIn(j)
		lane := ring.queued.take(j.queued, j.queuedEnd())
		if lane < 0 {
			j.flags |= jobHidden
			if ring.hidden == nil {
				ring.hidden = &counter{track: ring.backlog.track.childCounter("queued, not drawn", " jobs", 4)}
			}
			return nil
		}
		j.lane, j.flags = uint8(lane), j.flags|jobQueued
		return nil
	})
}

// countedIn is a process on a device: its jobs in flight are counted.
type countedIn struct {
	process *Process
	device  *Device
}

// countsIn notes the counter of jobs in flight that a job that is drawn needs.
func (d *drawer) countsIn(j *jobInfo) {
	t := d.m.threadOf(j)
	if t == nil {
		return
	}
	k := countedIn{t.Process, d.m.ringOf(j).device}
	if d.counted[k] {
		return
	}
	if c := d.inflight(j); c != nil {
		d.counted[k] = true
		d.inflights = append(d.inflights, c)
	}
}
