/* SPDX-License-Identifier: MIT */
/* See mmprofdata_nest.h. */
#include "mmprofdata_nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/intmap.h"
#include "mmprofdata_order.h"

#define THREADS_MAX 65536u
#define DEEP_MAX    4096u
#define FRAMES_ALL  (1u << 20) /* room on all stacks */
#define RESULT_SIZE 16u        /* u64 self, u32 path and RESULT_BARE, s32 number - place */
#define RESULT_BARE (1u << 31) /* the event's name says nothing more */

/* An interval whose children are being met, the latest first. */
struct mmp_frame {
	u64 start, end;
	u64 low;     /* children cover nothing below, so far */
	u64 covered; /* by children: their union, as siblings may overlap */
	u64 place;   /* of its result; UINT64_MAX: it has none */
	u64 number;  /* where it stands in the file */
	u32 bare;    /* RESULT_BARE or 0 */
	bool told;   /* the file says its self time */
	u64 self;    /* … which is this */
	const struct model_path *path;
};

struct mmp_stack {
	struct mmp_frame *frames; /* the first is the thread itself */
	u32 n, room;
	u64 latest; /* end of the event met last */
};

#define RECENT 64u /* threads that are found without a table, by id */

/* A step from a path to one below it that was made lately: most events make one of a few. */
#define STEPS 1024u
struct mmp_step {
	const struct model_path *parent, *path; /* PATH NULL: empty */
	u32 def;
};

struct mmp_nest {
	struct mmp_file *file;
	struct mmp_names *names;
	struct trace *trace;
	struct blockcache *results;
	const struct model_path **paths; /* by id */
	u32 npaths;
	struct mmp_step steps[STEPS];
	struct intmap by_id;
	u32 recent[RECENT]; /* place in threads + 1 of one with such an id; 0: none */
	struct mmp_thread *threads;
	size_t nthreads;
	u32 frames_left;
	struct mmp_nest_counts counts;
};

int mmp_nest_new(struct mmp_file *file, struct mmp_names *names, struct trace *trace,
		 struct mmp_nest **out)
{
	struct mmp_nest *nest = calloc(1, sizeof(*nest));
	int err;

	if (!nest)
		return -ENOMEM;
	nest->file = file;
	nest->names = names;
	nest->trace = trace;
	err = blockcache_new(NULL, NULL, &nest->results);
	if (err) {
		free(nest);
		return err;
	}
	*out = nest;
	return 0;
}

static void forget_threads(struct mmp_nest *nest)
{
	size_t i;

	for (i = 0; i < nest->nthreads; i++) {
		if (nest->threads[i].stack)
			free(nest->threads[i].stack->frames);
		free(nest->threads[i].stack);
	}
	free(nest->threads);
	nest->threads = NULL;
	nest->nthreads = 0;
	memset(nest->recent, 0, sizeof(nest->recent));
	intmap_free(&nest->by_id);
	nest->by_id = (struct intmap){0};
	nest->counts = (struct mmp_nest_counts){0};
	nest->frames_left = FRAMES_ALL;
}

void mmp_nest_free(struct mmp_nest **out)
{
	struct mmp_nest *nest = *out;

	if (!nest)
		return;
	*out = NULL;
	forget_threads(nest);
	blockcache_free(&nest->results);
	free((void *)nest->paths);
	free(nest);
}

void mmp_nest_counts(const struct mmp_nest *nest, struct mmp_nest_counts *out)
{
	*out = nest->counts;
}

/* --- results --------------------------------------------------------------------------------------- */

struct result {
	u64 self;
	u32 path; /* and RESULT_BARE */
	s32 shift;
};

_Static_assert(sizeof(struct result) == RESULT_SIZE, "scratch layout");
_Static_assert(PATHS_MAX < RESULT_BARE, "a path's id leaves the bit free");

static int put_result(struct mmp_nest *nest, u64 place, u64 number, u64 self, u32 path)
{
	const struct result result = {
		.self = self,
		.path = path,
		.shift = (s32)((s64)number - (s64)place),
	};

	return blockcache_write(nest->results, place * RESULT_SIZE, &result, sizeof(result));
}

