/* SPDX-License-Identifier: MIT */
/* Items of SPANS blocks, from numbers to single spans and events: the hot path of reading a recording, and the half of
 * it that waits for memory. See recording_read.h. */
#include <errno.h>
#include <string.h>

#include "recording_read.h"

/* So many items before a span is taken, its row is asked for. */
#define EXPECT 7

/* Items as they are taken. */
struct spans {
	struct recording_reader *r;
	const u64 *words; /* of the item at hand */
	u64 unknown;
	struct model_span span;
};

/* The items to come are another thread's. */
static int spans_turn(struct spans *s, u32 number)
{
	struct recording_reader *r = s->r;
	struct recording_thread *thread = recording_name(&r->names.threads, number);
	int err;

	r->on = NULL;
	r->on_left_out = false;
	if (!thread)
		return 0;
	err = recording_use_thread(r, thread, &r->on);
	r->on_left_out = !r->on;
	return err;
}

static bool spans_labels(struct spans *s, struct model_label labels[MODEL_MAX_LABELS], u32 *n)
{
	const u64 *words = s->words;
	u32 count = words[0] & 7, i;
	const struct recording_label_set *set = recording_name(&s->r->names.labels, words[0] >> 3);

	s->words += 1 + count;
	*n = set ? set->n : 0;
	if (!set)
		return true;
	if (set->n != count)
		return false;
	for (i = 0; i < count; i++) {
		labels[i] = (struct model_label){.key = set->keys[i]};
		if (set->texts >> i & 1)
			labels[i].text = recording_name(&s->r->names.texts, words[1 + i]);
		else
			labels[i].number = varint_unzigzag(words[1 + i]);
		if (set->texts >> i & 1 && !labels[i].text)
			labels[i].text = "<lost>";
	}
	return true;
}

static u64 at_most(u64 value, u64 limit)
{
	return value < limit ? value : limit;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static void spans_counters(struct spans *s)
{
	struct model_span *span = &s->span;
	const u64 *counters = s->words;

	s->words += RECORDING_COUNTERS;
	span->total = (struct model_counters){
		.cpu_ns = span->busy_ns - at_most(counters[RECORDING_OFF_NS], span->busy_ns),
		.run_delay_ns = counters[RECORDING_RUN_DELAY_NS],
		.vol_switches = counters[RECORDING_VOL_SWITCHES],
		.invol_switches = counters[RECORDING_INVOL_SWITCHES],
		.minor_faults = counters[RECORDING_MINOR_FAULTS],
		.major_faults = counters[RECORDING_MAJOR_FAULTS],
	};
	span->alloc = (struct model_alloc){
		.objects = counters[RECORDING_ALLOC_OBJECTS],
		.bytes = counters[RECORDING_ALLOC_BYTES],
	};
	span->self_alloc = (struct model_alloc){
		.objects = minus(span->alloc.objects, counters[RECORDING_INNER_ALLOC_OBJECTS]),
		.bytes = minus(span->alloc.bytes, counters[RECORDING_INNER_ALLOC_BYTES]),
	};
	span->self_cpu_ns = span->self_ns - at_most(counters[RECORDING_SELF_OFF_NS], span->self_ns);
	span->total.cpu_system_ns = at_most(counters[RECORDING_SYSTEM_NS], span->total.cpu_ns);
	span->self_cpu_system_ns = at_most(counters[RECORDING_SELF_SYSTEM_NS], span->self_cpu_ns);
	span->self_run_delay_ns = counters[RECORDING_SELF_RUN_DELAY_NS];
	span->parent_id = counters[RECORDING_PARENT_ID];
}

static u32 span_flags(u8 tag)
{
	u32 kind = tag & RECORDING_KIND;

	return (tag & RECORDING_ABANDONED ? MODEL_ABANDONED : 0) |
	       (tag & RECORDING_OPEN ? MODEL_OPEN : 0) |
	       (kind == RECORDING_ASYNC ? MODEL_ASYNC : 0) |
	       (kind == RECORDING_SEGMENT ? MODEL_SEGMENT : 0);
}

/* Whether an item on PATH can be taken; counts those whose names are not known. */
static bool spans_known(struct spans *s, const struct model_path *path)
{
	if (s->r->on_left_out)
		return false;
	if (s->r->on && path)
		return true;
	s->unknown++;
	return false;
}

static int spans_span(struct spans *s, const struct recording_item *item)
{
	struct model_span *span = &s->span;
	u32 kind = item->tag & RECORDING_KIND;
	u64 wall = kind == RECORDING_ASYNC ? *s->words++ : item->busy_ns;

	span->path = recording_name(&s->r->names.paths, item->number);
	span->flags = span_flags(item->tag);
	span->id = kind == RECORDING_SPAN ? 0 : *s->words++;
	span->busy_ns = item->busy_ns;
	span->self_ns = item->self_ns;
	if (item->tag & RECORDING_COUNTED) {
		spans_counters(s);
	} else {
		span->total = (struct model_counters){.cpu_ns = span->busy_ns};
		span->self_cpu_ns = span->self_ns;
		span->self_cpu_system_ns = 0;
		span->self_run_delay_ns = 0;
		span->alloc = span->self_alloc = (struct model_alloc){0};
		span->parent_id = 0;
	}
	span->nlabels = 0;
	if (item->tag & RECORDING_LABELLED && !spans_labels(s, span->labels, &span->nlabels))
		return -EBADMSG;
	if (!spans_known(s, span->path))
		return 0;
	span->thread = s->r->on;
	span->end_ns = item->end_ns;
	span->start_ns = item->end_ns - wall; /* replay_take_span() sees when it wraps */
	replay_take_span(s->r->replay, span);
	return 0;
}

static int spans_event(struct spans *s, const struct recording_item *item)
{
	struct model_event event = {
		.path = recording_name(&s->r->names.paths, item->number),
		.thread = s->r->on,
		.time_ns = item->end_ns,
		.has_value = item->tag & RECORDING_VALUE,
	};

	if (event.has_value)
		event.value = varint_unzigzag(item->busy_ns);
	if (item->tag & RECORDING_LABELLED && !spans_labels(s, event.labels, &event.nlabels))
		return -EBADMSG;
	if (spans_known(s, event.path))
		replay_take_event(s->r->replay, &event);
	return 0;
}

/* Rows are more than the caches near the processor hold, and which ones come is known here: by the time that a span is
 * taken its row has come. */
static void spans_expect(const struct spans *s, const struct recording_items *items, u32 at)
{
	const struct model_path *path;

	if (!s->r->on || at + EXPECT >= items->n)
		return;
	path = recording_name(&s->r->names.paths, items->items[at + EXPECT].number);
	if (path)
		trace_expect_span(s->r->on, path);
}

int recording_take_items(struct recording_reader *r, const struct recording_items *items)
{
	struct spans s = {.r = r, .words = items->words};
	int err = 0;
	u32 i;

	for (i = 0; i < items->n && !err; i++) {
		const struct recording_item *item = &items->items[i];

		spans_expect(&s, items, i);
		switch (item->tag & RECORDING_KIND) {
		case RECORDING_ON:
			err = spans_turn(&s, item->number);
			break;
		case RECORDING_EVENT:
			err = spans_event(&s, item);
			break;
		default:
			err = spans_span(&s, item);
		}
	}
	r->replay->own[REPLAY_UNKNOWN_NAMES] += s.unknown;
	return err;
}
