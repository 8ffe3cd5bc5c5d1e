// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "params.h"
#include "truth.h"

#define MAX_RUNS 3
#define MAX_OPS 4096
#define MAX_RESETS 256

struct truth_run {
	u64 context, seqno;
	u64 start_ns, end_ns, signal_ns;
	int error;
};

struct truth_job {
	int pid, tid;
	const char *dev;		/* of a PCI device: outlives the module */
	const char *ring;
	u64 client_id;
	u64 sched_id;			/* the scheduler's number of it */
	u64 entity, job, fence;		/* addresses */
	u64 context, seqno;		/* of the finished fence */
	u32 flags;
	u32 ndeps, runs, nhw;
	struct { u64 context, seqno; } dep[MOCKGPU_MAX_IN];
	struct truth_run hw[MAX_RUNS];
	u64 duration_ns;
	u64 submit_ns, queue_ns, run_ns;
	u64 scheduled_ns;		/* the scheduler moves it to the end of the job before on that ring */
	u64 finished_ns;
	int error;
	bool pushed, freed;
};

struct truth_op_row {
	enum truth_op op;
	int pid, tid, ret;
	const char *dev;
	u64 time_ns, va, size, context, seqno;
};

struct truth_reset_row {
	const char *dev, *ring;
	u64 start_ns, end_ns, context, seqno;
	int lost;
};

/* Rows are taken by counting up and never given back, so that a writer needs no lock. */
static struct truth_job *jobs;
static struct truth_op_row *ops;
static struct truth_reset_row *resets;
static atomic_t njobs, nops, nresets, ninterrupts;
static struct dentry *dir;

#define TAKE(rows, counter, max)				\
({								\
	int at_ = atomic_inc_return(&(counter)) - 1;		\
	at_ < (max) ? &(rows)[at_] : NULL;			\
})
#define KEPT(counter, max) min_t(int, atomic_read(&(counter)), max)

struct truth_job *truth_job_new(const struct mock_job *job, u64 submit_ns)
{
	struct truth_job *t = TAKE(jobs, njobs, (int)mock_truth_jobs);

	if (!t)
		return NULL;
	t->pid = task_tgid_nr(current);
	t->tid = task_pid_nr(current);
	t->dev = mock_dev_name(job->dev);
	t->ring = job->ring->name;
	t->client_id = job->client_id;
	t->entity = (u64)job->entity;
	t->job = (u64)&job->base;
	t->flags = job->flags;
	t->duration_ns = job->duration_ns;
	t->submit_ns = submit_ns;
	return t;
}

void truth_job_push(struct mock_job *job)
{
	struct truth_job *t = job->truth;
	struct dma_fence *fin = &job->base.s_fence->finished, *f;
	unsigned long n;

	if (!t)
		return;
	xa_for_each(&job->base.dependencies, n, f) {
		if (t->ndeps == MOCKGPU_MAX_IN)
			break;
		t->dep[t->ndeps].context = f->context;
		t->dep[t->ndeps++].seqno = f->seqno;
	}
	t->fence = (u64)fin;
	t->sched_id = mock_sched_job_id(&job->base);
	t->context = fin->context;
	t->seqno = fin->seqno;
	t->queue_ns = ktime_get_ns();
	WRITE_ONCE(t->pushed, true);
}

void truth_job_run(struct truth_job *t)
{
	if (!t)
		return;
	if (!t->runs++)
		t->run_ns = ktime_get_ns();
}

void truth_job_hw(struct truth_job *t, const struct dma_fence *hw, ktime_t start, ktime_t end)
{
	struct truth_run *r = t && t->nhw ? &t->hw[t->nhw - 1] : NULL;

	if (!t)
		return;
	if (!r || r->context != hw->context || r->seqno != hw->seqno) {
		if (t->nhw == MAX_RUNS)
			return;
		r = &t->hw[t->nhw++];
	}
	r->context = hw->context;
	r->seqno = hw->seqno;
	r->start_ns = start;
	r->end_ns = end;
}

