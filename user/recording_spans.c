/* SPDX-License-Identifier: MIT */
/* SPANS blocks of a recording, the hot path of reading one. See recording_read.h. */
#include <errno.h>
#include <string.h>

#include "recording_read.h"

/* A block as it is read. */
struct spans {
	struct recording_reader *r;
	struct recording_bytes bytes;
	u64 last_end_ns;                   /* of the item before */
	const struct model_thread *thread; /* whose the items are */
	bool left_out;                     /* the filter does not want that thread */
	u64 unknown;
	struct model_span span;
};

/* The items to come are another thread's. */
static int spans_turn(struct spans *s)
{
	struct recording_thread *thread;
	u32 number;
	int err;

	if (!bytes_get_u32(&s->bytes, &number))
		return -EBADMSG;
	s->thread = NULL;
	s->left_out = false;
	thread = recording_name(&s->r->names.threads, number);
	if (!thread)
		return 0;
	err = recording_use_thread(s->r, thread, &s->thread);
	s->left_out = !s->thread;
	return err;
}

/* Path and end, which every item begins with; *PATH is NULL when it is not known. */
static bool spans_begin_item(struct spans *s, const struct model_path **path)
{
	u64 ref, delta;

	if (!bytes_get(&s->bytes, &ref) || !bytes_get(&s->bytes, &delta))
		return false;
	*path = recording_name(&s->r->names.paths, ref);
	s->last_end_ns += (u64)varint_unzigzag(delta);
	return true;
}

static bool spans_labels(struct spans *s, struct model_label labels[MODEL_MAX_LABELS], u32 *n)
{
	const struct recording_label_set *set;
	u64 value, count;
	u32 i;

	if (!bytes_get(&s->bytes, &value))
		return false;
	set = recording_name(&s->r->names.labels, value >> 3);
	count = value & 7;
	if (count > MODEL_MAX_LABELS || (set && set->n != count))
		return false;
	for (i = 0; i < count; i++) {
		if (!bytes_get(&s->bytes, &value))
			return false;
		if (!set)
			continue;
		labels[i] = (struct model_label){.key = set->keys[i]};
		if (set->texts >> i & 1)
			labels[i].text = recording_name(&s->r->names.texts, value);
		else
			labels[i].number = varint_unzigzag(value);
		if (set->texts >> i & 1 && !labels[i].text)
			labels[i].text = "<lost>";
	}
	*n = set ? set->n : 0;
	return true;
}

static u64 at_most(u64 value, u64 limit)
{
	return value < limit ? value : limit;
}

static bool spans_counters(struct spans *s)
{
	u64 counters[RECORDING_COUNTERS] = {0}, mask, value;
	struct model_span *span = &s->span;
	int i;

	if (!bytes_get(&s->bytes, &mask))
		return false;
	for (i = 0; mask; i++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		if (!bytes_get(&s->bytes, &value))
			return false;
		if (i < RECORDING_COUNTERS)
			counters[i] = value;
	}
	span->total = (struct model_counters){
		.cpu_ns = span->busy_ns - at_most(counters[RECORDING_OFF_NS], span->busy_ns),
		.run_delay_ns = counters[RECORDING_RUN_DELAY_NS],
		.vol_switches = counters[RECORDING_VOL_SWITCHES],
		.invol_switches = counters[RECORDING_INVOL_SWITCHES],
		.minor_faults = counters[RECORDING_MINOR_FAULTS],
		.major_faults = counters[RECORDING_MAJOR_FAULTS],
	};
	span->self_cpu_ns = span->self_ns - at_most(counters[RECORDING_SELF_OFF_NS], span->self_ns);
	span->total.cpu_system_ns = at_most(counters[RECORDING_SYSTEM_NS], span->total.cpu_ns);
	span->self_cpu_system_ns = at_most(counters[RECORDING_SELF_SYSTEM_NS], span->self_cpu_ns);
	span->self_run_delay_ns = counters[RECORDING_SELF_RUN_DELAY_NS];
	return true;
}

