package picture

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

func (d *drawer) drawActivity(r *activityRow, _ *key) {
	l := d.stream(r)
	d.begin(l.track(l.take(r.start, r.end)), r.start, r.end)
	d.pen.Name(d.activityName(r))
	d.pen.CategoryText(d.activityCategory(r.kind))
	d.pen.Int(argGPUActivityID, int64(r.id))
	d.argSymbol(argKind, r.kind)
	d.argSymbol(argKernelName, r.name)
	if v := d.m.ownDevice(r.device); v != nil && v.Known {
		d.pen.Int(argDevice, v.Row.Index)
	}
	if r.marks.has(hasStream) {
		d.pen.Uint(argStream, r.stream)
	}
	if r.marks.has(hasContext) {
		d.pen.Uint(argContext, r.context)
	}
	d.argDims(argGrid, r.grid)
	d.argDims(argBlock, r.block)
	if r.marks.has(hasBytes) {
		d.pen.Uint(argBytes, r.bytes)
	}
	d.argIf(argCorrelationID, r.marks.has(hasCorrelation), r.correlation)
	d.argIf(argDurNS, r.marks.has(hasDelay), r.dur)
	d.argCut(r.marks)
	d.alsoIn(tabActivity, r.id)
	links := d.m.linksOf(tabActivity, r.id)
	d.links(links.to, apiLink)
	d.pen.Str(argUnmatchedReason, d.m.reason(tabActivity, r.id))
	d.flows(links, slotActivity)
	d.pen.Done()
	d.renderStage(r)
}

func (d *drawer) activityName(r *activityRow) string {
	if r.name != 0 {
		if s := d.shortOf(r.name); s != "" {
			return s
		}
	}
	return firstOf(d.m.symbols.text(r.kind), "activity")
}

func (d *drawer) activityCategory(kind symbol) string {
	cat, ok := d.kinds[kind]
	if !ok {
		cat = "gpu_activity." + firstOf(d.m.symbols.text(kind), "other")
		d.kinds[kind] = cat
	}
	return cat
}

// streams are the lanes of one process on one device: under the process, or
// under the device where there is none.
func (d *drawer) streams(p *Process, v *Device) *streams {
	var s *streams
	if p == nil {
		if d.loose == nil {
			d.loose = map[*Device]*streams{}
		}
		if s = d.loose[v]; s == nil {
			s = &streams{group: v.track.child("streams", 6), streams: map[uint64]*lanes{}}
			d.loose[v] = s
		}
	} else if s = p.streams[v]; s == nil {
		s = &streams{group: p.track.child(v.label+" streams", 0), streams: map[uint64]*lanes{}}
		if p.streams == nil {
			p.streams = map[*Device]*streams{}
		}
		p.streams[v] = s
	}
	s.group.Ordered, s.group.Group = true, true
	return s
}

// stream is the lanes of an activity's stream.
func (d *drawer) stream(r *activityRow) *lanes {
	v, p := d.m.deviceAt(r.device), d.m.processAt(r.process)
	if v != d.lastStreams.device || p != d.lastStreams.process || d.lastStreams.s == nil {
		d.lastStreams = lastStreams{p, v, d.streams(p, v)}
	}
	s := d.lastStreams.s
	if !r.marks.has(hasStream) {
		if s.other == nil {
			s.other = &lanes{parent: s.group, name: "stream unknown", rank: 1 << 30}
		}
		return s.other
	}
	l := s.streams[r.stream]
	if l == nil {
		l = &lanes{parent: s.group, name: "stream " + strconv.FormatUint(r.stream, 10), rank: int32(min(r.stream, 1<<30-1))}
		s.streams[r.stream] = l
	}
	return l
}

// lastStreams are those found last.
type lastStreams struct {
	process *Process
	device  *Device
	s       *streams
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
	return d.rows.activities.Each(func(r *activityRow) error {
		v := d.m.ownDevice(r.device)
		if v == nil || len(v.rings) > 0 {
			return nil
		}
		v.addBusy(d, r.start, r.end)
		at := r.start
		if c := d.m.apis.get(d.m.drawnAs(tabAPI, r.api)); c.ok() && c.start <= at {
			at = c.start
		}
		if err := d.launches.Push(&launch{at, r.device, 1}); err != nil {
			return err
		}
		return d.launches.Push(&launch{r.end, r.device, -1})
	})
}

