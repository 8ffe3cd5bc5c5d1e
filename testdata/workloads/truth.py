# SPDX-License-Identifier: Apache-2.0
"""What a workload did, counted by the workload itself.

Every process counts its own calls and leaves them in PATH.PID.part; the
process that owns PATH merges the parts into PATH: JSON objects, a line each,
sorted, all with "kind" and "pid":

  process  ppid, role, argv
  calls    name (the symbol called), base (without _vN, _ptsz, _ptds), alias
           (another symbol at its address, or null), calls (entered), returned,
           results {result: count}
  thread   tid, name, calls
  launch   name, kernel, grid, block, shared, stream, calls
  memory   name, bytes, stream, calls: copies, sets and allocations
  ioctl    cmd, calls: as the stub library counted them
"""

import collections
import glob
import json
import os
import re
import struct
import sys
import threading

SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)$")


def base_name(symbol):
    while SUFFIX.search(symbol):
        symbol = SUFFIX.sub("", symbol)
    return symbol


class Counts:
    """The counts of one thread; only that thread writes them."""

    def __init__(self):
        self.tid = threading.get_native_id()
        self.entered = collections.Counter()
        self.returned = collections.Counter()
        self.launches = collections.Counter()
        self.memory = collections.Counter()


class Truth:
    """The counts of this process; after a fork the child counts from zero."""

    def __init__(self, path, role, same_address):
        self.path, self.role, self.same_address = path, role, same_address
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self):
        self.local = threading.local()
        self.threads = []

    def counts(self):
        c = getattr(self.local, "counts", None)
        if c is None:
            c = self.local.counts = Counts()
            self.threads.append(c)
        return c

    def lines(self):
        pid = os.getpid()
        total = Counts()
        for c in self.threads:
            for name in ("entered", "returned", "launches", "memory"):
                getattr(total, name).update(getattr(c, name))
        yield {"kind": "process", "pid": pid, "ppid": os.getppid(), "role": self.role, "argv": sys.argv}
        for name, n in total.entered.items():
            results = {str(r): k for (f, r), k in total.returned.items() if f == name}
            yield {"kind": "calls", "pid": pid, "name": name, "base": base_name(name),
                   "alias": self.same_address.get(name), "calls": n, "returned": sum(results.values()), "results": results}
        for c in self.threads:
            for name, n in c.entered.items():
                yield {"kind": "thread", "pid": pid, "tid": c.tid, "name": name, "calls": n}
        for (name, kernel, grid, block, shared, stream), n in total.launches.items():
            yield {"kind": "launch", "pid": pid, "name": name, "kernel": kernel, "grid": grid, "block": block,
                   "shared": shared, "stream": stream, "calls": n}
        for (name, size, stream), n in total.memory.items():
            yield {"kind": "memory", "pid": pid, "name": name, "bytes": size, "stream": stream, "calls": n}

    def write_part(self):
        if self.path:
            write_lines("%s.%d.part" % (self.path, os.getpid()), self.lines())

    def merge(self):
        """Writes PATH from all parts, this process's among them, and from the
        stub's counters of ioctls. The parts go."""
        if not self.path:
            return
        self.write_part()
        lines = []
        parts = sorted(glob.glob(glob.escape(self.path) + ".*.part"))
        for part in parts:
            with open(part) as f:
                lines += [json.loads(line) for line in f]
        for (pid, name), n in stub_counts(self.path + ".counts").items():
            if name.startswith("ioctl "):
                lines.append({"kind": "ioctl", "pid": pid, "cmd": name[6:], "calls": n})
        write_lines(self.path, sorted(lines, key=lambda l: (l["pid"], l["kind"], json.dumps(l, sort_keys=True))))
        for part in parts:
            os.unlink(part)


def write_lines(path, lines):
    with open(path + ".new", "w") as f:
        for line in lines:
            f.write(json.dumps(line, sort_keys=True) + "\n")
    os.replace(path + ".new", path)


def stub_counts(directory):
    """The counters that the stub library kept (stub/count.c): {(pid, name): count}."""
    counts = collections.Counter()
    for path in glob.glob(os.path.join(glob.escape(directory), "*-*")):
        pid = int(os.path.basename(path).split("-")[0])
        with open(path, "rb") as f:
            for name, n in struct.iter_unpack("<56sQ", f.read()):
                if n:
                    counts[pid, name.rstrip(b"\0").decode()] += n
    return counts


def check(path):
    """Compares the truth with the stub's counters, and itself with itself."""
    with open(path) as f:
        lines = [json.loads(line) for line in f]
    of = collections.defaultdict(list)
    for line in lines:
        of[line["kind"]].append(line)
    told = collections.Counter()
    for line in of["calls"]:
        told[line["pid"], line["name"]] += line["calls"]
    stub = {k: n for k, n in stub_counts(path + ".counts").items() if not k[1].startswith("ioctl ")}
    bad = ["pid %d %s: the program counted %d, the library %d" % (*k, told.get(k, 0), stub.get(k, 0))
           for k in sorted(set(told) | set(stub)) if told.get(k, 0) != stub.get(k, 0)]
    sums = collections.Counter()
    for line in of["thread"]:
        sums[line["pid"], line["name"]] += line["calls"]
    bad += ["pid %d %s: its threads made %d of %d calls" % (*k, sums[k], told[k]) for k in told if sums[k] != told[k]]
    pids = {line["pid"] for line in of["process"]}
    bad += ["pid %d has no process line" % p for p in {line["pid"] for line in lines} - pids]
    launched, launches = collections.Counter(), collections.Counter()
    for line in of["launch"]:
        launched[line["pid"], line["name"]] += line["calls"]
    for k, n in told.items():
        if k[1].startswith(("cuLaunchKernel", "cuLaunchCooperativeKernel")):
            launches[k] = n
    bad += ["pid %d %s: %d calls, %d launches" % (*k, launches[k], launched[k]) for k in set(launches) | set(launched) if launches[k] != launched[k]]
    for message in bad:
        print("truth: " + message, file=sys.stderr)
    print(json.dumps({"processes": len(pids), "names": len({n for _, n in told}), "calls": sum(told.values()),
                      "library": sum(stub.values()), "ioctls": sum(l["calls"] for l in of["ioctl"]), "differences": len(bad)}))
    return not bad


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "check":
        sys.exit("usage: truth.py check TRUTH")
    sys.exit(0 if check(sys.argv[2]) else 1)
