/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 without a GPU: the exported names and the calling convention
 * of the CUDA driver API, for tests and demonstrations of recorders. Nothing is
 * computed and no memory is moved: work takes time on the thread of its stream,
 * and a call that waits waits for it. A kernel named "spin_forever" never ends.
 */
#include "libcuda.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum {
#define X(name) N_##name,
	ENTRY_POINTS(X)
#undef X
	N_MAX
};

static const char *const names[] = {
#define X(name) #name,
	ENTRY_POINTS(X)
#undef X
};

/* API defines an exported function; its first act is to count itself. */
#define API(name, ...) __attribute__((visibility("default"))) CUresult name(__VA_ARGS__)
#define COUNT(name) count_call(N_##name)

struct function {
	struct function *next;
	char name[256];
};

struct module {
	struct function *functions;
};

struct graph {
	unsigned launches;
};

static atomic_bool initialised;
static atomic_uint_fast64_t next_address = 0x7f0000000000u; /* device memory is address space only */
static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUhandle current;

__attribute__((constructor)) static void library_init(void)
{
	count_init(names, N_MAX);
}

/* how long work takes: a launch some µs and a little for each block, a copy 8 bytes a ns */
static uint64_t launch_ns(uint64_t blocks)
{
	return 20000 + (blocks > 4096 ? 4096 : blocks) * 20;
}

static uint64_t copy_ns(uint64_t bytes)
{
	return 5000 + bytes / 8;
}

/* The entry points differ in names and in whose the default stream is: each
 * calls one of these. */

