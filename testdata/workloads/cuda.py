# SPDX-License-Identifier: Apache-2.0
"""The stub libcuda through ctypes, each call counted before it is made."""

import ctypes
import os

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "build", "libcuda.so.1")
LATE_LIBRARY = os.path.join(HERE, "build", "late", "libcuda.so.1")

c_int, c_uint, c_size, c_ptr, c_str, c_u64 = (
    ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64)
byref = ctypes.byref

# Two names, one address (ALIASES in stub/libcuda.h): a probe cannot tell which was called.
SAME_ADDRESS = {name + "_v2": name for name in ("cuMemHostRegister", "cuEventDestroy", "cuStreamDestroy", "cuDevicePrimaryCtxRelease")}

LAUNCH = [c_ptr] + [c_uint] * 7 + [c_ptr] * 3
COPY, COPY_ASYNC = [c_u64, c_u64, c_size], [c_u64, c_u64, c_size, c_ptr]

# Arguments by function; the rest take pointers and handles only.
ARGS = {
    "cuInit": [c_uint],
    "cuDeviceGet": [c_ptr, c_int],
    "cuDeviceGetName": [c_str, c_int, c_int],
    "cuDeviceGetAttribute": [c_ptr, c_int, c_int],
    "cuDeviceTotalMem_v2": [c_ptr, c_int],
    "cuDevicePrimaryCtxRetain": [c_ptr, c_int],
    "cuDevicePrimaryCtxRelease_v2": [c_int],
    "cuDevicePrimaryCtxRelease": [c_int],
    "cuCtxCreate_v2": [c_ptr, c_uint, c_int],
    "cuGetErrorName": [c_int, c_ptr],
    "cuGetProcAddress_v2": [c_str, c_ptr, c_int, c_u64, c_ptr],
    "cuModuleLoadData": [c_ptr, c_str],
    "cuModuleGetFunction": [c_ptr, c_ptr, c_str],
    "cuLibraryLoadData": [c_ptr, c_str, c_ptr, c_ptr, c_uint, c_ptr, c_ptr, c_uint],
    "cuLibraryGetKernel": [c_ptr, c_ptr, c_str],
    "cuLaunchKernel": LAUNCH,
    "cuLaunchKernel_ptsz": LAUNCH,
    "cuLaunchCooperativeKernel": LAUNCH[:-1],
    "cuStreamBeginCapture_v2": [c_ptr, c_int],
    "cuGraphInstantiateWithFlags": [c_ptr, c_ptr, c_u64],
    "cuMemAlloc_v2": [c_ptr, c_size],
    "cuMemAllocManaged": [c_ptr, c_size, c_uint],
    "cuMemAllocAsync": [c_ptr, c_size, c_ptr],
    "cuMemAllocAsync_ptsz": [c_ptr, c_size, c_ptr],
    "cuMemAllocHost_v2": [c_ptr, c_size],
    "cuMemHostRegister_v2": [c_ptr, c_size, c_uint],
    "cuMemHostRegister": [c_ptr, c_size, c_uint],
    "cuMemFree_v2": [c_u64],
    "cuMemFreeAsync": [c_u64, c_ptr],
    "cuMemFreeAsync_ptsz": [c_u64, c_ptr],
    "cuMemcpyHtoD_v2": COPY,
    "cuMemcpyHtoD_v2_ptds": COPY,
    "cuMemcpyDtoH_v2": COPY,
    "cuMemcpyDtoH_v2_ptds": COPY,
    "cuMemcpyDtoD_v2": COPY,
    "cuMemcpyHtoDAsync_v2": COPY_ASYNC,
    "cuMemcpyHtoDAsync_v2_ptsz": COPY_ASYNC,
    "cuMemcpyDtoHAsync_v2": COPY_ASYNC,
    "cuMemcpyDtoHAsync_v2_ptsz": COPY_ASYNC,
    "cuMemcpyDtoDAsync_v2": COPY_ASYNC,
    "cuMemcpyAsync": COPY_ASYNC,
    "cuMemsetD8_v2": [c_u64, ctypes.c_ubyte, c_size],
    "cuMemsetD32_v2": [c_u64, c_uint, c_size],
    "cuMemsetD8Async": [c_u64, ctypes.c_ubyte, c_size, c_ptr],
    "cuMemsetD8Async_ptsz": [c_u64, ctypes.c_ubyte, c_size, c_ptr],
    "cuMemsetD32Async": [c_u64, c_uint, c_size, c_ptr],
    "cuStreamCreate": [c_ptr, c_uint],
    "cuStreamCreateWithPriority": [c_ptr, c_uint, c_int],
    "cuStreamWaitEvent": [c_ptr, c_ptr, c_uint],
    "cuStreamWaitEvent_ptsz": [c_ptr, c_ptr, c_uint],
    "cuEventCreate": [c_ptr, c_uint],
}


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig, 56 bytes."""
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_ptr),
                ("attrs", c_ptr), ("num_attrs", c_uint)]


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D, 128 bytes."""
    _fields_ = [("src_x", c_size), ("src_y", c_size), ("src_type", c_int), ("src_host", c_ptr), ("src_device", c_u64),
                ("src_array", c_ptr), ("src_pitch", c_size), ("dst_x", c_size), ("dst_y", c_size), ("dst_type", c_int),
                ("dst_host", c_ptr), ("dst_device", c_u64), ("dst_array", c_ptr), ("dst_pitch", c_size),
                ("width", c_size), ("height", c_size)]