func (d *drawer) drawLaunch(l *launch, _ *key) {
	d.add(d.m.ownDevice(l.Device).backlog, l.Time, l.By)
}

func (d *drawer) drawGap(r *correlate.IdleGap, k *key) {
	v := d.m.deviceAt(r.DeviceID)
	t, shared := v.idle, false
	if r.Ring != "" {
		ring := d.m.ringAt(r.DeviceID, r.Ring)
		t, shared = ring.idle, ring.shared
	}
	if len(t.open) > 0 {
		if !shared {
			d.m.counters.Add(&AnomalyIdleOverlap, 1)
		}
		return
	}
	d.begin(t, k.start, k.end)
	d.pen.Name(firstOf(strings.ReplaceAll(r.Cause, "_", " "), "unknown"))
	d.pen.Category(catIdle)
	d.pen.Str(argRing, r.Ring)
	d.pen.Str(argDevice, v.arg)
	d.pen.Str(argCause, r.Cause)
	if r.JobID != 0 {
		d.pen.Int(argNextJobID, int64(r.JobID))
	}
	d.pen.Int(argDurNS, k.end-k.start)
	d.argClip(r.StartNS, r.EndNS)
	if r.SubmitterWas != "" || r.SubmitterTID.OK {
		if t := d.submitter(r); t != nil {
			d.pen.Str(argSubmitter, strings.TrimSpace(t.Name+" "+strconv.FormatInt(t.TID, 10)))
		}
		d.pen.Str(argSubmitterWas, r.SubmitterWas)
	}
	if r.WaitsForID != 0 {
		d.pen.Int(argWaitsForJobID, int64(r.WaitsForID))
		j := d.m.jobs.get(r.WaitsForID)
		if on := d.m.ringOf(&j); on != nil {
			d.pen.Str(argWaitsForRing, on.name)
		}
	}
	d.pen.Done()
}

// submitter is the thread whose submission ended a gap, or nil.
func (d *drawer) submitter(r *correlate.IdleGap) *Thread {
	if r.SubmitterTID.OK {
		return d.m.thread(r.SubmitterID, correlate.OptInt{}, r.SubmitterTID)
	}
	j := d.m.jobs.get(r.JobID)
	return d.m.threadOf(&j)
}

func (d *drawer) drawLoss(r *correlate.Loss, k *key) {
	if d.lossL == nil {
		d.lossL = &lanes{parent: d.gpurec, name: "losses", rank: 1}
	}
	d.begin(d.lossL.track(d.lossL.take(k.start, k.end)), k.start, k.end)
	if r.Count.OK {
		d.pen.Name(fmt.Sprintf("lost %d events", r.Count.V))
	} else {
		d.pen.Name("lost events")
	}
	d.pen.Category(catLoss)
	d.pen.Str(argStream, r.Stream)
	d.argDur(argCPU, r.CPU)
	if r.Count.OK {
		d.pen.Uint(argCount, r.Count.V)
	}
	d.argClip(r.StartNS, r.EndNS)
	d.pen.Str(argRemedy, r.Remedy)
	d.pen.Done()
}

func (d *drawer) drawReset(r *correlate.Reset, k *key) {
	v := d.m.deviceAt(r.DeviceID)
	d.instant(v.resets, k.start)
	if r.Rule == "inferred" {
		d.pen.Name("reset (inferred)")
	} else {
		d.pen.Name("reset")
	}
	d.pen.Category(catReset)
	d.pen.Str(argRing, r.Ring)
	d.pen.Str(argDevice, v.arg)
	d.pen.Str(argHWFence, r.HWFence)
	d.pen.Text(argLog, r.Log)
	d.links(d.m.linksOf(tabReset, r.ID).to, resetLink)
	d.pen.Done()
}

