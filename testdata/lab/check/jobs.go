package check

import (
	"fmt"

	"github.com/gpurec/gpurec/record/event"
)

// traced is a job as one generation of tracepoints shows it.
type traced struct {
	queue, run, done []event.Event
	hw               []Key // fences that the driver made right after run, low halves
	deps             []Key
}

// The scheduler's generations, by the origin of their events.
const (
	originLegacy = "drm_sched"
	originNewer  = "drm_sched_617"
)

// tracedJobs rebuilds jobs from a trace, apart from the product's correlation:
// by context and seqno, as fences of 64 bits in the newer generation, and, in
// the legacy one, by the fences that the submitter made just before.
type tracedJobs struct {
	newer    map[Key]*traced
	legacy   map[legacyKey]*traced
	problems []string

	atAddress map[uint64]*traced      // legacy: the open job at an address
	made      map[int32][]event.Event // by thread: its last two fence_init of the scheduler
	running   map[runner]*traced      // whose driver makes a hardware fence next
	signals   map[Key][]event.Event   // fence_signal of the scheduler's fences, low halves
	hwInits   map[Key]int             // fence_init of the driver's, low halves
}

// legacyKey is unique as long as a thread has, of each ring, one entity with a
// context of these 32 bits.
type legacyKey struct {
	tid  int32
	ring string
	low  Key
}

// runner is a thread that runs jobs, as one generation of events shows it.
type runner struct {
	tid    int32
	origin string
}

func rebuild(t *Trace) *tracedJobs {
	j := &tracedJobs{
		newer: map[Key]*traced{}, legacy: map[legacyKey]*traced{}, atAddress: map[uint64]*traced{},
		made: map[int32][]event.Event{}, running: map[runner]*traced{}, signals: map[Key][]event.Event{}, hwInits: map[Key]int{},
	}
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Kind {
		case event.KindFenceInit:
			j.fenceInit(e)
		case event.KindFenceSignal:
			if k, ok := e.Fence(); ok && e.Str(event.FieldDriver) == "drm_sched" {
				key := Key{uint64(k.Context), uint64(k.Seqno)}
				j.signals[key] = append(j.signals[key], *e)
			}
		case event.KindJobQueue, event.KindJobRun, event.KindJobDone, event.KindJobDep:
			if e.Str(event.FieldOrigin) == originNewer {
				j.newerEvent(e)
			} else {
				j.legacyEvent(e)
			}
		}
	}
	return j
}

func (j *tracedJobs) problem(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

func (j *tracedJobs) fenceInit(e *event.Event) {
	k, _ := e.Fence()
	key := Key{uint64(k.Context), uint64(k.Seqno)}
	if e.Str(event.FieldDriver) == "mockgpu" {
		j.hwInits[key]++
		for _, origin := range []string{originLegacy, originNewer} {
			at := runner{e.TID, origin}
			if r := j.running[at]; r != nil {
				r.hw = append(r.hw, key)
				delete(j.running, at)
			}
		}
		return
	}
	made := append(j.made[e.TID], *e)
	j.made[e.TID] = made[max(0, len(made)-2):]
}

func (j *tracedJobs) newerEvent(e *event.Event) {
	k, ok := e.Fence()
	key := Key{uint64(k.Context), uint64(k.Seqno)}
	if !ok {
		j.problem("%s without a fence", e.Source)
		return
	}
	t := j.newer[key]
	if t == nil {
		t = &traced{}
		j.newer[key] = t
	}
	t.add(e)
	j.ran(e, t, originNewer)
}

// ran remembers who runs on a thread, until its hardware fence or, where the
// driver makes none, its end.
func (j *tracedJobs) ran(e *event.Event, t *traced, origin string) {
	at := runner{e.TID, origin}
	switch {
	case e.Kind == event.KindJobRun:
		j.running[at] = t
	case e.Kind == event.KindJobDone && j.running[at] == t:
		delete(j.running, at)
	}
}

func (j *tracedJobs) legacyEvent(e *event.Event) {
	if e.Kind == event.KindJobDep {
		return // names its job by a number that two rings share
	}
	ptr, _ := e.Uint(event.FieldFencePtr)
	if e.Kind == event.KindJobQueue {
		key, ok := j.madeFor(e)
		if !ok {
			return // its fences are in what is lost, or compare says that they are not there
		}
		t := &traced{}
		t.add(e)
		j.legacy[legacyKey{e.TID, e.Str(event.FieldRing), key}] = t
		j.atAddress[ptr] = t
		return
	}
	t := j.atAddress[ptr]
	if t == nil {
		return // of a job whose queue event is lost
	}
	t.add(e)
	j.ran(e, t, originLegacy)
	if e.Kind == event.KindJobDone {
		delete(j.atAddress, ptr)
	}
}

// madeFor finds the finished fence of a job that is queued: the second of the
// two that its submitter made last, with consecutive contexts and equal seqnos.
func (j *tracedJobs) madeFor(e *event.Event) (Key, bool) {
	made := j.made[e.TID]
	if len(made) < 2 {
		return Key{}, false
	}
	a, _ := made[0].Fence()
	b, _ := made[1].Fence()
	if uint32(a.Context)+1 != uint32(b.Context) || a.Seqno != b.Seqno {
		return Key{}, false
	}
	return Key{uint64(b.Context), uint64(b.Seqno)}, true
}

func (t *traced) add(e *event.Event) {
	switch e.Kind {
	case event.KindJobQueue:
		t.queue = append(t.queue, *e)
	case event.KindJobRun:
		t.run = append(t.run, *e)
	case event.KindJobDone:
		t.done = append(t.done, *e)
	case event.KindJobDep:
		if e.Bool(event.FieldUnsignalled) {
			return
		}
		c, _ := e.Uint(event.FieldOnFenceContext)
		s, _ := e.Uint(event.FieldOnFenceSeqno)
		t.deps = append(t.deps, Key{c, s})
	}
}
