package correlate

import (
	"cmp"
	"slices"
)

// Caps bound what a run holds, whatever comes. A field that is 0 takes its
// default. Beyond a cap what was used least recently is let go: a row that is
// open leaves as evicted and is counted, what is remembered for later joins is
// forgotten (docs/correlation.md, "Bounds"). Of the domains of a merged log
// each has an equal part.
type Caps struct {
	Jobs         int // open jobs
	KeptJobs     int // jobs whose rows are given, which an idle gap is still judged from
	Deps         int // dependencies of jobs
	Text         int // bytes of text of open jobs, of activities that wait, and of ranges: each
	Calls        int // open API calls; and calls that came whole and may get a parent
	Ioctls       int // ioctls that wait for their driver; and those that wait for the call around them
	Waits        int // threads that wait for a fence
	Fences       int // fences remembered
	Correlations int // correlation ids remembered
	Activities   int // activities that wait for their call
	Gaps         int // idle gaps that are not judged yet, with the jobs in them
	Slices       int // open ranges; and those that came whole and may get a parent
	Tracks       int // tracks of ranges
	Threads      int // threads that have not ended
	Active       int // threads of which the last calls, ioctls, waits and fences are remembered; and those that exited and may still show events
	Processes    int // processes
	Devices      int // devices
	Rings        int // rings
	Names        int // names of functions, and of kernels by handle
	Contexts     int // fence contexts, streams, descriptors
	Wakes        int // wake-ups that wait for their thread to run, and threads off CPU
	Notes        int // missing partners whose reason is not settled
	Ended        int // threads, and processes, let go whose rows wait for the end
}

// defaultCaps keep a run within 512 MiB, two times what lives on the heap
// included, that the collector lets it grow to.
var defaultCaps = Caps{
	Jobs: 1 << 16, KeptJobs: 1 << 14, Deps: 1 << 17, Text: 32 << 20, Calls: 1 << 16, Ioctls: 1 << 14,
	Waits: 1 << 16, Fences: 1 << 16, Correlations: 1 << 17, Activities: 1 << 16, Gaps: 1 << 17,
	Slices: 1 << 16, Tracks: 1 << 14, Threads: 1 << 16, Active: 1 << 12, Processes: 1 << 16, Devices: 1 << 14,
	Rings: 1 << 14, Names: 1 << 15, Contexts: 1 << 16, Wakes: 1 << 16, Notes: 1 << 16, Ended: 1 << 16,
}

// minCap is the least that a cap can be: what one event may need.
const minCap = 16

// fields are pointers to all caps.
func (c *Caps) fields() []*int {
	return []*int{&c.Jobs, &c.KeptJobs, &c.Deps, &c.Text, &c.Calls, &c.Ioctls, &c.Waits, &c.Fences, &c.Correlations,
		&c.Activities, &c.Gaps, &c.Slices, &c.Tracks, &c.Threads, &c.Active, &c.Processes, &c.Devices, &c.Rings,
		&c.Names, &c.Contexts, &c.Wakes, &c.Notes, &c.Ended}
}

// withDefaults fills in what is not set, and lowers what MaxOpen does.
func (c Caps) withDefaults(maxOpen int) Caps {
	d := defaultCaps
	def := d.fields()
	for i, f := range c.fields() {
		if *f <= 0 {
			*f = *def[i]
		}
	}
	if maxOpen > 0 {
		for _, f := range []*int{&c.Jobs, &c.Waits, &c.Fences, &c.Correlations, &c.Activities} {
			*f = min(*f, maxOpen)
		}
	}
	return c
}

// share is the part that each of n domains has.
func (c Caps) share(n int) Caps {
	for _, f := range c.fields() {
		if n > 1 {
			*f = max(*f/n, min(*f, minCap))
		}
	}
	return c
}

// aging is a map that forgets: of more than n entries those that were not
// looked up for the longest leave, half of them at a time.
type aging[K comparable, V any] struct{ young, old map[K]V }

func (m *aging[K, V]) get(n int, k K) (V, bool) {
	if v, ok := m.young[k]; ok {
		return v, true
	}
	v, ok := m.old[k]
	if ok {
		delete(m.old, k)
		m.put(n, k, v)
	}
	return v, ok
}

func (m *aging[K, V]) put(n int, k K, v V) {
	if len(m.young) >= max(n/2, 1) {
		m.young, m.old = nil, m.young
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[k] = v
}

func (m *aging[K, V]) del(k K) {
	delete(m.young, k)
	delete(m.old, k)
}

// usedUpTo returns the mark up to which an eighth, at least one, of what is
// listed was used last. It is the same in every run: used are numbers of events.
func usedUpTo[T any](list []T, used func(T) (at uint64, ok bool)) uint64 {
	marks := make([]uint64, 0, len(list))
	for _, v := range list {
		if at, ok := used(v); ok {
			marks = append(marks, at)
		}
	}
	if len(marks) == 0 {
		return 0
	}
	slices.Sort(marks)
	return marks[(len(marks)-1)/8]
}

// giveEnded gives rows that wait for the end: the older half where more than
// limit wait, else none.
func giveEnded[T any](e *engine, ended, rows *[]T, limit int) {
	if len(*ended) <= limit {
		return
	}
	h := len(*ended) / 2
	for _, r := range (*ended)[:h] {
		*rows = append(*rows, r)
		e.n++
	}
	*ended = append((*ended)[:0], (*ended)[h:]...)
}

// giveByID gives rows in the order of their ids.
func giveByID[T any](e *engine, list []T, rows *[]T, id func(*T) ID) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(id(&a), id(&b)) })
	for _, r := range list {
		*rows = append(*rows, r)
		e.n++
		e.flushFull()
	}
}
