// Package own makes events again of what gpurec's own exports draw: the one
// mapping from categories, names and arguments to events, for the importers of
// all formats that hold the picture.
//
// An importer tells what it reads as [Drawn]; the events go to [Mapper.Add]. A
// slice gives its events at its begin, and at its end those that end it: the
// importer keeps the [Open] in between.
package own

import (
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Drawn is a slice or an instant as it stands in a trace.
type Drawn struct {
	Time           event.Time // of its begin
	Name, Category string
	PID, TID       int32  // whose it is, event.NoID if that is not known
	Track          string // the source's own track on which it stands; "" for a thread's
	Beside         bool   // the order of begins and ends on its thread does not tell it: it stands beside it, or there is none
	Ours           bool   // it stands on a track of gpurec's or a device's
	Args           *Args
}

// Mapper makes events of what is drawn.
type Mapper struct {
	// Add appends an event at a time. The result is valid until the next call.
	Add func(event.Kind, event.Time) *event.Event
	// Derived is called for what follows from other events and is not read.
	Derived func()
	// Note counts what is doubtful of an export.
	Note func(*event.AnomalySpec)
	// Device returns what jobs call the device of a number, in which activities
	// name it.
	Device func(number int64) string
	// Source is the source of the events.
	Source string
	// Anomalies are those that the exported log had counted.
	Anomalies []event.Anomaly

	signalled map[event.FenceKey]struct{} // fences of which it was told
	jobs      jobs
}

// AnomalyClipped counts rows of an export of a part of a trace.
var AnomalyClipped = event.AnomalySpec{
	Name: "export_cut_at_window", Severity: event.SeverityWarning,
	Doc:    "the export is of a part of a trace: rows that began before it or ended after it come back with the times at which they were cut",
	Remedy: "import the recording itself, or an export without --from-time and --to-time",
}

// Bounds of what a mapper holds.
const (
	maxSignalled = 1 << 19
	maxJobs      = 1 << 16 // remembered for what comes after them
	maxAnomalies = 1000
)

// Open is a slice that has begun.
type Open struct {
	what     kind
	start    event.Time
	finished event.Time  // when the fence of the job signalled that ends, if that is known
	ev       event.Event // given at the end
}

type kind uint8

const (
	kindNothing kind = iota // its end says nothing
	kindPaired              // ev is given at the end
	kindWhole               // the same, with its start
)

func (o *Open) begin(at event.Time) { o.what, o.start, o.finished = kindNothing, at, event.NoTime }

// API returns the family whose calls have the category.
func API(category string) (event.API, bool) {
	if len(category) < 3 || len(category) > 16 {
		return 0, false
	}
	a := event.APIByName(category)
	return a, a != event.APIUnknown
}

// Begin gives the events of a slice's begin, and fills in o for its end. It
// reports false, and gives nothing, if the slice is none of an export.
func (m *Mapper) Begin(d *Drawn, o *Open) bool {
	o.begin(d.Time)
	if d.Args.is(argClipped) {
		m.Note(&AnomalyClipped)
	}
	if d.Args.Known() {
		if d.Args.is(argAPICall) && d.Category != "ioctl" && !strings.HasPrefix(d.Category, "job.") {
			api, _ := API(d.Category)
			m.Call(d, api, o)
			return true
		}
	} else if !d.Ours {
		return false
	}
	switch d.Category {
	case "ioctl":
		m.ioctl(d, o)
	case "fence_wait":
		m.wait(d, o)
	case "job.queued":
		m.jobQueued(d, o)
	case "job.running":
		m.jobRunning(d, o)
	case "job.stage.dependency":
		m.jobDependency(d.Args, d.Time)
	case "fence_wake":
		m.woken(d)
	case "job.stage.queue", "job.stage.hw_queue", "gpu_idle":
		m.Derived()
	case "loss":
		m.loss(d, o)
	default:
		return m.whole(d, o)
	}
	return true
}

// End gives the events of a slice's end.
func (m *Mapper) End(o *Open, at event.Time) {
	switch o.what {
	case kindPaired, kindWhole:
		ev := m.Add(o.ev.Kind, at)
		*ev = o.ev
		ev.Time = at
		if o.what == kindWhole {
			ev.SetTime(event.FieldStart, o.start)
		}
		ev.Source = m.Source
	}
	if o.finished.Known() {
		j := job{low32: o.ev.Flags&event.FlagLow32 != 0}
		j.context, _ = o.ev.Uint(event.FieldFenceContext)
		j.seqno, j.hasFence = o.ev.Uint(event.FieldFenceSeqno)
		m.signal(&j, o.finished)
	}
}

// Cut gives the events of a slice of whose end nothing is known.
func (m *Mapper) Cut(o *Open) {
	if o.what != kindWhole {
		return
	}
	if o.ev.Kind == event.KindSlice {
		ev := m.Add(event.KindSliceBegin, o.start)
		ev.PID, ev.TID, ev.Flags, ev.Source = o.ev.PID, o.ev.TID, o.ev.Flags, m.Source
		for _, f := range []event.Field{event.FieldName, event.FieldCategory, event.FieldTrack, event.FieldArgs} {
			ev.SetStr(f, o.ev.Str(f))
		}
		return
	}
	m.End(o, event.NoTime)
}

// Instant gives the events of an instant. It reports false, and gives nothing,
// if it is none of an export.
func (m *Mapper) Instant(d *Drawn) bool {
	a := d.Args
	switch known := a.Known(); {
	case known && a.is(argMark):
		ev := m.point(event.KindMark, d)
		ev.SetStr(event.FieldName, d.Name)
		if d.Category != "mark" {
			ev.SetStr(event.FieldCategory, d.Category)
		}
		ev.SetStr(event.FieldArgs, a.str(argArgs))
	case known && a.is(argOther):
		ev := m.point(event.KindOther, d)
		ev.SetStr(event.FieldName, d.Name)
		ev.SetStr(event.FieldArgs, a.str(argFields))
	case known && a.is(argSampleID):
		ev := m.point(event.KindSample, d)
		ev.SetStr(event.FieldName, d.Name)
		a.setUint(ev, event.FieldPeriod, argPeriod)
		ev.SetStr(event.FieldStack, a.str(argStack))
	case known && a.is(argMemMap):
		m.memory(d)
	case !d.Ours:
		return false
	case d.Category == "anomaly":
		m.anomaly(d)
	case d.Category == "log_line":
		ev := m.event(event.KindLogLine, d)
		ev.SetStr(event.FieldName, a.str(argLog))
		ev.SetStr(event.FieldDevice, a.str(argDevice))
		a.setUint(ev, event.FieldCode, argCode)
	case d.Category == "reset" && d.Name == "reset":
		ev := m.event(event.KindReset, d)
		ev.SetStr(event.FieldDevice, a.str(argDevice))
		ev.SetStr(event.FieldRing, a.str(argRing))
	default:
		return false
	}
	return true
}

// event appends an event at the place of a slice or an instant.
func (m *Mapper) event(k event.Kind, d *Drawn) *event.Event {
	ev := m.Add(k, d.Time)
	ev.Source = m.Source
	m.whose(ev, d)
	return ev
}

func (m *Mapper) whose(ev *event.Event, d *Drawn) {
	ev.PID, ev.TID = d.PID, d.TID
	if d.Args.inferred {
		ev.Flags |= event.FlagPIDInferred
	}
}

// point appends the event of an instant that may name a CPU. One that belongs
// to no thread stands on a track of gpurec's.
func (m *Mapper) point(k event.Kind, d *Drawn) *event.Event {
	ev := m.event(k, d)
	if v, ok := d.Args.num(argCPU); ok {
		ev.CPU = int32(v)
	}
	if d.Ours {
		ev.PID, ev.TID = event.NoID, event.NoID
	}
	return ev
}

func (m *Mapper) memory(d *Drawn) {
	k := event.KindMemMap
	if d.Name == "unmap" {
		k = event.KindMemUnmap
	}
	ev := m.point(k, d)
	ev.SetStr(event.FieldDevice, d.Args.str(argDevice))
	d.Args.setHex(ev, event.FieldAddress, argAddress)
	d.Args.setUint(ev, event.FieldBytes, argBytes)
	d.Args.setHex(ev, event.FieldObjectPtr, argObjectPtr)
}

// anomaly keeps what the exported log had counted.
func (m *Mapper) anomaly(d *Drawn) {
	a := d.Args
	n, ok := a.num(argCount)
	if !ok || len(m.Anomalies) >= maxAnomalies {
		m.Derived()
		return
	}
	sev := event.SeverityInfo
	for s := event.SeverityInfo; s <= event.SeverityError; s++ {
		if s.String() == a.str(argSeverity) {
			sev = s
		}
	}
	m.Anomalies = append(m.Anomalies, event.Anomaly{
		AnomalySpec: &event.AnomalySpec{Name: d.Name, Severity: sev, Doc: a.str(argDoc), Remedy: a.str(argRemedy)},
		Count:       n, Sample: a.str(argSample)})
}

// loss is an interval in which events are missing.
func (m *Mapper) loss(d *Drawn, o *Open) {
	a := d.Args
	o.what = kindWhole
	o.ev.Reset(event.KindLoss, event.NoTime)
	o.ev.SetStr(event.FieldTrack, a.str(ArgStream))
	o.ev.SetStr(event.FieldName, a.str(argRemedy))
	a.setUint(&o.ev, event.FieldCount, argCount)
	if v, ok := a.num(argCPU); ok {
		o.ev.CPU = int32(v)
	}
}
