package perfetto

import (
	"maps"
	"slices"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer/own"
)

// openSlice is a slice whose end must know its begin. On a track that has
// one, all slices inside it are kept, too.
type openSlice struct {
	plain bool // it ends as a slice
	own   own.Open
}

const (
	maxDepth = 1 << 12
	maxOpen  = 1 << 16
)

// initOwn makes the mapper of what gpurec's own export draws.
func (r *reader) initOwn() {
	r.own = own.Mapper{Add: r.add, Device: r.gpus.ownName, Source: "perfetto:track_event",
		Derived: func() { r.note(&AnomalyDerived, 1) }, Note: func(a *event.AnomalySpec) { r.note(a, 1) }}
}

// push keeps a slice that began. The result is nil if it cannot be kept.
func (r *reader) push(e *trackEvent) *openSlice {
	t := e.on
	if len(t.open) >= maxDepth || r.openAll >= maxOpen {
		r.note(&AnomalyTooMuchState, 1)
		return &r.unkept
	}
	r.openAll++
	if n := len(t.open); n < cap(t.open) {
		t.open = t.open[:n+1]
	} else {
		t.open = append(t.open, openSlice{})
	}
	return &t.open[len(t.open)-1]
}

// pop returns the innermost kept slice of the track, nil if there is none. It
// is valid until the next one begins.
func (r *reader) pop(e *trackEvent) *openSlice {
	t := e.on
	n := len(t.open)
	if n == 0 {
		return nil
	}
	t.open = t.open[:n-1]
	r.openAll--
	return &t.open[:n][n-1]
}

// drop takes back what push kept.
func (r *reader) drop(e *trackEvent, k *openSlice) {
	if k != &r.unkept {
		r.pop(e)
	}
}

// inside keeps a slice that is none of an export's but lies in a kept one. Calls
// are kept anyway.
func (r *reader) inside(e *trackEvent) {
	if len(e.on.open) == 0 {
		return
	}
	if _, ok := own.API(e.category); !ok {
		r.push(e).plain = true
	}
}

// cutOwn gives what was kept for an end that did not come.
func (r *reader) cutOwn() {
	if r.openAll == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(r.tracks)) {
		for i := range r.tracks[id].open {
			if k := &r.tracks[id].open[i]; !k.plain {
				r.own.Cut(&k.own)
			}
		}
	}
}

// drawn says what a slice or an instant is in the terms of the export.
func (e *trackEvent) drawn(h *head, a *own.Args) own.Drawn {
	t := e.on
	return own.Drawn{Time: h.time, Name: e.name, Category: e.category, PID: e.pid, TID: e.tid,
		Track: t.source, Beside: t.beside || e.tid == event.NoID, Ours: t.ours, Args: a}
}

// beginAPI is a call of another writer that names its category as Perfetto's
// GPU producers do.
func (r *reader) beginAPI(h *head, e *trackEvent, api event.API) {
	k := r.push(e)
	k.plain = false
	d := e.drawn(h, &r.args)
	d.Beside = false
	ev := r.own.Call(&d, api, &k.own)
	if e.ids > 0 {
		ev.SetInt(event.FieldCorrelationID, int64(e.submission))
	}
	if !r.args.Known() && e.hasArgs && !r.args.Any() {
		r.noteAt(&AnomalyFieldNotKept, 1, "arguments of call %q", e.name)
	}
}

// emitOwn gives what a slice or instant of gpurec's own export is. It reports
// false if the event is none.
func (r *reader) emitOwn(h *head, e *trackEvent) bool {
	known := r.args.Known()
	switch e.typ {
	case typeBegin:
		if !known && !e.on.ours {
			r.inside(e)
			return false
		}
		k := r.push(e)
		k.plain = false
		d := e.drawn(h, &r.args)
		if r.own.Begin(&d, &k.own) {
			return true
		}
		r.drop(e, k)
		r.inside(e)
	case typeInstant:
		if known || e.on.ours {
			d := e.drawn(h, &r.args)
			return r.own.Instant(&d)
		}
	}
	return false
}
