#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What importing a trace costs, beside other programs that read the same file.

    yardsticks.py GPUREC SHARED [--rounds 5] [--big MB] [--python OTHER] [--duckdb READJSON]
                  [kineto|ftrace|perfetto|nsys|perf|memory ...]

SHARED is the folder of foreign traces beside the checkout. Each round runs
every program once on the file, one after the other; a figure is the median of
the CPU time (user and system) that the kernel counts, which other programs on
the machine change less than wall time. GPUREC runs with GOMAXPROCS=1 and writes
a log. Programs that are not installed are named and left out. Python is the
one that runs this script, and that of --python, and only json.load itself is
timed; likewise of DuckDB only the statement, which testdata/duckdb/readjson
(go build there) runs.
"""

import argparse
import glob
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LOAD = "import json,sys,time\na=time.process_time()\nx=json.load(open(sys.argv[1]))\nprint(time.process_time()-a)"
ROWS = """
import sqlite3,sys,time
a=time.process_time()
d=sqlite3.connect(sys.argv[1])
n=0
for (t,) in d.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
    for r in d.execute('SELECT * FROM "%s"' % t):
        n+=1
print(time.process_time()-a)
"""
# A profile that goes on: what is in the list of events, again and later.
GROW = """
import json,sys
d=json.load(open(sys.argv[1])); want=int(float(sys.argv[3])*1e6); ev=d.pop("traceEvents")
t=[float(e["ts"]) for e in ev if "ts" in e]; span=max(t)-min(t)+1
with open(sys.argv[2],"w") as f:
    f.write(json.dumps(d)[:-1]+',"traceEvents":[\\n'); n=0; comma=""
    while f.tell()<want:
        for e in ev:
            if "ts" in e: e=dict(e,ts=float(e["ts"])+n*span)
            f.write(comma+json.dumps(e)); comma=",\\n"
        n+=1
    f.write("]}")
"""


def run(argv, env=None, timed=False):
    """CPU seconds and most memory (MB) of a command; its own figure if timed."""
    p = subprocess.Popen(argv, env=dict(os.environ, **(env or {})), stdout=subprocess.PIPE if timed else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = p.stdout.read() if timed else b""
    _, status, r = os.wait4(p.pid, 0)
    p.returncode = 0
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        sys.exit("%s: status %d" % (" ".join(argv), status))
    return float(out) if timed else r.ru_utime + r.ru_stime, r.ru_maxrss / 1000


class Bench:
    def __init__(self, gpurec, rounds, tmp, other=None, duckdb=None):
        self.gpurec, self.rounds, self.tmp, self.other, self.duckdb = gpurec, rounds, tmp, other, duckdb
        self.log = os.path.join(tmp, "out.gpurec")
        print("| file | program | CPU, ms | of the first | MB | rate |\n|---|---|---|---|---|---|", flush=True)

    def ours(self, file):
        return "gpurec import", [self.gpurec, "import", file, "-o", self.log, "--quiet"], {"GOMAXPROCS": "1"}, False

    def table(self, name, programs, count, unit):
        got = {p[0]: [] for p in programs}
        for _ in range(self.rounds):
            for label, argv, env, timed in programs:
                got[label].append(run(argv, env, timed))
        first = None
        for label, _, _, _ in programs:
            cpu = statistics.median(c for c, _ in got[label])
            first = first or cpu
            rate = "%.2f M %s/s" % (count / cpu / 1e6, unit) if count else ""
            print("| %s | %s | %.0f | %.2f | %.0f | %s |" % (name, label, cpu * 1e3, cpu / first, max(m for _, m in got[label]), rate), flush=True)

    def events(self, file):
        """How many events a file has, as gpurec's own summary of the import says."""
        r = subprocess.run([self.gpurec, "import", file, "-o", self.log], stderr=subprocess.PIPE, text=True)
        return int(r.stderr.split(": ")[1].split(" events")[0])


def have(program):
    if shutil.which(program):
        return True
    print("%s is not installed: left out" % program, file=sys.stderr)
    return False


def python(label, code, file):
    return label, [sys.executable, "-c", code, file], None, True


def kineto(b, shared):
    jq = have("jq")
    if not b.duckdb:
        print("no --duckdb: left out", file=sys.stderr)
    for f in sorted(glob.glob(os.path.join(shared, "traces", "*.json.gz"))):
        plain = os.path.join(b.tmp, os.path.basename(f)[:-3])
        with gzip.open(f) as i, open(plain, "wb") as o:
            shutil.copyfileobj(i, o)
        if os.path.getsize(plain) < 8e6:
            os.remove(plain)
            continue
        programs = [python("python json.load", LOAD, plain), b.ours(plain)]
        if b.other:
            programs.append(("json.load of " + b.other, [b.other, "-c", LOAD, plain], None, True))
        if jq:
            programs.append(("jq length", ["jq", "length", plain], None, False))
        if b.duckdb:
            programs.append(("DuckDB read_json", [b.duckdb, plain], None, True))
        b.table(os.path.basename(plain), programs, b.events(plain), "events")
        os.remove(plain)


