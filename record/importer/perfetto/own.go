package perfetto

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Arguments that gpurec's own export writes (docs/perfetto.md), and by which
// its slices become events again. Those of launches are common to other writers.
type ownArgument uint8

const (
	ownNone ownArgument = iota
	ownAPICall
	ownIoctl
	ownWait
	ownJob
	ownActivity
	ownSlice
	ownMark
	ownOther
	ownLastID // the ones above are row numbers: only our export has them
	ownResult
	ownStream
	ownBytes
	ownCorrelation
	ownSchedJob
	ownPID
	ownTID
	ownQueueDelay
	ownHWQueue
	ownError
	ownHidden
	ownContext
	ownCPU
	ownCount
	ownCode
	ownInferred
	ownKernelName
	ownGrid
	ownBlock
	ownDevice
	ownCmd
	ownRole
	ownEnd
	ownFence
	ownRing
	ownHWFence
	ownOnFence
	ownKind
	ownRemedy
	ownLog
	ownArgs
	ownFields
	ownSeverity
	ownDoc
	ownSample
	ownIgnored // follows from others
	numOwn
)

// ownArg returns which argument a name is.
func ownArg(name string) ownArgument {
	switch name {
	case "api_call_id":
		return ownAPICall
	case "ioctl_id":
		return ownIoctl
	case "fence_wait_id":
		return ownWait
	case "job_id":
		return ownJob
	case "gpu_activity_id":
		return ownActivity
	case "slice_id":
		return ownSlice
	case "mark_id":
		return ownMark
	case "other_id":
		return ownOther
	case "result":
		return ownResult
	case "stream":
		return ownStream
	case "bytes":
		return ownBytes
	case "correlation_id":
		return ownCorrelation
	case "sched_job_id":
		return ownSchedJob
	case "pid":
		return ownPID
	case "tid":
		return ownTID
	case "queue_delay_ns":
		return ownQueueDelay
	case "hw_queue_ns":
		return ownHWQueue
	case "error":
		return ownError
	case "queued_hidden":
		return ownHidden
	case "context":
		return ownContext
	case "cpu":
		return ownCPU
	case "count":
		return ownCount
	case "code":
		return ownCode
	case "pid_inferred":
		return ownInferred
	case "kernel_name":
		return ownKernelName
	case "grid":
		return ownGrid
	case "block":
		return ownBlock
	case "device":
		return ownDevice
	case "cmd":
		return ownCmd
	case "role":
		return ownRole
	case "end":
		return ownEnd
	case "fence":
		return ownFence
	case "ring":
		return ownRing
	case "hw_fence":
		return ownHWFence
	case "depends_on_fence":
		return ownOnFence
	case "kind":
		return ownKind
	case "remedy":
		return ownRemedy
	case "log":
		return ownLog
	case "args":
		return ownArgs
	case "fields":
		return ownFields
	case "severity":
		return ownSeverity
	case "doc":
		return ownDoc
	case "sample":
		return ownSample
	case "errno", "links", "rule", "confidence", "wait_ns", "wake_ns", "already_signalled", "unmatched_reason", "device_time_ns",
		"depends_on_job_id", "depends_on_ring", "cause", "next_job_id", "dur_ns", "submitter", "submitter_was", "waits_for_job_id", "waits_for_ring":
		return ownIgnored
	}
	return ownNone
}

// own holds the values of such arguments.
type own struct {
	has      uint64
	ids      bool // a row number is among them
	foreign  bool // an argument that our export does not write
	inferred bool
	nums     [numOwn]uint64
	strs     [numOwn]string
}

func (o *own) reset() { o.has, o.ids, o.foreign, o.inferred = 0, false, false, false }

// known reports whether a slice is surely of gpurec's export.
func (o *own) known() bool { return o.ids && !o.foreign }

func (o *own) set(a ownArgument, r *reader, s *sequence, f *field) {
	switch f.num {
	case daString:
		o.strs[a] = r.str(f.b)
	case daStringID:
		o.strs[a], _ = s.strings.get(f.v)
	case daUint, daInt, daBool, daPointer:
		o.nums[a], o.strs[a] = f.v, ""
	default:
		return
	}
	o.has |= 1 << a
	o.ids = o.ids || a < ownLastID
	o.inferred = o.inferred || a == ownInferred
}

