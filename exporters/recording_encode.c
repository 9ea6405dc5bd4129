/* SPDX-License-Identifier: MIT */
/* See recording_encode.h. */
#include "recording_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "recording_encode_impl.h"

static int payload_new(struct payload *payload, size_t size)
{
	payload->block = malloc(sizeof(struct recording_block_header) + size);
	if (!payload->block)
		return -ENOMEM;
	payload->at = payload->block + sizeof(struct recording_block_header);
	return 0;
}

int recording_encoder_new(const struct recording_sink *sink, struct recording_encoder **out)
{
	CLEANUP(recording_encoder_free)
	struct recording_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return -ENOMEM;
	encoder->sink = *sink;
	if (payload_new(&encoder->spans, RECORDING_BLOCK_FULL) ||
	    payload_new(&encoder->names,
			RECORDING_BLOCK_FULL + RECORDING_TEXT_MAX + NAMES_ITEM_MAX) ||
	    recording_encoder_restart(encoder))
		return -ENOMEM;
	*out = TAKE_PTR(encoder);
	return 0;
}

static void encoder_forget(struct recording_encoder *encoder)
{
	size_t i;

	for (i = 0; i < encoder->told_threads.capacity; i++)
		free(encoder->told_threads.slots[i].value);
	intmap_free(&encoder->told_threads);
	intmap_free(&encoder->paths);
	intmap_free(&encoder->defs);
	pairmap_free(&encoder->label_sets);
	strtab_free(&encoder->texts);
	free(encoder->threads);
	encoder->threads = NULL;
}

void recording_encoder_free(struct recording_encoder **out)
{
	struct recording_encoder *encoder = *out;

	if (!encoder)
		return;
	*out = NULL;
	encoder_forget(encoder);
	free(encoder->names.block);
	free(encoder->spans.block);
	free(encoder);
}

static void encoder_empty(struct recording_encoder *encoder)
{
	size_t i;

	for (i = 0; i < encoder->nthreads; i++)
		encoder->threads[i]->in_block = false;
	encoder->nthreads = 0;
	encoder->spans.at = encoder->spans.block + sizeof(struct recording_block_header);
	encoder->on = NULL;
	encoder->last_end_ns = 0;
	encoder->first_ns = UINT64_MAX;
	encoder->oldest_ns = UINT64_MAX;
	encoder->last_ns = 0;
	encoder->nspans = 0;
	encoder->nevents = 0;
}

int recording_encoder_restart(struct recording_encoder *encoder)
{
	encoder_empty(encoder);
	encoder_forget(encoder);
	encoder->names.at = encoder->names.block + sizeof(struct recording_block_header);
	encoder->text_bytes = 0;
	encoder->npaths = 0;
	encoder->ndefs = 0;
	encoder->nsets = 0;
	return strtab_new(&encoder->texts);
}

u64 recording_encoder_oldest(const struct recording_encoder *encoder)
{
	return encoder->oldest_ns;
}

int recording_encoder_close(struct recording_encoder *encoder)
{
	struct recording_block_header header = {
		.kind = RECORDING_SPANS,
		.length = (u32)payload_length(&encoder->spans),
		.spans = encoder->nspans,
		.events = encoder->nevents,
		.first_ns = encoder->first_ns,
		.last_ns = encoder->last_ns,
	};
	size_t i;
	int err = 0;

	for (i = 0; i < encoder->nthreads && !err; i++)
		err = encoder_tell_thread(encoder, encoder->threads[i]);
	if (!err)
		err = encoder_names_block(encoder);
	encoder_empty(encoder);
	if (err || !header.length)
		return err;
	memcpy(encoder->spans.block, &header, sizeof(header));
	return encoder->sink.block(encoder->sink.context,
				   (struct recording_block_header *)encoder->spans.block);
}

