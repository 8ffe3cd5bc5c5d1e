/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuload: clients that give work to a mockgpu node. Prints the truth of every
 * ioctl (client.h). See usage().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum depend { DEPEND_NONE, DEPEND_CHAIN, DEPEND_CROSS };
enum await { AWAIT_DRIVER, AWAIT_SYNCOBJ, AWAIT_TIMELINE };

struct list {
	unsigned long v[16];
	unsigned n;
};

static struct {
	const char *node, *tag;
	long clients, jobs, batch, kill_after, pause_us;
	struct list rings, durations_us;
	enum depend depend;
	enum await await;
	int parallel;
	long hang, fail, refuse;	/* a job's number, -1: none */
	long maps, allocs;		/* one every so many jobs, 0: none */
	unsigned alloc_error;
} o = {
	.node = "/dev/dri/renderD128", .tag = "load", .clients = 1, .jobs = 100, .batch = 4,
	.rings = { { MOCKGPU_RING_GFX }, 1 }, .durations_us = { { 500 }, 1 },
	.kill_after = -1, .hang = -1, .fail = -1, .refuse = -1,
};

/* What a client remembers of its last job on each ring. */
struct rings {
	uint32_t syncobj[MOCKGPU_NUM_RINGS];
	struct job last[MOCKGPU_NUM_RINGS];
	int used[MOCKGPU_NUM_RINGS];
};

static int usage(void)
{
	fputs("usage: gpuload [-N NODE] [-t TAG] [-c CLIENTS] [-n JOBS] [-r RING,…] [-d MICROSECONDS,…]\n"
	      "  -b N       wait after every N jobs (4)          -s US   pause US after every job\n"
	      "  -w HOW     driver, syncobj or timeline           -D HOW  each job waits for: chain (the one before),\n"
	      "  -p         every second job runs in parallel             cross (the last one of the other rings)\n"
	      "  -H N -F N -R N  job N hangs, fails, is refused   -K N    kill this process after N jobs\n"
	      "  -m N       map and unmap every N jobs            -a N,E  an allocation every N jobs fails with errno E\n"
	      "Rings and durations are taken in turn.\n", stderr);
	return 2;
}

