// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "newer.h"

#define CREATE_TRACE_POINTS
#include "sched_trace.h"

void newer_queue(struct mock_job *job)
{
	struct dma_fence *f;
	unsigned long n;

	trace_drm_sched_job_queue(&job->base, job->entity);
	if (!trace_drm_sched_job_add_dep_enabled())
		return;
	xa_for_each(&job->base.dependencies, n, f)
		trace_drm_sched_job_add_dep(&job->base, f);
}

void newer_run(struct mock_job *job)
{
	trace_drm_sched_job_run(&job->base, job->entity);
}

void newer_done(struct mock_job *job)
{
	trace_drm_sched_job_done(job->base.s_fence);
}

bool newer_early(struct dma_fence *hw)
{
	unsigned long flags;
	bool early;

	spin_lock_irqsave(hw->lock, flags);
	early = !test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &hw->flags) && list_is_singular(&hw->cb_list);
	spin_unlock_irqrestore(hw->lock, flags);
	return early;
}

/*
 * Only the scheduler knows when a job can't be scheduled yet. It fires its own
 * drm_sched_job_wait_dep there, for moot dependencies too, so a probe on that
 * one sorts them out. The tracepoint isn't exported: it is found by name in the
 * list that gpu_sched has of its own.
 */
static struct tracepoint *wait_dep;

static void on_wait_dep(void *data, struct drm_sched_job *sj, struct dma_fence *f)
{
	struct drm_sched_entity *entity = sj->entity;
	struct drm_sched_fence *sf;

	if (!trace_drm_sched_job_unschedulable_enabled() || sj->sched->ops != &mock_sched_ops || !entity)
		return;
	/* the tests of drm_sched_entity_add_dependency_cb() */
	if (f->context == entity->fence_context || f->context == entity->fence_context + 1)
		return;
	sf = to_drm_sched_fence(f);
	if (sf && !f->error && sf->sched == sj->sched && !test_bit(DRM_SCHED_FENCE_DONT_PIPELINE, &f->flags))
		f = &sf->scheduled;
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &f->flags))
		trace_drm_sched_job_unschedulable(sj, f);
}

static int on_module(struct notifier_block *nb, unsigned long state, void *p)
{
	struct tp_module *tm = p;
	int i;

	if (state != MODULE_STATE_COMING || strcmp(tm->mod->name, "gpu_sched"))
		return 0;
	for (i = 0; i < tm->mod->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&tm->mod->tracepoints_ptrs[i]);

		if (!strcmp(tp->name, "drm_sched_job_wait_dep"))
			wait_dep = tp;
	}
	return 0;
}

static struct notifier_block module_nb = { .notifier_call = on_module };

int newer_init(void)
{
	int ret;

	/* registering calls it for the modules that are there, unregistering as if they went */
	ret = register_tracepoint_module_notifier(&module_nb);
	if (ret)
		return ret;
	unregister_tracepoint_module_notifier(&module_nb);
	if (!wait_dep) {
		pr_err("mockgpu: gpu_sched has no tracepoint drm_sched_job_wait_dep\n");
		return -ENOENT;
	}
	return tracepoint_probe_register(wait_dep, on_wait_dep, NULL);
}

void newer_exit(void)
{
	tracepoint_probe_unregister(wait_dep, on_wait_dep, NULL);
	tracepoint_synchronize_unregister();
}
