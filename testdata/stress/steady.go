package stress

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// The machine of the steady stream: two sorts of programs on four GPUs. One
// half submits through ioctls and a scheduler, the other rings doorbells and
// has its work measured by a profiler.
const (
	programs  = 8
	perThread = 4 // threads of a program
	gpus      = 4
	rings     = 3  // of a GPU
	inFlight  = 24 // jobs queued and not done, a ring
)

type pending struct {
	num, ctx, seq, hwSeq uint64
	ran                  bool
}

type ringState struct {
	gpu, name   string
	hwCtx       uint64
	num, hwSeq  uint64
	jobs        []pending // queued and not done
	worker, irq who
}

type machine struct {
	threads []who
	rings   []*ringState
	seq     []uint64 // of each thread's entity
	corr    int64
	kernels []string
	started bool
	work    []launched
}

// launched is a kernel that the profiler has not told of yet.
type launched struct {
	w    who
	id   int64
	gpu  string
	name string
}

func newMachine() *machine {
	m := &machine{seq: make([]uint64, programs*perThread)}
	for p := range programs {
		for t := range perThread {
			pid := int32(1000 + 100*p)
			m.threads = append(m.threads, who{int32(p*perThread + t), pid, pid + int32(t), "train" + strconv.Itoa(p)})
		}
	}
	for g := range gpus {
		for _, name := range []string{"gfx", "compute", "sdma0"} {
			i := int32(len(m.rings))
			m.rings = append(m.rings, &ringState{gpu: gpu(g), name: name, hwCtx: uint64(10 + i),
				worker: who{i % 16, 200 + i, 200 + i, name}, irq: who{cpu: (i + 1) % 16, pid: event.NoID, tid: 0, comm: "<idle>"}})
		}
	}
	for i := range 64 {
		m.kernels = append(m.kernels, "gemm_f16_"+strconv.Itoa(64+i)+"x128_tn")
	}
	return m
}

func gpu(i int) string { return "0000:" + strconv.Itoa(10+i) + ":00.0" }

// steady is one step of the machine: a submission, and what else happens
// meanwhile.
func steady(s *Source) {
	m := s.machine
	if !m.started {
		m.started = true
		s.begin()
	}
	i := s.step % len(m.threads)
	if m.threads[i].pid/100%2 == 0 {
		s.submit(i)
	} else {
		s.launch(i)
	}
	if s.step%16 == 0 {
		s.counters()
	}
}

func (s *Source) begin() {
	for g := range gpus {
		e := s.add(event.KindDevice, who{event.NoID, event.NoID, event.NoID, ""})
		e.SetStr(event.FieldDevice, gpu(g))
		e.SetStr(event.FieldDriver, "amdgpu")
	}
	for _, w := range s.machine.threads {
		if w.pid == w.tid {
			e := s.add(event.KindProcess, w)
			e.SetStr(event.FieldName, w.comm)
			e.SetTime(event.FieldStart, 5e8)
		}
	}
}

func (s *Source) counters() {
	for g := range gpus {
		e := s.add(event.KindCounter, who{event.NoID, event.NoID, event.NoID, ""})
		e.SetStr(event.FieldName, "power")
		e.SetStr(event.FieldUnit, "W")
		e.SetStr(event.FieldDevice, gpu(g))
		e.SetFloat(event.FieldValue, float64(200+s.step%50))
	}
}

// submit is a call with an ioctl in it that queues a job; the oldest job of
// the ring that is queued runs, and the one that runs ends.
func (s *Source) submit(i int) {
	m, w := s.machine, s.machine.threads[i]
	r := m.rings[(i+s.step/len(m.threads))%len(m.rings)]
	s.call(event.KindAPIEnter, w, "hipLaunchKernel", event.APIHIP).SetStr(event.FieldKernelName, m.kernels[s.step%len(m.kernels)])
	s.ioctl(event.KindIoctlEnter, w, 0x80186444, "submit")
	s.queue(i, r, w)
	s.ioctl(event.KindIoctlExit, w, 0x80186444, "")
	s.call(event.KindAPIExit, w, "hipLaunchKernel", event.APIHIP).SetInt(event.FieldResult, 0)
	if len(r.jobs) >= 2 {
		s.run(r, &r.jobs[len(r.jobs)/2])
	}
	if len(r.jobs) > inFlight {
		j := r.jobs[0]
		s.run(r, &r.jobs[0])
		s.finish(r, j, i)
		r.jobs = append(r.jobs[:0], r.jobs[1:]...)
	}
}

