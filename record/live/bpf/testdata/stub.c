/* A libcuda.so.1 for tests: exact names and signatures, no device. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t CUdeviceptr;
typedef struct {
	unsigned gx, gy, gz, bx, by, bz, shmem;
	void *stream, *attrs;
	unsigned nattrs;
} CUlaunchConfig;

static CUdeviceptr next_ptr = 0x7f0000001000;
static long handles = 0x5000;

__attribute__((noinline)) static void spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}

int cuInit(unsigned flags) { return (int)flags; }

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shmem, void *stream, void **params, void **extra)
{
	spin(10);
	return gx == 77 ? 700 : 0;
}

int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shmem, void *stream, void **params, void **extra)
{
	spin(10);
	return 0;
}

int cuLaunchKernelEx(const CUlaunchConfig *cfg, void *f, void **params, void **extra)
{
	spin(10);
	return 0;
}

int cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	*p = next_ptr;
	next_ptr += n;
	return 0;
}

int cuMemFree_v2(CUdeviceptr p) { return p ? 0 : 1; }

/* The runtime calls the driver: one call inside another. */
int cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, void *stream)
{
	spin(5);
	return 0;
}

int cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	return cuMemcpyHtoDAsync_v2(dst, src, n, 0);
}

/* A tail call: both return at once, with one return address. */
int cuStreamQuery(void *stream);
__asm__(".text\n.globl cuStreamQuery\n.type cuStreamQuery,@function\ncuStreamQuery:\n"
	"endbr64\njmp cuEventRecord@PLT\n.size cuStreamQuery,.-cuStreamQuery\n");

int cuMemsetD32Async(CUdeviceptr dst, unsigned v, size_t n, void *stream)
{
	spin(5);
	return 0;
}

/* stream 0xdead never ends */
int cuStreamSynchronize(void *stream)
{
	spin(10);
	while (stream == (void *)0xdead)
		pause();
	return 0;
}
int cuStreamSynchronize_ptsz(void *stream) __attribute__((alias("cuStreamSynchronize")));

/* event 0xdead never ends, in a call that only enqueues */
int cuEventRecord(void *event, void *stream)
{
	spin(10);
	while (event == (void *)0xdead)
		pause();
	return 0;
}

int cuLaunchHostFunc(void *stream, void (*f)(void))
{
	spin(5);
	f();
	return 0;
}

int cuModuleLoadData(void **mod, const void *image)
{
	*mod = (void *)0x4000;
	return 0;
}

int cuModuleGetFunction(void **f, void *mod, const char *name)
{
	*f = (void *)(handles += 0x10);
	return 0;
}
