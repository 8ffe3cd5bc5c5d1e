package stress

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// variants are the streams, by name. In each hostile one something grows with
// every step, beside the steady machine.
var variants = map[string]func(*Source){
	Steady: steady,

	"threads":         hostile(func(s *Source) { s.plainCall(s.fresh(1200)) }),
	"threads-ending":  hostile(shortThreads),
	"threads-waiting": hostile(waitingThreads),
	"threads-loose":   hostile(func(s *Source) { s.looseIoctl() }),
	"processes":       hostile(func(s *Source) { s.plainCall(s.fresh(0)) }),
	"processes-told":  hostile(toldProcesses),
	"programs":        hostile(programsOfWork),

	"calls-open":    hostile(func(s *Source) { s.entry(s.thread(), "cuLaunchKernel") }),
	"calls-hanging": hostile(func(s *Source) { s.entry(s.fresh(1200), "cuCtxSynchronize") }),
	"calls-whole":   hostile(func(s *Source) { s.whole(s.fresh(1200)) }),
	"functions":     hostile(namedFunctions),
	"ioctls-open":   hostile(func(s *Source) { s.ioctl(event.KindIoctlEnter, s.fresh(1200), 0xc0206449, "") }),
	"ioctls-whole":  hostile(func(s *Source) { s.wholeIoctl(s.fresh(1200), 5) }),
	"descriptors":   hostile(func(s *Source) { s.wholeIoctl(s.thread(), int64(s.step)) }),

	"jobs-open":         hostile(openJobs),
	"jobs-running":      hostile(runningJobs),
	"jobs-undone":       hostile(undoneJobs),
	"jobs-of-a-driver":  hostile(driverJobs),
	"jobs-depending":    hostile(dependingJobs),
	"jobs-described":    hostile(describedJobs),
	"dependencies":      hostile(unknownDependencies),
	"fences-unsignaled": hostile(func(s *Source) { s.fence(event.KindFenceInit, s.thread(), "x", "y", 9, uint64(s.step)) }),
	"fences-pairs":      hostile(pairs),
	"contexts":          hostile(contexts),
	"rings":             hostile(freshRings),
	"devices":           hostile(freshDevices),
	"devices-told":      hostile(toldDevices),

	"launches-without-work": hostile(launches),
	"work-without-launch":   hostile(func(s *Source) { s.work(int64(1<<40+s.step), "0000:10:00.0", 7) }),
	"work-of-one-launch":    hostile(func(s *Source) { s.work(1<<41, "0000:10:00.0", 7) }),
	"streams":               hostile(func(s *Source) { s.work(0, "0000:10:00.0", uint64(s.step)) }),
	"gaps":                  hostile(func(s *Source) { s.at += 1e6; s.work(0, "gpu"+strconv.Itoa(s.step%20000), 7) }),
	"graph":                 hostile(graph),

	"ranges-open":    hostile(func(s *Source) { s.slice(event.KindSliceBegin, s.thread(), "range") }),
	"ranges-async":   hostile(asyncRanges),
	"ranges-threads": hostile(func(s *Source) { s.slice(event.KindSliceBegin, s.fresh(1200), "range") }),
	"ranges-whole":   hostile(wholeRanges),
	"tracks":         hostile(tracks),

	"wakeups":    hostile(wakeups),
	"switches":   hostile(freshSwitches),
	"interrupts": hostile(interrupts),
	"cpus":       hostile(cpus),
	"maps":       hostile(mappings),
	"losses":     hostile(losses),
	"resets":     hostile(resets),
	"domains":    hostile(domains),
}

// Variants returns the names of the streams, in order.
func Variants() []string { return slices.Sorted(maps.Keys(variants)) }

// hostile is a stream in which f happens at each step, and the steady machine
// goes on meanwhile.
func hostile(f func(*Source)) func(*Source) {
	return func(s *Source) {
		if s.step%8 == 0 {
			steady(s)
		}
		f(s)
	}
}

// thread is one of a few threads of a process of its own.
func (s *Source) thread() who {
	t := int32(s.step % 5)
	return who{t, 1200, 1290 + t, "hostile"}
}

