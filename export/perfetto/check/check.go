package check

import (
	"fmt"
	"strings"

	pb "github.com/gpurec/gpurec/protos/perfetto"
)

type checker struct {
	rep    Report
	seqs   map[uint32]*sequence
	clocks map[uint32]bool
	linux  bool
	tracks map[uint64]*Track
	flows  map[uint64][]*Slice
	gpus   int // in GpuInfo
	submit map[uint64]*Slice
}

func newChecker() *checker {
	return &checker{
		seqs: map[uint32]*sequence{}, clocks: map[uint32]bool{}, tracks: map[uint64]*Track{}, flows: map[uint64][]*Slice{}, submit: map[uint64]*Slice{},
		rep: Report{Categories: map[string]int{}, FlowPairs: map[string]int{}, Busy: map[string]int64{},
			Idle: map[string]map[string]Idle{}, MaxBacklog: map[string]float64{}},
	}
}

func (c *checker) problem(rule, format string, args ...any) {
	if len(c.rep.Problems) >= maxProblems {
		c.rep.more++
		return
	}
	c.rep.Problems = append(c.rep.Problems, Problem{rule, fmt.Sprintf(format, args...)})
}

// descriptor takes a TrackDescriptor. Its parent must be known by then: a
// descriptor that names an unknown parent makes a track at the top.
func (c *checker) descriptor(d *pb.TrackDescriptor) {
	if d.Uuid == nil {
		c.problem("track", "a descriptor has no uuid")
		return
	}
	if d.GetUuid() == 0 {
		if len(c.rep.Tracks) > 0 {
			c.problem("track", "the root is not described first")
		}
		return
	}
	if c.tracks[d.GetUuid()] != nil {
		c.problem("track", "track %d is described twice", d.GetUuid())
		return
	}
	t := &Track{UUID: d.GetUuid(), ParentUUID: d.GetParentUuid(), Name: d.GetName(), IsCounter: d.Counter != nil,
		IsProcess: d.Process != nil, IsThread: d.Thread != nil, Unit: d.GetCounter().GetUnitName(),
		Rank: d.GetSiblingOrderRank(), Ordering: d.GetChildOrdering(), Description: d.GetDescription()}
	if t.IsProcess {
		t.PID, t.Called = d.Process.GetPid(), d.Process.GetProcessName()
	}
	if t.IsThread {
		t.PID, t.TID, t.Called = d.Thread.GetPid(), d.Thread.GetTid(), d.Thread.GetThreadName()
		if d.Thread.Pid == nil || d.Thread.Tid == nil {
			c.problem("track", "thread track %d lacks pid or tid", t.UUID)
		}
	}
	if (t.IsProcess || t.IsThread) && t.PID <= 0 {
		c.problem("track", "track %d has pid %d: that is the idle process", t.UUID, t.PID)
	}
	if !t.IsProcess && !t.IsThread && t.Name == "" {
		c.problem("track", "track %d has no name", t.UUID)
	}
	if t.ParentUUID != 0 {
		t.Parent = c.tracks[t.ParentUUID]
		if t.Parent == nil {
			c.problem("track", "track %d (%s): its parent %d is not described", t.UUID, t.Name, t.ParentUUID)
		} else {
			t.Parent.children++
		}
	}
	c.tracks[t.UUID] = t
	c.rep.Tracks = append(c.rep.Tracks, t)
}

func (c *checker) event(ts int64, e *pb.TrackEvent, s *sequence) {
	t := c.tracks[e.GetTrackUuid()]
	if t == nil {
		c.problem("track", "packet %d: track %d has no descriptor", c.rep.Packets, e.GetTrackUuid())
		return
	}
	if len(e.TerminatingFlowIds) > 0 {
		c.problem("flow", "packet %d: terminating flow ids are dropped if they come first", c.rep.Packets)
	}
	if typ := e.GetType(); len(e.FlowIds) > 0 && typ != pb.TrackEvent_TYPE_SLICE_BEGIN {
		c.problem("flow", "packet %d: flow %d on a %v", c.rep.Packets, e.FlowIds[0], typ)
	}
	switch e.GetType() {
	case pb.TrackEvent_TYPE_SLICE_BEGIN:
		c.begin(ts, e, t, s)
	case pb.TrackEvent_TYPE_SLICE_END:
		c.end(ts, t)
	case pb.TrackEvent_TYPE_INSTANT:
		x := c.slice(ts, e, t, s)
		x.End = ts
		t.Instants = append(t.Instants, x)
		c.rep.Instants = append(c.rep.Instants, x)
	case pb.TrackEvent_TYPE_COUNTER:
		c.counter(ts, e, t)
	default:
		c.problem("event", "packet %d: type %v", c.rep.Packets, e.GetType())
	}
}

func (c *checker) counter(ts int64, e *pb.TrackEvent, t *Track) {
	if !t.IsCounter {
		c.problem("counter", "a value at %d on %s, which is no counter", ts, t.Path())
	}
	if (e.CounterValue == nil) == (e.DoubleCounterValue == nil) {
		c.problem("counter", "packet %d has not one value", c.rep.Packets)
	}
	v := e.GetDoubleCounterValue()
	if e.CounterValue != nil {
		v = float64(e.GetCounterValue())
	}
	t.Samples = append(t.Samples, Sample{ts, v})
	c.rep.Samples++
}