/* The items to come are THREAD's. */
static int encoder_turn_to(struct recording_encoder *encoder, const struct model_thread *thread)
{
	struct told_thread *told;
	int err = encoder_told_thread(encoder, thread, &told);

	if (err)
		return err;
	if (!told->in_block) {
		if (GROW(encoder->threads, encoder->nthreads))
			return -ENOMEM;
		encoder->threads[encoder->nthreads++] = told;
		told->in_block = true;
	}
	encoder->on = told;
	*encoder->spans.at++ = RECORDING_ON;
	payload_put(&encoder->spans, told->number);
	return 0;
}

/* A label's values, all names told: KEYS is the set of its keys. */
struct encoded_labels {
	u32 set;
	u64 values[MODEL_MAX_LABELS];
};

static int encoder_labels(struct recording_encoder *encoder, const struct model_label *labels,
			  u32 n, struct encoded_labels *out)
{
	u32 refs[MODEL_MAX_LABELS], i, ref;
	int err;

	for (i = 0; i < n; i++) {
		err = encoder_text(encoder, labels[i].key, &refs[i]);
		if (err)
			return err;
		out->values[i] = varint_zigzag(labels[i].number);
		if (!labels[i].text)
			continue;
		err = encoder_text(encoder, labels[i].text, &ref);
		if (err)
			return err;
		out->values[i] = ref;
	}
	return encoder_label_set(encoder, labels, n, refs, &out->set);
}

/* What every item needs: room, its labels and path told, its thread's turn. */
static int encoder_begin_item(struct recording_encoder *encoder, const struct model_thread *thread,
			      const struct model_path *path, const struct model_label *labels,
			      u32 nlabels, u32 *number, struct encoded_labels *encoded)
{
	int err = 0;

	if (payload_length(&encoder->spans) + SPAN_ITEM_MAX > RECORDING_BLOCK_FULL)
		err = recording_encoder_close(encoder);
	if (!err && nlabels)
		err = encoder_labels(encoder, labels, nlabels, encoded);
	if (!err)
		err = encoder_path(encoder, path, number);
	if (!err && (!encoder->on || encoder->on->thread != thread))
		err = encoder_turn_to(encoder, thread);
	return err;
}

