/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MOCKGPU_H
#define MOCKGPU_H

#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/gpu_scheduler.h>

#include "mockgpu_uapi.h"

struct truth_job;

/* One job on the hardware at a time, except parallel ones. */
struct mock_ring {
	struct drm_gpu_scheduler sched;
	const char *name;
	spinlock_t lock;		/* of all below */
	struct list_head running;	/* mock_job.link: on the hardware */
	struct list_head ended;		/* mock_job.link: the interrupt is on its way */
	ktime_t busy_until;
	bool hung;			/* nothing ends until a reset */
	bool held;			/* what is started doesn't end until it is let go */
	u64 hw_context;
	atomic64_t hw_seqno;
};

/* A scheduler entity and what belongs to it. */
struct mock_queue {
	struct drm_sched_entity entity;
	struct mutex lock;		/* arm and push in one order */
	struct xarray fences;		/* seqno of the ioctl: finished fence */
	u64 hw_context;			/* of parallel jobs */
	u32 last;			/* seqno of the ioctl */
	u32 waited;			/* no handle is kept up to here */
	struct mock_ring *ring;
};

struct mock_dev {
	struct drm_device drm;
	struct list_head link;		/* of all devices */
	void __iomem *regs;
	int irq;
	struct mock_ring ring[MOCKGPU_NUM_RINGS];
	struct mock_queue kernel;	/* of map and unmap */
};

struct mock_file {
	struct mock_queue queue[MOCKGPU_NUM_RINGS];
	u64 client_id;
	atomic_t handles;
};

struct mock_job {
	struct drm_sched_job base;
	struct mock_dev *dev;
	struct mock_ring *ring;
	struct list_head link;
	struct hrtimer timer;
	struct dma_fence *hw;		/* of the last run, our reference */
	struct dma_fence_cb done_cb;	/* on hw, before the scheduler's */
	struct drm_sched_entity *entity; /* valid until the first run: base.entity is NULL after the pop */
	struct truth_job *truth;	/* NULL when there was no more room */
	u64 hw_context;
	u64 client_id;
	u64 duration_ns;
	u32 flags;
	bool ran;			/* another run is a resubmission */
	bool held;			/* on the hardware, and its end isn't known yet */
};

#define to_mock_dev(d) container_of(d, struct mock_dev, drm)
#define to_mock_job(j) container_of(j, struct mock_job, base)
#define to_mock_ring(s) container_of(s, struct mock_ring, sched)

/* device.c */
void mock_hold(bool hold);
const char *mock_dev_name(const struct mock_dev *md);

/* hw.c: rings, jobs on the hardware, completion, reset */
int mock_ring_init(struct mock_ring *r, const char *name, struct device *dev);
void mock_hw_init_job(struct mock_job *job);
void mock_hw_interrupt(struct mock_dev *md);
void mock_hw_hold(struct mock_dev *md, bool hold);
extern const struct drm_sched_backend_ops mock_sched_ops;

/* queue.c: entities, and jobs into them */
int mock_queue_init(struct mock_queue *q, struct mock_ring *ring, enum drm_sched_priority prio);
void mock_queue_fini(struct mock_queue *q);
struct mock_job *mock_job_new(struct mock_dev *md, struct mock_queue *q, struct drm_file *file, u64 client_id);
void mock_job_drop(struct mock_job *job);	/* one that was not pushed */
struct dma_fence *mock_job_push(struct mock_job *job, struct mock_queue *q, u64 *handle);
struct dma_fence *mock_queue_fence(struct mock_queue *q, u64 handle);
void mock_queue_waited(struct mock_queue *q, u64 handle); /* it and those before are done with */

/* ioctl.c */
#define MOCK_NUM_IOCTLS 5
extern const struct drm_ioctl_desc mock_ioctls[MOCK_NUM_IOCTLS];

/* registers of QEMU's "edu" device, which lends its interrupt (docs/specs/edu.txt there) */
#define EDU_IRQ_STATUS	0x24
#define EDU_IRQ_RAISE	0x60
#define EDU_IRQ_ACK	0x64

/* a client id of the kernel's own jobs, as amdgpu has for updates of page tables */
#define MOCK_CLIENT_VM	U64_MAX

#endif
