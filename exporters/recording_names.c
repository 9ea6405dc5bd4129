/* SPDX-License-Identifier: MIT */
/* The names of a recording: numbers for texts, definitions, paths, threads and sets of labels, and the NAMES blocks that
 * tell of them. See recording_encode.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "recording_encode_impl.h"

int encoder_names_block(struct recording_encoder *encoder)
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
int encoder_text(struct recording_encoder *encoder, const char *text, u32 *number)
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

int encoder_path(struct recording_encoder *encoder, const struct model_path *path, u32 *number)
{
	*number = recall(&encoder->paths, path->id);
	return *number ? 0 : encoder_new_paths(encoder, path, number);
}

int encoder_label_set(struct recording_encoder *encoder, const struct model_label *labels, u32 n,
		      const u32 refs[MODEL_MAX_LABELS], u32 *number)
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

int encoder_told_thread(struct recording_encoder *encoder, const struct model_thread *thread,
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

int encoder_tell_thread(struct recording_encoder *encoder, struct told_thread *told)
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

int recording_encode_path(struct recording_encoder *encoder, const struct model_path *path,
			  u32 *number)
{
	*number = 0;
	return path->def ? encoder_path(encoder, path, number) : 0;
}

int recording_encode_text(struct recording_encoder *encoder, const char *text, u32 *number)
{
	return encoder_text(encoder, text, number);
}
