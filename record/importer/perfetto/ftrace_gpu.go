package perfetto

import "github.com/gpurec/gpurec/record/event"

// setPtr sets an address: 0 is none.
func setPtr(e *event.Event, f event.Field, v uint64) {
	if v != 0 {
		e.SetUint(f, v)
	}
}

// legacyJob reads {entity 1, fence 2, hw_job_count 3, id 4, job_count 5, name 6}.
func legacyJob(r *reader, e *event.Event, m *message) {
	e.SetStr(event.FieldOrigin, "drm_sched")
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			setPtr(e, event.FieldEntityPtr, f.v)
		case 2:
			setPtr(e, event.FieldFencePtr, f.v)
		case 3:
			e.SetInt(event.FieldHWJobCount, int64(int32(f.v)))
		case 4:
			e.SetUint(event.FieldSchedJobID, f.v)
		case 5:
			e.SetUint(event.FieldJobCount, f.v)
		case 6:
			e.SetStr(event.FieldRing, r.str(f.b))
		}
	}
}

// legacyDone reads {fence 1}.
func legacyDone(_ *reader, e *event.Event, m *message) {
	e.SetStr(event.FieldOrigin, "drm_sched")
	var f field
	for m.next(&f) {
		if f.num == 1 {
			setPtr(e, event.FieldFencePtr, f.v)
		}
	}
}

// newJob reads {name 1, job_count 2, hw_job_count 3, dev 4, fence_context 5, fence_seqno 6, client_id 7}.
func newJob(r *reader, e *event.Event, m *message) {
	e.SetStr(event.FieldOrigin, "drm_sched_617")
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetStr(event.FieldRing, r.str(f.b))
		case 2:
			e.SetUint(event.FieldJobCount, f.v)
		case 3:
			e.SetInt(event.FieldHWJobCount, int64(int32(f.v)))
		case 4:
			e.SetStr(event.FieldDevice, r.str(f.b))
		case 5:
			e.SetUint(event.FieldFenceContext, f.v)
		case 6:
			e.SetUint(event.FieldFenceSeqno, f.v)
		case 7:
			e.SetUint(event.FieldClientID, f.v)
		}
	}
}

// jobDone reads {fence_context 1, fence_seqno 2}.
func jobDone(_ *reader, e *event.Event, m *message) {
	e.SetStr(event.FieldOrigin, "drm_sched_617")
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetUint(event.FieldFenceContext, f.v)
		case 2:
			e.SetUint(event.FieldFenceSeqno, f.v)
		}
	}
}

// jobDep reads {fence_context 1, fence_seqno 2, ctx 3, seqno 4}, the order of
// the kernel's fields.
func jobDep(_ *reader, e *event.Event, m *message) {
	e.SetStr(event.FieldOrigin, "drm_sched_617")
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetUint(event.FieldFenceContext, f.v)
		case 2:
			e.SetUint(event.FieldFenceSeqno, f.v)
		case 3:
			e.SetUint(event.FieldOnFenceContext, f.v)
		case 4:
			e.SetUint(event.FieldOnFenceSeqno, f.v)
		}
	}
}

func jobUnschedulable(r *reader, e *event.Event, m *message) {
	e.SetBool(event.FieldUnsignalled, true)
	jobDep(r, e, m)
}

// fence reads {context 1, driver 2, seqno 3, timeline 4}; both numbers are the
// low 32 bits of the kernel's.
func fence(r *reader, e *event.Event, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetUint(event.FieldFenceContext, f.v)
		case 2:
			e.SetStr(event.FieldDriver, r.str(f.b))
		case 3:
			e.SetUint(event.FieldFenceSeqno, f.v)
		case 4:
			e.SetStr(event.FieldTimeline, r.str(f.b))
		}
	}
	e.Flags |= event.FlagLow32
}

// irqEntry reads {irq 1, name 2, handler 3}.
func irqEntry(r *reader, e *event.Event, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetInt(event.FieldIRQ, int64(int32(f.v)))
		case 2:
			e.SetStr(event.FieldName, r.str(f.b))
		}
	}
}

// irqExit reads {irq 1, ret 2}.
func irqExit(_ *reader, e *event.Event, m *message) {
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			e.SetInt(event.FieldIRQ, int64(int32(f.v)))
		case 2:
			e.SetInt(event.FieldResult, int64(int32(f.v)))
		}
	}
}
