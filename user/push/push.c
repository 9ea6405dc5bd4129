/* SPDX-License-Identifier: MIT */
/* See push.h. Begin, end, and what the tracing thread calls. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "push_impl.h"

/* --- lists ------------------------------------------------------------------------------------------ */

void push_list_add(struct push_list *list, struct push_item *item)
{
	item->next = NULL;
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
	list->n++;
	list->bytes += item->len;
}

void push_list_add_first(struct push_list *list, struct push_item *item)
{
	item->next = list->first;
	list->first = item;
	if (!list->last)
		list->last = item;
	list->n++;
	list->bytes += item->len;
}

struct push_item *push_list_take(struct push_list *list)
{
	struct push_item *item = list->first;

	if (!item)
		return NULL;
	list->first = item->next;
	if (!list->first)
		list->last = NULL;
	list->n--;
	list->bytes -= item->len;
	return item;
}

void push_list_free(struct push_list *list)
{
	struct push_item *item;

	while ((item = push_list_take(list)))
		push_item_free(item);
}

struct push_item *push_make_room(struct push *p, struct push_list *list, u64 most, size_t len)
{
	struct push_item *item, *out = NULL;

	while ((list->bytes + len > most || list->n >= PUSH_ITEMS_MAX) &&
	       (item = push_list_take(list))) {
		p->counts.dropped++;
		p->pushed_out++;
		item->next = out;
		out = item;
	}
	return out;
}

void push_forget(struct push *p, struct push_item *item)
{
	while (item) {
		struct push_item *next = item->next;

		if (item->spooled)
			push_spool_drop(p->spool, item);
		push_item_free(item);
		item = next;
	}
}

/* --- from the caller -------------------------------------------------------------------------------- */

static u64 next_serial(struct push *p)
{
	struct timespec now;
	u64 serial;

	clock_gettime(CLOCK_REALTIME, &now);
	serial = (u64)now.tv_sec * PUSH_SECOND + (u64)now.tv_nsec;
	if (serial <= p->last_serial)
		serial = p->last_serial + 1;
	return p->last_serial = serial;
}

static struct push_item *new_item(const char *path, const char *type, struct text_buf *body)
{
	struct push_item *item = calloc(1, sizeof(*item));

	if (!item)
		return NULL;
	item->path = strdup(path);
	item->type = strdup(type);
	if (!item->path || !item->type) {
		push_item_free(item);
		return NULL;
	}
	item->body = *body;
	item->len = body->len;
	*body = (struct text_buf){0};
	return item;
}

