/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The ioctl pair. */
#include "common.h"

/* Character majors of GPU devices: 1 if the driver's ioctls are wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} majors SEC(".maps");

/* cmd → offset of the status inside the argument's struct, for drivers that return 0 on failure. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u32);
} status_offsets SEC(".maps");

#define S_IFMT 0170000
#define S_IFCHR 0020000

/* dev_t of the character device behind fd, else 0. */
static __always_inline u32 fd_rdev(u32 fd)
{
	struct file *file = fd_file(fd);
	struct inode *inode;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFCHR)
		return 0;
	return BPF_CORE_READ(inode, i_rdev);
}

/*
 * The types of DRM ('d'), NVIDIA ('F') and KFD ('K'). Terminals and frame
 * buffers use K and F too, but without direction and size bits.
 */
static __always_inline bool gpu_magic(u32 cmd)
{
	u32 type = (cmd >> 8) & 0xff;

	return (cmd >> 30) && (type == 'd' || type == 'F' || type == 'K');
}

static __always_inline int ioctl_enter(u32 fd, u32 cmd, u64 arg)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), ts;
	u32 tgid = pid_tgid >> 32, rdev, major;
	struct rec_ioctl_enter *r;
	struct thread *t;
	bool scope;
	u8 *wanted;

	if (!in_scope(tgid))
		return 0;
	rdev = fd_rdev(fd);
	major = rdev >> 20;
	wanted = bpf_map_lookup_elem(&majors, &major);
	if (!(rdev && wanted && *wanted) && !(ioctl_by_magic && gpu_magic(cmd)))
		return 0;
	t = get_thread(pid_tgid, &scope);
	ts = bpf_ktime_get_boot_ns();
	if (t) {
		t->ioctl_open = 1;
		t->ioctl_cmd = cmd;
		t->ioctl_fd = fd;
		t->ioctl_arg = arg;
	}
	count_hit(ID_IOCTL_ENTER);
	r = reserve(rec_ioctl_enter, REC_IOCTL_ENTER, ID_IOCTL_ENTER, GROUP_IOCTL, ts, pid_tgid);
	if (!r)
		return 0;
	r->fd = fd;
	r->cmd = cmd;
	r->arg = arg;
	r->rdev = rdev;
	r->pad = 0;
	submit(r);
	return 0;
}

static __always_inline int ioctl_exit(s64 result)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid, *off, status = 0, cmd;
	struct rec_ioctl_exit *r;
	struct thread *t = find_thread(tid);
	u8 flags = 0;

	if (!t || !t->ioctl_open)
		return 0;
	t->ioctl_open = 0;
	cmd = t->ioctl_cmd;
	off = bpf_map_lookup_elem(&status_offsets, &cmd);
	if (off && bpf_probe_read_user(&status, sizeof(status), (void *)(t->ioctl_arg + *off)) == 0)
		flags = RF_STATUS;
	count_hit(ID_IOCTL_EXIT);
	r = reserve(rec_ioctl_exit, REC_IOCTL_EXIT, ID_IOCTL_EXIT, GROUP_IOCTL, bpf_ktime_get_boot_ns(), pid_tgid);
	if (!r)
		return 0;
	r->h.flags = flags;
	r->fd = t->ioctl_fd;
	r->cmd = cmd;
	r->result = result;
	r->status = status;
	r->pad = 0;
	submit(r);
	return 0;
}

/* Layouts of the syscalls tracepoints: 8 bytes of common fields, then longs. */
struct tp_sys_enter {
	u64 common;
	s64 nr;
	u64 args[6];
};

struct tp_sys_exit {
	u64 common;
	s64 nr;
	s64 ret;
};

/*
 * Programs on tracepoints return 1: perf then gives the event to others who
 * asked for it; with 0 it would be ours alone (trace_call_bpf in
 * kernel/trace/bpf_trace.c, perf_syscall_enter in trace_syscalls.c).
 */
#define TP_PASS_ON 1

SEC("tracepoint/syscalls/sys_enter_ioctl")
int tp_ioctl_enter(struct tp_sys_enter *ctx)
{
	ioctl_enter(ctx->args[0], ctx->args[1], ctx->args[2]);
	return TP_PASS_ON;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int tp_ioctl_exit(struct tp_sys_exit *ctx)
{
	ioctl_exit(ctx->ret);
	return TP_PASS_ON;
}

#define NR_IOCTL 16 /* x86-64 */

/* For machines that grant BPF but not tracefs: sees every syscall, so it is the second choice. */
SEC("tp_btf/sys_enter")
int btf_ioctl_enter(u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];

	if (ctx[1] != NR_IOCTL)
		return 0;
	return ioctl_enter(PT_REGS_PARM1_CORE_SYSCALL(regs), PT_REGS_PARM2_CORE_SYSCALL(regs),
			   PT_REGS_PARM3_CORE_SYSCALL(regs));
}

SEC("tp_btf/sys_exit")
int btf_ioctl_exit(u64 *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct thread *t = find_thread(tid);

	if (!t || !t->ioctl_open)
		return 0;
	return ioctl_exit((s64)ctx[1]);
}
