package perfetto

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

func (d *drawer) drawActivity(r *correlate.GPUActivity, k *key) {
	l := d.stream(r)
	d.begin(l.track(l.take(k.start, k.end)), k.start, k.end)
	d.w.name(firstOf(d.short(r.Name), r.Kind, "activity"))
	cat, ok := d.kinds[r.Kind]
	if !ok {
		cat = "gpu_activity." + firstOf(r.Kind, "other")
		d.kinds[r.Kind] = cat
	}
	d.w.categoryOf(cat)
	d.w.argInt(argGPUActivityID, int64(r.ID))
	d.w.argStr(argKind, r.Kind)
	d.w.argStr(argKernelName, r.Name)
	if v := d.m.devices[r.DeviceID]; v != nil && v.known {
		d.w.argInt(argDevice, v.row.Index)
	}
	if r.Stream.OK {
		d.w.argUint(argStream, r.Stream.V)
	}
	if r.Context.OK {
		d.w.argUint(argContext, r.Context.V)
	}
	d.argDim(argGrid, r.GridX, r.GridY, r.GridZ)
	d.argDim(argBlock, r.BlockX, r.BlockY, r.BlockZ)
	if r.Bytes.OK {
		d.w.argUint(argBytes, r.Bytes.V)
	}
	d.argDur(argCorrelationID, r.CorrelationID)
	d.argDur(argDurNS, r.DurNS)
	d.links(tabActivity, r.ID, apiLink)
	d.w.argStr(argUnmatchedReason, d.m.reason(tabActivity, r.ID))
	d.flows(slotActivity, r.ID)
	d.w.end()
}

// stream is the lanes of an activity's stream: under its process, else under
// its device.
func (d *drawer) stream(r *correlate.GPUActivity) *lanes {
	v := d.m.device(r.DeviceID)
	p := d.m.proc(r.ProcessID, r.PID)
	var s *streams
	if p == nil {
		if d.loose == nil {
			d.loose = map[*device]*streams{}
		}
		if s = d.loose[v]; s == nil {
			s = &streams{group: v.track.child("streams", 6), streams: map[uint64]*lanes{}}
			d.loose[v] = s
		}
	} else if s = p.streams[v]; s == nil {
		s = &streams{group: p.track.child(v.label+" streams", 0), streams: map[uint64]*lanes{}}
		p.streams[v] = s
	}
	s.group.ordered = true
	if !r.Stream.OK {
		if s.other == nil {
			s.other = &lanes{parent: s.group, name: "stream unknown", rank: 1 << 30}
		}
		return s.other
	}
	l := s.streams[r.Stream.V]
	if l == nil {
		l = &lanes{parent: s.group, name: "stream " + strconv.FormatUint(r.Stream.V, 10), rank: int32(min(r.Stream.V, 1<<30-1))}
		s.streams[r.Stream.V] = l
	}
	return l
}

// launch is a change of the backlog of a device known only through activities.
type launch struct {
	Time   int64
	Device correlate.ID
	By     int64
}

func compareLaunch(a, b *launch) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(b.By, a.By), cmp.Compare(a.Device, b.Device))
}

// planActivities adds what activities tell about utilisation and backlog.
func (d *drawer) planActivities() error {
	d.launches = export.NewSorter(compareLaunch, d.o.o.MaxMemory/8, d.o.o.TempDir)
	d.rows.all = append(d.rows.all, d.launches)
	return d.rows.activities.Each(func(r *correlate.GPUActivity) error {
		v := d.m.devices[r.DeviceID]
		if v == nil || len(v.rings) > 0 {
			return nil
		}
		s, e, _ := activitySpan(r)
		v.addBusy(d, s, e)
		at := s
		if c := d.m.apis.get(r.APICallID); c != nil && c.ok && c.start <= s {
			at = c.start
		}
		if err := d.launches.Push(&launch{at, r.DeviceID, 1}); err != nil {
			return err
		}
		return d.launches.Push(&launch{e, r.DeviceID, -1})
	})
}

