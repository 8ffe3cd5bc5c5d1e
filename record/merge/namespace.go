package merge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Pid namespaces. A profiler inside a container calls its process by the number
// that it has there; the kernel, and what records its events, by another one. A
// recording tells both of the processes that it met.
//
//  1. An input that holds no tracepoints and names a process whose number
//     another input's processes have inside of their namespaces is a container's.
//  2. Of several such processes it is the one whose threads have the numbers
//     that the input's threads have; if that leaves several, there is no telling.
//  3. A thread of it that the recording did not tell gets a number that no
//     thread of the kernel's can have, so that it is no other's.

// foreignThread is added to the number of a container's thread whose number
// outside is not known: the kernel gives none above (PID_MAX_LIMIT, 2^22).
const foreignThread = 1 << 22

var (
	anomalyNamespaceAmbiguous = &event.AnomalySpec{Name: "pid_namespace_ambiguous", Severity: event.SeverityWarning,
		Doc:    "Several processes of a recording are called, in their containers, what an input calls its process: nothing tells which it is, and its number stays.",
		Remedy: "merge each container's trace with a recording of that container's process alone (record -p PID)"}
	anomalyForeignThread = &event.AnomalySpec{Name: "container_thread_unknown", Severity: event.SeverityInfo,
		Doc:    "A thread of a process in a container is not in the recording: it has its number inside, with 4194304 added so that it is no other thread.",
		Remedy: "none needed; record from before the thread begins to see it"}
)

// insiders are the processes and threads of a recording as their own namespace
// calls them.
type insiders struct {
	processes map[int32][]int32         // by the number inside: those outside
	threads   map[int32]map[int32]int32 // by the process outside: threads, by their number inside
}

// noteInside takes what a recording tells of a namespace.
func (s *scanned) noteInside(e *event.Event) {
	n, ok := e.Int(event.FieldNSPID)
	if !ok || e.PID <= 0 || n <= 0 || n >= foreignThread || len(s.inside.threads) >= maxPIDs {
		return
	}
	if s.inside.threads == nil {
		s.inside = insiders{map[int32][]int32{}, map[int32]map[int32]int32{}}
	}
	t := s.inside.threads[e.PID]
	if t == nil {
		t = map[int32]int32{}
		s.inside.threads[e.PID] = t
	}
	switch {
	case e.Kind == event.KindProcess:
		if l := s.inside.processes[int32(n)]; !slices.Contains(l, e.PID) {
			s.inside.processes[int32(n)] = append(l, e.PID)
		}
		t[int32(n)] = e.PID
	case len(t) < maxSeries:
		t[int32(n)] = e.TID
	}
}

// outside is how a container's process, and its threads, are called outside.
type outside struct {
	pid     int32
	threads map[int32]int32
}

// namespaces finds the inputs that count pids as a container does, and what
// their processes are called outside.
func (m *Merged) namespaces() {
	for _, s := range m.inputs {
		if len(s.points) > 0 || len(s.inside.processes) > 0 {
			continue // it tells what the kernel calls them
		}
		for _, pid := range slices.Sorted(maps.Keys(s.pids)) {
			m.translate(s, pid)
		}
		if len(s.outside) > 0 {
			s.count, s.strangers = &m.count, map[int32]bool{}
			s.rename()
		}
	}
}

// translate finds a process of s in the recordings that told namespaces.
func (m *Merged) translate(s *scanned, pid int32) {
	var found []outside
	for _, o := range m.inputs {
		if o == s || contradict(s, o) {
			continue
		}
		if o.called(pid) {
			return // the recording saw calls of a process of that very number
		}
		for _, host := range o.inside.processes[pid] {
			if !slices.ContainsFunc(found, func(x outside) bool { return x.pid == host }) {
				found = append(found, outside{host, o.inside.threads[host]})
			}
		}
	}
	if len(found) > 1 {
		found = s.likest(found, pid)
	}
	switch len(found) {
	case 0:
	case 1:
		if s.outside == nil {
			s.outside = map[int32]outside{}
		}
		s.outside[pid] = found[0]
	default:
		m.count.AddAt(anomalyNamespaceAmbiguous, 1, fmt.Sprintf("%s: process %d", s.name, pid))
	}
}

// called reports whether the input holds calls of a process.
func (s *scanned) called(pid int32) bool {
	for _, c := range s.calls {
		if c.pid == pid {
			return true
		}
	}
	return false
}

// likest keeps the processes that have most of the threads that make calls in s.
func (s *scanned) likest(found []outside, pid int32) []outside {
	most, best := 0, []outside(nil)
	for _, f := range found {
		n := 0
		seen := map[int32]bool{}
		for k, c := range s.calls {
			if c.pid != pid || seen[k.tid] {
				continue
			}
			seen[k.tid] = true
			if _, ok := f.threads[k.tid]; ok {
				n++
			}
		}
		switch {
		case n > most:
			most, best = n, []outside{f}
		case n == most && n > 0:
			best = append(best, f)
		}
	}
	if len(best) == 0 {
		return found
	}
	return best
}

// thread returns what a thread of a process is called outside. known is false
// if the recording did not tell.
func (o *outside) thread(tid int32) (_ int32, known bool) {
	if t, ok := o.threads[tid]; ok {
		return t, true
	}
	return tid + foreignThread, false
}

// rename makes what was noted of the input bear the numbers of outside.
func (s *scanned) rename() {
	for n, o := range s.outside {
		delete(s.pids, n)
		s.pids[o.pid] = true
	}
	for i := range s.work {
		if o, ok := s.outside[s.work[i].by.pid]; ok {
			s.work[i].by.pid = o.pid
		}
	}
	calls := make(map[seriesKey]*series, len(s.calls))
	for k, c := range s.calls {
		if o, ok := s.outside[c.pid]; ok {
			k.tid, _ = o.thread(k.tid)
			c.pid = o.pid
		}
		calls[k] = c
	}
	s.calls = calls
}

// toOutside makes an event of a container's process bear the numbers of outside.
func (s *scanned) toOutside(e *event.Event) {
	o, ok := s.outside[e.PID]
	if !ok {
		return
	}
	if e.Kind == event.KindProcess && !e.Has(event.FieldNSPID) {
		e.SetInt(event.FieldNSPID, int64(e.PID))
	}
	if e.TID > 0 && e.TID < foreignThread {
		t, known := o.thread(e.TID)
		if !known && !s.strangers[e.TID] && len(s.strangers) < maxPIDs {
			s.strangers[e.TID] = true
			s.count.AddAt(anomalyForeignThread, 1, fmt.Sprintf("%s: thread %d of process %d", s.name, e.TID, e.PID))
		}
		e.TID = t
	}
	e.PID = o.pid
}

// namespaceText says which processes were renamed.
func (s *scanned) namespaceText() string {
	var l []string
	for _, n := range slices.Sorted(maps.Keys(s.outside)) {
		l = append(l, strconv.Itoa(int(n))+" is "+strconv.Itoa(int(s.outside[n].pid)))
	}
	return strings.Join(l, ", ")
}
