/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of calls and ioctls, apart from any recorder: with STUBCUDA_COUNTS=DIR
 * they lie in a file DIR/PID-N that is mapped shared, so that they outlast
 * _exit, exec and SIGKILL. The file is an array of records: 56 bytes of name,
 * padded with zeros, and a little-endian 64-bit count. An ioctl's name is
 * "ioctl 0xc0306440".
 */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct counter {
	char name[56];
	_Atomic uint64_t n;
};

#define MAX_CALLS 256

static struct counter unseen[MAX_CALLS + IOCTL_MAX]; /* where no file is asked for */
static _Atomic(struct counter *) table;
static const char *const *call_names;
static unsigned calls;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static int device = -1;
static bool instant;

static const uint32_t requests[IOCTL_MAX] = {
#define X(name, cmd) cmd,
	STUB_IOCTLS(X)
#undef X
};

static struct counter *open_file(const char *dir)
{
	size_t size = (calls + IOCTL_MAX) * sizeof(struct counter);
	char path[4096];
	int fd = -1;

	for (int i = 0; i < 1000; i++) {
		if (snprintf(path, sizeof path, "%s/%d-%d", dir, (int)getpid(), i) >= (int)sizeof path)
			return NULL;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		return NULL;
	void *m = ftruncate(fd, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return m == MAP_FAILED ? NULL : m;
}

static struct counter *open_table(void)
{
	const char *dir = getenv("STUBCUDA_COUNTS");
	struct counter *t;

	pthread_mutex_lock(&open_lock);
	t = atomic_load(&table);
	if (!t) {
		t = dir ? open_file(dir) : NULL;
		if (dir && !t) {
			/* a truth that lacks calls is worse than none */
			fprintf(stderr, "stub libcuda: cannot write counters in %s: %s\n", dir, strerror(errno));
			abort();
		}
		if (!t)
			t = unseen;
		for (unsigned i = 0; i < calls; i++)
			snprintf(t[i].name, sizeof t[i].name, "%s", call_names[i]);
		for (unsigned i = 0; i < IOCTL_MAX; i++)
			snprintf(t[calls + i].name, sizeof t[i].name, "ioctl %#010x", requests[i]);
		atomic_store(&table, t);
	}
	pthread_mutex_unlock(&open_lock);
	return t;
}

static void add(unsigned i)
{
	struct counter *t = atomic_load_explicit(&table, memory_order_acquire);

	if (!t)
		t = open_table();
	atomic_fetch_add_explicit(&t[i].n, 1, memory_order_relaxed);
}

void count_call(unsigned i)
{
	add(i);
}

void device_ioctl(enum device_ioctl i)
{
	static const uint64_t nothing[64];
	int saved = errno;
	int fd = __atomic_load_n(&device, __ATOMIC_ACQUIRE);

	if (fd < 0) {
		const char *path = getenv("STUBCUDA_DEVICE");
		int none = -1;

		fd = open(path ? path : "/dev/null", O_RDWR | O_CLOEXEC);
		if (!__atomic_compare_exchange_n(&device, &none, fd, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			close(fd);
			fd = none;
		}
	}
	uint64_t arg[64];
	memcpy(arg, nothing, sizeof arg);
	add(calls + i);
	ioctl(fd, requests[i], arg);
	errno = saved;
}

bool engine_instant(void)
{
	return instant;
}

static void lock_file(void) { pthread_mutex_lock(&open_lock); }
static void unlock_file(void) { pthread_mutex_unlock(&open_lock); }

/* The child counts for itself, in a file of its own made by its first call. */
static void forget_file(void)
{
	atomic_store(&table, NULL);
	memset(unseen, 0, sizeof unseen);
	pthread_mutex_unlock(&open_lock);
}

void count_init(const char *const *names, unsigned n)
{
	if (n > MAX_CALLS)
		abort();
	call_names = names;
	calls = n;
	instant = getenv("STUBCUDA_INSTANT") != NULL;
	pthread_atfork(lock_file, unlock_file, forget_file);
}
