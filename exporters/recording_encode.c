/* SPDX-License-Identifier: MIT */
/* See recording_encode.h. */
#include "recording_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "../user/util/intmap.h"
#include "../user/util/varint.h"
#include "pairmap.h"
#include "strtab.h"

/* The longest item of a SPANS block, with the ON before it, and that of a NAMES block without its text. */
#define SPAN_ITEM_MAX  512
#define NAMES_ITEM_MAX 128

struct payload {
	u8 *block; /* a header, then the bytes */
	u8 *at;    /* behind the last byte */
};

/* A thread as it was told last. */
struct told_thread {
	struct model_thread told;
	const struct model_thread *thread;
	u32 number;
	bool is_told;
	bool in_block; /* the open block has spans of it */
};

struct recording_encoder {
	struct recording_sink sink;
	struct payload names, spans;

	u64 last_end_ns; /* of the item before */
	u64 first_ns, last_ns, oldest_ns;
	u32 nspans, nevents;
	struct told_thread *on; /* whose the next item is; NULL: it must be said */
	/* Those of the open block. They are told when it ends: a thread's name may come after its first span. */
	struct told_thread **threads;
	size_t nthreads;

	struct intmap told_threads; /* serial ▸ struct told_thread */
	struct intmap paths;        /* id ▸ number */
	struct intmap defs;         /* id ▸ number */
	struct pairmap label_sets;  /* two keys, two keys ▸ number */
	struct strtab *texts;       /* id = number - 1 */
	size_t text_bytes;
	u32 npaths, ndefs, nsets;
};

static int payload_new(struct payload *payload, size_t size)
{
	payload->block = malloc(sizeof(struct recording_block_header) + size);
	if (!payload->block)
		return -ENOMEM;
	payload->at = payload->block + sizeof(struct recording_block_header);
	return 0;
}

static size_t payload_length(const struct payload *payload)
{
	return (size_t)(payload->at - payload->block) - sizeof(struct recording_block_header);
}