func (o *own) num(a ownArgument) (uint64, bool) {
	return o.nums[a], o.has&(1<<a) != 0 && o.strs[a] == ""
}

func (o *own) str(a ownArgument) string {
	if o.has&(1<<a) == 0 {
		return ""
	}
	return o.strs[a]
}

// setUint copies a number into a field.
func (o *own) setUint(e *event.Event, f event.Field, a ownArgument) {
	if v, ok := o.num(a); ok {
		e.SetUint(f, v)
	}
}

// setFence copies "context:seqno".
func (o *own) setFence(e *event.Event, c, s event.Field, a ownArgument) {
	ctx, seq, ok := strings.Cut(o.str(a), ":")
	if !ok {
		return
	}
	cv, err1 := strconv.ParseUint(ctx, 10, 64)
	sv, err2 := strconv.ParseUint(seq, 10, 64)
	if err1 == nil && err2 == nil {
		e.SetUint(c, cv)
		e.SetUint(s, sv)
	}
}

// setDims copies "432,1,1".
func (o *own) setDims(e *event.Event, a ownArgument, fields ...event.Field) {
	rest := o.str(a)
	for _, f := range fields {
		var s string
		s, rest, _ = strings.Cut(rest, ",")
		if v, err := strconv.ParseUint(s, 10, 64); err == nil {
			e.SetUint(f, v)
		}
	}
}

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