def ftrace(b, shared):
    trace_cmd = have("trace-cmd")
    for text in sorted(glob.glob(os.path.join(shared, "captures", "*", "trace.txt"))):
        long = os.path.join(b.tmp, "trace.txt")
        with open(text) as f:
            lines = f.readlines()
        with open(long, "w") as o:
            for _ in range(60):
                o.writelines(lines)
        b.table("60 × captures/%s trace.txt" % os.path.basename(os.path.dirname(text)), [b.ours(long)], 60 * len(lines), "lines")
        os.remove(long)
    files = sorted(glob.glob(os.path.join(shared, "captures", "*", "trace.dat")) + glob.glob(os.path.join(shared, "traces", "*.dat")))
    for dat in [f for f in files if os.path.getsize(f) > 1e6]:
        n = b.events(dat)
        programs = [("trace-cmd report", ["trace-cmd", "report", "-i", dat], None, False)] if trace_cmd else []
        b.table(os.path.relpath(dat, shared), programs + [b.ours(dat)], n, "events")
    for raw in sorted(glob.glob(os.path.join(shared, "captures", "*", "raw"))):
        b.table(os.path.relpath(raw, shared), [b.ours(raw)], b.events(raw), "events")


def perfetto(b, shared):
    for f in sorted(glob.glob(os.path.join(shared, "traces", "*.pftrace"))):
        if os.path.getsize(f) > 3e5:
            b.table(os.path.basename(f), [b.ours(f)], b.events(f), "events")


def nsys(b, shared):
    for f in sorted(glob.glob(os.path.join(shared, "traces", "*.sqlite"))):
        if os.path.getsize(f) > 1e6:
            b.table(os.path.basename(f), [python("python sqlite3, all rows", ROWS, f), b.ours(f)], b.events(f), "events")


def perf(b, shared):
    """A recording of this machine, as root: perf script makes the text that is imported."""
    if not have("perf") or os.geteuid() != 0:
        print("perf record needs root: left out", file=sys.stderr)
        return
    data, text = os.path.join(b.tmp, "perf.data"), os.path.join(b.tmp, "perf.txt")
    subprocess.run(["perf", "record", "-q", "-o", data, "-e", "sched:sched_switch", "--", "perf", "bench", "sched", "pipe", "-l", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(text, "w") as o:
        subprocess.run(["perf", "script", "-i", data], stdout=o, stderr=subprocess.DEVNULL, check=True)
    b.table("perf.data of perf bench sched pipe, and its text", [("perf script", ["perf", "script", "-i", data], None, False), b.ours(text)], b.events(text), "events")


def memory(b, shared, mb):
    """The most memory that a large file takes."""
    small, big = os.path.join(b.tmp, "small.json"), os.path.join(b.tmp, "big.json")
    with gzip.open(glob.glob(os.path.join(shared, "traces", "038-*.json.gz"))[0]) as i, open(small, "wb") as o:
        shutil.copyfileobj(i, o)
    subprocess.run([sys.executable, "-c", GROW, small, big, str(mb)], check=True)
    b.rounds = 1
    n = b.events(big)
    b.table("038 repeated, %d MB" % (os.path.getsize(big) / 1e6), [python("python json.load", LOAD, big), b.ours(big)], n, "events")
    b.table("the same", [("gpurec report, from the file", [b.gpurec, "report", "--quiet", big], {"GOMAXPROCS": "1"}, False)], n, "events")


def main():
    parts = {"kineto": kineto, "ftrace": ftrace, "perfetto": perfetto, "nsys": nsys, "perf": perf, "memory": memory}
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("gpurec")
    a.add_argument("shared")
    a.add_argument("parts", nargs="*", choices=[[], *parts])
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--big", type=float, default=474, metavar="MB")
    a.add_argument("--python", help="another Python to time json.load of")
    a.add_argument("--duckdb", metavar="READJSON", help="the program of testdata/duckdb/readjson")
    o = a.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as tmp:
        b = Bench(os.path.abspath(o.gpurec), o.rounds, tmp, o.python, o.duckdb and os.path.abspath(o.duckdb))
        for name in o.parts or parts:
            if name == "memory":
                memory(b, o.shared, o.big)
            else:
                parts[name](b, o.shared)


if __name__ == "__main__":
    main()
