// SPDX-License-Identifier: GPL-2.0
/*
 * The hardware that isn't there: a ring does one job after the other, each for
 * the time that it asks for. At the end of a job a timer makes the device raise
 * its interrupt, and the handler signals the fences of all jobs that have ended.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <trace/events/dma_fence.h>

#include "compat.h"
#include "mockgpu.h"
#include "newer.h"
#include "params.h"
#include "truth.h"

struct mock_fence {
	struct dma_fence base;
	spinlock_t lock;
	const char *timeline;	/* a ring's name, in the module's constants */
};

static const char *mock_fence_get_driver_name(struct dma_fence *f)
{
	return "mockgpu";
}

static const char *fence_timeline(struct dma_fence *f)
{
	return container_of(f, struct mock_fence, base)->timeline;
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = mock_fence_get_driver_name,
	.get_timeline_name = fence_timeline,
};

static struct dma_fence *fence_new(struct mock_job *job)
{
	struct mock_ring *ring = job->ring;
	struct mock_fence *f = kzalloc(sizeof(*f), GFP_KERNEL);
	u64 context = job->flags & MOCKGPU_SUBMIT_PARALLEL ? job->hw_context : ring->hw_context;

	if (!f)
		return NULL;
	spin_lock_init(&f->lock);
	f->timeline = ring->name;
	dma_fence_init(&f->base, &fence_ops, &f->lock, context, atomic64_inc_return(&ring->hw_seqno));
	return &f->base;
}

/* The moment at which the hardware has done a job, in hard interrupt context. */
static enum hrtimer_restart hw_end(struct hrtimer *timer)
{
	struct mock_job *job = container_of(timer, struct mock_job, timer);
	struct mock_ring *ring = job->ring;
	struct mock_dev *md = job->dev;
	unsigned long flags;
	bool early = false;
	u32 bit = 0;

