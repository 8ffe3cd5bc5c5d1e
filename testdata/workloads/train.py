#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training run without a GPU: it drives the stub libcuda as a framework
drives the real one, and writes down what it did (truth.py).

Threads with a stream each, forked data loaders, a worker of multiprocessing, an
interpreter of its own under a shell, and a library that is opened late, in a
thread. make -C testdata/workloads builds the library.
"""

import argparse
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import cuda
from truth import Truth, stub_counts

KERNELS = ["gemm_f16_128x64", "layer_norm_fwd", "softmax_kernel", "_Z9vectorAddPKfS0_Pfi", "reduce_sum", "adam_step"]
BATCH = 1 << 16


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--steps", type=int, default=20, help="steps of an epoch")
    p.add_argument("--threads", type=int, default=3, help="threads that train, each with a stream")
    p.add_argument("--loaders", type=int, default=2, help="forked data loaders")
    p.add_argument("--quick", action="store_true", help="one epoch of four steps")
    p.add_argument("--truth", metavar="FILE", default=os.environ.get("TRAIN_TRUTH"), help="what was done, as JSON lines (or $TRAIN_TRUTH)")
    p.add_argument("--hang", action="store_true", help="end in a call that never returns, after printing 'hanging'")
    p.add_argument("--exit-code", type=int, default=0, metavar="N")
    p.add_argument("--die", type=int, metavar="SIGNAL", help="end by a signal of its own")
    p.add_argument("--noise", action="store_true", help="only keep calling the library until SIGTERM: another, independent process")
    p.add_argument("--seconds", type=float, metavar="S", help="end the noise by itself")
    p.add_argument("--role", default="main", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.quick:
        a.epochs, a.steps = 1, 4
    return a


def name_thread(name):
    cuda.ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


class Device:
    """What set-up leaves: a context, code, memory."""

    def __init__(self, d):
        self.d = d
        d.cuInit(0)
        for name in ("cuDriverGetVersion", "cuDeviceGetCount"):
            d.out(cuda.c_int, name)
        self.ordinal = d.out(cuda.c_int, "cuDeviceGet", 0)
        d.cuDeviceGetName(cuda.ctypes.create_string_buffer(64), 64, self.ordinal)
        d.out(cuda.c_int, "cuDeviceGetAttribute", 16, self.ordinal)
        d.out(cuda.c_size, "cuDeviceTotalMem_v2", self.ordinal)
        self.context = d.out(cuda.c_ptr, "cuDevicePrimaryCtxRetain", self.ordinal)
        d.cuCtxSetCurrent(self.context)
        self.module = d.out(cuda.c_ptr, "cuModuleLoadData", b"image")
        self.library = d.out(cuda.c_ptr, "cuLibraryLoadData", b"image", None, None, 0, None, None, 0)
        half = len(KERNELS) // 2
        self.kernels = [d.function(self.module, k) for k in KERNELS[:half]]
        self.kernels += [d.function(self.library, k, "cuLibraryGetKernel") for k in KERNELS[half:]]

    def close(self):
        d = self.d
        d.cuCtxSynchronize()
        d.cuLibraryUnload(self.library)
        d.cuModuleUnload(self.module)
        d.cuDevicePrimaryCtxRelease_v2(self.ordinal)


class Worker(threading.Thread):
    """Trains on a stream of its own, a step each time it is told."""

    def __init__(self, device, index, steps, barrier):
        super().__init__(name="stream-%d" % index, daemon=True)
        self.device, self.index, self.steps, self.barrier = device, index, steps, barrier
        self.per_thread = index % 3 == 2  # the default stream of the thread
        self.error = None

    def run(self):
        name_thread(self.name)
        try:
            self.train()
        except BaseException as e:
            self.error = e
            self.barrier.abort()

    def train(self):
        d = self.device.d
        d.cuCtxSetCurrent(self.device.context)
        stream = 0 if self.per_thread else d.out(cuda.c_ptr, "cuStreamCreate" if self.index else "cuStreamCreateWithPriority",
                                                 *((1,) if self.index else (1, -1)))
        weights = d.alloc(8 << 20)
        batch = d.alloc(BATCH, "cuMemAllocAsync_ptsz" if self.per_thread else "cuMemAllocAsync", stream, stream=stream)
        host = d.alloc(BATCH, "cuMemAllocHost_v2")
        done = d.out(cuda.c_ptr, "cuEventCreate", 2)
        for step in range(self.steps):
            self.barrier.wait()
            self.step(d, step, stream, weights, batch, host, done)
        self.barrier.wait()
        d.cuEventDestroy_v2(done)
        d.cuMemFreeHost(host)
        getattr(d, "cuMemFreeAsync_ptsz" if self.per_thread else "cuMemFreeAsync")(batch, stream)
        d.cuMemFree_v2(weights)
        if not self.per_thread:
            d.cuStreamDestroy_v2(stream)

    def step(self, d, step, stream, weights, batch, host, done):
        z = "_ptsz" if self.per_thread else ""
        size = BATCH - 256 * (step % 16)
        d.memory("cuMemcpyHtoDAsync_v2" + z, size, batch, host, size, stream, stream=stream)
        d.memory("cuMemsetD8Async" + z, 4096, weights, 0, 4096, stream, stream=stream)
        for i, f in enumerate(self.device.kernels):
            grid, block, shared = (1 + step + i, 1 + self.index, 1 + i % 2), (32 << (i % 4), 1 + i % 2, 1), 1024 * i
            if i == 4:
                d.launch_ex(f, grid, block, shared, stream, "cuLaunchKernelEx" + z)
            elif i == 3 and not self.per_thread:
                d.launch(f, grid, block, shared, stream, "cuLaunchCooperativeKernel")
            else:
                d.launch(f, grid, block, shared, stream, "cuLaunchKernel" + z)
        getattr(d, "cuEventRecord" + z)(done, stream)
        getattr(d, "cuStreamQuery" + z)(stream)
        d.cuEventQuery(done)
        d.cuEventSynchronize(done)
        d.memory("cuMemcpyDtoHAsync_v2" + z, 256, host, batch, 256, stream, stream=stream)
        getattr(d, "cuStreamSynchronize" + z)(stream)


def once(device):
    """The calls that happen once: graphs, events between streams, failures."""
    d = device.d
    a, b = (d.out(cuda.c_ptr, "cuStreamCreate", 1) for _ in range(2))
    d.cuStreamBeginCapture_v2(a, 0)
    for f in device.kernels[:3]:
        d.launch(f, (64, 1, 1), (256, 1, 1), 0, a)
    graph = capture_end(d, a)
    execution = d.out(cuda.c_ptr, "cuGraphInstantiateWithFlags", graph, 0)
    event = d.out(cuda.c_ptr, "cuEventCreate", 0)
    end = d.out(cuda.c_ptr, "cuEventCreate", 0)
    d.cuEventRecord(event, a)
    for _ in range(3):
        d.cuGraphLaunch(execution, a)
    d.cuEventRecord(end, a)
    d.cuStreamWaitEvent(b, end, 0)
    d.launch(device.kernels[0], (8, 8, 8), (8, 8, 8), 49152, b)
    d.cuStreamSynchronize(b)
    d.out(cuda.ctypes.c_float, "cuEventElapsedTime", event, end)
    managed = d.alloc(1 << 20, "cuMemAllocManaged", 1)
    d.memory("cuMemcpyHtoD_v2", 1 << 20, managed, 4096, 1 << 20)
    d.memory("cuMemcpyDtoD_v2", 4096, managed, managed, 4096)
    d.memory("cuMemcpyDtoH_v2", 1 << 20, 4096, managed, 1 << 20)
    d.memory("cuMemsetD32_v2", 4 * 1024, managed, 7, 1024)
    plane = cuda.Copy2D(src_type=1, dst_type=2, width=640, height=48)
    d.memory("cuMemcpy2D_v2", 640 * 48, cuda.byref(plane))
    by_pointer = d.proc("cuLaunchKernel", "cuLaunchKernel_ptsz", per_thread=True)
    d.launch(device.kernels[1], (2, 2, 2), (64, 1, 1), 0, 0, "cuLaunchKernel_ptsz", by_pointer)
    d.cuStreamSynchronize_ptsz(0)
    # What fails, and says so in its result.
    f, p, text = cuda.c_ptr(), cuda.c_u64(), cuda.c_ptr()
    d.cuModuleGetFunction(cuda.byref(f), device.module, b"missing_kernel")
    d.memory("cuMemAlloc_v2", 1 << 50, cuda.byref(p), 1 << 50)
    d.cuGetErrorName(2, cuda.byref(text))
    d.cuMemFree_v2(managed)
    for e in (event, end):
        d.cuEventDestroy_v2(e)
    d.cuGraphExecDestroy(execution)
    d.cuGraphDestroy(graph)
    for s in (a, b):
        d.cuStreamDestroy_v2(s)


def capture_end(d, stream):
    graph = cuda.c_ptr()
    d.cuStreamEndCapture(stream, cuda.byref(graph))
    return graph.value


def small(d, copies):
    """What a process of its own does: a loader, a child, noise."""
    d.cuInit(0)
    host = d.alloc(BATCH, "cuMemAllocHost_v2")
    for i in range(copies):
        size = 4096 * (1 + i % 4)
        d.memory("cuMemcpyHtoD_v2", size, 0x7f0000000000, host, size)
    d.cuMemFreeHost(host)


def fork_loader(truth, d, index, batches, inherited):
    """A data loader as frameworks fork them: it prepares batches, and touches the library itself."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        return pid, r
    code = 1
    try:
        for fd in (r, *inherited):
            os.close(fd)
        truth.role = "loader-%d" % index
        name_thread(truth.role)
        small(d, batches)
        for i in range(batches):
            os.write(w, bytes([i % 256]))
        truth.write_part()
        code = 0
    except BrokenPipeError:
        pass
    finally:
        os._exit(code)


