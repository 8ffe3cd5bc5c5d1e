/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Calls of API functions: uprobes at entry, at return, or both (session). */
#include "common.h"

#define COOKIE_ID(c) ((u16)(c))
#define COOKIE_FLAGS(c) (((c) >> 16) & 0xff)
#define COOKIE_STACK(c) (((c) >> 24) & 0xff)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct fn_desc);
} fn_descs SEC(".maps");

/* The call pushed the return address, the return takes it. */
#define STACK_ARGS(sp) ((sp) + 8)
#define SP_AT_RETURN(sp) ((sp) + 8)

static __always_inline void read_regs(struct pt_regs *ctx, u64 *regs)
{
	regs[0] = PT_REGS_PARM1(ctx);
	regs[1] = PT_REGS_PARM2(ctx);
	regs[2] = PT_REGS_PARM3(ctx);
	regs[3] = PT_REGS_PARM4(ctx);
	regs[4] = PT_REGS_PARM5(ctx);
	regs[5] = ctx->r9;
}

/* The value of an argument slot: a register, else a stack slot read into extra. */
static __always_inline u64 slot_value(struct frame *f, u8 slot)
{
	if (slot < 6)
		return f->regs[slot];
	if (slot < 14 && (f->flags & RF_EXTRA))
		return f->extra[slot - 6];
	return 0;
}

static __always_inline void read_desc(struct frame *f, u32 id)
{
	struct fn_desc *d = bpf_map_lookup_elem(&fn_descs, &id);
	if (!d)
		return;
	if (d->flags & DESC_WINDOW) {
		u32 len = d->window_len;
		u64 p = f->regs[d->window_slot < 6 ? d->window_slot : 0];

		if (len > sizeof(f->extra))
			len = sizeof(f->extra);
		if (bpf_probe_read_user(f->extra, len, (void *)(p + d->window_off)) == 0)
			f->flags |= RF_EXTRA;
	} else if (d->flags & DESC_REFS) {
		u32 ok = 1;

#pragma unroll
		for (int i = 0; i < 8; i++) {
			u64 v = 0, base;

			if (i >= d->nrefs)
				break;
			base = d->ref_slot[i] == SLOT_STACK ? STACK_ARGS(f->sp)
							       : f->regs[d->ref_slot[i] < 6 ? d->ref_slot[i] : 0];

			if (bpf_probe_read_user(&v, d->ref_width[i] == 4 ? 4 : 8, (void *)(base + d->ref_off[i])))
				ok = 0;
			f->extra[i] = v;
		}
		if (ok)
			f->flags |= RF_EXTRA;
	}
}

/* Fills a frame with what can be read at entry. */
static __always_inline void fill_frame(struct pt_regs *ctx, struct frame *f, u32 cookie, u64 ts)
{
	u32 n = COOKIE_STACK(cookie) * 8;

	f->ts = ts;
	f->sp = PT_REGS_SP(ctx);
	f->cookie = cookie;
	f->flags = 0;
	read_regs(ctx, f->regs);
	if (n) {
		if (n > sizeof(f->extra))
			n = sizeof(f->extra);
		if (bpf_probe_read_user(f->extra, n, (void *)STACK_ARGS(f->sp)) == 0)
			f->flags |= RF_EXTRA;
	}
	if (COOKIE_FLAGS(cookie) & CF_DESC)
		read_desc(f, COOKIE_ID(cookie));
}

/* Writes the entry of the call in f. */
static __always_inline void emit_enter(struct thread *t, struct frame *f, u64 pid_tgid, u8 flags)
{
	u32 id = COOKIE_ID(f->cookie);

	if (f->flags & RF_EXTRA) {
		struct rec_api_enter_x *x = reserve_for(t, rec_api_enter_x, REC_API_ENTER_X, id, GROUP_API, f->ts, pid_tgid);
		if (!x)
			return;
		x->h.flags = flags | RF_EXTRA;
		__builtin_memcpy(x->regs, f->regs, sizeof(x->regs));
		__builtin_memcpy(x->extra, f->extra, sizeof(x->extra));
		submit(x);
		return;
	}
	struct rec_api_enter *r = reserve_for(t, rec_api_enter, REC_API_ENTER, id, GROUP_API, f->ts, pid_tgid);
	if (!r)
		return;
	r->h.flags = flags;
	__builtin_memcpy(r->regs, f->regs, sizeof(r->regs));
	submit(r);
}

