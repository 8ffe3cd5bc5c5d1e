package perfetto

import (
	"encoding/binary"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// Types of track events.
const (
	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4
	typeState   = 5
)

// Fields of TrackEvent.
const (
	teDeltaUS       = 1
	teCategoryIDs   = 3
	teAnnotations   = 4
	teLegacy        = 6
	teType          = 9
	teNameID        = 10
	teTrack         = 11
	teExtraValues   = 12
	teAbsoluteUS    = 16
	teCategories    = 22
	teName          = 23
	teCounter       = 30
	teExtraTracks   = 31
	teFlowsOld      = 36
	teTermFlowsOld  = 42
	teDoubleCounter = 44
	teDoubleTracks  = 45
	teDoubleValues  = 46
	teFlows         = 47
	teTermFlows     = 48
	teCorrelation   = 52
	teCorrStr       = 53
	teCorrIID       = 54
	teGPUCorr       = 3000
	teGPUAPI        = 3001
)

// trackEvent is a track event in work.
type trackEvent struct {
	typ        uint64
	name       string
	categories int
	category   string
	track      uint64
	hasTrack   bool
	value      float64
	hasValue   bool
	isFloat    bool
	deltaUS    int64
	hasDelta   bool
	absUS      int64
	hasAbs     bool
	correlate  uint64
	hasCorr    bool
	submission uint64
	ids        int
	flows      [8]flowID
	nFlows     int
	legacy     legacy
	hasLegacy  bool
	hasArgs    bool
	pid, tid   int32
	label      string
	on         *track // never nil
}

// trackEvent reads a TrackEvent.
func (r *reader) trackEvent(h *head, m *message) {
	var e trackEvent
	r.args.Reset()
	r.obj.Reset()
	raw := m.b
	var f field
	for m.next(&f) {
		if f.num == teAnnotations && f.wire == wireBytes {
			r.annotation(h.seq, &e, f.b)
			continue
		}
		r.trackField(h.seq, &e, &f)
	}
	if !e.hasTrack {
		e.track, e.hasTrack = h.seq.track, h.seq.hasTrack
	}
	r.oldTime(h, &e)
	r.where(h, &e)
	r.emit(h, &e)
	r.extra(h, raw)
	r.giveFlows(h, &e)
}

func (r *reader) trackField(s *sequence, e *trackEvent, f *field) {
	switch f.num {
	case teType:
		e.typ = f.v
	case teNameID:
		e.name = r.lookup(&s.names, f.v)
	case teName:
		e.name = r.str(f.b)
	case teCategoryIDs:
		f.packed(func(v uint64) { r.category(e, r.lookup(&s.categories, v)) })
	case teCategories:
		r.category(e, r.str(f.b))
	case teTrack:
		e.track, e.hasTrack = f.v, true
	case teCounter:
		e.value, e.hasValue = float64(int64(f.v)), true
	case teDoubleCounter:
		e.value, e.hasValue, e.isFloat = f.float(), true, true
	case teDeltaUS:
		e.deltaUS, e.hasDelta = int64(f.v), true
	case teAbsoluteUS:
		e.absUS, e.hasAbs = int64(f.v), true
	case teFlows, teFlowsOld:
		f.eachID(func(v uint64) { r.flow(e, v, false) })
	case teTermFlows, teTermFlowsOld:
		f.eachID(func(v uint64) { r.flow(e, v, true) })
	case teCorrelation:
		e.correlate, e.hasCorr = f.v, true
	case teLegacy:
		r.legacy(s, e, f.b)
	case teGPUCorr:
		r.gpuCorrelation(e, f.b)
	case teGPUAPI, teCorrStr, teCorrIID: // an API that the category names too; colours
	case teExtraValues, teExtraTracks, teDoubleTracks, teDoubleValues: // see extra
	default:
		r.noteAt(&AnomalyFieldNotKept, 1, "track event field %d", f.num)
	}
}

// eachID gives the values of a repeated fixed64 or varint field, packed or not.
func (f *field) eachID(do func(uint64)) {
	if f.wire != wireBytes || f.num == teFlowsOld || f.num == teTermFlowsOld {
		f.packed(do)
		return
	}
	for b := f.b; len(b) >= 8; b = b[8:] {
		do(binary.LittleEndian.Uint64(b))
	}
}

// category adds a category; several are joined by commas, as Chrome does.
func (r *reader) category(e *trackEvent, s string) {
	switch e.categories++; {
	case e.categories == 1:
		e.category = s
	case len(e.category) < 512:
		r.text = append(append(append(r.text[:0], e.category...), ','), s...)
		e.category = r.str(r.text)
	}
}

// gpuCorrelation reads which work on the device an event submitted or waited for.
func (r *reader) gpuCorrelation(e *trackEvent, b []byte) {
	var f field
	var submitted, waited []uint64
	m := message{b: b}
	for m.next(&f) {
		f.packed(func(v uint64) {
			switch f.num {
			case 1:
				if e.ids++; e.ids == 1 {
					e.submission = v
				}
				submitted = appendID(submitted, v)
			case 2:
				waited = appendID(waited, v)
			}
		})
	}
	r.idList("render_stage_submission_event_ids", submitted)
	r.idList("render_stage_wait_event_ids", waited)
	e.hasArgs = e.hasArgs || len(submitted)+len(waited) > 0
	if e.ids > 1 {
		r.note(&AnomalySeveralIDs, 1)
	}
}

// oldTime takes the time from the event where its packet has none.
func (r *reader) oldTime(h *head, e *trackEvent) {
	if h.hasTime || !e.hasDelta && !e.hasAbs {
		return
	}
	us := e.absUS
	if !e.hasAbs {
		if !h.seq.hasUS {
			r.note(&AnomalyNoState, 1)
			return
		}
		h.seq.us += e.deltaUS
		us = h.seq.us
	}
	h.time = r.clocks.convert(h.seq, clockMonotonic, uint64(us)*1000)
}

// where finds process, thread and track of an event.
func (r *reader) where(h *head, e *trackEvent) {
	e.pid, e.tid = event.NoID, event.NoID
	if e.hasTrack {
		t := r.track(h.seq, e.track)
		e.pid, e.tid, e.label, e.on = t.pid, t.tid, t.label, t
	} else {
		e.on = &h.seq.bare
		e.pid, e.tid = h.seq.pid, h.seq.tid
		if e.tid == event.NoID {
			e.label = "global"
		}
	}
	if e.hasLegacy && e.legacy.hasPID {
		e.pid, e.label = e.legacy.pid, ""
	}
	if e.hasLegacy && e.legacy.hasTID {
		e.tid, e.label = e.legacy.tid, ""
	}
}

// event appends an event at the place of a track event.
func (r *reader) event(k event.Kind, h *head, e *trackEvent) *event.Event {
	ev := r.add(k, h.time)
	ev.PID, ev.TID = e.pid, e.tid
	if r.args.Inferred() {
		ev.Flags |= event.FlagPIDInferred
	}
	ev.Source = "perfetto:track_event"
	return ev
}

// emit gives what a track event is.
func (r *reader) emit(h *head, e *trackEvent) {
	if e.hasLegacy && e.typ == 0 {
		r.emitLegacy(h, e)
		return
	}
	if r.emitOwn(h, e) {
		return
	}
	switch e.typ {
	case typeBegin:
		r.begin(h, e)
	case typeEnd:
		r.end(h, e)
	case typeInstant:
		r.mark(h, e)
	case typeCounter:
		r.counterEvent(h, e)
	case typeState:
		r.whole(event.KindOther, h, e, "state")
	default:
		r.whole(event.KindOther, h, e, "track event of type "+strconv.FormatUint(e.typ, 10))
	}
}

func (r *reader) begin(h *head, e *trackEvent) {
	if api, ok := own.API(e.category); ok {
		r.beginAPI(h, e, api)
		return
	}
	ev := r.event(event.KindSliceBegin, h, e)
	r.describe(ev, e)
	if e.ids > 0 {
		ev.SetInt(event.FieldCorrelationID, int64(e.submission))
	} else if e.hasCorr {
		ev.SetInt(event.FieldCorrelationID, int64(e.correlate))
	}
}

// describe sets what slices and marks have in common.
func (r *reader) describe(ev *event.Event, e *trackEvent) {
	ev.SetStr(event.FieldName, e.name)
	ev.SetStr(event.FieldCategory, e.category)
	ev.SetStr(event.FieldTrack, e.label)
	if e.hasArgs {
		ev.SetStr(event.FieldArgs, r.obj.String())
	}
}

func (r *reader) end(h *head, e *trackEvent) {
	if k := r.pop(e); k != nil && !k.plain {
		r.own.End(&k.own, h.time)
		return
	}
	r.describe(r.event(event.KindSliceEnd, h, e), e)
}

func (r *reader) mark(h *head, e *trackEvent) {
	ev := r.event(event.KindMark, h, e)
	r.describe(ev, e)
	if e.hasLegacy {
		ev.SetStr(event.FieldScope, e.legacy.scope())
	}
}

// whole keeps an event that has no kind of its own.
func (r *reader) whole(k event.Kind, h *head, e *trackEvent, what string) {
	ev := r.event(k, h, e)
	name := e.name
	if name == "" {
		name = what
	} else {
		r.obj.Str("type", what)
	}
	if e.category != "" {
		r.obj.Str("category", e.category)
	}
	if e.label != "" {
		r.obj.Str("track", e.label)
	}
	ev.SetStr(event.FieldName, name)
	ev.SetStr(event.FieldArgs, r.obj.String())
}