static int know_path(struct mmp_nest *nest, const struct model_path *path)
{
	while (path->id >= nest->npaths) {
		int err = GROW(nest->paths, nest->npaths);

		if (err)
			return err;
		nest->paths[nest->npaths++] = NULL;
	}
	nest->paths[path->id] = path;
	return 0;
}

/* PATH is NULL: it is no span or event. */
static int set_result(struct mmp_nest *nest, u64 place, u64 number, u64 self,
		      const struct model_path *path)
{
	int err = path ? know_path(nest, path) : 0;

	return err ? err : put_result(nest, place, number, self, path ? path->id : 0);
}

int mmp_nest_get(struct mmp_nest *nest, u64 at, struct mmp_nested *out)
{
	struct result result;
	int err = blockcache_read(nest->results, at * RESULT_SIZE, &result, sizeof(result));
	u32 path;

	if (err)
		return err;
	path = result.path & ~RESULT_BARE;
	out->number = at + (u64)(s64)result.shift;
	out->self_ns = result.self;
	out->bare = result.path & RESULT_BARE;
	out->path = path < nest->npaths ? nest->paths[path] : NULL;
	err = mmp_file_event(nest->file, out->number, &out->event);
	out->thread = !err && out->path && mmp_is_interval(&out->event)
			      ? mmp_nest_thread(nest, out->event.thread)
			      : NULL;
	return err;
}

/* --- threads --------------------------------------------------------------------------------------- */

struct mmp_thread *mmp_nest_thread(const struct mmp_nest *nest, u32 id)
{
	u32 recent = nest->recent[id % RECENT];
	void **found;

	if (recent && nest->threads[recent - 1].id == id)
		return &nest->threads[recent - 1];
	found = intmap_find(&nest->by_id, id);
	return found ? &nest->threads[(uintptr_t)*found - 1] : NULL;
}

struct mmp_thread *mmp_nest_threads(const struct mmp_nest *nest, size_t *n)
{
	*n = nest->nthreads;
	return nest->threads;
}

/* The thread, made if it is new; *OUT is NULL when there are too many. */
static int thread_of(struct mmp_nest *nest, u32 id, struct mmp_thread **out)
{
	struct mmp_thread *thread = mmp_nest_thread(nest, id);
	int err;

	*out = thread;
	if (thread)
		return 0;
	if (nest->nthreads == THREADS_MAX) {
		nest->counts.no_thread++;
		return 0;
	}
	err = GROW(nest->threads, nest->nthreads);
	if (!err)
		err = intmap_set(&nest->by_id, id, (void *)(nest->nthreads + 1));
	if (err)
		return err;
	thread = &nest->threads[nest->nthreads++];
	nest->recent[id % RECENT] = (u32)nest->nthreads;
	*thread = (struct mmp_thread){.id = id, .tid = id};
	thread->stack = calloc(1, sizeof(*thread->stack));
	if (!thread->stack)
		return -ENOMEM;
	thread->stack->latest = UINT64_MAX;
	*out = thread;
	return 0;
}

/* The file names a thread more than once, and the last time counts: that is met first. */
static int take_thread(struct mmp_nest *nest, const struct mmp_event *event,
		       const struct mmp_name *name)
{
	struct mmp_thread *thread;
	int err = thread_of(nest, event->thread, &thread);

	if (err || !thread)
		return err;
	if (!thread->named) {
		thread->named = true;
		thread->pid = name->pid;
		thread->tid = name->tid;
		memcpy(thread->comm, name->comm, sizeof(thread->comm));
	}
	if (!thread->told && name->has & MMP_HAS_TIMES) {
		thread->told = true;
		thread->start_ns = name->start_ns;
		thread->end_ns = name->end_ns;
		thread->inside_ns = name->inside_ns;
	}
	return 0;
}

/* --- stacks ---------------------------------------------------------------------------------------- */

