/* SPDX-License-Identifier: MIT */
/* The thread that delivers: takes the oldest, sends it, and judges what comes back. Neither a file nor the network is
 * waited for with the lock held. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../exporters/gzip.h"
#include "../util/log.h"
#include "push_impl.h"
#include "push_retry.h"

#define RETRY_MIN_NS (PUSH_SECOND / 2)
#define RETRY_MAX_NS (60 * PUSH_SECOND)

/* Each is called without the lock, and says what happens for the first time, or again after it was over. */

static void say_refused(struct push *p, const struct push_answer *answer)
{
	size_t i;

	for (i = 0; i < p->nsaid; i++)
		if (p->said[i] == answer->status)
			return;
	if (p->nsaid < PUSH_SAID_MAX)
		p->said[p->nsaid++] = answer->status;
	log_error("--%s: %s does not take it, and is not asked again: %s", p->options.name,
		  p->options.url, answer->words);
}

static void say_outcome(struct push *p, enum push_outcome outcome, const struct push_answer *answer)
{
	u64 since = p->counts.failing_since_ns;

	if (outcome == PUSH_STOPPED)
		return;
	if (outcome == PUSH_LATER && !since)
		log_warn("--%s: %s: %s; it is tried again, and what comes waits %s",
			 p->options.name, p->options.url, answer->words,
			 p->spool ? "in the spool" : "in memory");
	if (outcome != PUSH_LATER && since)
		log_note("--%s: %s answers again after %llu s", p->options.name, p->options.url,
			 (unsigned long long)((push_now() - since) / PUSH_SECOND));
	if (outcome == PUSH_REFUSED)
		say_refused(p, answer);
}

/* How much of a push that was taken was not. */
static u64 count_left_out(struct push *p, const struct push_answer *answer)
{
	char why[200] = "";
	u64 out = 0;

	if (p->options.left_out && answer->body.len)
		out = p->options.left_out(answer->body.data, answer->body.len, why, sizeof(why));
	if (out && !p->counts.left_out)
		log_error("--%s: %s leaves out a part of what it gets: %s", p->options.name,
			  p->options.url, why);
	return out;
}

/* ITEM, which is in no list now, counts in its place. NULL: none. */
static void set_current(struct push *p, const struct push_item *item)
{
	p->current = (struct push_counts){0};
	if (!item)
		return;
	p->current.queued = !item->spooled;
	p->current.queued_bytes = item->spooled ? 0 : item->len;
	p->current.spooled = item->spooled;
	p->current.spooled_bytes = item->spooled ? item->len : 0;
}

/* Moves what is in memory to the spool. With the lock held, which is given back meanwhile. */
static void spool_queued(struct push *p)
{
	struct push_item *item, *out;

	while (p->spool && (item = push_list_take(&p->queued))) {
		int err;

		set_current(p, item);
		out = push_make_room(p, &p->spooled, p->spool_bytes, push_spool_size(item));
		pthread_mutex_unlock(&p->lock);
		push_forget(p, out);
		err = push_spool_put(p->spool, item);
		if (err && !p->said_spool)
			log_error("--spool %s: %s; pushes stay in memory", p->options.access->spool,
				  strerror(-err));
		pthread_mutex_lock(&p->lock);
		set_current(p, NULL);
		if (!err) {
			push_list_add(&p->spooled, item);
			continue;
		}
		p->said_spool = true;
		push_list_add_first(&p->queued, item);
		return;
	}
}

static u64 until(void *context)
{
	struct push *p = context;
	u64 ns;

	pthread_mutex_lock(&p->lock);
	ns = p->ending ? p->deadline_ns : UINT64_MAX;
	pthread_mutex_unlock(&p->lock);
	return ns;
}

/* What is to be sent of ITEM, into COPY where it is in the spool. 0 or -errno. */
static int load(struct push *p, struct push_item *item, struct push_item *copy)
{
	AUTO_TEXT packed = {0};
	int err;

	if (item->spooled)
		return push_spool_get(p->spool, item, copy);
	if (!p->options.gzip || item->gzip)
		return 0;
	err = gzip_add(&packed, item->body.data ? item->body.data : "", item->body.len);
	if (err)
		return err;
	text_buf_free(&item->body);
	item->body = packed;
	item->len = packed.len;
	item->gzip = true;
	packed = (struct text_buf){0};
	return 0;
}

static void set_retry(struct push *p, const struct push_answer *answer)
{
	u64 min = p->options.retry_min_ns ? p->options.retry_min_ns : RETRY_MIN_NS;
	u64 max = p->options.retry_max_ns ? p->options.retry_max_ns : RETRY_MAX_NS;
	u64 now = push_now();
	u32 random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (u32)now;
	p->counts.retries++;
	p->failures++;
	p->next_ns = now + push_retry_ns(p->failures, min, max, random);
	p->asked_ns = answer->retry_after_ns ? now + answer->retry_after_ns : 0;
	if (p->asked_ns > p->next_ns)
		p->next_ns = p->asked_ns;
	if (!p->counts.failing_since_ns)
		p->counts.failing_since_ns = now;
}

