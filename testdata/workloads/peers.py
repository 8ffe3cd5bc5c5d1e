#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a probed call costs under gpurec and under its peers.

    peers.py GPUREC [--calls 200000] [--rounds 5] [calls|ioctl|start]

As root; make first. Tools that are not installed are left out. Each round runs
every tool once. A cost is the CPU time of the measured program over its run
without a recorder: unlike wall time it does not count the time in which other
programs had the CPU.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = os.path.join(HERE, "build", "calls")
LIBRARY = os.path.realpath(os.path.join(HERE, "build", "libcuda.so.1"))
EVENTS = "/sys/kernel/tracing/uprobe_events"
ARGUMENTS = "f=%di:x64 gx=%si:u32 gy=%dx:u32 gz=%cx:u32 bx=%r8:u32 by=%r9:u32 bz=+8(%sp):u32 shared=+16(%sp):u32 stream=+24(%sp):x64"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

# runs a command and leaves its CPU seconds in a file
CHILD = """
import os, resource, subprocess, sys
s = subprocess.run(sys.argv[2:]).returncode
r = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(str(r.ru_utime + r.ru_stime))
sys.exit(s)
"""


def cpu(argv, before=()):
    """CPU seconds of argv, started by the recorder before; and of all of it."""
    with tempfile.NamedTemporaryFile() as f:
        p = subprocess.Popen([*before, sys.executable, "-c", CHILD, f.name, *argv], **QUIET)
        _, status, total = os.wait4(p.pid, 0)
        p.returncode = 0
        if status:
            sys.exit("%s: status %d" % (" ".join([*before, *argv]), status))
        with open(f.name) as g:
            own = float(g.read())
    return own, total.ru_utime + total.ru_stime - own


def beside(recorder, argv, wait=3.0):
    """CPU seconds of argv while a recorder runs beside it; and of the recorder."""
    p = subprocess.Popen(recorder, **QUIET)
    time.sleep(wait)
    own, _ = cpu(argv)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    _, _, r = os.wait4(p.pid, 0)
    p.returncode = 0
    return own, r.ru_utime + r.ru_stime


def table(title, tools, argv, calls, per_call, rounds):
    """Prints what each tool costs; tools run argv(number of calls)."""
    fixed = {name: run(argv(1))[1] for name, run in tools.items()}  # to start, attach, detach
    seen = {name: [] for name in tools}
    free = []
    for _ in range(rounds):
        free.append(cpu(argv(calls))[0] / calls / per_call * 1e9)
        for name, run in tools.items():
            own, recorder = run(argv(calls))
            seen[name].append((own / calls / per_call * 1e9, (recorder - fixed[name]) / calls / per_call * 1e9))
    nothing = statistics.median(free)
    print("\n%s: %.0f ns without a recorder\n" % (title, nothing))
    print("| tool | ns over it: median (least–most) | recorder's CPU beyond its start, ns |\n|---|---|---|")
    for name, values in seen.items():
        own = [v[0] - nothing for v in values]
        print("| %s | %.0f (%.0f–%.0f) | %.0f |" % (name, statistics.median(own), min(own), max(own), statistics.median(v[1] for v in values)))


def define(line):
    fd = os.open(EVENTS, os.O_WRONLY | os.O_APPEND)
    os.write(fd, (line + "\n").encode())
    os.close(fd)


def offset_of(symbol):
    out = subprocess.run(["nm", "-D", LIBRARY], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"^(\w+) T %s$" % symbol, out, re.M)[1], 16)


def measure_calls(a, tmp):
    gpurec = [a.gpurec, "record", "-q", "-o", os.path.join(tmp, "run.gpurec")]
    tools = {
        "gpurec record": lambda run: cpu(run, [*gpurec, "--"]),
        "gpurec record --entry-only": lambda run: cpu(run, [*gpurec, "--entry-only", "--"]),
        "gpurec record of another process": lambda run: beside([*gpurec, "--library", LIBRARY, "--", "sleep", "60"], run),
    }
    if shutil.which("bpftrace"):
        bpftrace = ["bpftrace", "-e"]
        tools["bpftrace, count()"] = lambda run: beside([*bpftrace, "uprobe:%s:cuLaunchKernel { @ = count(); }" % LIBRARY], run)
        tools["bpftrace, printf"] = lambda run: beside([*bpftrace, 'uprobe:%s:cuLaunchKernel { printf("%%lld %%d %%d\\n", nsecs, tid, arg1); }' % LIBRARY], run)
    if shutil.which("perf"):
        perf = ["perf", "record", "-q", "-a", "-m", "8M", "-o", os.path.join(tmp, "perf.data"), "-e"]
        tools["perf record, uprobe"] = lambda run: beside([*perf, "gpurec_peers:first"], run)
        tools["perf record, uprobe behind endbr64"] = lambda run: beside([*perf, "gpurec_peers:second"], run)
        tools["perf record, the same and a uretprobe"] = lambda run: beside([*perf, "gpurec_peers:second,gpurec_peers:ret"], run)
    at = offset_of("cuLaunchKernel")
    try:
        define("p:gpurec_peers/first %s:%#x %s" % (LIBRARY, at, ARGUMENTS))
        define("p:gpurec_peers/second %s:%#x %s" % (LIBRARY, at + 4, ARGUMENTS))
        define("r:gpurec_peers/ret %s:%#x result=$retval:s32" % (LIBRARY, at))
        table("a call of cuLaunchKernel", tools, lambda n: [CALLS, "-n", str(n)], a.calls, 1, a.rounds)
    finally:
        define("-:gpurec_peers/")


