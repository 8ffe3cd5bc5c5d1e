// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-fence-chain.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <drm/drm_syncobj.h>

#include "mockgpu.h"
#include "truth.h"

#define MAX_DURATION_NS (60ull * NSEC_PER_SEC)
#define VM_JOB_NS (20 * NSEC_PER_USEC)

/* Where a finished fence goes; looked up before the job is armed, as nothing may fail after. */
struct out_sync {
	struct drm_syncobj *obj;
	struct dma_fence_chain *chain;
	u64 point;
};

static int out_find(struct drm_file *file, const struct drm_mockgpu_sync *s, struct out_sync *out)
{
	memset(out, 0, sizeof(*out));
	if (!s->handle)
		return 0;
	out->obj = drm_syncobj_find(file, s->handle);
	if (!out->obj)
		return -ENOENT;
	out->point = s->point;
	if (!s->point)
		return 0;
	out->chain = dma_fence_chain_alloc();
	if (!out->chain) {
		drm_syncobj_put(out->obj);
		return -ENOMEM;
	}
	return 0;
}

/* Gives fence to the syncobj, or, with none, only lets go of it. */
static void out_put(struct out_sync *out, struct dma_fence *fence)
{
	if (!out->obj)
		return;
	if (!fence)
		dma_fence_chain_free(out->chain);
	else if (out->chain)
		drm_syncobj_add_point(out->obj, out->chain, fence, out->point);
	else
		drm_syncobj_replace_fence(out->obj, fence);
	drm_syncobj_put(out->obj);
}

static int add_dependencies(struct mock_job *job, struct drm_file *file, const struct drm_mockgpu_submit *a)
{
	struct drm_mockgpu_sync in[MOCKGPU_MAX_IN];
	struct dma_fence *f;
	u32 i;
	int ret;

	if (a->num_in > MOCKGPU_MAX_IN)
		return -EINVAL;
	if (copy_from_user(in, u64_to_user_ptr(a->in), a->num_in * sizeof(*in)))
		return -EFAULT;
	for (i = 0; i < a->num_in; i++) {
		ret = drm_syncobj_find_fence(file, in[i].handle, in[i].point, 0, &f);
		if (!ret)
			ret = drm_sched_job_add_dependency(&job->base, f);
		if (ret)
			return ret;
	}
	return 0;
}

static int submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_mockgpu_submit *a = data;
	struct mock_file *mf = file->driver_priv;
	struct dma_fence *fin;
	struct mock_queue *q;
	struct mock_job *job;
	struct out_sync out;
	int ret;

	if (a->ring >= MOCKGPU_NUM_RINGS || a->flags & ~MOCKGPU_SUBMIT_FLAGS || a->duration_ns > MAX_DURATION_NS)
		return -EINVAL;
	q = &mf->queue[a->ring];
	job = mock_job_new(to_mock_dev(drm), q, file, mf->client_id);
	if (IS_ERR(job))
		return PTR_ERR(job);
	job->duration_ns = a->duration_ns;
	job->flags = a->flags;
	ret = add_dependencies(job, file, a);
	if (!ret)
		ret = out_find(file, &a->out, &out);
	if (ret) {
		mock_job_drop(job);
		return ret;
	}
	fin = mock_job_push(job, q, a->flags & MOCKGPU_SUBMIT_NO_HANDLE ? NULL : &a->seqno);
	a->fence_context = fin->context;
	a->fence_seqno = fin->seqno;
	out_put(&out, fin);
	dma_fence_put(fin);
	return 0;
}

static int wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_mockgpu_wait *a = data;
	struct mock_file *mf = file->driver_priv;
	struct mock_queue *q;
	struct dma_fence *f;
	long left;

	if (a->ring >= MOCKGPU_NUM_RINGS)
		return -EINVAL;
	q = &mf->queue[a->ring];
	f = mock_queue_fence(q, a->seqno);
	if (!f)
		return -ENOENT;
	left = dma_fence_wait_timeout(f, true, nsecs_to_jiffies(a->timeout_ns) + 1);
	a->error = f->error;
	dma_fence_put(f);
	if (left <= 0)
		return left ? left : -ETIME;
	mock_queue_waited(q, a->seqno);
	return 0;
}

static int vm(struct drm_device *drm, struct drm_file *file, struct drm_mockgpu_vm *a, enum truth_op op)
{
	struct mock_dev *md = to_mock_dev(drm);
	struct dma_fence *fin;
	struct mock_job *job;
	struct out_sync out;
	int ret;

	if (!a->size || (a->va | a->size) & ~PAGE_MASK)
		ret = -EINVAL;
	else
		ret = out_find(file, &a->out, &out);
	if (ret)
		goto fail;
	job = mock_job_new(md, &md->kernel, NULL, MOCK_CLIENT_VM);
	if (IS_ERR(job)) {
		ret = PTR_ERR(job);
		out_put(&out, NULL);
		goto fail;
	}
	job->duration_ns = VM_JOB_NS;
	fin = mock_job_push(job, &md->kernel, NULL);
	a->fence_context = fin->context;
	a->fence_seqno = fin->seqno;
	truth_ioctl(op, md, a->va, a->size, fin, 0);
	out_put(&out, fin);
	dma_fence_put(fin);
	return 0;

fail:
	truth_ioctl(op, md, a->va, a->size, NULL, ret);
	return ret;
}

static int map(struct drm_device *drm, void *data, struct drm_file *file)
{
	return vm(drm, file, data, TRUTH_MAP);
}

static int unmap(struct drm_device *drm, void *data, struct drm_file *file)
{
	return vm(drm, file, data, TRUTH_UNMAP);
}

static int alloc(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_mockgpu_alloc *a = data;
	struct mock_file *mf = file->driver_priv;
	int ret = 0;

	if (a->error > MAX_ERRNO)
		ret = -EINVAL;
	else if (a->error)
		ret = -(int)a->error;
	else
		a->handle = atomic_inc_return(&mf->handles);
	truth_ioctl(TRUTH_ALLOC, to_mock_dev(drm), 0, a->size, NULL, ret);
	return ret;
}

#define IOCTL(n, NAME, fn) [n] = { .cmd = DRM_IOCTL_MOCKGPU_##NAME, .func = fn, .flags = DRM_RENDER_ALLOW, .name = "MOCKGPU_" #NAME }

const struct drm_ioctl_desc mock_ioctls[MOCK_NUM_IOCTLS] = {
	IOCTL(0, SUBMIT, submit),
	IOCTL(1, WAIT, wait),
	IOCTL(2, MAP, map),
	IOCTL(3, UNMAP, unmap),
	IOCTL(4, ALLOC, alloc),
};
