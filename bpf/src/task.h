/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Which processes are in scope, and the libraries that they map. */
#include "common.h"

static __always_inline struct rec_task *reserve_task(u16 id, u32 op, u64 pid_tgid)
{
	struct rec_task *r;

	count_hit(id);
	r = reserve(rec_task, REC_TASK, id, GROUP_TASK, bpf_ktime_get_boot_ns(), pid_tgid);
	if (!r)
		return NULL;
	r->op = op;
	r->target_pid = 0;
	r->target_tid = 0;
	r->exit_code = 0;
	r->process_ended = 0;
	r->pad = 0;
	__builtin_memset(r->name, 0, sizeof(r->name));
	return r;
}

SEC("tp_btf/sched_process_fork")
int task_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 ptgid, ctgid, one = 1;
	struct rec_task *r;

	if (!parent || !child)
		return 0;
	ptgid = BPF_CORE_READ(parent, tgid);
	if (!in_scope(ptgid))
		return 0;
	ctgid = BPF_CORE_READ(child, tgid);
	if (ctgid != ptgid)
		bpf_map_update_elem(&targets, &ctgid, &one, BPF_ANY);
	r = reserve_task(ID_FORK, TASK_FORK, (u64)ptgid << 32 | (u32)BPF_CORE_READ(parent, pid));
	if (!r)
		return 0;
	r->target_pid = ctgid;
	r->target_tid = BPF_CORE_READ(child, pid);
	BPF_CORE_READ_STR_INTO((char(*)[16])r->name, child, comm);
	submit(r);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int task_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 old = ctx[1], tid = (u32)pid_tgid;
	struct rec_task *r;

	if (!p || !bprm)
		return 0;
	if (!in_scope(pid_tgid >> 32))
		return 0;
	drop_thread(old);
	drop_thread(tid);
	r = reserve_task(ID_EXEC, TASK_EXEC, pid_tgid);
	if (!r)
		return 0;
	r->target_pid = pid_tgid >> 32;
	r->target_tid = tid;
	bpf_probe_read_kernel_str(r->name, sizeof(r->name), BPF_CORE_READ(bprm, filename));
	submit(r);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int task_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tgid, tgid = pid_tgid >> 32, last;
	struct rec_task *r;
	struct thread *t;

	if (!p)
		return 0;
	t = find_thread(tid);
	if (t) {
		flush_thread(t, pid_tgid);
		drop_thread(tid);
	}
	if (!in_scope(tgid))
		return 0;
	last = BPF_CORE_READ(p, signal, live.counter) == 0;
	if (last)
		bpf_map_delete_elem(&targets, &tgid);
	r = reserve_task(ID_EXIT, TASK_EXIT, pid_tgid);
	if (!r)
		return 0;
	r->target_pid = tgid;
	r->target_tid = tid;
	r->exit_code = BPF_CORE_READ(p, exit_code);
	r->process_ended = last;
	submit(r);
	return 0;
}

SEC("tp_btf/task_rename")
int task_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	const char *comm = (void *)ctx[1];
	struct rec_task *r;
	struct thread *t;
	u32 tgid, tid;

	if (!p || !comm)
		return 0;
	tid = BPF_CORE_READ(p, pid);
	t = find_thread(tid);
	if (t)
		bpf_probe_read_kernel_str(t->comm, sizeof(t->comm), comm);
	tgid = BPF_CORE_READ(p, tgid);
	if (!in_scope(tgid))
		return 0;
	r = reserve_task(ID_RENAME, TASK_RENAME, bpf_get_current_pid_tgid());
	if (!r)
		return 0;
	r->target_pid = tgid;
	r->target_tid = tid;
	bpf_probe_read_kernel_str(r->name, 16, comm);
	submit(r);
	return 0;
}

/* Beginnings of the file names that may be libraries to probe. */
struct lib_prefix {
	char text[32];
	u32 len;
	u32 pad;
};

#define MAX_PREFIXES 24

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PREFIXES);
	__type(key, u32);
	__type(value, struct lib_prefix);
} prefixes SEC(".maps");

struct file_id {
	u64 ino;
	u32 dev;
	u32 pad;
};

/*
 * Files whose probes are in place, or cannot be placed; user space puts them
 * here. Until then every process that maps one is stopped and told of: it would
 * make calls before its probes are there.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_id);
	__type(value, u32);
} known_files SEC(".maps");

static __always_inline bool wanted_name(const char *name)
{
	for (u32 i = 0; i < MAX_PREFIXES; i++) {
		u32 key = i;
		struct lib_prefix *p = bpf_map_lookup_elem(&prefixes, &key);
		u32 j;

		if (!p || !p->len)
			return false;
		for (j = 0; j < 31; j++) {
			if (j >= p->len || p->text[j] != name[j])
				break;
		}
		if (j == p->len)
			return true;
	}
	return false;
}

#define PROT_EXEC 4
#define MAP_ANONYMOUS 0x20
#define SIGSTOP 19

/*
 * A process in scope is about to map code of a file not seen before. At
 * entry: the descriptor is there, a signal sent now takes effect when the
 * call returns, and a probe placed before the mapping is put into it by the
 * kernel.
 */
static __always_inline int mapped(struct tp_sys_enter *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tgid = pid_tgid >> 32;
	struct file_id id = {};
	struct inode *inode;
	struct rec_lib *r;
	struct file *file;
	char name[64];

	if (!(ctx->args[2] & PROT_EXEC) || (ctx->args[3] & MAP_ANONYMOUS))
		return 0;
	if (!in_scope(tgid))
		return 0;
	file = fd_file(ctx->args[4]);
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	id.ino = BPF_CORE_READ(inode, i_ino);
	id.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (bpf_map_lookup_elem(&known_files, &id))
		return 0;
	__builtin_memset(name, 0, sizeof(name));
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (!wanted_name(name))
		return 0;
	count_hit(ID_MMAP);
	r = bpf_ringbuf_reserve(&control, sizeof(*r), 0);
	if (!r) /* calls may be missed, until another mapping is told of */
		return count_loss(GROUP_API, bpf_ktime_get_boot_ns());
	fill_head(&r->h, REC_LIB, ID_MMAP, bpf_ktime_get_boot_ns(), pid_tgid, NULL);
	r->fd = ctx->args[4];
	r->dev = id.dev;
	r->ino = id.ino;
	__builtin_memcpy(r->name, name, sizeof(r->name));
	if (stop_on_load && bpf_send_signal(SIGSTOP) == 0)
		r->h.flags |= RF_STOPPED;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tracepoint/syscalls/sys_enter_mmap")
int lib_mmap(struct tp_sys_enter *ctx)
{
	mapped(ctx);
	return TP_PASS_ON;
}
