/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Records as they lie in the ring buffer. records.go holds the same structs
 * for Go; a test compares the two through the object's BTF.
 */
#ifndef GPUREC_RECORDS_H
#define GPUREC_RECORDS_H

enum rec_type {
	REC_API_ENTER = 1,   /* struct rec_api_enter */
	REC_API_ENTER_X,     /* struct rec_api_enter_x: with extra arguments */
	REC_API,             /* struct rec_api: a whole call, written at its return */
	REC_API_X,           /* struct rec_api_x */
	REC_API_EXIT,        /* struct rec_api_exit */
	REC_API_NAME,        /* struct rec_api_name: a return, with the string argument */
	REC_IOCTL_ENTER,     /* struct rec_ioctl_enter */
	REC_IOCTL_EXIT,      /* struct rec_ioctl_exit */
	REC_TASK,            /* struct rec_task */
	REC_LIB,             /* struct rec_lib */
	REC_JOB,             /* struct rec_job */
	REC_DEP,             /* struct rec_dep */
	REC_FENCE,           /* struct rec_fence */
};

/* flags of a record */
enum rec_flags {
	RF_EXTRA = 1,   /* extra could be read */
	RF_OUT = 2,     /* out could be read */
	RF_NAME = 4,    /* name could be read */
	RF_OPEN = 8,    /* the call had not returned when its thread ended */
	RF_ENTRY = 16,  /* no return will be recorded */
	RF_STATUS = 32, /* status could be read */
	RF_STOPPED = 64, /* the process was sent SIGSTOP */
};

struct rec_head {
	u64 ts; /* CLOCK_BOOTTIME, ns */
	u32 pid;
	u32 tid;
	u8 type;
	u8 flags;
	u16 id; /* probe: an index given by user space, or enum probe_id */
	u32 cpu;
	char comm[16];
};

struct rec_api_enter {
	struct rec_head h;
	u64 regs[6]; /* the six argument registers */
};

struct rec_api_enter_x {
	struct rec_head h;
	u64 regs[6];
	u64 extra[8]; /* stack slots, a window of a struct, or single values: see fn_desc */
};

struct rec_api {
	struct rec_head h;
	u64 start;
	u64 result;
	u64 out;
	u64 regs[6];
};

struct rec_api_x {
	struct rec_head h;
	u64 start;
	u64 result;
	u64 out;
	u64 regs[6];
	u64 extra[8];
};

struct rec_api_exit {
	struct rec_head h;
	u64 start;
	u64 result;
	u64 out;
};

struct rec_api_name {
	struct rec_head h;
	u64 start;
	u64 result;
	u64 out;
	u64 regs[6];
	char name[1024];
};

struct rec_ioctl_enter {
	struct rec_head h;
	s32 fd;
	u32 cmd;
	u64 arg;
	u32 rdev; /* the kernel's dev_t: major << 20 | minor; 0 if fd is no character device */
	u32 pad;
};

struct rec_ioctl_exit {
	struct rec_head h;
	s32 fd;
	u32 cmd;
	s64 result;
	u32 status;
	u32 pad;
};

enum task_op { TASK_FORK = 1, TASK_EXEC, TASK_EXIT, TASK_RENAME };

struct rec_task {
	struct rec_head h;
	u32 op;
	u32 target_pid;
	u32 target_tid;
	u32 exit_code;
	u32 process_ended; /* TASK_EXIT: this was the last thread */
	u32 pad;
	char name[128]; /* TASK_EXEC: file; TASK_RENAME: new name; TASK_FORK: name of the child */
};

struct rec_lib {
	struct rec_head h;
	s32 fd;
	u32 dev; /* the kernel's dev_t */
	u64 ino;
	char name[64];
};

/* which members of a job or fence are known */
enum job_known {
	JF_SCHED_ID = 1,
	JF_HW = 2,
	JF_CLIENT = 4,
	JF_COUNTS = 8,
	JF_ENTITY = 16,
};

struct rec_job {
	struct rec_head h;
	u64 job;
	u64 entity;
	u64 fence; /* the finished fence */
	u64 sched_id;
	u64 context;
	u64 seqno;
	u64 hw_fence;
	u64 hw_context;
	u64 hw_seqno;
	u64 client_id;
	u32 job_count;
	s32 hw_job_count;
	s32 error;
	u32 known;
	char ring[32];
	char dev[32];
};

struct rec_dep {
	struct rec_head h;
	u64 job;
	u64 fence;
	u64 sched_id;
	u64 context;
	u64 seqno;
	u64 on_fence;
	u64 on_context;
	u64 on_seqno;
	u32 known;
	u32 pad;
	char ring[32];
	char dev[32];
};

struct rec_fence {
	struct rec_head h;
	u64 fence;
	u64 ops;         /* struct dma_fence_ops */
	u64 driver_func; /* ops->get_driver_name: its module names the driver */
	u64 context;
	u64 seqno;
	s32 error;
	u32 pad;
	char timeline[32]; /* only of drm_sched fences */
};

/* Probe ids below ID_FIRST_SYMBOL belong to programs that watch one thing. */
enum probe_id {
	ID_IOCTL_ENTER = 1,
	ID_IOCTL_EXIT,
	ID_FORK,
	ID_EXEC,
	ID_EXIT,
	ID_RENAME,
	ID_MMAP,
	ID_JOB_QUEUE_OLD,
	ID_JOB_RUN_OLD,
	ID_JOB_DONE_OLD,
	ID_JOB_DEP_OLD,
	ID_JOB_QUEUE,
	ID_JOB_RUN,
	ID_JOB_DONE,
	ID_JOB_DEP,
	ID_JOB_UNSCHEDULABLE,
	ID_FENCE_INIT,
	ID_FENCE_EMIT,
	ID_FENCE_ENABLE,
	ID_FENCE_SIGNAL,
	ID_FENCE_WAIT_START,
	ID_FENCE_WAIT_END,
	ID_FENCE_DESTROY,
	ID_FIRST_SYMBOL = 32,
};

/* Groups: losses are counted by group and CPU. */
enum group { GROUP_API, GROUP_IOCTL, GROUP_TASK, GROUP_SCHED, GROUP_FENCE, NR_GROUPS };

struct loss {
	u64 lost;
	u64 first_ts; /* of the first drop ever, 0 if none */
	u64 last_ts;
};

/* Flags in the attach cookie of a uprobe: id | flags << 16 | stack slots << 24. */
enum cookie_flags {
	CF_BLOCKS = 1,     /* write a record at entry too */
	CF_ENTRY_ONLY = 2, /* the return is not probed */
	CF_DESC = 4,       /* fn_descs[id] says what more to read */
};

/* As a ref_slot: not a pointer in a register but the first argument on the stack. */
#define SLOT_STACK 0xff

enum desc_flags { DESC_WINDOW = 1, DESC_REFS = 2, DESC_OUT = 4, DESC_NAME = 8 };

/* What to read beyond the registers and the stack. */
struct fn_desc {
	u8 flags;
	u8 window_slot; /* DESC_WINDOW: extra = window_len bytes at *slot + window_off */
	u8 window_len;
	u8 nrefs; /* DESC_REFS: extra[i] = ref_width[i] bytes at *ref_slot[i] + ref_off[i]; see SLOT_STACK */
	u16 window_off;
	u16 out_off;
	u8 out_slot; /* DESC_OUT: out = out_width bytes at *slot + out_off, at return */
	u8 out_width;
	u8 name_slot; /* DESC_NAME: string at *slot, at return */
	u8 pad;
	u8 ref_slot[8];
	u8 ref_width[8];
	u16 ref_off[8];
};

#endif
