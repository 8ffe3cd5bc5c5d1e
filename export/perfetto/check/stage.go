package check

import (
	pb "github.com/gpurec/gpurec/protos/perfetto"
)

// Stage is a render stage with what it refers to resolved.
type Stage struct {
	ID                                 uint64
	Start, Dur                         int64
	GPU                                int32
	Name, Queue, Kind, Kernel, Context string
	Grid, Block                        [3]uint32
	Extra                              map[string]string
	Submission                         uint32
}

// stage takes a render stage. Perfetto drops one whose queue is not defined
// without a word, and takes one without GPU for the first.
func (c *checker) stage(ts int64, e *pb.GpuRenderStageEvent, s *sequence) {
	x := &Stage{ID: e.GetEventId(), Start: ts, Dur: int64(e.GetDuration()), GPU: e.GetGpuId(), Submission: e.GetSubmissionId(), Extra: map[string]string{}}
	if e.EventId == nil || e.Duration == nil || e.GpuId == nil || e.HwQueueIid == nil || e.StageIid == nil || e.Context == nil {
		c.problem("stage", "packet %d: a render stage lacks id, duration, GPU, queue, stage or context", c.rep.Packets)
		return
	}
	if x.GPU < 0 || int(x.GPU) >= c.gpus {
		c.problem("stage", "render stage %d: GPU %d is not among the %d of GpuInfo", x.ID, x.GPU, c.gpus)
	}
	if e.GetContext() >= 1<<32 {
		c.problem("stage", "render stage %d: context %d has more than 32 bits", x.ID, e.GetContext())
	}
	x.Queue = c.resolve(s.specs, "queue", e.GetHwQueueIid())
	x.Kind = c.resolve(s.specs, "stage", e.GetStageIid())
	x.Context = c.resolve(s.contexts, "context", e.GetContext())
	if x.Name = e.GetName(); e.NameIid != nil {
		x.Name = c.resolve(s.names, "name", e.GetNameIid())
	}
	if e.KernelIid != nil {
		x.Kernel = c.resolve(s.kernels, "kernel", e.GetKernelIid())
	}
	g, b := e.GetLaunch().GetGridSize(), e.GetLaunch().GetWorkgroupSize()
	x.Grid = [3]uint32{g.GetX(), g.GetY(), g.GetZ()}
	x.Block = [3]uint32{b.GetX(), b.GetY(), b.GetZ()}
	for _, d := range e.ExtraData {
		x.Extra[d.GetName()] = d.GetValue()
	}
	if ts < s.last {
		c.problem("order", "render stage %d: time %d after %d", x.ID, ts, s.last)
	}
	s.last = ts
	c.rep.Stages = append(c.rep.Stages, x)
}

// checkStages holds render stages against the slices of the same activities,
// and the calls that submitted them.
func (c *checker) checkStages() {
	stages := map[uint64]*Stage{}
	for _, x := range c.rep.Stages {
		if stages[x.ID] != nil || x.ID == 0 {
			c.problem("stage", "two render stages have the id %d, or it is 0", x.ID)
		}
		stages[x.ID] = x
	}
	for id, call := range c.submit {
		if x := stages[id]; x == nil {
			c.problem("stage", "%q at %d submits render stage %d, which is not there", call.Name, call.Start, id)
		} else if x.Start < call.Start {
			c.problem("stage", "render stage %d starts before the call that submits it", id)
		}
	}
	if len(stages) == 0 {
		return
	}
	for _, s := range c.rep.Slices {
		id, ok := s.Int("gpu_activity_id")
		if !ok || class(s.Category) != "gpu_activity" {
			continue
		}
		x := stages[uint64(id)]
		if x == nil {
			if _, known := s.Int("device"); known {
				c.problem("stage", "activity %d has no render stage", id)
			}
			continue
		}
		if x.Start != s.Start || x.Start+x.Dur != s.End || x.Name != s.Name {
			c.problem("stage", "render stage %d is %q from %d for %d, its slice %q %d-%d", id, x.Name, x.Start, x.Dur, s.Name, s.Start, s.End)
		}
		delete(stages, x.ID)
	}
	for id := range stages {
		c.problem("stage", "render stage %d has no slice", id)
	}
}