func (d *drawer) drawLaunch(l *launch, _ *key) {
	d.add(d.m.devices[l.Device].backlog, l.Time, l.By)
}

func (d *drawer) drawGap(r *correlate.IdleGap, k *key) {
	v := d.m.device(r.DeviceID)
	t := v.idle
	if r.Ring != "" {
		t = d.m.ring(r.DeviceID, r.Ring).idle
	}
	if len(t.open) > 0 {
		d.m.counters.Add(&AnomalyIdleOverlap, 1)
		return
	}
	d.begin(t, k.start, k.end)
	d.w.name(firstOf(strings.ReplaceAll(r.Cause, "_", " "), "unknown"))
	d.w.category(catIdle)
	d.w.argStr(argRing, r.Ring)
	d.w.argStr(argDevice, v.arg)
	d.w.argStr(argCause, r.Cause)
	if r.JobID != 0 {
		d.w.argInt(argNextJobID, int64(r.JobID))
	}
	d.w.argInt(argDurNS, k.end-k.start)
	if r.SubmitterWas != "" {
		if j := d.m.jobs.get(r.JobID); j != nil && j.thread != nil {
			d.w.argStr(argSubmitter, strings.TrimSpace(j.thread.name+" "+strconv.FormatInt(j.thread.tid, 10)))
		}
		d.w.argStr(argSubmitterWas, r.SubmitterWas)
	}
	if r.WaitsForID != 0 {
		d.w.argInt(argWaitsForJobID, int64(r.WaitsForID))
		if j := d.m.jobs.get(r.WaitsForID); j != nil && j.ring != nil {
			d.w.argStr(argWaitsForRing, j.ring.name)
		}
	}
	d.w.end()
}

func (d *drawer) drawLoss(r *correlate.Loss, k *key) {
	if d.lossL == nil {
		d.lossL = &lanes{parent: d.gpurec, name: "losses", rank: 1}
	}
	d.begin(d.lossL.track(d.lossL.take(k.start, k.end)), k.start, k.end)
	if r.Count.OK {
		d.w.name(fmt.Sprintf("lost %d events", r.Count.V))
	} else {
		d.w.name("lost events")
	}
	d.w.category(catLoss)
	d.w.argStr(argStream, r.Stream)
	d.argDur(argCPU, r.CPU)
	if r.Count.OK {
		d.w.argUint(argCount, r.Count.V)
	}
	d.w.argStr(argRemedy, r.Remedy)
	d.w.end()
}

func (d *drawer) drawReset(r *correlate.Reset, k *key) {
	v := d.m.device(r.DeviceID)
	d.instant(v.resets, k.start)
	if r.Rule == "inferred" {
		d.w.name("reset (inferred)")
	} else {
		d.w.name("reset")
	}
	d.w.category(catReset)
	d.w.argStr(argRing, r.Ring)
	d.w.argStr(argDevice, v.arg)
	d.w.argStr(argHWFence, r.HWFence)
	d.w.argText(argLog, r.Log)
	d.links(tabReset, r.ID, resetLink)
	d.w.end()
}

// drawCounter writes a sampled value, under its device or process.
func (d *drawer) drawCounter(r *correlate.Counter, k *key) {
	var parent *track
	if v := d.m.devices[r.DeviceID]; v != nil && r.DeviceID != 0 {
		parent = v.track
	} else if p := d.m.proc(r.ProcessID, correlate.OptInt{}); p != nil && r.ProcessID != 0 {
		parent = p.track
	}
	path := fmt.Sprintf("%d/%d/%s", r.DeviceID, r.ProcessID, r.Name)
	t := d.plain[path]
	if t == nil {
		unit := r.Unit
		if unit != "" {
			unit = " " + unit
		}
		name := r.Name
		switch name {
		case "utilisation", "backlog", "resets", "idle": // ours
			name += " (sampled)"
		}
		t = &track{parent: parent, name: name, counter: true, unit: unit, rank: 40}
		d.plain[path] = t
	}
	d.w.countReal(d.tr.id(t), k.start, r.Value)
}

