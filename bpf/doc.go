// Package bpf holds the BPF programs that record live: C sources under src,
// the compiled object with its generated loader, and the structs of the
// records that the programs write. The C sources are licensed
// GPL-2.0 OR Apache-2.0; the kernel is told GPL.
//
// The object is little-endian x86-64: argument registers are part of it.
package bpf

//go:generate ./generate.sh