// woken begins when the fence of a wait signalled.
func (r *reader) woken(h *head, e *trackEvent) {
	r.push(e, openSlice{what: sliceNothing})
	var sig event.Event
	sig.Reset(event.KindFenceSignal, event.NoTime)
	e.own.setFence(&sig, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	k, ok := sig.Fence()
	if !ok {
		r.note(&AnomalyDerived, 1)
		return
	}
	if _, told := r.signalled[k]; told || len(r.signalled) >= maxFlows {
		return // several waited for it
	}
	r.signalled[k] = struct{}{}
	ev := r.add(event.KindFenceSignal, h.time)
	ev.Source = "perfetto:track_event"
	e.own.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
}

// job sets what all events of a job have in common.
func (r *reader) job(ev *event.Event, e *trackEvent) {
	o := &e.own
	ev.Source = "perfetto:track_event"
	ev.SetStr(event.FieldDevice, o.str(ownDevice))
	ev.SetStr(event.FieldRing, o.str(ownRing))
	o.setUint(ev, event.FieldSchedJobID, ownSchedJob)
	o.setFence(ev, event.FieldFenceContext, event.FieldFenceSeqno, ownFence)
	if ev.Kind != event.KindJobDep {
		o.setFence(ev, event.FieldHWFenceContext, event.FieldHWFenceSeqno, ownHWFence)
	}
	if ev.Kind != event.KindJobQueue {
		return // run and done happen in whatever thread
	}
	if v, ok := o.num(ownPID); ok {
		ev.PID = int32(v)
	}
	if v, ok := o.num(ownTID); ok {
		ev.TID = int32(v)
	}
	if o.inferred {
		ev.Flags |= event.FlagPIDInferred
	}
}

// jobQueued is a job in its ring's queue. That it ran stands in job.running,
// unless there is none.
func (r *reader) jobQueued(h *head, e *trackEvent) {
	r.job(r.add(event.KindJobQueue, h.time), e)
	if e.own.str(ownEnd) != "" {
		if d, ok := e.own.num(ownQueueDelay); ok && h.time.Known() {
			r.job(r.add(event.KindJobRun, h.time+event.Time(d)), e)
		}
	}
	k := openSlice{what: sliceQueued}
	k.ev.Reset(event.KindJobDep, event.NoTime)
	r.job(&k.ev, e)
	r.push(e, k)
}

// jobRunning begins at the start on the device: run and queue lie before it by
// what its arguments say.
func (r *reader) jobRunning(h *head, e *trackEvent) {
	o := &e.own
	run := h.time
	if d, ok := o.num(ownHWQueue); ok && run.Known() {
		run -= event.Time(d)
	}
	if _, hidden := o.num(ownHidden); hidden && run.Known() {
		if d, ok := o.num(ownQueueDelay); ok {
			r.job(r.add(event.KindJobQueue, run-event.Time(d)), e)
		}
	}
	r.job(r.add(event.KindJobRun, run), e)
	k := openSlice{what: sliceRunning}
	k.ev.Reset(event.KindJobDone, event.NoTime)
	r.job(&k.ev, e)
	if v, ok := o.num(ownError); ok {
		k.ev.SetUint(event.FieldError, v)
	}
	if o.str(ownEnd) != "" {
		k.what = sliceNothing
	}
	r.push(e, k)
}

// jobDependency is the part of a job's time in the queue in which it waited
// for another job: the job is that of the slice around it.
func (r *reader) jobDependency(h *head, e *trackEvent) {
	for i := len(e.on.open) - 1; i >= 0; i-- {
		if k := &e.on.open[i]; k.what == sliceQueued {
			ev := r.add(event.KindJobDep, h.time)
			at := ev.Time
			*ev = k.ev
			ev.Time = at
			e.own.setFence(ev, event.FieldOnFenceContext, event.FieldOnFenceSeqno, ownOnFence)
			break
		}
	}
	r.push(e, openSlice{what: sliceNothing})
}

// loss is an interval in which events are missing.
func (r *reader) loss(h *head, e *trackEvent) {
	o := &e.own
	k := openSlice{what: sliceWhole, start: h.time}
	k.ev.Reset(event.KindLoss, event.NoTime)
	k.ev.SetStr(event.FieldTrack, o.str(ownStream))
	k.ev.SetStr(event.FieldName, o.str(ownRemedy))
	o.setUint(&k.ev, event.FieldCount, ownCount)
	if v, ok := o.num(ownCPU); ok {
		k.ev.CPU = int32(v)
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

// ownTrack knows the tracks that gpurec's export draws.
func (r *reader) ownTrack(t *track, description string) {
	switch {
	case t.name == "gpurec" && t.kind == trackPlain && t.parent == 0:
		t.ours = true
		if _, c, ok := strings.Cut(description, "clock="); ok {
			if c, ok := strings.CutSuffix(c, ", unaligned"); ok && len(c) < 64 {
				r.meta.Clock = event.Clock(c)
			}
		}
	case t.kind == trackPlain && strings.HasPrefix(t.name, "GPU ") && strings.HasSuffix(t.name, ")") && t.parent == 0 && !t.counter:
		t.ours = true
		r.ownDevice(t, description)
	case t.counter:
		t.derived = description == "Jobs queued and not yet done." || strings.HasPrefix(description, "Share of each window in which ") ||
			strings.HasSuffix(t.name, " jobs in flight") && t.unit == "jobs" || t.name == "queued, not drawn" && t.unit == "jobs" ||
			t.name == "backlog" && t.unit == "activities"
	}
}

// ownDevice reads "GPU 0 (name)" and "device 0000:04:00.0, driver x, version y".
func (r *reader) ownDevice(t *track, description string) {
	var v struct{ device, driver, version, host string }
	for _, part := range strings.Split(description, ", ") {
		key, val, _ := strings.Cut(part, " ")
		switch key {
		case "device":
			v.device = val
		case "driver":
			v.driver = val
		case "version":
			v.version = val
		case "host":
			v.host = val
		}
	}
	_, name, _ := strings.Cut(t.name, "(")
	name = strings.TrimSuffix(name, ")")
	if v.device == "" { // as jobs and activities call it
		v.device = name
	}
	t.device = v.device
	if v.device == "" || strings.HasPrefix(t.name, "GPU unknown") {
		t.device = ""
		return
	}
	e := r.add(event.KindDevice, event.NoTime)
	e.Source = "perfetto:track"
	e.SetStr(event.FieldDevice, r.str([]byte(v.device)))
	if name != v.driver && name != v.device {
		e.SetStr(event.FieldName, name)
	}
	e.SetStr(event.FieldDriver, v.driver)
	e.SetStr(event.FieldVersion, v.version)
	e.SetStr(event.FieldHost, v.host)
}