static void encoder_end_item(struct recording_encoder *encoder,
			     const struct encoded_labels *encoded, u32 nlabels, u64 start_ns,
			     u64 end_ns)
{
	u32 i;

	if (nlabels)
		payload_put(&encoder->spans, (u64)encoded->set << 3 | nlabels);
	for (i = 0; i < nlabels; i++)
		payload_put(&encoder->spans, encoded->values[i]);
	encoder->last_end_ns = end_ns;
	if (start_ns < encoder->first_ns)
		encoder->first_ns = start_ns;
	if (end_ns > encoder->last_ns)
		encoder->last_ns = end_ns;
	if (end_ns < encoder->oldest_ns)
		encoder->oldest_ns = end_ns;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* Puts those counters that are not 0; false: they all are. */
static bool encoder_counters(const struct model_span *span, u64 counters[RECORDING_COUNTERS])
{
	u64 any = 0;
	int i;

	counters[RECORDING_OFF_NS] = minus(span->busy_ns, span->total.cpu_ns);
	counters[RECORDING_RUN_DELAY_NS] = span->total.run_delay_ns;
	counters[RECORDING_SELF_OFF_NS] = minus(span->self_ns, span->self_cpu_ns);
	counters[RECORDING_SELF_RUN_DELAY_NS] = span->self_run_delay_ns;
	counters[RECORDING_VOL_SWITCHES] = span->total.vol_switches;
	counters[RECORDING_INVOL_SWITCHES] = span->total.invol_switches;
	counters[RECORDING_MINOR_FAULTS] = span->total.minor_faults;
	counters[RECORDING_MAJOR_FAULTS] = span->total.major_faults;
	counters[RECORDING_SYSTEM_NS] = span->total.cpu_system_ns;
	counters[RECORDING_SELF_SYSTEM_NS] = span->self_cpu_system_ns;
	counters[RECORDING_ALLOC_OBJECTS] = span->alloc.objects;
	counters[RECORDING_ALLOC_BYTES] = span->alloc.bytes;
	counters[RECORDING_INNER_ALLOC_OBJECTS] =
		minus(span->alloc.objects, span->self_alloc.objects);
	counters[RECORDING_INNER_ALLOC_BYTES] = minus(span->alloc.bytes, span->self_alloc.bytes);
	counters[RECORDING_PARENT_ID] = span->parent_id;
	for (i = 0; i < RECORDING_COUNTERS; i++)
		any |= counters[i];
	return any;
}

static void encoder_put_counters(struct recording_encoder *encoder,
				 const u64 counters[RECORDING_COUNTERS])
{
	u64 mask = 0;
	int i;

	for (i = 0; i < RECORDING_COUNTERS; i++)
		mask |= (u64) !!counters[i] << i;
	payload_put(&encoder->spans, mask);
	for (i = 0; i < RECORDING_COUNTERS; i++)
		if (counters[i])
			payload_put(&encoder->spans, counters[i]);
}

int recording_encode_span(struct recording_encoder *encoder, const struct model_span *span)
{
	u64 wall = minus(span->end_ns, span->start_ns);
	u64 counters[RECORDING_COUNTERS];
	struct encoded_labels labels;
	u8 tag = RECORDING_SPAN;
	u32 path;
	int err = encoder_begin_item(encoder, span->thread, span->path, span->labels, span->nlabels,
				     &path, &labels);

	if (err)
		return err;
	if (span->flags & MODEL_ASYNC)
		tag = RECORDING_ASYNC;
	else if (span->flags & MODEL_SEGMENT)
		tag = RECORDING_SEGMENT;
	tag |= span->flags & MODEL_ABANDONED ? RECORDING_ABANDONED : 0;
	tag |= span->flags & MODEL_OPEN ? RECORDING_OPEN : 0;
	tag |= span->self_ns == span->busy_ns ? RECORDING_LEAF : 0;
	tag |= encoder_counters(span, counters) ? RECORDING_COUNTED : 0;
	tag |= span->nlabels ? RECORDING_LABELLED : 0;
	*encoder->spans.at++ = tag;
	payload_put(&encoder->spans, path);
	payload_put(&encoder->spans, varint_zigzag((s64)(span->end_ns - encoder->last_end_ns)));
	if (span->flags & MODEL_ASYNC)
		payload_put(&encoder->spans, wall);
	payload_put(&encoder->spans, span->busy_ns);
	if (!(tag & RECORDING_LEAF))
		payload_put(&encoder->spans, span->self_ns);
	if (span->flags & (MODEL_ASYNC | MODEL_SEGMENT))
		payload_put(&encoder->spans, span->id);
	if (tag & RECORDING_COUNTED)
		encoder_put_counters(encoder, counters);
	encoder_end_item(encoder, &labels, span->nlabels, span->start_ns, span->end_ns);
	encoder->nspans++;
	return 0;
}

int recording_encode_event(struct recording_encoder *encoder, const struct model_event *event)
{
	struct encoded_labels labels;
	u8 tag = RECORDING_EVENT;
	u32 path;
	int err = encoder_begin_item(encoder, event->thread, event->path, event->labels,
				     event->nlabels, &path, &labels);

	if (err)
		return err;
	tag |= event->has_value ? RECORDING_VALUE : 0;
	tag |= event->nlabels ? RECORDING_LABELLED : 0;
	*encoder->spans.at++ = tag;
	payload_put(&encoder->spans, path);
	payload_put(&encoder->spans, varint_zigzag((s64)(event->time_ns - encoder->last_end_ns)));
	if (event->has_value)
		payload_put(&encoder->spans, varint_zigzag(event->value));
	encoder_end_item(encoder, &labels, event->nlabels, event->time_ns, event->time_ns);
	encoder->nevents++;
	return 0;
}
