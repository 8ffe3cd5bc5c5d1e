/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Maps, scope and record helpers shared by all programs. */
#ifndef GPUREC_COMMON_H
#define GPUREC_COMMON_H

#include "kernel.h"
#include "records.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define MAX_DEPTH 4
#define NR_SLOTS 4096

/* Set by user space before loading. */
const volatile u32 scope_all;      /* every process, not only those in targets */
const volatile u32 ioctl_by_magic; /* ioctls on any file, if their type is a GPU's */
const volatile u32 stop_on_load;   /* SIGSTOP a process that maps a new library */
const volatile u64 sched_fence_ops[2]; /* drm_sched_fence_ops_{scheduled,finished}, 0 if unknown */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* What user space must act on at once. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} control SEC(".maps");

/* Processes in scope, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} targets SEC(".maps");

/* One call that has been entered and not left. */
struct frame {
	u64 ts;
	u64 sp; /* user stack pointer at entry: pairs entry and return */
	u32 cookie;
	u32 flags; /* RF_* */
	u64 regs[6];
	u64 extra[8];
};

struct thread {
	u32 tid; /* 0: the slot is free */
	u32 pid;
	u32 depth;
	u32 ioctl_open;
	u64 ioctl_arg;
	u32 ioctl_cmd;
	s32 ioctl_fd;
	char comm[16]; /* kept by task_rename: cheaper than to ask for each record */
	struct frame frames[MAX_DEPTH];
};

/*
 * Threads in scope that made a probed call: at tid modulo NR_SLOTS, or, if
 * another thread has that slot, in a hash table. An array costs nothing to
 * look into, a hash table as much as a tenth of an empty uprobe.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SLOTS);
	__type(key, u32);
	__type(value, struct thread);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

const struct thread new_thread = {};

/* Records produced, written or lost, by probe id. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_GROUPS);
	__type(key, u32);
	__type(value, struct loss);
} losses SEC(".maps");

/* Calls that found no room in threads: their return is not recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} no_room SEC(".maps");

static __always_inline void count_hit(u32 id)
{
	u64 *n = bpf_map_lookup_elem(&hits, &id);
	if (n)
		(*n)++;
}

static __noinline int count_loss(u32 group, u64 ts)
{
	struct loss *l = bpf_map_lookup_elem(&losses, &group);
	if (!l)
		return 0;
	if (!l->lost)
		l->first_ts = ts;
	__sync_fetch_and_add(&l->lost, 1); /* an interrupt's program may count here too */
	l->last_ts = ts;
	return 0;
}

static __always_inline void fill_head(struct rec_head *h, u8 type, u16 id, u64 ts, u64 pid_tgid, struct thread *t)
{
	h->ts = ts;
	h->pid = pid_tgid >> 32;
	h->tid = (u32)pid_tgid;
	h->type = type;
	h->flags = 0;
	h->id = id;
	h->cpu = bpf_get_smp_processor_id();
	if (t)
		__builtin_memcpy(h->comm, t->comm, sizeof(h->comm));
	else
		bpf_get_current_comm(h->comm, sizeof(h->comm));
}

/* The record of a probe, its head filled in; NULL and a counted loss if the ring is full. */
#define reserve(structname, type, id, group, ts, pid_tgid) reserve_for(NULL, structname, type, id, group, ts, pid_tgid)

/* The same, for a thread whose name is known. */
#define reserve_for(thread, structname, type, id, group, ts, pid_tgid)                            \
	({                                                                                         \
		struct structname *r__ = bpf_ringbuf_reserve(&events, sizeof(struct structname), 0); \
		if (r__)                                                                           \
			fill_head(&r__->h, type, id, ts, pid_tgid, thread);                                \
		else                                                                               \
			count_loss(group, ts);                                                     \
		r__;                                                                               \
	})

/* Readers poll: a wakeup for each record would cost more than the record. */
#define submit(r) bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP)

static __always_inline bool in_scope(u32 tgid)
{
	return scope_all || bpf_map_lookup_elem(&targets, &tgid);
}

static __always_inline struct thread *slot_of(u32 tid)
{
	u32 i = tid & (NR_SLOTS - 1);

	return bpf_map_lookup_elem(&slots, &i);
}

/* The state of a thread, NULL if it has none yet. */
static __always_inline struct thread *find_thread(u32 tid)
{
	struct thread *t = slot_of(tid);

	if (t && t->tid == tid)
		return t;
	return bpf_map_lookup_elem(&threads, &tid);
}

/* Makes the state of the current thread, which has none. NULL if there is no room. */
static __noinline struct thread *make_thread(u32 tid, u32 tgid)
{
	struct thread *t = slot_of(tid);

	if (t && __sync_val_compare_and_swap(&t->tid, 0, tid) == 0) {
		t->depth = 0;
		t->ioctl_open = 0;
	} else {
		t = bpf_map_lookup_elem(&threads, &tid);
		if (!t) {
			bpf_map_update_elem(&threads, &tid, &new_thread, BPF_NOEXIST);
			t = bpf_map_lookup_elem(&threads, &tid);
		}
		if (!t) {
			u32 zero = 0;
			u64 *n = bpf_map_lookup_elem(&no_room, &zero);
			if (n)
				(*n)++;
			return NULL;
		}
		t->tid = tid;
	}
	if (t->pid != tgid || !t->depth) {
		t->pid = tgid;
		bpf_get_current_comm(t->comm, sizeof(t->comm));
	}
	return t;
}

/* Forgets a thread that has ended or changed its program. */
static __always_inline void drop_thread(u32 tid)
{
	struct thread *t = slot_of(tid);

	if (t && t->tid == tid)
		t->tid = 0;
	else
		bpf_map_delete_elem(&threads, &tid);
}

/*
 * The state of the current thread; NULL if it is out of scope or there is no
 * room: scope says which. That a thread has a slot says that it is in scope.
 */
static __always_inline struct thread *get_thread(u64 pid_tgid, bool *scope)
{
	u32 tid = (u32)pid_tgid, tgid = pid_tgid >> 32;
	struct thread *t = slot_of(tid);

	*scope = true;
	if (t && t->tid == tid)
		return t;
	if (!in_scope(tgid)) {
		*scope = false;
		return NULL;
	}
	return make_thread(tid, tgid);
}

/* The open file of a descriptor of the current task. */
static __always_inline struct file *fd_file(u32 fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **fds, *file = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	fds = BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), fds + fd);
	return file;
}

#endif