// slice resolves an event's name, category and arguments.
func (c *checker) slice(ts int64, e *pb.TrackEvent, t *Track, s *sequence) *Slice {
	x := &Slice{Track: t, Start: ts, End: -1, Args: map[string]any{}, Flows: e.FlowIds, packet: c.rep.Packets}
	if t.IsCounter {
		c.problem("counter", "a slice at %d on %s, which is a counter", ts, t.Path())
	}
	x.Name = e.GetName()
	if e.NameIid != nil {
		x.Name = c.resolve(s.names, "name", e.GetNameIid())
	}
	if x.Name == "" {
		c.problem("name", "packet %d: a slice without a name", c.rep.Packets)
	}
	for _, id := range e.CategoryIids {
		x.Category = c.resolve(s.cats, "category", id)
	}
	for _, v := range e.Categories {
		x.Category = v
	}
	for _, a := range e.DebugAnnotations {
		c.annotation(x, "", a, s)
	}
	c.rep.Categories[x.Category]++
	return x
}

func (c *checker) resolve(m map[uint64]string, what string, id uint64) string {
	v, ok := m[id]
	if !ok {
		c.problem("iid", "packet %d: %s iid %d is not defined", c.rep.Packets, what, id)
	}
	return v
}

func (c *checker) annotation(x *Slice, prefix string, a *pb.DebugAnnotation, s *sequence) {
	name := a.GetName()
	if a.NameIid != nil {
		name = c.resolve(s.argNames, "argument", a.GetNameIid())
	}
	name = prefix + name
	if len(a.DictEntries) > 0 {
		for _, d := range a.DictEntries {
			c.annotation(x, name+".", d, s)
		}
		return
	}
	if _, ok := x.Args[name]; ok {
		c.problem("argument", "packet %d: %s twice", c.rep.Packets, name)
	}
	switch {
	case a.BoolValue != nil:
		x.Args[name] = a.GetBoolValue()
	case a.UintValue != nil:
		x.Args[name] = a.GetUintValue()
	case a.IntValue != nil:
		x.Args[name] = a.GetIntValue()
	case a.DoubleValue != nil:
		x.Args[name] = a.GetDoubleValue()
	case a.StringValueIid != nil:
		x.Args[name] = c.resolve(s.strs, "string", a.GetStringValueIid())
	case a.StringValue != nil:
		x.Args[name] = a.GetStringValue()
	default:
		c.problem("argument", "packet %d: %s has no value", c.rep.Packets, name)
	}
	if x.Args[name] == "" {
		c.problem("argument", "packet %d: %s is empty; unknown is absent", c.rep.Packets, name)
	}
}

func (c *checker) begin(ts int64, e *pb.TrackEvent, t *Track, s *sequence) {
	x := c.slice(ts, e, t, s)
	if n := len(t.stack); n > 0 {
		x.Parent = t.stack[n-1]
		x.Parent.Children = append(x.Parent.Children, x)
	}
	if len(t.stack) >= 512 {
		c.problem("nesting", "%s is deeper than 512 at %d", t.Path(), ts)
	}
	t.stack = append(t.stack, x)
	t.Slices = append(t.Slices, x)
	c.rep.Slices = append(c.rep.Slices, x)
	for _, id := range e.GetGpuCorrelation().GetRenderStageSubmissionEventIds() {
		if c.submit[id] != nil {
			c.problem("stage", "render stage %d is submitted twice", id)
		}
		c.submit[id] = x
	}
	for _, f := range e.FlowIds {
		if f == 0 {
			c.problem("flow", "packet %d: flow id 0", c.rep.Packets)
		}
		c.flows[f] = append(c.flows[f], x)
	}
}

func (c *checker) end(ts int64, t *Track) {
	n := len(t.stack)
	if n == 0 {
		c.problem("nesting", "%s: an END at %d without a BEGIN", t.Path(), ts)
		return
	}
	x := t.stack[n-1]
	t.stack = t.stack[:n-1]
	if x.End = ts; ts < x.Start {
		c.problem("nesting", "%s: %q ends at %d, before it starts at %d", t.Path(), x.Name, ts, x.Start)
	}
}

// finish checks what needs the whole trace.
func (c *checker) finish() {
	for _, t := range c.rep.Tracks {
		for _, x := range t.stack {
			c.problem("nesting", "%s: %q from %d is never ended", t.Path(), x.Name, x.Start)
		}
	}
	c.siblings()
	c.layout()
	c.checkFlows()
	c.checkStages()
	for _, x := range c.rep.Slices {
		c.duration(x)
		c.place(x)
	}
	c.devices()
}

// laned are the names that several siblings may share: lanes of one row.
func laned(t *Track) bool {
	switch t.Name {
	case "queued", "losses", "overlapping", "no thread":
		return true
	}
	return strings.HasPrefix(t.Name, "stream ") || t.Rank == 50 // tracks of the source
}

