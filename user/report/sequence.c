/* SPDX-License-Identifier: MIT */
/* Keeps what each run did and walks through all of them in step. See sequence.h. */
#include "sequence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/hash.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "sequence_impl.h"

int sequence_new(struct sequence **out)
{
	CLEANUP(sequence_free) struct sequence *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->store.fd = -1;
	err = strpool_new(&s->texts);
	if (!err)
		err = sequence_store_open(&s->store);
	if (!err)
		err = GROW(s->runs, s->nruns);
	if (err)
		return err;
	s->runs[s->nruns++] = (struct sequence_run){0};
	*out = TAKE_PTR(s);
	return 0;
}

void sequence_free(struct sequence **sequence)
{
	struct sequence *s = *sequence;

	if (!s)
		return;
	for (size_t r = 0; r < s->nruns; r++) {
		for (u32 t = 0; t < s->runs[r].nthreads; t++)
			sequence_chain_free(&s->runs[r].threads[t].chain);
		free(s->runs[r].threads);
	}
	free(s->runs);
	free(s->names);
	intmap_free(&s->serials);
	strpool_free(&s->texts);
	sequence_store_close(&s->store);
	free(s);
	*sequence = NULL;
}

/* --- a run ---------------------------------------------------------------------------------------- */

/* Threads are numbered as they come; a value of the map is a pointer to anything but NULL. */
static u32 number_of(void *value)
{
	return (u32)(uintptr_t)value - 1;
}

static int thread_at(struct sequence *s, const struct model_thread *thread, u32 *out)
{
	struct sequence_run *run = &s->runs[s->nruns - 1];
	void **found = intmap_find(&s->serials, thread->serial);
	struct sequence_thread *added;

	if (found) {
		*out = number_of(*found);
		return 0;
	}
	if (GROW(run->threads, run->nthreads) ||
	    intmap_set(&s->serials, thread->serial, (void *)((uintptr_t)run->nthreads + 1)))
		return -ENOMEM;
	added = &run->threads[run->nthreads];
	*added = (struct sequence_thread){.serial = thread->serial, .tid = thread->tid};
	memcpy(added->comm, thread->comm, MODEL_COMM_LEN);
	*out = run->nthreads++;
	return 0;
}

static u64 hash_of(const struct model_path *path)
{
	const char *name = path->name ? path->name : path->def->name;

	return hash_bytes(path->def->provider, strlen(path->def->provider)) * 31 +
	       hash_bytes(name, strlen(name));
}

static int append(struct sequence *s, const struct model_thread *thread,
		  const struct sequence_record *record)
{
	u32 at = 0;

	/* What goes wrong here is no reason to end the run: sequence_end_run() tells. */
	if (!s->err)
		s->err = thread_at(s, thread, &at);
	if (!s->err)
		s->err = sequence_append(&s->store, &s->runs[s->nruns - 1].threads[at].chain,
					 record);
	return 0;
}

static int take_span(void *context, const struct model_span *span)
{
	const struct sequence_record record = {
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.what = hash_of(span->path),
	};

	/* What is done for an async span are segments. */
	return span->flags & MODEL_ASYNC ? 0 : append(context, span->thread, &record);
}

static int take_event(void *context, const struct model_event *event)
{
	const struct sequence_record record = {
		.start_ns = SEQUENCE_INSTANT,
		.end_ns = event->time_ns,
		.what = hash_of(event->path),
	};

	/* A sum that a program tells belongs to no instant. */
	return event->has_value ? 0 : append(context, event->thread, &record);
}

struct trace_sink sequence_sink(struct sequence *sequence)
{
	return (struct trace_sink){.context = sequence, .span = take_span, .event = take_event};
}

