/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies under the stub's entry points: streams served by a thread each,
 * events, ioctls on a device file, and counters of every call. Nothing here is
 * exported, and no entry point calls another, so that a probe sees exactly the
 * calls that the program made.
 */
#ifndef STUB_ENGINE_H
#define STUB_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct event;

struct stream {
	struct stream *next;     /* in the list of all streams */
	int refs;                /* list, worker, waiters; under the list's lock */
	pthread_mutex_t lock;    /* of all below */
	pthread_cond_t changed;
	struct work *head, **tail;
	uint64_t queued, done;   /* items ever queued and finished */
	bool stop;
	bool capturing;
	unsigned captured;       /* launches seen while capturing */
};

enum work_kind { WORK_TIME, WORK_FOREVER, WORK_RECORD, WORK_AWAIT };

struct stream *stream_new(void);
void stream_end(struct stream *s); /* what is queued still runs */
/* the stream of a handle: 0 and 1 the process's own, 2 (or 0 with per_thread) the thread's own */
struct stream *stream_get(uintptr_t handle, bool per_thread);
void stream_push(struct stream *s, enum work_kind k, uint64_t ns, struct event *e);
void stream_wait(struct stream *s);
bool stream_idle(struct stream *s);
void streams_wait_all(void);

struct event *event_new(void);
void event_free(struct event *e);
void event_wait(struct event *e);
bool event_done(struct event *e);
float event_elapsed_ms(struct event *from, struct event *to);

/* ioctls that the stub issues: X(name, request number). Those that every DRM
 * device shares, KFD's and NVIDIA's have a name whatever the device;
 * AMDGPU_CS has one only where the recorder learns the driver. */
#define STUB_IOCTLS(X)                          \
	X(VERSION, 0xc0406400u)                 \
	X(GET_CAP, 0xc010640cu)                 \
	X(SYNCOBJ_CREATE, 0xc00864bfu)          \
	X(SYNCOBJ_DESTROY, 0xc00864c0u)         \
	X(SYNCOBJ_WAIT, 0xc02864c3u)            \
	X(SYNCOBJ_TIMELINE_SIGNAL, 0xc01864cdu) \
	X(AMDGPU_CS, 0xc0186444u)               \
	X(KFD_CREATE_QUEUE, 0xc0604b02u)        \
	X(KFD_ALLOC_MEMORY, 0xc0284b16u)        \
	X(KFD_FREE_MEMORY, 0x40084b17u)         \
	X(KFD_MAP_MEMORY, 0xc0184b18u)          \
	X(KFD_UNMAP_MEMORY, 0xc0184b19u)        \
	X(NV_RM_CONTROL, 0xc020462au)           \
	X(NV_RM_ALLOC, 0xc030462bu)

enum device_ioctl {
#define X(name, cmd) IOCTL_##name,
	STUB_IOCTLS(X)
#undef X
	IOCTL_MAX
};

/* issues the ioctl on STUBCUDA_DEVICE, else on /dev/null, which answers ENOTTY */
void device_ioctl(enum device_ioctl i);

/* true with STUBCUDA_INSTANT set: launches only count, for benchmarks */
bool engine_instant(void);

/* counters: entry points by their number in the list of names, then ioctls */
void count_init(const char *const *names, unsigned n);
void count_call(unsigned i);

#endif
