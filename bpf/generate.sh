#!/bin/sh
# Compiles src/gpurec.bpf.c with Debian 12's clang into a committed object and
# its Go loader. Needs clang-14, llvm-14 and libbpf-dev (headers only); the
# result does not depend on where the checkout lies.
set -eu
cd "$(dirname "$0")"
CLANG=${CLANG:-clang-14}
STRIP=${LLVM_STRIP:-llvm-strip-14}
for tool in "$CLANG" "$STRIP"; do
	command -v "$tool" >/dev/null || {
		echo "bpf/generate.sh: $tool is missing: apt-get install clang-14 llvm-14 libbpf-dev" >&2
		exit 1
	}
done
GOPACKAGE=bpf exec go run github.com/cilium/ebpf/cmd/bpf2go \
	-cc "$CLANG" -strip "$STRIP" -target bpfel -no-global-types \
	-output-stem gpurec -go-package bpf Gpurec src/gpurec.bpf.c -- \
	-D__TARGET_ARCH_x86 -O2 -g -Wall -Werror -mcpu=v3 -fno-ident -I/usr/include/x86_64-linux-gnu
