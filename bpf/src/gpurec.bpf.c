// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "api.h"
#include "ioctl.h"
#include "task.h"
#include "sched.h"

/* Not used: keeps the types of records and ids in the object's BTF, where a test reads them. */
struct all_types {
	struct rec_api_enter a;
	struct rec_api_enter_x b;
	struct rec_api c;
	struct rec_api_x d;
	struct rec_api_exit e;
	struct rec_api_name f;
	struct rec_ioctl_enter g;
	struct rec_ioctl_exit h;
	struct rec_task i;
	struct rec_lib j;
	struct rec_job k;
	struct rec_dep l;
	struct rec_fence m;
	enum rec_type n;
	enum probe_id o;
	enum group p;
	enum task_op q;
	enum rec_flags r;
	enum job_known s;
	enum cookie_flags t;
	enum desc_flags u;
};
const struct all_types *const all_types = 0;

char LICENSE[] SEC("license") = "GPL";
