/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The GPU scheduler, both generations of its tracepoints, and dma_fence.
 * Everything is read by address, so that one program suits kernels whose
 * verifier knows the arguments as trusted, as maybe NULL, or only in a
 * module's BTF. Events of all processes: who waits for the ring matters as
 * much as who is on it.
 */
#include "common.h"

#define NO_FENCE ((struct dma_fence *)0)

static __always_inline void read_dev(char *dst, struct drm_gpu_scheduler *sched)
{
	struct device *dev;
	const char *name;

	dst[0] = 0;
	if (!sched || !bpf_core_field_exists(sched->dev))
		return;
	dev = BPF_CORE_READ(sched, dev);
	if (!dev)
		return;
	name = BPF_CORE_READ(dev, init_name);
	if (!name)
		name = BPF_CORE_READ(dev, kobj.name);
	bpf_probe_read_kernel_str(dst, 32, name);
}

static __always_inline void read_ring(char *dst, struct drm_gpu_scheduler *sched)
{
	dst[0] = 0;
	if (sched)
		bpf_probe_read_kernel_str(dst, 32, BPF_CORE_READ(sched, name));
}

static __always_inline s32 read_hw_count(struct drm_gpu_scheduler *sched)
{
	struct drm_gpu_scheduler___old *old = (void *)sched;

	if (bpf_core_field_exists(sched->credit_count))
		return BPF_CORE_READ(sched, credit_count.counter);
	if (bpf_core_field_exists(old->hw_rq_count))
		return BPF_CORE_READ(old, hw_rq_count.counter);
	return 0;
}

/* Fills in all that hangs on the job's fence. */
static __always_inline void read_sched_fence(struct rec_job *r, struct drm_sched_fence *sf)
{
	struct dma_fence *hw;

	r->fence = (u64)sf + bpf_core_field_offset(struct drm_sched_fence, finished);
	r->context = BPF_CORE_READ(sf, finished.context);
	r->seqno = BPF_CORE_READ(sf, finished.seqno);
	r->error = BPF_CORE_READ(sf, finished.error);
	if (bpf_core_field_exists(sf->drm_client_id)) {
		r->client_id = BPF_CORE_READ(sf, drm_client_id);
		r->known |= JF_CLIENT;
	}
	hw = BPF_CORE_READ(sf, parent);
	/* an error pointer if run_job failed */
	if (hw && (u64)hw < (u64)-4095) {
		r->hw_fence = (u64)hw;
		r->hw_context = BPF_CORE_READ(hw, context);
		r->hw_seqno = BPF_CORE_READ(hw, seqno);
		r->known |= JF_HW;
	}
}

static __always_inline struct rec_job *reserve_job(u16 id)
{
	struct rec_job *r;

	count_hit(id);
	r = reserve(rec_job, REC_JOB, id, GROUP_SCHED, bpf_ktime_get_boot_ns(), bpf_get_current_pid_tgid());
	if (!r)
		return NULL;
	__builtin_memset((void *)r + sizeof(r->h), 0, sizeof(*r) - sizeof(r->h));
	return r;
}

static __always_inline int job_event(u16 id, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *sf;
	struct rec_job *r;

	if (!job)
		return 0;
	r = reserve_job(id);
	if (!r)
		return 0;
	r->job = (u64)job;
	if (bpf_core_field_exists(job->id)) {
		r->sched_id = BPF_CORE_READ(job, id);
		r->known |= JF_SCHED_ID;
	}
	if (entity) {
		r->entity = (u64)entity;
		r->known |= JF_ENTITY;
	}
	sf = BPF_CORE_READ(job, s_fence);
	if (sf)
		read_sched_fence(r, sf);
	sched = BPF_CORE_READ(job, sched);
	if (sched) {
		read_ring(r->ring, sched);
		read_dev(r->dev, sched);
		if (entity) {
			r->job_count = BPF_CORE_READ(entity, job_queue.job_count.counter);
			r->hw_job_count = read_hw_count(sched);
			r->known |= JF_COUNTS;
		}
	}
	submit(r);
	return 0;
}

static __always_inline int done_event(u16 id, struct drm_sched_fence *sf)
{
	struct drm_gpu_scheduler *sched;
	struct rec_job *r;

	if (!sf)
		return 0;
	r = reserve_job(id);
	if (!r)
		return 0;
	read_sched_fence(r, sf);
	sched = BPF_CORE_READ(sf, sched);
	if (sched) {
		read_ring(r->ring, sched);
		read_dev(r->dev, sched);
	}
	submit(r);
	return 0;
}