static CUresult launch(struct function *f, const unsigned grid[3], CUhandle stream, bool per_thread)
{
	if (engine_instant())
		return CUDA_SUCCESS;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	if (blocks == 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct stream *s = stream_get((uintptr_t)stream, per_thread);
	if (s->capturing) {
		s->captured++;
		return CUDA_SUCCESS;
	}
	stream_push(s, strcmp(f->name, "spin_forever") ? WORK_TIME : WORK_FOREVER, launch_ns(blocks), NULL);
	device_ioctl(IOCTL_SYNCOBJ_TIMELINE_SIGNAL);
	return CUDA_SUCCESS;
}

static CUresult enqueue(uint64_t ns, CUhandle stream, bool per_thread)
{
	device_ioctl(IOCTL_AMDGPU_CS);
	stream_push(stream_get((uintptr_t)stream, per_thread), WORK_TIME, ns, NULL);
	return CUDA_SUCCESS;
}

static CUresult enqueue_and_wait(uint64_t ns, bool per_thread)
{
	enqueue(ns, NULL, per_thread);
	device_ioctl(IOCTL_SYNCOBJ_WAIT);
	stream_wait(stream_get(0, per_thread));
	return CUDA_SUCCESS;
}

static CUresult synchronize(CUhandle stream, bool per_thread)
{
	device_ioctl(IOCTL_SYNCOBJ_WAIT);
	stream_wait(stream_get((uintptr_t)stream, per_thread));
	return CUDA_SUCCESS;
}

static CUresult query(CUhandle stream, bool per_thread)
{
	return stream_idle(stream_get((uintptr_t)stream, per_thread)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult record(CUhandle event, CUhandle stream, bool per_thread)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_push(stream_get((uintptr_t)stream, per_thread), WORK_RECORD, 0, event);
	return CUDA_SUCCESS;
}

static CUresult await(CUhandle stream, CUhandle event, bool per_thread)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_push(stream_get((uintptr_t)stream, per_thread), WORK_AWAIT, 0, event);
	return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *out, size_t bytes)
{
	if (!out || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > (size_t)80 << 30)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = atomic_fetch_add(&next_address, (bytes + 511) & ~(size_t)511);
	device_ioctl(IOCTL_KFD_ALLOC_MEMORY);
	device_ioctl(IOCTL_KFD_MAP_MEMORY);
	return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr p)
{
	if (!p)
		return CUDA_SUCCESS;
	device_ioctl(IOCTL_KFD_UNMAP_MEMORY);
	device_ioctl(IOCTL_KFD_FREE_MEMORY);
	return CUDA_SUCCESS;
}

static CUresult load(CUhandle *out, const void *image)
{
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	device_ioctl(IOCTL_NV_RM_ALLOC);
	device_ioctl(IOCTL_NV_RM_CONTROL);
	*out = calloc(1, sizeof(struct module));
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult unload(struct module *m)
{
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	for (struct function *f = m->functions, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(m);
	return CUDA_SUCCESS;
}

/* the handle of a name: the same each time, as long as its module lives */
static CUresult get_function(CUhandle *out, struct module *m, const char *name)
{
	struct function *f;

	if (!out || !m || !name || strlen(name) >= sizeof f->name)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(name, "missing_", 8) == 0)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&module_lock);
	for (f = m->functions; f && strcmp(f->name, name); f = f->next)
		;
	if (!f && (f = calloc(1, sizeof *f))) {
		strcpy(f->name, name);
		f->next = m->functions;
		m->functions = f;
	}
	pthread_mutex_unlock(&module_lock);
	*out = f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#define INT(p, v) (*(p) = (v), CUDA_SUCCESS)

API(cuInit, unsigned flags)
{
	COUNT(cuInit);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	device_ioctl(IOCTL_VERSION);
	device_ioctl(IOCTL_GET_CAP);
	atomic_store(&initialised, true);
	return CUDA_SUCCESS;
}

API(cuDriverGetVersion, int *version) { COUNT(cuDriverGetVersion); return INT(version, 12060); }
API(cuDeviceGetCount, int *n) { COUNT(cuDeviceGetCount); return atomic_load(&initialised) ? INT(n, 1) : CUDA_ERROR_NOT_INITIALIZED; }
API(cuDeviceGet, CUdevice *d, int ordinal) { COUNT(cuDeviceGet); return ordinal ? CUDA_ERROR_INVALID_DEVICE : INT(d, 0); }
API(cuDeviceGetAttribute, int *v, int attribute, CUdevice d) { COUNT(cuDeviceGetAttribute); return d ? CUDA_ERROR_INVALID_DEVICE : INT(v, attribute == 16 ? 132 : 1); }
API(cuDeviceTotalMem_v2, size_t *v, CUdevice d) { COUNT(cuDeviceTotalMem_v2); return d ? CUDA_ERROR_INVALID_DEVICE : INT(v, (size_t)80 << 30); }

API(cuDeviceGetName, char *name, int len, CUdevice d)
{
	COUNT(cuDeviceGetName);
	if (d || !name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	strncpy(name, "gpurec stub", (size_t)len - 1);
	name[len - 1] = 0;
	return CUDA_SUCCESS;
}

API(cuGetErrorName, CUresult r, const char **name)
{
	COUNT(cuGetErrorName);
	switch (r) {
#define X(e) case e: *name = #e; return CUDA_SUCCESS;
	X(CUDA_SUCCESS) X(CUDA_ERROR_INVALID_VALUE) X(CUDA_ERROR_OUT_OF_MEMORY) X(CUDA_ERROR_NOT_INITIALIZED)
	X(CUDA_ERROR_INVALID_DEVICE) X(CUDA_ERROR_INVALID_CONTEXT) X(CUDA_ERROR_INVALID_HANDLE) X(CUDA_ERROR_NOT_FOUND) X(CUDA_ERROR_NOT_READY)
#undef X
	}
	*name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* contexts */

API(cuDevicePrimaryCtxRetain, CUhandle *ctx, CUdevice d)
{
	static char primary;

	COUNT(cuDevicePrimaryCtxRetain);
	if (!atomic_load(&initialised))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (d || !ctx)
		return CUDA_ERROR_INVALID_DEVICE;
	device_ioctl(IOCTL_KFD_CREATE_QUEUE);
	*ctx = &primary;
	return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxRelease_v2, CUdevice d) { COUNT(cuDevicePrimaryCtxRelease_v2); return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }

API(cuCtxCreate_v2, CUhandle *ctx, unsigned flags, CUdevice d)
{
	COUNT(cuCtxCreate_v2);
	(void)flags;
	if (d || !ctx)
		return CUDA_ERROR_INVALID_DEVICE;
	device_ioctl(IOCTL_KFD_CREATE_QUEUE);
	current = *ctx = malloc(1);
	return CUDA_SUCCESS;
}

API(cuCtxDestroy_v2, CUhandle ctx)
{
	COUNT(cuCtxDestroy_v2);
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (current == ctx)
		current = NULL;
	free(ctx);
	return CUDA_SUCCESS;
}

API(cuCtxSetCurrent, CUhandle ctx) { COUNT(cuCtxSetCurrent); current = ctx; return CUDA_SUCCESS; }
API(cuCtxGetCurrent, CUhandle *ctx) { COUNT(cuCtxGetCurrent); *ctx = current; return CUDA_SUCCESS; }
API(cuCtxPushCurrent_v2, CUhandle ctx) { COUNT(cuCtxPushCurrent_v2); current = ctx; return CUDA_SUCCESS; }
API(cuCtxPopCurrent_v2, CUhandle *ctx) { COUNT(cuCtxPopCurrent_v2); *ctx = current; current = NULL; return CUDA_SUCCESS; }

API(cuCtxSynchronize, void)
{
	COUNT(cuCtxSynchronize);
	device_ioctl(IOCTL_SYNCOBJ_WAIT);
	streams_wait_all();
	return CUDA_SUCCESS;
}

/* code */

API(cuModuleLoadData, CUhandle *m, const void *image) { COUNT(cuModuleLoadData); return load(m, image); }
API(cuModuleUnload, CUhandle m) { COUNT(cuModuleUnload); return unload(m); }
API(cuModuleGetFunction, CUhandle *f, CUhandle m, const char *name) { COUNT(cuModuleGetFunction); return get_function(f, m, name); }

API(cuLibraryLoadData, CUhandle *m, const void *image, int *jit, void **jitv, unsigned njit, int *opt, void **optv, unsigned nopt)
{
	COUNT(cuLibraryLoadData);
	(void)jit, (void)jitv, (void)njit, (void)opt, (void)optv, (void)nopt;
	return load(m, image);
}

API(cuLibraryUnload, CUhandle m) { COUNT(cuLibraryUnload); return unload(m); }
API(cuLibraryGetKernel, CUhandle *k, CUhandle m, const char *name) { COUNT(cuLibraryGetKernel); return get_function(k, m, name); }

/* another handle for the same name */
API(cuKernelGetFunction, CUhandle *out, CUhandle kernel)
{
	struct function *k = kernel, *f;

	COUNT(cuKernelGetFunction);
	if (!k || !out)
		return CUDA_ERROR_INVALID_HANDLE;
	f = calloc(1, sizeof *f);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	strcpy(f->name, k->name);
	*out = f;
	return CUDA_SUCCESS;
}

/* launches */

#define LAUNCH(name, per_thread)                                                                                                  \
	API(name, CUhandle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUhandle stream, \
	    void **params, void **extra)                                                                                           \
	{                                                                                                                         \
		COUNT(name);                                                                                                      \
		(void)bx, (void)by, (void)bz, (void)shared, (void)params, (void)extra;                                             \
		return launch(f, (unsigned[3]){ gx, gy, gz }, stream, per_thread);                                                 \
	}
LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)

API(cuLaunchCooperativeKernel, CUhandle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
    CUhandle stream, void **params)
{
	COUNT(cuLaunchCooperativeKernel);
	(void)bx, (void)by, (void)bz, (void)shared, (void)params;
	return launch(f, (unsigned[3]){ gx, gy, gz }, stream, false);
}

#define LAUNCH_EX(name, per_thread)                                                           \
	API(name, const struct launch_config *c, CUhandle f, void **params, void **extra)    \
	{                                                                                     \
		COUNT(name);                                                                  \
		(void)params, (void)extra;                                                     \
		return c ? launch(f, c->grid, c->stream, per_thread) : CUDA_ERROR_INVALID_VALUE; \
	}
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

/* the function is not called: it would be the program's code on a thread of ours */
API(cuLaunchHostFunc, CUhandle stream, void (*fn)(void *), void *data)
{
	COUNT(cuLaunchHostFunc);
	(void)fn, (void)data;
	stream_push(stream_get((uintptr_t)stream, false), WORK_TIME, 1000, NULL);
	return CUDA_SUCCESS;
}

/* graphs */

API(cuStreamBeginCapture_v2, CUhandle stream, int mode)
{
	COUNT(cuStreamBeginCapture_v2);
	(void)mode;
	struct stream *s = stream_get((uintptr_t)stream, false);
	s->capturing = true;
	s->captured = 0;
	return CUDA_SUCCESS;
}

API(cuStreamEndCapture, CUhandle stream, CUhandle *graph)
{
	COUNT(cuStreamEndCapture);
	struct stream *s = stream_get((uintptr_t)stream, false);
	struct graph *g;

	if (!s->capturing || !graph)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	s->capturing = false;
	g = calloc(1, sizeof *g);
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	g->launches = s->captured;
	*graph = g;
	return CUDA_SUCCESS;
}

API(cuGraphInstantiateWithFlags, CUhandle *exec, CUhandle graph, unsigned long long flags)
{
	COUNT(cuGraphInstantiateWithFlags);
	(void)flags;
	if (!graph || !exec)
		return CUDA_ERROR_INVALID_VALUE;
	struct graph *g = malloc(sizeof *g);
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*g = *(struct graph *)graph;
	*exec = g;
	return CUDA_SUCCESS;
}

static CUresult graph_launch(struct graph *g, CUhandle stream, bool per_thread)
{
	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	stream_push(stream_get((uintptr_t)stream, per_thread), WORK_TIME, g->launches * launch_ns(64), NULL);
	device_ioctl(IOCTL_SYNCOBJ_TIMELINE_SIGNAL);
	return CUDA_SUCCESS;
}

API(cuGraphLaunch, CUhandle exec, CUhandle stream) { COUNT(cuGraphLaunch); return graph_launch(exec, stream, false); }
API(cuGraphLaunch_ptsz, CUhandle exec, CUhandle stream) { COUNT(cuGraphLaunch_ptsz); return graph_launch(exec, stream, true); }
API(cuGraphExecDestroy, CUhandle exec) { COUNT(cuGraphExecDestroy); free(exec); return CUDA_SUCCESS; }
API(cuGraphDestroy, CUhandle graph) { COUNT(cuGraphDestroy); free(graph); return CUDA_SUCCESS; }

/* memory */

API(cuMemAlloc_v2, CUdeviceptr *p, size_t n) { COUNT(cuMemAlloc_v2); return alloc(p, n); }
API(cuMemFree_v2, CUdeviceptr p) { COUNT(cuMemFree_v2); return release(p); }
API(cuMemAllocManaged, CUdeviceptr *p, size_t n, unsigned flags) { COUNT(cuMemAllocManaged); (void)flags; return alloc(p, n); }
API(cuMemAllocAsync, CUdeviceptr *p, size_t n, CUhandle stream) { COUNT(cuMemAllocAsync); (void)stream; return alloc(p, n); }
API(cuMemAllocAsync_ptsz, CUdeviceptr *p, size_t n, CUhandle stream) { COUNT(cuMemAllocAsync_ptsz); (void)stream; return alloc(p, n); }
API(cuMemFreeAsync, CUdeviceptr p, CUhandle stream) { COUNT(cuMemFreeAsync); (void)stream; return release(p); }
API(cuMemFreeAsync_ptsz, CUdeviceptr p, CUhandle stream) { COUNT(cuMemFreeAsync_ptsz); (void)stream; return release(p); }
API(cuMemGetInfo_v2, size_t *avail, size_t *total) { COUNT(cuMemGetInfo_v2); *avail = (size_t)79 << 30; return INT(total, (size_t)80 << 30); }

API(cuMemAllocHost_v2, void **p, size_t n)
{
	COUNT(cuMemAllocHost_v2);
	if (!p || !n)
		return CUDA_ERROR_INVALID_VALUE;
	*p = malloc(n);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuMemFreeHost, void *p) { COUNT(cuMemFreeHost); free(p); return CUDA_SUCCESS; }
API(cuMemHostRegister_v2, void *p, size_t n, unsigned flags) { COUNT(cuMemHostRegister_v2); (void)flags; return p && n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
API(cuMemHostUnregister, void *p) { COUNT(cuMemHostUnregister); return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

/* copies and sets */

#define COPY(name, per_thread)                               \
	API(name, uintptr_t dst, uintptr_t src, size_t n)    \
	{                                                    \
		COUNT(name);                                 \
		(void)dst, (void)src;                        \
		return enqueue_and_wait(copy_ns(n), per_thread); \
	}
COPY(cuMemcpyHtoD_v2, false)
COPY(cuMemcpyHtoD_v2_ptds, true)
COPY(cuMemcpyDtoH_v2, false)
COPY(cuMemcpyDtoH_v2_ptds, true)
COPY(cuMemcpyDtoD_v2, false)

#define COPY_ASYNC(name, per_thread)                                        \
	API(name, uintptr_t dst, uintptr_t src, size_t n, CUhandle stream)  \
	{                                                                   \
		COUNT(name);                                                \
		(void)dst, (void)src;                                       \
		return enqueue(copy_ns(n), stream, per_thread);              \
	}
COPY_ASYNC(cuMemcpyHtoDAsync_v2, false)
COPY_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, true)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, false)
COPY_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, true)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, false)
COPY_ASYNC(cuMemcpyAsync, false)

API(cuMemcpy2D_v2, const struct copy2d *c)
{
	COUNT(cuMemcpy2D_v2);
	return c ? enqueue_and_wait(copy_ns(c->width * c->height), false) : CUDA_ERROR_INVALID_VALUE;
}

API(cuMemsetD8_v2, CUdeviceptr p, unsigned char v, size_t n) { COUNT(cuMemsetD8_v2); (void)p, (void)v; return enqueue_and_wait(copy_ns(n), false); }
API(cuMemsetD32_v2, CUdeviceptr p, unsigned v, size_t n) { COUNT(cuMemsetD32_v2); (void)p, (void)v; return enqueue_and_wait(copy_ns(4 * n), false); }
API(cuMemsetD8Async, CUdeviceptr p, unsigned char v, size_t n, CUhandle s) { COUNT(cuMemsetD8Async); (void)p, (void)v; return enqueue(copy_ns(n), s, false); }
API(cuMemsetD8Async_ptsz, CUdeviceptr p, unsigned char v, size_t n, CUhandle s) { COUNT(cuMemsetD8Async_ptsz); (void)p, (void)v; return enqueue(copy_ns(n), s, true); }
API(cuMemsetD32Async, CUdeviceptr p, unsigned v, size_t n, CUhandle s) { COUNT(cuMemsetD32Async); (void)p, (void)v; return enqueue(copy_ns(4 * n), s, false); }

/* streams and events */

static CUresult new_stream(CUhandle *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	device_ioctl(IOCTL_SYNCOBJ_CREATE);
	*out = stream_new();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuStreamCreate, CUhandle *s, unsigned flags) { COUNT(cuStreamCreate); (void)flags; return new_stream(s); }
API(cuStreamCreateWithPriority, CUhandle *s, unsigned flags, int priority) { COUNT(cuStreamCreateWithPriority); (void)flags, (void)priority; return new_stream(s); }

API(cuStreamDestroy_v2, CUhandle s)
{
	COUNT(cuStreamDestroy_v2);
	if ((uintptr_t)s <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	device_ioctl(IOCTL_SYNCOBJ_DESTROY);
	stream_end(s);
	return CUDA_SUCCESS;
}

API(cuStreamSynchronize, CUhandle s) { COUNT(cuStreamSynchronize); return synchronize(s, false); }
API(cuStreamSynchronize_ptsz, CUhandle s) { COUNT(cuStreamSynchronize_ptsz); return synchronize(s, true); }
API(cuStreamQuery, CUhandle s) { COUNT(cuStreamQuery); return query(s, false); }
API(cuStreamQuery_ptsz, CUhandle s) { COUNT(cuStreamQuery_ptsz); return query(s, true); }
API(cuStreamWaitEvent, CUhandle s, CUhandle e, unsigned flags) { COUNT(cuStreamWaitEvent); (void)flags; return await(s, e, false); }
API(cuStreamWaitEvent_ptsz, CUhandle s, CUhandle e, unsigned flags) { COUNT(cuStreamWaitEvent_ptsz); (void)flags; return await(s, e, true); }

API(cuEventCreate, CUhandle *e, unsigned flags)
{
	COUNT(cuEventCreate);
	(void)flags;
	*e = event_new();
	return *e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuEventDestroy_v2, CUhandle e)
{
	COUNT(cuEventDestroy_v2);
	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	event_free(e);
	return CUDA_SUCCESS;
}

API(cuEventRecord, CUhandle e, CUhandle s) { COUNT(cuEventRecord); return record(e, s, false); }
API(cuEventRecord_ptsz, CUhandle e, CUhandle s) { COUNT(cuEventRecord_ptsz); return record(e, s, true); }
API(cuEventQuery, CUhandle e) { COUNT(cuEventQuery); return event_done(e) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; }
API(cuEventElapsedTime, float *ms, CUhandle from, CUhandle to) { COUNT(cuEventElapsedTime); return INT(ms, event_elapsed_ms(from, to)); }

API(cuEventSynchronize, CUhandle e)
{
	COUNT(cuEventSynchronize);
	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	device_ioctl(IOCTL_SYNCOBJ_WAIT);
	event_wait(e);
	return CUDA_SUCCESS;
}

#define X(old, now) __attribute__((visibility("default"), alias(#now))) __typeof__(now) old;
ALIASES(X)
#undef X

/* the newest spelling of a name; flag 2 asks for per-thread default streams */
API(cuGetProcAddress_v2, const char *name, void **pfn, int version, uint64_t flags, int *status)
{
	static void *const addresses[] = {
#define X(n) (void *)n,
		ENTRY_POINTS(X)
#undef X
	};
	static const char *const suffixes[] = { "_v2_ptsz", "_v2_ptds", "_ptsz", "_ptds", "_v2", "" };

	COUNT(cuGetProcAddress_v2);
	(void)version;
	if (!name || !pfn)
		return CUDA_ERROR_INVALID_VALUE;
	size_t len = strlen(name);
	for (unsigned k = flags & 2 ? 0 : 4; k < sizeof suffixes / sizeof *suffixes; k++) {
		for (unsigned i = 0; i < N_MAX; i++) {
			if (strncmp(names[i], name, len) == 0 && strcmp(names[i] + len, suffixes[k]) == 0) {
				*pfn = addresses[i];
				if (status)
					*status = 0;
				return CUDA_SUCCESS;
			}
		}
	}
	*pfn = NULL;
	if (status)
		*status = 1; /* symbol not found */
	return CUDA_ERROR_NOT_FOUND;
}
