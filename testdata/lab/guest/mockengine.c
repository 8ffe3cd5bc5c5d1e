/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of the stub libcuda on a mockgpu node (MOCKGPU_NODE, else the
 * first one): what the stub pushes to a stream becomes a submission, by an ioctl
 * of the calling thread, and what waits, waits in the kernel. A stream is a
 * timeline of a syncobj; the default streams work on ring gfx, others on gfx and
 * compute in turn. What waits for a stream asks DRM for a point of the timeline;
 * for the first one on compute it asks the driver for the last submission. Each
 * ioctl is told on standard output (client.h).
 */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "client.h"

struct queue {
	struct stream s;		/* queued: submissions, the last point of the timeline */
	uint32_t syncobj, ring;
	bool by_driver;			/* waits are the driver's */
	struct job last;		/* of those that the driver is asked for */
	struct drm_mockgpu_sync after;	/* the next submission waits for it */
};

struct event {
	struct drm_mockgpu_sync at;	/* handle 0: never recorded */
	uint64_t at_ns;			/* of the record */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct client gpu = { .fd = -1 };
static struct queue *all, *process_stream;
static unsigned made, generation;
static uint64_t next_va = 0x10000000;
static _Thread_local struct queue *thread_stream;
static _Thread_local unsigned thread_generation;

static struct client *client_locked(void)
{
	const char *node = getenv("MOCKGPU_NODE");
	int ret;

	if (gpu.fd < 0) {
		ret = client_open(&gpu, node ? node : "/dev/dri/renderD128", "cuda", stdout);
		if (ret) {
			fprintf(stderr, "stub libcuda: open mockgpu: %s\n", strerror(-ret));
			abort();
		}
	}
	return &gpu;
}

static struct client *client(void)
{
	pthread_mutex_lock(&lock);
	struct client *c = client_locked();
	pthread_mutex_unlock(&lock);
	return c;
}

static void must(const char *what, int ret)
{
	if (ret) {
		fprintf(stderr, "stub libcuda: %s: %s\n", what, strerror(-ret));
		abort();
	}
}

static struct queue *queue_locked(uint32_t ring)
{
	struct queue *q = calloc(1, sizeof *q);

	if (!q)
		abort();
	q->ring = ring;
	q->syncobj = client_syncobj(client_locked());
	if (!q->syncobj)
		abort();
	pthread_mutex_init(&q->s.lock, NULL);
	q->s.next = all ? &all->s : NULL;
	all = q;
	return q;
}

struct stream *stream_new(void)
{
	pthread_mutex_lock(&lock);
	struct queue *q = queue_locked(made % 2 ? MOCKGPU_RING_GFX : MOCKGPU_RING_COMPUTE);
	q->by_driver = made++ == 0; /* its waits forget the ring's submissions before, so only one stream can do so */
	pthread_mutex_unlock(&lock);
	return &q->s;
}

/* The stream stays in the list and in memory: waits of all streams may hold it. */
void stream_end(struct stream *s)
{
	s->stop = true;
}

struct stream *stream_get(uintptr_t handle, bool per_thread)
{
	struct queue **slot = &process_stream;

	if (handle > 2)
		return (struct stream *)handle;
	pthread_mutex_lock(&lock);
	if (handle == 2 || (handle == 0 && per_thread)) {
		if (thread_generation != generation)
			thread_stream = NULL;
		thread_generation = generation;
		slot = &thread_stream;
	}
	if (!*slot)
		*slot = queue_locked(MOCKGPU_RING_GFX);
	pthread_mutex_unlock(&lock);
	return &(*slot)->s;
}

static struct drm_mockgpu_sync end_of(const struct queue *q)
{
	return (struct drm_mockgpu_sync){ .handle = q->s.queued ? q->syncobj : 0, .point = q->s.queued };
}

void stream_push(struct stream *s, enum work_kind kind, uint64_t ns, struct event *e)
{
	struct queue *q = (struct queue *)s;
	struct client *c = client();

	pthread_mutex_lock(&s->lock);
	if (kind == WORK_RECORD) {
		e->at = end_of(q);
		e->at_ns = client_now();
	} else if (kind == WORK_AWAIT) {
		q->after = e->at;
	} else {
		struct job j = {
			.ring = q->ring,
			.flags = (q->by_driver ? 0 : MOCKGPU_SUBMIT_NO_HANDLE) | (kind == WORK_FOREVER ? MOCKGPU_SUBMIT_HANG : 0),
			.duration_ns = ns,
			.out = { .handle = q->syncobj, .point = ++s->queued },
		};

		if (q->after.handle)
			j.in[j.num_in++] = q->after;
		q->after.handle = 0;
		must("submit", client_submit(c, &j));
		q->last = j;
	}
	pthread_mutex_unlock(&s->lock);
}

static void wait_for(struct drm_mockgpu_sync at)
{
	if (at.handle)
		must("wait", client_wait_sync(client(), at));
}

/* Asks without waiting. */
static bool reached(struct drm_mockgpu_sync at)
{
	struct drm_syncobj_timeline_wait a = {
		.handles = (uintptr_t)&at.handle, .points = (uintptr_t)&at.point, .count_handles = 1,
	};

	return !at.handle || ioctl(client()->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &a) == 0;
}

static struct drm_mockgpu_sync end_now(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	struct drm_mockgpu_sync at = end_of((struct queue *)s);
	pthread_mutex_unlock(&s->lock);
	return at;
}

void stream_wait(struct stream *s)
{
	struct queue *q = (struct queue *)s;

	if (!q->by_driver) {
		wait_for(end_now(s));
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct job last = q->last;
	q->last.handle = 0; /* it can't be asked for again */
	pthread_mutex_unlock(&s->lock);
	if (last.handle)
		must("wait", client_wait(client(), &last));
	else
		wait_for(end_now(s));
}

bool stream_idle(struct stream *s)
{
	return reached(end_now(s));
}

void streams_wait_all(void)
{
	pthread_mutex_lock(&lock);
	struct stream *s = all ? &all->s : NULL; /* the list only grows, at its head */
	pthread_mutex_unlock(&lock);
	for (; s; s = s->next)
		wait_for(end_now(s)); /* the driver's waits are of the thread whose stream it is */
}

struct event *event_new(void)
{
	return calloc(1, sizeof(struct event));
}

void event_free(struct event *e)
{
	free(e);
}

void event_wait(struct event *e)
{
	wait_for(e->at);
}

bool event_done(struct event *e)
{
	return reached(e->at);
}

float event_elapsed_ms(struct event *from, struct event *to)
{
	return (float)((double)(to->at_ns - from->at_ns) / 1e6);
}

/* Submissions and waits are made above; memory is told to the kernel here. */
void device_ioctl(enum device_ioctl i)
{
	struct client *c = client();
	int saved = errno;

	if (i == IOCTL_KFD_ALLOC_MEMORY) {
		client_alloc(c, 4096, 0);
	} else if (i == IOCTL_KFD_MAP_MEMORY || i == IOCTL_KFD_UNMAP_MEMORY) {
		uint64_t va = __atomic_fetch_add(&next_va, 0x10000, __ATOMIC_RELAXED);

		must("map", client_vm(c, i == IOCTL_KFD_UNMAP_MEMORY, va, 0x10000));
	}
	errno = saved;
}

/* A forked child opens the node for itself, and has streams of its own. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	gpu.fd = -1;
	all = process_stream = NULL;
	made = 0;
	generation++;
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void engine_init(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}
