package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// apiOf returns the API whose calls have the category.
func apiOf(category string) (event.API, bool) {
	if len(category) < 3 || len(category) > 16 {
		return 0, false
	}
	a := event.APIByName(category)
	return a, a != event.APIUnknown
}

// openSlice is a slice whose end must know its begin. On a track that has
// one, all slices inside it are kept, too.
type openSlice struct {
	what  sliceKind
	name  string
	start event.Time
	ev    event.Event // of what is given at the end
}

type sliceKind uint8

const (
	slicePlain   sliceKind = iota // ends as a slice
	sliceNothing                  // its end says nothing
	sliceAPI
	sliceIoctl
	sliceWait
	sliceWhole   // ev is given at the end, with its start
	sliceRunning // ev is a job_done
	sliceQueued  // ev tells the job of the stages in it
)

const (
	maxDepth = 1 << 12
	maxOpen  = 1 << 16
)

// push keeps a slice that began.
func (r *reader) push(e *trackEvent, k openSlice) {
	t := e.on
	if len(t.open) >= maxDepth || r.openAll >= maxOpen {
		r.note(&AnomalyTooMuchState, 1)
		return
	}
	r.openAll++
	t.open = append(t.open, k)
}

// pop returns the innermost kept slice of the track.
func (r *reader) pop(e *trackEvent) (openSlice, bool) {
	t := e.on
	n := len(t.open)
	if n == 0 {
		return openSlice{}, false
	}
	k := t.open[n-1]
	t.open = t.open[:n-1]
	r.openAll--
	return k, true
}