// fresh is a thread that was not seen before, of pid or of a process of its own.
func (s *Source) fresh(pid int32) who {
	tid := int32(10000 + s.step)
	if pid == 0 {
		pid = tid
	}
	return who{int32(s.step % 16), pid, tid, "hostile"}
}

func (s *Source) entry(w who, name string) *event.Event {
	return s.call(event.KindAPIEnter, w, name, event.APICUDADriver)
}

func (s *Source) plainCall(w who) {
	s.entry(w, "cuMemAlloc_v2")
	s.call(event.KindAPIExit, w, "cuMemAlloc_v2", event.APICUDADriver).SetInt(event.FieldResult, 0)
	s.switched(w, who{w.cpu, event.NoID, 0, "swapper"})
}

func (s *Source) whole(w who) {
	e := s.call(event.KindAPI, w, "cuMemAlloc_v2", event.APICUDADriver)
	e.SetTime(event.FieldStart, s.at-500)
	e.SetInt(event.FieldResult, 0)
}

func (s *Source) wholeIoctl(w who, fd int64) {
	e := s.add(event.KindIoctl, w)
	e.Source = "seccomp"
	e.SetInt(event.FieldFD, fd)
	e.SetUint(event.FieldCmd, 0xc0206449)
	e.SetTime(event.FieldStart, s.at-500)
	e.SetInt(event.FieldResult, 0)
}

// looseIoctl is of a process whose source names no thread.
func (s *Source) looseIoctl() {
	w := s.fresh(0)
	w.tid = event.NoID
	s.wholeIoctl(w, 5)
}

func (s *Source) task(op event.TaskOp, w who, tid int32) {
	e := s.add(event.KindTask, w)
	e.SetUint(event.FieldTaskOp, uint64(op))
	e.SetInt(event.FieldTargetPID, int64(w.pid))
	e.SetInt(event.FieldTargetTID, int64(tid))
	e.SetStr(event.FieldTargetComm, w.comm)
}

func shortThreads(s *Source) {
	w := s.fresh(1200)
	s.task(event.TaskFork, who{w.cpu, 1200, 1200, "train2"}, w.tid)
	s.plainCall(w)
	s.task(event.TaskExit, w, w.tid)
}

func waitingThreads(s *Source) {
	s.fence(event.KindFenceWaitStart, s.fresh(1200), "x", "y", 9, uint64(s.step))
}

func toldProcesses(s *Source) {
	w := s.fresh(0)
	e := s.add(event.KindProcess, w)
	e.SetStr(event.FieldName, "prog"+strconv.Itoa(s.step))
	e.SetStr(event.FieldCmdline, "/usr/bin/prog"+strconv.Itoa(s.step)+" --an-option=of-some-length")
	e.SetTime(event.FieldStart, s.at)
}

// programsOfWork are ever new processes, each with work on a device of its own profiler.
func programsOfWork(s *Source) {
	w := s.fresh(0)
	s.told(event.KindAPIEnter, w, "cuLaunchKernel", event.APICUDADriver).SetInt(event.FieldCorrelationID, 5)
	s.told(event.KindAPIExit, w, "cuLaunchKernel", event.APICUDADriver).SetInt(event.FieldResult, 0)
	s.kernel(w, 5, gpu(s.step%gpus), "k")
}

func namedFunctions(s *Source) {
	w, name := s.thread(), "function"+strconv.Itoa(s.step)
	s.entry(w, name).SetStr(event.FieldKernelName, "kernel"+strconv.Itoa(s.step))
	s.call(event.KindAPIExit, w, name, event.APICUDADriver).SetInt(event.FieldResult, 0)
	s.entry(w, "cuModuleGetFunction")
	e := s.call(event.KindAPIExit, w, "cuModuleGetFunction", event.APICUDADriver)
	e.SetUint(event.FieldFunction, uint64(s.step))
	e.SetStr(event.FieldKernelName, "kernel"+strconv.Itoa(s.step))
}

// hostileRing is a ring of the hostile streams, and its next job.
func (s *Source) hostileRing(name string) (*ringState, pending) {
	return &ringState{gpu: gpu(0), name: name}, pending{num: uint64(s.step + 1), ctx: 5001, seq: uint64(s.step + 1)}
}

func openJobs(s *Source) {
	r, j := s.hostileRing("open")
	s.job(event.KindJobQueue, s.thread(), r, &j)
}