	spin_lock_irqsave(&ring->lock, flags);
	if (!list_empty(&job->link)) {	/* else a reset took it */
		early = newer_early(job->hw);
		if (!early) {
			list_move_tail(&job->link, &ring->ended);
			bit = BIT(ring - md->ring);
		}
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	if (early) {
		hrtimer_forward_now(timer, ns_to_ktime(20 * NSEC_PER_USEC));
		return HRTIMER_RESTART;
	}
	if (bit)
		iowrite32(bit, md->regs + EDU_IRQ_RAISE);
	return HRTIMER_NORESTART;
}

/* Takes one ended job off; its hardware fence, with a reference. */
static struct dma_fence *next_ended(struct mock_ring *ring, struct truth_job **t)
{
	struct dma_fence *hw = NULL;
	struct mock_job *job;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	job = list_first_entry_or_null(&ring->ended, struct mock_job, link);
	if (job) {
		list_del_init(&job->link);
		hw = dma_fence_get(job->hw);
		*t = job->truth;
		if (job->flags & MOCKGPU_SUBMIT_FAIL)
			dma_fence_set_error(hw, -EIO);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return hw;
}

void mock_hw_interrupt(struct mock_dev *md)
{
	struct truth_job *t;
	struct dma_fence *hw;
	int i;

	for (i = 0; i < MOCKGPU_NUM_RINGS; i++) {
		while ((hw = next_ended(&md->ring[i], &t))) {
			dma_fence_signal(hw);	/* the job may be gone after this */
			truth_job_signalled(t, hw);
			dma_fence_put(hw);
		}
	}
}

static void hw_done(struct dma_fence *f, struct dma_fence_cb *cb)
{
	newer_done(container_of(cb, struct mock_job, done_cb));
}

/* A job's time on the hardware begins, or comes after that of those before it. The ring is locked. */
static void hw_work(struct mock_job *job, struct dma_fence *hw)
{
	struct mock_ring *ring = job->ring;
	bool alone = !(job->flags & MOCKGPU_SUBMIT_PARALLEL);
	ktime_t start = ktime_get(), end;

	if (alone && ktime_after(ring->busy_until, start))
		start = ring->busy_until;
	end = ktime_add_ns(start, job->duration_ns);
	if (alone)
		ring->busy_until = end;
	truth_job_hw(job->truth, hw, start, end);
	hrtimer_start(&job->timer, end, HRTIMER_MODE_ABS_HARD);
}

static void hw_start(struct mock_job *job, struct dma_fence *hw)
{
	struct mock_ring *ring = job->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_add_tail(&job->link, &ring->running);
	if (job->flags & MOCKGPU_SUBMIT_HANG)
		ring->hung = true;
	job->held = ring->held;
	if (ring->hung || ring->held)
		truth_job_hw(job->truth, hw, ktime_get(), 0);
	else
		hw_work(job, hw);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/*
 * Holds the hardware: what it is given from now on doesn't end; or lets it go
 * on, and what was held does its work from now on.
 */
void mock_hw_hold(struct mock_dev *md, bool hold)
{
	struct mock_job *job;
	unsigned long flags;
	int i;

	for (i = 0; i < MOCKGPU_NUM_RINGS; i++) {
		struct mock_ring *ring = &md->ring[i];

		spin_lock_irqsave(&ring->lock, flags);
		ring->held = hold;
		list_for_each_entry(job, &ring->running, link) {
			if (hold || ring->hung || !job->held)
				continue;
			job->held = false;
			hw_work(job, job->hw);
		}
		spin_unlock_irqrestore(&ring->lock, flags);
	}
}

static struct dma_fence *run_job(struct drm_sched_job *sj)
{
	struct mock_job *job = to_mock_job(sj);
	struct dma_fence *hw = NULL;

	if (!job->ran)	/* a resubmission isn't traced, and the entity may be gone by then */
		newer_run(job);
	job->ran = true;
	truth_job_run(job->truth);
	if (!sj->s_fence->finished.error) {	/* else found guilty, and resubmitted */
		if (job->flags & MOCKGPU_SUBMIT_REFUSE) {
			newer_done(job);
			return ERR_PTR(-EIO);
		}
		hw = fence_new(job);
	}
	if (!hw) {
		newer_done(job);
		return sj->s_fence->finished.error ? NULL : ERR_PTR(-ENOMEM);
	}
	/* called before the scheduler's own callback, which run_job's caller adds */
	dma_fence_add_callback(hw, &job->done_cb, hw_done);
	dma_fence_put(job->hw);
	job->hw = dma_fence_get(hw);
	if (mock_emit)
		trace_dma_fence_emit(hw);
	hw_start(job, hw);
	return hw;
}

/* Takes all work off the hardware. */
static void hw_reset(struct mock_ring *ring)
{
	struct mock_job *job, *next;
	unsigned long flags;
	LIST_HEAD(lost);

	spin_lock_irqsave(&ring->lock, flags);
	list_splice_init(&ring->running, &lost);
	list_splice_tail_init(&ring->ended, &lost);
	list_for_each_entry_safe(job, next, &lost, link)
		list_del_init(&job->link);
	ring->busy_until = 0;
	ring->hung = false;
	spin_unlock_irqrestore(&ring->lock, flags);
}

/* As drivers do it: stop, blame, reset, run again what is innocent, start. */
static enum drm_gpu_sched_stat timedout_job(struct drm_sched_job *guilty)
{
	struct mock_ring *ring = to_mock_job(guilty)->ring;
	struct dma_fence *finished = dma_fence_get(&guilty->s_fence->finished);
	struct drm_sched_job *sj;
	ktime_t start = ktime_get();
	int lost = 0;

	drm_sched_stop(&ring->sched, guilty);
	drm_sched_increase_karma(guilty);
	dev_warn(ring->sched.dev, "ring %s timeout, fence %llu:%llu\n", ring->name, finished->context,
		 (u64)finished->seqno);
	hw_reset(ring);
	list_for_each_entry(sj, &ring->sched.pending_list, list) {
		struct mock_job *job = to_mock_job(sj);

		hrtimer_cancel(&job->timer);
		if (!job->hw || dma_fence_is_signaled(job->hw))
			continue;
		/* drm_sched_stop() took the scheduler's callback off; a lost job isn't done */
		dma_fence_remove_callback(job->hw, &job->done_cb);
		dma_fence_set_error(job->hw, -ECANCELED);
		dma_fence_signal(job->hw);
		truth_job_signalled(job->truth, job->hw);
		lost++;
	}
	drm_sched_resubmit_jobs(&ring->sched);
	mock_sched_start(&ring->sched);
	truth_reset(ring, finished, start, ktime_get(), lost);
	dma_fence_put(finished);
	return MOCK_STAT_RECOVERED;
}

static void free_job(struct drm_sched_job *sj)
{
	mock_job_drop(to_mock_job(sj));
}

const struct drm_sched_backend_ops mock_sched_ops = {
	.run_job = run_job,
	.timedout_job = timedout_job,
	.free_job = free_job,
};

void mock_hw_init_job(struct mock_job *job)
{
	INIT_LIST_HEAD(&job->link);
	mock_timer_init(&job->timer, hw_end);
}

int mock_ring_init(struct mock_ring *r, const char *name, struct device *dev)
{
	const struct drm_sched_init_args args = {
		.ops = &mock_sched_ops,
#ifdef HAVE_SCHED_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = mock_hw_depth,
		.timeout = msecs_to_jiffies(mock_timeout_ms),
		.name = name,
		.dev = dev,
	};

	r->name = name;
	spin_lock_init(&r->lock);
	INIT_LIST_HEAD(&r->running);
	INIT_LIST_HEAD(&r->ended);
	r->hw_context = dma_fence_context_alloc(1);
	atomic64_set(&r->hw_seqno, mock_hw_seq_start);
	return drm_sched_init(&r->sched, &args);
}
