package ftrace

import (
	"bytes"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// Tracepoints of GPUs that are about no job: interrupts, vertical blanks,
// frequencies, work by user, and Android's sync points.

func restTracepoints() []tracepoint {
	ofClient := func(name string) tracepoint {
		return tracepoint{system: "drm", name: name, kind: event.KindMark, called: name, comma: true, fix: fixMarkOfVblank}
	}
	return []tracepoint{
		// drivers/gpu/drm/drm_trace.h; before 5.6 without a time.
		{system: "drm", name: "drm_vblank_event", kind: event.KindMark, called: "drm_vblank_event", comma: true, binds: []bind{
			{key: "crtc", conv: convInt, tmp: tmpC},
			{key: "seq", conv: convUint, tmp: tmpCard},
			{key: "time", conv: convUint, tmp: tmpA},
			{key: "high-prec", conv: convWord, field: event.FieldScope},
			{key: "high_prec", conv: convUint, tmp: tmpB},
		}, fix: fixVblank},
		ofClient("drm_vblank_event_queued"), ofClient("drm_vblank_event_delivered"),
		// drivers/gpu/drm/panthor/panthor_trace.h: at the handler's end, with how
		// long it took.
		{system: "panthor", name: "gpu_job_irq", kind: event.KindIRQExit, called: "gpu_job_irq", driver: "panthor", text: textJobIRQ, binds: []bind{
			{key: "dev_name", field: event.FieldDevice, conv: convNonEmpty},
			{key: "duration_ns", conv: convUint, tmp: tmpA},
		}, fix: fixJobIRQ},
		// drivers/gpu/drm/amd/amdgpu/amdgpu_trace.h: one a vector of the ring of
		// interrupts, inside of the handler.
		{system: "amdgpu", name: "amdgpu_iv", kind: event.KindIRQExit, called: "amdgpu_iv", driver: "amdgpu", text: textIV, fix: fixPoint},
		{system: "power", name: "gpu_frequency", kind: event.KindCounter, called: "gpu_frequency", unit: "kHz", binds: []bind{
			{key: "state", conv: convUint, tmp: tmpA},
			{key: "gpu_freq", conv: convUint, tmp: tmpA},
			{key: "gpu_id", conv: convUint, tmp: tmpB},
		}, text: textFrequency, fix: fixFrequency},
		{system: "power", also: "gpu_work_period", name: "gpu_work_period", kind: event.KindSlice, text: textWork, binds: []bind{
			{key: "gpu_id", conv: convUint, tmp: 0},
			{key: "uid", conv: convUint, tmp: 1},
			{key: "start_time_ns", conv: convUint, tmp: 2},
			{key: "end_time_ns", conv: convUint, tmp: 3},
			{key: "total_active_duration_ns", field: event.FieldSliceID, conv: convUint},
		}, fix: fixWork},
	}
}

// vblankReach is how far the time of a vertical blank may lie from the line's,
// in ns: it is computed from the scanout's position, and may lie ahead.
const vblankReach = 50e6

// fixVblank: time is that of the blank itself (ktime_get), if the hardware has
// a position to compute it from; else it is as vague as the line's own time.
func fixVblank(e *event.Event, s *scratch) {
	args := "{"
	if n, ok := s.get(tmpC); ok {
		args += `"crtc":` + strconv.FormatInt(int64(n), 10) + ","
	}
	if n, ok := s.get(tmpCard); ok {
		args += `"seq":` + strconv.FormatUint(n, 10) + ","
	}
	precise := e.Str(event.FieldScope) == "true"
	if v, ok := s.get(tmpB); ok {
		precise = v != 0
	}
	e.Clear(event.FieldScope)
	if at, ok := s.get(tmpA); ok {
		d := event.Time(at) - e.Time
		if precise && e.Time.Known() && d <= vblankReach && d >= -vblankReach {
			e.SetTime(event.FieldStart, event.Time(at))
		} else {
			args += `"time_ns":` + strconv.FormatUint(at, 10) + ","
		}
		args += `"high_prec":` + strconv.FormatBool(precise) + ","
	}
	fixMarkOfVblank(e, s)
	if len(args) > 1 {
		e.SetStr(event.FieldArgs, args[:len(args)-1]+"}")
	}
}

func fixMarkOfVblank(e *event.Event, _ *scratch) { e.SetStr(event.FieldCategory, "vblank") }

// textJobIRQ takes the device off "fb000000.gpu: events=0x1 duration_ns=900".
func textJobIRQ(m *TextMapper, e *event.Event, p []byte) bool {
	if dev, _, ok := bytes.Cut(p, []byte(": ")); ok && bytes.IndexByte(dev, '=') < 0 && len(dev) > 0 {
		e.SetStr(event.FieldDevice, m.Strings.Get(dev))
	}
	return false
}

func fixJobIRQ(e *event.Event, s *scratch) {
	if d, ok := s.get(tmpA); ok && e.Time.Known() && d <= payloadReach {
		e.SetTime(event.FieldStart, e.Time-event.Time(d))
		return
	}
	fixPoint(e, s)
}

// fixPoint makes an interrupt that has no duration a point.
func fixPoint(e *event.Event, _ *scratch) { e.SetTime(event.FieldStart, e.Time) }

// textIV reads "ih:0 client_id:20 src_id:181 ring:0 vmid:4 timestamp: 4711
// pasid:32770 src_data: 00000000 00000001 00000000 00000000".
func textIV(m *TextMapper, e *event.Event, p []byte) bool {
	p = bytes.TrimRight(p, "\n ")
	for len(p) > 0 {
		key, rest, ok := bytes.Cut(p, []byte(":"))
		if !ok {
			break
		}
		rest = trimBlanks(rest)
		end := bytes.IndexByte(rest, ' ')
		if end < 0 || string(key) == "src_data" {
			end = len(rest)
		}
		if string(key) == "src_data" {
			m.obj.str(string(key), string(rest[:end]))
		} else {
			m.obj.value(string(key), rest[:end])
		}
		p = trimBlanks(rest[end:])
	}
	if m.obj.empty() {
		m.note(&AnomalyBadValue)
	}
	fixPoint(e, nil)
	if !m.obj.empty() {
		e.SetStr(event.FieldArgs, m.Strings.Get(m.obj.bytes()))
	}
	return true
}

// textFrequency: some vendors' kernels print "gpu_freq=510000Khz gpu_id=0".
func textFrequency(m *TextMapper, e *event.Event, p []byte) bool {
	v, ok := bytes.CutPrefix(p, []byte("gpu_freq="))
	if !ok {
		return false
	}
	f, rest, ok := bytes.Cut(v, []byte("Khz"))
	n, isNum := parseNumber(f, false)
	if !ok || !isNum {
		return false
	}
	m.scr.set(tmpA, n)
	if id, ok := bytes.CutPrefix(trimBlanks(rest), []byte("gpu_id=")); ok {
		if n, ok := parseNumber(id, false); ok {
			m.scr.set(tmpB, n)
		}
	}
	fixFrequency(e, &m.scr)
	return true
}

func fixFrequency(e *event.Event, s *scratch) {
	if id, ok := s.get(tmpB); ok {
		e.SetStr(event.FieldDevice, smallNumber(id))
	}
	if v, ok := s.get(tmpA); ok {
		e.SetFloat(event.FieldValue, float64(v))
	}
}

// textWork: Samsung prints the five numbers alone, Arm "gpu_id = 0 uid = 1".
func textWork(m *TextMapper, e *event.Event, p []byte) bool {
	var vals [5]uint64
	n := 0
	for _, w := range bytes.Fields(p) {
		if _, v, ok := bytes.Cut(w, []byte("=")); ok && len(v) > 0 {
			w = v
		}
		if v, ok := parseNumber(w, false); ok && n < len(vals) {
			vals[n] = v
			n++
		}
	}
	if n != len(vals) {
		return false
	}
	for i := range uint8(4) {
		m.scr.set(i, vals[i])
	}
	e.SetUint(event.FieldSliceID, vals[4])
	fixWork(e, &m.scr)
	return true
}

// fixWork: a period in which the GPU worked for a user (Android's contract for
// power/gpu_work_period). It is told some time after its end, in
// CLOCK_MONOTONIC_RAW, to which the trace's clock has no known relation: it is
// drawn with its length up to the line, and keeps its own times beside.
func fixWork(e *event.Event, s *scratch) {
	gpu, _ := s.get(0)
	uid, _ := s.get(1)
	start, ok1 := s.get(2)
	end, ok2 := s.get(3)
	active, ok3 := e.Uint(event.FieldSliceID)
	e.Clear(event.FieldSliceID)
	var o object
	o.uint("gpu_id", gpu)
	o.uint("uid", uid)
	o.uint("start_time_ns", start)
	o.uint("end_time_ns", end)
	o.uint("total_active_duration_ns", active)
	if !ok1 || !ok2 || !ok3 || start > end || end-start > 1<<62 || !e.Time.Known() {
		becomeOther(e)
		e.SetStr(event.FieldName, "power:gpu_work_period")
		e.SetStr(event.FieldArgs, string(o.bytes()))
		return
	}
	e.SetStr(event.FieldName, "gpu work of uid "+strconv.FormatUint(uid, 10))
	e.SetStr(event.FieldCategory, "gpu_work_period")
	e.SetStr(event.FieldTrack, "gpu "+strconv.FormatUint(gpu, 10)+" uid "+strconv.FormatUint(uid, 10))
	e.SetStr(event.FieldArgs, string(o.bytes()))
	e.SetTime(event.FieldStart, e.Time-event.Time(end-start))
	e.PID, e.TID, e.Comm = event.NoID, event.NoID, ""
}

// syncTracepoints are Android's (drivers/staging/android/trace/sync.h); the
// kernel's own sync_timeline (drivers/dma-buf/sync_trace.h, system sync_trace)
// reads the same. A point of a timeline has no context and no number of
// dma_fence's. A wait has two lines.
func syncTracepoints() []tracepoint {
	return []tracepoint{
		{system: "sync", also: "sync_trace", name: "sync_timeline", kind: event.KindCounter, binds: []bind{
			{key: "name", field: event.FieldName, conv: convWord},
			{key: "value", conv: convInt, tmp: tmpA},
		}, fix: fixTimeline, text: textTimeline},
		{system: "sync", name: "sync_wait", kind: event.KindSliceBegin, text: textSyncWait, binds: []bind{
			{key: "name", field: event.FieldName, conv: convWord},
			{key: "status", conv: convInt, tmp: tmpA},
			{key: "begin", conv: convUint, tmp: tmpB},
		}, fix: fixSyncWait},
	}
}

// textTimeline: a driver of Android's may print anything as the value.
func textTimeline(m *TextMapper, e *event.Event, p []byte) bool {
	name, value, ok := bytes.Cut(bytes.TrimPrefix(p, []byte("name=")), []byte(" value="))
	if _, isNum := parseNumber(value, false); !ok || isNum {
		return false
	}
	becomeOther(e)
	m.obj.str("name", string(name))
	m.obj.str("value", string(value))
	e.SetStr(event.FieldName, e.Source)
	e.SetStr(event.FieldArgs, string(m.obj.bytes()))
	return true
}

func fixTimeline(e *event.Event, s *scratch) {
	fixValue(e, s)
	e.SetStr(event.FieldName, "sync_timeline "+e.Str(event.FieldName))
}

// textSyncWait reads "begin name=SurfaceView:6 state=1", "end name=…".
func textSyncWait(m *TextMapper, _ *event.Event, p []byte) bool {
	if bytes.HasPrefix(p, []byte("begin")) {
		m.scr.set(tmpB, 1)
	} else if bytes.HasPrefix(p, []byte("end")) {
		m.scr.set(tmpB, 0)
	}
	return false
}

func fixSyncWait(e *event.Event, s *scratch) {
	e.SetStr(event.FieldName, "sync_wait "+e.Str(event.FieldName))
	e.SetStr(event.FieldCategory, "sync")
	if begin, ok := s.get(tmpB); ok && begin == 0 {
		e.Kind = event.KindSliceEnd // both kinds have the same fields
	}
}