// drawCounter writes a sampled value, under its device or process.
func (d *drawer) drawCounter(r *correlate.Counter, k *key) {
	var parent *Track
	if v := d.m.devices[r.DeviceID]; v != nil && r.DeviceID != 0 {
		parent = v.track
	} else if p := d.m.process(r.ProcessID, correlate.OptInt{}); p != nil && r.ProcessID != 0 {
		parent = p.track
	}
	path := fmt.Sprintf("%d/%d/%s", r.DeviceID, r.ProcessID, r.Name)
	t := d.plain[path]
	if t == nil {
		unit := r.Unit
		if unit != "" {
			unit = " " + unit
		}
		name := firstOf(r.Name, "unnamed counter")
		switch name {
		case "utilisation", "backlog", "resets", "idle": // ours
			name += " (sampled)"
		}
		t = &Track{Parent: parent, Name: name, Counter: true, Unit: unit, Rank: 40}
		d.plain[path] = t
	}
	d.pen.CountReal(t, k.start, r.Value)
}

func (d *drawer) drawMark(r *correlate.Mark, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.pen.Name(firstOf(r.Name, "mark"))
	d.pen.CategoryText(firstOf(r.Category, "mark"))
	d.pen.Int(argMarkID, int64(r.ID))
	d.pen.Text(argArgs, r.Args)
	d.pen.Done()
}

func (d *drawer) drawOther(r *correlate.Other, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.pen.Name(firstOf(r.Name, "event"))
	d.pen.Category(catOther)
	d.pen.Int(argOtherID, int64(r.ID))
	d.argDur(argCPU, r.CPU)
	d.pen.Text(argFields, r.Fields)
	d.pen.Done()
}

// threadTrack is where an instant of a thread stands.
func (d *drawer) threadTrack(id correlate.ID, pid, tid correlate.OptInt) *Track {
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
	d.pen.Name(firstOf(line, "log line"))
	d.pen.Category(catLog)
	d.argDur(argCode, r.Code)
	d.pen.Str(argDevice, d.deviceArg(r.DeviceID))
	d.pen.Text(argLog, r.Text)
	d.pen.Done()
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
	for _, c := range d.inflights {
		d.add(c, d.start, 0)
	}
}

// utilisation announces the values of a device's utilisation: one for each
// window that differs from the one before, and 0 at the end.
func (d *drawer) utilisation(v *Device) {
	if len(v.busy) == 0 {
		return
	}
	c, last := &counter{track: v.util}, -1.0
	at := d.start
	value := func(x float64) {
		if x != last {
			d.values = append(d.values, value{c, x})
			d.announce(later{key: key{start: at, class: classRest}, op: opValue, ref: uint32(len(d.values) - 1)})
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

// anomalies draws what the whole trace should not be read without: at its
// end, since only then all are known.
func (d *drawer) anomalies() {
	for _, a := range d.listAnomalies() {
		if d.odd == nil {
			d.odd = d.gpurec.child("anomalies", 2)
		}
		d.instant(d.odd, d.end)
		d.pen.Name(a.Name)
		d.pen.Category(catAnomaly)
		d.pen.Str(argSeverity, a.Severity)
		if a.Count > 0 {
			d.pen.Uint(argCount, a.Count)
		}
		d.pen.Str(argDoc, a.Doc)
		d.pen.Str(argRemedy, a.Remedy)
		d.pen.Str(argSample, a.Sample)
		d.pen.Done()
	}
}

// listAnomalies is complete when all else is drawn.
func (d *drawer) listAnomalies() (list []Anomaly) {
	if c := d.clockNote(); c != "" {
		list = append(list, Anomaly{Name: c, Severity: "info", Doc: "times are as the source gave them",
			Remedy: "name the clock with --clock, or record with the boot clock"})
	}
	for i := range d.o.anomalies {
		list = append(list, Anomaly(d.o.anomalies[i]))
	}
	for _, a := range d.m.counters.List() {
		list = append(list, Anomaly{Name: a.Name, Severity: a.Severity.String(), Count: a.Count, Doc: a.Doc, Remedy: a.Remedy, Sample: a.Sample})
	}
	return list
}
