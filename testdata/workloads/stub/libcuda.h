/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and names of the stub's entry points: those of the CUDA driver API as
 * far as they are needed for a call to look right to a probe.
 */
#ifndef STUB_LIBCUDA_H
#define STUB_LIBCUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUhandle; /* context, module, function, stream, event, graph */

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
};

struct launch_config { /* CUlaunchConfig: 56 bytes */
	unsigned grid[3], block[3], shared;
	CUhandle stream;
	void *attrs;
	unsigned num_attrs;
};

struct copy2d { /* CUDA_MEMCPY2D: 128 bytes */
	size_t src_x, src_y;
	int src_type;
	const void *src_host;
	CUdeviceptr src_device;
	CUhandle src_array;
	size_t src_pitch, dst_x, dst_y;
	int dst_type;
	void *dst_host;
	CUdeviceptr dst_device;
	CUhandle dst_array;
	size_t dst_pitch, width, height;
};

_Static_assert(sizeof(struct launch_config) == 56, "CUlaunchConfig");
_Static_assert(offsetof(struct launch_config, stream) == 32, "CUlaunchConfig");
_Static_assert(sizeof(struct copy2d) == 128, "CUDA_MEMCPY2D");
_Static_assert(offsetof(struct copy2d, width) == 112, "CUDA_MEMCPY2D");

/* every exported function; those of ALIASES have a second name at their address */
#define ENTRY_POINTS(X)                                                              \
	X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetProcAddress_v2)     \
	X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetAttribute) \
	X(cuDeviceTotalMem_v2)                                                       \
	X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)                  \
	X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) X(cuCtxGetCurrent)   \
	X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuCtxSynchronize)             \
	X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction)                 \
	X(cuLibraryLoadData) X(cuLibraryGetKernel) X(cuLibraryUnload)                \
	X(cuKernelGetFunction)                                                       \
	X(cuLaunchKernel) X(cuLaunchKernel_ptsz)                                     \
	X(cuLaunchKernelEx) X(cuLaunchKernelEx_ptsz) X(cuLaunchCooperativeKernel)    \
	X(cuLaunchHostFunc)                                                          \
	X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) X(cuGraphInstantiateWithFlags) \
	X(cuGraphLaunch) X(cuGraphLaunch_ptsz) X(cuGraphExecDestroy) X(cuGraphDestroy) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemAllocAsync) X(cuMemAllocAsync_ptsz)  \
	X(cuMemFreeAsync) X(cuMemFreeAsync_ptsz) X(cuMemAllocManaged)                \
	X(cuMemAllocHost_v2) X(cuMemFreeHost) X(cuMemHostRegister_v2)                \
	X(cuMemHostUnregister) X(cuMemGetInfo_v2)                                    \
	X(cuMemcpyHtoD_v2) X(cuMemcpyHtoD_v2_ptds) X(cuMemcpyDtoH_v2)                \
	X(cuMemcpyDtoH_v2_ptds) X(cuMemcpyDtoD_v2)                                   \
	X(cuMemcpyHtoDAsync_v2) X(cuMemcpyHtoDAsync_v2_ptsz)                         \
	X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoHAsync_v2_ptsz) X(cuMemcpyDtoDAsync_v2) \
	X(cuMemcpyAsync) X(cuMemcpy2D_v2)                                            \
	X(cuMemsetD8_v2) X(cuMemsetD32_v2) X(cuMemsetD8Async) X(cuMemsetD8Async_ptsz) \
	X(cuMemsetD32Async)                                                          \
	X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2)        \
	X(cuStreamSynchronize) X(cuStreamSynchronize_ptsz)                           \
	X(cuStreamQuery) X(cuStreamQuery_ptsz)                                       \
	X(cuStreamWaitEvent) X(cuStreamWaitEvent_ptsz)                               \
	X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord) X(cuEventRecord_ptsz) \
	X(cuEventSynchronize) X(cuEventQuery) X(cuEventElapsedTime)

#define ALIASES(X)                                       \
	X(cuMemHostRegister, cuMemHostRegister_v2)       \
	X(cuEventDestroy, cuEventDestroy_v2)             \
	X(cuStreamDestroy, cuStreamDestroy_v2)           \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)

#endif