/* Makes room for one more frame. -ENOSPC: too deep. */
static int stack_room(struct mmp_nest *nest, struct mmp_stack *stack)
{
	u32 room = stack->room ? stack->room * 2 : 8;
	struct mmp_frame *frames;

	if (stack->n < stack->room)
		return 0;
	if (room > DEEP_MAX || room - stack->room > nest->frames_left)
		return -ENOSPC;
	frames = reallocarray(stack->frames, room, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	nest->frames_left -= room - stack->room;
	stack->frames = frames;
	stack->room = room;
	return 0;
}

/* All children of the topmost frame were met. */
static int stack_pop(struct mmp_nest *nest, struct mmp_stack *stack)
{
	const struct mmp_frame *frame = &stack->frames[--stack->n];

	if (frame->place == UINT64_MAX)
		return 0;
	return put_result(nest, frame->place, frame->number,
			  frame->told ? frame->self : frame->end - frame->start - frame->covered,
			  frame->path->id | frame->bare);
}

static int stack_pop_to(struct mmp_nest *nest, struct mmp_stack *stack, u32 n)
{
	int err = 0;

	while (!err && stack->n > n)
		err = stack_pop(nest, stack);
	return err;
}

/* Takes the child's time from its parent. Children come by falling ends, so what they cover is in one piece upwards of
 * LOW as far as this child is concerned. */
static void frame_cover(struct mmp_frame *frame, u64 start, u64 end)
{
	if (start >= frame->low)
		return;
	frame->covered += (end < frame->low ? end : frame->low) - start;
	frame->low = start;
}

static const struct model_path *path_under(struct mmp_nest *nest, const struct model_path *parent,
					   u32 def)
{
	u32 place = ((parent ? parent->id : 0) * 31 + def) * 0x9e3779b1u >> 22;
	struct mmp_step *step = &nest->steps[place];
	const struct model_path *path;
	bool full = false;

	_Static_assert(STEPS == 1u << 10, "as many bits as are left of 32");
	if (step->path && step->parent == parent && step->def == def)
		return step->path;
	path = trace_add_path(nest->trace, parent, def, NULL, &full);
	nest->counts.paths_full += full;
	if (!full)
		*step = (struct mmp_step){.parent = parent, .path = path, .def = def};
	return path;
}

/* Puts the interval where it belongs on its thread's stack. */
static int nest_interval(struct mmp_nest *nest, struct mmp_thread *thread, u64 place,
			 const struct mmp_ordered *item, const struct mmp_name *name)
{
	struct mmp_stack *stack = thread->stack;
	u64 start = item->event.value1, end = item->event.value2;
	u64 self = name->has & MMP_HAS_SELF ? name->self_ns : end - start;
	const struct model_path *parent, *path;
	struct mmp_frame *top;
	int err;

	if (!stack->n) {
		err = stack_room(nest, stack);
		if (err)
			return err == -ENOSPC ? -ENOMEM : err;
		stack->frames[stack->n++] = (struct mmp_frame){
			.end = UINT64_MAX, .low = UINT64_MAX, .place = UINT64_MAX};
	}
	for (top = &stack->frames[stack->n - 1]; start < top->start || end > top->end; top--) {
		err = stack_pop(nest, stack);
		if (err)
			return err;
	}
	frame_cover(top, start, end);
	parent = name->has_under || name->type == MMP_SEGMENT ? name->under : top->path;
	path = path_under(nest, parent, name->def);
	if (!path)
		return -ENOMEM;
	/* One that names its path has no length, and nothing within. */
	if (name->has_under && name->type == MMP_PLAIN)
		return set_result(nest, place, item->number, self, path);
	err = stack_room(nest, stack);
	if (err == -ENOSPC) {
		nest->counts.too_deep++;
		return set_result(nest, place, item->number, self, path);
	}
	if (!err)
		err = know_path(nest, path);
	if (err)
		return err;
	stack->frames[stack->n++] = (struct mmp_frame){
		.start = start,
		.end = end,
		.low = UINT64_MAX,
		.place = place,
		.number = item->number,
		.bare = name->bare ? RESULT_BARE : 0,
		.told = name->has & MMP_HAS_SELF,
		.self = self,
		.path = path,
	};
	return 0;
}

/* --- the walk -------------------------------------------------------------------------------------- */

static int nest_event(struct mmp_nest *nest, struct mmp_thread *thread, u64 place,
		      const struct mmp_ordered *item, const struct mmp_name *name)
{
	const struct mmp_stack *stack = thread->stack;
	const struct model_path *parent = NULL, *path;
	u64 time = item->event.value1;
	u32 i;

	if (item->is_value)
		return set_result(nest, place, item->number, 0, NULL);
	for (i = stack->n; item->event.value2 == MMP_INSTANT && i-- > 0;)
		if (stack->frames[i].start <= time && time <= stack->frames[i].end) {
			parent = stack->frames[i].path;
			break;
		}
	path = path_under(nest, parent, name->def);
	return path ? set_result(nest, place, item->number, 0, path) : -ENOMEM;
}

/* Whether the event is behind one that was met before it. Integer events have no time. */
static bool is_out_of_order(struct mmp_stack *stack, const struct mmp_ordered *item)
{
	bool out = item->event.value2 != MMP_INTEGER && item->key > stack->latest;

	if (item->event.value2 != MMP_INTEGER && !out)
		stack->latest = item->key;
	return out;
}

static void thread_lives(struct mmp_thread *thread, u64 start, u64 end)
{
	if (thread->told)
		return;
	if (!thread->spans || start < thread->start_ns)
		thread->start_ns = start;
	if (!thread->spans || end > thread->end_ns)
		thread->end_ns = end;
	thread->spans = true;
}

/* -ESTALE: the file must be sorted. */
static int walk_one(struct mmp_nest *nest, bool sorted, const struct mmp_ordered *item, u64 place)
{
	const struct mmp_event *event = &item->event;
	bool interval = mmp_is_interval(event);
	const struct mmp_name *name;
	struct mmp_thread *thread;
	u32 id;
	int err = mmp_names_of(nest->names, event, &name);

	if (err)
		return err;
	if (interval && event->value1 > event->value2) {
		nest->counts.backwards++;
		return set_result(nest, place, item->number, 0, NULL);
	}
	if (event->value2 != MMP_INTEGER && item->key > nest->counts.latest_ns)
		nest->counts.latest_ns = item->key;
	if (name->type == MMP_THREAD) {
		err = take_thread(nest, event, name);
		return err ? err : set_result(nest, place, item->number, 0, NULL);
	}
	id = name->has & MMP_HAS_THREAD ? name->thread : event->thread;
	err = thread_of(nest, id, &thread);
	if (err || !thread)
		return err ? err : set_result(nest, place, item->number, 0, NULL);
	if (name->type == MMP_ASYNC || name->has & MMP_HAS_THREAD) { /* on a lane */
		const struct model_path *path = path_under(nest, name->under, name->def);

		return path ? set_result(nest, place, item->number, name->self_ns, path) : -ENOMEM;
	}
	if (is_out_of_order(thread->stack, item)) {
		if (!sorted)
			return -ESTALE;
		nest->counts.out_of_order++;
	}
	if (!interval)
		return nest_event(nest, thread, place, item, name);
	thread_lives(thread, event->value1, event->value2);
	return nest_interval(nest, thread, place, item, name);
}

/* Settles what is still on the stacks: the frames, and the thread's time inside any of them. */
static int walk_finish(struct mmp_nest *nest)
{
	size_t i;

	for (i = 0; i < nest->nthreads; i++) {
		struct mmp_thread *thread = &nest->threads[i];
		struct mmp_stack *stack = thread->stack;
		int err = stack_pop_to(nest, stack, stack->n ? 1 : 0);

		if (err)
			return err;
		thread->serial = (u32)(nest->nthreads - i); /* in the order of the file */
		if (stack->n && !thread->told)
			thread->inside_ns = stack->frames[0].covered;
	}
	return 0;
}

static int walk(struct mmp_nest *nest, bool sorted)
{
	CLEANUP(mmp_order_free) struct mmp_order *order = NULL;
	const struct mmp_ordered *items = NULL;
	u64 place = nest->file->nevents;
	u32 n = 0, i;
	int err = mmp_order_new(nest->file, sorted, &order);

	forget_threads(nest);
	while (!err) {
		err = mmp_order_next(order, &items, &n);
		if (err <= 0)
			break;
		for (i = 0, err = 0; i < n && !err; i++)
			err = walk_one(nest, sorted, &items[i], --place);
	}
	return err ? err : walk_finish(nest);
}

int mmp_nest_walk(struct mmp_nest *nest)
{
	int err = walk(nest, false);

	return err == -ESTALE ? walk(nest, true) : err;
}
