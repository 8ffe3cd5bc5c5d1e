package report

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

// A ring by hand: job 1 is queued at 10, runs from 20 to 50; job 2 is queued at
// 30, runs from 50 to 60; the end of job 3, queued at 40, is lost; job 4 is
// queued at 90 and never runs.
func TestBacklog(t *testing.T) {
	r := run(t, &correlate.Rows{Jobs: []correlate.Job{
		{ID: 1, Ring: "gfx", QueuedNS: at(10), RunNS: at(20), DoneNS: at(50), EndKind: "done"},
		{ID: 2, Ring: "gfx", QueuedNS: at(30), RunNS: at(50), DoneNS: at(60), EndKind: "done"},
		{ID: 3, Ring: "gfx", QueuedNS: at(40), EndKind: "lost"},
		{ID: 4, Ring: "gfx", QueuedNS: at(90), EndKind: "open"},
		{ID: 5, Ring: "sdma", RunNS: at(5), DoneNS: at(7), FinishedNS: at(9), EndKind: "done"},
		{ID: 6, Ring: "sdma", QueuedNS: at(6), FinishedNS: at(8), EndKind: "killed"},
		{ID: 7, Ring: "sdma", EndKind: "lost"},
	}})
	g, s := &r.Rings[0], &r.Rings[1]
	// 10-30: 1, 30-50: 2, 50-60: 1, 60-90: 0
	if g.MaxQueued != 1 || g.MaxInFlight != 1 || !reflect.DeepEqual(g.BacklogTime, []BacklogTime{{0, 30}, {1, 30}, {2, 20}}) {
		t.Errorf("gfx %d %d %v", g.MaxQueued, g.MaxInFlight, g.BacklogTime)
	}
	// 5-6: 1, 6-7: 2, 7-8: 1
	if s.MaxQueued != 1 || s.MaxInFlight != 1 || !reflect.DeepEqual(s.BacklogTime, []BacklogTime{{1, 2}, {2, 1}}) {
		t.Errorf("sdma %d %d %v", s.MaxQueued, s.MaxInFlight, s.BacklogTime)
	}
}

// Taken in parts, changes that come nearly in order give the same.
func TestBacklogInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	var whole, parts backlog
	now := int64(0)
	for i := range 5000 {
		now += r.Int64N(100)
		j := correlate.Job{QueuedNS: at(now), RunNS: at(now + r.Int64N(300)), EndKind: "done"}
		j.DoneNS = at(int64(j.RunNS.V) + r.Int64N(300))
		whole.add(&j)
		parts.add(&j)
		if i%500 == 499 {
			parts.flush(len(parts.steps) / 2)
		}
	}
	whole.flush(len(whole.steps))
	parts.flush(len(parts.steps))
	if !reflect.DeepEqual(whole.times(), parts.times()) || whole.mostQueued != parts.mostQueued || whole.mostInRun != parts.mostInRun || parts.late || whole.mostQueued < 2 {
		t.Errorf("whole %v, in parts %v", whole.times(), parts.times())
	}
	// One that comes after all is marked.
	parts.add(&correlate.Job{QueuedNS: at(1), EndKind: "open"})
	if parts.flush(len(parts.steps)); !parts.late {
		t.Error("what comes too late is not marked")
	}
}

// Interrupts of GPUs count, by handler; others do not.
func TestInterrupts(t *testing.T) {
	r := run(t, &correlate.Rows{IRQs: []correlate.IRQ{
		{Driver: "amdgpu", Name: "amdgpu", DeviceID: 1, StartNS: at(10), EndNS: at(30)},
		{Driver: "amdgpu", Name: "amdgpu", DeviceID: 1, StartNS: at(40), EndNS: at(50)},
		{Driver: "amdgpu", Name: "amdgpu", DeviceID: 1, StartNS: at(60)},
		{Driver: "i915", Name: "i915", StartNS: at(60), EndNS: at(61)},
		{Name: "eth0", StartNS: at(60), EndNS: at(61)},
	}})
	x := r.Interrupts
	if len(x) != 2 || x[0].Count != 3 || x[0].Time.Count != 2 || x[0].Time.SumNS != 30 || *x[0].PerSecond != 3 || x[1].Driver != "i915" || x[1].DeviceID != nil {
		t.Errorf("%+v", x)
	}
}
