package check

import (
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// stream names what loses events by itself: a CPU's buffer of ftrace, a group
// of BPF programs on a CPU.
type stream struct {
	name string
	cpu  int32
}

// stream is where a log's recorder counts the loss of an event.
func (p *product) stream(k event.Kind, cpu int32) stream {
	switch {
	case !p.bpf:
		return stream{"ftrace", cpu}
	case k >= event.KindJobQueue && k <= event.KindJobDone:
		return stream{"bpf/sched", cpu}
	}
	return stream{"bpf/fence", cpu}
}

// account holds, for each stream, that produced = written + lost, and returns
// the sum of what was lost. The guest's own trace tells what was produced; it
// lost nothing, and its numbers are held to the truth (produced).
func (e *edges) account() (total int64) {
	left := map[stream]int64{}
	for i := range e.r.trace.Events {
		v := &e.r.trace.Events[i]
		if e.marked(v) && (v.Str(event.FieldOrigin) == e.p.origin || v.Kind < event.KindJobQueue || v.Kind > event.KindJobDone) {
			left[e.p.stream(v.Kind, v.CPU)]++
		}
	}
	for i := range e.p.events {
		if v := &e.p.events[i]; e.marked(v) {
			left[e.p.stream(v.Kind, v.CPU)]--
		}
	}
	for i := range e.p.rows.Losses {
		l := &e.p.rows.Losses[i]
		if !l.Count.OK || !l.CPU.OK {
			e.say("loss %d has no count or no CPU", l.ID)
		}
		if l.EndNS.OK && int64(l.EndNS.V) > e.w.ended {
			continue // of what came after the last mark
		}
		left[stream{l.Stream, int32(l.CPU.V)}] -= int64(l.Count.V)
		total += int64(l.Count.V)
	}
	missed := e.p.misses()
	for s, n := range left {
		if n < 0 || n > missed {
			e.say("%s of CPU %d: produced - written - lost is %d, not 0", s.name, s.cpu, n)
			continue
		}
		missed -= n
	}
	if missed != 0 {
		e.say("%d events are said to be missed, and are not missing", missed)
	}
	return total
}

// misses is how many events programs missed that did not run inside themselves.
func (p *product) misses() (n int64) {
	for _, probe := range p.sum.Meta.Probes {
		if strings.HasPrefix(probe.Name, "gpu_scheduler:") || strings.HasPrefix(probe.Name, "dma_fence:") {
			n += int64(probe.Misses)
		}
	}
	return n
}

// marked reports whether an event is one of the scheduler's or of dma_fence,
// between the first and the last mark.
func (e *edges) marked(v *event.Event) bool {
	return counted(v.Kind) && int64(v.Time) >= e.w.begun && int64(v.Time) <= e.w.ended
}

// counted are the kinds of the scheduler's and dma_fence's tracepoints.
func counted(k event.Kind) bool {
	switch k {
	case event.KindJobQueue, event.KindJobRun, event.KindJobDone, event.KindJobDep, event.KindFenceInit, event.KindFenceEmit,
		event.KindFenceEnable, event.KindFenceSignal, event.KindFenceWaitStart, event.KindFenceWaitEnd, event.KindFenceDestroy:
		return true
	}
	return false
}

// produced holds the numbers of events of the guest's own trace to the truth: so
// many were produced of each sort, if none was lost.
func (r *results) produced(mode scenario.Mode) (problems []string) {
	want, got := map[string]int{}, map[string]int{}
	for _, j := range r.truth.Jobs {
		for _, origin := range []string{originLegacy, originNewer} {
			if mode != scenario.Both && (origin == originNewer) != (mode == scenario.Newer) {
				continue
			}
			want[origin+" queue"]++
			want[origin+" run"] += min(j.Runs, 1)
			want[origin+" done"] += min(j.Runs, 1)
		}
		want["drm_sched init"] += 2
		want["drm_sched signal"] += 2
		want["mockgpu init"] += len(j.HW)
		want["mockgpu signal"] += len(j.HW)
	}
	sorts := map[event.Kind]string{event.KindJobQueue: "queue", event.KindJobRun: "run", event.KindJobDone: "done",
		event.KindFenceInit: "init", event.KindFenceSignal: "signal"}
	for i := range r.trace.Events {
		e := &r.trace.Events[i]
		from := e.Str(event.FieldOrigin) + e.Str(event.FieldDriver)                           // one of the two
		if sort := sorts[e.Kind]; sort != "" && from != "dma_fence_chain" && from != "stub" { // those of syncobjs
			got[from+" "+sort]++
		}
	}
	for sort, n := range want {
		if got[sort] != n {
			problems = append(problems, fmt.Sprintf("%s: %d events, the truth has %d", sort, got[sort], n))
		}
	}
	for sort, n := range got {
		if _, ok := want[sort]; !ok {
			problems = append(problems, fmt.Sprintf("%s: %d events, of which the truth knows nothing", sort, n))
		}
	}
	return problems
}
