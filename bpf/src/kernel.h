/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The few kernel types that the programs read, with only the fields that they
 * read. Offsets are relocated at load time against the running kernel's BTF
 * (CO-RE), so order and completeness do not matter here; names do.
 */
#ifndef GPUREC_KERNEL_H
#define GPUREC_KERNEL_H

#define __VMLINUX_H__ /* bpf_tracing.h: registers by their kernel names */
#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#if defined(__TARGET_ARCH_x86)
/* Not relocated: the context of a uprobe program has this layout. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
#else
#error "argument registers are only known for x86-64"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct inode {
	u16 i_mode;
	u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct super_block {
	u32 s_dev;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	char comm[16];
	struct signal_struct *signal;
	struct files_struct *files;
};

struct linux_binprm {
	const char *filename;
};

struct kobject {
	const char *name;
};

struct device {
	struct kobject kobj;
	const char *init_name;
};

struct dma_fence;

struct dma_fence_ops {
	const char *(*get_driver_name)(struct dma_fence *);
};

struct dma_fence {
	const struct dma_fence_ops *ops;
	u64 context;
	u64 seqno;
	int error;
};

struct spsc_queue {
	atomic_t job_count;
};

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
	atomic_t credit_count; /* 6.8 and later */
};

struct drm_gpu_scheduler___old {
	atomic_t hw_rq_count; /* until 6.7 */
};

struct drm_sched_fence {
	struct dma_fence scheduled;
	struct dma_fence finished;
	struct dma_fence *parent;
	struct drm_gpu_scheduler *sched;
	u64 drm_client_id; /* 6.17 and later */
};

struct drm_sched_entity {
	struct spsc_queue job_queue;
};

struct drm_sched_job {
	u64 id; /* until 6.16 */
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
};

#pragma clang attribute pop

#endif
