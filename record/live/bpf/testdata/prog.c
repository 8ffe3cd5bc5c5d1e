/* Drives the stub by a script of words; waits for a byte on standard input first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdint.h>
#include <time.h>

typedef struct {
	unsigned gx, gy, gz, bx, by, bz, shmem;
	void *stream, *attrs;
	unsigned nattrs;
} config;

static void *lib;
static const char *libpath;
#define FN(name) ((int (*)())dlsym(lib, name))

static void load(void)
{
	if (!lib && !(lib = dlopen(libpath, RTLD_NOW))) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

static void launches(long n)
{
	int (*f)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	load();
	f = dlsym(lib, "cuLaunchKernel");
	for (long i = 0; i < n; i++)
		f((void *)0x5010, 1, 2, 3, 32, 4, 1, 48, (void *)0x77, 0, 0);
}

static jmp_buf env;

static void jump(void) { longjmp(env, 1); }

static void *thread(void *n)
{
	launches((long)n);
	return 0;
}

/* CPU time: what other processes do meanwhile does not count */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void word(const char *w, long n)
{
	if (!strcmp(w, "launch"))
		launches(n);
	else if (!strcmp(w, "time")) { /* ns per call */
		double t;
		launches(1000);
		t = now();
		launches(n);
		printf("%.1f\n", (now() - t) / n);
		fflush(stdout);
	} else if (!strncmp(w, "time:", 5)) { /* of any function of two arguments */
		int (*f)(void *, void *);
		double t;
		load();
		f = dlsym(lib, w + 5);
		for (long i = 0; i < 1000; i++)
			f(0, 0);
		t = now();
		for (long i = 0; i < n; i++)
			f(0, 0);
		printf("%.1f\n", (now() - t) / n);
		fflush(stdout);
	} else if (!strcmp(w, "thread")) {
		pthread_t t[2];
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], 0, thread, (void *)n);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], 0);
	} else if (!strcmp(w, "fork")) {
		pid_t p = fork();
		if (!p) {
			launches(n);
			_exit(3);
		}
		waitpid(p, 0, 0);
		printf("child %d\n", p);
		fflush(stdout);
	} else if (!strcmp(w, "args")) {
		config c = { 10, 11, 12, 13, 14, 15, 16, (void *)0x99, 0, 0 };
		uint64_t p = 0;
		void *mod = 0, *fn = 0;
		load();
		FN("cuModuleLoadData")(&mod, "image");
		FN("cuModuleGetFunction")(&fn, mod, "_Z6kernelPf");
		((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))FN("cuLaunchKernel"))
			(fn, 77, 2, 3, 32, 4, 1, 48, (void *)0x77, 0, 0);
		FN("cuLaunchKernelEx")(&c, fn, 0, 0);
		((int (*)(uint64_t *, size_t))FN("cuMemAlloc_v2"))(&p, 4096);
		printf("ptr %lu\n", p);
		((int (*)(uint64_t, const void *, size_t))FN("cuMemcpyHtoD_v2"))(p, "x", 4096);
		((int (*)(uint64_t, unsigned, size_t, void *))FN("cuMemsetD32Async"))(p, 7, 100, (void *)0x55);
		((int (*)(uint64_t))FN("cuMemFree_v2"))(p);
		((int (*)(void *))FN("cuStreamSynchronize_ptsz"))((void *)0x42);
		printf("fn %lu\n", (unsigned long)fn);
		fflush(stdout);
	} else if (!strcmp(w, "tail")) {
		load();
		for (long i = 0; i < n; i++)
			((int (*)(void *))FN("cuStreamQuery"))((void *)0x42);
	} else if (!strcmp(w, "jump")) { /* leaves calls without a return */
		load();
		for (long i = 0; i < n; i++) {
			if (!setjmp(env))
				FN("cuLaunchHostFunc")(0, jump);
			FN("cuEventRecord")(0, 0);
		}
	} else if (!strcmp(w, "hang")) {
		load();
		((int (*)(void *))FN("cuStreamSynchronize"))((void *)0xdead);
	} else if (!strcmp(w, "hangasync")) {
		load();
		((int (*)(void *, void *))FN("cuEventRecord"))((void *)0xdead, 0);
	} else if (!strcmp(w, "ioctl")) {
		int fd = open("/dev/null", O_RDWR);
		for (long i = 0; i < n; i++) {
			ioctl(fd, 0xc0186444ul, 0x1000 + i); /* AMDGPU_CS */
			ioctl(fd, 0x5401ul, 0);              /* TCGETS: no GPU's */
		}
		printf("fd %d\n", fd);
		fflush(stdout);
	} else if (!strcmp(w, "exec")) {
		char num[32], self[4096];
		ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[len] = 0;
		pid_t p;
		snprintf(num, sizeof(num), "%ld", n);
		p = fork();
		if (!p) {
			execl(self, "prog-exec", "nowait", libpath, "launch", num, (char *)0);
			_exit(1);
		}
		waitpid(p, 0, 0);
		printf("child %d\n", p);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	char c;
	libpath = argv[2];
	if (!strcmp(argv[1], "preload"))
		load();
	if (strcmp(argv[1], "nowait")) {
		printf("ready %d\n", getpid());
		fflush(stdout);
		if (read(0, &c, 1) != 1)
			return 1;
	}
	for (int i = 3; i + 1 < argc; i += 2)
		word(argv[i], atol(argv[i + 1]));
	return 0;
}
