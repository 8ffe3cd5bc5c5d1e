#!/bin/sh
# Runs the workload without a recorder and proves that its truth is one: what
# the programs counted around their calls equals what the stub library counted
# inside them, by name and process.
set -eu
cd "$(dirname "$0")"
make -s all
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
	echo "check.sh: $*" >&2
	exit 1
}

run() { # run EXPECTED-STATUS NAME ARGS...
	want=$1 name=$2
	shift 2
	status=0
	timeout 120 python3 train.py --truth "$tmp/$name" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" || status=$?
	[ "$status" = "$want" ] || fail "train.py $*: status $status, want $want: $(cat "$tmp/$name.err")"
	! grep -qv '^Terminated$' "$tmp/$name.err" || fail "train.py $*: $(cat "$tmp/$name.err")"
	echo "train.py $*: $(python3 truth.py check "$tmp/$name")" || fail "train.py $*: its truth is none"
}

run 0 quick --quick
run 0 default
run 0 threads --quick --threads 7 --loaders 4
run 7 code --quick --exit-code 7
run 143 die --quick --die 15
run 3 noise --noise --seconds 0.3 --exit-code 3

# The check itself can fail.
sed '0,/"calls": [0-9]*, "kind": "calls"/s//"calls": 987654, "kind": "calls"/' "$tmp/quick" >"$tmp/wrong"
cp -r "$tmp/quick.counts" "$tmp/wrong.counts"
if python3 truth.py check "$tmp/wrong" >/dev/null 2>&1; then fail "a wrong truth passes"; fi

# A call that never returns: entered, not returned, and everything else is.
python3 train.py --quick --hang --truth "$tmp/hang" >"$tmp/hang.out" 2>&1 &
pid=$!
for _ in $(seq 1000); do
	if grep -q '^hanging$' "$tmp/hang.out" 2>/dev/null; then break; fi
	sleep 0.05
done
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || fail "train.py --hang: status $status after SIGINT, want 130: $(cat "$tmp/hang.out")"
python3 - "$tmp/hang" <<'END' || fail "train.py --hang: not one open call"
import json, sys
calls = [l for l in map(json.loads, open(sys.argv[1])) if l["kind"] == "calls" and l["calls"] != l["returned"]]
print("train.py --hang: open:", [(l["name"], l["calls"] - l["returned"]) for l in calls])
sys.exit([(l["name"], l["calls"] - l["returned"]) for l in calls] != [("cuStreamSynchronize", 1)])
END
echo "train.py --hang: $(python3 truth.py check "$tmp/hang")" || fail "train.py --hang: its truth is none"

# Two names, one address.
python3 - build/libcuda.so.1 <<'END' || fail "aliases"
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
address = lambda n: ctypes.cast(lib[n], ctypes.c_void_p).value
from cuda import SAME_ADDRESS
pairs = SAME_ADDRESS.items()
sys.exit(any(address(a) != address(b) for a, b in pairs) or address("cuLaunchKernel") == address("cuLaunchKernel_ptsz"))
END

# calls: so many calls as asked for.
mkdir "$tmp/counts"
STUBCUDA_COUNTS="$tmp/counts" build/calls -n 5000 -t 3 >"$tmp/calls.json"
python3 - "$tmp/calls.json" "$tmp/counts" <<'END' || fail "calls: wrong number of calls"
import json, sys
from truth import stub_counts
said = json.load(open(sys.argv[1]))
print("calls:", said)
sys.exit(stub_counts(sys.argv[2]) != {(said["pid"], "cuLaunchKernel"): 15000} or said["calls"] != 15000)
END
echo "check.sh: ok"