void truth_job_signalled(struct truth_job *t, const struct dma_fence *hw)
{
	u32 i;

	if (!t)
		return;
	for (i = 0; i < t->nhw; i++) {
		if (t->hw[i].context == hw->context && t->hw[i].seqno == hw->seqno) {
			t->hw[i].signal_ns = ktime_to_ns(hw->timestamp);
			t->hw[i].error = hw->error;
		}
	}
}

static u64 signalled_ns(const struct dma_fence *f)
{
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &f->flags))
		return 0;
	while (!test_bit(DMA_FENCE_FLAG_TIMESTAMP_BIT, &f->flags))
		cpu_relax();	/* another CPU is between the two */
	return ktime_to_ns(f->timestamp);
}

void truth_job_free(struct mock_job *job)
{
	struct truth_job *t = job->truth;
	struct drm_sched_fence *s = job->base.s_fence;

	if (!t || !s)
		return;
	t->scheduled_ns = signalled_ns(&s->scheduled);
	t->finished_ns = signalled_ns(&s->finished);
	t->error = s->finished.error;
}

void truth_job_gone(struct truth_job *t)
{
	if (t)
		smp_store_release(&t->freed, true);
}

void truth_interrupt(void)
{
	atomic_inc(&ninterrupts);
}

void truth_ioctl(enum truth_op op, const struct mock_dev *md, u64 va, u64 size, const struct dma_fence *f, int ret)
{
	struct truth_op_row *r = TAKE(ops, nops, MAX_OPS);

	if (!r)
		return;
	r->op = op;
	r->pid = task_tgid_nr(current);
	r->tid = task_pid_nr(current);
	r->ret = ret;
	r->dev = mock_dev_name(md);
	r->time_ns = ktime_get_ns();
	r->va = va;
	r->size = size;
	r->context = f ? f->context : 0;
	r->seqno = f ? f->seqno : 0;
}

void truth_reset(const struct mock_ring *ring, const struct dma_fence *guilty, ktime_t start, ktime_t end, int lost)
{
	struct truth_reset_row *r = TAKE(resets, nresets, MAX_RESETS);

	if (!r)
		return;
	r->dev = dev_name(ring->sched.dev);
	r->ring = ring->name;
	r->start_ns = start;
	r->end_ns = end;
	r->context = guilty->context;
	r->seqno = guilty->seqno;
	r->lost = lost;
}

static void show_head(struct seq_file *m)
{
	int open = 0, i;

	for (i = 0; i < KEPT(njobs, mock_truth_jobs); i++)
		open += !READ_ONCE(jobs[i].freed);
	seq_printf(m, "truth version=1 clock=mono boot_minus_mono=%lld jobs=%d ops=%d resets=%d open=%d jobs_without_room=%d interrupts=%d\n",
		   ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT)), KEPT(njobs, mock_truth_jobs),
		   KEPT(nops, MAX_OPS), KEPT(nresets, MAX_RESETS), open,
		   max_t(int, atomic_read(&njobs) - (int)mock_truth_jobs, 0), atomic_read(&ninterrupts));
}

static void show_job(struct seq_file *m, const struct truth_job *t)
{
	u32 i;

	if (!READ_ONCE(t->pushed))
		return;
	seq_printf(m, "job pid=%d tid=%d dev=%s ring=%s owner=%s client=%llu id=%llu entity=0x%llx job=0x%llx fence=0x%llx ctx=%llu seqno=%llu flags=%u duration=%llu submit=%llu queue=%llu run=%llu runs=%u scheduled=%llu finished=%llu error=%d state=%s deps=",
		   t->pid, t->tid, t->dev, t->ring, t->client_id == MOCK_CLIENT_VM ? "kernel" : "user", t->client_id, t->sched_id,
		   t->entity, t->job, t->fence, t->context, t->seqno, t->flags, t->duration_ns, t->submit_ns,
		   t->queue_ns, t->run_ns, t->runs, t->scheduled_ns, t->finished_ns, t->error,
		   READ_ONCE(t->freed) ? "ended" : "open");
	for (i = 0; i < t->ndeps; i++)
		seq_printf(m, "%s%llu:%llu", i ? "," : "", t->dep[i].context, t->dep[i].seqno);
	seq_puts(m, " hw=");
	for (i = 0; i < t->nhw; i++)
		seq_printf(m, "%s%llu:%llu:%llu:%llu:%llu:%d", i ? "," : "", t->hw[i].context, t->hw[i].seqno,
			   t->hw[i].start_ns, t->hw[i].end_ns, t->hw[i].signal_ns, t->hw[i].error);
	seq_putc(m, '\n');
}