static int spans_span(struct spans *s, u8 tag)
{
	struct model_span *span = &s->span;
	u32 kind = tag & RECORDING_KIND;
	u64 wall = 0;

	if (!spans_begin_item(s, &span->path))
		return -EBADMSG;
	span->flags = (tag & RECORDING_ABANDONED ? MODEL_ABANDONED : 0) |
		      (tag & RECORDING_OPEN ? MODEL_OPEN : 0);
	if (kind == RECORDING_ASYNC) {
		if (!bytes_get(&s->bytes, &wall))
			return -EBADMSG;
		span->flags |= MODEL_ASYNC;
	}
	if (!bytes_get(&s->bytes, &span->busy_ns))
		return -EBADMSG;
	if (kind != RECORDING_ASYNC)
		wall = span->busy_ns;
	span->self_ns = span->busy_ns;
	if (!(tag & RECORDING_LEAF)) {
		if (!bytes_get(&s->bytes, &span->self_ns))
			return -EBADMSG;
		span->self_ns = at_most(span->self_ns, span->busy_ns);
	}
	span->id = 0;
	if (kind != RECORDING_SPAN && !bytes_get(&s->bytes, &span->id))
		return -EBADMSG;
	span->flags |= kind == RECORDING_SEGMENT ? MODEL_SEGMENT : 0;
	if (tag & RECORDING_COUNTED) {
		if (!spans_counters(s))
			return -EBADMSG;
	} else {
		span->total = (struct model_counters){.cpu_ns = span->busy_ns};
		span->self_cpu_ns = span->self_ns;
		span->self_cpu_system_ns = 0;
		span->self_run_delay_ns = 0;
	}
	span->nlabels = 0;
	if (tag & RECORDING_LABELLED && !spans_labels(s, span->labels, &span->nlabels))
		return -EBADMSG;
	if (s->left_out)
		return 0;
	s->unknown += !s->thread || !span->path;
	if (!s->thread || !span->path)
		return 0;
	span->thread = s->thread;
	span->end_ns = s->last_end_ns;
	span->start_ns = s->last_end_ns - wall; /* replay_take_span() sees when it wraps */
	replay_take_span(s->r->replay, span);
	return 0;
}

static int spans_event(struct spans *s, u8 tag)
{
	struct model_event event = {.has_value = tag & RECORDING_VALUE};
	u64 value;

	if (!spans_begin_item(s, &event.path))
		return -EBADMSG;
	if (event.has_value) {
		if (!bytes_get(&s->bytes, &value))
			return -EBADMSG;
		event.value = varint_unzigzag(value);
	}
	if (tag & RECORDING_LABELLED && !spans_labels(s, event.labels, &event.nlabels))
		return -EBADMSG;
	if (s->left_out)
		return 0;
	s->unknown += !s->thread || !event.path;
	if (!s->thread || !event.path)
		return 0;
	event.thread = s->thread;
	event.time_ns = s->last_end_ns;
	replay_take_event(s->r->replay, &event);
	return 0;
}

int recording_read_spans(struct recording_reader *r, struct recording_bytes bytes)
{
	struct spans s = {.r = r, .bytes = bytes};
	int err = 0;

	while (!err && s.bytes.at < s.bytes.end) {
		u8 tag = *s.bytes.at++;

		switch (tag & RECORDING_KIND) {
		case RECORDING_ON:
			err = tag == RECORDING_ON ? spans_turn(&s) : -EBADMSG;
			break;
		case RECORDING_SPAN:
		case RECORDING_SEGMENT:
		case RECORDING_ASYNC:
			err = spans_span(&s, tag);
			break;
		case RECORDING_EVENT:
			err = spans_event(&s, tag);
			break;
		default:
			err = -EBADMSG;
		}
	}
	r->replay->own[REPLAY_UNKNOWN_NAMES] += s.unknown;
	return err;
}