func (c *checker) siblings() {
	type key struct {
		parent uint64
		name   string
	}
	first := map[key]*Track{}
	for _, t := range c.rep.Tracks {
		if t.IsProcess || t.IsThread {
			continue // their identity is their number
		}
		k := key{t.ParentUUID, t.Name}
		o := first[k]
		switch {
		case o == nil:
			first[k] = t
		case !laned(t) || t.IsCounter:
			c.problem("siblings", "two tracks are %s: they merge", t.Path())
		case o.Rank != t.Rank:
			c.problem("siblings", "%s has ranks %d and %d", t.Path(), o.Rank, t.Rank)
		}
		if laned(t) && len(t.Slices) > 0 {
			c.lane(t)
		}
	}
}

// lane checks that the outermost slices of a lane do not overlap: one that
// should lie beside another looks like its child.
func (c *checker) lane(t *Track) {
	for _, x := range t.Slices {
		if p := x.Parent; p != nil && !childOf(p.Category, x.Category) {
			c.problem("lane", "%s: %q at %d lies in %q", t.Path(), x.Name, x.Start, p.Name)
		}
	}
}

func childOf(parent, child string) bool {
	return parent == "job.queued" && strings.HasPrefix(child, "job.stage.") ||
		child == "fence_wake" && (parent == "fence_wait" || parent == "ioctl")
}

var apiCategories = map[string]bool{"api": true, "cuda_driver": true, "cuda_runtime": true, "hip": true, "opencl": true,
	"vulkan": true, "level_zero": true, "nccl": true, "hsa": true}

// class is a category as the pairs of flows name it.
func class(cat string) string {
	switch {
	case apiCategories[cat]:
		return "api"
	case strings.HasPrefix(cat, "gpu_activity."):
		return "gpu_activity"
	}
	return cat
}

var flowPairs = map[string]bool{
	"api > ioctl": true, "ioctl > job.queued": true, "ioctl > job.running": true, "job.queued > job.running": true,
	"job.running > fence_wake": true, "job.running > fence_wait": true, "job.running > ioctl": true,
	"job.queued > fence_wake": true, "job.queued > fence_wait": true, "job.queued > ioctl": true, "api > gpu_activity": true,
}

func (c *checker) checkFlows() {
	c.rep.Flows = len(c.flows)
	for id, ends := range c.flows {
		if len(ends) != 2 {
			c.problem("flow", "flow %d has %d ends", id, len(ends))
			continue
		}
		from, to := ends[0], ends[1] // in order of packets
		if from.Start > to.Start {
			c.problem("flow", "flow %d runs backwards", id)
		}
		if !flowPairs[class(from.Category)+" > "+class(to.Category)] {
			c.problem("flow", "flow %d joins %s and %s", id, from.Category, to.Category)
		}
		if id > uint64(len(c.flows)) {
			c.problem("flow", "flow ids are not dense: %d of %d", id, len(c.flows))
		}
		c.rep.FlowPairs[from.Category+" > "+to.Category]++
	}
}

// duration compares a slice's length with what its arguments say: slices that
// are ended in the wrong order get each other's.
func (c *checker) duration(x *Slice) {
	if x.End < 0 {
		return
	}
	for cat, arg := range map[string]string{"job.running": "device_time_ns", "fence_wait": "wait_ns", "fence_wake": "wake_ns", "gpu_idle": "dur_ns"} {
		if x.Category != cat || x.Str("end") != "" || x.Str("clipped") != "" {
			continue
		}
		if v, ok := x.Int(arg); ok && v != x.End-x.Start {
			c.problem("duration", "%s %q at %d is %d long, but %s is %d", cat, x.Name, x.Start, x.End-x.Start, arg, v)
		}
	}
	if v, ok := x.Int("dur_ns"); ok && strings.HasPrefix(x.Category, "gpu_activity.") && x.Str("clipped") == "" && v != x.End-x.Start {
		c.problem("duration", "%q at %d is %d long, but dur_ns is %d", x.Name, x.Start, x.End-x.Start, v)
	}
}

// place checks what must lie inside what on the thread tracks.
func (c *checker) place(x *Slice) {
	on := x.Track
	beside := on.Name == "overlapping" || on.Name == "no thread"
	switch x.Category {
	case "fence_wake":
		if x.Parent == nil || x.Parent.Category != "fence_wait" && x.Parent.Category != "ioctl" {
			c.problem("place", "a woken at %d lies in no wait", x.Start)
		}
	case "fence_wait":
		if x.Parent != nil && x.Parent.Category == "fence_wait" {
			c.problem("place", "a wait at %d lies in another", x.Start)
		}
	case "ioctl":
		id, linked := x.Int("api_call_id")
		if !linked || beside || x.End == x.Start {
			return
		}
		for p := x.Parent; ; p = p.Parent {
			if p == nil {
				c.problem("place", "ioctl %v at %d does not lie in API call %d", x.Args["ioctl_id"], x.Start, id)
				return
			}
			if v, ok := p.Int("api_call_id"); ok && v == id && apiCategories[p.Category] {
				return
			}
		}
	}
}
