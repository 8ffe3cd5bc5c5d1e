// Package gpu holds tables of facts: ioctls, drivers, devices, API functions,
// Xids. It opens no file and keeps no state; every table is read-only.
//
// Sources: the kernel's UAPI headers (ioctls_gen.go, see generate.sh),
// NVIDIA's open kernel modules 595.45.04 (RM and UVM numbers and offsets),
// cuda.h 12.6, the symbol tables and headers of Debian's ROCm 5.2.3 packages,
// nccl.h, and the SysV x86-64 calling convention.
package gpu

//go:generate ./generate.sh
