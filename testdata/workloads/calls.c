/* SPDX-License-Identifier: Apache-2.0
 *
 * calls: a tight loop of calls into the stub, to measure what a probe costs.
 *
 *	calls [-n CALLS] [-t THREADS] [-f FUNCTION] [-w NS] [-l LIBRARY]
 *
 * Each thread makes CALLS calls (default 1,000,000) of cuLaunchKernel, or of
 * another FUNCTION of the list below, with NS of spinning between two. Launches
 * only count (see STUBCUDA_INSTANT). Prints one JSON object.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* what can be called without set-up */
static const char *const functions[] = { "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuMemAlloc_v2", "cuCtxGetCurrent", "cuDriverGetVersion" };

static long calls = 1000000;
static uint64_t spin_ns;
static const char *function = "cuLaunchKernel";
static int (*fn)(void *, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, void *, void *, void *);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *loop(void *arg)
{
	uint64_t out = 0, next = 0;
	int launch = strncmp(function, "cuLaunchKernel", 14) == 0;

	(void)arg;
	for (long i = 0; i < calls; i++) {
		if (spin_ns) {
			for (next = now_ns() + spin_ns; now_ns() < next;)
				;
		}
		if (launch)
			fn((void *)0x1000, 1 + (uintptr_t)(i & 1023), 2, 3, 128, 1, 1, 4096, NULL, NULL, NULL);
		else
			fn(&out, 4096, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL);
	}
	return NULL;
}

static int known(const char *name)
{
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (strcmp(functions[i], name) == 0)
			return 1;
	}
	return 0;
}

static int usage(void)
{
	fputs("usage: calls [-n CALLS] [-t THREADS] [-f FUNCTION] [-w NS] [-l LIBRARY]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], path[PATH_MAX + 32], *library = NULL;
	pthread_t threads[256];
	int n = 1, c;

	while ((c = getopt(argc, argv, "n:t:f:w:l:")) != -1) {
		switch (c) {
		case 'n': calls = atol(optarg); break;
		case 't': n = atoi(optarg); break;
		case 'f': function = optarg; break;
		case 'w': spin_ns = strtoull(optarg, NULL, 10); break;
		case 'l': library = optarg; break;
		default: return usage();
		}
	}
	if (optind < argc || calls < 0 || n < 1 || n > 256 || !known(function))
		return usage();
	if (!library) {
		ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
		if (len < 0)
			return 1;
		self[len] = 0;
		*strrchr(self, '/') = 0;
		snprintf(path, sizeof path, "%s/libcuda.so.1", self);
		library = path;
	}
	setenv("STUBCUDA_INSTANT", "1", 1);
	void *lib = dlopen(library, RTLD_NOW);
	if (!lib || !(*(void **)&fn = dlsym(lib, function))) {
		fprintf(stderr, "calls: %s\n", dlerror());
		return 1;
	}
	uint64_t start = now_ns();
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, loop, NULL)) {
			perror("calls: thread");
			return 1;
		}
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	uint64_t ns = now_ns() - start;
	printf("{\"pid\": %d, \"function\": \"%s\", \"threads\": %d, \"calls\": %ld, \"ns\": %llu, \"ns_per_call\": %.1f}\n", (int)getpid(), function, n,
	       calls * n, (unsigned long long)ns, calls ? (double)ns / (double)calls : 0.0);
	return 0;
}