func (s *Source) call(k event.Kind, w who, name string, api event.API) *event.Event {
	e := s.add(k, w)
	e.Source = "uprobe:" + name
	e.SetUint(event.FieldAPI, uint64(api))
	e.SetStr(event.FieldName, name)
	return e
}

func (s *Source) ioctl(k event.Kind, w who, cmd uint64, role string) {
	e := s.add(k, w)
	e.Source = "syscalls:ioctl"
	e.SetInt(event.FieldFD, 5)
	e.SetUint(event.FieldCmd, cmd)
	if k == event.KindIoctlExit {
		e.SetInt(event.FieldResult, 0)
		return
	}
	e.SetStr(event.FieldDriver, "amdgpu")
	if role == "wait" {
		e.SetUint(event.FieldRole, uint64(event.RoleWait))
	}
}

func (s *Source) fence(k event.Kind, w who, driver, timeline string, ctx, seq uint64) {
	e := s.add(k, w)
	e.Source = "dma_fence:x"
	e.SetStr(event.FieldDriver, driver)
	e.SetStr(event.FieldTimeline, timeline)
	e.SetUint(event.FieldFenceContext, ctx)
	e.SetUint(event.FieldFenceSeqno, seq)
}

func (s *Source) job(k event.Kind, w who, r *ringState, j *pending) *event.Event {
	e := s.add(k, w)
	e.Source = "gpu_scheduler:x"
	e.SetStr(event.FieldOrigin, "drm_sched_617")
	e.SetStr(event.FieldDevice, r.gpu)
	e.SetStr(event.FieldRing, r.name)
	e.SetUint(event.FieldSchedJobID, j.num)
	e.SetUint(event.FieldFenceContext, j.ctx)
	e.SetUint(event.FieldFenceSeqno, j.seq)
	return e
}

func (s *Source) queue(i int, r *ringState, w who) {
	m := s.machine
	m.seq[i]++
	r.num++
	j := pending{num: r.num, ctx: uint64(1001 + 2*i), seq: m.seq[i]}
	s.fence(event.KindFenceInit, w, "drm_sched", r.name, j.ctx-1, j.seq)
	s.fence(event.KindFenceInit, w, "drm_sched", r.name, j.ctx, j.seq)
	s.job(event.KindJobQueue, w, r, &j)
	if j.seq > 1 && s.step%8 == 0 {
		e := s.job(event.KindJobDep, w, r, &j)
		e.SetUint(event.FieldOnFenceContext, j.ctx)
		e.SetUint(event.FieldOnFenceSeqno, j.seq-1)
	}
	r.jobs = append(r.jobs, j)
}

func (s *Source) run(r *ringState, j *pending) {
	if j.ran {
		return
	}
	j.ran = true
	r.hwSeq++
	j.hwSeq = r.hwSeq
	s.job(event.KindJobRun, r.worker, r, j)
	s.fence(event.KindFenceInit, r.worker, "amdgpu", r.name, r.hwCtx, j.hwSeq)
	s.fence(event.KindFenceSignal, r.worker, "drm_sched", r.name, j.ctx-1, j.seq)
}