// beginAPI is a call: of our export or of another writer that names its
// category as Perfetto's GPU producers do.
func (r *reader) beginAPI(h *head, e *trackEvent, api event.API) {
	o := &e.own
	ev := r.event(event.KindAPIEnter, h, e)
	ev.SetUint(event.FieldAPI, uint64(api))
	ev.SetStr(event.FieldName, e.name)
	ev.SetStr(event.FieldKernelName, o.str(ownKernelName))
	o.setUint(ev, event.FieldStream, ownStream)
	o.setUint(ev, event.FieldBytes, ownBytes)
	o.setUint(ev, event.FieldCorrelationID, ownCorrelation)
	if e.ids > 0 {
		ev.SetInt(event.FieldCorrelationID, int64(e.submission))
	}
	o.setDims(ev, ownGrid, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
	o.setDims(ev, ownBlock, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
	k := openSlice{what: sliceAPI, name: e.name}
	k.ev.Reset(event.KindAPIExit, event.NoTime)
	k.ev.SetUint(event.FieldAPI, uint64(api))
	k.ev.SetStr(event.FieldName, e.name)
	o.setUint(&k.ev, event.FieldResult, ownResult)
	k.ev.Flags = ev.Flags
	switch o.str(ownEnd) {
	case "":
	case "not_probed":
		ev.SetBool(event.FieldEntryOnly, true)
		k.what = sliceNothing
	default:
		k.what = sliceNothing
	}
	if !o.known() && e.hasArgs && o.has == 0 {
		r.noteAt(&AnomalyFieldNotKept, 1, "arguments of call %q", e.name)
	}
	r.push(e, k)
}

// endKept gives what the end of a kept slice is.
func (r *reader) endKept(h *head, e *trackEvent, k *openSlice) {
	switch k.what {
	case slicePlain:
		r.describe(r.event(event.KindSliceEnd, h, e), e)
	case sliceNothing, sliceQueued:
	case sliceAPI, sliceIoctl, sliceWait, sliceRunning:
		ev := r.add(k.ev.Kind, h.time)
		at := ev.Time
		*ev = k.ev
		ev.Time = at
		if k.what != sliceRunning {
			ev.PID, ev.TID = e.pid, e.tid
		}
		ev.Source = "perfetto:track_event"
	case sliceWhole:
		ev := r.add(k.ev.Kind, h.time)
		at := ev.Time
		*ev = k.ev
		ev.Time = at
		ev.SetTime(event.FieldStart, k.start)
		ev.Source = "perfetto:track_event"
	}
}

// emitOwn gives what a slice or instant of gpurec's own export is. It reports
// false if the event is none.
func (r *reader) emitOwn(h *head, e *trackEvent) bool {
	switch e.typ {
	case typeBegin:
		if len(e.on.open) > 0 && !e.own.known() && !e.on.ours {
			if _, ok := apiOf(e.category); !ok { // inside a kept slice
				r.push(e, openSlice{})
				return false
			}
		}
		return r.beginOwn(h, e)
	case typeInstant:
		return r.instantOwn(h, e)
	}
	return false
}

func (r *reader) beginOwn(h *head, e *trackEvent) bool {
	if e.own.known() {
		if _, ok := e.own.num(ownAPICall); ok && e.category != "ioctl" && !strings.HasPrefix(e.category, "job.") {
			api, _ := apiOf(e.category)
			r.beginAPI(h, e, api)
			return true
		}
	} else if !e.on.ours {
		return false
	}
	switch e.category {
	case "ioctl":
		r.beginIoctl(h, e)
	case "fence_wait":
		r.beginWait(h, e)
	case "job.queued":
		r.jobQueued(h, e)
	case "job.running":
		r.jobRunning(h, e)
	case "job.stage.dependency":
		r.jobDependency(h, e)
	case "fence_wake":
		r.woken(h, e)
	case "job.stage.queue", "job.stage.hw_queue", "gpu_idle":
		r.note(&AnomalyDerived, 1)
		r.push(e, openSlice{what: sliceNothing})
	case "loss":
		r.loss(h, e)
	default:
		return r.beginWhole(h, e)
	}
	return true
}

// beginWhole keeps activities and slices, which are given at their end.
func (r *reader) beginWhole(h *head, e *trackEvent) bool {
	k := openSlice{what: sliceWhole, start: h.time}
	o := &e.own
	switch {
	case !o.known():
		return false
	case o.has&(1<<ownActivity) != 0:
		r.activityOf(e, &k.ev)
	case o.has&(1<<ownSlice) != 0:
		k.ev.Reset(event.KindSlice, event.NoTime)
		k.ev.SetStr(event.FieldName, e.name)
		if e.category != "slice" {
			k.ev.SetStr(event.FieldCategory, e.category)
		}
		k.ev.SetStr(event.FieldArgs, o.str(ownArgs))
		if e.label != "overlapping" && !strings.HasPrefix(e.label, "overlapping (") {
			k.ev.SetStr(event.FieldTrack, trimNumber(e.label))
		}
		if o.str(ownEnd) != "" { // it had not ended
			ev := r.event(event.KindSliceBegin, h, e)
			ev.SetStr(event.FieldName, e.name)
			ev.SetStr(event.FieldCategory, k.ev.Str(event.FieldCategory))
			ev.SetStr(event.FieldTrack, k.ev.Str(event.FieldTrack))
			ev.SetStr(event.FieldArgs, o.str(ownArgs))
			k.what = sliceNothing
		}
	default:
		return false
	}
	k.ev.PID, k.ev.TID = e.pid, e.tid
	if o.inferred {
		k.ev.Flags |= event.FlagPIDInferred
	}
	r.push(e, k)
	return true
}

// trimNumber takes off the number that tells lanes of one name apart.
func trimNumber(s string) string {
	i := strings.LastIndex(s, " (")
	if i < 0 || !strings.HasSuffix(s, ")") {
		return s
	}
	if _, err := strconv.Atoi(s[i+2 : len(s)-1]); err != nil {
		return s
	}
	return s[:i]
}

// activityOf fills in work on a device.
func (r *reader) activityOf(e *trackEvent, ev *event.Event) {
	o := &e.own
	ev.Reset(event.KindGPUActivity, event.NoTime)
	for a := event.ActivityOther; a <= event.ActivityCollective; a++ {
		if a.String() == o.str(ownKind) {
			ev.SetUint(event.FieldActivity, uint64(a))
		}
	}
	name := o.str(ownKernelName)
	if name == "" {
		name = e.name
	}
	ev.SetStr(event.FieldName, name)
	if v, ok := o.num(ownDevice); ok {
		ev.SetStr(event.FieldDevice, r.gpus.ownName(int64(v)))
	}
	o.setUint(ev, event.FieldStream, ownStream)
	o.setUint(ev, event.FieldContext, ownContext)
	o.setUint(ev, event.FieldBytes, ownBytes)
	o.setUint(ev, event.FieldCorrelationID, ownCorrelation)
	o.setDims(ev, ownGrid, event.FieldGridX, event.FieldGridY, event.FieldGridZ)
	o.setDims(ev, ownBlock, event.FieldBlockX, event.FieldBlockY, event.FieldBlockZ)
}

func (r *reader) beginIoctl(h *head, e *trackEvent) {
	o := &e.own
	ev := r.event(event.KindIoctlEnter, h, e)
	cmd, err := strconv.ParseUint(strings.TrimPrefix(o.str(ownCmd), "0x"), 16, 32)
	if err == nil {
		ev.SetUint(event.FieldCmd, cmd)
	}
	if !strings.HasPrefix(e.name, "ioctl 0x") {
		ev.SetStr(event.FieldName, e.name)
	}
	if d := o.str(ownDevice); strings.Contains(d, ":") {
		ev.SetStr(event.FieldDevice, d)
	} else {
		ev.SetStr(event.FieldDriver, d)
	}
	for x := event.RoleSubmit; x <= event.RoleOther; x++ {
		if x.String() == o.str(ownRole) {
			ev.SetUint(event.FieldRole, uint64(x))
		}
	}
	k := openSlice{what: sliceIoctl}
	k.ev.Reset(event.KindIoctlExit, event.NoTime)
	if err == nil {
		k.ev.SetUint(event.FieldCmd, cmd)
	}
	o.setUint(&k.ev, event.FieldResult, ownResult)
	k.ev.Flags = ev.Flags
	if o.str(ownEnd) != "" {
		k.what = sliceNothing
	}
	r.push(e, k)
}

func (r *reader) beginWait(h *head, e *trackEvent) {
	o := &e.own
	ev := r.event(event.KindFenceWaitStart, h, e)
	o.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	k := openSlice{what: sliceWait}
	k.ev.Reset(event.KindFenceWaitEnd, event.NoTime)
	o.setFence(&k.ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	k.ev.Flags = ev.Flags
	if o.str(ownEnd) != "" {
		k.what = sliceNothing
	}
	r.push(e, k)
}

// instantOwn gives the instants of our export.
func (r *reader) instantOwn(h *head, e *trackEvent) bool {
	o := &e.own
	switch {
	case o.known() && o.has&(1<<ownMark) != 0:
		ev := r.event(event.KindMark, h, e)
		ev.SetStr(event.FieldName, e.name)
		if e.category != "mark" {
			ev.SetStr(event.FieldCategory, e.category)
		}
		ev.SetStr(event.FieldArgs, o.str(ownArgs))
		r.noThread(ev, e)
	case o.known() && o.has&(1<<ownOther) != 0:
		ev := r.event(event.KindOther, h, e)
		ev.SetStr(event.FieldName, e.name)
		ev.SetStr(event.FieldArgs, o.str(ownFields))
		if v, ok := o.num(ownCPU); ok {
			ev.CPU = int32(v)
		}
		r.noThread(ev, e)
	case !e.on.ours:
		return false
	case e.category == "anomaly":
		r.ownAnomaly(e)
	case e.category == "log_line":
		ev := r.event(event.KindLogLine, h, e)
		ev.SetStr(event.FieldName, o.str(ownLog))
		ev.SetStr(event.FieldDevice, o.str(ownDevice))
		o.setUint(ev, event.FieldCode, ownCode)
	case e.category == "reset" && e.name == "reset":
		ev := r.event(event.KindReset, h, e)
		ev.SetStr(event.FieldDevice, o.str(ownDevice))
		ev.SetStr(event.FieldRing, o.str(ownRing))
	default:
		return false
	}
	return true
}

// noThread takes off what a track that is no thread lends.
func (r *reader) noThread(ev *event.Event, e *trackEvent) {
	if e.on.ours {
		ev.PID, ev.TID = event.NoID, event.NoID
	}
}

// ownAnomaly keeps what the exported log had counted.
func (r *reader) ownAnomaly(e *trackEvent) {
	o := &e.own
	n, ok := o.num(ownCount)
	if !ok || len(r.meta.Anomalies) >= 1000 {
		return
	}
	sev := event.SeverityInfo
	for s := event.SeverityInfo; s <= event.SeverityError; s++ {
		if s.String() == o.str(ownSeverity) {
			sev = s
		}
	}
	r.meta.Anomalies = append(r.meta.Anomalies, event.Anomaly{
		AnomalySpec: &event.AnomalySpec{Name: e.name, Severity: sev, Doc: o.str(ownDoc), Remedy: o.str(ownRemedy)},
		Count:       n, Sample: o.str(ownSample)})
}