/* With the lock held. True: ITEM is not needed any more; else it is in its list again. */
static bool settle(struct push *p, struct push_item *item, enum push_outcome outcome,
		   const struct push_answer *answer)
{
	struct push_list *list = item->spooled ? &p->spooled : &p->queued;

	p->counts.status = answer->status;
	if (outcome == PUSH_LATER || outcome == PUSH_REFUSED)
		memcpy(p->counts.words, answer->words, sizeof(p->counts.words));
	if (outcome == PUSH_LATER)
		set_retry(p, answer);
	if (outcome == PUSH_LATER && answer->status >= 500) {
		/* One that the server stumbles over does not keep it from the others. */
		push_list_add(list, item);
		return false;
	}
	if (outcome == PUSH_LATER || outcome == PUSH_STOPPED) {
		push_list_add_first(list, item);
		return false;
	}
	p->counts.sent += outcome == PUSH_TAKEN;
	p->counts.refused += outcome == PUSH_REFUSED;
	p->counts.failing_since_ns = 0;
	p->failures = 0;
	p->asked_ns = 0;
	p->said_drop = p->said_spool = false;
	return true;
}

/* Sends what LOADED holds of an item. Without the lock. */
static enum push_outcome send_item(struct push *p, const struct push_item *loaded,
				   struct push_answer *answer, u64 *left_out)
{
	struct push_request request = {
		.path = loaded->path,
		.type = loaded->type,
		.gzip = loaded->gzip,
		.body = loaded->body.data ? loaded->body.data : "",
		.len = loaded->body.len,
		.until = until,
		.context = p,
	};
	enum push_outcome outcome = push_http_post(p->http, &request, answer);

	say_outcome(p, outcome, answer);
	*left_out = outcome == PUSH_TAKEN ? count_left_out(p, answer) : 0;
	return outcome;
}

/* What cannot be read cannot be sent, now or later. Without the lock. */
static void say_lost(struct push *p, int err)
{
	log_error("--spool %s: a push %s; it is dropped", p->options.access->spool,
		  err == -EBADMSG ? "is damaged" : strerror(-err));
}

/* With the lock held, which is given back meanwhile. */
static void deliver(struct push *p, struct push_item *item, struct push_answer *answer)
{
	struct push_item copy = {0};
	const struct push_item *loaded = item->spooled ? &copy : item;
	enum push_outcome outcome = PUSH_LATER;
	u64 left_out = 0;
	bool done, lost;
	int err;

	set_current(p, item);
	pthread_mutex_unlock(&p->lock);
	err = load(p, item, &copy);
	lost = err && item->spooled && err != -ENOMEM;
	if (!err) {
		outcome = send_item(p, loaded, answer, &left_out);
	} else if (lost) {
		say_lost(p, err);
	} else {
		answer->status = 0;
		answer->retry_after_ns = 0;
		snprintf(answer->words, sizeof(answer->words), "%s", strerror(-err));
	}
	pthread_mutex_lock(&p->lock);
	set_current(p, NULL);
	p->counts.left_out += left_out;
	p->counts.dropped += lost;
	if (outcome == PUSH_TAKEN)
		p->counts.sent_bytes += loaded->body.len;
	done = lost || settle(p, item, outcome, answer);
	pthread_mutex_unlock(&p->lock);
	if (done) {
		item->next = NULL;
		push_forget(p, item);
	}
	free(copy.path);
	free(copy.type);
	text_buf_free(&copy.body);
	pthread_mutex_lock(&p->lock);
}

/* Whether the thread is to end: nothing is left, or nothing more can be done in time. */
static bool is_over(const struct push *p)
{
	u64 now;

	if (!p->ending)
		return false;
	if (!p->queued.n && !p->spooled.n)
		return true;
	now = push_now();
	/* With a spool the next run can do it as well. */
	return now >= p->deadline_ns || (p->failures && (p->spool || p->next_ns >= p->deadline_ns));
}

static void wait_for_more(struct push *p)
{
	u64 until_ns = p->failures ? p->next_ns : 0;
	struct timespec at;

	if (!p->queued.n && !p->spooled.n)
		until_ns = 0;
	if (!until_ns) {
		pthread_cond_wait(&p->changed, &p->lock);
		return;
	}
	at.tv_sec = (time_t)(until_ns / PUSH_SECOND);
	at.tv_nsec = (long)(until_ns % PUSH_SECOND);
	pthread_cond_timedwait(&p->changed, &p->lock, &at);
}

/* Says it when something has been pushed out. With the lock held, which is given back meanwhile. */
static void say_dropped(struct push *p)
{
	if (p->pushed_out == p->known_out)
		return;
	p->known_out = p->pushed_out;
	if (p->said_drop)
		return;
	p->said_drop = true;
	pthread_mutex_unlock(&p->lock);
	log_warn("--%s: there is no more room %s; the oldest pushes are dropped from now on",
		 p->options.name,
		 p->spool ? "in the spool: see --spool-size" : "in memory: see --spool");
	pthread_mutex_lock(&p->lock);
}

void *push_run(void *context)
{
	struct push *p = context;
	struct push_answer answer = {0};
	struct push_item *item;

	pthread_mutex_lock(&p->lock);
	while (!is_over(p)) {
		if (p->failures)
			spool_queued(p);
		say_dropped(p);
		item = NULL;
		if (!p->failures || push_now() >= p->next_ns)
			item = p->spooled.n ? push_list_take(&p->spooled)
					    : push_list_take(&p->queued);
		if (item)
			deliver(p, item, &answer);
		else
			wait_for_more(p);
	}
	spool_queued(p);
	say_dropped(p);
	pthread_mutex_unlock(&p->lock);
	text_buf_free(&answer.body);
	return NULL;
}
