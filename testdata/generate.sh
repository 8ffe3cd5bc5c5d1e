#!/usr/bin/env bash
# Rebuilds all generated code; with --check into a copy that is then compared
# with what is committed. Each room says itself how its code is made, in a
# generate.sh of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts=(bpf/generate.sh protos/generate.sh record/gpu/generate.sh)
if [ "${1:-}" != --check ]; then
  for s in "${scripts[@]}"; do echo "generate $s"; (cd "$(dirname "$s")" && ./generate.sh); done
  exit 0
fi
for tool in clang llvm-strip protoc; do
  command -v "$tool" >/dev/null || { echo "check-generated needs $tool (Debian: clang llvm libbpf-dev protobuf-compiler)"; exit 1; }
done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
for s in "${scripts[@]}"; do echo "check $s"; (cd "$copy/$(dirname "$s")" && ./generate.sh); done
bad=0
while IFS= read -r -d '' f; do
  cmp -s "$f" "$copy/$f" || { echo "differs from what its source gives: $f (run make generate)"; bad=1; }
done < <(git ls-files -z bpf protos record/gpu)
exit $bad