def measure_ioctl(a, tmp):
    gpurec = [a.gpurec, "record", "-q", "-o", os.path.join(tmp, "run.gpurec"), "--probe", "ioctl"]
    events = "syscalls:sys_enter_ioctl,syscalls:sys_exit_ioctl"
    tools = {
        "gpurec record --probe ioctl": lambda run: cpu(run, [*gpurec, "--"]),
        "gpurec record of another process": lambda run: beside([*gpurec, "--", "sleep", "60"], run),
    }
    if shutil.which("bpftrace"):
        count = "tracepoint:syscalls:sys_enter_ioctl { @ = count(); } tracepoint:syscalls:sys_exit_ioctl { @x = count(); }"
        tools["bpftrace, count()"] = lambda run: beside(["bpftrace", "-e", count], run)
    if shutil.which("perf"):
        tools["perf record"] = lambda run: beside(["perf", "record", "-q", "-a", "-m", "8M", "-o", os.path.join(tmp, "perf.data"), "-e", events], run)
        tools["perf trace"] = lambda run: beside(["perf", "trace", "-a", "-e", "ioctl", "-o", os.path.join(tmp, "perf.txt")], run)
    if shutil.which("strace"):
        tools["strace -f"] = lambda run: cpu(run, ["strace", "-f", "-e", "trace=ioctl", "-o", os.path.join(tmp, "strace.txt")])
    # cuMemAlloc of the stub is two ioctls
    table("an ioctl, entry and return", tools, lambda n: [CALLS, "-n", str(n), "-f", "cuMemAlloc_v2"], max(a.calls // 4, 1), 2, a.rounds)


def measure_start(a, tmp):
    log = os.path.join(tmp, "run.gpurec")
    tools = {
        "gpurec record": [a.gpurec, "record", "-q", "-o", log, "--", "true"],
        "gpurec record --probe api": [a.gpurec, "record", "-q", "-o", log, "--probe", "api", "--", "true"],
        "gpurec record --probe ioctl": [a.gpurec, "record", "-q", "-o", log, "--probe", "ioctl", "--", "true"],
        "perf record of one tracepoint": ["perf", "record", "-q", "-o", os.path.join(tmp, "perf.data"), "-e", "sched:sched_switch", "--", "true"],
        "perf trace -e ioctl": ["perf", "trace", "-e", "ioctl", "-o", os.path.join(tmp, "perf.txt"), "--", "true"],
        "bpftrace, one uprobe": ["bpftrace", "-e", "uprobe:%s:cuLaunchKernel { @ = count(); }" % LIBRARY, "-c", shutil.which("true")],
        "bpftrace, all of the library": ["bpftrace", "-e", "uprobe:%s:cu* { @ = count(); }" % LIBRARY, "-c", shutil.which("true")],
    }
    print("\nfrom start to end of a command that does nothing\n\n| tool | wall, ms: median (least–most) | CPU, ms |\n|---|---|---|")
    for name, argv in tools.items():
        if not shutil.which(argv[0]):
            continue
        seen = []
        for _ in range(a.rounds):
            start = time.monotonic()
            p = subprocess.Popen(argv, **QUIET)
            _, _, r = os.wait4(p.pid, 0)
            p.returncode = 0
            seen.append(((time.monotonic() - start) * 1e3, (r.ru_utime + r.ru_stime) * 1e3))
        wall = [v[0] for v in seen]
        print("| %s | %.0f (%.0f–%.0f) | %.0f |" % (name, statistics.median(wall), min(wall), max(wall), statistics.median(v[1] for v in seen)))


def main():
    measures = {"calls": measure_calls, "ioctl": measure_ioctl, "start": measure_start}
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("gpurec")
    p.add_argument("what", nargs="*", help="of calls, ioctl, start; all if none")
    p.add_argument("--calls", type=int, default=200000)
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    if set(a.what) - set(measures):
        p.error("what can be measured is " + ", ".join(measures))
    with tempfile.TemporaryDirectory() as tmp:
        for name in a.what or measures:
            measures[name](a, tmp)


if __name__ == "__main__":
    main()
