/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gpu_scheduler tracepoints of Linux 6.17, defined by a module on an older
 * kernel in the same trace system: names, fields, their order and the print
 * formats are those of that kernel's ABI.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpu_scheduler
#define TRACE_INCLUDE_FILE sched_trace

#if !defined(MOCKGPU_SCHED_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MOCKGPU_SCHED_TRACE_H

#include <linux/tracepoint.h>

#include "compat.h"
#include "mockgpu.h"

#undef MOCK_ASSIGN_STR
#ifdef HAVE_ASSIGN_STR_SOURCE
#define MOCK_ASSIGN_STR(dst, src) __assign_str(dst, src)
#else
#define MOCK_ASSIGN_STR(dst, src) __assign_str(dst)
#endif

DECLARE_EVENT_CLASS(mock_sched_job,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity),
	TP_STRUCT__entry(
		__string(name, sched_job->sched->name)
		__field(u32, job_count)
		__field(int, hw_job_count)
		__string(dev, dev_name(sched_job->sched->dev))
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, client_id)
	),
	TP_fast_assign(
		MOCK_ASSIGN_STR(name, sched_job->sched->name);
		__entry->job_count = spsc_queue_count(&entity->job_queue);
		__entry->hw_job_count = mock_sched_hw_jobs(sched_job->sched);
		MOCK_ASSIGN_STR(dev, dev_name(sched_job->sched->dev));
		__entry->fence_context = sched_job->s_fence->finished.context;
		__entry->fence_seqno = sched_job->s_fence->finished.seqno;
		__entry->client_id = to_mock_job(sched_job)->client_id;
	),
	TP_printk("dev=%s, fence=%llu:%llu, ring=%s, job count:%u, hw job count:%d, client_id:%llu",
		  __get_str(dev), __entry->fence_context, __entry->fence_seqno, __get_str(name),
		  __entry->job_count, __entry->hw_job_count, __entry->client_id)
);

DEFINE_EVENT(mock_sched_job, drm_sched_job_queue,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity));

DEFINE_EVENT(mock_sched_job, drm_sched_job_run,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity));

TRACE_EVENT(drm_sched_job_done,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
	),
	TP_fast_assign(
		__entry->fence_context = fence->finished.context;
		__entry->fence_seqno = fence->finished.seqno;
	),
	TP_printk("fence=%llu:%llu signaled", __entry->fence_context, __entry->fence_seqno)
);

TRACE_EVENT(drm_sched_job_add_dep,
	TP_PROTO(struct drm_sched_job *sched_job, struct dma_fence *fence),
	TP_ARGS(sched_job, fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, ctx)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->fence_context = sched_job->s_fence->finished.context;
		__entry->fence_seqno = sched_job->s_fence->finished.seqno;
		__entry->ctx = fence->context;
		__entry->seqno = fence->seqno;
	),
	TP_printk("fence=%llu:%llu depends on fence=%llu:%llu",
		  __entry->fence_context, __entry->fence_seqno, __entry->ctx, __entry->seqno)
);

TRACE_EVENT(drm_sched_job_unschedulable,
	TP_PROTO(struct drm_sched_job *sched_job, struct dma_fence *fence),
	TP_ARGS(sched_job, fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, ctx)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->fence_context = sched_job->s_fence->finished.context;
		__entry->fence_seqno = sched_job->s_fence->finished.seqno;
		__entry->ctx = fence->context;
		__entry->seqno = fence->seqno;
	),
	TP_printk("fence=%llu:%llu depends on unsignalled fence=%llu:%llu",
		  __entry->fence_context, __entry->fence_seqno, __entry->ctx, __entry->seqno)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
