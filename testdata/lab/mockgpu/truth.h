/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What really happened, apart from any trace: every job, map, allocation and
 * reset, as text in debugfs (mockgpu/truth). Times are CLOCK_MONOTONIC in
 * nanoseconds, 0: did not happen. Beside it, mockgpu/hold: 1 holds the hardware
 * of all devices (mock_hw_hold), 0 lets it go on.
 */
#ifndef MOCKGPU_TRUTH_H
#define MOCKGPU_TRUTH_H

#include "mockgpu.h"

int truth_init(void);
void truth_exit(void);

/* a job that is about to be armed; NULL when there is no more room */
struct truth_job *truth_job_new(const struct mock_job *job, u64 submit_ns);
/* it has its fences, and goes into the queue after this */
void truth_job_push(struct mock_job *job);
void truth_job_run(struct truth_job *t);
/* given to the hardware, from start to end; end 0: it hangs, is held, or stands behind what hangs */
void truth_job_hw(struct truth_job *t, const struct dma_fence *hw, ktime_t start, ktime_t end);
/* the hardware fence of that run was signalled, also by a reset */
void truth_job_signalled(struct truth_job *t, const struct dma_fence *hw);
/* its last moment: reads off the fences what the scheduler did */
void truth_job_free(struct mock_job *job);
/* it has let go of its fences: the truth counts it as open until then */
void truth_job_gone(struct truth_job *t);

void truth_interrupt(void);	/* the handler was called */

enum truth_op { TRUTH_MAP, TRUTH_UNMAP, TRUTH_ALLOC };
void truth_ioctl(enum truth_op op, const struct mock_dev *md, u64 va, u64 size, const struct dma_fence *f, int ret);
/* the guilty job's finished fence */
void truth_reset(const struct mock_ring *r, const struct dma_fence *guilty, ktime_t start, ktime_t end, int lost);

#endif
