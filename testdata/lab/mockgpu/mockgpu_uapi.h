/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What programs say to the mock render node. */
#ifndef MOCKGPU_UAPI_H
#define MOCKGPU_UAPI_H

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include "drm/drm.h"
#endif

enum mockgpu_ring {
	MOCKGPU_RING_GFX,
	MOCKGPU_RING_COMPUTE,
	MOCKGPU_RING_SDMA,	/* map and unmap work here too */
	MOCKGPU_NUM_RINGS
};

#define MOCKGPU_SUBMIT_HANG	 (1u << 0) /* never completes: a timeout and a reset end it */
#define MOCKGPU_SUBMIT_FAIL	 (1u << 1) /* completes in time, its hardware fence in error -EIO */
#define MOCKGPU_SUBMIT_REFUSE	 (1u << 2) /* the driver can't start it: -EIO without a hardware fence */
#define MOCKGPU_SUBMIT_PARALLEL	 (1u << 3) /* starts at once, beside what the ring does; own fence context */
#define MOCKGPU_SUBMIT_NO_HANDLE (1u << 4) /* no MOCKGPU_WAIT will ask for it */
#define MOCKGPU_SUBMIT_FLAGS	 ((1u << 5) - 1)

#define MOCKGPU_MAX_IN		8

/* A syncobj, or a point on its timeline; handle 0: none. */
struct drm_mockgpu_sync {
	__u32 handle;
	__u32 pad;
	__u64 point;		/* 0: binary */
};

struct drm_mockgpu_submit {
	__u32 ring;		/* in */
	__u32 flags;		/* in: MOCKGPU_SUBMIT_* */
	__u64 duration_ns;	/* in: time on the hardware, at most a minute */
	__u64 in;		/* in: address of num_in struct drm_mockgpu_sync to wait for */
	__u32 num_in;
	__u32 pad;
	struct drm_mockgpu_sync out; /* in: where the finished fence goes */
	__u64 seqno;		/* out: handle for MOCKGPU_WAIT, per file and ring */
	__u64 fence_context;	/* out: the finished fence */
	__u64 fence_seqno;
};

/* Waits for a submission. It and those before it on that ring can't be waited for again. */
struct drm_mockgpu_wait {
	__u32 ring;		/* in */
	__s32 error;		/* out: of the finished fence */
	__u64 seqno;		/* in */
	__u64 timeout_ns;	/* in: from now on */
};

/* Maps or unmaps memory by a job of the kernel's own on the SDMA ring. */
struct drm_mockgpu_vm {
	__u64 va;		/* in */
	__u64 size;		/* in */
	struct drm_mockgpu_sync out; /* in: where the fence of that job goes */
	__u64 fence_context;	/* out */
	__u64 fence_seqno;
};

struct drm_mockgpu_alloc {
	__u64 size;		/* in */
	__u32 error;		/* in: errno to fail with, 0: succeed */
	__u32 handle;		/* out */
};

#define DRM_IOCTL_MOCKGPU_SUBMIT DRM_IOWR(DRM_COMMAND_BASE + 0, struct drm_mockgpu_submit)
#define DRM_IOCTL_MOCKGPU_WAIT	 DRM_IOWR(DRM_COMMAND_BASE + 1, struct drm_mockgpu_wait)
#define DRM_IOCTL_MOCKGPU_MAP	 DRM_IOWR(DRM_COMMAND_BASE + 2, struct drm_mockgpu_vm)
#define DRM_IOCTL_MOCKGPU_UNMAP	 DRM_IOWR(DRM_COMMAND_BASE + 3, struct drm_mockgpu_vm)
#define DRM_IOCTL_MOCKGPU_ALLOC	 DRM_IOWR(DRM_COMMAND_BASE + 4, struct drm_mockgpu_alloc)

#endif