func runningJobs(s *Source) {
	r, j := s.hostileRing("running" + strconv.Itoa(s.step%3))
	s.job(event.KindJobQueue, s.thread(), r, &j)
	s.job(event.KindJobRun, who{0, 300, 300, "running"}, r, &j)
}

// undoneJobs run one by one on many rings, and their fences tell that they ended.
func undoneJobs(s *Source) {
	r, j := s.hostileRing("undone" + strconv.Itoa(s.step%50000))
	w := who{0, 300, 300, "undone"}
	s.job(event.KindJobQueue, s.thread(), r, &j)
	s.job(event.KindJobRun, w, r, &j)
	s.fence(event.KindFenceSignal, w, "drm_sched", r.name, j.ctx, j.seq)
}

func driverJobs(s *Source) {
	e := s.add(event.KindJobQueue, s.thread())
	e.SetStr(event.FieldOrigin, "msm")
	e.SetStr(event.FieldRing, "ring"+strconv.Itoa(s.step%4))
	e.SetUint(event.FieldSchedJobID, uint64(s.step))
}

func dependingJobs(s *Source) {
	r, j := s.hostileRing("depending")
	w := s.thread()
	s.job(event.KindJobQueue, w, r, &j)
	for i := range 32 {
		e := s.job(event.KindJobDep, w, r, &j)
		e.SetUint(event.FieldOnFenceContext, 6001)
		e.SetUint(event.FieldOnFenceSeqno, uint64(s.step*32+i))
	}
}

// describedJobs come with a long text each.
func describedJobs(s *Source) {
	r, j := s.hostileRing("described")
	s.job(event.KindJobQueue, s.thread(), r, &j).SetStr(event.FieldArgs, `{"a":"`+longText(s.step)+`"}`)
}

func longText(n int) string {
	b := make([]byte, 4000)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b) + strconv.Itoa(n)
}

func unknownDependencies(s *Source) {
	r, j := s.hostileRing("unknown")
	e := s.job(event.KindJobDep, s.thread(), r, &j)
	e.SetUint(event.FieldOnFenceContext, 6001)
	e.SetUint(event.FieldOnFenceSeqno, uint64(s.step))
}

func pairs(s *Source) {
	w, seq := s.fresh(1200), uint64(s.step)
	s.fence(event.KindFenceInit, w, "drm_sched", "y", 7000, seq)
	s.fence(event.KindFenceInit, w, "drm_sched", "y", 7001, seq)
}

// contexts are ever new entities, with one job each.
func contexts(s *Source) {
	r, j := s.hostileRing("contexts")
	j.ctx, j.seq = uint64(100000+2*s.step), 1
	s.job(event.KindJobQueue, s.thread(), r, &j)
	s.job(event.KindJobRun, who{0, 300, 300, "contexts"}, r, &j)
	s.job(event.KindJobDone, who{0, 300, 300, "contexts"}, r, &j)
	s.fence(event.KindFenceSignal, who{0, 300, 300, "contexts"}, "drm_sched", r.name, j.ctx, 1)
}

func freshRings(s *Source) {
	r, j := s.hostileRing("ring" + strconv.Itoa(s.step))
	s.lifeOf(r, &j)
}

func (s *Source) lifeOf(r *ringState, j *pending) {
	w := who{0, 300, 300, "life"}
	s.job(event.KindJobQueue, s.thread(), r, j)
	s.job(event.KindJobRun, w, r, j)
	s.job(event.KindJobDone, w, r, j)
	s.fence(event.KindFenceSignal, w, "drm_sched", r.name, j.ctx, j.seq)
}

func freshDevices(s *Source) {
	r, j := s.hostileRing("gfx")
	r.gpu = "gpu" + strconv.Itoa(s.step)
	s.lifeOf(r, &j)
	s.work(0, r.gpu, 7)
}

func toldDevices(s *Source) {
	e := s.add(event.KindDevice, who{event.NoID, event.NoID, event.NoID, ""})
	e.SetStr(event.FieldDevice, "gpu"+strconv.Itoa(s.step))
	e.SetStr(event.FieldName, "A GPU")
}