func (d *drawer) drawMark(r *correlate.Mark, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.w.name(firstOf(r.Name, "mark"))
	d.w.categoryOf(firstOf(r.Category, "mark"))
	d.w.argInt(argMarkID, int64(r.ID))
	d.w.argText(argArgs, r.Args)
	d.w.end()
}

func (d *drawer) drawOther(r *correlate.Other, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.w.name(firstOf(r.Name, "event"))
	d.w.category(catOther)
	d.w.argInt(argOtherID, int64(r.ID))
	d.argDur(argCPU, r.CPU)
	d.w.argText(argFields, r.Fields)
	d.w.end()
}

// threadTrack is where an instant of a thread stands.
func (d *drawer) threadTrack(id correlate.ID, pid, tid correlate.OptInt) *track {
	if t := d.m.thread(id, pid, tid); t != nil {
		return t.track
	}
	if d.loneMarks == nil {
		d.loneMarks = d.gpurec.child("events without a thread", 5)
	}
	return d.loneMarks
}

func (d *drawer) drawLog(r *correlate.LogLine, k *key) {
	if d.logs == nil {
		d.logs = d.gpurec.child("kernel log", 3)
	}
	d.instant(d.logs, k.start)
	line, _, _ := strings.Cut(r.Text, "\n")
	d.w.name(firstOf(line, "log line"))
	d.w.category(catLog)
	d.argDur(argCode, r.Code)
	d.w.argStr(argDevice, d.deviceArg(r.DeviceID))
	d.w.argText(argLog, r.Text)
	d.w.end()
}

// first writes the values that counters have when the trace starts.
func (d *drawer) first() {
	for _, v := range d.devices {
		for _, r := range v.rings {
			if r.jobs {
				d.add(r.backlog, d.start, 0)
			}
			if r.hidden != nil {
				d.add(r.hidden, d.start, 0)
			}
		}
		d.utilisation(v)
	}
	for _, id := range d.m.jobIDs {
		j := d.m.jobs.get(id)
		if j.flags&(jobQueued|jobHidden) == 0 {
			continue
		}
		if c := d.inflight(j); c != nil && c.track.uuid == 0 {
			d.add(c, d.start, 0)
		}
	}
}

// utilisation announces the values of a device's utilisation: one for each
// window that differs from the one before, and 0 at the end.
func (d *drawer) utilisation(v *device) {
	if len(v.busy) == 0 {
		return
	}
	c, last := &counter{track: v.util}, -1.0
	at := d.start
	value := func(x float64) {
		if x != last {
			d.announce(later{key: key{start: at, class: classRest}, op: opValue, c: c, v: x})
			last = x
		}
	}
	for _, busy := range v.busy {
		width := min(d.window, d.end-at)
		if width <= 0 {
			break
		}
		value(busy / float64(width) * 100)
		at += d.window
	}
	at = min(at, d.end)
	value(0)
}

// anomalies writes what the whole trace should not be read without: at its
// end, since only then all are known.
func (d *drawer) anomalies() {
	if c := d.clockText(); c != "" {
		d.anomaly(c, "info", 0, "times are as the source gave them", "name the clock with --clock, or record with the boot clock", "")
	}
	for i := range d.o.anomalies {
		a := &d.o.anomalies[i]
		d.anomaly(a.Name, a.Severity, a.Count, a.Doc, a.Remedy, a.Sample)
	}
	for _, a := range d.m.counters.List() {
		d.anomaly(a.Name, a.Severity.String(), a.Count, a.Doc, a.Remedy, a.Sample)
	}
}

func (d *drawer) anomaly(name, severity string, count uint64, doc, remedy, sample string) {
	if d.odd == nil {
		d.odd = d.gpurec.child("anomalies", 2)
	}
	d.instant(d.odd, d.end)
	d.w.name(name)
	d.w.category(catAnomaly)
	d.w.argStr(argSeverity, severity)
	if count > 0 {
		d.w.argUint(argCount, count)
	}
	d.w.argStr(argDoc, doc)
	d.w.argStr(argRemedy, remedy)
	d.w.argStr(argSample, sample)
	d.w.end()
}
