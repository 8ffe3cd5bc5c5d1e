package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpurec/gpurec/record/event"
)

// comparison compares jobs one by one.
type comparison struct {
	jobs     *tracedJobs
	problems []string
	excused  map[*Job]bool // of which an event was missed, as the log says: it is not whole
}

func (c *comparison) problem(j *Job, format string, args ...any) {
	if c.excused[j] {
		return
	}
	c.problems = append(c.problems, fmt.Sprintf("job %v: ", j.Key)+fmt.Sprintf(format, args...))
}

// job compares a job with what the events of one generation say.
func (c *comparison) job(j *Job, t *traced, origin string) {
	if t == nil {
		c.problem(j, "%s: not found", origin)
		return
	}
	c.count(j, origin, "queue", len(t.queue), 1)
	runs := min(j.Runs, 1) // a second run is not traced
	c.count(j, origin, "run", len(t.run), runs)
	done := runs
	if !j.Ended {
		done = 0
	}
	c.count(j, origin, "done", len(t.done), done)
	for i := range t.queue {
		c.queue(j, &t.queue[i], origin)
	}
	c.times(j, t, origin)
	if origin == originNewer && len(t.queue) > 0 && !sameKeys(t.deps, j.Deps) {
		c.problem(j, "%s: depends on %v, not on %v", origin, t.deps, j.Deps)
	}
	if len(t.hw) > 0 && (len(j.HW) == 0 || t.hw[0] != j.HW[0].low()) {
		c.problem(j, "%s: hardware fence %v, the truth has %v", origin, t.hw, j.HW)
	}
	if len(t.hw) == 0 && len(j.HW) > 0 {
		c.problem(j, "%s: no hardware fence found", origin)
	}
}

func (c *comparison) count(j *Job, origin, what string, got, want int) {
	if got != want {
		c.problem(j, "%s: %d %s events, not %d", origin, got, what, want)
	}
}

func (c *comparison) queue(j *Job, e *event.Event, origin string) {
	if int(e.TID) != j.TID || e.PID != event.NoID && int(e.PID) != j.PID {
		c.problem(j, "%s: queued by %d/%d, not %d/%d", origin, e.PID, e.TID, j.PID, j.TID)
	}
	if r := e.Str(event.FieldRing); r != j.Ring {
		c.problem(j, "%s: ring %q, not %q", origin, r, j.Ring)
	}
	if origin == originLegacy {
		if p, _ := e.Uint(event.FieldFencePtr); p != j.Fence {
			c.problem(j, "%s: fence at %#x, not %#x", origin, p, j.Fence)
		}
		return
	}
	if d := e.Str(event.FieldDevice); d != j.Device {
		c.problem(j, "%s: device %q, not %q", origin, d, j.Device)
	}
	if id, _ := e.Uint(event.FieldClientID); id != j.Client {
		c.problem(j, "%s: client %d, not %d", origin, id, j.Client)
	}
}

// times holds the order of a job's moments in the truth and in the trace.
func (c *comparison) times(j *Job, t *traced, origin string) {
	before := func(what string, a, b int64) {
		if a != 0 && b != 0 && a > b {
			c.problem(j, "%s: %s, by %d ns", origin, what, a-b)
		}
	}
	var queue, run, done int64
	if len(t.queue) > 0 {
		queue = int64(t.queue[0].Time)
	}
	if len(t.run) > 0 {
		run = int64(t.run[0].Time)
	}
	if len(t.done) > 0 {
		done = int64(t.done[0].Time)
	}
	before("queue event before the job was armed", j.Queue, queue)
	before("queue event after the job ran", queue, j.Run)
	before("run event after the driver's run_job", run, j.Run)
	if n := len(j.HW); n > 0 {
		before("done event before the hardware fence", j.HW[n-1].Signal, done)
	}
	before("done event after the finished fence", done, j.Finished)
}

// fences compares a job's fences with the events of dma_fence, which show the
// low halves of their keys only: what several fences share is not compared.
func (c *comparison) fences(j *Job) {
	if !j.Ended {
		return
	}
	if n := len(c.jobs.signals[j.Key.low()]); n < 1 {
		c.problem(j, "its finished fence was not seen to be signalled")
	}
	for _, hw := range j.HW {
		if c.jobs.hwInits[hw.low()] < 1 {
			c.problem(j, "hardware fence %v was not seen", hw.Key)
		}
	}
}

// sameKeys compares without order.
func sameKeys(a, b []Key) bool {
	order := func(x, y Key) int {
		return cmp.Or(cmp.Compare(x.Context, y.Context), cmp.Compare(x.Seqno, y.Seqno))
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}
