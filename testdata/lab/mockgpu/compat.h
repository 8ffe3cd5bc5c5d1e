/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels. The scheduler's interface changes inside stable
 * series too, so Kbuild looks into the headers and sets the HAVE_ names.
 */
#ifndef MOCKGPU_COMPAT_H
#define MOCKGPU_COMPAT_H

#include <linux/hrtimer.h>
#include <drm/gpu_scheduler.h>

#ifdef HAVE_SCHED_STAT_NOMINAL
#define MOCK_STAT_RECOVERED DRM_GPU_SCHED_STAT_NOMINAL
#else
#define MOCK_STAT_RECOVERED DRM_GPU_SCHED_STAT_RESET
#endif

static inline void mock_sched_start(struct drm_gpu_scheduler *s)
{
#if defined(HAVE_SCHED_START_BOOL)
	drm_sched_start(s, true);
#elif defined(HAVE_SCHED_START_INT)
	drm_sched_start(s, 0);
#else
	drm_sched_start(s);
#endif
}

static inline int mock_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				      void *owner, u64 client_id)
{
#if defined(HAVE_SCHED_JOB_CLIENT_ID)
	return drm_sched_job_init(job, entity, 1, owner, client_id);
#elif defined(HAVE_SCHED_JOB_CREDITS)
	return drm_sched_job_init(job, entity, 1, owner);
#else
	return drm_sched_job_init(job, entity, owner);
#endif
}

/* the number that the older tracepoints print, 0 where there is none */
static inline u64 mock_sched_job_id(const struct drm_sched_job *job)
{
#ifdef HAVE_SCHED_JOB_ID
	return job->id;
#else
	return 0;
#endif
}

/* jobs (later: credits) on the hardware */
static inline int mock_sched_hw_jobs(struct drm_gpu_scheduler *s)
{
#ifdef HAVE_SCHED_CREDIT_COUNT
	return atomic_read(&s->credit_count);
#else
	return atomic_read(&s->hw_rq_count);
#endif
}

static inline void mock_timer_init(struct hrtimer *t, enum hrtimer_restart (*fn)(struct hrtimer *))
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(t, fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(t, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	t->function = fn;
#endif
}

#endif