static void show_op(struct seq_file *m, const struct truth_op_row *r)
{
	static const char *const names[] = { "map", "unmap", "alloc" };

	seq_printf(m, "op name=%s pid=%d tid=%d dev=%s time=%llu va=%llu size=%llu ret=%d ctx=%llu seqno=%llu\n",
		   names[r->op], r->pid, r->tid, r->dev, r->time_ns, r->va, r->size, r->ret, r->context, r->seqno);
}

static void show_reset(struct seq_file *m, const struct truth_reset_row *r)
{
	seq_printf(m, "reset dev=%s ring=%s start=%llu end=%llu ctx=%llu seqno=%llu lost=%d\n", r->dev, r->ring,
		   r->start_ns, r->end_ns, r->context, r->seqno, r->lost);
}

/* A position is 1 for the head, then a number through jobs, ops and resets. */
static void *at(loff_t pos)
{
	loff_t rows = 1 + KEPT(njobs, mock_truth_jobs) + KEPT(nops, MAX_OPS) + KEPT(nresets, MAX_RESETS);

	return pos < rows ? (void *)(unsigned long)(pos + 1) : NULL;
}

static void *rows_start(struct seq_file *m, loff_t *pos)
{
	return at(*pos);
}

static void *rows_next(struct seq_file *m, void *v, loff_t *pos)
{
	return at(++*pos);
}

static void rows_stop(struct seq_file *m, void *v)
{
}

static int rows_show(struct seq_file *m, void *v)
{
	int n = (int)(unsigned long)v - 2;

	if (n < 0) {
		show_head(m);
		return 0;
	}
	if (n < KEPT(njobs, mock_truth_jobs)) {
		show_job(m, &jobs[n]);
		return 0;
	}
	n -= KEPT(njobs, mock_truth_jobs);
	if (n < KEPT(nops, MAX_OPS))
		show_op(m, &ops[n]);
	else if (n - KEPT(nops, MAX_OPS) < KEPT(nresets, MAX_RESETS))
		show_reset(m, &resets[n - KEPT(nops, MAX_OPS)]);
	return 0;
}

static const struct seq_operations rows_sops = {
	.start = rows_start,
	.next = rows_next,
	.stop = rows_stop,
	.show = rows_show,
};
DEFINE_SEQ_ATTRIBUTE(rows);

static int hold_set(void *data, u64 hold)
{
	mock_hold(hold);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(hold_fops, NULL, hold_set, "%llu\n");

int truth_init(void)
{
	jobs = vzalloc(array_size(mock_truth_jobs, sizeof(*jobs)));
	ops = vzalloc(array_size(MAX_OPS, sizeof(*ops)));
	resets = vzalloc(array_size(MAX_RESETS, sizeof(*resets)));
	if (!jobs || !ops || !resets) {
		truth_exit();
		return -ENOMEM;
	}
	dir = debugfs_create_dir("mockgpu", NULL);
	debugfs_create_file("truth", 0444, dir, NULL, &rows_fops);
	debugfs_create_file("hold", 0600, dir, NULL, &hold_fops);
	return 0;
}

void truth_exit(void)
{
	debugfs_remove(dir);
	vfree(jobs);
	vfree(ops);
	vfree(resets);
}