/* A call whose return will not be seen: written as an entry that says so. */
static __noinline int enter_only(struct pt_regs *ctx, u64 pid_tgid, u32 cookie, u64 ts)
{
	struct frame f;

	__builtin_memset(&f, 0, sizeof(f));
	fill_frame(ctx, &f, cookie, ts);
	emit_enter(NULL, &f, pid_tgid, RF_ENTRY);
	return 0;
}

/*
 * Closes frames that the stack has left without a return (longjmp, an
 * exception): those below sp. One at sp may have jumped to the present
 * function (a tail call): it returns with it. Returns the new depth.
 */
static __always_inline u32 unwind(struct thread *t, u64 pid_tgid, u64 sp)
{
	u32 depth = t->depth;

#pragma unroll
	for (int i = 0; i < MAX_DEPTH; i++) {
		struct frame *f;

		if (depth == 0 || depth > MAX_DEPTH)
			break;
		f = &t->frames[(depth - 1) & (MAX_DEPTH - 1)];
		if (f->sp >= sp)
			break;
		if (!(COOKIE_FLAGS(f->cookie) & CF_BLOCKS))
			emit_enter(t, f, pid_tgid, RF_OPEN);
		depth--;
	}
	return depth;
}

static __noinline int unwind_slow(struct thread *t, u64 pid_tgid, u64 sp)
{
	if (!t)
		return 0;
	t->depth = unwind(t, pid_tgid, sp);
	return 0;
}

/* Returns 0 if the return is wanted. */
static __always_inline int api_entry(struct pt_regs *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), ts, sp;
	u32 cookie, depth;
	struct thread *t;
	struct frame *f;
	bool scope;

	t = get_thread(pid_tgid, &scope);
	if (!scope)
		return 1;
	ts = bpf_ktime_get_boot_ns();
	cookie = bpf_get_attach_cookie(ctx);
	count_hit(COOKIE_ID(cookie));
	if (!t)
		return enter_only(ctx, pid_tgid, cookie, ts), 1;
	sp = PT_REGS_SP(ctx);
	depth = t->depth;
	if (depth) {
		if (t->frames[(depth - 1) & (MAX_DEPTH - 1)].sp < sp)
			unwind_slow(t, pid_tgid, sp);
		depth = t->depth;
		if (depth >= MAX_DEPTH) {
			/* tail calls do not come in fours: functions left by longjmp */
			unwind_slow(t, pid_tgid, sp + 1);
			depth = t->depth;
		}
		if (depth >= MAX_DEPTH)
			return enter_only(ctx, pid_tgid, cookie, ts), 1;
	}
	f = &t->frames[depth & (MAX_DEPTH - 1)];
	fill_frame(ctx, f, cookie, ts);
	if (COOKIE_FLAGS(cookie) & CF_ENTRY_ONLY) {
		emit_enter(t, f, pid_tgid, RF_ENTRY);
		return 1;
	}
	t->depth = depth + 1;
	if (COOKIE_FLAGS(cookie) & CF_BLOCKS)
		emit_enter(t, f, pid_tgid, 0);
	return 0;
}

static __always_inline u8 read_out(struct frame *f, struct fn_desc *d, u64 *out)
{
	u64 v = 0;
	u64 p;

	*out = 0;
	if (!d || !(d->flags & DESC_OUT))
		return 0;
	p = slot_value(f, d->out_slot);
	if (!p || bpf_probe_read_user(&v, d->out_width == 4 ? 4 : 8, (void *)(p + d->out_off)))
		return 0;
	*out = v;
	return RF_OUT;
}

/* A return that carries a string: the name of a GPU function. */
static __noinline int emit_name(struct frame *f, struct fn_desc *d, u64 pid_tgid, u64 result)
{
	struct rec_api_name *r;
	u64 out;

	if (!f || !d)
		return 0;
	r = reserve(rec_api_name, REC_API_NAME, COOKIE_ID(f->cookie), GROUP_API, bpf_ktime_get_boot_ns(), pid_tgid);
	if (!r)
		return 0;
	r->h.flags = read_out(f, d, &out);
	r->start = f->ts;
	r->result = result;
	r->out = out;
	__builtin_memcpy(r->regs, f->regs, sizeof(r->regs));
	r->name[0] = 0;
	if (bpf_probe_read_user_str(r->name, sizeof(r->name), (void *)slot_value(f, d->name_slot)) > 0)
		r->h.flags |= RF_NAME;
	submit(r);
	return 0;
}