func launches(s *Source) {
	w := s.thread()
	s.entry(w, "cuLaunchKernel").SetInt(event.FieldCorrelationID, int64(1<<40+s.step))
	s.call(event.KindAPIExit, w, "cuLaunchKernel", event.APICUDADriver).SetInt(event.FieldResult, 0)
}

func (s *Source) work(id int64, gpu string, stream uint64) {
	w := s.thread()
	if s.step < 5 {
		s.told(event.KindAPIEnter, w, "cuInit", event.APICUDADriver).SetInt(event.FieldCorrelationID, 1<<39+int64(s.step))
	}
	s.kernel(w, id, gpu, "k")
	s.b.Events[len(s.b.Events)-1].SetUint(event.FieldStream, stream)
}

// graph is a launch and its thousand kernels, half of which come before it.
func graph(s *Source) {
	n := int64(s.step / 1000)
	w := who{0, 1200, 1290, "hostile"}
	if s.step%1000 == 500 {
		e := s.told(event.KindAPI, w, "cuGraphLaunch", event.APICUDADriver)
		e.SetTime(event.FieldStart, s.at-1e6)
		e.SetInt(event.FieldCorrelationID, 1<<42+n)
	}
	s.kernel(w, 1<<42+n, gpu(0), "k")
}

func asyncRanges(s *Source) {
	s.slice(event.KindSliceBegin, s.thread(), "async")
	s.b.Events[len(s.b.Events)-1].SetUint(event.FieldSliceID, uint64(s.step))
}

// wholeRanges overlap without nesting, on many threads.
func wholeRanges(s *Source) {
	w := who{0, 1200, int32(20000 + s.step%3000), "hostile"}
	s.slice(event.KindSlice, w, "whole")
	s.b.Events[len(s.b.Events)-1].SetTime(event.FieldStart, s.at-500)
}

func tracks(s *Source) {
	s.slice(event.KindSliceBegin, s.thread(), "range")
	s.b.Events[len(s.b.Events)-1].SetStr(event.FieldTrack, "track"+strconv.Itoa(s.step))
}

func wakeups(s *Source) {
	s.add(event.KindSchedWaking, s.thread()).SetInt(event.FieldTargetTID, int64(10000+s.step))
}

func freshSwitches(s *Source) {
	s.switched(s.fresh(1200), s.fresh(1200))
}

func interrupts(s *Source) {
	e := s.add(event.KindIRQEntry, who{int32(s.step % 64), event.NoID, 0, "<idle>"})
	e.SetInt(event.FieldIRQ, 40)
	e.SetStr(event.FieldName, "amdgpu")
}

func cpus(s *Source) {
	w := s.thread()
	w.cpu = int32(3 * s.step)
	s.switched(w, who{w.cpu, event.NoID, 0, "swapper"})
	s.add(event.KindIRQEntry, who{w.cpu, event.NoID, 0, "<idle>"}).SetInt(event.FieldIRQ, 40)
}

func mappings(s *Source) {
	e := s.add(event.KindMemMap, s.thread())
	e.SetStr(event.FieldOrigin, "amdgpu")
	e.SetUint(event.FieldAddress, uint64(s.step)<<12)
	e.SetUint(event.FieldBytes, 4096)
	e.SetUint(event.FieldObjectPtr, uint64(s.step))
}

func losses(s *Source) {
	e := s.add(event.KindLoss, who{int32(s.step % 16), event.NoID, event.NoID, ""})
	e.SetStr(event.FieldTrack, "ftrace")
	e.SetTime(event.FieldStart, s.at-100)
	e.SetUint(event.FieldCount, 3)
}

func resets(s *Source) {
	s.add(event.KindReset, who{event.NoID, event.NoID, event.NoID, ""}).SetStr(event.FieldDevice, gpu(0))
}

// domains are ever new machines, each with a thread in a call, a job and a device.
func domains(s *Source) {
	from := len(s.b.Events)
	w := s.fresh(1200)
	s.entry(w, "cuLaunchKernel")
	r, j := s.hostileRing("gfx")
	s.job(event.KindJobQueue, w, r, &j)
	for i := from; i < len(s.b.Events); i++ {
		s.b.Events[i].SetUint(event.FieldDomain, uint64(s.step+1))
	}
}
