package check

import (
	"cmp"
	"slices"
	"sort"

	"github.com/gpurec/gpurec/record/event"
)

// edge is a moment in a job's life that an event of its own tells.
type edge int

// The edges, in the order in which a job comes to them.
const (
	edgeQueue edge = iota
	edgeRun
	edgeDone
	edgeFinished // its finished fence is signalled
	numEdges
)

func (e edge) String() string { return [...]string{"queue", "run", "done", "finished"}[e] }

// moment is an event by its kind and time.
type moment struct {
	kind event.Kind
	time event.Time
}

// sighting is where a job's edges stand in a list of events; 0: not there.
type sighting [numEdges]int64

// sights tells which events are of which job of the truth.
type sights struct {
	of map[*Job]*sighting
	at map[moment][]*Job // the events of jobs, by their own times
}

// jobIndex finds the job that an event is of, from what the event holds and
// the truth, apart from any correlation.
type jobIndex struct {
	byKey   map[Key]*Job
	byFence map[uint64][]*Job // by address, in the order of submission
	byLow   map[Key][]*Job    // in the order of their ends; ended ones only
}

func newJobIndex(t *Truth) *jobIndex {
	x := &jobIndex{byKey: map[Key]*Job{}, byFence: map[uint64][]*Job{}, byLow: map[Key][]*Job{}}
	for _, j := range t.Jobs {
		x.byKey[j.Key] = j
		x.byFence[j.Fence] = append(x.byFence[j.Fence], j)
		if j.Finished != 0 {
			x.byLow[j.Key.low()] = append(x.byLow[j.Key.low()], j)
		}
	}
	for _, list := range x.byFence {
		slices.SortStableFunc(list, func(a, b *Job) int { return cmp.Compare(a.Submit, b.Submit) })
	}
	for _, list := range x.byLow {
		slices.SortStableFunc(list, func(a, b *Job) int { return cmp.Compare(a.Finished, b.Finished) })
	}
	return x
}

// latest is the last job of a list in order whose moment is not after t.
func latest(list []*Job, t event.Time, of func(*Job) int64) *Job {
	n := sort.Search(len(list), func(i int) bool { return of(list[i]) > int64(t) })
	if n == 0 {
		return nil
	}
	return list[n-1]
}

// find returns the job and the edge that an event tells. An address is a job's
// from before its submission until after its end, so it is that of the last job
// submitted before the event; the signal of a fence comes after the time that the
// truth reads off the fence.
func (x *jobIndex) find(e *event.Event) (*Job, edge) {
	var at edge
	switch e.Kind {
	case event.KindJobQueue:
		at = edgeQueue
	case event.KindJobRun:
		at = edgeRun
	case event.KindJobDone:
		at = edgeDone
	case event.KindFenceSignal:
		at = edgeFinished
		if e.Str(event.FieldDriver) != "drm_sched" {
			return nil, at
		}
	default:
		return nil, at
	}
	k, ok := e.Fence()
	key := Key{k.Context, k.Seqno}
	switch {
	case ok && e.Flags&event.FlagLow32 == 0:
		return x.byKey[key], at
	case ok:
		return latest(x.byLow[key.low()], e.Time, func(j *Job) int64 { return j.Finished }), at
	}
	ptr, _ := e.Uint(event.FieldFencePtr)
	return latest(x.byFence[ptr], e.Time, func(j *Job) int64 { return j.Submit }), at
}

func (x *jobIndex) sights(events []event.Event) *sights {
	s := &sights{of: map[*Job]*sighting{}, at: map[moment][]*Job{}}
	for i := range events {
		e := &events[i]
		j, at := x.find(e)
		if j == nil {
			continue // of no job of the truth: what is made of it will say so
		}
		if s.of[j] == nil {
			s.of[j] = &sighting{}
		}
		if s.of[j][at] == 0 {
			s.of[j][at] = int64(e.Time)
		}
		m := moment{e.Kind, e.Time}
		s.at[m] = append(s.at[m], j)
	}
	return s
}

// seen is where a job's edges stand, all 0 for a job without events.
func (s *sights) seen(j *Job) sighting {
	if x := s.of[j]; x != nil {
		return *x
	}
	return sighting{}
}
