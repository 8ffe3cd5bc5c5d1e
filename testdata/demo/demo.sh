#!/bin/sh
# demo.sh GPUREC OUT: records the workload that needs no GPU, or takes the
# small recording beside this script where recording is not possible, then
# correlates, exports and reports it. That recording is of a program on a mock
# GPU in a virtual machine (docs/lab.md), with jobs of the kernel's scheduler.
set -eu
gpurec=$1 out=$2
here=$(dirname "$0")
workload=$here/../workloads
mkdir -p "$out"
log=$out/run.gpurec

why=""
[ "$(id -u)" = 0 ] || why="not root"
command -v python3 >/dev/null 2>&1 || why="no python3"
command -v "${CC:-cc}" >/dev/null 2>&1 || why="no C compiler"
if [ -z "$why" ]; then
  make -s -C "$workload" || why="the workload does not build"
fi
if [ -z "$why" ]; then
  echo "recording: gpurec record -o $log -- python3 testdata/workloads/train.py --quick"
  "$gpurec" record -o "$log" -- python3 "$workload/train.py" --quick >"$out/train.log" 2>&1 || {
    code=$?
    tail -n 3 "$out/train.log"
    why="recording ended with status $code"
  }
  # A kernel without BPF gives a log without API calls: that shows nothing.
  if [ -z "$why" ] && ! "$gpurec" info --json "$log" | grep -q '"api_calls": [1-9]'; then
    why="no API call could be recorded here (gpurec doctor says why)"
  fi
fi
if [ -n "$why" ]; then
  echo "not recorded here: $why; taking the recording that comes with the sources"
  cp "$here/demo.gpurec" "$log"
fi

"$gpurec" export -q "$log" -o "$out/run.pftrace"
rm -rf "$out/run.parquet"
"$gpurec" export -q "$log" -o "$out/run.parquet/"
echo
"$gpurec" report "$log"
if [ -z "$why" ]; then
  cat <<END

The workload's GPU is a stub: its ioctls go to /dev/null, which refuses them, and
nothing runs on a device. That is why ioctls fail and launches lack a job. A
recording with jobs, rings and fences: $gpurec report testdata/demo/demo.gpurec
END
fi
cat <<END

Next:
  open https://ui.perfetto.dev and drop $out/run.pftrace into it
  (cd $out/run.parquet && duckdb -init views.sql -c "FROM api_summary")
END
