/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler's tracepoints of Linux 6.17, or nothing without MOCKGPU_NEWER.
 * Where they fire follows that kernel as closely as a driver can.
 */
#ifndef MOCKGPU_NEWER_H
#define MOCKGPU_NEWER_H

#include "mockgpu.h"

#ifdef MOCKGPU_NEWER
int newer_init(void);
void newer_exit(void);
void newer_queue(struct mock_job *job);	/* armed, not yet pushed */
void newer_run(struct mock_job *job);
void newer_done(struct mock_job *job);	/* before the finished fence is signalled */
/*
 * True while the scheduler doesn't watch a hardware fence yet. Were it signalled
 * then, the scheduler would find it so and end the job itself, beside the
 * callback that fires drm_sched_job_done, which would come late.
 */
bool newer_early(struct dma_fence *hw);
#else
static inline int newer_init(void) { return 0; }
static inline void newer_exit(void) {}
static inline void newer_queue(struct mock_job *job) {}
static inline void newer_run(struct mock_job *job) {}
static inline void newer_done(struct mock_job *job) {}
static inline bool newer_early(struct dma_fence *hw) { return false; }
#endif

#endif
