/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
	struct work *next;
	enum work_kind kind;
	uint64_t ns;
	struct event *event;
};

struct event {
	unsigned pending; /* records queued and not reached */
	uint64_t at_ns;   /* CLOCK_MONOTONIC of the last one reached */
};

/* list_lock guards the list and every refs; event_lock all events. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *all;
static struct stream *process_stream;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_changed = PTHREAD_COND_INITIALIZER;

/* A thread's own stream; of an earlier process after a fork. */
static _Thread_local struct stream *thread_stream;
static _Thread_local unsigned thread_generation;
static unsigned generation;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static void unref(struct stream *s)
{
	int left;

	pthread_mutex_lock(&list_lock);
	left = --s->refs;
	pthread_mutex_unlock(&list_lock);
	if (left == 0) {
		pthread_mutex_destroy(&s->lock);
		pthread_cond_destroy(&s->changed);
		free(s);
	}
}

static void run(struct work *w)
{
	switch (w->kind) {
	case WORK_TIME:
		sleep_ns(w->ns);
		break;
	case WORK_FOREVER:
		for (;;)
			sleep_ns(1000000000u);
	case WORK_RECORD:
		pthread_mutex_lock(&event_lock);
		w->event->pending--;
		w->event->at_ns = now_ns();
		pthread_cond_broadcast(&event_changed);
		pthread_mutex_unlock(&event_lock);
		break;
	case WORK_AWAIT:
		event_wait(w->event);
		break;
	}
}

static void *serve(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct work *w = s->head;

		if (w) {
			s->head = w->next;
			if (!s->head)
				s->tail = &s->head;
			pthread_mutex_unlock(&s->lock);
			run(w);
			free(w);
			pthread_mutex_lock(&s->lock);
			s->done++;
			pthread_cond_broadcast(&s->changed);
		} else if (s->stop) {
			break;
		} else {
			pthread_cond_wait(&s->changed, &s->lock);
		}
	}
	pthread_mutex_unlock(&s->lock);
	unref(s);
	return NULL;
}

struct stream *stream_new(void)
{
	struct stream *s = calloc(1, sizeof *s);
	pthread_attr_t attr;
	sigset_t block, old;
	pthread_t t;
	int err;

	if (!s)
		return NULL;
	s->refs = 2;
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* signals are the program's: its own threads take them */
	sigfillset(&block);
	pthread_sigmask(SIG_SETMASK, &block, &old);
	err = pthread_create(&t, &attr, serve, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err) {
		free(s);
		return NULL;
	}
	pthread_mutex_lock(&list_lock);
	s->next = all;
	all = s;
	pthread_mutex_unlock(&list_lock);
	return s;
}

void stream_end(struct stream *s)
{
	struct stream **p;

	pthread_mutex_lock(&list_lock);
	for (p = &all; *p && *p != s; p = &(*p)->next)
		;
	if (*p)
		*p = s->next;
	pthread_mutex_unlock(&list_lock);
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	unref(s);
}

struct stream *stream_get(uintptr_t handle, bool per_thread)
{
	if (handle > 2)
		return (struct stream *)handle;
	if (handle == 2 || (handle == 0 && per_thread)) {
		if (!thread_stream || thread_generation != generation) {
			thread_stream = stream_new();
			thread_generation = generation;
		}
		return thread_stream;
	}
	struct stream *s = __atomic_load_n(&process_stream, __ATOMIC_ACQUIRE);
	if (!s) {
		struct stream *fresh = stream_new(), *none = NULL;

		if (__atomic_compare_exchange_n(&process_stream, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return fresh;
		if (fresh)
			stream_end(fresh);
		s = none;
	}
	return s;
}

void stream_push(struct stream *s, enum work_kind k, uint64_t ns, struct event *e)
{
	struct work *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->kind = k;
	w->ns = ns;
	w->event = e;
	if (k == WORK_RECORD) {
		pthread_mutex_lock(&event_lock);
		e->pending++;
		pthread_mutex_unlock(&event_lock);
	}
	pthread_mutex_lock(&s->lock);
	*s->tail = w;
	s->tail = &w->next;
	s->queued++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void stream_wait(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t until = s->queued;
	while (s->done < until)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

bool stream_idle(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	bool idle = s->done == s->queued;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void streams_wait_all(void)
{
	struct stream *list[256];
	int n = 0;

	pthread_mutex_lock(&list_lock);
	for (struct stream *s = all; s && n < 256; s = s->next) {
		s->refs++;
		list[n++] = s;
	}
	pthread_mutex_unlock(&list_lock);
	for (int i = 0; i < n; i++) {
		stream_wait(list[i]);
		unref(list[i]);
	}
}

struct event *event_new(void)
{
	return calloc(1, sizeof(struct event));
}

void event_free(struct event *e)
{
	/* one that is still queued must outlive its record: it is left */
	if (event_done(e))
		free(e);
}

void event_wait(struct event *e)
{
	pthread_mutex_lock(&event_lock);
	while (e->pending)
		pthread_cond_wait(&event_changed, &event_lock);
	pthread_mutex_unlock(&event_lock);
}

bool event_done(struct event *e)
{
	pthread_mutex_lock(&event_lock);
	bool done = e->pending == 0;
	pthread_mutex_unlock(&event_lock);
	return done;
}

float event_elapsed_ms(struct event *from, struct event *to)
{
	return (float)((double)(to->at_ns - from->at_ns) / 1e6);
}

/* A forked child has none of the threads: it starts afresh. The parent's
 * objects are left where they are. */
static void lock_all(void)
{
	pthread_mutex_lock(&list_lock);
	pthread_mutex_lock(&event_lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&event_lock);
	pthread_mutex_unlock(&list_lock);
}

static void start_afresh(void)
{
	static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;

	all = NULL;
	process_stream = NULL;
	generation++;
	memcpy(&event_changed, &fresh, sizeof fresh);
	unlock_all();
}

__attribute__((constructor)) static void engine_init(void)
{
	pthread_atfork(lock_all, unlock_all, start_afresh);
}