static void payload_put(struct payload *payload, u64 value)
{
	payload->at = varint_put(payload->at, value);
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

/* --- names ---------------------------------------------------------------------------------------- */

static int encoder_names_block(struct recording_encoder *encoder)
{
	struct recording_block_header header = {
		.kind = RECORDING_NAMES,
		.length = (u32)payload_length(&encoder->names),
	};

	if (!header.length)
		return 0;
	memcpy(encoder->names.block, &header, sizeof(header));
	encoder->names.at = encoder->names.block + sizeof(header);
	return encoder->sink.block(encoder->sink.context,
				   (struct recording_block_header *)encoder->names.block);
}

/* After each item: the room for the next one, however long, is always there. */
static int encoder_named(struct recording_encoder *encoder)
{
	return payload_length(&encoder->names) < RECORDING_BLOCK_FULL
		       ? 0
		       : encoder_names_block(encoder);
}

/* The length of TEXT, cut where a character begins. */
static size_t text_length(const char *text)
{
	size_t length = strnlen(text, RECORDING_TEXT_MAX + 1);

	if (length <= RECORDING_TEXT_MAX)
		return length;
	length = RECORDING_TEXT_MAX;
	while (length > RECORDING_TEXT_MAX - 4 && ((u8)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

/* *NUMBER is 0 for NULL, and for a new text that has no room. */
static int encoder_text(struct recording_encoder *encoder, const char *text, u32 *number)
{
	size_t length;
	u32 id;
	int err;

	*number = 0;
	if (!text)
		return 0;
	length = text_length(text);
	if (strtab_find(encoder->texts, text, length, &id)) {
		*number = id + 1;
		return 0;
	}
	if (strtab_count(encoder->texts) == RECORDING_NUMBER_MAX ||
	    encoder->text_bytes + length > RECORDING_TEXTS_BYTES)
		return 0;
	err = strtab_add(encoder->texts, text, length, &id);
	if (err)
		return err;
	encoder->text_bytes += length;
	*number = id + 1;
	*encoder->names.at++ = RECORDING_TEXT;
	payload_put(&encoder->names, *number);
	payload_put(&encoder->names, length);
	memcpy(encoder->names.at, text, length);
	encoder->names.at += length;
	return encoder_named(encoder);
}

/* Keeps NUMBER under ID; the number stands for the pointer's value. */
static int remember(struct intmap *map, u64 id, u32 number)
{
	return intmap_set(map, id, (void *)(uintptr_t)number);
}

static u32 recall(const struct intmap *map, u64 id)
{
	void **found = intmap_find(map, id);

	return found ? (u32)(uintptr_t)*found : 0;
}

static int encoder_def(struct recording_encoder *encoder, const struct model_def *def, u32 *number)
{
	const char *const texts[] = {
		def->provider, def->name, def->binary, def->build_id, def->source_file,
	};
	u32 refs[sizeof(texts) / sizeof(*texts)];
	size_t i;
	int err;

	*number = recall(&encoder->defs, def->id);
	if (*number)
		return 0;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		err = encoder_text(encoder, texts[i], &refs[i]);
		if (err)
			return err;
	}
	if (encoder->ndefs == RECORDING_NUMBER_MAX)
		return -EFBIG;
	*number = ++encoder->ndefs;
	*encoder->names.at++ = RECORDING_DEF;
	payload_put(&encoder->names, *number);
	payload_put(&encoder->names, def->kind);
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		payload_put(&encoder->names, refs[i]);
	payload_put(&encoder->names, def->source_line);
	err = remember(&encoder->defs, def->id, *number);
	return err ? err : encoder_named(encoder);
}

/* Tells of one path whose parent has the number PARENT. */
static int encoder_new_path(struct recording_encoder *encoder, const struct model_path *path,
			    u32 parent, u32 *number)
{
	u32 def, name;
	int err = encoder_def(encoder, path->def, &def);

	if (!err)
		err = encoder_text(encoder, path->name, &name);
	if (err)
		return err;
	if (encoder->npaths == RECORDING_NUMBER_MAX)
		return -EFBIG;
	*number = ++encoder->npaths;
	*encoder->names.at++ = RECORDING_PATH;
	payload_put(&encoder->names, *number);
	payload_put(&encoder->names, parent);
	payload_put(&encoder->names, def);
	payload_put(&encoder->names, name);
	err = remember(&encoder->paths, path->id, *number);
	return err ? err : encoder_named(encoder);
}

/* Tells of PATH and of those above it, from the first that is new. */
static int encoder_new_paths(struct recording_encoder *encoder, const struct model_path *path,
			     u32 *number)
{
	AUTO_FREE const struct model_path **chain = NULL;
	size_t n = 0;
	int err = 0;

	*number = 0;
	for (; path && path->def; path = path->parent) {
		*number = recall(&encoder->paths, path->id);
		if (*number)
			break;
		if (GROW(chain, n))
			return -ENOMEM;
		chain[n++] = path;
	}
	while (n && !err)
		err = encoder_new_path(encoder, chain[--n], *number, number);
	return err;
}

static int encoder_path(struct recording_encoder *encoder, const struct model_path *path,
			u32 *number)
{
	*number = recall(&encoder->paths, path->id);
	return *number ? 0 : encoder_new_paths(encoder, path, number);
}

/* The set of LABELS' keys; REFS are those of the keys. */
static int encoder_label_set(struct recording_encoder *encoder, const struct model_label *labels,
			     u32 n, const u32 refs[MODEL_MAX_LABELS], u32 *number)
{
	u64 key[2] = {0, 0};
	u32 i;
	int err;

	for (i = 0; i < n; i++)
		key[i / 2] = key[i / 2] << 32 | refs[i] << 2 | !!labels[i].text << 1 | 1;
	if (pairmap_get(&encoder->label_sets, key[0], key[1], number))
		return 0;
	if (encoder->nsets == RECORDING_NUMBER_MAX)
		return -EFBIG;
	*number = ++encoder->nsets;
	*encoder->names.at++ = RECORDING_LABELS;
	payload_put(&encoder->names, *number);
	payload_put(&encoder->names, n);
	for (i = 0; i < n; i++) {
		payload_put(&encoder->names, refs[i]);
		payload_put(&encoder->names, !!labels[i].text);
	}
	err = pairmap_put(&encoder->label_sets, key[0], key[1], *number);
	return err ? err : encoder_named(encoder);
}

static int encoder_told_thread(struct recording_encoder *encoder, const struct model_thread *thread,
			       struct told_thread **out)
{
	void **found = intmap_find(&encoder->told_threads, thread->serial);
	AUTO_FREE struct told_thread *told = NULL;

	if (found) {
		*out = *found;
		return 0;
	}
	if (encoder->told_threads.used == RECORDING_NUMBER_MAX)
		return -EFBIG;
	told = calloc(1, sizeof(*told));
	if (!told)
		return -ENOMEM;
	told->thread = thread;
	told->number = (u32)encoder->told_threads.used + 1;
	if (intmap_set(&encoder->told_threads, thread->serial, told))
		return -ENOMEM;
	*out = TAKE_PTR(told);
	return 0;
}

static int encoder_tell_thread(struct recording_encoder *encoder, struct told_thread *told)
{
	const struct model_thread *thread = told->thread;
	char comm[MODEL_COMM_LEN + 1] = "";
	u32 ref;
	int err;

	if (told->is_told && told->told.pid == thread->pid && told->told.tid == thread->tid &&
	    told->told.start_ns == thread->start_ns &&
	    memcmp(told->told.comm, thread->comm, MODEL_COMM_LEN) == 0)
		return 0;
	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	err = encoder_text(encoder, comm, &ref);
	if (err)
		return err;
	told->told = *thread;
	told->is_told = true;
	*encoder->names.at++ = RECORDING_THREAD;
	payload_put(&encoder->names, told->number);
	payload_put(&encoder->names, thread->pid);
	payload_put(&encoder->names, thread->tid);
	payload_put(&encoder->names, thread->start_ns);
	payload_put(&encoder->names, ref);
	return encoder_named(encoder);
}

int recording_encode_thread(struct recording_encoder *encoder, const struct model_thread *thread,
			    u32 *number)
{
	struct told_thread *told;
	int err = encoder_told_thread(encoder, thread, &told);

	if (err)
		return err;
	*number = told->number;
	return encoder_tell_thread(encoder, told);
}

/* --- spans ---------------------------------------------------------------------------------------- */

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