static int ring_number(const char *name)
{
	static const char *const names[] = { "gfx", "compute", "sdma0" };

	for (int i = 0; i < MOCKGPU_NUM_RINGS; i++) {
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	return -1;
}

static int parse_list(struct list *l, char *text, int rings)
{
	l->n = 0;
	for (char *s = strtok(text, ","); s; s = strtok(NULL, ",")) {
		if (l->n == sizeof l->v / sizeof *l->v)
			return -1;
		int ring = rings ? ring_number(s) : 0;
		if (ring < 0)
			return -1;
		l->v[l->n++] = rings ? (unsigned long)ring : strtoul(s, NULL, 10);
	}
	return l->n ? 0 : -1;
}

static int choose(const char *word, const char *const names[], int *out)
{
	for (int i = 0; names[i]; i++) {
		if (strcmp(word, names[i]) == 0) {
			*out = i;
			return 0;
		}
	}
	return -1;
}

static int parse(int argc, char **argv)
{
	static const char *const depends[] = { "none", "chain", "cross", NULL };
	static const char *const awaits[] = { "driver", "syncobj", "timeline", NULL };
	int c, bad = 0, v = 0;

	while ((c = getopt(argc, argv, "N:t:c:n:r:d:b:s:w:D:pH:F:R:K:m:a:")) != -1) {
		switch (c) {
		case 'N': o.node = optarg; break;
		case 't': o.tag = optarg; break;
		case 'c': o.clients = atol(optarg); break;
		case 'n': o.jobs = atol(optarg); break;
		case 'r': bad |= parse_list(&o.rings, optarg, 1); break;
		case 'd': bad |= parse_list(&o.durations_us, optarg, 0); break;
		case 'b': o.batch = atol(optarg); break;
		case 's': o.pause_us = atol(optarg); break;
		case 'w': bad |= choose(optarg, awaits, &v); o.await = (enum await)v; break;
		case 'D': bad |= choose(optarg, depends, &v); o.depend = (enum depend)v; break;
		case 'p': o.parallel = 1; break;
		case 'H': o.hang = atol(optarg); break;
		case 'F': o.fail = atol(optarg); break;
		case 'R': o.refuse = atol(optarg); break;
		case 'K': o.kill_after = atol(optarg); break;
		case 'm': o.maps = atol(optarg); break;
		case 'a': bad |= sscanf(optarg, "%ld,%u", &o.allocs, &o.alloc_error) != 2; break;
		default: return -1;
		}
	}
	return bad || optind != argc || o.clients < 1 || o.jobs < 0 || o.batch < 1 ? -1 : 0;
}

static struct drm_mockgpu_sync sync_of(const struct rings *r, const struct job *j)
{
	struct drm_mockgpu_sync s = j->out;

	s.handle = o.await == AWAIT_TIMELINE ? r->syncobj[0] : r->syncobj[j->ring];
	return s;
}

static void depend(struct job *j, const struct rings *r, long before)
{
	for (unsigned ring = 0; ring < MOCKGPU_NUM_RINGS; ring++) {
		if (!r->used[ring])
			continue;
		if (o.depend == DEPEND_CHAIN ? (long)ring == before : ring != j->ring)
			j->in[j->num_in++] = sync_of(r, &r->last[ring]);
	}
}

static int await_one(struct client *c, const struct rings *r, const struct job *j)
{
	return o.await == AWAIT_DRIVER ? client_wait(c, j) : client_wait_sync(c, sync_of(r, j));
}

/* Waits for the last job of every ring; returns how many waits failed. */
static int await_all(struct client *c, struct rings *r)
{
	int bad = 0;

	for (int ring = 0; ring < MOCKGPU_NUM_RINGS; ring++) {
		if (r->used[ring])
			bad += await_one(c, r, &r->last[ring]) != 0;
		r->used[ring] = 0;
	}
	return bad;
}

static struct job job_number(long i, const struct rings *r, long before)
{
	struct job j = {
		.ring = (uint32_t)o.rings.v[i % o.rings.n],
		.duration_ns = o.durations_us.v[i % o.durations_us.n] * 1000,
	};

	j.out.handle = o.await == AWAIT_TIMELINE ? r->syncobj[0] : r->syncobj[j.ring];
	j.out.point = o.await == AWAIT_TIMELINE ? (uint64_t)i + 1 : 0;
	if (o.await != AWAIT_DRIVER)
		j.flags |= MOCKGPU_SUBMIT_NO_HANDLE;
	if (o.parallel && i % 2)
		j.flags |= MOCKGPU_SUBMIT_PARALLEL;
	if (i == o.hang)
		j.flags |= MOCKGPU_SUBMIT_HANG;
	if (i == o.fail)
		j.flags |= MOCKGPU_SUBMIT_FAIL;
	if (i == o.refuse)
		j.flags |= MOCKGPU_SUBMIT_REFUSE;
	if (o.depend != DEPEND_NONE)
		depend(&j, r, before);
	return j;
}

/* The ioctls beside the submissions; returns how many ended otherwise than asked for. */
static int others(struct client *c, long i)
{
	uint64_t va = 0x100000000u + (uint64_t)i * 0x10000;
	int bad = 0;

	if (o.maps && i % o.maps == 0)
		bad += client_vm(c, 0, va, 0x10000) != 0;
	if (o.maps && i % o.maps == o.maps - 1)
		bad += client_vm(c, 1, va - (uint64_t)(o.maps - 1) * 0x10000, 0x10000) != 0;
	if (o.allocs && i % o.allocs == 0)
		bad += client_alloc(c, 4096, o.alloc_error) != -(int)o.alloc_error;
	return bad;
}

static int client(void)
{
	struct rings r = { 0 };
	struct client c;
	long before = -1;
	int bad = 0, ret = client_open(&c, o.node, o.tag, stdout);

	if (ret) {
		fprintf(stderr, "gpuload: open %s: %s\n", o.node, strerror(-ret));
		return 1;
	}
	for (int i = 0; i < MOCKGPU_NUM_RINGS; i++)
		r.syncobj[i] = client_syncobj(&c);
	for (long i = 0; i < o.jobs; i++) {
		struct job j = job_number(i, &r, before);

		bad += others(&c, i);
		ret = client_submit(&c, &j);
		if (ret) {
			fprintf(stderr, "gpuload: submit job %ld: %s\n", i, strerror(-ret));
			return 1;
		}
		before = j.ring;
		r.last[j.ring] = j;
		r.used[j.ring] = 1;
		if (i + 1 == o.kill_after)
			raise(SIGKILL);
		if (o.pause_us)
			usleep((useconds_t)o.pause_us);
		if (i % o.batch == o.batch - 1)
			bad += await_all(&c, &r);
	}
	bad += await_all(&c, &r);
	close(c.fd);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	int bad = 0, status;

	if (parse(argc, argv))
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 4096);	/* clients share the file: a line is one write */
	if (o.clients == 1)
		return client();
	for (long i = 0; i < o.clients; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0)
			exit(client());
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