static int compare_by_tid(const void *a, const void *b)
{
	const struct sequence_thread *x = a, *y = b;
	int order = strcmp(x->comm, y->comm);

	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

static int compare_by_place(const void *a, const void *b)
{
	const struct sequence_thread *x = a, *y = b;
	int order = strcmp(x->comm, y->comm);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

int sequence_end_run(struct sequence *s)
{
	struct sequence_run *run = &s->runs[s->nruns - 1];
	int err = s->err;

	for (u32 t = 0; t < run->nthreads && !err; t++)
		err = sequence_close(&s->store, &run->threads[t].chain);
	if (!err)
		err = GROW(s->runs, s->nruns);
	if (err)
		return err;
	/* GROW may have moved it. */
	run = &s->runs[s->nruns - 1];
	if (run->nthreads)
		qsort(run->threads, run->nthreads, sizeof(*run->threads), compare_by_tid);
	for (u32 t = 0; t < run->nthreads; t++) {
		struct sequence_thread *thread = &run->threads[t];

		if (!thread->comm[0])
			thread->place = thread->tid;
		else if (t && !strcmp(thread->comm, run->threads[t - 1].comm))
			thread->place = run->threads[t - 1].place + 1;
	}
	intmap_free(&s->serials);
	s->runs[s->nruns++] = (struct sequence_run){0};
	return 0;
}

/* --- all runs in step ----------------------------------------------------------------------------- */

struct open_span {
	struct sequence_record record;
	u64 number;
};

/* A thread of one run, backwards from instant to instant. */
struct walker {
	struct sequence_cursor cursor;
	struct open_span *open; /* entered from their ends, and not left by their starts yet */
	size_t nopen, room;
};

struct instant {
	u64 time_ns;
	u64 what, parent_what;
	struct stretch_point point;
};

static void walker_free(struct walker *w)
{
	sequence_cursor_free(&w->cursor);
	free(w->open);
}

static bool contains(const struct sequence_record *outer, const struct sequence_record *inner)
{
	u64 start = inner->start_ns == SEQUENCE_INSTANT ? inner->end_ns : inner->start_ns;

	return outer->start_ns <= start && inner->end_ns <= outer->end_ns;
}

static void fill(struct instant *out, enum stretch_kind kind, const struct sequence_record *record,
		 u64 number, u64 time_ns)
{
	*out = (struct instant){
		.time_ns = time_ns,
		.what = record->what,
		.point = {.kind = kind, .record = number},
	};
}

static void set_parent(const struct walker *w, size_t above, struct instant *out)
{
	if (w->nopen <= above)
		return;
	out->parent_what = w->open[w->nopen - 1 - above].record.what;
	out->point.parent = w->open[w->nopen - 1 - above].number;
}

static int walker_room(struct walker *w)
{
	size_t room = w->room ? w->room * 2 : 64;
	void *open;

	if (w->nopen < w->room)
		return 0;
	open = reallocarray(w->open, room, sizeof(*w->open));
	if (!open)
		return -ENOMEM;
	w->open = open;
	w->room = room;
	return 0;
}

/* The instant before. 1, 0 where there is none, or -errno. */
static int walker_step(struct walker *w, struct instant *out)
{
	const struct sequence_record *next;
	int err = sequence_peek(&w->cursor, &next);

	if (err)
		return err;
	if (w->nopen && (!next || !contains(&w->open[w->nopen - 1].record, next))) {
		const struct open_span *left = &w->open[--w->nopen];

		fill(out, STRETCH_START, &left->record, left->number, left->record.start_ns);
		set_parent(w, 0, out);
		return 1;
	}
	if (!next)
		return 0;
	if (next->start_ns == SEQUENCE_INSTANT) {
		fill(out, STRETCH_INSTANT, next, w->cursor.at, next->end_ns);
		set_parent(w, 0, out);
	} else {
		fill(out, STRETCH_END, next, w->cursor.at, next->end_ns);
		if (walker_room(w))
			return -ENOMEM;
		w->open[w->nopen++] = (struct open_span){.record = *next, .number = w->cursor.at};
		set_parent(w, 1, out);
	}
	sequence_take(&w->cursor);
	return 1;
}

/* One thread, in all runs. */
struct comparison {
	struct sequence *s;
	u32 thread; /* of the first run */
	struct walker *walkers;
	struct instant *now, *later; /* of each run */
};

static void comparison_free(struct comparison *c)
{
	for (size_t r = 0; c->walkers && r + 1 < c->s->nruns; r++)
		walker_free(&c->walkers[r]);
	free(c->walkers);
	free(c->now);
	free(c->later);
}

/* 0, -ENOENT where a run does not have the thread, or -ENOMEM. */
static int comparison_start(struct comparison *c)
{
	struct sequence *s = c->s;
	size_t n = s->nruns - 1;
	const struct sequence_thread *thread = &s->runs[0].threads[c->thread];

	c->walkers = calloc(n, sizeof(*c->walkers));
	c->now = calloc(n, sizeof(*c->now));
	c->later = calloc(n, sizeof(*c->later));
	if (!c->walkers || !c->now || !c->later)
		return -ENOMEM;
	for (size_t r = 0; r < n; r++) {
		const struct sequence_thread *same =
			s->runs[r].nthreads
				? bsearch(thread, s->runs[r].threads, s->runs[r].nthreads,
					  sizeof(*same), compare_by_place)
				: NULL;

		if (!same || same->chain.n != thread->chain.n)
			return -ENOENT;
		sequence_cursor_start(&c->walkers[r].cursor, &s->store, &same->chain);
	}
	return 0;
}

/* All runs one instant back. 1; 0 at their starts; -ENOENT where they are not the same; or another -errno. */
static int comparison_step(struct comparison *c)
{
	struct instant *swap = c->later;
	int first = 0;

	c->later = c->now;
	c->now = swap;
	for (size_t r = 0; r + 1 < c->s->nruns; r++) {
		struct instant *now = &c->now[r];
		int found = walker_step(&c->walkers[r], now);

		if (found < 0)
			return found;
		if (!r)
			first = found;
		if (found != first)
			return -ENOENT;
		if (found &&
		    (now->what != c->now[0].what || now->parent_what != c->now[0].parent_what ||
		     now->point.kind != c->now[0].point.kind))
			return -ENOENT;
	}
	return first;
}

static void add_stretch(struct comparison *c)
{
	struct sequence_result *result = &c->s->result;
	const struct stretch stretch = {
		.thread = c->thread,
		.from = c->now[0].point,
		.to = c->later[0].point,
	};
	u64 least = UINT64_MAX, most = 0;

	for (size_t r = 0; r + 1 < c->s->nruns; r++) {
		u64 from = c->now[r].time_ns, to = c->later[r].time_ns;
		u64 duration = to > from ? to - from : 0;

		result->overlaps += to < from;
		least = duration < least ? duration : least;
		most = duration > most ? duration : most;
	}
	result->stretches++;
	extremes_add_small(&result->durations, least, &stretch);
	extremes_add_large(&result->durations, most, &stretch);
	extremes_add_small(&result->variances, most - least, &stretch);
	extremes_add_large(&result->variances, most - least, &stretch);
}

/* From the threads' ends to their starts; what stretches are is only of interest once they are known to be the same. */
static int compare_thread(struct sequence *s, u32 thread, bool add)
{
	CLEANUP(comparison_free) struct comparison c = {.s = s, .thread = thread};
	int err = comparison_start(&c);
	bool any = false;

	while (!err) {
		int found = comparison_step(&c);

		if (found <= 0)
			return found;
		if (any && add)
			add_stretch(&c);
		any = true;
	}
	return err;
}

int sequence_compare(struct sequence *s)
{
	const struct sequence_run *first = &s->runs[0];

	s->result = (struct sequence_result){.threads = first->nthreads};
	for (u32 t = 0; t < first->nthreads; t++) {
		int err = compare_thread(s, t, false);

		if (!err)
			err = compare_thread(s, t, true);
		if (!err)
			s->result.same++;
		else if (err != -ENOENT)
			return err;
	}
	for (size_t r = 1; r + 1 < s->nruns; r++)
		for (u32 t = 0; t < s->runs[r].nthreads; t++)
			s->result.more +=
				!first->nthreads ||
				!bsearch(&s->runs[r].threads[t], first->threads, first->nthreads,
					 sizeof(*first->threads), compare_by_place);
	return 0;
}

const struct sequence_result *sequence_result(const struct sequence *sequence)
{
	return &sequence->result;
}