static __always_inline void emit_return(struct thread *t, struct frame *f, u64 pid_tgid, u64 result)
{
	u32 cookie = f->cookie, id = COOKIE_ID(cookie);
	struct fn_desc *d = NULL;
	u64 ts, out = 0;
	u8 flags = 0;

	if (COOKIE_FLAGS(cookie) & CF_DESC) {
		d = bpf_map_lookup_elem(&fn_descs, &id);
		if (d && (d->flags & DESC_NAME)) {
			emit_name(f, d, pid_tgid, result);
			return;
		}
		flags = read_out(f, d, &out);
	}
	ts = bpf_ktime_get_boot_ns();
	if (COOKIE_FLAGS(cookie) & CF_BLOCKS) {
		struct rec_api_exit *r = reserve_for(t, rec_api_exit, REC_API_EXIT, id, GROUP_API, ts, pid_tgid);
		if (!r)
			return;
		r->h.flags = flags;
		r->start = f->ts;
		r->result = result;
		r->out = out;
		submit(r);
	} else if (f->flags & RF_EXTRA) {
		struct rec_api_x *r = reserve_for(t, rec_api_x, REC_API_X, id, GROUP_API, ts, pid_tgid);
		if (!r)
			return;
		r->h.flags = flags | RF_EXTRA;
		r->start = f->ts;
		r->result = result;
		r->out = out;
		__builtin_memcpy(r->regs, f->regs, sizeof(r->regs));
		__builtin_memcpy(r->extra, f->extra, sizeof(r->extra));
		submit(r);
	} else {
		struct rec_api *r = reserve_for(t, rec_api, REC_API, id, GROUP_API, ts, pid_tgid);
		if (!r)
			return;
		r->h.flags = flags;
		r->start = f->ts;
		r->result = result;
		r->out = out;
		__builtin_memcpy(r->regs, f->regs, sizeof(r->regs));
		submit(r);
	}
}

static __always_inline int api_return(struct pt_regs *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), sp = PT_REGS_SP(ctx);
	u32 tid = (u32)pid_tgid, depth;
	struct thread *t = find_thread(tid);
	struct frame *f;

	if (!t)
		return 0;
	depth = t->depth;
	if (depth == 0 || depth > MAX_DEPTH)
		return 0;
	f = &t->frames[(depth - 1) & (MAX_DEPTH - 1)];
	if (SP_AT_RETURN(f->sp) < sp) {
		/* inner calls that never returned */
		unwind_slow(t, pid_tgid, sp - SP_AT_RETURN(0));
		depth = t->depth;
		if (depth == 0 || depth > MAX_DEPTH)
			return 0;
		f = &t->frames[(depth - 1) & (MAX_DEPTH - 1)];
	}
	if (SP_AT_RETURN(f->sp) != sp)
		return 0; /* entered before the probes were there */
	emit_return(t, f, pid_tgid, PT_REGS_RC(ctx));
	t->depth = depth - 1;
	return 0;
}

SEC("uprobe.multi")
int api_enter(struct pt_regs *ctx)
{
	api_entry(ctx);
	return 0;
}

SEC("uprobe.multi")
int api_exit(struct pt_regs *ctx)
{
	return api_return(ctx);
}

extern bool bpf_session_is_return(void) __ksym;

/* Attached with BPF_TRACE_UPROBE_SESSION (6.13): not to return 0 at entry skips the return. */
SEC("uprobe.multi")
int api_session(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		return api_return(ctx);
	return api_entry(ctx);
}

/* Does nothing: the base that benchmarks compare with. */
SEC("uprobe.multi")
int empty_uprobe(struct pt_regs *ctx)
{
	return 0;
}

/* Writes what was entered by a thread that ends. */
static __noinline int flush_thread(struct thread *t, u64 pid_tgid)
{
	if (!t)
		return 0;
	t->depth = unwind(t, pid_tgid, ~0ull);
	return 0;
}