def of_pointers(f):
    """ctypes passes an int as 32 bits where it is not told better."""
    return lambda *args: f(*(c_ptr(a) if isinstance(a, int) else a for a in args))


class Driver:
    """A loaded library. Any entry point is a method: d.cuMemFree_v2(p); calls
    that a recorder should give the arguments of have a method of their own."""

    def __init__(self, truth, path=LIBRARY):
        self.truth = truth
        self.library = ctypes.CDLL(path)
        self.by_name = {}
        self.kernels = {}

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        f = self.by_name.get(name)
        if f is None:
            f = self.library[name]
            f.restype = c_int
            f.argtypes = ARGS.get(name)
            f = self.by_name[name] = self.counted(name, f if f.argtypes else of_pointers(f))
        return f

    def counted(self, name, f):
        def call(*args):
            c = self.truth.counts()
            c.entered[name] += 1
            r = f(*args)
            c.returned[name, r] += 1
            return r
        return call

    def out(self, kind, name, *args):
        """Calls a function whose first argument is a result, and returns that."""
        v = kind()
        r = getattr(self, name)(byref(v), *args)
        if r:
            raise RuntimeError("%s: result %d" % (name, r))
        return v.value

    def proc(self, name, symbol, per_thread=False):
        """Resolves name by cuGetProcAddress and returns it as a counted call;
        symbol is what the library is expected to give."""
        p = c_ptr()
        r = self.cuGetProcAddress_v2(name.encode(), byref(p), 12060, 2 if per_thread else 0, None)
        if r:
            raise RuntimeError("cuGetProcAddress_v2(%s): result %d" % (name, r))
        return self.counted(symbol, ctypes.CFUNCTYPE(c_int, *ARGS[symbol])(p.value))

    def function(self, module, name, how="cuModuleGetFunction"):
        f = self.out(c_ptr, how, module, name.encode())
        self.kernels[f] = name
        return f

    def launch(self, f, grid, block, shared=0, stream=0, name="cuLaunchKernel", call=None):
        self.truth.counts().launches[name, self.kernels.get(f), grid, block, shared, stream] += 1
        tail = (None,) if name == "cuLaunchCooperativeKernel" else (None, None)
        return (call or getattr(self, name))(f, *grid, *block, shared, stream, *tail)

    def launch_ex(self, f, grid, block, shared=0, stream=0, name="cuLaunchKernelEx"):
        self.truth.counts().launches[name, self.kernels.get(f), grid, block, shared, stream] += 1
        c = LaunchConfig((c_uint * 3)(*grid), (c_uint * 3)(*block), shared, stream, None, 0)
        return getattr(self, name)(byref(c), f, None, None)

    def memory(self, name, size, *args, stream=None):
        """A copy, set or allocation of size bytes: noted with its size."""
        self.truth.counts().memory[name, size, stream] += 1
        return getattr(self, name)(*args)

    def alloc(self, size, name="cuMemAlloc_v2", *args, stream=None):
        self.truth.counts().memory[name, size, stream] += 1
        return self.out(c_u64, name, size, *args)