int push_start(struct push *p)
{
	sigset_t all, old;
	int err;

	if (p->started || p->closed)
		return 0;
	err = push_http_start(p->http);
	/* Signals are for the thread that traces. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!err)
		err = -pthread_create(&p->thread, NULL, push_run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->started = !err;
	if (p->started)
		pthread_setname_np(p->thread, "spantrace-push");
	else
		log_error("--%s: %s", p->options.name, strerror(-err));
	return err;
}

int push_enqueue(struct push *p, const char *path, const char *type, struct text_buf *body)
{
	bool fits = body->len <= PUSH_BODY_MAX && body->len <= p->queue_bytes;
	bool able = fits && !body->failed && !push_start(p);
	struct push_item *item = able ? new_item(path, type, body) : NULL;
	struct push_item *out = NULL;

	text_buf_free(body);
	pthread_mutex_lock(&p->lock);
	if (item) {
		out = push_make_room(p, &p->queued, p->queue_bytes, item->len);
		item->serial = next_serial(p);
		push_list_add(&p->queued, item);
	} else {
		p->counts.dropped++;
	}
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	push_forget(p, out);
	return item ? 0 : fits ? -ENOMEM : -EMSGSIZE;
}

void push_count(struct push *p, struct push_counts *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->counts;
	out->queued = p->queued.n + p->current.queued;
	out->queued_bytes = p->queued.bytes + p->current.queued_bytes;
	out->spooled = p->spooled.n + p->current.spooled;
	out->spooled_bytes = p->spooled.bytes + p->current.spooled_bytes;
	pthread_mutex_unlock(&p->lock);
}

/* --- begin and end ---------------------------------------------------------------------------------- */

static const char *pushes(u64 n)
{
	return n == 1 ? "push" : "pushes";
}

static int find_spool(struct push *p)
{
	const struct push_access *access = p->options.access;
	struct push_item *items, *item;
	int err;

	if (!access->spool)
		return 0;
	err = push_spool_new(access->spool, p->options.name, &p->spool);
	if (err)
		return err;
	err = push_spool_list(p->spool, PUSH_ITEMS_MAX, &items);
	while ((item = items)) {
		items = item->next;
		if (item->serial > p->last_serial)
			p->last_serial = item->serial;
		push_list_add(&p->spooled, item);
		p->counts.found++;
	}
	if (err == -E2BIG)
		log_warn(
			"--spool %s: there are more than %u pushes; the rest waits for another run",
			access->spool, PUSH_ITEMS_MAX);
	else if (err)
		log_error("--spool %s: %s", access->spool, strerror(-err));
	else if (p->counts.found)
		log_note("--%s: %llu %s of an earlier run in %s", p->options.name,
			 (unsigned long long)p->counts.found, pushes(p->counts.found),
			 access->spool);
	if (err && err != -E2BIG)
		return err;
	push_forget(p, push_make_room(p, &p->spooled, p->spool_bytes, 0));
	return 0;
}

int push_new(const struct push_options *options, struct push **out)
{
	CLEANUP(push_free) struct push *p = calloc(1, sizeof(*p));
	pthread_condattr_t clock;
	int err;

	if (!p)
		return -ENOMEM;
	p->options = *options;
	p->access = *options->access;
	p->options.access = &p->access;
	p->queue_bytes = options->queue_bytes ? options->queue_bytes : PUSH_QUEUE_BYTES;
	p->spool_bytes =
		options->access->spool_bytes ? options->access->spool_bytes : PUSH_SPOOL_BYTES;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&p->lock, NULL);
	err = push_http_new(&p->options, &p->http);
	if (!err)
		err = find_spool(p);
	if (err)
		return err;
	*out = TAKE_PTR(p);
	return 0;
}

/* What became of everything, where that is not what was asked for. */
static void say_end(const struct push *p, u64 late)
{
	const struct push_counts *counts = &p->counts;
	const char *name = p->options.name;

	if (p->spooled.n)
		log_note("--%s: %zu %s left in %s for another run", name, p->spooled.n,
			 pushes(p->spooled.n), p->options.access->spool);
	if (counts->refused)
		log_warn("--%s: the server refused %llu %s", name,
			 (unsigned long long)counts->refused, pushes(counts->refused));
	if (counts->dropped > late)
		log_warn("--%s: %llu %s dropped: %s", name,
			 (unsigned long long)(counts->dropped - late),
			 pushes(counts->dropped - late),
			 *counts->words ? counts->words : "there was no room for them");
	if (late)
		log_warn("--%s: %llu %s dropped at the end: %s; see --push-wait and --spool", name,
			 (unsigned long long)late, pushes(late),
			 counts->failing_since_ns ? counts->words : "there was no more time");
	log_info("--%s: %llu %s sent, %llu done again", name, (unsigned long long)counts->sent,
		 pushes(counts->sent), (unsigned long long)counts->retries);
}

void push_close(struct push *p, u64 wait_ns)
{
	u64 now = push_now(), late;

	if (p->closed)
		return;
	/* What an earlier run has left may find its server now. */
	if (p->spooled.n && wait_ns)
		push_start(p);
	p->closed = true;
	if (!p->started)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	p->deadline_ns = now + wait_ns;
	/* One more try at once, unless the server has asked for a rest. */
	if (p->asked_ns <= now)
		p->failures = 0;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	push_http_wake(p->http);
	pthread_join(p->thread, NULL);
	p->started = false;
	late = p->queued.n;
	p->counts.dropped += late;
	push_list_free(&p->queued);
	say_end(p, late);
}

void push_free(struct push **out)
{
	struct push *p = *out;

	if (!p)
		return;
	*out = NULL;
	if (p->started)
		push_close(p, 0);
	push_list_free(&p->queued);
	push_list_free(&p->spooled);
	push_spool_free(&p->spool);
	push_http_free(&p->http);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