def evaluate(truth, d):
    truth.role = "evaluator"
    small(d, 5)
    truth.write_part()


def late(truth, go, failed):
    """Opens a library that nobody had open, in a thread, after a while."""
    name_thread("late")
    go.wait()
    try:
        use_late_library(truth)
    except BaseException as e:
        failed.append("late library: %s" % e)


def use_late_library(truth):
    d = cuda.Driver(truth, cuda.LATE_LIBRARY)
    device = Device(d)
    stream = d.out(cuda.c_ptr, "cuStreamCreate", 0)
    for i in range(10):
        d.launch(device.kernels[i % len(device.kernels)], (i + 1, 1, 1), (128, 1, 1), 0, stream)
    d.cuStreamSynchronize(stream)
    d.cuStreamDestroy_v2(stream)
    device.close()


def subprocess_command(args):
    """An interpreter of its own, below a shell that forks it."""
    argv = [sys.executable, os.path.abspath(__file__), "--role", "child", "--steps", str(args.steps)]
    if args.truth:
        argv += ["--truth", args.truth]
    return ["sh", "-c", shlex.join(argv) + "; exit $?"]


def hang(truth, device):
    d = device.d
    stream = d.out(cuda.c_ptr, "cuStreamCreate", 0)
    d.launch(d.function(device.module, "spin_forever"), (1, 1, 1), (1, 1, 1), 0, stream)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would wait for the call

    def tell():
        """Writes the truth when the call is under way: it has no end."""
        pid, name = os.getpid(), "cuStreamSynchronize"
        while truth.path and stub_counts(truth.path + ".counts")[pid, name] < sum(c.entered[name] for c in truth.threads):
            time.sleep(0.01)
        time.sleep(0.1)  # its ioctl
        truth.merge()
        print("hanging", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    d.cuStreamSynchronize(stream)


def train(args, truth):
    go = threading.Event()
    failed = []
    later = threading.Thread(target=late, args=(truth, go, failed), daemon=True)
    later.start()
    d = cuda.Driver(truth)
    device = Device(d)
    total = args.epochs * args.steps
    loaders, fds = [], []
    for i in range(args.loaders):
        pid, fd = fork_loader(truth, d, i, total, fds)
        loaders.append(pid)
        fds.append(fd)
    barrier = threading.Barrier(args.threads + 1)
    workers = [Worker(device, i, total, barrier) for i in range(args.threads)]
    for w in workers:
        w.start()
    child = None
    try:
        for step in range(total):
            for fd in fds:
                os.read(fd, 1)
            barrier.wait()
            if step == total // 3:
                child = subprocess.Popen(subprocess_command(args))
            if step == total // 2:
                go.set()
            if (step + 1) % args.steps == 0:
                e = multiprocessing.get_context("fork").Process(target=evaluate, args=(truth, d))
                e.start()
                e.join()
                print("epoch %d: %d steps, evaluated with status %s" % ((step + 1) // args.steps, args.steps, e.exitcode), flush=True)
        barrier.wait()
    except threading.BrokenBarrierError:
        pass
    finally:
        go.set()
    for w in workers:
        w.join()
    later.join()
    once(device)
    failed += [repr(w.error) for w in workers if w.error]
    failed += ["loader: status %d" % s for s in (os.waitpid(p, 0)[1] for p in loaders) if s]
    if child and child.wait():
        failed.append("child: status %d" % child.returncode)
    for f in failed:
        print("train.py: %s" % f, file=sys.stderr)
    if args.hang:
        hang(truth, device)
    device.close()
    return 1 if failed else args.exit_code


def noise(args, truth):
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    d = cuda.Driver(truth)
    device = Device(d)
    end = time.monotonic() + (args.seconds or 3600)
    while not stop.is_set() and time.monotonic() < end:
        d.launch(device.kernels[0], (1, 1, 1), (32, 1, 1))
        d.cuStreamSynchronize(0)
        stop.wait(0.001)
    device.close()


def main():
    args = parse()
    for path in (cuda.LIBRARY, cuda.LATE_LIBRARY):
        if not os.path.exists(path):
            sys.exit("train.py: %s is not built: make -C %s" % (path, cuda.HERE))
    truth = Truth(args.truth and os.path.abspath(args.truth), args.role, cuda.SAME_ADDRESS)
    if args.truth and args.role == "main":
        counts = truth.path + ".counts"
        os.makedirs(counts, exist_ok=True)
        for old in os.listdir(counts):
            os.unlink(os.path.join(counts, old))
        os.environ["STUBCUDA_COUNTS"] = counts
    if args.role == "child":
        small(cuda.Driver(truth), args.steps)
        truth.write_part()
        return 0
    if args.noise:
        truth.role = "noise"
        noise(args, truth)
        truth.merge()
        return args.exit_code
    status = train(args, truth)
    truth.merge()
    if args.die:
        os.kill(os.getpid(), args.die)
        time.sleep(5)
    return status


if __name__ == "__main__":
    sys.exit(main())
