// SPDX-License-Identifier: GPL-2.0
/* Scheduler entities, and the way of a job into one. */
#include <linux/slab.h>

#include "compat.h"
#include "mockgpu.h"
#include "newer.h"
#include "params.h"
#include "truth.h"

/*
 * Moves the kernel's counter of fence contexts on, so that the next one has the
 * wanted low half. With it the contexts of different entities agree in 32 bits,
 * which is all that dma_fence's tracepoints show of them.
 */
static DEFINE_MUTEX(contexts);	/* from there to the entity's */

static void align_contexts(u32 low)
{
	u32 skip = low - 1 - (u32)dma_fence_context_alloc(1);

	if (skip)
		dma_fence_context_alloc(skip);
}

int mock_queue_init(struct mock_queue *q, struct mock_ring *ring, enum drm_sched_priority prio)
{
	struct drm_gpu_scheduler *s = &ring->sched;
	int ret;

	mutex_init(&q->lock);
	xa_init(&q->fences);
	q->last = q->waited = 0;
	q->ring = ring;
	mutex_lock(&contexts);
	q->hw_context = dma_fence_context_alloc(1);
	if (mock_context_low)
		align_contexts(mock_context_low);
	ret = drm_sched_entity_init(&q->entity, prio, &s, 1, NULL);
	mutex_unlock(&contexts);
	if (!ret)
		atomic_set(&q->entity.fence_seq, mock_seq_start);
	return ret;
}

void mock_queue_fini(struct mock_queue *q)
{
	struct dma_fence *f;
	unsigned long n;

	drm_sched_entity_destroy(&q->entity);
	xa_for_each(&q->fences, n, f)
		dma_fence_put(f);
	xa_destroy(&q->fences);
	mutex_destroy(&q->lock);
}

struct mock_job *mock_job_new(struct mock_dev *md, struct mock_queue *q, struct drm_file *file, u64 client_id)
{
	struct mock_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int ret;

	if (!job)
		return ERR_PTR(-ENOMEM);
	job->dev = md;
	job->ring = q->ring;
	job->entity = &q->entity;
	job->hw_context = q->hw_context;
	job->client_id = client_id;
	mock_hw_init_job(job);
	ret = mock_sched_job_init(&job->base, &q->entity, file, client_id);
	if (ret) {
		kfree(job);
		return ERR_PTR(ret);
	}
	return job;
}

void mock_job_drop(struct mock_job *job)
{
	struct truth_job *t = job->truth;

	hrtimer_cancel(&job->timer);
	truth_job_free(job);
	if (job->hw)
		dma_fence_remove_callback(job->hw, &job->done_cb);
	drm_sched_job_cleanup(&job->base);
	dma_fence_put(job->hw);
	kfree(job);
	truth_job_gone(t);
}

/*
 * Gives a job to the scheduler; returns its finished fence, with a reference.
 * With handle, the fence can be asked for by that number.
 */
struct dma_fence *mock_job_push(struct mock_job *job, struct mock_queue *q, u64 *handle)
{
	u64 submit = ktime_get_ns();
	struct dma_fence *fin;

	mutex_lock(&q->lock);
	job->truth = truth_job_new(job, submit);
	drm_sched_job_arm(&job->base);
	fin = dma_fence_get(&job->base.s_fence->finished);
	if (handle) {
		*handle = ++q->last;
		/* armed already: if there is no memory, it runs and can't be waited for */
		if (!xa_err(xa_store(&q->fences, q->last, fin, GFP_KERNEL)))
			dma_fence_get(fin);
	}
	truth_job_push(job);
	newer_queue(job);
	drm_sched_entity_push_job(&job->base);
	mutex_unlock(&q->lock);
	return fin;
}

/* The fence of a handle, with a reference. */
struct dma_fence *mock_queue_fence(struct mock_queue *q, u64 handle)
{
	struct dma_fence *f;

	mutex_lock(&q->lock);
	f = dma_fence_get(xa_load(&q->fences, handle));
	mutex_unlock(&q->lock);
	return f;
}

void mock_queue_waited(struct mock_queue *q, u64 handle)
{
	mutex_lock(&q->lock);
	while (q->waited < handle)
		dma_fence_put(xa_erase(&q->fences, ++q->waited));
	mutex_unlock(&q->lock);
}