// finish ends a job; now and then a thread waits for it.
func (s *Source) finish(r *ringState, j pending, i int) {
	w := s.machine.threads[i]
	waits := s.step%4 == 0
	if waits {
		s.ioctl(event.KindIoctlEnter, w, 0xc0206449, "wait")
		s.fence(event.KindFenceWaitStart, w, "drm_sched", r.name, j.ctx, j.seq)
		s.switched(w, who{w.cpu, event.NoID, 0, "swapper"})
	}
	s.fence(event.KindFenceSignal, r.irq, "amdgpu", r.name, r.hwCtx, j.hwSeq)
	s.job(event.KindJobDone, r.irq, r, &j)
	s.fence(event.KindFenceSignal, r.irq, "drm_sched", r.name, j.ctx, j.seq)
	if waits {
		e := s.add(event.KindSchedWaking, r.irq)
		e.SetInt(event.FieldTargetTID, int64(w.tid))
		s.switched(who{w.cpu, event.NoID, 0, "swapper"}, w)
		s.fence(event.KindFenceWaitEnd, w, "drm_sched", r.name, j.ctx, j.seq)
		s.ioctl(event.KindIoctlExit, w, 0xc0206449, "")
	}
	s.fence(event.KindFenceDestroy, r.worker, "drm_sched", r.name, j.ctx-1, j.seq)
	s.fence(event.KindFenceDestroy, r.worker, "drm_sched", r.name, j.ctx, j.seq)
	s.fence(event.KindFenceDestroy, r.worker, "amdgpu", r.name, r.hwCtx, j.hwSeq)
}

func (s *Source) switched(from, to who) {
	e := s.add(event.KindSchedSwitch, from)
	e.SetInt(event.FieldPrevTID, int64(from.tid))
	e.SetStr(event.FieldPrevComm, from.comm)
	e.SetStr(event.FieldPrevState, "S")
	e.SetInt(event.FieldNextTID, int64(to.tid))
	e.SetStr(event.FieldNextComm, to.comm)
}

// launch is a call of the runtime around one of the driver; the profiler tells
// of the kernel some launches later. Ranges stand around each fourth.
func (s *Source) launch(i int) {
	m, w := s.machine, s.machine.threads[i]
	m.corr++
	ranged := s.step%4 == 1
	if ranged {
		s.slice(event.KindSliceBegin, w, "forward")
	}
	s.told(event.KindAPIEnter, w, "cudaLaunchKernel", event.APICUDARuntime).SetInt(event.FieldCorrelationID, m.corr)
	s.told(event.KindAPIEnter, w, "cuLaunchKernel", event.APICUDADriver)
	s.told(event.KindAPIExit, w, "cuLaunchKernel", event.APICUDADriver).SetInt(event.FieldResult, 0)
	s.told(event.KindAPIExit, w, "cudaLaunchKernel", event.APICUDARuntime).SetInt(event.FieldResult, 0)
	if ranged {
		s.slice(event.KindSliceEnd, w, "forward")
	}
	m.work = append(m.work, launched{w, m.corr, gpu(i % gpus), m.kernels[s.step%len(m.kernels)]})
	if len(m.work) > 256 {
		l := m.work[0]
		m.work = append(m.work[:0], m.work[1:]...)
		s.kernel(l.w, l.id, l.gpu, l.name)
	}
}

// told is a call that the profiler tells of.
func (s *Source) told(k event.Kind, w who, name string, api event.API) *event.Event {
	e := s.call(k, w, name, api)
	e.Source = "profiler"
	return e
}

func (s *Source) slice(k event.Kind, w who, name string) {
	e := s.add(k, w)
	e.Source = "nvtx"
	e.SetStr(event.FieldName, name)
}

func (s *Source) kernel(w who, id int64, gpu, name string) {
	e := s.add(event.KindGPUActivity, who{event.NoID, w.pid, w.tid, w.comm})
	e.Source = "profiler"
	e.SetUint(event.FieldActivity, uint64(event.ActivityKernel))
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldDevice, gpu)
	e.SetTime(event.FieldStart, s.at-900)
	e.SetUint(event.FieldStream, 7)
	e.SetInt(event.FieldCorrelationID, id)
}
