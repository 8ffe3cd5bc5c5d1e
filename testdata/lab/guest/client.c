/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOREVER INT64_MAX

uint64_t client_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int client_open(struct client *c, const char *node, const char *tag, FILE *truth)
{
	c->fd = open(node, O_RDWR | O_CLOEXEC);
	c->tag = tag;
	c->node = node;
	c->truth = truth;
	return c->fd < 0 ? -errno : 0;
}

/* Makes the ioctl, restarted after signals as libdrm does, and says so. */
static int call(struct client *c, unsigned long request, void *arg, uint64_t span[2])
{
	int ret;

	span[0] = client_now();
	do
		ret = ioctl(c->fd, request, arg);
	while (ret < 0 && errno == EINTR);
	ret = ret < 0 ? -errno : 0;
	span[1] = client_now();
	return ret;
}

static void say(struct client *c, const char *name, const uint64_t span[2], int ret, const char *format, ...)
{
	va_list args;

	if (!c->truth)
		return;
	flockfile(c->truth);
	fprintf(c->truth, "%s tag=%s pid=%d tid=%d node=%s enter=%" PRIu64 " exit=%" PRIu64 " ret=%d", name, c->tag,
		(int)getpid(), (int)syscall(SYS_gettid), c->node, span[0], span[1], ret);
	va_start(args, format);
	vfprintf(c->truth, format, args);
	va_end(args);
	putc('\n', c->truth);
	funlockfile(c->truth);
}

int client_submit(struct client *c, struct job *j)
{
	struct drm_mockgpu_submit a = {
		.ring = j->ring,
		.flags = j->flags,
		.duration_ns = j->duration_ns,
		.in = (uintptr_t)j->in,
		.num_in = j->num_in,
		.out = j->out,
	};
	uint64_t span[2];
	int ret = call(c, DRM_IOCTL_MOCKGPU_SUBMIT, &a, span);

	j->handle = a.seqno;
	j->context = a.fence_context;
	j->seqno = a.fence_seqno;
	say(c, "submit", span, ret, " ring=%u flags=%u duration=%" PRIu64 " ins=%u ctx=%" PRIu64 " seqno=%" PRIu64
	    " handle=%u point=%" PRIu64, j->ring, j->flags, j->duration_ns, j->num_in, j->context, j->seqno, j->out.handle,
	    (uint64_t)j->out.point);
	return ret;
}

int client_wait(struct client *c, const struct job *j)
{
	struct drm_mockgpu_wait a = { .ring = j->ring, .seqno = j->handle, .timeout_ns = 3600000000000u };
	uint64_t span[2];
	int ret = call(c, DRM_IOCTL_MOCKGPU_WAIT, &a, span);

	say(c, "wait", span, ret, " kind=driver error=%d ctx=%" PRIu64 " seqno=%" PRIu64, a.error, j->context, j->seqno);
	return ret;
}

int client_wait_sync(struct client *c, struct drm_mockgpu_sync s)
{
	uint64_t span[2];
	int ret;

	if (s.point) {
		struct drm_syncobj_timeline_wait a = {
			.handles = (uintptr_t)&s.handle,
			.points = (uintptr_t)&s.point,
			.timeout_nsec = FOREVER,
			.count_handles = 1,
			.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
		};

		ret = call(c, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &a, span);
	} else {
		struct drm_syncobj_wait a = {
			.handles = (uintptr_t)&s.handle,
			.timeout_nsec = FOREVER,
			.count_handles = 1,
			.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
		};

		ret = call(c, DRM_IOCTL_SYNCOBJ_WAIT, &a, span);
	}
	say(c, "wait", span, ret, " kind=%s handle=%u point=%" PRIu64, s.point ? "timeline" : "syncobj", s.handle,
	    (uint64_t)s.point);
	return ret;
}

int client_vm(struct client *c, int unmap, uint64_t va, uint64_t size)
{
	struct drm_mockgpu_vm a = { .va = va, .size = size };
	const char *name = unmap ? "unmap" : "map";
	uint64_t span[2];
	int ret = call(c, unmap ? DRM_IOCTL_MOCKGPU_UNMAP : DRM_IOCTL_MOCKGPU_MAP, &a, span);

	say(c, name, span, ret, " va=%" PRIu64 " size=%" PRIu64 " ctx=%" PRIu64 " seqno=%" PRIu64, va, size,
	    (uint64_t)a.fence_context, (uint64_t)a.fence_seqno);
	return ret;
}

int client_alloc(struct client *c, uint64_t size, uint32_t error)
{
	struct drm_mockgpu_alloc a = { .size = size, .error = error };
	uint64_t span[2];
	int ret = call(c, DRM_IOCTL_MOCKGPU_ALLOC, &a, span);

	say(c, "alloc", span, ret, " size=%" PRIu64 " handle=%u", size, a.handle);
	return ret;
}

uint32_t client_syncobj(struct client *c)
{
	struct drm_syncobj_create a = { 0 };
	uint64_t span[2];

	return call(c, DRM_IOCTL_SYNCOBJ_CREATE, &a, span) ? 0 : a.handle;
}