static __always_inline int dep_event(u16 id, struct drm_sched_job *job, struct dma_fence *fence)
{
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *sf;
	struct rec_dep *r;

	if (!job || !fence)
		return 0;
	count_hit(id);
	r = reserve(rec_dep, REC_DEP, id, GROUP_SCHED, bpf_ktime_get_boot_ns(), bpf_get_current_pid_tgid());
	if (!r)
		return 0;
	__builtin_memset((void *)r + sizeof(r->h), 0, sizeof(*r) - sizeof(r->h));
	r->job = (u64)job;
	if (bpf_core_field_exists(job->id)) {
		r->sched_id = BPF_CORE_READ(job, id);
		r->known |= JF_SCHED_ID;
	}
	sf = BPF_CORE_READ(job, s_fence);
	if (sf) {
		r->fence = (u64)sf + bpf_core_field_offset(struct drm_sched_fence, finished);
		r->context = BPF_CORE_READ(sf, finished.context);
		r->seqno = BPF_CORE_READ(sf, finished.seqno);
	}
	r->on_fence = (u64)fence;
	r->on_context = BPF_CORE_READ(fence, context);
	r->on_seqno = BPF_CORE_READ(fence, seqno);
	sched = BPF_CORE_READ(job, sched);
	read_ring(r->ring, sched);
	read_dev(r->dev, sched);
	submit(r);
	return 0;
}

#define JOB_PROBE(tp, id)                                                      \
	SEC("tp_btf/" #tp)                                                      \
	int on_##tp(u64 *ctx)                                                   \
	{                                                                       \
		return job_event(id, (void *)ctx[0], (void *)ctx[1]);           \
	}

JOB_PROBE(drm_sched_job, ID_JOB_QUEUE_OLD)
JOB_PROBE(drm_run_job, ID_JOB_RUN_OLD)
JOB_PROBE(drm_sched_job_queue, ID_JOB_QUEUE)
JOB_PROBE(drm_sched_job_run, ID_JOB_RUN)

#define DONE_PROBE(tp, id)                                                     \
	SEC("tp_btf/" #tp)                                                      \
	int on_##tp(u64 *ctx)                                                   \
	{                                                                       \
		return done_event(id, (void *)ctx[0]);                          \
	}

DONE_PROBE(drm_sched_process_job, ID_JOB_DONE_OLD)
DONE_PROBE(drm_sched_job_done, ID_JOB_DONE)

#define DEP_PROBE(tp, id)                                                      \
	SEC("tp_btf/" #tp)                                                      \
	int on_##tp(u64 *ctx)                                                   \
	{                                                                       \
		return dep_event(id, (void *)ctx[0], (void *)ctx[1]);           \
	}

DEP_PROBE(drm_sched_job_wait_dep, ID_JOB_DEP_OLD)
DEP_PROBE(drm_sched_job_add_dep, ID_JOB_DEP)
DEP_PROBE(drm_sched_job_unschedulable, ID_JOB_UNSCHEDULABLE)

static __always_inline int fence_event(u16 id, struct dma_fence *fence)
{
	const struct dma_fence_ops *ops;
	struct rec_fence *r;

	if (!fence)
		return 0;
	count_hit(id);
	r = reserve(rec_fence, REC_FENCE, id, GROUP_FENCE, bpf_ktime_get_boot_ns(), bpf_get_current_pid_tgid());
	if (!r)
		return 0;
	ops = BPF_CORE_READ(fence, ops);
	r->fence = (u64)fence;
	r->ops = (u64)ops;
	r->driver_func = ops ? (u64)BPF_CORE_READ(ops, get_driver_name) : 0;
	r->context = BPF_CORE_READ(fence, context);
	r->seqno = BPF_CORE_READ(fence, seqno);
	r->error = BPF_CORE_READ(fence, error);
	r->pad = 0;
	r->timeline[0] = 0;
	if (ops && bpf_core_type_exists(struct drm_sched_fence)) {
		struct drm_sched_fence *sf = NULL;

		if ((u64)ops == sched_fence_ops[0])
			sf = (void *)fence - bpf_core_field_offset(struct drm_sched_fence, scheduled);
		else if ((u64)ops == sched_fence_ops[1])
			sf = (void *)fence - bpf_core_field_offset(struct drm_sched_fence, finished);
		if (sf)
			read_ring(r->timeline, BPF_CORE_READ(sf, sched));
	}
	submit(r);
	return 0;
}

#define FENCE_PROBE(tp, id)                                                    \
	SEC("tp_btf/" #tp)                                                      \
	int on_##tp(u64 *ctx)                                                   \
	{                                                                       \
		return fence_event(id, (void *)ctx[0]);                         \
	}

FENCE_PROBE(dma_fence_init, ID_FENCE_INIT)
FENCE_PROBE(dma_fence_emit, ID_FENCE_EMIT)
FENCE_PROBE(dma_fence_enable_signal, ID_FENCE_ENABLE)
FENCE_PROBE(dma_fence_signaled, ID_FENCE_SIGNAL)
FENCE_PROBE(dma_fence_wait_start, ID_FENCE_WAIT_START)
FENCE_PROBE(dma_fence_wait_end, ID_FENCE_WAIT_END)
FENCE_PROBE(dma_fence_destroy, ID_FENCE_DESTROY)
