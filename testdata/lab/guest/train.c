/* SPDX-License-Identifier: Apache-2.0
 *
 * train [-t THREADS] [-s STEPS] [-f] [-w]: a program that uses libcuda.so.1, here the
 * stub on mockgpu. Each thread has a stream; a step copies, launches kernels and
 * waits; with -w it waits for every kernel. With -f a forked child does the same
 * in a process of its own. Tells
 * every call on standard output: name, thread, CLOCK_MONOTONIC before and after.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "libcuda.h"

#define DECLARE(name, ...) CUresult name(__VA_ARGS__)
DECLARE(cuInit, unsigned);
DECLARE(cuDevicePrimaryCtxRetain, CUhandle *, CUdevice);
DECLARE(cuCtxSetCurrent, CUhandle);
DECLARE(cuCtxSynchronize, void);
DECLARE(cuModuleLoadData, CUhandle *, const void *);
DECLARE(cuModuleGetFunction, CUhandle *, CUhandle, const char *);
DECLARE(cuStreamCreate, CUhandle *, unsigned);
DECLARE(cuStreamSynchronize, CUhandle);
DECLARE(cuStreamWaitEvent, CUhandle, CUhandle, unsigned);
DECLARE(cuStreamDestroy_v2, CUhandle);
DECLARE(cuEventCreate, CUhandle *, unsigned);
DECLARE(cuEventRecord, CUhandle, CUhandle);
DECLARE(cuMemAlloc_v2, CUdeviceptr *, size_t);
DECLARE(cuMemFree_v2, CUdeviceptr);
DECLARE(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, size_t, CUhandle);
DECLARE(cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t);
DECLARE(cuLaunchKernel, CUhandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUhandle, void **, void **);

static int steps = 20, threads = 2, wait_each;
static int bad;
static CUhandle context, gemm, relu, shared_event;
static char host[65536];

/* CALL(name, arguments…): the call, told. */
#define CALL(name, ...)                                                                                            \
	({                                                                                                         \
		uint64_t enter_ = client_now();                                                                    \
		CUresult r_ = name(__VA_ARGS__);                                                                   \
		tell(#name, enter_, client_now(), r_);                                                             \
		r_;                                                                                                \
	})

static void tell(const char *name, uint64_t enter, uint64_t leave, CUresult r)
{
	printf("call name=%s pid=%d tid=%d enter=%" PRIu64 " exit=%" PRIu64 " ret=%d\n", name, (int)getpid(),
	       (int)syscall(SYS_gettid), enter, leave, r);
	if (r)
		__atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	CUhandle stream;
	CUdeviceptr memory;
	int first = !arg;	/* the thread that the others wait for */

	CALL(cuCtxSetCurrent, context);
	CALL(cuStreamCreate, &stream, 0);
	CALL(cuMemAlloc_v2, &memory, sizeof host);
	for (int i = 0; i < steps; i++) {
		CALL(cuMemcpyHtoDAsync_v2, memory, host, sizeof host, stream);
		if (!first)
			CALL(cuStreamWaitEvent, stream, shared_event, 0);
		CALL(cuLaunchKernel, gemm, 64, 2, 1, 256, 1, 1, 0, stream, NULL, NULL);
		if (wait_each)
			CALL(cuStreamSynchronize, stream);
		CALL(cuLaunchKernel, relu, 128, 1, 1, 128, 1, 1, 1024, stream, NULL, NULL);
		if (first)
			CALL(cuEventRecord, shared_event, stream);
		if (wait_each || i % 2)
			CALL(cuStreamSynchronize, stream);
	}
	CALL(cuMemcpyDtoH_v2, host, memory, sizeof host);
	CALL(cuCtxSynchronize);
	CALL(cuMemFree_v2, memory);
	CALL(cuStreamDestroy_v2, stream);
	return NULL;
}

static void process(void)
{
	pthread_t all[64];
	CUhandle module;

	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, "an image");
	CALL(cuModuleGetFunction, &gemm, module, "gemm");
	CALL(cuModuleGetFunction, &relu, module, "relu");
	CALL(cuEventCreate, &shared_event, 0);
	for (int i = 1; i < threads; i++)
		pthread_create(&all[i], NULL, work, host);
	work(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	int c, with_child = 0, status = 0;
	pid_t child = 0;

	while ((c = getopt(argc, argv, "t:s:fw")) != -1) {
		switch (c) {
		case 't': threads = atoi(optarg); break;
		case 's': steps = atoi(optarg); break;
		case 'f': with_child = 1; break;
		case 'w': wait_each = 1; break;
		default: return 2;
		}
	}
	if (threads < 1 || threads > 64 || steps < 1)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 4096); /* the engine and the child share the file: a line is one write */
	if (with_child)
		child = fork();
	process();
	if (child == 0 && with_child)
		exit(bad);
	if (child > 0)
		waitpid(child, &status, 0);
	return bad || status;
}
